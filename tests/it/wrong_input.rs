//! Invalid input of every kind, for every command that judges files or reads gold sets: one error
//! message with place and remedy, exit code 2, nothing on standard output, and the previous report
//! unchanged.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use crate::harness::command::{rankgauge, stderr};

/// Content of the previous report at the output path.
const OLD: &str = "the report of last time";

/// Folder with a valid gold set, a valid run and a previous report.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().expect("a folder"));
        desk.put("gold.qrels", b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n");
        desk.put(
            "right.run",
            b"q1 Q0 d1 1 2 x\nq1 Q0 d2 2 1 x\nq2 Q0 d3 1 1 x\n",
        );
        desk.put("other.run", b"q1 Q0 d2 1 2 x\nq2 Q0 d3 1 1 x\n");
        desk.put("report", OLD.as_bytes());
        desk
    }

    fn put(&self, name: &str, content: &[u8]) {
        fs::write(self.0.path().join(name), content).expect("a file");
    }

    /// Writes a sparse file of 1 GB whose last line has no end. It takes no disk space.
    fn put_endless(&self, name: &str, before: &[u8]) {
        let mut file = File::create(self.0.path().join(name)).expect("a file");
        file.write_all(before).expect("a file");
        file.set_len(1 << 30).expect("a sparse file");
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().display().to_string())
            .collect();
        names.sort();
        names
    }

    /// Runs the command, and expects one message that contains all of `says`.
    #[track_caller]
    fn refused(&self, arguments: &str, says: &[&str]) {
        let before = self.names();
        let output = rankgauge(self.0.path(), arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(output.stdout.is_empty(), "{arguments} prints something");
        // clap reports an invalid argument in a paragraph.
        let is_one = said.starts_with("rankgauge: ") && said.lines().count() == 1;
        assert!(is_one || said.starts_with("error: "), "{arguments}: {said}");
        assert!(said.len() < 1000, "{arguments}: {said}");
        for part in says {
            assert!(said.contains(part), "{arguments}: {said} lacks {part}");
        }
        assert_eq!(self.names(), before, "{arguments} leaves something behind");
        let report = fs::read_to_string(self.0.path().join("report")).expect("the report");
        assert_eq!(report, OLD, "{arguments} touches the report");
    }

    /// Runs every command that takes a run with this run, and expects a rejection.
    #[track_caller]
    fn refused_as_run(&self, name: &str, says: &[&str]) {
        let rest = "--measures P@5 --output report --format";
        self.refused(
            &format!("evaluate --gold gold.qrels --run right.run --run {name} {rest} html"),
            says,
        );
        self.refused(
            &format!("compare --gold gold.qrels --run right.run --run {name} {rest} json"),
            says,
        );
    }

    /// Runs every command that takes a gold set with this set, and expects a rejection.
    #[track_caller]
    fn refused_as_gold(&self, name: &str, says: &[&str]) {
        let rest = "--measures P@5 --output report";
        for arguments in [
            format!("evaluate --gold {name} --run right.run {rest}"),
            format!("compare --gold {name} --run right.run --run other.run {rest}"),
            format!("gold stats {name}"),
            format!("gold kappa {name}"),
            format!("gold convert {name} --to native --output report --force"),
            format!("gold diff gold.qrels {name}"),
            format!("gold diff {name} gold.qrels"),
        ] {
            self.refused(&arguments, says);
        }
    }
}

#[test]
fn an_invalid_run_is_reported_with_file_and_line() {
    const EVENT: &str = r#"{"query_id":"s","ts":1,"query_key":"q1","results":[{"id":"d1"}]}"#;
    let twice = format!("{EVENT}\n{EVENT}");
    let cut = format!("{EVENT}\n{}", &EVENT[..40]);
    let cases: [(&str, &[u8], &[&str]); 15] = [
        (
            "columns.run",
            b"q1 Q0 d1 1 2 x\nq1 Q0 d2 2\n",
            &["columns.run:2: 4 columns", "six"],
        ),
        (
            "repeated.run",
            b"q1 Q0 d1 1 2 x\n\nq1 Q0 d1 2 1 x\n",
            &["repeated.run:3: document `d1`", "keep one"],
        ),
        (
            "nan.run",
            b"q1 Q0 d1 1 NaN x\n",
            &["nan.run:1: the score `NaN`"],
        ),
        (
            "words.run",
            b"q1 Q0 d1 1 high x\n",
            &["words.run:1: the score `high`"],
        ),
        ("empty.run", b"", &["empty.run: the run is empty; give it"]),
        ("blank.run", b"\n \t\n", &["blank.run: the run is empty"]),
        (
            "binary.run",
            b"\x7fELF\x02\x01\xff\xfe\n",
            &["binary.run:1: not UTF-8"],
        ),
        (
            "zeros.run",
            &[0; 5000],
            &["zeros.run:1: unknown run format; expected"],
        ),
        (
            "cut.json",
            br#"{"q1": {"d1": 1.0, "d2": "#,
            &["cut.json:1: not a run in JSON"],
        ),
        (
            "nan.json",
            br#"{"q1": {"d1": NaN}}"#,
            &["nan.json:1: not a run in JSON"],
        ),
        (
            "inf.json",
            br#"{"q1": {"d1": 1e999}}"#,
            &["inf.json:1: not a run in JSON", "out of range"],
        ),
        (
            "repeated.json",
            br#"{"q1": {"d1": 1, "d1": 2}}"#,
            &["repeated.json:1: document `d1`"],
        ),
        (
            "twice.jsonl",
            twice.as_bytes(),
            &[
                "twice.jsonl:2: query `q1` is searched again, first on line 1",
                "--last-search keeps the last one",
                "a log of users' searches, run: rankgauge replay --search twice.jsonl --set gold.paths=GOLD",
            ],
        ),
        (
            "cut.jsonl",
            cut.as_bytes(),
            &["cut.jsonl:2: not a search event: EOF", "column 40"],
        ),
        (
            "strangers.run",
            b"q8 Q0 d1 1 2 x\nq9 Q0 d1 1 1 x\n",
            &[
                "strangers.run: none of its queries is in the gold set",
                "`q8`",
                "`q1`",
            ],
        ),
    ];
    let desk = Desk::new();
    for (name, content, says) in cases {
        desk.put(name, content);
        desk.refused_as_run(name, says);
    }
    desk.refused_as_run(
        "missing.run",
        &["missing.run: cannot be read", "check the path"],
    );
    desk.refused_as_run(".", &[".: cannot be read", "directory"]);
}

#[test]
fn a_log_of_searches_is_refused_with_the_command_that_reads_it() {
    let desk = Desk::new();
    desk.put(
        "texts.json",
        br#"{"queries": [{"query_id": "q1", "query_text": "blue roses", "ground_truth": {"d1": 1}}]}"#,
    );
    let search = |id: u8, query: &str| {
        format!(
            r#"{{"query_id":{id},"ts":1763337600000,"query":"{query}","results":[{{"id":"d1"}}]}}"#
        )
    };
    let (first, other) = (search(1, "blue roses"), search(2, "Blue Roses"));
    desk.put("same.jsonl", format!("{first}\n{first}").as_bytes());
    desk.put("other.jsonl", format!("{first}\n{other}").as_bytes());
    for (run, says) in [
        ("same", "same.jsonl:2: query `blue roses` is searched again"),
        ("other", "line 2: the gold query `q1` is answered again"),
    ] {
        let replay = format!(
            "run: rankgauge replay --search {run}.jsonl --set gold.paths=GOLD --format text"
        );
        for command in ["evaluate", "compare --run right.run"] {
            desk.refused(
                &format!(
                    "{command} --gold texts.json --run {run}.jsonl --measures P@5 --output report"
                ),
                &[says, &replay],
            );
        }
    }
}

#[test]
fn an_invalid_gold_set_is_reported_with_file_and_line() {
    let cases: [(&str, &[u8], &[&str]); 11] = [
        (
            "columns.qrels",
            b"q1 0 d1 1\nq1 0 d2\n",
            &["columns.qrels:2: 3 columns"],
        ),
        (
            "repeated.qrels",
            b"q1 0 d1 1\nq1 0 d1 2\n",
            &[
                "repeated.qrels:2: query `q1` judges document `d1` again",
                "keep one",
            ],
        ),
        (
            "nan.qrels",
            b"q1 0 d1 nan\n",
            &["nan.qrels:1: the grade `nan`"],
        ),
        (
            "inf.qrels",
            b"q1 0 d1 inf\n",
            &["inf.qrels:1: the grade `inf`"],
        ),
        (
            "empty.qrels",
            b"",
            &["empty.qrels: the file is empty; give it queries"],
        ),
        (
            "binary.qrels",
            b"\x7fELF\x02\x01\xff\xfe\n",
            &["binary.qrels:1: not UTF-8; save"],
        ),
        (
            "zeros.qrels",
            &[0; 5000],
            &["zeros.qrels:1: unknown gold format; expected"],
        ),
        (
            "cut.json",
            br#"{"queries":[{"query_id":"q1","ground_tr"#,
            &["cut.json:1: not valid JSON"],
        ),
        (
            "list.json",
            b"[1, 2]",
            &["list.json:1: unknown gold format"],
        ),
        (
            "none.json",
            br#"{"queries":[]}"#,
            &["none.json: `queries` is an empty list"],
        ),
        (
            "inf.json",
            br#"{"q1": {"d1": 1e999}}"#,
            &["inf.json:1:", "out of range"],
        ),
    ];
    let desk = Desk::new();
    for (name, content, says) in cases {
        desk.put(name, content);
        desk.refused_as_gold(name, says);
    }
    desk.refused_as_gold(
        "missing.qrels",
        &["missing.qrels: cannot be read", "check the path"],
    );
    let folder = desk.0.path().join("folder");
    fs::create_dir(folder).expect("a folder");
    desk.refused_as_gold(
        "folder",
        &["folder: the folder holds no gold file; put one there"],
    );
}

#[test]
fn a_line_of_one_gigabyte_is_rejected_at_the_size_limit() {
    let desk = Desk::new();
    desk.put_endless("endless.run", b"q1 Q0 d1 1 2 x\n");
    desk.refused_as_run(
        "endless.run",
        &["endless.run:2: the line is longer than 1048576 bytes"],
    );
    desk.put_endless("endless.eval", b"P_5 q1 0.5\n");
    desk.put("right.eval", b"P_5 q1 0.5\n");
    desk.refused(
        "compare --scores endless.eval --scores right.eval --output report",
        &["endless.eval:2: the line is longer than 65536 bytes"],
    );
    desk.put_endless("endless.qrels", b"q1 0 d1 1\n");
    desk.refused(
        "evaluate --gold endless.qrels --run right.run --measures P@5 --output report",
        &[
            "endless.qrels:2: the file is larger than 256 MiB",
            "split it",
        ],
    );
}

#[test]
fn an_unknown_measure_or_label_is_reported_by_name() {
    let desk = Desk::new();
    let wrong = [
        (
            "--measures Foo@5",
            "no measure is called `Foo` (in `Foo@5`); docs/measures.md lists the measures",
        ),
        ("--measures P@0", "P needs a whole number from 1"),
        ("--measures nDCG(gain=cubic)@5", "`gain` cannot be `cubic`"),
        ("--measures CTR", "CTR measures user feedback"),
        (
            "--measures Discovery(rne)",
            "the component `rne`, which is not configured",
        ),
        ("--measures P@5 --by tone", "no query has the label `tone`"),
    ];
    for (arguments, says) in wrong {
        for command in [
            "evaluate --run right.run",
            "compare --run right.run --run other.run",
        ] {
            desk.refused(
                &format!("{command} --gold gold.qrels {arguments} --output report"),
                &[says],
            );
        }
    }
    desk.refused(
        "evaluate --gold gold.qrels --measures P@5",
        &["no run: name one with --run"],
    );
    desk.refused(
        "evaluate --run right.run --measures P@5",
        &["no gold set: name one with --gold"],
    );
}

#[test]
fn an_unwritable_report_path_is_rejected_before_any_work() {
    let desk = Desk::new();
    fs::create_dir(desk.0.path().join("folder")).expect("a folder");
    let mut places = vec![
        ("folder", "is a folder; name a file in it"),
        ("nowhere/report", "its folder does not exist; make it first"),
    ];
    // A path where even root cannot create a file.
    if Path::new("/proc/self").exists() {
        places.push(("/proc/report", "no file can be made in its folder"));
    }
    for (place, says) in places {
        for command in [
            "evaluate --run missing.run --gold gold.qrels --measures P@5",
            "compare --run missing.run --run right.run --gold gold.qrels --measures P@5",
            "gold convert gold.qrels --to native --force",
        ] {
            desk.refused(&format!("{command} --output {place}"), &[place, says]);
        }
    }
}
