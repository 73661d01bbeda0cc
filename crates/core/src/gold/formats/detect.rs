//! What a file is: as somebody stated, else as its content looks.
//!
//! It looks at names of fields and numbers of columns, never at ids or grades, and complains only
//! where nothing fits: what is wrong within a format is for that format to say.

use super::json::{Fault, Source, each_element, each_entry};
use super::{Format, beir, lines, qrels, quepid};
use crate::gold::Problem;
use crate::gold::problem::Problems;

/// What is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Native,
    Rag,
    Plan,
    Qrels,
    Topics,
    Beir,
    BeirQueries,
    Quepid,
    Srw,
    RankEval,
    Ranx,
}

/// What `source` is read as; `None` after a problem.
pub(super) fn content(
    source: &Source<'_>,
    format: Option<Format>,
    problems: &mut Problems,
) -> Option<Content> {
    let Some((line, first)) = lines(source.text).next() else {
        problems.push(Problem::Empty {
            file: source.file.name.clone(),
        });
        return None;
    };
    let is_topics = source.file.is_tsv() && qrels::is_topic(first);
    let content = match format {
        Some(Format::Native) => Some(Content::Native),
        Some(Format::Rag) => Some(Content::Rag),
        Some(Format::Plan) => Some(Content::Plan),
        Some(Format::Qrels) if is_topics => Some(Content::Topics),
        Some(Format::Qrels) => Some(Content::Qrels),
        Some(Format::Beir) if first.trim_start().starts_with('{') => Some(Content::BeirQueries),
        Some(Format::Beir) => Some(Content::Beir),
        Some(Format::Quepid) => Some(Content::Quepid),
        Some(Format::Srw) => Some(Content::Srw),
        Some(Format::RankEval) => Some(Content::RankEval),
        Some(Format::Ranx) => Some(Content::Ranx),
        None => match first.trim_start().as_bytes() {
            [b'{', ..] if beir::is_query(first) => Some(Content::BeirQueries),
            [b'{', ..] => Some(of_object(source.text)),
            [b'[', ..] => match of_list(source.text) {
                Ok(content) => content,
                Err(fault) => {
                    problems.push(fault.problem(source.file, 1, ""));
                    return None;
                }
            },
            _ if beir::is_header(first) => Some(Content::Beir),
            _ if quepid::is_header(first) => Some(Content::Quepid),
            _ if is_topics => Some(Content::Topics),
            _ if qrels::is_judgement(first) => Some(Content::Qrels),
            _ => None,
        },
    };
    if content.is_none() {
        problems.push(Problem::UnrecognisedFormat {
            place: source.file.place(Some(line)),
        });
    }
    content
}

/// A JSON object that is no format's is taken for the native one, which says what it lacks.
fn of_object(text: &str) -> Content {
    let mut named = None;
    let (mut entries, mut objects) = (0_usize, 0_usize);
    let whole = each_entry(text, |name, value| {
        entries += 1;
        objects += usize::from(value.starts_with('{'));
        if !value.starts_with('{') {
            named = named.or(by_name(&name));
        }
    });
    match named {
        Some(content) => content,
        // Its queries' ids are its names: whatever they are, grades by document stand behind them.
        None if whole.is_ok() && entries > 0 && entries == objects => Content::Ranx,
        None => Content::Native,
    }
}

/// The formats that are lists of queries, by the first field that only one of them has.
fn of_list(text: &str) -> Result<Option<Content>, Fault> {
    let mut found = None;
    each_element(text, |element| {
        if found.is_none() && element.starts_with('{') {
            let fields = each_entry(element, |name, _| {
                let list = [Content::Rag, Content::Plan];
                found = found.or(by_name(&name).filter(|content| list.contains(content)));
            });
            // An element was found to be well-formed before it was handed on.
            drop(fields);
        }
    })?;
    Ok(found)
}

/// The format that has a field of this name, unless that is an object.
fn by_name(name: &str) -> Option<Content> {
    match name {
        "queries" => Some(Content::Native),
        "judgmentRatings" => Some(Content::Srw),
        "requests" => Some(Content::RankEval),
        "relevant_articles" => Some(Content::Plan),
        "relevant_chunk_ids" | "highly_relevant_chunk_ids" | "irrelevant_chunk_ids" => {
            Some(Content::Rag)
        }
        _ => None,
    }
}
