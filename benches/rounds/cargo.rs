//! What cargo passes to every benchmark that it runs.

use clap::Args;

/// Flags that are cargo's, and of no use to people.
#[derive(Args)]
pub(crate) struct Cargo {
    /// Only this benchmark is meant; cargo passes filters to all of them.
    #[arg(hide = true)]
    filter: Option<String>,
    /// What cargo passes.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Cargo {
    /// Whether the benchmark of this name is to run.
    pub(crate) fn means(&self, name: &str) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter == name)
    }
}
