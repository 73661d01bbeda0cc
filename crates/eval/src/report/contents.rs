//! Contents of the document about an evaluation, in order.
//!
//! Sections: gate, runs, overall, tiers, differences, micro averages, slices, ranking, components,
//! routing, collaboration, operations, user behaviour, thresholds, recommendations, errors, cases,
//! queries.
//! This order follows the evaluation plans that the project is based on.
//! A section without data is omitted together with its heading.

mod queries;
mod slices;

use super::document::{Block, Cell, Document, Recommendation, Section, Table, number};
use super::figures::{self, run_name};
use super::names::long_name as name;
use super::recommendation::recommendations;
use super::{
    Options, behaviour, case, changes, checks, errors, micro_averages, operations, ratio, summary,
    sweep,
};
use crate::evaluate::{Evaluation, OverallTier, RunEvaluation};
use crate::text_layout::count_of;
use rankgauge_core::measure::direction::Direction;

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
            sections.push(Section {
                is_action: ["Gate", "Recommendations"].contains(&heading.as_str()),
                heading,
                blocks,
            });
        }
    };
    add("Gate".to_owned(), checks::blocks(options.checks));
    add("Runs".to_owned(), runs(evaluation));
    add("Overall".to_owned(), overall(evaluation));
    add("Tiers reached".to_owned(), tiers(evaluation));
    add("Differences".to_owned(), differences(evaluation, options));
    add("Micro averages".to_owned(), micro(evaluation));
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
}

fn runs(evaluation: &Evaluation) -> Vec<Block> {
    let columns = [
        "run",
        "queries",
        "missing",
        "unknown",
        "retrieved",
        "relevant",
        "found",
    ];
    let rows = evaluation.runs.iter().map(|run| {
        vec![
            Cell::of(run_name(run)),
            Cell::count(run.queries.len()),
            Cell::count(run.missing.len()),
            Cell::count(run.unknown.len()),
            Cell::count(run.retrieved),
            Cell::count(run.relevant),
            Cell::count(run.relevant_retrieved),
        ]
    });
    let mut blocks = vec![Block::Table(Table {
        caption: "Counted, missing and unknown queries; results retrieved, relevant documents, \
                  and how many of them were found"
            .to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        heads: 1,
        rows: rows.collect(),
    })];
    for run in &evaluation.runs {
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

/// One cell for each run, with the best ones marked.
fn compared(measure: &str, scores: &[Option<f64>]) -> Vec<Cell> {
    let best = Direction::of(measure).best(scores);
    let cells = scores.iter().enumerate();
    cells
        .map(|(run, score)| Cell {
            best: best.contains(&run),
            ..Cell::score(*score)
        })
        .collect()
}

fn overall(evaluation: &Evaluation) -> Vec<Block> {
    if evaluation.measures.is_empty() {
        return Vec::new();
    }
    let mut columns = vec!["measure".to_owned()];
    columns.extend(evaluation.runs.iter().map(run_name));
    columns.push("queries".to_owned());
    let rows = evaluation.measures.iter().enumerate().map(|(at, measure)| {
        let means: Vec<_> = evaluation.runs.iter().map(|run| mean(run, at)).collect();
        let mut cells = vec![Cell::of(measure)];
        cells.extend(compared(measure, &means));
        let mut scored: Vec<usize> = evaluation
            .runs
            .iter()
            .filter_map(|run| run.scored.get(at).copied())
            .collect();
        // One number if all runs agree.
        scored.dedup();
        let scored: Vec<String> = scored.iter().map(ToString::to_string).collect();
        cells.push(Cell::of(scored.join(", ")));
        cells
    });
    vec![Block::Table(Table {
        caption: "Means, and the number of queries with a score".to_owned(),
        columns,
        heads: 1,
        rows: rows.collect(),
    })]
}

fn tiers(evaluation: &Evaluation) -> Vec<Block> {
    let mut columns = vec!["measure".to_owned(), "targets".to_owned()];
    columns.extend(evaluation.runs.iter().map(run_name));
    let mut rows = Vec::new();
    for (at, measure) in evaluation.measures.iter().enumerate() {
        let mut targets: Vec<_> = evaluation.targets_of(at).collect();
        targets.sort_by(|a, b| b.value.total_cmp(&a.value));
        if targets.is_empty() {
            continue;
        }
        let listed = targets
            .iter()
            .map(|it| format!("{} {}", name(&it.tier), it.value));
        let listed: Vec<String> = listed.collect();
        let mut cells = vec![Cell::of(measure), Cell::of(listed.join(", "))];
        cells.extend(evaluation.runs.iter().map(|run| {
            let reached = match (mean(run, at), evaluation.tier(run, at)) {
                (None, _) => "no score".to_owned(),
                (Some(mean), Some(target)) => format!("{} ({})", name(&target.tier), number(mean)),
                (Some(mean), None) => format!("none ({})", number(mean)),
            };
            Cell::of(reached)
        }));
        rows.push(cells);
    }
    let mut blocks = Vec::new();
    blocks.extend(overall_tiers(evaluation));
    if !rows.is_empty() {
        blocks.push(Block::Table(Table {
            caption: "The best tier that each mean reaches".to_owned(),
            columns: columns.clone(),
            heads: 1,
            rows,
        }));
    }
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
    let mut columns = vec!["goal".to_owned(), "bounds".to_owned()];
    columns.extend(evaluation.runs.iter().map(run_name));
    let rows: Vec<Vec<Cell>> = evaluation
        .goals
        .iter()
        .map(|goal| {
            let bounds = goal.bounds.iter().map(|bound| evaluation.bound_text(bound));
            let bounds: Vec<String> = bounds.collect();
            let mut cells = vec![Cell::of(name(&goal.name)), Cell::of(bounds.join(", "))];
            cells.extend(evaluation.runs.iter().map(|run| {
                let met = evaluation.is_met(goal, run);
                Cell::of(if met { "met" } else { "not met" })
            }));
            cells
        })
        .collect();
    (!rows.is_empty()).then(|| {
        Block::Table(Table {
            caption: "Goals whose bounds a run has to meet together".to_owned(),
            columns,
            heads: 1,
            rows,
        })
    })
}

/// Differences of the runs from the first one: tests by measure, then the queries in the headline
/// measure.
fn differences(evaluation: &Evaluation, options: &Options<'_>) -> Vec<Block> {
    let mut blocks = changes::blocks(options.changes);
    blocks.extend(figures::changes(evaluation));
    blocks
}

fn micro(evaluation: &Evaluation) -> Vec<Block> {
    let rows = evaluation.runs.iter().flat_map(|run| {
        run.micro.iter().map(|micro| {
            let mut cells = vec![
                Cell::of(run_name(run)),
                Cell::of(format!("@{}", micro.cutoff)),
            ];
            cells.extend(micro_averages(micro).map(|(_, average)| Cell::score(average)));
            let counts = [
                micro.true_positives,
                micro.false_positives,
                micro.false_negatives,
            ];
            cells.extend(counts.map(Cell::count));
            cells
        })
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = ["run", "cutoff", "P", "R", "F1", "TP", "FP", "FN"];
    vec![Block::Table(Table {
        caption: "All queries' results taken together".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        heads: 2,
        rows,
    })]
}

/// Table of component triggers: how accurately each component fired where it was needed.
fn triggers(evaluation: &Evaluation) -> Option<Block> {
    let mut rows = Vec::new();
    for run in &evaluation.runs {
        for component in &run.components {
            let [[rightly_silent, unneeded], [silent, fired]] = component.trigger;
            let all = rightly_silent + unneeded + silent + fired;
            if all == 0 {
                continue;
            }
            let share = |part, whole| (whole > 0).then(|| ratio(part, whole));
            let mut cells = vec![
                Cell::of(run_name(run)),
                Cell::of(name(&component.name)),
                Cell::score(share(fired + rightly_silent, all)),
                Cell::score(share(fired, fired + unneeded)),
                Cell::score(share(fired, fired + silent)),
            ];
            cells.extend([fired, unneeded, silent, rightly_silent].map(Cell::count));
            rows.push(cells);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let columns = [
        "run",
        "component",
        "accuracy",
        "precision",
        "recall",
        "TP",
        "FP",
        "FN",
        "TN",
    ];
    Some(Block::Table(Table {
        caption: "Triggers: searches in which a component fired (P) by whether it was needed (T)"
            .to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        heads: 2,
        rows,
    }))
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

fn mean(run: &RunEvaluation, measure: usize) -> Option<f64> {
    run.means.get(measure).copied().flatten()
}
