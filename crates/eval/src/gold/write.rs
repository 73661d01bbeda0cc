//! Serialisation of a gold set to a format, with a list of the data that the format cannot hold.
//!
//! This module returns text and must not know files or streams. `formats` parses the text to the
//! same queries and judgements.

mod error;
mod native;
mod rows;
mod sheet;
mod tools;

use std::collections::BTreeSet;

use rankgauge_core::gold::{Format, GoldQuery, GoldSet};

pub use error::WriteError;
pub use sheet::sheet;

/// Files of a set in one format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Judgements.
    pub judgements: String,
    /// Query texts, if the format has a separate file for them (TREC topics, `queries.jsonl` of
    /// BEIR) and the set has any.
    pub texts: Option<String>,
    /// Data that the format cannot hold, one phrase each.
    pub losses: Vec<String>,
}

/// Serialises `set` to `format`. `index` is the default index of a document in `rank_eval`, for
/// documents without one in the set.
///
/// # Errors
/// The format is read-only, or cannot hold an id.
pub fn write(set: &GoldSet, format: Format, index: &str) -> Result<Written, WriteError> {
    let mut texts = None;
    let judgements = match format {
        Format::Native => native::write(set)?,
        Format::Qrels => {
            texts = rows::topics(set);
            rows::qrels(set)?
        }
        Format::Beir => {
            texts = rows::beir_queries(set)?;
            rows::beir(set)?
        }
        Format::Quepid => {
            let named = queries_named_by_text(set, format)?;
            rows::quepid(&named)?
        }
        Format::Srw => {
            let named = queries_named_by_text(set, format)?;
            tools::srw(&named)?
        }
        Format::RankEval => tools::rank_eval(set, index)?,
        Format::Ranx => tools::ranx(set)?,
        Format::Rag | Format::Plan => return Err(WriteError::ReadOnly { format }),
    };
    Ok(Written {
        judgements,
        texts,
        losses: losses(set, format),
    })
}

/// Queries with their names in formats that identify queries by text: the text, else the id.
fn queries_named_by_text(
    set: &GoldSet,
    format: Format,
) -> Result<Vec<(&str, &GoldQuery)>, WriteError> {
    let mut named: Vec<(&str, &GoldQuery)> = Vec::with_capacity(set.queries().len());
    let mut taken = BTreeSet::new();
    for query in set.queries() {
        let name = query.text.as_deref().unwrap_or(&query.key);
        if !taken.insert(name) {
            let first = named.iter().find(|(other, _)| *other == name);
            return Err(WriteError::SharedName {
                name: name.to_owned(),
                first: first.map_or_else(String::new, |(_, query)| query.key.clone()),
                second: query.key.clone(),
                format,
            });
        }
        named.push((name, query));
    }
    Ok(named)
}

/// Lists the data of `set` that `format` cannot hold.
fn losses(set: &GoldSet, format: Format) -> Vec<String> {
    let mut losses = Vec::new();
    if format == Format::Native {
        return losses;
    }
    let stated = set.metadata();
    let settings = [
        ("version", stated.version.is_some()),
        ("kind", stated.kind.is_some()),
        ("created_at", stated.created_at.is_some()),
        ("relevance_level", stated.relevance_level.is_some()),
        ("scale_max", stated.scale_max.is_some()),
    ];
    let settings = settings.into_iter().filter(|(_, stated)| *stated);
    losses.extend(settings.map(|(name, _)| format!("the set's {name}")));

    let by_text = matches!(format, Format::Quepid | Format::Srw);
    let by_rows = matches!(format, Format::Qrels | Format::Beir);
    let mut queries = |what: &str, lost: &dyn Fn(&GoldQuery) -> bool| {
        let count = set.queries().iter().filter(|query| lost(query)).count();
        if count > 0 {
            let noun = if count == 1 { "query" } else { "queries" };
            losses.push(format!("{what} of {count} {noun}"));
        }
    };
    if by_text {
        queries("the ids (replaced by the texts)", &|q| {
            q.text.as_ref().is_some_and(|text| *text != q.key)
        });
        queries("the missing texts (replaced by the ids)", &|q| {
            q.text.is_none()
        });
    }
    if format == Format::Ranx {
        queries("the texts", &|q| q.text.is_some());
    }
    if format == Format::Qrels {
        queries(
            "tabs, line breaks and outer white space in the texts",
            &|q| {
                let text = q.text.as_deref();
                text.is_some_and(|text| text.trim() != text || rows::one_line(text) != text)
            },
        );
    }
    if format == Format::Quepid {
        queries("outer white space in the names", &|q| {
            let name = q.text.as_deref().unwrap_or(&q.key);
            name.trim() != name
        });
    }
    if by_rows {
        queries("the entries (without judgements)", &|q| {
            q.documents().is_empty()
        });
    }
    queries("the aliases", &|q| !q.aliases.is_empty());
    queries("the labels", &|q| !q.labels.is_empty());
    queries("the needs", &|q| !q.needs.is_empty());
    queries("the expected facets", &|q| !q.expected.is_empty());
    queries("the expected answers", &|q| !q.answer.is_empty());
    queries("the required ids", &|q| !q.required.is_empty());
    queries("the graph", &|q| q.graph.is_some());
    queries("the subtopics", &|q| q.subtopics.is_some());
    queries("the gold texts", &|q| !q.texts.is_empty());
    queries("total_relevant", &|q| q.total_relevant.is_some());

    let details = || set.queries().iter().flat_map(|query| &query.details);
    let held = |facet: &String| format == Format::RankEval && facet == Format::RANK_EVAL_INDEX;
    let counts = [
        (
            "the facets",
            details()
                .filter(|detail| detail.facets.keys().any(|facet| !held(facet)))
                .count(),
        ),
        (
            "the annotators' grades",
            details().filter(|d| !d.annotations.is_empty()).count(),
        ),
        (
            "the notes",
            details().filter(|detail| detail.notes.is_some()).count(),
        ),
    ];
    for (what, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        let noun = if count == 1 {
            "judgement"
        } else {
            "judgements"
        };
        losses.push(format!("{what} of {count} {noun}"));
    }
    losses
}
