//! Standard output that cannot be written: a closed pipe (`| head -1`) is no failure, and a full
//! disk is an error with its cause. No command panics.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Folder with the inputs of all commands.
struct Inputs(tempfile::TempDir);

impl Inputs {
    fn new() -> Self {
        let inputs = Self(tempfile::tempdir().expect("a folder"));
        let gold = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n";
        let run = "q1 Q0 d1 1 2 x\nq1 Q0 d2 2 1 x\nq2 Q0 d3 1 1 x\n";
        let search = [0, 1].map(|day| {
            let ts = 1_763_337_600_000_i64 + day * 86_400_000;
            format!("{{\"query_id\": \"s{day}\", \"ts\": {ts}, \"results\": []}}\n")
        });
        for (name, text) in [
            ("gold.qrels", gold),
            ("a.run", run),
            ("b.run", run),
            ("search.jsonl", &search.concat()),
        ] {
            fs::write(inputs.path(name), text).expect("a file");
        }
        inputs
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command in the folder with this standard output.
    fn run(&self, arguments: &str, output: Stdio) -> Output {
        Command::new(env!("CARGO_BIN_EXE_rankgauge"))
            .args(arguments.split(' '))
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .stdout(output)
            .output()
            .expect("the binary runs")
    }
}

/// Commands that print a result.
const COMMANDS: [&str; 11] = [
    "evaluate --gold gold.qrels --run a.run --measures P@1",
    "evaluate --gold gold.qrels --run a.run --measures P@1 --format json --per-query",
    "compare --gold gold.qrels --run a.run --run b.run --measures P@1",
    "gold stats gold.qrels",
    "gold validate gold.qrels",
    "check --set gold.paths=gold.qrels",
    "replay --search search.jsonl",
    "replay --search search.jsonl --every 1m",
    "backtest --test drop",
    "backtest --simulate --mean 0.8 --streams 2 --events 100",
    "produce --searches 5 --output produced",
];

#[test]
fn closed_pipe_after_a_result_is_no_failure() {
    let inputs = Inputs::new();
    for command in COMMANDS.into_iter().chain(["--help", "--version"]) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = inputs.run(command, Stdio::from(writer));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {errors}");
        assert!(!errors.contains("panicked"), "{command}: {errors}");
    }
}

#[test]
fn full_disk_is_an_error_with_its_cause() {
    let inputs = Inputs::new();
    for command in COMMANDS {
        let full = fs::File::options()
            .write(true)
            .open(Path::new("/dev/full"))
            .expect("the device is there");
        let output = inputs.run(command, Stdio::from(full));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{command}: {errors}");
        assert!(
            errors.contains("the result cannot be printed: No space left on device"),
            "{command}: {errors}"
        );
    }
}
