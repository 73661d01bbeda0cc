//! Runs step by step, and the interaction of two components.

use rankgauge_eval::compare::{Options, RunScores, Verdict, compare};
use rankgauge_eval::report::Format;
use rankgauge_eval::report::compare::write;

use super::{quick, run};

#[test]
fn every_run_is_compared_with_the_first_and_the_previous_run() {
    let runs = ["V1", "V2", "V3"].map(|name| run(name, &["P@5"], &[("1", &[0.1]), ("2", &[0.3])]));
    let found = compare(runs.to_vec(), &quick()).expect("a comparison");
    let names = |pairs: &[rankgauge_eval::compare::Pair]| -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|pair| (pair.a.clone(), pair.b.clone()))
            .collect()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        names(&found.comparisons),
        [pair("V1", "V2"), pair("V1", "V3")]
    );
    assert_eq!(names(&found.ablation), [pair("V1", "V2"), pair("V2", "V3")]);
    assert_eq!(found.ablation[0], found.comparisons[0]);
}

#[test]
fn two_runs_have_no_ablation() {
    let runs = ["A", "B"].map(|name| run(name, &["P@5"], &[("1", &[0.1])]));
    let found = compare(runs.to_vec(), &quick()).expect("a comparison");
    assert_eq!(found.ablation, Vec::new());
}

fn with_interaction() -> Options {
    Options {
        interaction: Some(["base", "a", "b", "both"].map(str::to_owned)),
        ..quick()
    }
}

#[test]
fn the_interaction_is_the_combined_effect_minus_the_sum_of_single_effects() {
    let of = |name: &str, scores: [f64; 3]| {
        let [one, two, three] = scores;
        run(
            name,
            &["AP"],
            &[("1", &[one]), ("2", &[two]), ("3", &[three])],
        )
    };
    let runs = vec![
        of("base", [0.2, 0.3, 0.1]),
        of("a", [0.3, 0.3, 0.2]),
        of("b", [0.25, 0.4, 0.1]),
        of("both", [0.5, 0.5, 0.3]),
    ];
    let found = compare(runs, &with_interaction()).expect("a comparison");
    let interaction = found.interaction.expect("an interaction");
    assert_eq!(interaction.common, 3);
    let of = &interaction.measures[0];
    let near = |found: Option<f64>, expected: f64| {
        let found = found.expect("a number");
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    };
    near(of.effect_a, 0.2 / 3.0);
    near(of.effect_b, 0.05);
    near(of.sum, 0.35 / 3.0);
    near(of.combined, 0.7 / 3.0);
    // Per query: 0.3 - 0.15, 0.2 - 0.1, 0.2 - 0.1.
    near(of.test.paired.difference, 0.35 / 3.0);
    near(of.test.paired.t, 7.0);
}

#[test]
fn effects_that_add_up_have_no_interaction() {
    let of = |name: &str, more: f64| {
        let queries: Vec<(String, Vec<Option<f64>>)> = (1..=30)
            .map(|i| (i.to_string(), vec![Some(f64::from(i) / 70.0 + more)]))
            .collect();
        RunScores {
            name: name.to_owned(),
            measures: vec!["AP".to_owned()],
            queries: queries.into_iter().collect(),
        }
    };
    let runs = vec![
        of("base", 0.0),
        of("a", 0.1),
        of("b", 0.2),
        of("both", 0.1 + 0.2),
    ];
    let found = compare(runs, &with_interaction()).expect("a comparison");
    let interaction = found.interaction.as_ref().expect("an interaction");
    assert_eq!(interaction.measures[0].test.verdict, Verdict::Identical);
    assert!(write(&found, &[], Format::Text).contains("equals the sum"));
}
