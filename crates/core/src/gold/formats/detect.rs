//! Detection of the format of a file from its content, unless a format is configured.
//!
//! Detection uses field names and column counts, never ids or grades. It reports a problem only if
//! no format matches. The parser of the format reports all other problems.

use serde_json::value::RawValue;

use super::format::Format;
use super::json::{JsonError, Source, each_element, each_entry};
use super::lines::lines;
use super::{beir, graded, ltr, qrels};
use crate::gold::problem::{Problem, Problems};
use crate::gold::set::Options;

/// Kind of content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Native,
    Rag,
    Plan,
    Qrels,
    /// `prels` of the Million Query track.
    Prels,
    /// Features for learning to rank.
    Ltr,
    Topics,
    Beir,
    BeirQueries,
    /// Table with a header.
    Graded,
    /// Table of query texts.
    Texts,
    QuepidBook,
    QuepidCase,
    Rre,
    Srw,
    RankEval,
    Ranx,
}

impl Content {
    /// Place of the grades, for messages.
    pub(super) fn grades(self) -> &'static str {
        match self {
            Self::Native => "`ground_truth`",
            Self::Rag => "`relevant_chunk_ids`",
            Self::Plan => "`relevant_articles`",
            Self::Qrels | Self::Prels | Self::Ltr | Self::Topics => "lines of the query",
            Self::Beir | Self::BeirQueries => "lines of `query-id corpus-id score`",
            Self::Graded | Self::Texts => "the column of grades",
            Self::QuepidBook => "`judgements`",
            Self::QuepidCase | Self::Srw | Self::RankEval => "`ratings`",
            Self::Rre => "`relevant_documents`",
            Self::Ranx => "`{query: {document: grade}}`",
        }
    }
}

/// Returns the kind of content of `source`; `None` after a problem.
pub(super) fn content(
    source: &Source<'_>,
    options: &Options,
    problems: &mut Problems,
) -> Option<Content> {
    let Some((line, first)) = lines(source.text).next() else {
        problems.push(Problem::Empty {
            file: source.file.name.clone(),
        });
        return None;
    };
    let format = options.format;
    if format.is_none_or(|format| format == Format::Quepid) && is_separator_line(first) {
        problems.push(Problem::SeparatorLine {
            place: source.file.place(Some(line)),
            line: first.trim().to_owned(),
        });
        return None;
    }
    let is_topics = source.file.is_tsv() && qrels::is_topic(first);
    let content = match format {
        // Columns are those of tables.
        _ if options.columns.is_some() && !first.trim_start().starts_with(['{', '[']) => {
            Some(Content::Graded)
        }
        Some(Format::Native) => Some(Content::Native),
        Some(Format::Rag) => Some(Content::Rag),
        Some(Format::Plan) => Some(Content::Plan),
        Some(Format::Qrels) if is_topics => Some(Content::Topics),
        Some(Format::Qrels) if qrels::is_prels(first) => Some(Content::Prels),
        Some(Format::Qrels) => Some(Content::Qrels),
        Some(Format::Beir) if first.trim_start().starts_with('{') => Some(Content::BeirQueries),
        Some(Format::Beir) => Some(Content::Beir),
        Some(Format::Quepid) => Some(match of_object(source.text) {
            Some(content @ (Content::QuepidBook | Content::QuepidCase)) => content,
            _ => Content::Graded,
        }),
        Some(Format::Srw) => Some(Content::Srw),
        Some(Format::RankEval) => Some(Content::RankEval),
        Some(Format::Ranx) => Some(Content::Ranx),
        None => match first.trim_start().as_bytes() {
            [b'{', ..] if beir::is_query(first) => Some(Content::BeirQueries),
            [b'{', ..] => of_object(source.text),
            [b'[', ..] => match of_list(source.text) {
                Ok(content) => content,
                Err(fault) => {
                    problems.push(fault.problem(source.file, 1, ""));
                    return None;
                }
            },
            _ if beir::is_header(first) => Some(Content::Beir),
            _ if graded::is_header(first) => Some(Content::Graded),
            _ if graded::is_header_of_texts(first) => Some(Content::Texts),
            _ if ltr::is_judgement(first) => Some(Content::Ltr),
            _ if is_topics => Some(Content::Topics),
            _ if qrels::is_prels(first) => Some(Content::Prels),
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

/// Returns true for the line `sep=,` by which Excel names the separator.
fn is_separator_line(line: &str) -> bool {
    let rest = line.trim().trim_matches('"').strip_prefix("sep=");
    rest.is_some_and(|separator| separator.chars().count() <= 1)
}

/// Detects the format of a JSON object; `None` for valid JSON of another form. The parser of the native
/// format reports where JSON is not valid.
fn of_object(text: &str) -> Option<Content> {
    let (mut named, mut queries) = (None, "");
    let mut is_response = false;
    let (mut entries, mut objects) = (0_usize, 0_usize);
    let whole = each_entry(text, |name, value| {
        entries += 1;
        objects += usize::from(value.starts_with('{'));
        if !value.starts_with('{') {
            if name == "queries" {
                queries = value;
            }
            named = named.or(by_name(&name));
        } else if matches!(&*name, "hits" | "_source") {
            is_response |= value.contains("\"judgmentRatings\"");
        }
    });
    match named {
        Some(Content::Native) => Some(of_queries(queries)),
        Some(content) => Some(content),
        // The names of the object are arbitrary query ids, and the values are grades by document.
        None if whole.is_ok() && entries > 0 && entries == objects => Some(Content::Ranx),
        None if whole.is_ok() && is_response => Some(Content::Srw),
        None if whole.is_ok() || each_line_is_an_object(text) => None,
        None => Some(Content::Native),
    }
}

/// Format of an object with this list of queries, by the fields of the first one.
fn of_queries(list: &str) -> Content {
    let mut content = Content::Native;
    let elements = list.strip_prefix('[').unwrap_or_default();
    let mut elements = serde_json::Deserializer::from_str(elements).into_iter::<&RawValue>();
    if let Some(Ok(first)) = elements.next()
        && first.get().starts_with('{')
    {
        let fields = each_entry(first.get(), |name, _| match &*name {
            "ratings" => content = Content::QuepidCase,
            "relevant_documents" => content = Content::Rre,
            _ => {}
        });
        // The parser of the format reports what is wrong.
        drop(fields);
    }
    content
}

/// Returns true if the text has several lines of which the first two are whole objects.
fn each_line_is_an_object(text: &str) -> bool {
    let is_object = |line: &str| line.starts_with('{') && each_entry(line, |_, _| {}).is_ok();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.next().is_some_and(is_object) && lines.next().is_some_and(is_object)
}

/// Detects the format of a JSON list of queries by the first field that belongs to one format only.
fn of_list(text: &str) -> Result<Option<Content>, JsonError> {
    let mut found = None;
    each_element(text, |element| {
        if found.is_none() && element.starts_with('{') {
            let fields = each_entry(element, |name, _| {
                let list = [Content::Rag, Content::Plan];
                found = found.or(by_name(&name).filter(|content| list.contains(content)));
            });
            // The element is well-formed: `each_element` has parsed it.
            drop(fields);
        }
    })?;
    Ok(found)
}

/// Returns the format that has a field of this name whose value is not an object.
fn by_name(name: &str) -> Option<Content> {
    match name {
        "queries" => Some(Content::Native),
        "query_doc_pairs" => Some(Content::QuepidBook),
        "topics" | "query_groups" => Some(Content::Rre),
        "judgmentRatings" => Some(Content::Srw),
        "requests" => Some(Content::RankEval),
        "relevant_articles" => Some(Content::Plan),
        "relevant_chunk_ids" | "highly_relevant_chunk_ids" | "irrelevant_chunk_ids" => {
            Some(Content::Rag)
        }
        _ => None,
    }
}
