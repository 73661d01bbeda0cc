//! TREC relevance judgements, and the topics beside them.
//!
//! As trec_eval reads them: four columns between white space, the second ignored, lines in any
//! order. Grades may have a fraction. White space is ASCII's: other spaces may be part of an id.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Draft, JudgementDraft, QueryDraft, SourceFile, Topic, lines};
use crate::gold::{Grade, JudgementDetail, Problem};

/// Whether a line looks like a judgement.
pub(super) fn is_judgement(line: &str) -> bool {
    let columns: Vec<&str> = line.split_ascii_whitespace().collect();
    matches!(columns.as_slice(), [_, _, _, grade] if grade.parse::<f64>().is_ok())
}

/// Whether a line looks like a topic, an id and a text with one tab between them.
pub(super) fn is_topic(line: &str) -> bool {
    line.split('\t').count() == 2
}

/// Reads judgements. The queries are in the order of their first lines.
pub(super) fn read_judgements(file: &SourceFile, text: &str, problems: &mut Vec<Problem>) -> Draft {
    let mut queries: Vec<QueryDraft> = Vec::new();
    let mut positions: FxHashMap<&str, usize> = FxHashMap::default();
    for (line, content) in lines(text) {
        let place = || file.place(Some(line));
        let columns: Vec<&str> = content.split_ascii_whitespace().collect();
        let [key, _, document, grade] = columns.as_slice() else {
            problems.push(Problem::QrelsColumns {
                place: place(),
                found: columns.len(),
            });
            continue;
        };
        let Some(grade) = grade.parse().ok().and_then(Grade::new) else {
            problems.push(Problem::QrelsGrade {
                place: place(),
                value: (*grade).to_owned(),
            });
            continue;
        };
        let position = *positions.entry(key).or_insert_with(|| {
            queries.push(QueryDraft {
                place: place(),
                key: (*key).to_owned(),
                text: None,
                aliases: Vec::new(),
                labels: BTreeMap::new(),
                needs: BTreeMap::new(),
                total_relevant: None,
                judgements: Vec::new(),
                expected: BTreeMap::new(),
                required: Vec::new(),
                graph: None,
                texts: Vec::new(),
            });
            queries.len() - 1
        });
        if let Some(query) = queries.get_mut(position) {
            query.judgements.push(JudgementDraft {
                line: Some(line),
                document: (*document).to_owned(),
                grade,
                detail: JudgementDetail::default(),
            });
        }
    }
    draft(file, queries, Vec::new())
}

/// Reads topics.
pub(super) fn read_topics(file: &SourceFile, text: &str, problems: &mut Vec<Problem>) -> Draft {
    let mut topics = Vec::new();
    for (line, content) in lines(text) {
        let place = file.place(Some(line));
        match content.split_once('\t') {
            Some((key, text)) if !key.trim().is_empty() && !text.trim().is_empty() => {
                topics.push(Topic {
                    place,
                    key: key.trim().to_owned(),
                    text: text.trim().to_owned(),
                });
            }
            _ => problems.push(Problem::Topic { place }),
        }
    }
    draft(file, Vec::new(), topics)
}

/// A draft that states nothing about the set.
fn draft(file: &SourceFile, queries: Vec<QueryDraft>, topics: Vec<Topic>) -> Draft {
    let place = file.place(None);
    Draft {
        place,
        version: None,
        relevance_level: None,
        scale_max: None,
        queries,
        topics,
    }
}
