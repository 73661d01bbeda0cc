//! Case study of one query: every run side by side, and the rank of each relevant document in each
//! run.

use serde::Serialize;

use super::document::{Block, Cell, Rows, Section};
use super::members::Members;
use super::names::long_name as name;
use crate::evaluate::{Evaluation, QueryAnswer, QueryCitation};
use crate::operations::Operations;
use rankgauge_core::gold::Grade;

/// Case study of one query.
#[derive(Serialize)]
pub(super) struct Case<'a> {
    pub(super) query: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    pub(super) runs: Vec<CaseRun<'a>>,
    pub(super) documents: Vec<CaseDocument<'a>>,
}

#[derive(Serialize)]
pub(super) struct CaseRun<'a> {
    pub(super) run: &'a str,
    pub(super) retrieved: u64,
    relevant: u64,
    pub(super) found: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latency_ms: Option<f64>,
    scores: Members<&'a str, Option<f64>>,
    /// Answer that a model gave from the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<&'a QueryAnswer>,
    /// Documents of the results, in judged order.
    #[serde(skip)]
    retrieved_documents: &'a [String],
}

impl CaseRun<'_> {
    /// Rank of a cited document in this run.
    pub(super) fn rank(&self, cited: &QueryCitation) -> Option<usize> {
        let mut retrieved = self.retrieved_documents.iter();
        Some(retrieved.position(|id| *id == cited.id)? + 1)
    }
}

/// Relevant document of a case.
#[derive(Serialize)]
pub(super) struct CaseDocument<'a> {
    pub(super) id: &'a str,
    /// Rank in each run of the case, in their order; `None` if the run does not have it.
    pub(super) ranks: Vec<Option<usize>>,
}

/// Case studies of these queries. A query that no run counts is left out.
pub(super) fn cases<'a>(
    evaluation: &'a Evaluation,
    operations: &[Operations],
    queries: &'a [String],
) -> Vec<Case<'a>> {
    let cases = queries.iter().filter_map(|key| {
        let runs = evaluation.runs.iter();
        let found: Vec<_> = runs
            .filter_map(|run| {
                let query = run.queries.iter().find(|query| query.key == *key)?;
                Some((run, query))
            })
            .collect();
        let (_, first) = found.first()?;
        let relevant = first.documents.as_ref().map(|of| of.relevant.as_slice());
        let documents = relevant.unwrap_or_default().iter().map(|id| CaseDocument {
            id,
            ranks: found
                .iter()
                .map(|(_, query)| {
                    let retrieved = &query.documents.as_ref()?.retrieved;
                    retrieved
                        .iter()
                        .position(|other| other == id)
                        .map(|at| at + 1)
                })
                .collect(),
        });
        Some(Case {
            query: key,
            text: found.iter().find_map(|(_, query)| query.text.as_deref()),
            documents: documents.collect(),
            runs: found
                .iter()
                .map(|(run, query)| {
                    let of_run = operations.iter().find(|of| of.run == run.name);
                    let names = evaluation.measures.iter().map(String::as_str);
                    let documents = query.documents.as_ref();
                    let retrieved = documents.map(|it| it.retrieved.as_slice());
                    CaseRun {
                        run: &run.name,
                        retrieved: query.retrieved,
                        relevant: query.relevant,
                        found: query.relevant_retrieved,
                        latency_ms: of_run.and_then(|of| of.queries.get(key)?.latency_ms),
                        scores: Members(names.zip(query.scores.iter().copied()).collect()),
                        answer: documents.and_then(|it| it.answer.as_ref()),
                        retrieved_documents: retrieved.unwrap_or_default(),
                    }
                })
                .collect(),
        })
    });
    cases.collect()
}

/// Section about a case.
pub(super) fn section(case: &Case<'_>) -> Section {
    let mut blocks = Vec::new();
    if let Some(text) = case.text {
        blocks.push(Block::Paragraph(name(text)));
    }
    blocks.push(runs(case));
    blocks.extend(documents(case));
    blocks.extend(citations(case));
    Section::new(format!("Case {}", name(case.query)), blocks)
}

fn runs(case: &Case<'_>) -> Block {
    let with_answers = case.runs.iter().any(|run| run.answer.is_some());
    let with_latency = case.runs.iter().any(|run| run.latency_ms.is_some());
    let measures = case.runs.first().map(|run| run.scores.0.as_slice());
    let measures = measures.unwrap_or_default().iter().enumerate();
    let runs = Rows::of(&case.runs)
        .column("run", |run| name(run.run))
        .column("retrieved", |run| run.retrieved)
        .column("found", |run| format!("{} of {}", run.found, run.relevant))
        .column_if(with_latency, "latency in ms", |run| {
            Cell::optional(run.latency_ms, |latency| format!("{latency:.0}"))
        })
        .column_if(with_answers, "answer", |run| {
            Cell::words(answer(run.answer))
        })
        .columns(
            measures,
            |(_, (measure, _))| *measure,
            |run, (at, _)| run.scores.0[*at].1,
        );
    Block::Table(runs.table(format!("Runs on the query {}", name(case.query)), 1))
}

fn documents(case: &Case<'_>) -> Option<Block> {
    Rows::of(&case.documents)
        .column("document", |document| name(document.id))
        .columns(
            case.runs.iter().enumerate(),
            |(_, run)| name(run.run),
            |document, (run, _)| Cell::optional(document.ranks[*run], |rank| rank.to_string()),
        )
        .block(
            format!(
                "Ranks of the relevant documents of {}, highest grade first",
                name(case.query)
            ),
            1,
        )
}

/// Answer of a run in a few words.
fn answer(of: Option<&QueryAnswer>) -> String {
    match of {
        None => "–".to_owned(),
        Some(of) if of.refused => "refused".to_owned(),
        Some(of) => {
            let cited = of.citations.len();
            let wrong = of.citations.iter().filter(|it| !it.served).count();
            match wrong {
                0 => format!("{cited} cited"),
                wrong => format!("{cited} cited, {wrong} not retrieved"),
            }
        }
    }
}

/// Documents that the answers cite, with their grades, and their ranks in each run that cites them.
fn citations(case: &Case<'_>) -> Option<Block> {
    let of_runs = case.runs.iter().filter_map(|run| run.answer);
    let mut cited: Vec<(&str, Option<Grade>)> = Vec::new();
    for citation in of_runs.flat_map(|answer| &answer.citations) {
        match cited.iter_mut().find(|(id, _)| *id == citation.id) {
            Some((_, grade)) => *grade = grade.or(citation.grade),
            None => cited.push((&citation.id, citation.grade)),
        }
    }
    Rows::of(cited)
        .column("cited document", |(id, _)| name(id))
        .column("grade", |(_, grade)| {
            let judged = grade.map(|grade| grade.to_string());
            Cell::words(judged.unwrap_or_else(|| "not judged".to_owned()))
        })
        .columns(
            case.runs.iter(),
            |run| name(run.run),
            |(id, _), run| {
                let mut citations = run.answer.iter().flat_map(|answer| &answer.citations);
                Cell::words(match citations.find(|citation| citation.id == *id) {
                    None => "–".to_owned(),
                    Some(citation) if !citation.served => "not retrieved".to_owned(),
                    Some(citation) => run
                        .rank(citation)
                        .map_or_else(|| "retrieved".to_owned(), |rank| format!("rank {rank}")),
                })
            },
        )
        .block(
            format!(
                "Documents that the answers to {} cite, by grade and place in the ranking",
                name(case.query)
            ),
            1,
        )
}
