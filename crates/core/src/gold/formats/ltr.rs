//! Parser of judgements in files of features for learning to rank: RankLib, LETOR, the plugins of
//! Elasticsearch and OpenSearch, Quepid.
//!
//! ```text
//! # qid:1: rambo
//! 4 qid:1 1:12.3 2:9.8 # 7555 rambo
//! 2 qid:10 1:0.03 # docid = GX000-00-0000000 inc = 1 prob = 0.02
//! ```
//!
//! The document is in the comment: without one, a line names no document.

use rustc_hash::FxHashMap;

use super::draft::{Draft, SourceFile, Topic};
use super::lines::numbered;
use super::rows::Rows;
use crate::gold::judgements::Grade;
use crate::gold::problem::{Problem, Problems};

/// Returns true if a line has the form of a judgement, by its second column.
pub(super) fn is_judgement(line: &str) -> bool {
    let query = line.split_ascii_whitespace().nth(1);
    query.is_some_and(|query| query.starts_with("qid:"))
}

/// Parses judgements and the texts of queries.
pub(super) fn read(file: &SourceFile, text: &str, problems: &mut Problems) -> Draft {
    let mut rows = Rows::default();
    let mut texts: FxHashMap<&str, (usize, &str)> = FxHashMap::default();
    for (line, content) in numbered(text) {
        let content = content.trim();
        if let Some(comment) = content.strip_prefix('#') {
            if let Some((key, text)) = text_of_query(comment) {
                texts.entry(key).or_insert((line, text));
            }
            continue;
        }
        if content.is_empty() {
            continue;
        }
        let (features, comment) = content.split_once('#').unwrap_or((content, ""));
        let mut columns = features.split_ascii_whitespace();
        let (grade, query) = (columns.next().unwrap_or_default(), columns.next());
        let key = query.and_then(|query| query.strip_prefix("qid:"));
        let Some(key) = key.filter(|key| !key.is_empty()) else {
            problems.push(Problem::Columns {
                place: file.place(Some(line)),
                found: features.split_ascii_whitespace().count(),
                expected: "a file of features has `grade qid:query feature:value … # document`",
            });
            continue;
        };
        let Some(document) = document_of(comment) else {
            problems.push(file.row_problem(
                line,
                "no document: write its id in a comment, `# document`, or give TREC qrels \
                 (`query 0 document grade`)",
            ));
            continue;
        };
        match grade.parse().ok().and_then(Grade::new) {
            Some(grade) => rows.judge(key, line, document, grade),
            None => problems.push(file.grade_problem(line, grade)),
        }
    }
    let mut draft = rows.into_draft(file);
    for query in &draft.queries {
        if let Some((line, text)) = texts.get(&*query.key) {
            draft.topics.push(Topic {
                place: file.place(Some(*line)),
                key: query.key.clone(),
                text: (*text).to_owned(),
            });
        }
    }
    draft
}

/// Query and text of a comment `qid:1: rambo*1`, in which `*1` is a weight.
fn text_of_query(comment: &str) -> Option<(&str, &str)> {
    let (key, text) = comment.trim().strip_prefix("qid:")?.split_once(':')?;
    let text = match text.rsplit_once('*') {
        Some((text, weight)) if weight.trim().parse::<f64>().is_ok() => text,
        _ => text,
    };
    let (key, text) = (key.trim(), text.trim());
    (!key.is_empty() && !text.is_empty()).then_some((key, text))
}

/// Document of a comment `7555 rambo` or `docid = GX000 inc = 1`.
fn document_of(comment: &str) -> Option<&str> {
    let mut words = comment
        .split_ascii_whitespace()
        .skip_while(|word| *word == "docid" || *word == "=");
    let word = words.next()?;
    let word = word.strip_prefix("docid=").unwrap_or(word);
    (!word.is_empty()).then_some(word)
}
