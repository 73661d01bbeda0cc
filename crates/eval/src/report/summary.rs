//! First part of a report: the verdict in sentences, and one card for each run.

use super::document::{Card, CardFigure, Tone, interval, number, optional, percentage, signed};
use super::headline::headline_of;
use super::names::name;
use super::options::Options;
use super::ratios::coverage;
use super::recommendation::{CommonMeans, preferred};
use crate::compare::{MeasureComparison, Verdict};
use crate::evaluate::{Evaluation, OverallTier, RunEvaluation};
use crate::gate::{Outcome, count};
use crate::text_layout::count_of;
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::measure::tier;
use rankgauge_core::number::percent;

/// Number of measures of a card.
const MAX_FIGURES: usize = 4;

/// Verdict in sentences.
pub(super) fn verdict(evaluation: &Evaluation, options: &Options<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    let runs = &evaluation.runs;
    let measure = headline_of(evaluation).map(|at| (at, &evaluation.measures[at]));
    match (runs.as_slice(), preferred(evaluation)) {
        ([run], _) => {
            let score = measure.and_then(|(at, measure)| Some((measure, mean(run, at)?)));
            let tier =
                badge(evaluation, run).map_or_else(String::new, |(tier, _)| format!(", {tier}"));
            sentences.extend(score.map(|(measure, mean)| {
                let share = of_queries(run);
                format!(
                    "{}: {measure} {}{tier}{share}.",
                    name(&run.name),
                    number(mean)
                )
            }));
        }
        ([first, ..], Some((position, _))) => {
            let run = &runs[position];
            let score = measure.and_then(|(at, measure)| {
                let common = CommonMeans::of(evaluation, at);
                Some((measure, common.means[position]?, common.part))
            });
            let score = score.map_or_else(String::new, |(measure, mean, part)| {
                let of = part.map_or_else(
                    || of_queries(run),
                    |part| {
                        format!(
                            " (of the {} of all runs)",
                            count_of(part, "query", "queries")
                        )
                    },
                );
                format!(": {measure} {}{of}", number(mean))
            });
            sentences.push(format!("{} is preferred{score}.", name(&run.name)));
            let change = measure.and_then(|(_, measure)| change(options, run, measure));
            sentences.extend(change.map(|of| difference(of, &run.name, &first.name)));
        }
        ([first, .., last], None) => {
            sentences.push(
                "No run is preferred: none is best on more measures than any other.".to_owned(),
            );
            let change = measure.and_then(|(_, measure)| change(options, last, measure));
            sentences.extend(change.map(|of| difference(of, &last.name, &first.name)));
        }
        ([], _) => {}
    }
    if !options.checks.is_empty() {
        let failed = count(options.checks, Outcome::Failed);
        let checks = count_of(options.checks.len(), "check", "checks");
        sentences.push(if failed == 0 {
            format!("The gate passed: {checks}.")
        } else {
            format!("The gate failed: {failed} of {checks}.")
        });
    }
    sentences
}

/// Difference of a run from the first one in a sentence, with the interval of its test.
fn difference(of: &MeasureComparison, run: &str, first: &str) -> String {
    let (run, first) = (name(run), name(first));
    let numbers = format!(
        "{} {}",
        optional(of.paired.difference, signed),
        optional(of.simultaneous, interval)
    );
    let measure = &of.measure;
    match of.verdict {
        Verdict::Better | Verdict::Worse | Verdict::Higher | Verdict::Lower => format!(
            "{run} is {} than {first} in {measure}: {numbers}.",
            of.verdict.words()
        ),
        Verdict::Identical => format!("{run} and {first} are identical in {measure}."),
        Verdict::NotShown => {
            format!("No difference between {run} and {first} is shown in {measure}: {numbers}.")
        }
        Verdict::NotTested => {
            format!("{run} and {first} have too few queries for a test in {measure}.")
        }
    }
}

/// Cards of all runs.
pub(super) fn cards(evaluation: &Evaluation, options: &Options<'_>) -> Vec<Card> {
    let best = preferred(evaluation).map(|(position, _)| position);
    let measures = measures(evaluation);
    let cards = evaluation.runs.iter().enumerate();
    cards
        .map(|(position, run)| Card {
            name: name(&run.name),
            is_preferred: evaluation.runs.len() > 1 && best == Some(position),
            badge: badge(evaluation, run),
            figures: measures
                .iter()
                .map(|measure| figure(evaluation, options, run, *measure))
                .collect(),
            facts: facts(evaluation, options, run),
        })
        .collect()
}

/// Measures of the cards: the headline measure, those of the overall tier, those with targets, then
/// the others for which higher is better.
fn measures(evaluation: &Evaluation) -> Vec<usize> {
    let has_target = |measure: &usize| evaluation.targets_of(*measure).next().is_some();
    let all = 0..evaluation.measures.len();
    let upwards = |measure: &usize| Direction::of(&evaluation.measures[*measure]) == Direction::Up;
    let candidates = headline_of(evaluation)
        .into_iter()
        .chain(evaluation.tier_measures.iter().copied())
        .chain(all.clone().filter(has_target))
        .chain(all.filter(upwards));
    let mut chosen: Vec<usize> = Vec::new();
    for measure in candidates {
        if chosen.len() < MAX_FIGURES && !chosen.contains(&measure) {
            chosen.push(measure);
        }
    }
    chosen
}

fn badge(evaluation: &Evaluation, run: &RunEvaluation) -> Option<(String, Tone)> {
    match evaluation.overall_tier(run)? {
        OverallTier::Reached(tier) => Some((format!("tier {}", name(tier)), Tone::Good)),
        OverallTier::Below => Some(("below every tier".to_owned(), Tone::Bad)),
    }
}

fn figure(
    evaluation: &Evaluation,
    options: &Options<'_>,
    run: &RunEvaluation,
    measure: usize,
) -> CardFigure {
    let title = &evaluation.measures[measure];
    let change = change(options, run, title);
    CardFigure {
        label: title.clone(),
        value: optional(mean(run, measure), number),
        change: change.map(|of| {
            format!(
                "{} ({}), {}",
                optional(of.paired.difference, signed),
                optional(of.relative(), percentage),
                optional(of.simultaneous, interval)
            )
        }),
        verdict: change.map(|of| (of.verdict.words(), tone(of.verdict))),
        tier: evaluation
            .targets_of(measure)
            .next()
            .map(|_| match evaluation.tier(run, measure) {
                Some(target) => {
                    let mark = evaluation.mark(target);
                    (format!("{mark} {}", name(&target.tier)), Tone::Neutral)
                }
                None => (format!("{} below target", tier::mark(None)), Tone::Neutral),
            }),
    }
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Better => Tone::Good,
        Verdict::Worse => Tone::Bad,
        Verdict::Higher
        | Verdict::Lower
        | Verdict::Identical
        | Verdict::NotShown
        | Verdict::NotTested => Tone::Neutral,
    }
}

/// Part of the answered queries that the means are about; `None` if they are about all of them.
fn covered(run: &RunEvaluation) -> Option<String> {
    let share = coverage(run).filter(|_| !run.unknown.is_empty())?;
    Some(format!("{} of the queries", percent(share, 0)))
}

/// The same, after a mean.
fn of_queries(run: &RunEvaluation) -> String {
    covered(run).map_or_else(String::new, |share| format!(" (of {share})"))
}

/// Sizes, latency, cost and feedback of a run.
fn facts(
    evaluation: &Evaluation,
    options: &Options<'_>,
    run: &RunEvaluation,
) -> Vec<(String, String)> {
    let mut facts = vec![(
        "queries".to_owned(),
        if run.missing.is_empty() {
            run.queries.len().to_string()
        } else {
            format!("{}, {} missing", run.queries.len(), run.missing.len())
        },
    )];
    facts.extend(covered(run).map(|share| ("in the gold set".to_owned(), share)));
    let operations = options.operations.iter().find(|it| it.run == run.name);
    if let Some(of) = operations {
        if let Some(latency) = &of.all.latency_ms {
            facts.push((
                "latency".to_owned(),
                format!("{:.0} ms, p95 {:.0} ms", latency.mean, latency.p95),
            ));
        }
        for (currency, cost) in &of.all.cost {
            facts.push((
                "cost of a search".to_owned(),
                format!("{:.6} {}", cost.mean, name(currency)),
            ));
        }
        if of.all.errors > 0 {
            facts.push(("errors".to_owned(), of.all.errors.to_string()));
        }
    }
    let met = evaluation.goals.iter().map(|goal| {
        let met = evaluation.is_met(goal, run);
        (
            format!("goal {}", name(&goal.name)),
            if met { "met" } else { "not met" }.to_owned(),
        )
    });
    facts.extend(met);
    facts
}

fn change<'a>(
    options: &Options<'a>,
    run: &RunEvaluation,
    measure: &str,
) -> Option<&'a MeasureComparison> {
    let pair = options.changes.iter().find(|pair| pair.b == run.name)?;
    pair.measures.iter().find(|of| of.measure == measure)
}

fn mean(run: &RunEvaluation, measure: usize) -> Option<f64> {
    run.means.get(measure).copied().flatten()
}
