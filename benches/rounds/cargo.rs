//! Arguments that cargo passes to every benchmark.

use clap::Args;

/// Arguments for cargo, hidden from users.
#[derive(Args)]
pub(crate) struct CargoArguments {
    /// Name of the benchmark to run; cargo passes it to all benchmarks.
    #[arg(hide = true)]
    filter: Option<String>,
    /// Flag that cargo passes.
    #[arg(long, hide = true)]
    bench: bool,
}

impl CargoArguments {
    /// Returns true if the benchmark of this name should run.
    pub(crate) fn is_selected(&self, name: &str) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter == name)
    }
}
