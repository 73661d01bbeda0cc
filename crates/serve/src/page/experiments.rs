//! Experiments: arms against the control with their intervals.

use maud::{Markup, html};

use super::chart;
use super::format::{count, encoded, estimate, quantity, share, signed, signed_text, text};
use super::screen::{Screen, empty, ratio};
use crate::api::experiments::{
    ArmDifference, ArmStatus, ExperimentMeasure, ExperimentStatus, Interleaving,
};
use crate::api::systems::Difference;
use crate::api::{AdminApi, experiments};
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::text::count_of;

pub(super) fn screen(admin: &AdminApi) -> Screen {
    let found = experiments::of(&admin.exposition);
    let primary = super::queries::primary(admin);
    let content = html! {
        h1 { "Experiments" }
        @if found.experiments.is_empty() && found.interleaving.is_empty() {
            (empty("No experiment is configured", &html! { "Declare the arms and the control under " code { "experiments" } " in the configuration. Each arm is then compared with the control, with intervals that stay valid however often they are read." }))
        }
        @for experiment in &found.experiments { (section(experiment, primary.as_deref())) }
        @if !found.interleaving.is_empty() { (interleaving(&found.interleaving)) }
    };
    Screen {
        title: "Experiments".to_owned(),
        tab: "experiments",
        json: "/api/v1/experiments".to_owned(),
        content,
    }
}

fn section(experiment: &ExperimentStatus, primary: Option<&str>) -> Markup {
    let sessions: u64 = experiment.arms.iter().map(|arm| arm.sessions).sum();
    let units = if experiment.assignment == "user" {
        "Users"
    } else {
        "Sessions"
    };
    let is_split_wrong = experiment
        .split_log_evidence
        .is_some_and(|it| it >= experiment.split_threshold);
    html! {
        section aria-label=(experiment.id) {
            h2 { (text(&experiment.id)) }
            @if let Some(lead) = Lead::of(experiment, primary) { (lead.sentences(experiment, is_split_wrong)) }
            p {
                @if is_split_wrong { strong.bad { "✗ The " (experiment.assignment) "s are not split as configured" } }
                @else if experiment.split_log_evidence.is_none() { "Split: no " (experiment.assignment) " yet" }
                @else { span.good { "✓" } " The split agrees with the configuration" }
                @if let Some(evidence) = experiment.split_log_evidence {
                    span.name { " (evidence " (quantity(evidence)) ", threshold " (quantity(experiment.split_threshold)) ")" }
                }
            }
            @if experiment.measures.is_empty() {
                (empty("Too few searches for a comparison", &html! { "An arm is compared with the control from about 100 " (experiment.assignment) "s in both." }))
            } @else { (differences(experiment, primary)) }
            div.scroll tabindex="0" role="group" aria-label="Arms" { table.narrow {
                thead { tr { th scope="col" { "Arm" } th scope="col" { "Searches" } th scope="col" { (units) } th scope="col" { "Share" } th scope="col" { "Configured" } } }
                tbody { @for arm in &experiment.arms { tr {
                    th scope="row" { a href={ "/systems/" (encoded(&arm.variant)) } data-row { (text(&arm.variant)) } @if arm.is_control { " " span.name { "control" } } }
                    td data-label="Searches" { (count(arm.searches)) }
                    td data-label=(units) { (count(arm.sessions)) }
                    td data-label="Share" { (share(ratio(arm.sessions, sessions))) }
                    td data-label="Configured" { (share(arm.share)) }
                } } }
            } }
        }
    }
}

fn interleaving(pairs: &[Interleaving]) -> Markup {
    html! {
        section aria-labelledby="interleaving" {
            h2 #interleaving { "Interleaved rankings" }
            div.scroll tabindex="0" role="group" aria-label="Pairs of teams" { table {
                thead { tr { th scope="col" { "Teams" } th scope="col" { "Sessions won" } th scope="col" { "Lost" } th scope="col" { "Ties" } th scope="col" { "Preference" } th scope="col" { "Evidence" } } }
                tbody { @for it in pairs { tr {
                    th scope="row" { (text(&it.team)) " against " (text(&it.against)) @if !it.experiment.is_empty() { " " span.name { (text(&it.experiment)) } } }
                    td data-label="Sessions won" { (count(it.wins)) }
                    td data-label="Lost" { (count(it.losses)) }
                    td data-label="Ties" { (count(it.ties)) }
                    td data-label="Preference" { (signed_text(it.delta)) @if it.log_evidence >= it.threshold { " " strong { "users prefer " (text(if it.delta > 0.0 { &it.team } else { &it.against })) } } }
                    td data-label="Evidence" { (quantity(it.log_evidence)) span.name { " of " (quantity(it.threshold)) } }
                } } }
            } }
        }
    }
}

/// Class of a difference in the choice of the one that is stated first: the lowest class comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// Evidence that the arm is worse in a guardrail.
    Guardrail,
    /// A difference in the primary measure.
    Primary,
    Worse,
    Better,
    /// The primary measure, without a difference yet.
    PrimaryUndecided,
    Undecided,
}

/// Difference that is stated first, and those of the other arms in its measure.
struct Lead<'a> {
    class: Class,
    arm: &'a ArmStatus,
    it: &'a ArmDifference,
    others: Vec<(&'a ArmStatus, &'a ArmDifference)>,
}

impl<'a> Lead<'a> {
    /// `None` without a difference.
    fn of(experiment: &'a ExperimentStatus, primary: Option<&str>) -> Option<Self> {
        let all = experiment
            .arms
            .iter()
            .flat_map(|arm| arm.differences.iter().map(move |it| (arm, it)));
        let all: Vec<(&ArmStatus, &ArmDifference)> = all.collect();
        let class = |it: &ArmDifference| {
            let is_primary = primary == Some(it.measure.as_str());
            match it.verdict {
                "worse" if is_guardrail_worse(experiment, it) => Class::Guardrail,
                "worse" | "better" if is_primary => Class::Primary,
                "worse" => Class::Worse,
                "better" => Class::Better,
                _ if is_primary => Class::PrimaryUndecided,
                _ => Class::Undecided,
            }
        };
        let order = |measure: &str| {
            let mut measures = experiment.measures.iter();
            measures.position(|it| it.measure == measure)
        };
        let (arm, it) = all.iter().copied().min_by(|(_, a), (_, b)| {
            let facts = |it: &ArmDifference| {
                let is_primary = primary == Some(it.measure.as_str());
                (class(it), !is_primary, order(&it.measure))
            };
            let by_need = || needed(a).cmp(&needed(b));
            let by_size = || certain(b.difference).total_cmp(&certain(a.difference));
            facts(a)
                .cmp(&facts(b))
                .then_with(by_need)
                .then_with(by_size)
        })?;
        let others = all
            .into_iter()
            .filter(|(other, of)| of.measure == it.measure && other.variant != arm.variant);
        Some(Self {
            class: class(it),
            arm,
            it,
            others: others.collect(),
        })
    }

    /// Verdict of the experiment, and what is still needed.
    fn sentences(&self, experiment: &ExperimentStatus, is_split_wrong: bool) -> Markup {
        let Self { class, arm, it, .. } = self;
        let control = text(&experiment.control);
        let variant = html! { strong { (text(&arm.variant)) } };
        html! {
            p.verdict {
                @if is_split_wrong { span.bad { "✗ No conclusion: the split is wrong." } " " }
                @match it.verdict {
                    "worse" => { span.bad { "▼ " (variant) " is worse" } " than " (control) " in " (it.measure) ": " },
                    "better" => { span.good { "▲ " (variant) " is better" } " than " (control) " in " (it.measure) ": " },
                    _ => { "No difference from " (control) " is shown in " (it.measure) ". Nearest to a decision: " (variant) ", " },
                }
                (signed(it.difference.estimate)) " " span.name { "(" (signed(it.difference.lower)) " to " (signed(it.difference.upper)) ")" }
                @if *class == Class::Guardrail { ", a guardrail" }
                ", " (count(arm.searches)) " searches. "
                (still_needed(it))
            }
            @if !self.others.is_empty() {
                p { span.name { "Other arms in " (it.measure) ": " }
                    @for (place, (arm, it)) in self.others.iter().enumerate() {
                        @if place > 0 { " · " }
                        (text(&arm.variant)) " "
                        @match it.verdict {
                            "worse" => span.bad { "▼ " (signed(it.difference.estimate)) " worse" },
                            "better" => span.good { "▲ " (signed(it.difference.estimate)) " better" },
                            _ => { (signed(it.difference.estimate)) " undecided" @if let Some(enough) = it.searches_to_decide { span.name { " (≈ " (estimate(enough)) " searches)" } } },
                        }
                    }
                }
            }
        }
    }
}

/// Searches of each arm that are still needed for a decision.
fn still_needed(it: &ArmDifference) -> Markup {
    html! {
        @match (it.verdict, it.searches_to_decide) {
            ("undecided", Some(enough)) => { "About " (estimate(enough)) " searches of each arm would decide it." }
            ("undecided", None) => { "More than a billion searches of each arm would be needed to decide it." }
            _ => { "No further searches are needed for it." }
        }
    }
}

/// Searches that a decision needs: none if there is one.
fn needed(it: &ArmDifference) -> u64 {
    match it.verdict {
        "undecided" => it.searches_to_decide.unwrap_or(u64::MAX),
        _ => 0,
    }
}

/// Size that the difference has at least, by its interval.
fn certain(it: Difference) -> f64 {
    it.lower.max(-it.upper).max(0.0)
}

fn is_guardrail_worse(experiment: &ExperimentStatus, it: &ArmDifference) -> bool {
    let evidence = it.log_evidence;
    evidence.is_some_and(|it| it >= experiment.worse_threshold)
}

/// Differences by measure. Measures in which no arm differs are folded, apart from the primary one.
fn differences(experiment: &ExperimentStatus, primary: Option<&str>) -> Markup {
    let is_shown = |it: &&ExperimentMeasure| {
        let differences = experiment.arms.iter().flat_map(|arm| &arm.differences);
        let mut of_measure = differences.filter(|of| of.measure == it.measure);
        primary == Some(it.measure.as_str()) || of_measure.any(|of| of.verdict != "undecided")
    };
    let (shown, folded): (Vec<_>, Vec<_>) = experiment.measures.iter().partition(is_shown);
    let id = format!("differences-{}", experiment.id);
    html! {
        @if !shown.is_empty() { (table(experiment, &shown, &id)) }
        @if !folded.is_empty() {
            details.undecided {
                summary { (count_of(folded.len(), "measure", "measures")) " without a difference yet" }
                (table(experiment, &folded, &format!("{id}-undecided")))
            }
        }
    }
}

fn table(experiment: &ExperimentStatus, measures: &[&ExperimentMeasure], id: &str) -> Markup {
    let arms: Vec<&ArmStatus> = experiment
        .arms
        .iter()
        .filter(|arm| !arm.is_control)
        .collect();
    html! {
        div.scroll tabindex="0" role="group" aria-labelledby=(id) { table.differences {
            caption id=(id) {
                "Difference from " (text(&experiment.control)) " since the start. The intervals of a row share one scale and stay valid however often they are read ("
                (share(1.0 - experiment.alpha)) "). Undecided: about the searches for each arm that would decide it."
            }
            thead { tr { th scope="col" { "Measure" } @for arm in &arms { th scope="col" { (text(&arm.variant)) } } } }
            tbody { @for measure in measures {
                @let of = |arm: &ArmStatus| arm.differences.iter().position(|it| it.measure == measure.measure);
                @let reach = arms.iter().filter_map(|arm| Some(&arm.differences[of(arm)?].difference)).map(|it| it.lower.abs().max(it.upper.abs())).fold(0.0, f64::max);
                tr data-measure=(measure.measure) {
                    th scope="row" { (measure.measure) }
                    @for arm in &arms { td data-label=(arm.variant) { @if let Some(at) = of(arm) {
                        @let it = &arm.differences[at];
                        div.against { (chart::interval(&format!("{} of {}", it.measure, arm.variant), it.difference.estimate, [it.difference.lower, it.difference.upper], reach))
                        div { (verdict(measure.direction, it.difference))
                            @if is_guardrail_worse(experiment, it) { div.sub { strong.bad { "guardrail" } } }
                            @if let Some(enough) = it.searches_to_decide { div.sub { "≈ " (estimate(enough)) } } } }
                    } @else { span.name { "–" } } } }
                }
            } }
        } }
    }
}

/// Difference with its mark: better or worse if the interval excludes 0.
pub(super) fn verdict(direction: Direction, it: Difference) -> Markup {
    let value = html! { data value=(it.estimate) title={ (it.estimate) ", from " (it.lower) " to " (it.upper) } { (signed_text(it.estimate)) } };
    let is_higher = it.lower > 0.0;
    let arrow = if is_higher { "▲ " } else { "▼ " };
    html! {
        @if !it.is_shown() { span.name { (value) } }
        @else if direction == Direction::Neither { span { (arrow) (value) } }
        @else if is_higher == (direction == Direction::Up) { span.good { (arrow) (value) span.unseen { " better" } } }
        @else { span.bad { (arrow) (value) span.unseen { " worse" } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(measure: &str, estimate: f64, half: f64) -> ArmDifference {
        let difference = Difference {
            estimate,
            lower: estimate - half,
            upper: estimate + half,
        };
        let verdict = match difference {
            Difference { lower, .. } if lower > 0.0 => "better",
            Difference { upper, .. } if upper < 0.0 => "worse",
            _ => "undecided",
        };
        ArmDifference {
            measure: measure.to_owned(),
            difference,
            verdict,
            log_evidence: None,
            searches_to_decide: (verdict == "undecided").then_some(12_345),
        }
    }

    fn arm(variant: &str, differences: Vec<ArmDifference>) -> ArmStatus {
        ArmStatus {
            variant: variant.to_owned(),
            is_control: differences.is_empty(),
            share: 0.5,
            sessions: 500,
            searches: 1_000,
            differences,
        }
    }

    /// Text of the screen of an experiment with these arms beside the control V4.
    fn shown(split: Option<f64>, arms: Vec<ArmStatus>) -> String {
        let control = std::iter::once(arm("V4", Vec::new()));
        let measures = ["nDCG@10", "P@5", "RR"].map(|measure| ExperimentMeasure {
            measure: measure.to_owned(),
            direction: Direction::Up,
        });
        let experiment = ExperimentStatus {
            id: "ablation".to_owned(),
            control: "V4".to_owned(),
            alpha: 0.001,
            assignment: "user",
            split_log_evidence: split,
            split_threshold: 6.9,
            worse_threshold: 6.9,
            measures: measures.into(),
            arms: control.chain(arms).collect(),
        };
        let page = section(&experiment, Some("nDCG@10")).into_string();
        let mut text = String::new();
        let mut is_tag = false;
        for letter in page.chars() {
            match letter {
                '<' => is_tag = true,
                '>' => is_tag = false,
                _ if is_tag => {}
                _ => text.push(letter),
            }
        }
        let order = ["No difference", " is worse", " is better"];
        assert!(
            order.iter().any(|it| page.find(it) < page.find("<table")),
            "the verdict comes first"
        );
        assert_eq!(page.matches("data-measure").count(), 3, "{page}");
        text
    }

    #[test]
    fn the_verdict_names_arm_measure_difference_interval_and_what_is_needed() {
        let differences = |size| {
            vec![
                difference("nDCG@10", size, 0.05),
                difference("P@5", 0.3, 0.05),
                difference("RR", 0.01, 0.05),
            ]
        };
        let text = shown(Some(0.1), vec![arm("V5", differences(-0.2))]);
        let lead = "▼ V5 is worse than V4 in nDCG@10: −0.200 (−0.250 to −0.150), 1,000 searches. No further searches are needed for it.";
        assert!(text.contains(lead), "{text}");
        assert!(text.contains("✓ The split agrees"), "{text}");
        assert!(
            text.contains("1 measure without a difference yet"),
            "{text}"
        );

        // The primary measure comes before others, a guardrail before the primary measure.
        let text = shown(Some(0.1), vec![arm("V5", differences(0.2))]);
        assert!(
            text.contains("▲ V5 is better than V4 in nDCG@10: +0.200"),
            "{text}"
        );
        let mut worse = differences(0.2);
        worse[2] = ArmDifference {
            log_evidence: Some(8.0),
            ..difference("RR", -0.1, 0.05)
        };
        let text = shown(Some(0.1), vec![arm("V5", worse)]);
        assert!(
            text.contains("▼ V5 is worse than V4 in RR: −0.100 (−0.150 to −0.050), a guardrail"),
            "{text}"
        );

        // The arm that differs most is named, and the others follow.
        let arms = vec![
            arm("V1", differences(-0.1)),
            arm("V2", differences(-0.3)),
            arm("V3", differences(0.0)),
        ];
        let text = shown(Some(0.1), arms);
        assert!(text.contains("▼ V2 is worse than V4 in nDCG@10"), "{text}");
        let others =
            "Other arms in nDCG@10: V1 ▼ −0.100 worse · V3 ±0.000 undecided (≈ 12,000 searches)";
        assert!(text.contains(others), "{text}");
    }

    #[test]
    fn without_a_difference_the_verdict_states_the_searches_that_would_decide() {
        let none = |size| {
            let measures = ["nDCG@10", "P@5", "RR"];
            measures.map(|it| difference(it, size, 0.05)).into()
        };
        let text = shown(Some(9.0), vec![arm("V5", none(0.02))]);
        let lead = "✗ No conclusion: the split is wrong. No difference from V4 is shown in nDCG@10. Nearest to a decision: V5, +0.020 (−0.030 to +0.070), 1,000 searches. About 12,000 searches of each arm would decide it.";
        assert!(text.contains(lead), "{text}");
        assert!(
            text.contains("2 measures without a difference yet"),
            "{text}"
        );
        let mut never = none(0.0);
        never[0].searches_to_decide = None;
        let text = shown(None, vec![arm("V5", never)]);
        assert!(text.contains("More than a billion searches"), "{text}");
        assert!(text.contains("Split: no user yet"), "{text}");
    }
}
