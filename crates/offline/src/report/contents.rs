//! Contents of the document about an evaluation, in order.
//!
//! Sections: gate, runs, overall, tiers, differences, micro averages, slices, ranking, components,
//! routing, collaboration, operations, user behaviour, thresholds, recommendations, errors, queries. This order follows the evaluation plans that the project is based on.
//! A section without data is omitted together with its heading.

use super::document::{Block, Cell, Document, Recommendation, Section, Table, number, shorten};
use super::figures::{self, run_name};
use super::headline::headline;
use super::recommendation::recommendations;
use super::{
    Options, behaviour, changes, checks, errors, micro_averages, operations, ratio, summary, sweep,
};
use crate::evaluate::{Evaluation, OverallTier, RunEvaluation, Slice};
use crate::text_layout::{count_of, escape_controls};
use rankgauge_core::measure::direction::Direction;

/// Maximum number of missing and unknown query keys that are named for each run.
const MAX_NAMED_KEYS: usize = 10;

/// Maximum number of slice values shown: those with the most queries.
const MAX_SLICE_VALUES: usize = 40;

/// Maximum length of keys, labels and texts, in characters.
const NAME: usize = 60;

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
    for slice in slices(evaluation) {
        add(format!("By {}", name(&slice.name)), by(evaluation, slice));
    }
    let ranking = [
        figures::precision_recall(evaluation),
        figures::ndcg(evaluation),
        figures::distribution(evaluation),
    ];
    add(
        "Ranking".to_owned(),
        ranking.into_iter().flatten().collect(),
    );
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
    add("Recommendations".to_owned(), advice(evaluation));
    for section in options.errors.iter().map(errors::section) {
        add(section.heading, section.blocks);
    }
    if let Some(most) = queries {
        add("Queries".to_owned(), per_query(evaluation, most));
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

/// Slices of all runs by name, in the requested order.
fn slices(evaluation: &Evaluation) -> Vec<&Slice> {
    let mut slices: Vec<&Slice> = Vec::new();
    for slice in evaluation.runs.iter().flat_map(|run| &run.by) {
        if slices.iter().all(|known| known.name != slice.name) {
            slices.push(slice);
        }
    }
    slices
}

/// Table with a row for each value and run and a column for each measure, as in the evaluation
/// plans.
fn by(evaluation: &Evaluation, slice: &Slice) -> Vec<Block> {
    let mut values: Vec<(&str, usize)> = Vec::new();
    let of_run = |run| slice_of(run, &slice.name);
    for value in evaluation
        .runs
        .iter()
        .filter_map(of_run)
        .flat_map(|it| &it.values)
    {
        match values.iter_mut().find(|(known, _)| *known == value.value) {
            Some((_, queries)) => *queries = value.queries.max(*queries),
            None => values.push((&value.value, value.queries)),
        }
    }
    let left_out = values.len().saturating_sub(MAX_SLICE_VALUES);
    if left_out > 0 {
        values.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        values.truncate(MAX_SLICE_VALUES);
    }
    values.sort_unstable();
    let several = evaluation.runs.len() > 1;
    let mut rows = Vec::new();
    for (value, _) in &values {
        let found: Vec<_> = evaluation
            .runs
            .iter()
            .filter_map(|run| {
                let part = of_run(run)?.values.iter().find(|it| it.value == *value)?;
                Some((run, part))
            })
            .collect();
        let mut lines: Vec<Vec<Cell>> = found
            .iter()
            .map(|(run, part)| {
                let mut cells = vec![Cell::of(name(value))];
                if several {
                    cells.push(Cell::of(run_name(run)));
                }
                cells.push(Cell::count(part.queries));
                cells
            })
            .collect();
        for (at, measure) in evaluation.measures.iter().enumerate() {
            let means: Vec<_> = found
                .iter()
                .map(|(_, part)| part.means.get(at).copied().flatten())
                .collect();
            let cells = compared(measure, &means).into_iter().zip(&found);
            for (line, (mut cell, (_, part))) in lines.iter_mut().zip(cells) {
                let scored = part.scored.get(at).copied().unwrap_or(0);
                if scored < part.queries && scored > 0 {
                    cell.text = format!("{} ({scored})", cell.text);
                }
                line.push(cell);
            }
        }
        rows.extend(lines);
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![name(&slice.name)];
    if several {
        columns.push("run".to_owned());
    }
    columns.push("queries".to_owned());
    columns.extend(evaluation.measures.iter().cloned());
    let mut blocks: Vec<Block> = Vec::new();
    if several {
        blocks.extend(figures::slices(evaluation, &slice.name, &values));
    }
    blocks.push(Block::Table(Table {
        caption: format!(
            "Means by {}; in parentheses, the queries with a score where some have none",
            name(&slice.name)
        ),
        columns,
        heads: if several { 2 } else { 1 },
        rows,
    }));
    if left_out > 0 {
        blocks.push(Block::Paragraph(format!(
            "The {MAX_SLICE_VALUES} values with the most queries are shown, {left_out} are not."
        )));
    }
    blocks
}

fn slice_of<'a>(run: &'a RunEvaluation, slice: &str) -> Option<&'a Slice> {
    run.by.iter().find(|it| it.name == slice)
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

fn advice(evaluation: &Evaluation) -> Vec<Block> {
    let advice: Vec<Recommendation> = recommendations(evaluation)
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

/// One table for each run. If there are more than `most` queries, only the worst by the headline
/// measure.
fn per_query(evaluation: &Evaluation, most: usize) -> Vec<Block> {
    let mut blocks = Vec::new();
    for run in evaluation.runs.iter().filter(|run| !run.queries.is_empty()) {
        let mut queries: Vec<_> = run.queries.iter().collect();
        let mut which = "Scores of all queries".to_owned();
        if let Some(measure) = headline(&evaluation.measures).filter(|_| queries.len() > most) {
            let direction = Direction::of(&evaluation.measures[measure]);
            queries.sort_by(|a, b| {
                let score = |scores: &[Option<f64>]| scores.get(measure).copied().flatten();
                match (score(&a.scores), score(&b.scores)) {
                    (Some(a), Some(b)) if direction == Direction::Down => b.total_cmp(&a),
                    (Some(a), Some(b)) => a.total_cmp(&b),
                    // A query without a score is not among the worst.
                    (a, b) => b.is_some().cmp(&a.is_some()),
                }
            });
            which = format!(
                "Scores of the {most} worst of {} queries by {}",
                queries.len(),
                evaluation.measures[measure]
            );
        } else if queries.len() > most {
            which = format!("Scores of the first {most} of {} queries", queries.len());
        }
        queries.truncate(most);
        let with_text = queries.iter().any(|query| query.text.is_some());
        let mut columns = vec!["query".to_owned()];
        if with_text {
            columns.push("text".to_owned());
        }
        columns.extend(["retrieved", "relevant", "found"].map(str::to_owned));
        columns.extend(evaluation.measures.iter().cloned());
        let rows = queries.into_iter().map(|query| {
            let answered = if query.answered { "" } else { " (missing)" };
            let mut cells = vec![Cell::of(format!("{}{answered}", name(&query.key)))];
            if with_text {
                cells.push(Cell::of(name(query.text.as_deref().unwrap_or(""))));
            }
            let counts = [query.retrieved, query.relevant, query.relevant_retrieved];
            cells.extend(counts.map(Cell::count));
            cells.extend(query.scores.iter().map(|score| Cell::score(*score)));
            cells
        });
        blocks.push(Block::Table(Table {
            caption: format!("{which}: {}", run_name(run)),
            heads: if with_text { 2 } else { 1 },
            columns,
            rows: rows.collect(),
        }));
    }
    blocks
}

fn mean(run: &RunEvaluation, measure: usize) -> Option<f64> {
    run.means.get(measure).copied().flatten()
}

fn name(text: &str) -> String {
    if text.is_empty() {
        "–".to_owned()
    } else {
        shorten(&escape_controls(text), NAME)
    }
}
