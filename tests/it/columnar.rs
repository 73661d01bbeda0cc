//! Tables in Parquet and Arrow as gold sets and runs. `tests/data/columnar/generate.py` has written the files by
//! pandas, polars and pyarrow.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::harness::command::{self, Arguments};

fn data(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/columnar");
    folder.join(name)
}

fn rankgauge<A: Arguments + ?Sized>(arguments: &A) -> Output {
    command::rankgauge(&data("."), arguments)
}

#[cfg(not(feature = "columnar"))]
#[test]
fn a_build_without_the_feature_names_the_format_the_feature_and_the_alternative() {
    for (name, format) in [
        ("pandas.parquet", "Parquet"),
        ("pandas.feather", "Arrow (Feather)"),
        ("polars.arrows", "Arrow (a stream)"),
    ] {
        let run = ["evaluate", "--gold", "gold.csv", "--run", name];
        for arguments in [&run[..], &["gold", "stats", name]] {
            let output = rankgauge(arguments);
            let expected = format!(
                "{name}: cannot be read: a table in {format}, which this build does not read; use a release or a \
                 build with `--features columnar`, or write CSV"
            );
            command::assert_reports(&output, 2, &expected);
        }
    }
}

#[cfg(feature = "columnar")]
mod with_the_feature {
    use std::fs;
    use std::io::Read as _;

    use rankgauge_core::compression;
    use serde_json::{Value, json};

    use super::{data, rankgauge};
    use crate::harness::command::{Arguments as _, assert_exit, assert_reports, json, stderr};

    const RUNS: [&str; 11] = [
        "pandas.parquet",
        "pandas.feather",
        "polars.parquet",
        "polars.arrow",
        "polars.arrows",
        "categorical.arrow",
        "dictionary.arrows",
        "none.parquet",
        "gzip.parquet",
        "lz4.parquet",
        "delta.parquet",
    ];

    fn evaluated(gold: &[&str], run: &[&str]) -> Value {
        let common = "evaluate --measures RR --format json --per-query".words();
        json(&rankgauge(&[&common[..], gold, run].concat()))
    }

    #[test]
    fn runs_of_pandas_polars_and_pyarrow_are_read() {
        for run in RUNS {
            let run_of = evaluated(&["--gold", "gold.csv"], &["--run", run])["runs"][0].clone();
            let documents = &run_of["documents"];
            let first = ["#d3", "법률:제17조, 제1항", "d\"2"];
            assert_eq!(documents["1"]["retrieved"], json!(first), "{run}");
            assert_eq!(documents["2"]["retrieved"], json!(["d5", "d4"]), "{run}");
            assert_eq!(run_of["means"]["RR"], 0.5, "{run}");
        }
    }

    #[test]
    fn gold_sets_are_read_with_their_texts() {
        let csv = evaluated(&["--gold", "gold.csv"], &["--run", "pandas.parquet"]);
        for gold in ["gold.parquet", "gold.arrow"] {
            let of_table = evaluated(&["--gold", gold], &["--run", "pandas.parquet"]);
            assert_eq!(of_table["runs"], csv["runs"], "{gold}");
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("gold.json");
            let path = file.to_str().expect("UTF-8");
            let output = rankgauge(&format!("gold convert {gold} --to native --output {path}"));
            assert_exit(&output, 0);
            let written = fs::read(&file).expect("it is written");
            let written: Value = serde_json::from_slice(&written).expect("JSON");
            assert_eq!(written["queries"][0]["query_text"], "17조 검색", "{gold}");
            assert_eq!(
                written["queries"].as_array().map(Vec::len),
                Some(2),
                "{gold}"
            );
        }
    }

    #[test]
    fn columns_with_other_names_are_stated() {
        let columns = "query=topic_nr,document=article,score=s";
        let evaluate = "evaluate --gold gold.csv --run other.parquet";
        assert_exit(&rankgauge(evaluate), 2);
        let output = rankgauge(&format!("{evaluate} --columns {columns}"));
        // The second row lacks its document and its score.
        let expected = "other.parquet:3: column 3, the score, is missing or empty";
        assert_reports(&output, 2, expected);
        let gold = [
            "--gold",
            "other.parquet",
            "--gold-columns",
            "query=topic_nr,document=article,grade=s",
        ];
        let run = evaluated(&gold, &["--run", "pandas.parquet"]);
        // The second query has no judgement.
        assert_eq!(run["runs"][0]["means"]["RR"], 0.5);
        let output =
            rankgauge("gold stats other.parquet --columns query=nr,document=article,grade=s");
        let expected = "no column is called `nr`; the columns are topic_nr, article, s";
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }

    #[test]
    fn unreadable_tables_are_named() {
        let output = rankgauge("evaluate --gold gold.csv --run brotli.parquet");
        assert_reports(&output, 2, "brotli.parquet: cannot be read: in Parquet: ");
    }

    #[test]
    fn a_table_that_is_cut_off_is_an_error() {
        let whole = fs::read(data("pandas.parquet")).expect("a file");
        for length in (8..whole.len()).step_by(61) {
            let source = std::io::Cursor::new(whole[..length].to_vec());
            let mut text = Vec::new();
            let read = compression::decompressed(source)
                .and_then(|mut table| table.read_to_end(&mut text));
            assert!(read.is_err(), "{length} of {} bytes", whole.len());
        }
    }

    /// Files whose readers panic, and allocate more than any machine has.
    #[test]
    fn a_damaged_table_is_an_error_of_the_command() {
        for (name, changes) in [
            ("pandas.parquet", &[(314, 4), (369, 141)][..]),
            ("pandas.feather", &[(1_670, 127)]),
        ] {
            let mut file = fs::read(data(name)).expect("a file");
            for (place, byte) in changes {
                file[*place] = *byte;
            }
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join(name);
            fs::write(&path, &file).expect("it is written");
            let path = path.to_str().expect("UTF-8");
            let evaluate = ["evaluate", "--gold", "gold.csv", "--run", path];
            for arguments in [&evaluate[..], &["gold", "stats", path]] {
                let output = rankgauge(arguments);
                let expected = format!(
                    "{name}: cannot be read: the table is damaged: the process that read it ended with "
                );
                assert_reports(&output, 2, &expected);
                assert!(!stderr(&output).contains("panicked"));
            }
        }
    }
}
