//! Layouts of binary tables, recognised by their beginnings.

/// Layout of a binary table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Parquet,
    /// File of Arrow IPC, as in version 2 of Feather.
    ArrowFile,
    /// Stream of Arrow IPC.
    ArrowStream,
}

impl Layout {
    pub(super) const ALL: [Self; 3] = [Self::Parquet, Self::ArrowFile, Self::ArrowStream];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Parquet => "Parquet",
            Self::ArrowFile => "Arrow (Feather)",
            Self::ArrowStream => "Arrow (a stream)",
        }
    }

    pub(super) fn beginning(self) -> &'static [u8] {
        match self {
            Self::Parquet => b"PAR1",
            Self::ArrowFile => b"ARROW1\0\0",
            // No text begins with this byte.
            Self::ArrowStream => &[0xff, 0xff, 0xff, 0xff],
        }
    }

    /// Layout of content that begins with `start`.
    pub(super) fn of(start: &[u8]) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|layout| start.starts_with(layout.beginning()))
    }
}
