//! Contents of the document about an evaluation, in order.
//!
//! Sections: gate, recommendations; the first run against the others, the weakest slices and the largest
//! losses in the headline measure; then an appendix: runs, overall, tiers, differences, micro averages, slices, ranking, components,
//! routing, collaboration, operations, user behaviour, thresholds, errors, cases,
//! queries.
//! This order follows the evaluation plans that the project is based on.
//! A section without data is omitted together with its heading.

mod cells;
mod lead;
mod queries;
mod slices;

use super::document::{Block, Cell, Document, Place, Recommendation, Rows, Section, number};
use super::figures;
use super::names::{long_name as name, run_name};
use super::options::Options;
use super::ratios::{coverage, micro_averages, ratio};
use super::recommendation::{CommonMeans, recommendations};
use super::{behaviour, case, changes, checks, errors, operations, summary, sweep};
use crate::evaluate::{Evaluation, Goal, OverallTier, RunEvaluation};
use crate::text_layout::count_of;
use cells::{compared, mean};
use rankgauge_core::measure::tier;

/// Smallest difference of bounds that is shown.
const SMALLEST_RANGE: f64 = 5e-7;

/// Maximum number of missing and unknown query keys that are named for each run.
const MAX_NAMED_KEYS: usize = 10;

/// Builds the document. `queries` is the maximum number of queries listed for each run, worst
/// first; `None` omits the list.
pub(super) fn document(
    evaluation: &Evaluation,
    options: &Options<'_>,
    queries: Option<usize>,
) -> Document {
    let gold = &evaluation.gold;
    let names: Vec<String> = evaluation.runs.iter().map(run_name).collect();
    let mut sections = Vec::new();
    let mut add = |heading: String, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            let place = match heading.as_str() {
                "Gate" | "Recommendations" => Place::Action,
                "Against the first run" | "Weakest slices" | "Largest losses" => Place::Main,
                _ => Place::Appendix,
            };
            sections.push(Section::new(heading, blocks).at(place));
        }
    };
    add("Gate".to_owned(), checks::blocks(options.checks));
    add(
        "Against the first run".to_owned(),
        lead::forest(evaluation, options.changes)
            .into_iter()
            .collect(),
    );
    add(
        "Weakest slices".to_owned(),
        lead::weakest_slices(evaluation).into_iter().collect(),
    );
    add(
        "Largest losses".to_owned(),
        lead::losses(evaluation).into_iter().collect(),
    );
    add("Runs".to_owned(), runs(evaluation));
    add("Overall".to_owned(), overall(evaluation));
    add("Tiers reached".to_owned(), tiers(evaluation));
    add("Differences".to_owned(), differences(evaluation, options));
    add(
        "Micro averages".to_owned(),
        micro(evaluation).into_iter().collect(),
    );
    for slice in slices::of(evaluation) {
        add(
            format!("By {}", name(&slice.name)),
            slices::blocks(evaluation, slice),
        );
    }
    let ranking = [
        figures::precision_recall(evaluation),
        figures::ndcg(evaluation),
        figures::distribution(evaluation),
    ];
    let mut ranking: Vec<Block> = ranking.into_iter().flatten().collect();
    ranking.extend(figures::planes(evaluation));
    add("Ranking".to_owned(), ranking);
    let mut components: Vec<Block> = triggers(evaluation).into_iter().collect();
    components.extend(figures::hops(evaluation));
    add("Components".to_owned(), components);
    add("Routing".to_owned(), figures::routing(evaluation));
    add(
        "Collaboration".to_owned(),
        figures::collaboration(evaluation),
    );
    add(
        "Operations".to_owned(),
        operations::blocks(evaluation, options.operations),
    );
    add(
        "User behaviour".to_owned(),
        behaviour::blocks(options.behaviour),
    );
    add("Score threshold".to_owned(), sweep::blocks(options.sweeps));
    add("Recommendations".to_owned(), advice(evaluation, options));
    for section in options.errors.iter().map(errors::section) {
        add(section.heading, section.blocks);
    }
    for case in case::cases(evaluation, options.operations, options.cases) {
        let section = case::section(&case);
        add(section.heading, section.blocks);
    }
    if let Some(most) = queries {
        add(
            "Queries".to_owned(),
            queries::tables(evaluation, options.operations, most),
        );
    }
    Document {
        title: format!("Evaluation of {}", names.join(", ")),
        verdict: summary::verdict(evaluation, options),
        cards: summary::cards(evaluation, options),
        lead: vec![format!(
            "Judged against gold set {} (SHA-256 {}): {}, {}. Scores against different gold sets are \
             not comparable.",
            name(&gold.version),
            name(gold.sha256.get(..16).unwrap_or(&gold.sha256)),
            count_of(gold.queries, "query", "queries"),
            count_of(gold.judgements, "judgement", "judgements"),
        )],
        sections,
    }
    .in_order()
}

fn runs(evaluation: &Evaluation) -> Vec<Block> {
    let counts = Rows::of(&evaluation.runs)
        .column("run", |run| run_name(run))
        .column("queries", |run| run.queries.len())
        .column("missing", |run| run.missing.len())
        .column("unknown", |run| run.unknown.len())
        .column("coverage", |run| coverage(run))
        .column("retrieved", |run| run.retrieved)
        .column("relevant", |run| run.relevant)
        .column("found", |run| run.relevant_retrieved);
    let mut blocks = vec![Block::Table(counts.table(
        "Counted, missing and unknown queries, and the share of answered queries that the gold set has; \
         results retrieved, relevant documents, and how many of them were found",
        1,
    ))];
    for run in &evaluation.runs {
        if run.not_eligible > 0 {
            blocks.push(Block::Paragraph(format!(
                "Not judged in {}: {} on a further page, with filters, in another order than relevance, \
                 or excluded by gold.judge_when.",
                run_name(run),
                count_of(run.not_eligible, "search", "searches"),
            )));
        }
        let kinds = [
            ("Gold queries missing from", &run.missing),
            ("Queries unknown to the gold set in", &run.unknown),
        ];
        for (what, keys) in kinds.into_iter().filter(|(_, keys)| !keys.is_empty()) {
            let named: Vec<String> = keys
                .iter()
                .take(MAX_NAMED_KEYS)
                .map(|key| name(key))
                .collect();
            let rest = keys.len() - named.len();
            let more = if rest > 0 {
                format!(" and {rest} more")
            } else {
                String::new()
            };
            let text = format!("{what} {}: {}{more}.", run_name(run), named.join(", "));
            blocks.push(Block::Paragraph(text));
        }
    }
    blocks
}

fn overall(evaluation: &Evaluation) -> Vec<Block> {
    if evaluation.measures.is_empty() {
        return Vec::new();
    }
    let compared = |at: usize| {
        let means: Vec<_> = evaluation.runs.iter().map(|run| mean(run, at)).collect();
        // The best one is that of the queries of all runs.
        let common = CommonMeans::of(evaluation, at).means;
        compared(&evaluation.measures[at], &means, &common)
    };
    let scored = |at: usize| {
        let runs = evaluation.runs.iter();
        let mut scored: Vec<usize> = runs.filter_map(|run| run.scored.get(at).copied()).collect();
        // One number if all runs agree.
        scored.dedup();
        let scored: Vec<String> = scored.iter().map(ToString::to_string).collect();
        scored.join(", ")
    };
    let measures = evaluation.measures.iter().enumerate();
    let means = Rows::of(measures.map(|(at, measure)| (at, measure, compared(at))))
        .column("measure", |(_, measure, _)| (*measure).clone())
        .columns(
            evaluation.runs.iter().enumerate(),
            |(_, run)| run_name(run),
            |(_, _, cells), (run, _)| cells[*run].clone(),
        )
        .column("queries", |(at, ..)| scored(*at));
    let caption = "Means, and the number of queries with a score";
    let mut blocks = vec![Block::Table(means.table(caption, 1))];
    blocks.extend(ranges(evaluation));
    blocks
}

/// Table of the lowest and highest means over the grades of the unjudged results; `None` if they do not
/// differ.
fn ranges(evaluation: &Evaluation) -> Option<Block> {
    let bounds = |run: &RunEvaluation, at: usize| run.bounds.get(at).copied().flatten();
    let is_open = |(at, _): &(usize, &String)| {
        let mut bounds = evaluation.runs.iter().filter_map(|run| bounds(run, *at));
        bounds.any(|[low, high]| high - low > SMALLEST_RANGE)
    };
    let measures = evaluation.measures.iter().enumerate().filter(is_open);
    let columns = evaluation
        .runs
        .iter()
        .flat_map(|run| [(run, "low"), (run, "high")]);
    Rows::of(measures)
        .column("measure", |(_, measure)| (*measure).clone())
        .columns(
            columns,
            |(run, end)| format!("{} {end}", run_name(run)),
            |(at, _), (run, end)| {
                let bounds = bounds(run, *at);
                Cell::from(bounds.map(|[low, high]| if *end == "low" { low } else { high }))
            },
        )
        .block(
            "Lowest and highest means over all grades that unjudged results could have, if no relevant \
             document is missing",
            1,
        )
}

fn tiers(evaluation: &Evaluation) -> Vec<Block> {
    let listed = |at: usize| {
        let mut targets: Vec<_> = evaluation.targets_of(at).collect();
        targets.sort_by(|a, b| b.value.total_cmp(&a.value));
        let targets = targets.iter();
        let targets: Vec<String> = targets
            .map(|it| format!("{} {}", name(&it.tier), it.value))
            .collect();
        targets.join(", ")
    };
    let reached = |at: usize, run| match (mean(run, at), evaluation.tier(run, at)) {
        (None, _) => "no score".to_owned(),
        (Some(mean), Some(target)) => {
            let mark = evaluation.mark(target);
            format!("{mark} {} ({})", name(&target.tier), number(mean))
        }
        (Some(mean), None) => format!("{} none ({})", tier::mark(None), number(mean)),
    };
    let measures = evaluation.measures.iter().enumerate();
    let measures = measures.filter(|(at, _)| evaluation.targets_of(*at).next().is_some());
    let tiers = Rows::of(measures)
        .column("measure", |(_, measure)| (*measure).clone())
        .column("targets", |(at, _)| listed(*at))
        .columns(
            &evaluation.runs,
            |run| run_name(run),
            |(at, _), run| reached(*at, run),
        );
    let mut blocks = Vec::new();
    blocks.extend(overall_tiers(evaluation));
    blocks.extend(tiers.block("The best tier that each mean reaches", 1));
    blocks.extend(goals(evaluation));
    blocks
}

/// Overall tier of each run in one sentence.
fn overall_tiers(evaluation: &Evaluation) -> Option<Block> {
    let tiers = evaluation.runs.iter().map(|run| {
        let tier = match evaluation.overall_tier(run)? {
            OverallTier::Reached(tier) => name(tier),
            OverallTier::Below => "none".to_owned(),
        };
        Some(format!("{} {tier}", run_name(run)))
    });
    let tiers = tiers.collect::<Option<Vec<String>>>()?;
    let measures = evaluation.tier_measures.iter();
    let measures: Vec<&str> = measures
        .filter_map(|measure| evaluation.measures.get(*measure))
        .map(String::as_str)
        .collect();
    Some(Block::Paragraph(format!(
        "Overall tier, the best one that {} all reach: {}.",
        measures.join(", "),
        tiers.join("; ")
    )))
}

/// Table of the goals.
fn goals(evaluation: &Evaluation) -> Option<Block> {
    let bounds = |goal: &Goal| {
        let bounds = goal.bounds.iter().map(|bound| evaluation.bound_text(bound));
        bounds.collect::<Vec<String>>().join(", ")
    };
    Rows::of(&evaluation.goals)
        .column("goal", |goal| name(&goal.name))
        .column("bounds", |goal| bounds(goal))
        .columns(
            &evaluation.runs,
            |run| run_name(run),
            |goal, run| {
                let met = evaluation.is_met(goal, run);
                Cell::of(if met { "met" } else { "not met" })
            },
        )
        .block("Goals whose bounds a run has to meet together", 1)
}

/// Differences of the runs from the first one: tests by measure, then the queries in the headline
/// measure.
fn differences(evaluation: &Evaluation, options: &Options<'_>) -> Vec<Block> {
    let mut blocks = changes::blocks(options.changes, &evaluation.measures);
    blocks.extend(figures::changes(evaluation));
    blocks
}

fn micro(evaluation: &Evaluation) -> Option<Block> {
    let runs = evaluation.runs.iter();
    let rows = runs.flat_map(|run| run.micro.iter().map(move |micro| (run, micro)));
    Rows::of(rows.map(|(run, micro)| (run, micro, micro_averages(micro))))
        .column("run", |(run, ..)| run_name(run))
        .column("cutoff", |(_, micro, _)| format!("@{}", micro.cutoff))
        .column("P", |(.., averages)| averages[0].1)
        .column("R", |(.., averages)| averages[1].1)
        .column("F1", |(.., averages)| averages[2].1)
        .column("TP", |(_, micro, _)| micro.true_positives)
        .column("FP", |(_, micro, _)| micro.false_positives)
        .column("FN", |(_, micro, _)| micro.false_negatives)
        .block("All queries' results taken together", 2)
}

/// Table of component triggers: how accurately each component fired where it was needed.
fn triggers(evaluation: &Evaluation) -> Option<Block> {
    let runs = evaluation.runs.iter();
    let rows = runs.flat_map(|run| run.components.iter().map(move |of| (run, of)));
    let rows = rows.map(|(run, of)| {
        let [[silent, unneeded], [missed, fired]] = of.trigger;
        (run, of, [fired, unneeded, missed, silent])
    });
    let rows = rows.filter(|(.., counts)| counts.iter().any(|count| *count > 0));
    let share = |part, whole| (whole > 0).then(|| ratio(part, whole));
    Rows::of(rows)
        .column("run", |(run, ..)| run_name(run))
        .column("component", |(_, of, _)| name(&of.name))
        .column("accuracy", |(.., [tp, fp, fn_, tn])| {
            share(tp + tn, tp + fp + fn_ + tn)
        })
        .column("precision", |(.., [tp, fp, ..])| share(*tp, tp + fp))
        .column("recall", |(.., [tp, _, fn_, _])| share(*tp, tp + fn_))
        .column("TP", |(.., [tp, ..])| *tp)
        .column("FP", |(.., [_, fp, ..])| *fp)
        .column("FN", |(.., [_, _, fn_, _])| *fn_)
        .column("TN", |(.., [.., tn])| *tn)
        .block(
            "Triggers: searches in which a component fired (P) by whether it was needed (T)",
            2,
        )
}

fn advice(evaluation: &Evaluation, options: &Options<'_>) -> Vec<Block> {
    let advice: Vec<Recommendation> = recommendations(evaluation, options)
        .into_iter()
        .map(|it| Recommendation {
            action: it.advice,
            because: it.because,
            rule: it.rule.to_owned(),
        })
        .collect();
    if advice.is_empty() {
        Vec::new()
    } else {
        vec![Block::Recommendation(advice)]
    }
}
