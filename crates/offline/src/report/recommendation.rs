//! Recommendations derived from the numbers of an evaluation by explicit rules.
//!
//! [`RULES`] is the complete list. A rule uses numbers only and cites them. It is independent of
//! the meaning of a component or a domain. `docs/reports.md` repeats the rules, and a test compares
//! them.

use super::document::{number, shorten};
use super::headline::headline;
use super::{ratio, tier};
use crate::evaluate::{Evaluation, RunEvaluation, Slice, SliceValue};
use crate::text_layout::escape_controls;
use rankgauge_core::measure::direction::Direction;

/// Recommended action with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub says: &'static str,
    find: fn(&Evaluation) -> Vec<(String, String)>,
}

/// Minimum number of queries for a conclusion about a slice.
const SLICE_QUERIES: usize = 5;
/// Minimum difference of a slice's mean for a recommendation.
const SLICE_GAP: f64 = 0.1;
/// Maximum number of slices in the recommendations of a rule: those with the largest gap.
const SLICES: usize = 3;
/// Minimum number of gold queries for a reliable conclusion.
const GOLD_QUERIES: usize = 30;
/// Recall from which retrieval is considered sufficient.
const FOUND: f64 = 0.8;
/// nDCG below which the order of the results is considered too poor.
const ORDERED: f64 = 0.7;
/// Share of judged results below which means are considered a lower bound.
const JUDGED: f64 = 0.8;
/// Minimum precision and recall expected of a component's trigger.
const TRIGGER: f64 = 0.8;
/// Minimum share of searches routed to the expected domain.
const ROUTING: f64 = 0.7;
/// Share of near results from which far results are considered not worth their cost.
const NEAR: f64 = 0.9;

/// All rules, in the order of their recommendations. The *preferred run* is the one that is best on
/// the most measures, the first of those that tie. The *headline measure* is the first nDCG, else
/// the first measure for which higher is better.
pub static RULES: &[Rule] = &[
    Rule {
        name: "preferred-run",
        says: "With two runs or more, use the one that is best on the most measures.",
        find: preferred_run,
    },
    Rule {
        name: "below-target",
        says: "If a mean of the preferred run is below the lowest target of its measure, raise it.",
        find: below_target,
    },
    Rule {
        name: "missing-queries",
        says: "If a run leaves gold queries unanswered, complete it before comparing it.",
        find: missing_queries,
    },
    Rule {
        name: "weak-slice",
        says: "If the preferred run's mean in the headline measure is worse by 0.1 or more on a slice of at least 5 queries than overall, examine that slice; at most three.",
        find: weak_slice,
    },
    Rule {
        name: "better-elsewhere",
        says: "If another run is better than the preferred one by 0.1 or more on a slice of at least 5 queries, learn from it there; at most three.",
        find: better_elsewhere,
    },
    Rule {
        name: "found-but-low",
        says: "If the preferred run's recall at the deepest requested cutoff is at least 0.8 and its headline nDCG is below 0.7, improve the order of results before improving recall.",
        find: found_but_low,
    },
    Rule {
        name: "unjudged-results",
        says: "If less than 0.8 of the preferred run's first results are judged (Judged), judge more: its means are a lower bound.",
        find: unjudged_results,
    },
    Rule {
        name: "trigger",
        says: "If the trigger of a component of the preferred run has a precision or a recall below 0.8, tune it.",
        find: trigger,
    },
    Rule {
        name: "hop-limit",
        says: "If 0.9 or more of a component's results are at most two hops away and some are farther, limit it to two hops.",
        find: hop_limit,
    },
    Rule {
        name: "routing",
        says: "If less than 0.7 of the preferred run's searches reach the expected domain, work on the pair that is confused most often.",
        find: routing,
    },
    Rule {
        name: "small-gold",
        says: "With fewer than 30 gold queries, judge more before trusting a difference.",
        find: small_gold,
    },
];

/// Returns the recommendations of all rules, in the order of the rules.
pub fn recommendations(evaluation: &Evaluation) -> Vec<Recommendation> {
    let conclude = |rule: &Rule| {
        let name = rule.name;
        let found = (rule.find)(evaluation).into_iter();
        found.map(move |(advice, because)| Recommendation {
            rule: name,
            advice,
            because,
        })
    };
    RULES.iter().flat_map(conclude).collect()
}

/// Number of measures on which each run is best, and number of measures on which runs differ.
fn wins(evaluation: &Evaluation) -> (Vec<usize>, usize) {
    let mut wins = vec![0; evaluation.runs.len()];
    let mut decided = 0;
    for (measure, name) in evaluation.measures.iter().enumerate() {
        let means: Vec<_> = evaluation
            .runs
            .iter()
            .map(|run| run.means.get(measure).copied().flatten())
            .collect();
        let best = Direction::of(name).best(&means);
        decided += usize::from(!best.is_empty());
        for run in best {
            wins[run] += 1;
        }
    }
    (wins, decided)
}

fn preferred(evaluation: &Evaluation) -> Option<(usize, &RunEvaluation)> {
    let (wins, _) = wins(evaluation);
    let best = wins.iter().copied().max()?;
    let position = wins.iter().position(|count| *count == best)?;
    Some((position, evaluation.runs.get(position)?))
}

fn preferred_run(evaluation: &Evaluation) -> Vec<(String, String)> {
    let (wins, decided) = wins(evaluation);
    let Some((position, run)) = preferred(evaluation) else {
        return Vec::new();
    };
    if evaluation.runs.len() < 2 || decided == 0 {
        return Vec::new();
    }
    let numbers = headline(&evaluation.measures).map_or_else(String::new, |measure| {
        let means = evaluation.runs.iter().map(|other| {
            let mean = mean(other, measure).map_or_else(|| "–".to_owned(), number);
            format!("{} {mean}", name(&other.name))
        });
        let means: Vec<String> = means.collect();
        format!("; {}: {}", evaluation.measures[measure], means.join(", "))
    });
    let because = format!("Best on {} of {decided} measures{numbers}", wins[position]);
    vec![(format!("Use {}.", name(&run.name)), because)]
}

fn below_target(evaluation: &Evaluation) -> Vec<(String, String)> {
    let Some((_, run)) = preferred(evaluation) else {
        return Vec::new();
    };
    let below = evaluation
        .measures
        .iter()
        .enumerate()
        .filter_map(|(measure, title)| {
            let mean = mean(run, measure)?;
            let targets = evaluation.targets.iter().filter(|it| it.measure == measure);
            let lowest = targets.min_by(|a, b| a.value.total_cmp(&b.value))?;
            tier(evaluation, run, measure).is_none().then(|| {
                (
                    format!("Raise {title} of {}.", name(&run.name)),
                    format!(
                        "{} is {} below {} ({})",
                        number(mean),
                        number(lowest.value - mean),
                        escape_controls(&lowest.tier),
                        lowest.value
                    ),
                )
            })
        });
    below.collect()
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

fn weak_slice(evaluation: &Evaluation) -> Vec<(String, String)> {
    let Some(((_, run), measure)) = preferred(evaluation).zip(headline(&evaluation.measures))
    else {
        return Vec::new();
    };
    let (Some(whole), title) = (mean(run, measure), &evaluation.measures[measure]) else {
        return Vec::new();
    };
    let mut weak: Vec<(f64, String, String)> = parts(run)
        .filter_map(|(slice, value)| {
            let part = value.means.get(measure).copied().flatten()?;
            let gap = worse_by(title, part, whole);
            (gap >= SLICE_GAP).then(|| {
                (
                    gap,
                    format!("Look at {}.", part_name(slice, value)),
                    format!(
                        "{title} of {} is {} there and {} overall ({} queries)",
                        name(&run.name),
                        number(part),
                        number(whole),
                        value.queries
                    ),
                )
            })
        })
        .collect();
    largest(&mut weak)
}

fn better_elsewhere(evaluation: &Evaluation) -> Vec<(String, String)> {
    let Some(((position, run), measure)) =
        preferred(evaluation).zip(headline(&evaluation.measures))
    else {
        return Vec::new();
    };
    let title = &evaluation.measures[measure];
    let mut better = Vec::new();
    for (slice, value) in parts(run) {
        let Some(own) = value.means.get(measure).copied().flatten() else {
            continue;
        };
        let others = evaluation
            .runs
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != position);
        let rivals = others.filter_map(|(_, other)| {
            let (_, same) =
                parts(other).find(|(its, it)| its.name == slice.name && it.value == value.value)?;
            let score = same.means.get(measure).copied().flatten()?;
            Some((worse_by(title, own, score), other, score))
        });
        let Some((gap, rival, score)) = rivals.max_by(|a, b| a.0.total_cmp(&b.0)) else {
            continue;
        };
        if gap >= SLICE_GAP {
            better.push((
                gap,
                format!(
                    "Learn from {} on {}.",
                    name(&rival.name),
                    part_name(slice, value)
                ),
                format!(
                    "{title} is {} there, and {} in {} ({} queries)",
                    number(score),
                    number(own),
                    name(&run.name),
                    value.queries
                ),
            ));
        }
    }
    largest(&mut better)
}

fn found_but_low(evaluation: &Evaluation) -> Vec<(String, String)> {
    let Some(((_, run), measure)) = preferred(evaluation).zip(headline(&evaluation.measures))
    else {
        return Vec::new();
    };
    let title = &evaluation.measures[measure];
    let recalls = evaluation.measures.iter().enumerate();
    let deepest = recalls
        .filter_map(|(recall, title)| {
            let cutoff: u32 = title.strip_prefix("R@")?.parse().ok()?;
            Some((cutoff, mean(run, recall)?))
        })
        .max_by_key(|(cutoff, _)| *cutoff);
    let (Some((cutoff, recall)), Some(order)) = (deepest, mean(run, measure)) else {
        return Vec::new();
    };
    if !title.starts_with("nDCG") || recall < FOUND || order >= ORDERED {
        return Vec::new();
    }
    vec![(
        format!("Work on the order of results in {}.", name(&run.name)),
        format!(
            "R@{cutoff} is {} and {title} {}",
            number(recall),
            number(order)
        ),
    )]
}

fn unjudged_results(evaluation: &Evaluation) -> Vec<(String, String)> {
    let Some((_, run)) = preferred(evaluation) else {
        return Vec::new();
    };
    let judged = evaluation
        .measures
        .iter()
        .enumerate()
        .filter_map(|(measure, title)| {
            let mean = mean(run, measure)?;
            (title.starts_with("Judged@") && mean < JUDGED).then(|| {
                (
                    format!("Judge more of what {} returns.", name(&run.name)),
                    format!(
                        "{title} is {}; what is not judged counts as not relevant",
                        number(mean)
                    ),
                )
            })
        });
    judged.take(1).collect()
}

fn trigger(evaluation: &Evaluation) -> Vec<(String, String)> {
    let Some((_, run)) = preferred(evaluation) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for component in &run.components {
        let [[_, unneeded], [silent, fired]] = component.trigger;
        let (component, run) = (name(&component.name), name(&run.name));
        if fired + unneeded > 0 && ratio(fired, fired + unneeded) < TRIGGER {
            found.push((
                format!("Let {component} fire less often in {run}."),
                format!(
                    "{fired} of the {} searches in which it fired needed it ({:.2})",
                    fired + unneeded,
                    ratio(fired, fired + unneeded)
                ),
            ));
        }
        if fired + silent > 0 && ratio(fired, fired + silent) < TRIGGER {
            found.push((
                format!("Let {component} fire more often in {run}."),
                format!(
                    "It fired in {fired} of the {} searches that needed it ({:.2})",
                    fired + silent,
                    ratio(fired, fired + silent)
                ),
            ));
        }
    }
    found
}

fn hop_limit(evaluation: &Evaluation) -> Vec<(String, String)> {
    let Some((_, run)) = preferred(evaluation) else {
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

fn routing(evaluation: &Evaluation) -> Vec<(String, String)> {
    let Some((_, run)) = preferred(evaluation) else {
        return Vec::new();
    };
    let all: u64 = run.routing.values().sum();
    let wrong = || {
        run.routing
            .iter()
            .filter(|((expected, selected), _)| expected != selected)
    };
    let missed: u64 = wrong().map(|(_, searches)| searches).sum();
    // The first of those that tie.
    let worst = wrong().rev().max_by_key(|(_, searches)| **searches);
    let Some(((expected, selected), searches)) = worst else {
        return Vec::new();
    };
    if ratio(all - missed, all) >= ROUTING {
        return Vec::new();
    }
    vec![(
        format!(
            "Tell {} from {} in routing.",
            name(expected),
            name(selected)
        ),
        format!(
            "{} of {all} searches of {} reach the expected domain ({:.2}), and {searches} of {} go \
             to {} instead",
            all - missed,
            name(&run.name),
            ratio(all - missed, all),
            name(expected),
            name(selected)
        ),
    )]
}

fn small_gold(evaluation: &Evaluation) -> Vec<(String, String)> {
    if evaluation.gold.queries >= GOLD_QUERIES {
        return Vec::new();
    }
    vec![(
        "Judge more queries.".to_owned(),
        format!("The gold set has {}", evaluation.gold.queries),
    )]
}

fn mean(run: &RunEvaluation, measure: usize) -> Option<f64> {
    run.means.get(measure).copied().flatten()
}

/// Slice values of a run that have enough queries for a conclusion.
fn parts(run: &RunEvaluation) -> impl Iterator<Item = (&Slice, &SliceValue)> {
    let parts = run
        .by
        .iter()
        .flat_map(|slice| slice.values.iter().map(move |value| (slice, value)));
    parts.filter(|(_, value)| value.queries >= SLICE_QUERIES)
}

/// Difference by which `score` is worse than `other`; negative if it is better.
fn worse_by(measure: &str, score: f64, other: f64) -> f64 {
    match Direction::of(measure) {
        Direction::Up => other - score,
        Direction::Down => score - other,
        Direction::Neither => 0.0,
    }
}

/// Returns the recommendations with the largest gaps; of those that tie, the first ones.
fn largest(found: &mut Vec<(f64, String, String)>) -> Vec<(String, String)> {
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(SLICES);
    found
        .drain(..)
        .map(|(_, advice, because)| (advice, because))
        .collect()
}

fn name(text: &str) -> String {
    shorten(&escape_controls(text), 40)
}

fn part_name(slice: &Slice, value: &SliceValue) -> String {
    format!("{} {}", name(&slice.name), name(&value.value))
}
