//! Gate: checks of an evaluation or a comparison that a build has to pass.
//!
//! A gate fails if one of its checks fails. A check without data does not pass: a missing score
//! fails, and a comparison of too few queries for a verdict fails. The module only reads results.

use std::collections::BTreeSet;

use crate::behaviour::Behaviour;
use crate::compare::{Comparison, MeasureComparison, Pair, Verdict};
use crate::evaluate::{Evaluation, Goal, RunEvaluation};
use crate::operations::Operations;
use crate::text_layout::{count_of, probability};
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::measure::{Relation, Requirement};

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Name of the checked run.
    pub run: String,
    /// Condition that the run has to meet: `nDCG@10 >= 0.75 (good)`.
    pub condition: String,
    /// Outcome of the check.
    pub outcome: Outcome,
    /// Numbers behind the outcome.
    pub detail: String,
}

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The condition is met.
    Passed,
    /// The condition is not met.
    Failed,
    /// The condition could not be tested. Other checks of the same run were.
    Skipped,
}

impl Outcome {
    /// Name of the outcome in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    fn of(passed: bool) -> Self {
        if passed { Self::Passed } else { Self::Failed }
    }
}

/// Returns the number of checks with an outcome.
pub fn count(checks: &[Check], outcome: Outcome) -> usize {
    let found = checks.iter().filter(|check| check.outcome == outcome);
    found.count()
}

/// Conditions that runs have to meet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Tier that every measure with a target of this tier has to reach.
    pub tier: Option<String>,
    /// Goals that have to be met.
    pub goals: Vec<Goal>,
    /// Bounds of operations that have to be met.
    pub operations: Vec<OperationBound>,
    /// Requirements on user measures that have to be met.
    pub users: Vec<UserRequirement>,
}

/// Requirement on the mean of a user measure.
#[derive(Clone, Debug, PartialEq)]
pub struct UserRequirement {
    /// Name of the goal that it belongs to, tier of a target, otherwise the requirement as text.
    pub name: String,
    /// Measure and bound.
    pub requirement: Requirement,
    /// Tier of a configured target; `None` for a requirement.
    pub tier: Option<String>,
}

/// Bound of a number of the operations of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationBound {
    /// Name of the number, as in CSV: `latency_ms_p95`, `cost_USD_mean`, `errors`.
    pub number: String,
    /// Relation of the number to the bound.
    pub relation: Relation,
    /// Value of the bound.
    pub bound: f64,
    /// Tier of a configured target; `None` for a requirement. A run that does not state the number
    /// misses a requirement, and a target is then skipped.
    pub tier: Option<String>,
}

/// Names of the numbers of operations, for messages.
pub const OPERATION_NUMBERS: &str = "latency_ms_mean, _p50, _p95, _p99 or _max, the same of \
                                     stage_NAME_ms and cost_CURRENCY, capacity_per_second, \
                                     error_rate, zero_result_rate, errors, zero_results, calls, \
                                     input_tokens and output_tokens";

/// Returns true if operations can have a number of this name.
pub fn is_operation_number(name: &str) -> bool {
    let counts = [
        "capacity_per_second",
        "error_rate",
        "zero_result_rate",
        "errors",
        "zero_results",
        "calls",
        "input_tokens",
        "output_tokens",
    ];
    let is_distribution = name.rsplit_once('_').is_some_and(|(of, part)| {
        let stage = of.strip_prefix("stage_");
        let stage = stage.and_then(|stage| stage.strip_suffix("_ms"));
        let is_known = of == "latency_ms"
            || of
                .strip_prefix("cost_")
                .or(stage)
                .is_some_and(|name| !name.is_empty());
        is_known && ["mean", "p50", "p95", "p99", "max"].contains(&part)
    });
    is_distribution || counts.contains(&name)
}

/// Checks the operations of `runs`. A run without the number fails.
pub fn of_operations<'a>(
    runs: impl Iterator<Item = &'a str>,
    operations: &[Operations],
    bounds: &[OperationBound],
) -> Vec<Check> {
    let checks = runs.flat_map(|run| {
        let of_run = operations.iter().find(|of| of.run == run);
        // A run without any operations, such as a TREC run, has none to check against targets.
        let bounds = bounds.iter();
        let bounds = bounds.filter(move |bound| bound.tier.is_none() || of_run.is_some());
        bounds.map(move |bound| {
            let number = of_run.and_then(|of| of.number(&bound.number));
            let tier = bound.tier.as_ref().map(|tier| format!(" ({tier})"));
            Check {
                run: run.to_owned(),
                condition: format!(
                    "{} {} {}{}",
                    bound.number,
                    bound.relation.sign(),
                    bound.bound,
                    tier.as_deref().unwrap_or("")
                ),
                outcome: match (number, &bound.tier) {
                    (None, Some(_)) => Outcome::Skipped,
                    (None, None) => Outcome::Failed,
                    (Some(number), _) => Outcome::of(bound.relation.holds(number, bound.bound)),
                },
                detail: match number {
                    Some(number) => format!("{} is {number:.4}", bound.number),
                    None => format!(
                        "{} is not known: no search of the run states it; use a run of search events",
                        bound.number
                    ),
                },
            }
        })
    });
    checks.collect()
}

/// Checks the user behaviour on runs. A run without a score of the measure fails.
pub fn of_behaviour(behaviour: &[Behaviour], requirements: &[UserRequirement]) -> Vec<Check> {
    let checks = behaviour.iter().flat_map(|of| {
        let requirements = requirements.iter();
        requirements.map(move |of_users| {
            let UserRequirement {
                name, requirement, ..
            } = of_users;
            let measure = requirement.measure.to_string();
            let found = of.measures.iter().find(|it| it.measure == measure);
            let mean = found.and_then(|found| Some((found.mean?, found.n)));
            let (relation, bound) = (requirement.relation, requirement.bound);
            Check {
                run: of.run.clone(),
                condition: match &of_users.tier {
                    Some(tier) => target_text(&measure, tier, bound),
                    None => condition(name, requirement.to_string()),
                },
                outcome: Outcome::of(mean.is_some_and(|(mean, _)| relation.holds(mean, bound))),
                detail: match mean {
                    Some((mean, n)) => format!(
                        "{measure} is {mean:.4} over {}",
                        count_of(n, "search", "searches")
                    ),
                    None => format!("{measure} is {}", mean_text(None)),
                },
            }
        })
    });
    checks.collect()
}

/// Condition of the bounds of a goal, or of a requirement, which has its bound as name.
fn condition(name: &str, bounds: String) -> String {
    if name == bounds {
        bounds
    } else {
        format!("{name}: {bounds}")
    }
}

/// Condition of a target of a measure.
fn target_text(measure: &str, tier: &str, value: f64) -> String {
    format!("{measure} reaches {tier} ({value})")
}

/// Failed checks of the runs for which no check was tested.
pub fn of_untested<'a>(runs: impl Iterator<Item = &'a str>, checks: &[Check]) -> Vec<Check> {
    let is_tested = |run: &str| {
        let mut checks = checks.iter();
        checks.any(|check| check.run == run && check.outcome != Outcome::Skipped)
    };
    let untested = runs.filter(|run| !is_tested(run));
    untested
        .map(|run| Check {
            run: run.to_owned(),
            condition: "at least one condition is tested".to_owned(),
            outcome: Outcome::Failed,
            detail:
                "the run has no data for any of them; use a run of search events, or targets of \
                     measures"
                    .to_owned(),
        })
        .collect()
}

/// Error: no measure has a target of the tier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", message(.tier, .known))]
pub struct UnknownTier {
    /// Requested tier.
    pub tier: String,
    /// Tiers of the targets of the computed measures.
    pub known: Vec<String>,
}

fn message(tier: &str, known: &[String]) -> String {
    if known.is_empty() {
        return format!(
            "no computed measure has a target of the tier `{tier}`, and none has any; define \
             targets in a file for --config"
        );
    }
    format!(
        "no computed measure has a target of the tier `{tier}`; the tiers are {}",
        known.join(", ")
    )
}

/// Checks all runs of an evaluation.
///
/// # Errors
/// No measure has a target of the required tier.
pub fn of_evaluation(
    evaluation: &Evaluation,
    conditions: &Conditions,
) -> Result<Vec<Check>, UnknownTier> {
    if let Some(tier) = &conditions.tier {
        let operations = conditions.operations.iter();
        let users = conditions.users.iter();
        let known: BTreeSet<&String> = evaluation
            .targets
            .iter()
            .map(|it| &it.tier)
            .chain(operations.filter_map(|it| it.tier.as_ref()))
            .chain(users.filter_map(|it| it.tier.as_ref()))
            .collect();
        if !known.contains(tier) {
            return Err(UnknownTier {
                tier: tier.clone(),
                known: known.into_iter().cloned().collect(),
            });
        }
    }
    let checks = evaluation.runs.iter().flat_map(|run| {
        let tier = conditions.tier.iter();
        let targets = tier.flat_map(move |tier| of_tier(evaluation, run, tier));
        let goals = conditions.goals.iter();
        let checks = targets.chain(goals.map(move |goal| of_goal(evaluation, run, goal)));
        let has_means = conditions.tier.is_some() || !conditions.goals.is_empty();
        checks.chain(of_answers(evaluation, run).filter(move |_| has_means))
    });
    Ok(checks.collect())
}

/// Skipped check of a run that leaves out gold queries: its means are those of the other queries.
fn of_answers(evaluation: &Evaluation, run: &RunEvaluation) -> Option<Check> {
    let scored = run.queries.iter().filter(|query| !query.answered).count();
    let left_out = run.missing.len().saturating_sub(scored);
    (left_out > 0).then(|| Check {
        run: run.name.clone(),
        condition: "all gold queries are answered".to_owned(),
        outcome: Outcome::Skipped,
        detail: format!(
            "{left_out} of {} missing from the run and not part of the means; add --complete to \
             score them as 0",
            count_of(evaluation.gold.queries, "gold query is", "gold queries are")
        ),
    })
}

fn of_tier(evaluation: &Evaluation, run: &RunEvaluation, tier: &str) -> Vec<Check> {
    let targets = evaluation.targets.iter().filter(|it| it.tier == tier);
    let checks = targets.map(|target| {
        let mean = run.means.get(target.measure).copied().flatten();
        let measure = evaluation.measures.get(target.measure);
        let measure = measure.map_or("", String::as_str);
        let unreachable = evaluation.unreachable(run, target);
        Check {
            run: run.name.clone(),
            condition: target_text(measure, tier, target.value),
            outcome: match unreachable {
                Some(_) => Outcome::Skipped,
                None => Outcome::of(mean.is_some_and(|mean| evaluation.is_reached(target, mean))),
            },
            detail: match unreachable {
                Some(perfect) => format!(
                    "{measure} is {}, and a perfect ranking has {perfect:.4}: the queries have too \
                     many or too few relevant documents for this target",
                    mean_text(mean)
                ),
                None => format!("{measure} is {}", mean_text(mean)),
            },
        }
    });
    let mut checks: Vec<Check> = checks.collect();
    if !checks.is_empty() && count(&checks, Outcome::Skipped) == checks.len() {
        checks.push(Check {
            run: run.name.clone(),
            condition: format!("at least one target of the tier {tier} can be reached"),
            outcome: Outcome::Failed,
            detail: "no ranking reaches any of them; choose targets that fit the gold set"
                .to_owned(),
        });
    }
    checks
}

fn of_goal(evaluation: &Evaluation, run: &RunEvaluation, goal: &Goal) -> Check {
    let means = goal.bounds.iter().map(|bound| {
        let measure = evaluation.measures.get(bound.measure);
        let mean = run.means.get(bound.measure).copied().flatten();
        format!(
            "{} is {}",
            measure.map_or("", String::as_str),
            mean_text(mean)
        )
    });
    let bounds = goal.bounds.iter().map(|bound| evaluation.bound_text(bound));
    let bounds: Vec<String> = bounds.collect();
    Check {
        run: run.name.clone(),
        outcome: Outcome::of(evaluation.is_met(goal, run)),
        detail: means.collect::<Vec<_>>().join(", "),
        condition: condition(&goal.name, bounds.join(" and ")),
    }
}

fn mean_text(mean: Option<f64>) -> String {
    mean.map_or_else(
        || "without a score; leave it out, or give the run the data it needs".to_owned(),
        |mean| format!("{mean:.4}"),
    )
}

/// Verdicts that fail a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// A run is shown to be worse than the first.
    Worse,
    /// Any difference from the first run is shown.
    Difference,
}

/// Checks every run of a comparison against the first run.
pub fn of_comparison(comparison: &Comparison, fail_on: FailOn) -> Vec<Check> {
    let pairs = comparison.comparisons.iter();
    let checks = pairs.flat_map(|pair| of_pair(pair, fail_on, comparison.alpha));
    checks.collect()
}

fn of_pair(pair: &Pair, fail_on: FailOn, alpha: f64) -> Vec<Check> {
    let measures = pair.measures.iter();
    let mut checks: Vec<Check> = measures.map(|of| of_measure(pair, of, fail_on)).collect();
    let is_identical = |of: &&MeasureComparison| of.verdict == Verdict::Identical;
    // Of fewer queries than a test needs, equal scores show that nothing changed only if all are equal.
    let is_evidence = |of: &MeasureComparison| {
        of.verdict != Verdict::NotTested && !(is_identical(&of) && of.p_holm.is_none())
    };
    let same = pair.measures.iter().filter(is_identical).count();
    if same < pair.measures.len().max(1) && !pair.measures.iter().any(is_evidence) {
        checks.push(without_verdict(pair, alpha));
    }
    if pair.only_a > 0 {
        checks.push(Check {
            run: pair.b.clone(),
            condition: format!("all queries of {} are answered", pair.a),
            outcome: Outcome::Skipped,
            detail: format!(
                "{} of {} missing from the run and not compared; add --complete to score them as 0",
                pair.only_a,
                count_of(pair.common + pair.only_a, "query is", "queries are")
            ),
        });
    }
    checks
}

/// Failed check of a comparison that is too small for a verdict: a gate does not pass on a ranking that it cannot
/// test.
fn without_verdict(pair: &Pair, alpha: f64) -> Check {
    let most = pair.measures.iter().map(|of| of.paired.n).max();
    let most = most.unwrap_or(0);
    let needed = pair.needed(alpha);
    Check {
        run: pair.b.clone(),
        condition: format!("at least {needed} queries are compared"),
        outcome: Outcome::Failed,
        detail: format!(
            "no verdict: {} with a score in both {} and {}, and {needed} are needed, because fewer cannot show \
             any difference in {} (p is at least {alpha} in every case); judge more queries, compare fewer measures, or \
             leave the comparison out of the gate",
            count_of(most, "query", "queries"),
            pair.a,
            pair.b,
            count_of(pair.tested().max(1), "measure", "measures"),
        ),
    }
}

fn queries(count: usize) -> String {
    count_of(count, "query", "queries")
}

/// True if the difference is one that the gate would fail on.
fn may_be_worse(of: &MeasureComparison, fail_on: FailOn) -> bool {
    let difference = of.paired.difference.unwrap_or_default();
    fail_on == FailOn::Difference
        || match Direction::of(&of.measure) {
            Direction::Up => difference < 0.0,
            Direction::Down => difference > 0.0,
            Direction::Neither => false,
        }
}

fn of_measure(pair: &Pair, of: &MeasureComparison, fail_on: FailOn) -> Check {
    let outcome = match (of.verdict, fail_on) {
        (Verdict::Worse, _)
        | (Verdict::Better | Verdict::Higher | Verdict::Lower, FailOn::Difference) => {
            Outcome::Failed
        }
        // A loss that no test of so few queries can show does not pass.
        (Verdict::NotTested, _) if of.is_hidden() && may_be_worse(of, fail_on) => Outcome::Failed,
        (Verdict::NotTested, _) => Outcome::Skipped,
        (
            Verdict::Better
            | Verdict::Higher
            | Verdict::Lower
            | Verdict::Identical
            | Verdict::NotShown,
            _,
        ) => Outcome::Passed,
    };
    let condition = match fail_on {
        FailOn::Worse => format!("{} is not worse than in {}", of.measure, pair.a),
        FailOn::Difference => format!("{} does not differ from {}", of.measure, pair.a),
    };
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |it| format!("{it:.4}"));
    let difference = of.paired.difference.map_or_else(
        || "no difference known".to_owned(),
        |difference| format!("difference {difference:+.4}"),
    );
    Check {
        run: pair.b.clone(),
        condition,
        outcome,
        detail: format!(
            "{}: {} against {}, {difference}, Holm p {}, {}",
            of.verdict.words(),
            number(of.paired.b),
            number(of.paired.a),
            of.p_holm.map_or_else(|| "-".to_owned(), probability),
            queries(of.paired.n)
        ),
    }
}
