//! Files that packages contain: completion scripts and manual pages.

use std::process::{Command, Output};

/// Binary under test.
const BINARY: &str = env!("CARGO_BIN_EXE_rankgauge");

fn rankgauge(arguments: &[&str]) -> Output {
    Command::new(BINARY)
        .args(arguments)
        .output()
        .expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn completion_scripts_of_every_shell_complete_commands_and_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&rankgauge(&["completions", shell]));
        for word in ["rankgauge", "evaluate", "validate", "measures"] {
            assert!(script.contains(word), "no {word} in the script of {shell}");
        }
    }
    let unknown = rankgauge(&["completions", "tcl"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
}

/// Completes `rankgauge gold val` in a real bash.
#[test]
fn completion_script_of_bash_completes_a_command() {
    let script = stdout(&rankgauge(&["completions", "bash"]));
    let program = format!(
        "{script}\nCOMP_WORDS=(rankgauge gold val) COMP_CWORD=2\n\
         _rankgauge rankgauge val gold\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let output = Command::new("bash")
        .args(["--norc", "-c", &program])
        .output()
        .expect("bash runs");
    assert_eq!(stdout(&output), "validate\n");
}

#[test]
fn manual_pages_exist_for_every_command_and_contain_the_examples() {
    let page = stdout(&rankgauge(&["man"]));
    assert!(page.contains(".TH rankgauge 1"), "{page}");

    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_str().expect("UTF-8");
    assert_eq!(stdout(&rankgauge(&["man", path])), "");
    for (name, text) in [
        ("rankgauge.1", "rankgauge demo"),
        ("rankgauge-run.1", "docs/operations.md"),
        ("rankgauge-gold-validate.1", "gold.json"),
    ] {
        let page = std::fs::read_to_string(folder.path().join(name)).expect(name);
        let page = page.replace("\\-", "-");
        assert!(page.contains(text), "no {text} in {name}:\n{page}");
    }
    // The commands and their pages are the same in every build.
    assert!(!page.contains("revision"), "{page}");
}

#[test]
fn manual_pages_need_an_existing_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let missing = folder.path().join("missing");
    let output = rankgauge(&["man", missing.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("is not a folder; make it first"),
        "{message}"
    );
}

/// The allocator takes the place of `malloc` when it is linked; no code calls it by its name.
#[test]
fn the_binary_brings_its_allocator() {
    let output = Command::new(BINARY)
        .arg("--version")
        .env("MIMALLOC_VERBOSE", "1")
        .output()
        .expect("the binary runs");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("mimalloc: process init"), "{output:?}");
}
