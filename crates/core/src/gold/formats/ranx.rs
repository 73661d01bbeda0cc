//! Parser of the JSON qrels of ranx and pytrec_eval: `{query: {document: grade}}`.
//!
//! Repeated names are kept for validation: a plain JSON parser would silently keep the last.

use super::draft::{Draft, QueryDraft};
use super::json::{LineCounter, Pairs, Rating, Source, each_entry, parse};
use super::judgements::JudgementDraft;
use crate::gold::problem::{Problem, Problems};

/// Parses judgements.
pub(super) fn read(source: &Source<'_>, problems: &mut Problems) -> Draft {
    let Source { file, text } = source;
    let mut draft = Draft::new(file.place(None));
    let mut lines = LineCounter::new(text);
    let whole = each_entry(text, |key, judgements| {
        let line = lines.line_of(judgements);
        match parse::<Pairs<Rating>>(judgements) {
            Ok(pairs) => {
                let mut query = QueryDraft::new(file.place(Some(line)), key);
                let pairs = pairs.0.into_iter();
                query.judgements = pairs
                    .map(|(document, grade)| JudgementDraft::new(document, grade.0))
                    .collect();
                draft.queries.push(query);
            }
            Err(fault) => problems.push(fault.problem(file, line, &key)),
        }
    });
    match whole {
        Err(fault) => problems.push(fault.problem(file, 1, "")),
        Ok(()) if lines.is_at_start() => problems.push(Problem::Empty {
            file: file.name.clone(),
        }),
        Ok(()) => {}
    }
    draft
}
