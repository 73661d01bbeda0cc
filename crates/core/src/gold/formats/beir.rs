//! Parser of the BEIR layout: judgements in a tsv with a header, query texts in `queries.jsonl`.
//!
//! ```text
//! query-id<tab>corpus-id<tab>score
//! q1<tab>법률:제17조::chunk0<tab>2
//! ```
//! `queries.jsonl` has one line `{"_id": "q1", "text": "17조 검색"}` per query. It is in the same
//! folder or, if the judgements are in the folder `qrels`, in the parent folder. It holds the
//! queries of all splits: a text without judgements does not belong to the set.

use serde::Deserialize;

use super::draft::{Draft, SourceFile, Topic};
use super::json::{StringOrInteger, parse};
use super::lines::numbered;
use super::rows::Rows;
use crate::gold::judgements::Grade;
use crate::gold::problem::{Problem, Problems};

/// Column names.
const HEADER: [&str; 3] = ["query-id", "corpus-id", "score"];

/// Returns true if a line is the header of judgements.
pub(super) fn is_header(line: &str) -> bool {
    line.split_ascii_whitespace().eq(HEADER)
}

/// Returns true if a line has the form of a line of `queries.jsonl`.
pub(super) fn is_query(line: &str) -> bool {
    parse::<BeirQuery>(line).is_ok()
}

#[derive(Deserialize)]
struct BeirQuery {
    #[serde(rename = "_id")]
    id: StringOrInteger,
    text: String,
}

/// Iterates over the non-blank lines with their numbers.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    numbered(text).filter(|(_, line)| !line.trim().is_empty())
}

/// Parses judgements. The queries are in the order of their first lines.
pub(super) fn read_judgements(file: &SourceFile, text: &str, problems: &mut Problems) -> Draft {
    let before = problems.count();
    let mut judged = Rows::default();
    for (position, (line, content)) in rows(text).enumerate() {
        if position == 0 && is_header(content) {
            continue;
        }
        let mut columns = content.split('\t').map(str::trim);
        let three = (
            columns.next(),
            columns.next(),
            columns.next(),
            columns.next(),
        );
        let (Some(key), Some(document), Some(score), None) = three else {
            problems.push(Problem::Columns {
                place: file.place(Some(line)),
                found: content.split('\t').count(),
                expected: "BEIR's judgements have three, `query-id corpus-id score`, separated by \
                           tabs",
            });
            continue;
        };
        match score.parse().ok().and_then(Grade::new) {
            Some(grade) => judged.judge(key, line, document, grade),
            None => problems.push(file.grade_problem(line, score)),
        }
    }
    if judged.is_empty() && problems.count() == before {
        problems.push(Problem::OnlyHeader {
            file: file.name.clone(),
            header: HEADER.join(" "),
        });
    }
    judged.into_draft(file)
}

/// Parses query texts.
pub(super) fn read_queries(file: &SourceFile, text: &str, problems: &mut Problems) -> Draft {
    let mut draft = Draft::new(file.place(None));
    for (line, content) in rows(text) {
        match parse::<BeirQuery>(content) {
            Ok(query) => draft.topics.push(Topic {
                place: file.place(Some(line)),
                key: query.id.0,
                text: query.text,
            }),
            Err(fault) => problems.push(fault.problem(file, line, "")),
        }
    }
    draft
}
