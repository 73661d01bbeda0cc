//! Recommendations derived from the numbers of an evaluation by explicit rules.
//!
//! [`RULES`] is the complete list. A rule compares numbers with each other, with the configured
//! targets or with a number of an evaluation plan, and cites them. It is independent of the meaning
//! of a component or a domain. `docs/reports.md` repeats the rules, and a test compares them.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::document::number;
use super::headline::headline_of;
use super::names::name;
use super::options::Options;
use super::ratios::ratio;
use crate::evaluate::{Evaluation, QueryEvaluation, RunEvaluation, SliceValue, Target};
use crate::gate::OperationBound;
use crate::text_layout::{count_of, escape_controls};
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::number::real_length;

/// Recommended action with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recommendation {
    /// Rule that made the recommendation: a [`Rule::name`].
    pub rule: &'static str,
    /// Recommended action.
    pub advice: String,
    /// Numbers that support the recommendation.
    pub because: String,
}

/// Rule that derives recommendations from an evaluation.
pub struct Rule {
    /// Name of the rule.
    pub name: &'static str,
    /// Condition and recommendation of the rule, in one sentence.
    pub summary: &'static str,
    find: fn(&Evaluation, &Options<'_>) -> Vec<(String, String)>,
}

/// Maximum number of slices in the recommendations of a rule: those with the largest gap.
const MAX_SLICES: usize = 3;
/// Minimum number of gold queries: the success criterion of the RAG design, and the smallest test
/// set of the law-search methodology (section 5.1).
const MIN_GOLD_QUERIES: usize = 30;
/// Share of near results from which far results are not worth their cost: the multi-agent plan
/// (section 5.3.3) suggests a limit where 58 % and 32 % of the results are one and two hops away.
const NEAR: f64 = 0.9;

/// All rules, in the order of their recommendations. The *preferred run* is the one that is best on
/// the most measures over the queries that all runs have a score for, the first of those that tie. The *headline measure* is the first nDCG, else
/// the first measure for which higher is better and that is no count.
pub static RULES: &[Rule] = &[
    Rule {
        name: "preferred-run",
        summary: "With two runs or more, use the one that is best on more measures than any other, over the queries that all runs have a score for.",
        find: |evaluation, _| preferred_run(evaluation),
    },
    Rule {
        name: "below-target",
        summary: "If a mean of the preferred run is below the lowest target of its measure, raise it.",
        find: |evaluation, _| below_target(evaluation),
    },
    Rule {
        name: "unreachable-target",
        summary: "If a perfect ranking of the preferred run's queries misses a target, change the target or its cutoff.",
        find: |evaluation, _| unreachable_target(evaluation),
    },
    Rule {
        name: "operation-target",
        summary: "If a number of the preferred run's operations, such as its latency, misses the least demanding target on it, lower it.",
        find: operation_target,
    },
    Rule {
        name: "missing-queries",
        summary: "If a run leaves gold queries unanswered, complete it before comparing it.",
        find: |evaluation, _| missing_queries(evaluation),
    },
    Rule {
        name: "better-elsewhere",
        summary: "If the preferred run's mean in the headline measure is below its lowest target on a slice where another run reaches it, learn from the best there; at most three.",
        find: |evaluation, _| better_elsewhere(evaluation),
    },
    Rule {
        name: "hop-limit",
        summary: "If 0.9 or more of a component's results are at most two hops away and some are farther, limit it to two hops.",
        find: |evaluation, _| hop_limit(evaluation),
    },
    Rule {
        name: "small-gold",
        summary: "With fewer than 30 gold queries, judge more before trusting a difference.",
        find: |evaluation, _| small_gold(evaluation),
    },
];

/// Returns the recommendations of all rules, in the order of the rules.
pub fn recommendations(evaluation: &Evaluation, options: &Options<'_>) -> Vec<Recommendation> {
    let conclude = |rule: &Rule| {
        let name = rule.name;
        let found = (rule.find)(evaluation, options).into_iter();
        found.map(move |(advice, because)| Recommendation {
            rule: name,
            advice,
            because,
        })
    };
    RULES.iter().flat_map(conclude).collect()
}

/// Means of the runs in a measure, over the queries that all of them have a score for.
pub(super) struct CommonMeans {
    /// By run.
    pub(super) means: Vec<Option<f64>>,
    /// Number of those queries, if a run has a score for others as well.
    pub(super) part: Option<usize>,
}

impl CommonMeans {
    /// Of a measure, by its position.
    pub(super) fn of(evaluation: &Evaluation, measure: usize) -> Self {
        Self::among(evaluation, &common(evaluation), measure)
    }

    fn among(evaluation: &Evaluation, common: &[Vec<&QueryEvaluation>], measure: usize) -> Self {
        let score = |query: &QueryEvaluation| query.scores.get(measure).copied().flatten();
        let length = common.first().map_or(0, Vec::len);
        let is_common = |row: &usize| common.iter().all(|of| score(of[*row]).is_some());
        let rows: Vec<usize> = (0..length).filter(is_common).collect();
        let is_all = |run: &RunEvaluation| {
            run.queries.iter().filter(|it| score(it).is_some()).count() == rows.len()
        };
        if evaluation.runs.iter().all(is_all) {
            return Self {
                means: evaluation
                    .runs
                    .iter()
                    .map(|run| mean(run, measure))
                    .collect(),
                part: None,
            };
        }
        let means = common.iter().map(|of| {
            let sum: f64 = rows.iter().filter_map(|row| score(of[*row])).sum();
            (!rows.is_empty()).then(|| sum / real_length(rows.len()))
        });
        Self {
            means: means.collect(),
            part: Some(rows.len()),
        }
    }
}

/// Queries of each run that all runs have, in one order.
fn common(evaluation: &Evaluation) -> Vec<Vec<&QueryEvaluation>> {
    let mut known: HashMap<&str, Vec<&QueryEvaluation>> = HashMap::new();
    for run in &evaluation.runs {
        for query in &run.queries {
            known.entry(&query.key).or_default().push(query);
        }
    }
    let runs = evaluation.runs.len();
    let mut common = vec![Vec::new(); runs];
    let first = evaluation.runs.first();
    for query in first.into_iter().flat_map(|run| &run.queries) {
        let of_all = known.get(&*query.key).filter(|it| it.len() == runs);
        for (common, of_run) in common.iter_mut().zip(of_all.into_iter().flatten()) {
            common.push(*of_run);
        }
    }
    common
}

/// Number of measures on which each run is best, and number of measures on which runs differ.
fn wins(evaluation: &Evaluation) -> (Vec<usize>, usize) {
    let mut wins = vec![0; evaluation.runs.len()];
    let mut decided = 0;
    let common = common(evaluation);
    for (measure, name) in evaluation.measures.iter().enumerate() {
        let means = CommonMeans::among(evaluation, &common, measure).means;
        let best = Direction::of(name).best(&means);
        decided += usize::from(!best.is_empty());
        for run in best {
            wins[run] += 1;
        }
    }
    (wins, decided)
}

/// Run that is best on the most measures: the first of those that tie.
pub(super) fn leading(evaluation: &Evaluation) -> Option<(usize, &RunEvaluation)> {
    let (wins, _) = wins(evaluation);
    let best = wins.iter().copied().max()?;
    let position = wins.iter().position(|count| *count == best)?;
    Some((position, evaluation.runs.get(position)?))
}

/// Run that is best on more measures than any other, and the number of these measures and of those on which runs
/// differ. `None` if several tie.
pub(super) fn preferred(evaluation: &Evaluation) -> Option<(usize, [usize; 2])> {
    let (wins, decided) = wins(evaluation);
    let best = wins.iter().copied().max().filter(|best| *best > 0)?;
    let mut positions = (0..wins.len()).filter(|run| wins[*run] == best);
    let position = positions.next()?;
    positions
        .next()
        .is_none()
        .then_some((position, [best, decided]))
}

fn preferred_run(evaluation: &Evaluation) -> Vec<(String, String)> {
    let preferred = preferred(evaluation).filter(|_| evaluation.runs.len() > 1);
    let Some((position, [best, decided])) = preferred else {
        return Vec::new();
    };
    let numbers = headline_of(evaluation).map_or_else(String::new, |measure| {
        let common = CommonMeans::of(evaluation, measure);
        let means = evaluation.runs.iter().zip(&common.means);
        let means = means.map(|(other, mean)| {
            let mean = mean.map_or_else(|| "–".to_owned(), number);
            format!("{} {mean}", name(&other.name))
        });
        let means: Vec<String> = means.collect();
        let part = common.part.map_or_else(String::new, |part| {
            format!(
                ", over the {} of all runs",
                count_of(part, "query", "queries")
            )
        });
        let title = &evaluation.measures[measure];
        format!("; {title}: {}{part}", means.join(", "))
    });
    let because = format!("Best on {best} of {decided} measures{numbers}");
    let run = &evaluation.runs[position];
    vec![(format!("Use {}.", name(&run.name)), because)]
}

fn below_target(evaluation: &Evaluation) -> Vec<(String, String)> {
    let Some((_, run)) = leading(evaluation) else {
        return Vec::new();
    };
    let below = evaluation
        .measures
        .iter()
        .enumerate()
        .filter_map(|(measure, title)| {
            let mean = mean(run, measure)?;
            let lowest = evaluation.lowest_target(measure)?;
            let is_missed = evaluation.tier(run, measure).is_none();
            let is_reachable = evaluation.unreachable(run, lowest).is_none();
            (is_missed && is_reachable).then(|| {
                let verb = if mean < lowest.value {
                    "Raise"
                } else {
                    "Lower"
                };
                (
                    format!("{verb} {title} of {}.", name(&run.name)),
                    format!(
                        "{} is {} {} {} ({})",
                        number(mean),
                        number((lowest.value - mean).abs()),
                        side(mean, lowest),
                        escape_controls(&lowest.tier),
                        lowest.value
                    ),
                )
            })
        });
    below.collect()
}

/// Side of a target on which a mean is that misses it.
fn side(mean: f64, target: &Target) -> &'static str {
    if mean < target.value {
        "below"
    } else {
        "above"
    }
}

fn unreachable_target(evaluation: &Evaluation) -> Vec<(String, String)> {
    let Some((_, run)) = leading(evaluation) else {
        return Vec::new();
    };
    let targets = evaluation.targets.iter();
    let found = targets.filter_map(|target| {
        let perfect = evaluation.unreachable(run, target)?;
        let measure = evaluation.measures.get(target.measure)?;
        let tier = escape_controls(&target.tier);
        Some((
            format!("Change the target {tier} of {measure}, or its cutoff."),
            format!(
                "A perfect ranking has {}, below {}, because of the number of relevant documents",
                number(perfect),
                target.value
            ),
        ))
    });
    found.collect()
}

fn operation_target(evaluation: &Evaluation, options: &Options<'_>) -> Vec<(String, String)> {
    let preferred = leading(evaluation).map(|(_, run)| run);
    let Some((run, operations)) = preferred.and_then(|run| {
        let mut operations = options.operations.iter();
        Some((run, operations.find(|it| it.run == run.name)?))
    }) else {
        return Vec::new();
    };
    // Targets of operations are upper bounds.
    let mut lowest: BTreeMap<&str, &OperationBound> = BTreeMap::new();
    for target in options.operation_targets {
        let known = lowest.entry(&target.number).or_insert(target);
        if target.bound > known.bound {
            *known = target;
        }
    }
    let missed = lowest.into_iter().filter_map(|(title, target)| {
        let value = operations.number(title)?;
        (!target.relation.holds(value, target.bound)).then(|| {
            let tier = target.tier.as_deref().map(escape_controls);
            (
                format!("Lower {} of {}.", escape_controls(title), name(&run.name)),
                format!(
                    "{} is {} above {} ({})",
                    number(value),
                    number(value - target.bound),
                    tier.as_deref().unwrap_or("the target"),
                    target.bound
                ),
            )
        })
    });
    missed.collect()
}

fn missing_queries(evaluation: &Evaluation) -> Vec<(String, String)> {
    let incomplete = evaluation.runs.iter().filter(|run| !run.missing.is_empty());
    incomplete
        .map(|run| {
            (
                format!("Answer all gold queries in {}.", name(&run.name)),
                format!(
                    "{} of {} are missing, and {} count in its means",
                    run.missing.len(),
                    evaluation.gold.queries,
                    run.queries.len()
                ),
            )
        })
        .collect()
}

fn better_elsewhere(evaluation: &Evaluation) -> Vec<(String, String)> {
    let Some(((_, run), measure)) = leading(evaluation).zip(headline_of(evaluation)) else {
        return Vec::new();
    };
    let Some(target) = evaluation.lowest_target(measure) else {
        return Vec::new();
    };
    let title = &evaluation.measures[measure];
    let mean = |value: &SliceValue| value.means.get(measure).copied().flatten();
    let parts = run.by.iter().flat_map(|slice| {
        let values = slice.values.iter();
        values.map(move |value| (slice, value))
    });
    let mut better = Vec::new();
    for (slice, value) in parts {
        let Some(own) = mean(value).filter(|own| !evaluation.is_reached(target, *own)) else {
            continue;
        };
        let rivals = evaluation.runs.iter().filter_map(|rival| {
            let of_rival = rival.by.iter().find(|it| it.name == slice.name)?;
            let same = of_rival.values.iter().find(|it| it.value == value.value)?;
            let mean = mean(same)?;
            evaluation.is_reached(target, mean).then_some((rival, mean))
        });
        // The first of those that tie.
        let strictness = |score: f64| Direction::of(title).strictness(score);
        let best = rivals.rev();
        let best = best.max_by(|a, b| strictness(a.1).total_cmp(&strictness(b.1)));
        let Some((rival, score)) = best else {
            continue;
        };
        let advice = format!(
            "Learn from {} on {} {}.",
            name(&rival.name),
            name(&slice.name),
            name(&value.value)
        );
        let because = format!(
            "{title} is {} there, and {} in {}, {} {} ({}), over {}",
            number(score),
            number(own),
            name(&run.name),
            side(own, target),
            escape_controls(&target.tier),
            target.value,
            count_of(value.queries, "query", "queries")
        );
        better.push((score - own, (advice, because)));
    }
    better.sort_by(|a, b| b.0.total_cmp(&a.0));
    let largest = better.into_iter().take(MAX_SLICES);
    largest.map(|(_, recommendation)| recommendation).collect()
}

fn hop_limit(evaluation: &Evaluation) -> Vec<(String, String)> {
    let Some((_, run)) = leading(evaluation) else {
        return Vec::new();
    };
    let limited = run.components.iter().filter_map(|component| {
        let [one, two, three, four] = component.hops;
        let (near, all) = (one + two, one + two + three + four);
        (near < all && ratio(near, all) >= NEAR).then(|| {
            (
                format!("Limit {} to two hops.", name(&component.name)),
                format!(
                    "{near} of its {all} results in {} are that near ({:.2})",
                    name(&run.name),
                    ratio(near, all)
                ),
            )
        })
    });
    limited.collect()
}

fn small_gold(evaluation: &Evaluation) -> Vec<(String, String)> {
    if evaluation.gold.queries >= MIN_GOLD_QUERIES {
        return Vec::new();
    }
    vec![(
        "Judge more queries.".to_owned(),
        format!(
            "The gold set has {}",
            count_of(evaluation.gold.queries, "query", "queries")
        ),
    )]
}

fn mean(run: &RunEvaluation, measure: usize) -> Option<f64> {
    run.means.get(measure).copied().flatten()
}
