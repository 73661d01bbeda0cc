//! Preferences, judgement groups and normalised scores against trec_eval 10.0.

use std::collections::BTreeMap;
use std::fs;

use rankgauge_core::event::Limits;
use rankgauge_core::gold;
use rankgauge_core::measure::{Compat, Measure};
use rankgauge_eval::evaluate::{self, Evaluation, RunEvaluation};
use rankgauge_eval::pass::{Contents, judge};
use rankgauge_eval::preferences::{self, MEASURES, Options, Preferences};
use rankgauge_eval::report::{self, ZScores};
use rankgauge_eval::run::{ReadOptions, RunReader};

use super::repository;

fn data(name: &str) -> std::path::PathBuf {
    repository("tests/data/preferences").join(name)
}

/// Numbers by query and measure, as trec_eval prints them. The query of the summary is `all`.
type Numbers = BTreeMap<(String, String), f64>;

fn expected(name: &str) -> Numbers {
    let text = fs::read_to_string(data(name)).expect("a file");
    let lines = text.lines().map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [measure, query, number] = columns[..] else {
            panic!("{line}")
        };
        let number = number.parse().expect("a number");
        ((query.to_owned(), measure.to_owned()), number)
    });
    lines.collect()
}

fn assert_equal(run: &RunEvaluation, measures: &[&str], expected: &Numbers) {
    let mut compared = 0;
    let mut compare = |query: &str, scores: &[Option<f64>]| {
        for (measure, score) in measures.iter().zip(scores) {
            let key = (query.to_owned(), (*measure).to_owned());
            let score = score.unwrap_or(f64::NAN);
            let difference = (score - expected[&key]).abs();
            assert!(
                difference < 1e-9,
                "{measure} of {query}: {score} instead of {}",
                expected[&key]
            );
            compared += 1;
        }
    };
    for query in &run.queries {
        compare(&query.key, &query.scores);
    }
    compare("all", &run.means);
    assert_eq!(compared, expected.len());
}

fn reading() -> ReadOptions {
    ReadOptions {
        scores: true,
        ..ReadOptions::new(Limits {
            record_bytes: 1 << 20,
            results_per_search: 1000,
        })
    }
}

fn run() -> RunReader {
    RunReader::open(&data("small.run"), &reading()).expect("a run")
}

fn judged(name: &str, complete: bool) -> RunEvaluation {
    let bytes = fs::read(data(name)).expect("a file");
    let preferences = Preferences::parse(name, &bytes).expect("preferences");
    let options = Options {
        measures: preferences::measures(&["all_prefs".to_owned()]).expect("measures"),
        complete,
    };
    preferences::evaluate(&preferences, "small", run(), &reading(), &options)
        .expect("an evaluation")
}

#[test]
fn preferences_score_as_in_trec_eval() {
    for (file, values) in [
        ("users.prefs", "users.expected"),
        ("groups.qrels", "groups.expected"),
    ] {
        assert_equal(&judged(file, false), &MEASURES, &expected(values));
    }
}

#[test]
fn the_headline_of_preferences_is_a_share_and_no_count() {
    for list in ["prefs", "all_prefs"] {
        let measures = preferences::measures(&[list.to_owned()]).expect("measures");
        let names: Vec<String> = measures.iter().map(|at| MEASURES[*at].to_owned()).collect();
        let headline = report::headline(&names).map(|at| names[at].as_str());
        assert_eq!(headline, Some("prefs_simp"), "{list}");
    }
    let counts = ["NumRelRet".to_owned(), "num_rel_ret".to_owned()];
    assert_eq!(report::headline(&counts), None);
}

#[test]
fn means_over_judgement_groups_are_those_of_trec_eval() {
    let gold = gold::load(&[data("groups.qrels")], &gold::Options::default()).expect("a gold set");
    let options = evaluate::Options {
        measures: Measure::parse_list("qrels_jg").expect("measures"),
        ..evaluate::Options::default()
    };
    let judged = judge(&gold, "small", run(), &options, &Contents::default());
    let run = judged.expect("an evaluation").evaluation;
    let evaluation = Evaluation::of(&gold, &options, vec![run]);
    let printed = report::write_trec(
        &evaluation,
        &report::Options {
            per_query: true,
            ..report::Options::default()
        },
    );
    let expected = expected("jg.expected");
    let mut compared = 0;
    for line in printed.lines() {
        let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
        let key = (columns[1].to_owned(), columns[0].to_owned());
        if let Some(number) = expected.get(&key) {
            let printed: f64 = columns[2].parse().expect("a number");
            assert!((printed - number).abs() < 0.000_051, "{line}: {number}");
            compared += 1;
        }
    }
    assert_eq!(compared, expected.len());
    let scores: Vec<(String, f64)> = evaluation.runs[0].queries[0]
        .scores
        .iter()
        .zip(&evaluation.measures)
        .map(|(score, measure)| (measure.clone(), score.expect("a score")))
        .collect();
    let key = &evaluation.runs[0].queries[0].key;
    for (ours, theirs) in [("GroupAP", "map_avgjg"), ("GroupP@5", "P_avgjg_5")] {
        let (_, score) = scores
            .iter()
            .find(|(measure, _)| measure == ours)
            .expect("the measure");
        let expected = expected[&(key.clone(), theirs.to_owned())];
        assert!((score - expected).abs() < 1e-9, "{ours}");
    }
}

#[test]
fn normalised_scores_are_those_of_trec_eval() {
    let gold = gold::load(&[data("small.qrels")], &gold::Options::default()).expect("a gold set");
    let options = evaluate::Options {
        measures: Measure::parse_list_as("official", Compat::TrecEval10).expect("measures"),
        ..evaluate::Options::default()
    };
    let judged = judge(&gold, "small", run(), &options, &Contents::default());
    let run = judged.expect("an evaluation").evaluation;
    let evaluation = Evaluation::of(&gold, &options, vec![run]);
    let bytes = fs::read(data("zscores")).expect("a file");
    let zscores = ZScores::parse("zscores", &bytes).expect("means and deviations");
    let options = report::Options {
        per_query: true,
        ..report::Options::default()
    };
    let (printed, missing) = report::write_normalised(&evaluation, &options, &zscores);
    let expected = fs::read_to_string(data("zscores.expected")).expect("a file");
    let (ours, theirs) = (printed.lines(), expected.lines());
    for (ours, theirs) in ours.zip(theirs) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(printed, expected);
    assert_eq!(
        missing,
        expected
            .lines()
            .filter(|it| it.ends_with("\t-1000000.0000") && !it.contains("\tall\t"))
            .count()
    );
}

#[test]
fn wrong_means_and_deviations_are_named() {
    for (text, message) in [
        ("1 map 0.5\n", "z:1: 3 columns instead of four"),
        ("1 map 0.5 x\n", "z:1: `x` is not a finite number"),
        (
            "1 map 0.5 -1\n",
            "z:1: the standard deviation `-1` is negative",
        ),
        (
            "1 map 0 1\n1 map 0 1\n",
            "z:2: `map` of query `1` is on an earlier line",
        ),
        ("\n", "z: the file is empty"),
    ] {
        let error = ZScores::parse("z", text.as_bytes())
            .expect_err(text)
            .to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn a_query_without_an_answer_counts_on_request() {
    let bytes = "1 u 0 d1-1 1\n1 u 0 d1-2 0\nz u 0 a 1\nz u 0 b 0\n";
    let preferences = Preferences::parse("p", bytes.as_bytes()).expect("preferences");
    for (complete, queries) in [(false, 1), (true, 2)] {
        let options = Options {
            measures: preferences::measures(&["prefs_simp".to_owned()]).expect("measures"),
            complete,
        };
        let run = preferences::evaluate(&preferences, "small", run(), &reading(), &options);
        let run = run.expect("an evaluation");
        assert_eq!(run.queries.len(), queries);
        assert_eq!(run.missing, ["z"]);
        assert_eq!(run.unknown.len(), 11);
    }
}

#[test]
fn wrong_preferences_are_named_with_their_lines() {
    for (text, message) in [
        ("", "p: the file is empty"),
        ("1 u d\n", "p:1: 3 columns where 5 are expected"),
        (
            "1 u d 1\n# note\n1 u 0 d 1\n",
            "p:3: 5 columns where 4 are expected",
        ),
        ("1 u 0 d high\n", "p:1: the level `high` is not a number"),
        (
            "1 u 0 d 1\n1 u 0 d 2\n",
            "p:2: document `d` has another level in the same group",
        ),
        (
            "1 u s a 2\n1 u s b 1\n1 u t b 2\n1 u t a 1\n",
            "p: query `1`, group `u`: the subgroups contradict each other about the documents `a` and `b`",
        ),
        (
            "1 u s a 2\n1 u s b 1\n1 u t a 0\n",
            "p: query `1`, group `u`: document `a` has the level 0 and another one",
        ),
    ] {
        let error = Preferences::parse("p", text.as_bytes()).expect_err(text);
        assert!(error.to_string().starts_with(message), "{error}");
    }
    let many: Vec<_> = (0..5001)
        .map(|number| format!("1 u d{number} 1\n"))
        .collect();
    let many = many.concat();
    let error = Preferences::parse("p", many.as_bytes()).expect_err("too many");
    assert!(
        error
            .to_string()
            .contains("5001 documents with preferences"),
        "{error}"
    );
    let unknown = preferences::measures(&["prefs_best".to_owned()]).expect_err("no measure");
    assert!(
        unknown.contains("`prefs_best` is no measure of preferences"),
        "{unknown}"
    );
}
