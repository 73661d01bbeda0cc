//! Commands of the built binary that end by themselves, and their output.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Arguments of a command: a list, or a text of words with spaces between them.
pub(crate) trait Arguments {
    /// Arguments one by one.
    fn words(&self) -> Vec<&str>;
}

impl Arguments for str {
    fn words(&self) -> Vec<&str> {
        self.split(' ').filter(|word| !word.is_empty()).collect()
    }
}

impl Arguments for String {
    fn words(&self) -> Vec<&str> {
        self.as_str().words()
    }
}

impl Arguments for [&str] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<const N: usize> Arguments for [&str; N] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Arguments for Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.clone()
    }
}

/// The built binary with arguments, in `folder`.
pub(crate) fn command<A: Arguments + ?Sized>(folder: &Path, arguments: &A) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankgauge"));
    command.current_dir(folder).args(arguments.words());
    command
}

/// Output of the built binary in `folder`, after it has ended.
pub(crate) fn rankgauge<A: Arguments + ?Sized>(folder: &Path, arguments: &A) -> Output {
    let output = command(folder, arguments).output();
    output.expect("the binary starts")
}

/// Output of the built binary in `folder`, with `input` on its standard input.
pub(crate) fn rankgauge_reads<A: Arguments + ?Sized>(
    folder: &Path,
    arguments: &A,
    input: &(impl AsRef<[u8]> + ?Sized),
) -> Output {
    fed(command(folder, arguments), input)
}

/// Output of a command with `input` on its standard input.
pub(crate) fn fed(mut command: Command, input: &(impl AsRef<[u8]> + ?Sized)) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", command.get_program().display()));
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.as_ref().to_vec();
    // Written in a second thread, while this one reads: both pipes may be full at once.
    let writer = std::thread::spawn(move || {
        // A command that finds a wrong argument or line reads no further.
        drop(stdin.write_all(&input));
    });
    let output = child.wait_with_output().expect("the command ends");
    writer.join().expect("all was written");
    output
}

/// Standard output as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Standard error as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// Asserts the exit code. The message has the standard error.
#[track_caller]
pub(crate) fn assert_exit(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}", stderr(output));
}

/// Asserts the exit code and that the standard error has `message`.
#[track_caller]
pub(crate) fn assert_reports(output: &Output, code: i32, message: &str) {
    assert_exit(output, code);
    let said = stderr(output);
    assert!(said.contains(message), "{said} lacks {message}");
}

/// Standard output of a command that has succeeded.
#[track_caller]
pub(crate) fn printed(output: &Output) -> String {
    assert_exit(output, 0);
    stdout(output)
}

/// JSON on the standard output of a command that has succeeded.
#[track_caller]
pub(crate) fn json(output: &Output) -> Value {
    json_of(output, 0)
}

/// JSON on the standard output of a command that has ended with `code`.
#[track_caller]
pub(crate) fn json_of(output: &Output, code: i32) -> Value {
    assert_exit(output, code);
    serde_json::from_slice(&output.stdout).expect("JSON")
}
