//! Cohen's kappa, checked against values computed by hand.

use rankgauge_core::gold::{self, Grade, Options};
use rankgauge_eval::gold::agreement::{Agreement, Kappa};

fn kappa(a: &[i32], b: &[i32]) -> Kappa {
    let grade = |value: &i32| Grade::new(f64::from(*value)).expect("a grade");
    let pairs: Vec<(Grade, Grade)> = a.iter().map(grade).zip(b.iter().map(grade)).collect();
    Kappa::of(&pairs).expect("grades")
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-12,
        "{found} is not {expected}"
    );
}

/// Contingency table after Cohen (1960): 20 both yes, 5 only a, 10 only b, 15 both no.
#[test]
fn kappa_of_a_two_by_two_table_matches_the_hand_computed_value() {
    let counts = [((1, 1), 20), ((1, 0), 5), ((0, 1), 10), ((0, 0), 15)];
    let all = counts.iter().flat_map(|(pair, n)| vec![*pair; *n]);
    let (a, b): (Vec<i32>, Vec<i32>) = all.unzip();
    let found = kappa(&a, &b);
    // po = .7, pe = .5 * .6 + .5 * .4 = .5
    assert_close(found.agreement, 0.7);
    assert_close(found.kappa, 0.4);
    // With two grades, all disagreements have the same weight.
    assert_close(found.quadratic, 0.4);
    assert_eq!(found.n, 50);
}

/// Pairs (0,0) (1,1) (2,1) (3,3) (3,1): po = 3/5; the marginals are 1,1,1,2 and 1,3,0,1 fifths, so
/// pe = (1 + 3 + 0 + 2) / 25 = .24 and kappa = .36/.76. Squares: observed (1 + 4) / 5 = 1; expected,
/// E a² + E b² - 2 E a E b
/// = 23/5 + 12/5 - 2 * 9/5 * 6/5 = 2.68.
#[test]
fn kappa_of_four_grades_matches_with_and_without_quadratic_weights() {
    let found = kappa(&[0, 1, 2, 3, 3], &[0, 1, 1, 3, 1]);
    assert_close(found.agreement, 0.6);
    assert_close(found.kappa, 0.36 / 0.76);
    assert_close(found.quadratic, 1.0 - 1.0 / 2.68);
}

#[test]
fn agreement_on_a_single_grade_is_perfect_by_convention() {
    let found = kappa(&[2, 2, 2], &[2, 2, 2]);
    assert_close(found.kappa, 1.0);
    assert_close(found.quadratic, 1.0);
}

#[test]
fn two_constant_annotators_that_differ_agree_only_by_chance() {
    let found = kappa(&[1, 1], &[2, 2]);
    assert_close(found.kappa, 0.0);
    assert_close(found.quadratic, 0.0);
    assert_close(kappa(&[0, 1], &[1, 0]).kappa, -1.0);
}

#[test]
fn three_annotators_are_compared_pairwise() {
    let file = "{\"queries\": [{\"query_id\": \"q\", \"ground_truth\": {
        \"a\": {\"relevance\": 1, \"annotator_1\": 1, \"annotator_2\": 1, \"annotator_3\": 0},
        \"b\": {\"relevance\": 0, \"annotator_1\": 0, \"annotator_2\": 0, \"annotator_3\": 3},
        \"c\": {\"relevance\": 0, \"annotator_1\": 0}, \"d\": 1}}]}";
    let set = gold::parse("gold", file.as_bytes(), &Options::default()).expect("valid");
    let agreement = Agreement::of(set.queries());
    assert_eq!(agreement.n, 2);
    let pairs: Vec<(&str, &str)> = agreement
        .pairs
        .iter()
        .map(|pair| (pair.a.as_str(), pair.b.as_str()))
        .collect();
    assert_eq!(
        pairs,
        [
            ("annotator_1", "annotator_2"),
            ("annotator_1", "annotator_3"),
            ("annotator_2", "annotator_3")
        ]
    );
    let sum: f64 = agreement.pairs.iter().map(|pair| pair.kappa.kappa).sum();
    assert_close(agreement.kappa.expect("pairs"), sum / 3.0);
    // Disagreements are sorted, the greatest first.
    let worst: Vec<&str> = agreement
        .disagreements
        .iter()
        .map(|found| found.document.as_str())
        .collect();
    assert_eq!(worst, ["b", "a"]);
}

#[test]
fn kappa_is_absent_without_a_second_annotator() {
    let set = gold::parse("gold", b"q 0 d 1", &Options::default()).expect("valid");
    let agreement = Agreement::of(set.queries());
    assert_eq!((agreement.n, agreement.kappa), (0, None));
}
