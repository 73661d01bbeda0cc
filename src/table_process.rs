//! Binary tables (Parquet, Arrow) are read in a process of their own, which a damaged file may end.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use rankgauge_core::compression::{decompressed, read_tables_by};

/// Only argument of the process: it reads a table from its standard input, and writes it as CSV.
const ARGUMENT: &str = "--table-as-csv";

/// Exit code of the process after an error, whose text is on standard error.
const REFUSED: i32 = 1;

/// Lets processes of their own read the binary tables of this one. If this is such a process, returns its table.
pub fn isolate() -> Option<io::Result<Vec<u8>>> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() == Some(OsStr::new(ARGUMENT)) && arguments.next().is_none() {
        let mut csv = Vec::new();
        let read = decompressed(io::stdin()).and_then(|mut table| table.read_to_end(&mut csv));
        return Some(read.map(|_| csv));
    }
    read_tables_by(read);
    None
}

/// Path of this program, also after its file was replaced.
fn program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok(PathBuf::from("/proc/self/exe"))
    } else {
        std::env::current_exe()
    }
}

fn read(file: &[u8]) -> Option<io::Result<Vec<u8>>> {
    let started = program().and_then(|program| {
        Command::new(program)
            .arg(ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    });
    // A system that allows no further process reads the table in this one.
    let mut process = started.ok()?;
    let input = process.stdin.take();
    let output = thread::scope(|scope| {
        scope.spawn(move || {
            // A process that ended needs no more of it, and its exit code says why.
            drop(input.map(|mut input| input.write_all(file)));
        });
        process.wait_with_output()
    });
    Some(output.and_then(|output| {
        if output.status.success() {
            return Ok(output.stdout);
        }
        let text = if output.status.code() == Some(REFUSED) {
            String::from_utf8_lossy(&output.stderr).into_owned()
        } else {
            let status = output.status;
            format!(
                "the table is damaged: the process that read it ended with {status}; write it again"
            )
        };
        Err(io::Error::new(ErrorKind::InvalidData, text))
    }))
}
