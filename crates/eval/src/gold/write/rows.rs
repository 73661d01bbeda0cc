//! Writers of the formats with one line per judgement: TREC qrels, BEIR, Quepid.

use std::fmt::Write as _;

use serde::Serialize;

use super::error::WriteError;
use rankgauge_core::gold::{Format, GoldQuery, GoldSet};

/// Reason why a table cannot hold an id.
const OUTER_SPACE: &str = "white space around a field is no part of it";

/// Serialises judgements to TREC qrels.
pub(super) fn qrels(set: &GoldSet) -> Result<String, WriteError> {
    let flaw = |what: &str, id: &str| {
        if id.contains(|c: char| c.is_ascii_whitespace()) {
            Some("white space separates columns")
        } else if what == "query id" && id.starts_with('#') {
            Some("lines that begin with # are comments")
        } else {
            None
        }
    };
    judgements(set, Format::Qrels, " 0 ", ' ', flaw)
}

/// Writes one line per judgement: query id, `after_query`, document id, `before_grade`, grade.
/// `flaw` returns the reason why an id is invalid in such a line.
fn judgements(
    set: &GoldSet,
    format: Format,
    after_query: &str,
    before_grade: char,
    flaw: impl Fn(&str, &str) -> Option<&'static str>,
) -> Result<String, WriteError> {
    let fits = |what, id: &str| {
        let flaw = if id.is_empty() {
            Some("a column cannot be empty")
        } else {
            flaw(what, id)
        };
        flaw.map_or(Ok(()), |reason| {
            Err(WriteError::Id {
                what,
                id: id.to_owned(),
                format,
                reason,
            })
        })
    };
    let mut text = String::new();
    for query in set.queries() {
        fits("query id", &query.key)?;
        for (document, grade) in query.documents() {
            fits("document id", document)?;
            line(
                &mut text,
                format_args!("{}{after_query}{document}{before_grade}{grade}", query.key),
            );
        }
    }
    Ok(text)
}

/// Serialises query texts to the topics file of TREC qrels.
pub(super) fn topics(set: &GoldSet) -> Option<String> {
    let mut topics = String::new();
    for query in set.queries() {
        if let Some(text) = query.text.as_deref() {
            line(
                &mut topics,
                format_args!("{}\t{}", query.key, one_line(text.trim())),
            );
        }
    }
    (!topics.is_empty()).then_some(topics)
}

/// Replaces line and column separators in a text by spaces.
pub(super) fn one_line(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}

/// Serialises judgements to the BEIR tsv.
pub(super) fn beir(set: &GoldSet) -> Result<String, WriteError> {
    let flaw = |_: &str, id: &str| {
        if id.contains(['\t', '\n', '\r']) {
            Some("tabs and line breaks separate columns and lines")
        } else {
            (id.trim() != id).then_some(OUTER_SPACE)
        }
    };
    let rows = judgements(set, Format::Beir, "\t", '\t', flaw)?;
    Ok(format!("query-id\tcorpus-id\tscore\n{rows}"))
}

#[derive(Serialize)]
struct BeirQuery<'a> {
    #[serde(rename = "_id")]
    id: &'a str,
    text: &'a str,
}

/// Serialises query texts to `queries.jsonl` of BEIR.
pub(super) fn beir_queries(set: &GoldSet) -> Result<Option<String>, WriteError> {
    let mut queries = String::new();
    for query in set.queries() {
        if let Some(text) = query.text.as_deref() {
            let id = &query.key;
            queries.push_str(&serde_json::to_string(&BeirQuery { id, text })?);
            queries.push('\n');
        }
    }
    Ok((!queries.is_empty()).then_some(queries))
}

/// Serialises ratings to the CSV of Quepid.
pub(super) fn quepid(named: &[(&str, &GoldQuery)]) -> Result<String, WriteError> {
    let mut rows = csv::Writer::from_writer(Vec::new());
    rows.write_record(["query", "docid", "rating"])?;
    for (name, query) in named {
        for (document, grade) in query.documents() {
            if document.trim() != document {
                return Err(WriteError::Id {
                    what: "document id",
                    id: document.to_owned(),
                    format: Format::Quepid,
                    reason: OUTER_SPACE,
                });
            }
            rows.write_record([name, document, &grade.to_string()])?;
        }
        if query.documents().is_empty() {
            rows.write_record([name, "", ""])?;
        }
    }
    let bytes = rows.into_inner().map_err(csv::IntoInnerError::into_error);
    let bytes = bytes.map_err(csv::Error::from)?;
    // All input is text: the conversion loses nothing.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    writeln!(text, "{content}").expect("invariant: writing to a string does not fail");
}
