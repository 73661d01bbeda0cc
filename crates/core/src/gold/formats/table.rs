//! Rows of CSV and TSV files, each with the line that it stands on.
//!
//! The reader's own count of lines is one behind where they end with CR LF, as spreadsheets end them.

use super::SourceFile;
use crate::gold::Problem;
use crate::gold::problem::Problems;

/// Calls `each` with every row below the header and its 1-based line in `text`, which is what `reader`
/// reads. What the reader complains of is a problem of `file`.
pub(super) fn for_each_row(
    file: &SourceFile,
    text: &str,
    reader: &mut csv::Reader<&[u8]>,
    problems: &mut Problems,
    mut each: impl FnMut(usize, &csv::StringRecord, &mut Problems),
) {
    let mut lines = Lines {
        bytes: text.as_bytes(),
        counted: 0,
        line: 1,
    };
    for record in reader.records() {
        match record {
            Ok(record) => {
                let line = lines.of(record.position());
                each(line, &record, problems);
            }
            Err(error) => {
                let line = error.position().map(|position| lines.of(Some(position)));
                problems.push(Problem::Row {
                    place: file.place(line),
                    reason: error.to_string(),
                });
            }
        }
    }
}

/// Which line a record begins on.
struct Lines<'a> {
    bytes: &'a [u8],
    /// Bytes that were looked at, and the line that they end on.
    counted: usize,
    line: usize,
}

impl Lines<'_> {
    /// The 1-based line of the record that the reader takes to begin at `position`, line ends before
    /// it included. Records are asked for in their order.
    fn of(&mut self, position: Option<&csv::Position>) -> usize {
        let start = position.map_or(0, csv::Position::byte);
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        while let Some(byte) = self.bytes.get(self.counted)
            && (self.counted < start || matches!(byte, b'\r' | b'\n'))
        {
            self.line += usize::from(*byte == b'\n');
            self.counted += 1;
        }
        self.line
    }
}
