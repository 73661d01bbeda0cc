//! Our numbers equal those of established tools: both judge the same files.
//!
//! Reference values: those of trec_eval for P, R, Success, RR, AP, nDCG with linear gain, Bpref and
//! IPrec, and its order for ties; those of ranx for F1, RR@k and nDCG with exponential gain; those
//! of ir_measures for RBP (cwl_eval), Judged and ERR (gdeval). A measure with more than one
//! reference has to equal all of them, and a second implementation from the definitions as well.

mod fixture;
mod peers;
mod published;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use fixture::{Fixture, GOLD_QUERIES};
use peers::{ByQuery, EvaluatedRun, Judged};

/// Largest difference that counts as equal.
const TOLERANCE: f64 = 1e-9;

/// Results of all tools for one gold set and run.
struct Case {
    peers: Judged,
    plain: EvaluatedRun,
    complete: EvaluatedRun,
    has_relevant: EvaluatedRun,
}

impl Case {
    /// TREC run against TREC qrels: whole grades, ids without white space.
    fn trec() -> &'static Self {
        Self::all().get("trec").expect("it is one of the cases")
    }

    /// Run and gold set as JSON: fractional grades, any ids, empty lists.
    fn json() -> &'static Self {
        Self::all().get("json").expect("it is one of the cases")
    }

    /// All cases, judged once for all tests.
    fn all() -> &'static BTreeMap<String, Self> {
        static CASES: OnceLock<BTreeMap<String, Case>> = OnceLock::new();
        CASES.get_or_init(|| {
            let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
                .expect("a folder in the target directory");
            let write = |name: &str, content: &str| -> PathBuf {
                let path = folder.path().join(name);
                fs::write(&path, content).expect("the target directory can be written to");
                path
            };
            let files = |name: &'static str, [gold, run]: [&str; 2], fixture: &Fixture| {
                (name, write(gold, &fixture.gold), write(run, &fixture.run))
            };
            let cases = [
                files("trec", ["gold.qrels", "trec.run"], &fixture::trec(4)),
                files("json", ["gold.json", "run.json"], &fixture::json(4)),
            ];
            let mut judged = peers::judge(&cases);
            let judge = |(name, gold, run): &(&str, PathBuf, PathBuf)| {
                let peers = judged.remove(*name).expect("judge.py judges every case");
                let names: BTreeSet<&str> = peers
                    .per_query
                    .values()
                    .flat_map(|measures| measures.keys().map(String::as_str))
                    .collect();
                let measures = Vec::from_iter(names).join(" ");
                let evaluate = |flags: &[&str]| peers::evaluate(gold, run, &measures, flags);
                let (plain, complete) = (evaluate(&[]), evaluate(&["--complete"]));
                let case = Self {
                    plain,
                    complete,
                    has_relevant: evaluate(&["--has-relevant"]),
                    peers,
                };
                ((*name).to_owned(), case)
            };
            cases.iter().map(judge).collect()
        })
    }

    fn definitions(&self) -> &peers::ByMeasure {
        &self.peers.per_query["definitions"]
    }

    fn ours(&self, measure: &str, query: &str) -> Option<f64> {
        self.plain.per_query.get(query)?.get(measure).copied()
    }

    /// Asserts that every value of `reference` equals ours by `same`, and returns its measures.
    #[track_caller]
    fn assert_equal(&self, reference: &str, same: impl Fn(f64, f64) -> bool) -> BTreeSet<&str> {
        let mut differences = Vec::new();
        let values = &self.peers.per_query[reference];
        for (measure, queries) in values {
            assert!(!queries.is_empty(), "{reference} says nothing of {measure}");
            for (query, &theirs) in queries {
                let ours = self.ours(measure, query);
                if !ours.is_some_and(|ours| same(ours, theirs)) {
                    differences.push(format!(
                        "{measure} of {query:?}: ours {ours:?}, {reference} {theirs}"
                    ));
                }
            }
        }
        let count = differences.len();
        differences.truncate(20);
        assert!(
            count == 0,
            "{count} values differ:\n{}",
            differences.join("\n")
        );
        values.keys().map(String::as_str).collect()
    }

    /// Asserts equality with every reference, and that each of the measures has one among
    /// `references` in addition to the definitions.
    #[track_caller]
    fn assert_parity(&self, references: &[(&str, &str)]) {
        for (reference, expected) in references {
            let measures = self.assert_equal(reference, close);
            for measure in expected.split(' ') {
                assert!(
                    measures.contains(measure),
                    "{reference} was not asked for {measure}"
                );
            }
        }
        self.assert_equal("definitions", close);
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= TOLERANCE
}

/// Mean of scores, or what the reports state instead.
fn mean(values: &ByQuery, queries: usize) -> f64 {
    let count = u32::try_from(queries).expect("few queries");
    values.values().sum::<f64>() / f64::from(count)
}

/// Measures with the value of trec_eval as their reference.
const OF_TREC_EVAL: &str = "\
    P@5 P(rel=2)@10 R@10 R@100 Success@10 RR AP AP@10 AP(rel=2) nDCG nDCG@10 Bpref \
    Bpref(rel=2) Rprec infAP IPrecAvg binG SetF nDCGRel RprecMult@1.4 RelP@10 Utility \
    IPrec@0 IPrec@0.1 IPrec@1";
/// Measures with the value of ranx as their reference.
const OF_RANX: &str =
    "F1@5 F1(rel=2)@10 RR@10 nDCG(gain=exp) nDCG(gain=exp)@10 RBP RBP(graded=true)";

#[test]
fn trec_run_values_with_whole_grades_equal_those_of_the_reference_tools() {
    Case::trec().assert_parity(&[
        ("trec_eval", OF_TREC_EVAL),
        ("ranx", OF_RANX),
        (
            "ir_measures",
            "RBP RBP(p=0.95) Judged@10 ERR(max=4)@20 nDCG(gain=exp)@10 INST(max_rel=4) \
             BPM(max_rel=4)@10 SDCG(max_rel=4)@10 Compat Accuracy",
        ),
    ]);
}

#[test]
fn json_run_values_with_fractional_grades_equal_those_of_the_reference_tools() {
    Case::json().assert_parity(&[
        ("trec_eval", OF_TREC_EVAL),
        ("ranx", OF_RANX),
        ("ir_measures", "RBP Judged@10"),
    ]);
}

#[test]
fn measures_of_trec_eval_equal_its_values_bit_for_bit() {
    for case in [Case::trec(), Case::json()] {
        case.assert_equal("trec_eval", |ours, theirs| {
            ours.to_bits() == theirs.to_bits()
        });
    }
}

#[test]
fn fixtures_distinguish_every_wrong_tie_order_from_that_of_trec_eval() {
    for (name, case) in Case::all() {
        for order in ["id_ascending", "score_64_bit", "id_utf_16"] {
            let changed = case.peers.sensitivity.get(order).copied().unwrap_or(0);
            assert!(
                changed >= 10,
                "{order} would change {changed} queries of {name}"
            );
        }
    }
}

#[test]
fn means_are_over_the_answered_queries_of_the_gold_set() {
    for case in Case::all().values() {
        for (measure, values) in case.definitions() {
            assert_eq!(values.len(), case.plain.queries);
            let expected = mean(values, values.len());
            let ours = case.plain.means[measure];
            assert!(close(ours, expected), "{measure}: {ours}, not {expected}");
        }
        assert_eq!(case.plain.queries + case.plain.missing.len(), GOLD_QUERIES);
        assert_eq!(case.plain.missing.len(), GOLD_QUERIES / 20);
    }
}

#[test]
fn complete_counts_missing_queries_as_zero() {
    for case in Case::all().values() {
        assert_eq!(case.complete.queries, GOLD_QUERIES);
        assert_eq!(case.complete.missing, case.plain.missing);
        let measures = case.definitions().iter();
        // False negatives are a count, for which a missing query does not score 0.
        for (measure, values) in measures.filter(|(name, _)| !name.starts_with("FN@")) {
            let expected = mean(values, GOLD_QUERIES);
            let ours = case.complete.means[measure];
            assert!(close(ours, expected), "{measure}: {ours}, not {expected}");
        }
    }
}

#[test]
fn has_relevant_excludes_queries_without_a_relevant_document() {
    for case in Case::all().values() {
        let definitions = case.definitions();
        let relevant =
            |query: &String| definitions["TP@100"][query] + definitions["FN@100"][query] > 0.0;
        for (measure, values) in definitions {
            let kept: ByQuery = values
                .iter()
                .filter(|(query, _)| relevant(query))
                .map(|(query, &value)| (query.clone(), value))
                .collect();
            assert!(kept.len() < values.len() && kept.len() == case.has_relevant.queries);
            let expected = mean(&kept, kept.len());
            let ours = case.has_relevant.means[measure];
            assert!(close(ours, expected), "{measure}: {ours}, not {expected}");
        }
    }
}

#[test]
fn micro_averages_are_counts_of_all_results_together() {
    for case in Case::all().values() {
        for (measure, &expected) in &case.peers.micro {
            let ours = case.plain.micro.get(measure).copied();
            assert!(
                ours.is_some_and(|ours| close(ours, expected)),
                "{measure}: {ours:?}, not {expected}"
            );
        }
    }
}
