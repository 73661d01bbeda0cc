//! Values of every measure, the spellings that name it, and its properties.

use proptest::prelude::*;
use rankgauge_core::gold::{Grade, Judgements};
use rankgauge_core::measure::{Curves, Cutoff, Measure, MeasureError, UserMeasure};
use rankgauge_core::ranking::Ranking;

mod answers;
mod bounds;
mod catalogue;
mod tools;
mod worked_examples;

const TOLERANCE: f64 = 5e-5;

fn grade(value: f64) -> Grade {
    Grade::new(value).expect("a finite grade")
}

fn judgements(documents: &[(&str, f64)]) -> Judgements {
    let documents = documents
        .iter()
        .map(|(id, value)| (Box::from(*id), grade(*value)));
    Judgements::new(Grade::ONE, documents).expect("no document twice")
}

fn score(measure: &str, served: &[&str], judgements: &Judgements) -> f64 {
    let Measure::Ranked(measure) = measure.parse().expect("a measure") else {
        unreachable!("{measure} is a measure of rankings")
    };
    let mut ranking = Ranking::new();
    ranking.judge(served.iter().copied(), judgements);
    measure
        .score(&ranking, judgements)
        .expect("every judged search has a score")
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < TOLERANCE,
        "{found} is not {expected}"
    );
}

/// List of graded results, d1 d2 …, and gold that holds exactly these grades and `more`.
fn graded(grades: &[f64], more: &[f64]) -> (Vec<String>, Judgements) {
    let ids: Vec<String> = (1..=grades.len() + more.len())
        .map(|i| format!("d{i}"))
        .collect();
    let all = ids.iter().zip(grades.iter().chain(more));
    let documents = all.map(|(id, value)| (id.as_str().into(), grade(*value)));
    let judgements = Judgements::new(Grade::ONE, documents).expect("no document twice");
    (ids.into_iter().take(grades.len()).collect(), judgements)
}

fn score_graded(measure: &str, grades: &[f64], more: &[f64]) -> f64 {
    let (served, judgements) = graded(grades, more);
    let served: Vec<&str> = served.iter().map(String::as_str).collect();
    score(measure, &served, &judgements)
}

// Definitions and edge cases.

#[test]
fn only_numbers_of_results_are_cutoffs() {
    for (name, cutoff) in [
        ("nDCG@10", Some(10)),
        ("P@5", Some(5)),
        ("nDCG(gains=1:3)@20", Some(20)),
        ("nDCG", None),
        ("RprecMult@2", None),
        ("IPrec@1", None),
        ("IPrec@0.5", None),
    ] {
        let measure: Measure = name.parse().expect("a measure");
        assert_eq!(measure.cutoff().map(Cutoff::get), cutoff, "{name}");
    }
}

#[test]
fn precision_divides_by_k_by_default() {
    assert_close(score_graded("P@10", &[1.0, 0.0], &[]), 0.1);
    assert_close(
        score_graded("P(denominator=retrieved)@10", &[1.0, 0.0], &[]),
        0.5,
    );
    let gold = judgements(&[("a", 1.0), ("b", 0.0), ("c", 1.0)]);
    let served = ["x", "a", "b", "y", "c"];
    assert_close(score("P(denominator=judged)@4", &served, &gold), 0.5);
    assert_close(score("P(denominator=judged)@1", &served, &gold), 0.0);
    // Precision 1/2, recall 1/2.
    assert_close(score("F1(denominator=judged)@4", &served, &gold), 0.5);
}

#[test]
fn average_precision_at_k_divides_by_all_relevant_documents() {
    assert_close(score_graded("AP@1", &[1.0, 1.0], &[1.0, 1.0]), 0.25);
    let found = "AP(denominator=found)@3";
    assert_close(
        score_graded(found, &[0.0, 1.0, 1.0, 1.0], &[1.0]),
        f64::midpoint(1.0 / 2.0, 2.0 / 3.0),
    );
}

#[test]
fn reciprocal_rank_at_k_ignores_results_after_k() {
    assert_close(score_graded("RR@2", &[0.0, 0.0, 1.0], &[]), 0.0);
    assert_close(score_graded("RR", &[0.0, 0.0, 1.0], &[]), 1.0 / 3.0);
}

#[test]
fn success_requires_one_relevant_document_and_all_hit_requires_all() {
    assert_close(score_graded("Success@2", &[0.0, 1.0], &[1.0]), 1.0);
    assert_close(score_graded("AllHit@2", &[0.0, 1.0], &[1.0]), 0.0);
    assert_close(score_graded("AllHit@2", &[0.0, 1.0], &[]), 1.0);
}

#[test]
fn ndcg_gains() {
    // Linear: (1 + 3/log2 3) / (3 + 1/log2 3).
    assert_close(score_graded("nDCG", &[1.0, 3.0], &[]), 0.796_710);
    // Exponential: (1 + 7/log2 3) / (7 + 1/log2 3).
    assert_close(score_graded("nDCG(gain=exp)", &[1.0, 3.0], &[]), 0.709_809);
    assert_close(score_graded("nDCG(gain=binary)", &[1.0, 3.0], &[]), 1.0);
    assert_close(
        score_graded("nDCG(gain=binary,rel=2)", &[1.0, 3.0], &[]),
        0.630_930,
    );
}

#[test]
fn ndcg_with_retrieved_ideal_ignores_missing_documents() {
    assert_close(
        score_graded("nDCG(ideal=retrieved)@5", &[2.0, 1.0], &[3.0]),
        1.0,
    );
    assert_close(
        score_graded("nDCG(ideal=retrieved)@1", &[1.0, 2.0], &[]),
        0.5,
    );
    assert_close(score_graded("nDCG(ideal=retrieved)@5", &[0.0], &[3.0]), 0.0);
}

#[test]
fn ndcg_with_uncut_ideal_includes_documents_after_k() {
    // Ideal: 3, 2, 1 at the ranks 1 to 3, of which the cutoff admits one.
    let ideal = 3.0 + 2.0 / 3.0_f64.log2() + 0.5;
    let name = "nDCG(ideal=uncut)@1";
    assert_close(score_graded(name, &[3.0, 2.0], &[1.0]), 3.0 / ideal);
    let gains = "nDCG(gains=3:30;2:20;1:10,ideal=uncut)@1";
    assert_close(score_graded(gains, &[3.0, 2.0], &[1.0]), 3.0 / ideal);
    assert_close(
        score_graded("nDCG(ideal=uncut)", &[3.0, 2.0, 1.0], &[]),
        1.0,
    );
}

#[test]
fn judged_counts_grades_of_any_value() {
    let gold = judgements(&[("a", 0.0), ("b", -1.0), ("c", 2.0)]);
    assert_close(score("Judged@10", &["a", "b", "x", "c"], &gold), 0.75);
    assert_close(score("Judged@2", &["x", "c"], &gold), 0.5);
    assert_close(score("Judged@2", &[], &gold), 0.0);
}

#[test]
fn bpref_ignores_unjudged_and_negative_documents() {
    let gold = judgements(&[
        ("r1", 1.0),
        ("r2", 2.0),
        ("n1", 0.0),
        ("n2", 0.0),
        ("bad", -1.0),
    ]);
    // r1 has no non-relevant document before it, r2 one of min(2, 2).
    assert_close(
        score("Bpref", &["x", "bad", "r1", "n1", "y", "r2"], &gold),
        0.75,
    );
}

#[test]
fn rank_biased_precision() {
    assert_close(
        score_graded("RBP", &[1.0, 0.0, 1.0], &[]),
        0.2 * (1.0 + 0.64),
    );
    assert_close(score_graded("RBP(p=0.5)", &[1.0, 0.0, 1.0], &[]), 0.625);
    assert_close(
        score_graded("RBP(graded=true,p=0.5)", &[1.0, 0.0, 3.0], &[]),
        0.291_667,
    );
}

#[test]
fn expected_reciprocal_rank_takes_the_maximum_grade_from_the_gold_set() {
    // R = 7/8; 1/8 of the users continue to a result that satisfies 1/8 of them.
    assert_close(
        score_graded("ERR@2", &[3.0, 1.0], &[]),
        0.875 + 0.125 * 0.125 / 2.0,
    );
    assert_close(score_graded("ERR(max=4)@1", &[3.0], &[]), 7.0 / 16.0);
    // A grade beyond the scale counts as the end of the scale.
    assert_close(score_graded("ERR(max=2)@1", &[3.0], &[]), 0.75);
    let gold = judgements(&[("a", 1.0)]).with_scale_max(grade(2.0));
    assert_close(score("ERR@1", &["a"], &gold), 0.25);
    assert_close(score("RBP(graded=true)", &["a"], &gold), 0.1);
}

#[test]
fn interpolated_precision_is_the_maximum_from_a_recall_level_on() {
    let list = [0.0, 1.0, 1.0, 0.0];
    assert_close(score_graded("IPrec@0", &list, &[1.0, 1.0]), 2.0 / 3.0);
    assert_close(score_graded("IPrec@0.5", &list, &[1.0, 1.0]), 2.0 / 3.0);
    assert_close(score_graded("IPrec@0.6", &list, &[1.0, 1.0]), 0.0);
}

#[test]
fn a_higher_relevance_level_makes_fewer_documents_relevant() {
    let list = [1.0, 2.0, 0.5];
    assert_close(score_graded("P@3", &list, &[]), 2.0 / 3.0);
    assert_close(score_graded("P(rel=2)@3", &list, &[]), 1.0 / 3.0);
    assert_close(score_graded("P(rel=0.5)@3", &list, &[]), 1.0);
    assert_close(score_graded("R(rel=2)@1", &list, &[]), 0.0);
    assert_close(score_graded("R(rel=2)@2", &list, &[]), 1.0);
}

#[test]
fn a_negative_grade_is_never_relevant_and_gains_nothing() {
    let gold = judgements(&[("bad", -2.0), ("good", 2.0)]);
    assert_close(score("P(rel=0)@2", &["bad", "good"], &gold), 0.5);
    assert_close(score("nDCG", &["bad", "good"], &gold), 0.630_930);
    assert_close(score("nDCG(gain=exp)", &["bad", "good"], &gold), 0.630_930);
    assert_close(score("ERR@1", &["bad"], &gold), 0.0);
}

#[test]
fn a_repeated_id_keeps_its_position_and_is_relevant_once() {
    let gold = judgements(&[("a", 2.0), ("b", 1.0)]);
    let served = ["a", "a", "b"];
    assert_close(score("P@2", &served, &gold), 0.5);
    assert_close(score("P(rel=0)@3", &served, &gold), 2.0 / 3.0);
    assert_close(score("R@3", &served, &gold), 1.0);
    assert_close(score("AP", &served, &gold), f64::midpoint(1.0, 2.0 / 3.0));
    assert_close(score("nDCG@2", &served, &gold), 2.0 / (2.0 + 0.630_930));
    assert_close(score("Judged@3", &served, &gold), 1.0);
    assert_close(score("Bpref", &served, &gold), 1.0);
}

const RANKED: &str = "\
    P@5 P(denominator=retrieved)@5 R@5 F1@5 Success@5 AllHit@5 RR RR@3 AP AP@3 \
    AP(denominator=found)@3 nDCG nDCG@5 nDCG(gain=exp)@5 nDCG(gain=binary)@5 \
    nDCG(ideal=retrieved)@5 nDCG(ideal=uncut)@5 Bpref RBP RBP(graded=true) ERR@5 IPrec@0 \
    IPrec@0.5";

#[test]
fn a_query_without_relevant_documents_scores_zero() {
    for gold in [judgements(&[]), judgements(&[("a", 0.0), ("b", -1.0)])] {
        for measure in RANKED.split(' ').chain(["TP@5", "FN@5"]) {
            assert_close(score(measure, &["a", "b", "c"], &gold), 0.0);
        }
    }
}

#[test]
fn a_search_without_results_scores_zero() {
    let gold = judgements(&[("a", 3.0)]);
    for measure in RANKED.split(' ').chain(["Judged@5", "TP@5", "FP@5"]) {
        assert_close(score(measure, &[], &gold), 0.0);
    }
    assert_close(score("FN@5", &[], &gold), 1.0);
}

// Grammar.

fn canonical(text: &str) -> String {
    text.parse::<Measure>().expect("a measure").to_string()
}

#[test]
fn the_canonical_form_sorts_parameters_and_omits_defaults() {
    for (written, canonical_form) in [
        (" P @ 5 ", "P@5"),
        (
            "P(rel=2, denominator=retrieved)@05",
            "P(denominator=retrieved,rel=2)@5",
        ),
        ("P(denominator=cutoff)@5", "P@5"),
        ("P()@5", "P@5"),
        ("P(rel=1)@5", "P(rel=1)@5"),
        ("P(rel=-0)@5", "P(rel=0)@5"),
        ("nDCG(ideal=judged,gain=linear)@10", "nDCG@10"),
        ("nDCG(rel=2.0,gain=binary)", "nDCG(gain=binary,rel=2)"),
        (
            "nDCG(ideal=retrieved,gain=exp)",
            "nDCG(gain=exp,ideal=retrieved)",
        ),
        ("RBP(p=0.8)", "RBP"),
        ("RBP(p=0.80,graded=true)", "RBP(graded=true)"),
        ("RBP(graded=false,p=.5,rel=2)", "RBP(p=0.5,rel=2)"),
        ("ERR(max=3)@20", "ERR(max=3)@20"),
        ("IPrec@0.10", "IPrec@0.1"),
        ("IPrec@1.0", "IPrec@1"),
        ("CTR@3", "CTR@3"),
    ] {
        assert_eq!(canonical(written), canonical_form);
        assert_eq!(canonical(canonical_form), canonical_form);
    }
    for measure in RANKED.split(' ') {
        assert_eq!(canonical(measure), measure);
    }
}

#[test]
fn lists_are_separated_outside_parentheses() {
    let list = Measure::parse_list("P@5, nDCG(gain=exp, ideal=retrieved)@10\n RR,,CTR")
        .expect("a list of measures");
    let names: Vec<String> = list.iter().map(Measure::to_string).collect();
    assert_eq!(
        names,
        ["P@5", "nDCG(gain=exp,ideal=retrieved)@10", "RR", "CTR"]
    );
    assert_eq!(Measure::parse_list(" , ").expect("an empty list"), []);
    let errors = Measure::parse_list("nope P@5 P@0 ndgc@10").expect_err("three wrong names");
    assert_eq!(errors.0.len(), 3);
    let said = errors.to_string();
    for name in ["`nope`", "`P@0`", "`ndgc@10`"] {
        assert!(said.contains(name), "{said}");
    }
}

/// Spellings that name no measure, and the expected parts of their error messages.
const WRONG: &[(&str, &str)] = &[
    (
        "ndgc@10",
        "no measure is called `ndgc` (in `ndgc@10`); did you mean `nDCG@10`?",
    ),
    (
        "nope",
        "no measure is called `nope` (in `nope`); docs/measures.md lists the measures",
    ),
    (
        "mrr_10",
        "no measure is called `mrr_10` (in `mrr_10`); did you mean `RR@10`?",
    ),
    (
        "presicion(rel=2)@3",
        "no measure is called `presicion` (in `presicion(rel=2)@3`); did you mean `P(rel=2)@3`?",
    ),
    (
        "P5",
        "no measure is called `P5` (in `P5`); did you mean `P@5`?",
    ),
    (
        "ndcg_cut",
        "`ndcg_cut` stands for 9 measures, and one is needed here; name one of them: `nDCG@5`",
    ),
    (
        "recall_20@10",
        "no measure is called `recall_20` (in `recall_20@10`); did you mean `R@10`?",
    ),
    (
        "recall_0",
        "R needs a whole number from 1 to 4294967295 as its cutoff (in `recall_0`); write `R@1`",
    ),
    ("f1", "F1 needs a cutoff (in `f1`); write `F1@10`"),
    ("P", "P needs a cutoff (in `P`); write `P@10`"),
    (
        "P(rel=2)",
        "P needs a cutoff (in `P(rel=2)`); write `P(rel=2)@10`",
    ),
    (
        "P@0",
        "P needs a whole number from 1 to 4294967295 as its cutoff (in `P@0`); write `P@1`",
    ),
    (
        "nDCG@x",
        "nDCG needs a whole number from 1 to 4294967295 as its cutoff (in `nDCG@x`); write `nDCG@10`",
    ),
    (
        "Bpref@5",
        "Bpref takes no cutoff (in `Bpref@5`); write `Bpref`",
    ),
    (
        "IPrec@1.5",
        "IPrec needs a recall level from 0 to 1 after the `@` (in `IPrec@1.5`); write `IPrec@0.1`",
    ),
    (
        "P(rell=2)@5",
        "P has no parameter `rell` (in `P(rell=2)@5`); did you mean `rel`? It has denominator, judged_only, rel",
    ),
    (
        "Judged(rel=2)@5",
        "Judged has no parameter `rel` (in `Judged(rel=2)@5`); it has none: write `Judged@5`",
    ),
    (
        "P(rel=1,rel=2)@5",
        "the parameter `rel` is given twice in `P(rel=1,rel=2)@5`; keep one",
    ),
    (
        "P(rel=NaN)@5",
        "`rel` cannot be `NaN` (in `P(rel=NaN)@5`); it is a grade from 0 to 1000",
    ),
    (
        "P(rel=-1)@5",
        "`rel` cannot be `-1` (in `P(rel=-1)@5`); it is a grade from 0 to 1000",
    ),
    (
        "nDCG(gain=log)",
        "`gain` cannot be `log` (in `nDCG(gain=log)`); it is `linear` (the default), `exp` or `binary`",
    ),
    (
        "nDCG(rel=2)",
        "`rel` has no meaning in `nDCG(rel=2)`: only gain=binary uses a relevance level",
    ),
    (
        "RBP(p=1)",
        "`p` cannot be `1` (in `RBP(p=1)`); it is a number from 0 to 1, below 1",
    ),
    (
        "RBP(graded=true,rel=1)",
        "`rel` has no meaning in `RBP(graded=true,rel=1)`: graded gains use the grade itself",
    ),
    (
        "P(rel)@5",
        "P takes only parameters, written as `param=value` (in `P(rel)@5`); write `P@5`",
    ),
    (
        "P(rel=2,exp)@5",
        "`P(rel=2,exp)@5` is not written as a measure: a parameter is not written as `param=value`; write `Name(param=value,…)@cutoff`, for example `P@10`",
    ),
    (
        "Discovery",
        "Discovery needs the name of a component (in `Discovery`); write `Discovery(component)`",
    ),
    (
        "discovry(rne)",
        "no measure is called `discovry` (in `discovry(rne)`); did you mean `Discovery(rne)`?",
    ),
    (
        "Discovery(rne)@5",
        "Discovery takes no cutoff (in `Discovery(rne)@5`); write `Discovery(rne)`",
    ),
    (
        "Share(rne)",
        "Share needs a cutoff (in `Share(rne)`); write `Share(rne)@10`",
    ),
    (
        "Discovery(rne,when=always)",
        "`when` cannot be `always` (in `Discovery(rne,when=always)`); it is `fired` or `needed`",
    ),
    (
        "Entropy@10",
        "Entropy needs the name of a facet (in `Entropy@10`); write `Entropy(facet)@10`",
    ),
    (
        "FacetR(law_type)",
        "FacetR needs a facet and its value, `facet=value` or `facet!=value` (in `FacetR(law_type)`); write `FacetR(facet=value)`",
    ),
    (
        "FacetR(law_type=법률,doc_type=판례)",
        "FacetR has no parameter `doc_type` (in `FacetR(law_type=법률,doc_type=판례)`); it has from, rel",
    ),
    (
        "P(rel=2@5",
        "`P(rel=2@5` is not written as a measure: a `)` is missing; write `Name(param=value,…)@cutoff`, for example `P@10`",
    ),
    (
        "nDCG(gain=exp)10",
        "`nDCG(gain=exp)10` is not written as a measure: only `@cutoff` may follow the `)`; write `Name(param=value,…)@cutoff`, for example `nDCG`",
    ),
];

#[test]
fn errors_name_the_nearest_valid_spelling() {
    for (wrong, message) in WRONG {
        let error = wrong.parse::<Measure>().expect_err(wrong);
        assert_eq!(error.to_string(), *message);
    }
    assert!(matches!(
        "".parse::<Measure>(),
        Err(MeasureError::Malformed { .. })
    ));
}

// Properties.

/// Served list over ten documents, some of them judged, none repeated.
fn served_and_judged() -> impl Strategy<Value = (Vec<String>, Judgements)> {
    let ids: Vec<String> = (0..10).map(|i| format!("문서{i}")).collect();
    let grades = prop::collection::vec(
        prop::option::of((-4_i32..=12).prop_map(|n| f64::from(n) / 4.0)),
        10,
    );
    let served = Just(ids.clone()).prop_shuffle().prop_flat_map(|ids| {
        (0..=ids.len()).prop_map(move |length| ids.iter().take(length).cloned().collect())
    });
    (served, grades).prop_map(move |(served, grades)| {
        let judged = ids
            .iter()
            .zip(grades)
            .filter_map(|(id, value)| Some((id.as_str().into(), Grade::new(value?)?)));
        let judgements = Judgements::new(Grade::ONE, judged).expect("no document twice");
        (served, judgements)
    })
}

fn score_of(measure: &str, served: &[String], judgements: &Judgements) -> f64 {
    let served: Vec<&str> = served.iter().map(String::as_str).collect();
    score(measure, &served, judgements)
}

/// Name of the catalogue, an alias, or a text that is close to neither.
fn any_name() -> impl Strategy<Value = String> {
    let known: Vec<String> = rankgauge_core::measure::catalogue()
        .flat_map(|descriptor| std::iter::once(&descriptor.name).chain(descriptor.aliases))
        .map(|name| (*name).to_owned())
        .collect();
    prop_oneof![
        4 => prop::sample::select(known),
        1 => "(mrr_10|ndcg_cut|ndcg_cut_10|x{0,50}|[a-zA-Z]{1,5})",
    ]
}

proptest! {
    #[test]
    fn curves_equal_their_measures((served, judgements) in served_and_judged()) {
        let cutoffs = [1, 2, 3, 5, 10, 20].map(|k| Cutoff::new(k).expect("not 0"));
        let mut ranking = Ranking::new();
        ranking.judge(served.iter().map(String::as_str), &judgements);
        let curves = Curves::of(&ranking, &judgements, &cutoffs);
        for (level, precision) in (0_u32..).zip(curves.precision) {
            let measure = format!("IPrec@{}", f64::from(level) / 10.0);
            let expected = score_of(&measure, &served, &judgements);
            prop_assert_eq!(precision.to_bits(), expected.to_bits(), "{}", measure);
        }
        prop_assert_eq!(curves.ndcg.len(), cutoffs.len());
        for (cutoff, ndcg) in cutoffs.into_iter().zip(curves.ndcg) {
            let measure = format!("nDCG@{cutoff}");
            let expected = score_of(&measure, &served, &judgements);
            prop_assert_eq!(ndcg.to_bits(), expected.to_bits(), "{}", measure);
        }
    }

    #[test]
    fn scores_stay_between_zero_and_one(
        (mut served, judgements) in served_and_judged(),
        repeats in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        // Repeated ids must not break a bound either.
        for repeat in repeats {
            if !served.is_empty() {
                served.push(served[repeat.index(served.len())].clone());
            }
        }
        for measure in RANKED.split(' ').chain(["Judged@5", "P(rel=0)@5", "Bpref(rel=0)", "R(rel=0)@20"]) {
            let score = score_of(measure, &served, &judgements);
            prop_assert!((0.0..=1.0).contains(&score), "{} is {}", measure, score);
        }
        for count in ["TP@20", "FP@20", "FN@20"] {
            prop_assert!(score_of(count, &served, &judgements) >= 0.0);
        }
        for descriptor in rankgauge_core::measure::catalogue() {
            let example = catalogue::example(descriptor);
            if matches!(example.parse(), Ok(Measure::Ranked(_))) {
                let score = score_of(&example, &served, &judgements);
                prop_assert!(descriptor.range.contains(score), "{} is {}", example, score);
            }
        }
    }

    #[test]
    fn a_larger_cutoff_never_lowers_recall_and_precision_counts_hits(
        (served, judgements) in served_and_judged(), k in 1_u32..12,
    ) {
        let at = |name: &str, k: u32| score_of(&format!("{name}@{k}"), &served, &judgements);
        prop_assert!(at("R", k) <= at("R", k + 1));
        prop_assert!(at("Success", k) <= at("Success", k + 1));
        prop_assert!(at("AllHit", k) <= at("AllHit", k + 1));
        prop_assert!(at("AP", k) <= at("AP", k + 1));
        prop_assert!(at("RR", k) <= at("RR", k + 1));
        let hits = at("P", k) * f64::from(k);
        prop_assert!((hits - at("TP", k)).abs() < 1e-9);
        prop_assert!((at("TP", k) + at("FN", k) - at("FN", 20) - at("TP", 20)).abs() < 1e-9);
    }

    #[test]
    fn the_ideal_order_of_judged_documents_scores_highest((_, judgements) in served_and_judged()) {
        let mut ids: Vec<String> = (0..10).map(|i| format!("문서{i}")).collect();
        ids.retain(|id| judgements.find(id).is_some());
        ids.sort_by_key(|id| std::cmp::Reverse(judgements.find(id).map(|(_, grade)| grade)));
        let gain = judgements.descending().first().is_some_and(|grade| grade.get() > 0.0);
        for measure in ["nDCG", "nDCG@3", "nDCG(gain=exp)@3", "nDCG(ideal=retrieved)"] {
            let expected = if gain { 1.0 } else { 0.0 };
            prop_assert!((score_of(measure, &ids, &judgements) - expected).abs() < 1e-12);
        }
        let relevant = if judgements.relevant(None) > 0 { 1.0 } else { 0.0 };
        for measure in ["AP", "RR", "Bpref", "IPrec@1", "nDCG(gain=binary)", "AllHit@10"] {
            prop_assert!((score_of(measure, &ids, &judgements) - relevant).abs() < 1e-12);
        }
    }

    #[test]
    fn moving_a_better_document_up_never_lowers_a_score(
        (served, judgements) in served_and_judged(),
        one in any::<prop::sample::Index>(), other in any::<prop::sample::Index>(),
    ) {
        if served.is_empty() {
            return Ok(());
        }
        let (one, other) = (one.index(served.len()), other.index(served.len()));
        let (upper, lower) = (one.min(other), one.max(other));
        let gain = |id: &String| judgements.find(id).map_or(0.0, |(_, grade)| grade.get());
        let (mut served, mut better) = (served.clone(), served);
        if gain(&served[lower]) > gain(&served[upper]) {
            better.swap(upper, lower);
        } else {
            served.swap(upper, lower);
        }
        for measure in ["AP", "RR", "nDCG", "nDCG@3", "nDCG(gain=exp)@5", "P@3", "R@3", "RBP", "RBP(graded=true)", "IPrec@0.5"] {
            let (before, after) = (
                score_of(measure, &served, &judgements),
                score_of(measure, &better, &judgements),
            );
            prop_assert!(after >= before - 1e-12, "{} fell from {} to {}", measure, before, after);
        }
    }

    #[test]
    fn any_text_is_parsed_without_a_panic(text in any::<String>()) {
        if let Ok(measure) = text.parse::<Measure>() {
            let again: Measure = measure.to_string().parse().expect("the canonical form is valid");
            prop_assert_eq!(again, measure);
        }
    }

    #[test]
    fn near_measures_round_trip_or_return_a_specific_error(
        name in any_name(),
        parameters in "(|\\((rel|p|max|gain|ideal|graded|denominator|when|유형!?)=(2|0\\.5|1e2|exp|binary|true|retrieved|fired)\\)|\\(rne(,when=fired)?(,rel=2)?\\))",
        cutoff in "(|@[0-9]{1,3}|@0\\.[0-9]|@[a-z])",
    ) {
        let text = format!("{name}{parameters}{cutoff}");
        match text.parse::<Measure>() {
            Ok(measure) => {
                let again = measure.to_string().parse();
                prop_assert_eq!(again, Ok(measure));
            }
            Err(MeasureError::UnknownName { nearest, .. }) => {
                if let Some(nearest) = nearest {
                    prop_assert!(nearest.parse::<Measure>().is_ok(), "`{}` for `{}`", nearest, text);
                }
            }
            Err(MeasureError::BadCutoff { nearest, .. }
                | MeasureError::BadArgument { nearest, .. }
                | MeasureError::Malformed { nearest, .. }) => {
                prop_assert!(nearest.parse::<Measure>().is_ok(), "`{}` for `{}`", nearest, text);
            }
            Err(other) => prop_assert!(other.to_string().contains(&text)),
        }
    }
}

#[test]
fn an_error_in_a_name_of_a_tool_names_the_given_text() {
    let error = "NumRet(p=2)".parse::<Measure>().expect_err("no parameter");
    assert!(error.to_string().contains("(in `NumRet(p=2)`)"), "{error}");
}

#[test]
fn names_parse_to_ranked_and_user_measures() {
    assert!(matches!("AP".parse(), Ok(Measure::Ranked(_))));
    assert!(matches!(
        "CTR".parse(),
        Ok(Measure::User(UserMeasure::ClickThrough { cutoff: None }))
    ));
}

#[test]
fn a_mean_that_differs_from_its_bound_by_rounding_is_equal_to_it() {
    use rankgauge_core::measure::Relation;
    use rankgauge_core::measure::direction::Direction;
    let mean = 0.52_f64.next_down();
    let holds = [
        Relation::AtLeast,
        Relation::AtMost,
        Relation::Above,
        Relation::Below,
    ]
    .map(|relation| relation.holds(mean, 0.52));
    assert_eq!(holds, [true, true, false, false]);
    assert!(Relation::AtMost.holds(0.832_f64.next_up(), 0.832));
    assert!(!Relation::AtLeast.holds(0.52 - 1e-8, 0.52));
    assert!(Relation::Above.holds(0.52 + 1e-8, 0.52));
    assert!(Relation::Below.holds(0.52 - 1e-8, 0.52));
    assert!(Direction::Up.reaches(mean, 0.52));
    assert!(Direction::Down.reaches(0.52_f64.next_up(), 0.52));
    assert!(!Direction::Down.reaches(0.52 + 1e-8, 0.52));
}
