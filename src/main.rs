//! Entry point of the command line.
//!
//! Exit codes: 0 for success, 1 for a failure at run time, 2 for wrong arguments or configuration, 3
//! for runs that were judged and do not meet the conditions of a gate. `docs/operations.md` lists them.

use std::io::Write as _;
use std::process::ExitCode;

// Allocator of the whole process, librdkafka included: one thread of librdkafka allocates every
// fetched record, and a worker frees it. With the allocator of glibc, both wait for the same lock.
// Linking it replaces `malloc`. As a global allocator it would be slower, because its crate asks for
// every alignment in the same way.
use mimalloc as _;
use rankgauge::cli::{Arguments, Failure};

fn main() -> ExitCode {
    #[cfg(feature = "columnar")]
    if let Some(table) = rankgauge::table_process::isolate() {
        return match table.and_then(|csv| std::io::stdout().write_all(&csv)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                // The process that waits for the table reads the text.
                drop(write!(std::io::stderr(), "{error}"));
                ExitCode::FAILURE
            }
        };
    }
    match rankgauge::cli::run(Arguments::from_process()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Standard error can be closed; the exit code still reports the failure.
            drop(writeln!(std::io::stderr(), "rankgauge: {failure}"));
            match failure {
                Failure::Usage(_) => ExitCode::from(2),
                Failure::Running(_) => ExitCode::FAILURE,
                Failure::Gate(_) => ExitCode::from(3),
            }
        }
    }
}
