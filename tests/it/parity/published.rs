//! Complete outputs of trec_eval 9.0.8 and 10.0, as NIST publishes them with its tests, and values that
//! trec_eval 10.0 printed for the same files.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::harness::command::{self, Arguments as _, rankgauge};

fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/published/trec_eval");
    folder.join(name)
}

/// Lines of trec_eval's output without those of a text: name, query and value.
fn lines(text: &str) -> Vec<Vec<&str>> {
    let columns = text
        .lines()
        .map(|line| line.split_ascii_whitespace().collect());
    let is_number = |columns: &Vec<&str>| {
        let name = columns.first().copied().unwrap_or_default();
        name != "runid" && !name.starts_with("relstring")
    };
    columns.filter(is_number).collect()
}

fn printed(run: &str, qrels: &str, flags: &[&str]) -> String {
    let evaluate = format!("evaluate --trec --per-query --gold {qrels} --run {run}");
    let arguments = [&evaluate.words()[..], flags].concat();
    command::printed(&rankgauge(&file(""), &arguments))
}

#[test]
fn all_measures_of_both_versions_are_printed_as_trec_eval_prints_them() {
    let run = ("results.test.gz", "qrels.test.gz", &[][..]);
    let complete = ("results.trunc.gz", "qrels.test.gz", &["--complete"][..]);
    let level = &["--set", "gold.relevance_level=2"][..];
    let of_level = ("results.test.gz", "qrels.rel_level.gz", level);
    for (expected, compat, (results, qrels, flags)) in [
        ("out.test.aq.gz", "trec_eval@9", run),
        ("out10.test.aq.gz", "trec_eval@10", run),
        ("out10.test.aqc.gz", "trec_eval@10", complete),
        ("out.test.aql.gz", "trec_eval@9", of_level),
        ("out10.test.aql.gz", "trec_eval@10", of_level),
    ] {
        let mut content = String::new();
        let compressed = fs::File::open(file(expected)).expect("a file of the repository");
        GzDecoder::new(compressed)
            .read_to_string(&mut content)
            .expect("a whole file");
        let mut all = vec!["--measures", "all_trec", "--compat", compat];
        all.extend(flags);
        let ours = printed(results, qrels, &all);
        assert_eq!(lines(&ours), lines(&content), "{expected}");
        assert!(lines(&ours).len() > 350);
    }
}

#[test]
fn parameters_are_read_as_trec_eval_writes_them() {
    let measures = "iprec_at_recall.0.25,.5 P.3,7 recall.2000 Rprec_mult.5.0,0.35 ndcg.1=3,2=9,4=4.5 \
                    ndcg_cut.10,23 success.2 set_F.2 yaap";
    let ours = printed(
        "results.test.gz",
        "qrels.test.gz",
        &["--compat", "trec_eval@10", "--measures", measures],
    );
    for expected in [
        "iprec_at_recall_0.25 302 0.7917",
        "iprec_at_recall_0.50 302 0.5417",
        "P_3 302 0.6667",
        "P_7 302 0.7143",
        "recall_2000 301 0.1498",
        "Rprec_mult_5.00 303 0.1000",
        "Rprec_mult_0.35 302 0.7407",
        "nDCG(gains=1:3;2:9;4:4.5) 302 0.6617",
        "ndcg_cut_23 301 0.1814",
        "success_2 302 1.0000",
        "yaap 301 -3.3350",
        "yaap 302 -0.3246",
        "yaap all -1.7857",
    ] {
        let expected: Vec<&str> = expected.split(' ').collect();
        assert!(lines(&ours).contains(&expected), "{expected:?} in\n{ours}");
    }
}

#[test]
fn flags_of_trec_eval_have_its_letters() {
    let first = printed(
        "results.test.gz",
        "qrels.test.gz",
        &["-M", "100", "--measures", "num_ret map"],
    );
    // trec_eval -M 100.
    assert!(
        lines(&first).contains(&vec!["map", "301", "0.0118"]),
        "{first}"
    );
    let judged = printed(
        "results.test.gz",
        "qrels.test.gz",
        &["-J", "--measures", "map"],
    );
    // trec_eval -J.
    assert!(
        lines(&judged).contains(&vec!["map", "301", "0.0441"]),
        "{judged}"
    );
    assert!(
        lines(&judged).contains(&vec!["num_ret", "301", "259"]),
        "{judged}"
    );
    let flags = [
        "-N",
        "100000",
        "--measures",
        "Utility(c=0.5,d=0.25) utility.1,-1,0.5,0.25",
    ];
    let collection = printed("results.test.gz", "qrels.test.gz", &flags);
    // trec_eval -N 100000 -m utility.1,-1,0.5,0.25.
    let value = lines(&collection);
    let value = value
        .iter()
        .find(|line| line[0].starts_with("Utility") && line[1] == "301");
    assert_eq!(
        value.map(|line| line[2]),
        Some("24617.7500"),
        "{collection}"
    );
}
