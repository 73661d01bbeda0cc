//! Gate of an evaluation: tiers, targets, goals, and names in the formats of CI systems.

use rankgauge_eval::evaluate::{Bound, Evaluation, Goal, OverallTier, Target};

use crate::reports::sample;

#[test]
fn names_are_escaped_in_annotations_and_xml() {
    use rankgauge_eval::gate::{Check, Outcome};
    use rankgauge_eval::report::{Format, Options, write};
    let checks = [Check {
        run: "a,b: 100 %\n::error::x\u{1}\"<".to_owned(),
        condition: "P@5 >= 0.5".to_owned(),
        outcome: Outcome::Failed,
        detail: "100 %\n::error::x".to_owned(),
    }];
    let options = Options {
        checks: &checks,
        ..Options::default()
    };
    let evaluation = sample::one_run();
    let github = write(&evaluation, Format::Github, &options);
    assert_eq!(github.lines().count(), 2, "{github}");
    assert!(
        github.starts_with("::error title=a%2Cb%3A 100 %25\\n%3A%3Aerror%3A%3Ax"),
        "{github}"
    );
    let junit = write(&evaluation, Format::Junit, &options);
    assert!(junit.contains("\\u{1}&quot;&lt;"), "{junit}");
    assert!(!junit.contains('\u{1}'));
}

/// Evaluation of one run with these means and targets.
fn with_means(means: &[(&str, Option<f64>)], targets: &[(usize, &str, f64)]) -> Evaluation {
    let mut evaluation = sample::one_run();
    evaluation.measures = means.iter().map(|(name, _)| (*name).to_owned()).collect();
    evaluation.runs[0].means = means.iter().map(|(_, mean)| *mean).collect();
    evaluation.targets = targets
        .iter()
        .map(|(measure, tier, value)| Target {
            measure: *measure,
            tier: (*tier).to_owned(),
            value: *value,
        })
        .collect();
    evaluation
}

#[test]
fn the_overall_tier_is_the_best_that_all_tier_measures_reach() {
    let targets = [
        (0, "excellent", 0.8),
        (0, "good", 0.7),
        (0, "fair", 0.6),
        (1, "excellent", 0.9),
        (1, "good", 0.5),
        (1, "fair", 0.4),
    ];
    let overall = |first: Option<f64>, second: Option<f64>, measures: &[usize]| {
        let mut evaluation = with_means(&[("P@5", first), ("RR", second)], &targets);
        evaluation.tier_measures = measures.to_vec();
        match evaluation.overall_tier(&evaluation.runs[0]) {
            Some(OverallTier::Reached(tier)) => tier.to_owned(),
            Some(OverallTier::Below) => "below".to_owned(),
            None => "none".to_owned(),
        }
    };
    assert_eq!(overall(Some(0.85), Some(0.95), &[0, 1]), "excellent");
    assert_eq!(overall(Some(0.85), Some(0.85), &[0, 1]), "good");
    assert_eq!(overall(Some(0.65), Some(0.95), &[0, 1]), "fair");
    assert_eq!(overall(Some(0.85), Some(0.3), &[0, 1]), "below");
    assert_eq!(overall(Some(0.85), None, &[0, 1]), "below");
    assert_eq!(overall(Some(0.85), Some(0.3), &[0]), "excellent");
    assert_eq!(overall(Some(0.85), Some(0.95), &[]), "none");
}

#[test]
fn a_target_of_a_measure_that_is_better_when_lower_is_a_maximum() {
    let targets = [(0, "good", 2.0), (0, "excellent", 1.0)];
    let tier = |mean: f64| {
        let evaluation = with_means(&[("FP@10", Some(mean))], &targets);
        let tier = evaluation.tier(&evaluation.runs[0], 0);
        tier.map(|target| target.tier.clone())
    };
    assert_eq!(tier(0.5).as_deref(), Some("excellent"));
    assert_eq!(tier(1.5).as_deref(), Some("good"));
    assert_eq!(tier(2.5), None);
}

#[test]
fn a_goal_needs_all_its_bounds_and_a_score_for_each() {
    use rankgauge_core::measure::Relation;
    let goal = Goal {
        name: "both".to_owned(),
        bounds: [(0, 0.7), (1, 0.75)]
            .map(|(measure, value)| Bound {
                measure,
                relation: Relation::AtLeast,
                value,
            })
            .to_vec(),
    };
    let met = |first: Option<f64>, second: Option<f64>| {
        let evaluation = with_means(&[("P@10", first), ("R@10", second)], &[]);
        evaluation.is_met(&goal, &evaluation.runs[0])
    };
    assert!(met(Some(0.7), Some(0.75)));
    assert!(!met(Some(0.9), Some(0.74)));
    assert!(!met(Some(0.69), Some(0.9)));
    assert!(!met(Some(0.9), None));
}

#[test]
fn a_target_that_a_perfect_ranking_reaches_up_to_rounding_is_reachable() {
    use rankgauge_eval::gate::{Conditions, Outcome, of_evaluation};
    let mean = 0.6_f64.next_down();
    let mut evaluation = with_means(&[("R@3", Some(mean))], &[(0, "good", 0.6)]);
    evaluation.runs[0].perfect = vec![Some(mean)];
    let conditions = Conditions {
        tier: Some("good".to_owned()),
        ..Conditions::default()
    };
    let checks = of_evaluation(&evaluation, &conditions).expect("a known tier");
    assert_eq!(checks[0].outcome, Outcome::Passed, "{checks:?}");
}
