//! Score files that are read or rejected, and wrong arguments.

use std::fs;
use std::path::Path;

use super::{data, rankgauge};
use crate::harness::command::{assert_exit, stderr};

/// Asserts that an invalid first file gives one message on stderr that contains all of `expected`.
fn refused(content: &[u8], expected: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let (wrong, right) = (
        folder.path().join("wrong.txt"),
        folder.path().join("right.txt"),
    );
    let report = folder.path().join("report.json");
    fs::write(&wrong, content).expect("a file");
    fs::write(&right, "P_5 1 0.5\nP_5 2 0.5\n").expect("a file");
    let path = |path: &Path| path.to_str().expect("a path").to_owned();
    let arguments = [
        "--scores",
        &path(&wrong),
        "--scores",
        &path(&right),
        "--format",
        "json",
        "--output",
        &path(&report),
    ];
    let output = rankgauge(&arguments);
    assert_exit(&output, 2);
    let said = stderr(&output);
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in expected {
        assert!(said.contains(part), "{said} lacks {part}");
    }
    assert!(output.stdout.is_empty());
    let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
    assert_eq!(left.len(), 2, "nothing but the inputs is left: {left:?}");
}

#[test]
fn invalid_files_are_rejected_with_line_number_and_without_report() {
    refused(b"P_5 1 0.5\nP_5 2\n", &["wrong.txt:2: 2 columns"]);
    refused(b"P_5 1 0.5\n\nP_5 2 0.5 x\n", &["wrong.txt:3: 4 columns"]);
    refused(
        b"P_5 1 0.5\nP_5 2 high\n",
        &["wrong.txt:2: the score `high` is not a finite number"],
    );
    for number in ["nan", "-inf", "1e400", "0,5", "0x1p3"] {
        let line = format!("P_5 1 {number}\n");
        refused(line.as_bytes(), &["wrong.txt:1: the score", number]);
    }
    refused(
        "P_5 질의 0.5\nmap 질의 1\nP_5 질의 0.5\n".as_bytes(),
        &["wrong.txt:3: `P_5` of query `질의` is already on line 1"],
    );
    refused(b"", &["wrong.txt: the file is empty"]);
    refused(b"\n \t\n", &["wrong.txt: the file is empty"]);
    refused(
        b"runid all x\nP_5 all 0.5\n",
        &["wrong.txt: there are only `all` lines"],
    );
    refused(
        b"P_5 1 0.5\nP_5 \xff\xfe 0.5\n",
        &["wrong.txt:2: not UTF-8"],
    );
    refused(&[0, 159, 146, 150], &["wrong.txt:1: not UTF-8"]);
    refused(
        &vec![b'x'; 1 << 20],
        &["wrong.txt:1: the line is longer than"],
    );
    refused(&vec![0; 1 << 20], &["wrong.txt:1: the line is longer than"]);
    refused(
        b"map 1 0.5\n",
        &[
            "`wrong` and `right` have no measure in common",
            "`map`",
            "`P_5`",
        ],
    );
    refused(
        b"P_5 7 0.5\n",
        &["`wrong` and `right` have no query in common", "`7`", "`1`"],
    );
}

#[test]
fn wrong_arguments_are_rejected_with_a_remedy() {
    let (file, other) = (data("V1.eval"), data("V2.eval"));
    let (file, other) = (
        file.to_str().expect("a path"),
        other.to_str().expect("a path"),
    );
    let pair = ["--scores", file, "--scores", other];
    let cases: [(&[&str], &str); 14] = [
        (
            &["--scores", file, "--scores", file],
            "V1.eval: given twice; give every input once",
        ),
        (&[], "--gold GOLD --run A --run B, or --scores A --scores B"),
        (&["--scores", file], "two or more runs are needed, 1 given"),
        (
            &["--scores", file, "--scores", "/nowhere/x"],
            "/nowhere/x: cannot be read",
        ),
        (&["--scores", file, "--scores", "/"], "/: cannot be read"),
        (
            &[&pair[..], &["--measures", "P@5"]].concat(),
            "cannot be used with",
        ),
        (
            &["--gold", file, "--run", file],
            "two or more runs are needed, 1 given",
        ),
        (
            &[&pair[..], &["--interaction", "V1,V2"]].concat(),
            "four runs are expected",
        ),
        (
            &[&pair[..], &["--interaction", "V1,V2,V3,V9"]].concat(),
            "names `V3`",
        ),
        (
            &[&pair[..], &["--interaction", "V1,V1,V1,V1"]].concat(),
            "names `V1` twice",
        ),
        (&[&pair[..], &["--alpha", "5"]].concat(), "between 0 and 1"),
        (
            &[&pair[..], &["--resamples", "1"]].concat(),
            "100..=1000000",
        ),
        (
            &[&pair[..], &["--by", "difficulty"]].concat(),
            "cannot be used with",
        ),
        (
            &[&pair[..], &["--output", "/nowhere/x/y"]].concat(),
            "its folder does not exist",
        ),
    ];
    for (arguments, expected) in cases {
        let output = rankgauge(arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}
