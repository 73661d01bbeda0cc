//! Files that packages contain: completion scripts and manual pages.

use std::path::Path;
use std::process::{Command, Output};

use crate::harness::command::{self, assert_reports, printed};

fn rankgauge(arguments: &[&str]) -> Output {
    command::rankgauge(Path::new("."), arguments)
}

#[test]
fn completion_scripts_of_every_shell_complete_commands_and_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&rankgauge(&["completions", shell]));
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
    let script = printed(&rankgauge(&["completions", "bash"]));
    let program = format!(
        "{script}\nCOMP_WORDS=(rankgauge gold val) COMP_CWORD=2\n\
         _rankgauge rankgauge val gold\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let output = Command::new("bash")
        .args(["--norc", "-c", &program])
        .output()
        .expect("bash runs");
    assert_eq!(printed(&output), "validate\n");
}

#[test]
fn manual_pages_exist_for_every_command_and_contain_the_examples() {
    let page = printed(&rankgauge(&["man"]));
    assert!(page.contains(".TH rankgauge 1"), "{page}");

    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_str().expect("UTF-8");
    assert_eq!(printed(&rankgauge(&["man", path])), "");
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
    assert_reports(&output, 2, "is not a folder; make it first");
}

/// The allocator takes the place of `malloc` when it is linked; no code calls it by its name.
#[test]
fn the_binary_brings_its_allocator() {
    let mut version = command::command(Path::new("."), "--version");
    let output = version.env("MIMALLOC_VERBOSE", "1").output();
    let output = output.expect("the binary runs");
    assert_reports(&output, 0, "mimalloc: process init");
}
