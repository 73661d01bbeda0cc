//! Targets of latency, errors, cost and traffic, and guardrails of experiments.

use rankgauge_core::engine::settings::{MeanQuantity, Objective, Quantity};

use super::{assert_problem, load};

fn objectives(targets: &str) -> Vec<Objective> {
    let file = format!(
        "measures: [ZeroResult]\nprices: [{{model: m, currency: USD, input: 1, output: 1}}]\n\
         targets:\n{targets}"
    );
    let config = load(&[&file], &[], &[]).expect("a valid configuration");
    config.engine.objectives
}

#[test]
fn objectives_are_read_in_every_form() {
    let found = objectives(
        "  - {latency: {stage: all, quantile: 0.95, target: 0.5}, tier: good}\n  \
           - {latency: {quantile: 0.95, target: 2.5}, tier: acceptable}\n  \
           - {latency: {stage: vector, target: 0.2}}\n  \
           - {error_rate: 0.01}\n  \
           - {zero_result_rate: {target: 0.05}, tier: fair}\n  \
           - {cost_per_query: 0.003}\n  \
           - {traffic_share: {variant: V5, min: 0.1}}\n  \
           - {throughput: 10}\n",
    );
    let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "latency all p95",
            "latency vector mean",
            "error_rate",
            "zero_result_rate",
            "cost_per_query USD",
            "traffic_share V5",
            "throughput",
        ]
    );
    let tiers = [("good".to_owned(), 0.5), ("acceptable".to_owned(), 2.5)];
    assert_eq!(found[0].tiers, tiers);
    // The least demanding target.
    assert_eq!(found[0].target(), Some(2.5));
    let budgets: Vec<String> = found
        .iter()
        .map(|it| it.budget().map_or("-".to_owned(), |it| format!("{it:.2}")))
        .collect();
    assert_eq!(budgets, ["0.05", "-", "0.01", "0.05", "-", "-", "-"]);
    let cost = Quantity::Mean(MeanQuantity::Cost("USD".into()));
    assert_eq!(found[4].quantity, cost);
}

#[test]
fn means_are_tested_against_their_least_demanding_target() {
    let file = "targets:\n  - {latency: {stage: vector, target: 0.2}, tier: excellent}\n  \
                - {latency: {stage: vector, target: 0.5}, tier: good}\n";
    let config = load(&[file], &[], &[]).expect("a valid configuration");
    let means = config.engine.detection.means;
    assert_eq!(means.len(), 1);
    assert_eq!(&*means[0].name, "latency vector mean 0.5");
}

#[test]
fn broken_objectives_are_rejected_with_line_and_remedy() {
    let cases = [
        (
            "{latency: {quantile: 0.95, target: 0.4}}",
            "0.yaml:2: targets[0].latency.target: 0.4 s is not one of latency.buckets, so that the \
             share of searches within it is unknown; add 0.4 to latency.buckets",
        ),
        (
            "{latency: {quantile: 95, target: 0.5}}",
            "0.yaml:2: targets[0].latency.quantile: \"95\" is not a quantile between 0 and 1, as \
             0.95; leave it out for the mean",
        ),
        (
            "{latency: {stage: all}}",
            "0.yaml:2: targets[0].latency.target: is missing",
        ),
        (
            "{error_rate: 5}",
            "0.yaml:2: targets[0].error_rate: \"5\" is not a share above 0 and below 1, as 0.01",
        ),
        (
            "{zero_result_rate: 0.05}",
            "0.yaml:2: targets[0].zero_result_rate: needs the measure ZeroResult; add it to measures",
        ),
        (
            "{cost_per_query: 0.003}",
            "0.yaml:2: targets[0].cost_per_query: has no currency; write {currency: USD, target: \
             0.003}",
        ),
        (
            "{traffic_share: {variant: V5}}",
            "0.yaml:2: targets[0].traffic_share: needs min or max, a share from 0 to 1",
        ),
        (
            "{traffic_share: {variant: V5, min: 0.5, max: 0.2}}",
            "0.yaml:2: targets[0].traffic_share: min (0.5) is above max (0.2)",
        ),
        (
            "{traffic_share: {min: 0.1}}",
            "0.yaml:2: targets[0].traffic_share: has no variant; write {variant: V5, min: 0.1, max: \
             0.3}",
        ),
        (
            "{traffic_share: {variant: V5, min: 2, max: 0.3}}",
            "0.yaml:2: targets[0].traffic_share.min: \"2\" is not a share from 0 to 1",
        ),
        (
            "{throughput: 0}",
            "0.yaml:2: targets[0].throughput: \"0\" is not a number of searches per second above 0, \
             as 10",
        ),
        (
            "{error_rate: 0.01, throughput: 10}",
            "0.yaml:2: targets[0]: has error_rate and throughput; write one of them",
        ),
        (
            "{measure: R@5, value: 0.5, tier: good, error_rate: 0.01}",
            "0.yaml:2: targets[0]: has measure and error_rate; write one of them",
        ),
    ];
    for (target, problem) in cases {
        assert_problem(
            &format!("{{measures: [R@5], targets: [\n{target}]}}"),
            problem,
        );
    }
    assert_problem(
        "targets:\n  - {error_rate: 0.01}\n  - {error_rate: 0.02}\n",
        "0.yaml:3: targets[1]: error_rate has two targets of the tier good",
    );
}

#[test]
fn guardrails_are_the_watched_measures_unless_listed() {
    let guardrails = |experiment: &str, rest: &str| {
        let file = format!(
            "measures: [R@5, RR, Abandoned, Judged@10]\nexperiments:\n  - id: e\n    control: a\n    \
             arms: [{{variant: a, share: 0.5}}, {{variant: b, share: 0.5}}]\n{experiment}{rest}"
        );
        let config = load(&[&file], &[], &[]).expect("a valid configuration");
        config.engine.experiments[0].guardrails.clone()
    };
    assert_eq!(guardrails("", "detection: {measures: [RR]}\n"), [1]);
    // Judged has no better direction.
    assert_eq!(guardrails("", ""), [0, 1, 2]);
    let listed = "    guardrails: [Abandoned, R@5]\n";
    assert_eq!(guardrails(listed, "detection: {measures: [RR]}\n"), [2, 0]);
    assert!(guardrails("    guardrails: []\n", "").is_empty());
    for (guardrails, problem) in [
        (
            "Judged@10",
            "guardrails[0]: Judged@10 has no better direction, and cannot be a guardrail",
        ),
        (
            "RR",
            "guardrails[0]: RR is not computed; add it to measures",
        ),
        ("R@5, R@5", "guardrails[1]: R@5 is listed twice"),
    ] {
        let file = format!(
            "measures: [R@5, Judged@10]\nexperiments:\n  - id: e\n    control: a\n    arms: [{{variant: \
             a, share: 0.5}}, {{variant: b, share: 0.5}}]\n    guardrails: [{guardrails}]\n"
        );
        assert_problem(&file, &format!("0.yaml:6: experiments[0].{problem}"));
    }
}

#[test]
fn rolling_series_of_an_unknown_extent_are_rejected() {
    assert_problem(
        "metrics: {rolling: some}",
        "0.yaml:1: metrics.rolling: \"some\" is none of all, whole, none",
    );
}
