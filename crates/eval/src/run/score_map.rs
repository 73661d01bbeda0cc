//! Runs in one object of JSON: `{query: {document: score}}` as of ranx and pytrec_eval, and
//! `{query: [document, …]}` with ids or records in their order.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use rustc_hash::FxHashSet;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_json::{Map, Number, Value};

use super::answer::{Answer, Chosen, Order};
use super::entries::Entries;
use super::error::{RunProblem, Wrong};
use super::table::{Row, answer, id_of, record_row};
use rankgauge_core::columns::Columns;
use rankgauge_core::event::Text;

/// Score of a document: a number, or its text.
struct Score(f64);

impl<'de> Deserialize<'de> for Score {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = Score;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a score: a number, or its text")
            }

            fn visit_f64<E: Error>(self, score: f64) -> Result<Score, E> {
                Ok(Score(score))
            }

            #[allow(
                clippy::cast_precision_loss,
                reason = "a score beyond 2^53 is a float everywhere"
            )]
            fn visit_i64<E: Error>(self, score: i64) -> Result<Score, E> {
                Ok(Score(score as f64))
            }

            #[allow(
                clippy::cast_precision_loss,
                reason = "a score beyond 2^53 is a float everywhere"
            )]
            fn visit_u64<E: Error>(self, score: u64) -> Result<Score, E> {
                Ok(Score(score as f64))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Score, E> {
                let score = text.trim().parse().ok().filter(|it: &f64| !it.is_nan());
                score
                    .map(Score)
                    .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// Results of one query.
enum Documents<'t> {
    /// Documents with their scores.
    Scored(Vec<(Cow<'t, str>, f64)>),
    /// Documents in their order.
    Listed(Vec<Listed>),
}

/// Element of a list of results.
#[derive(serde::Deserialize)]
#[serde(untagged, expecting = "a document: an id, or an object with an id")]
enum Listed {
    Text(String),
    Number(Number),
    Record(Map<String, Value>),
}

impl<'t, 'de: 't> Deserialize<'de> for Documents<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'t>(PhantomData<&'t ()>);

        impl<'t, 'de: 't> Visitor<'de> for Reader<'t> {
            type Value = Documents<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object `{document: score}` or a list of documents")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Text(name), Score(score))) = map.next_entry()? {
                    entries.push((name, score));
                }
                Ok(Documents::Scored(entries))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut listed = Vec::new();
                while let Some(document) = list.next_element()? {
                    listed.push(document);
                }
                Ok(Documents::Listed(listed))
            }
        }

        deserializer.deserialize_any(Reader(PhantomData))
    }
}

/// Response of Elasticsearch or OpenSearch to a search.
#[derive(Deserialize)]
struct SearchResponse {
    #[serde(rename = "hits")]
    _hits: SearchHits,
}

#[derive(Deserialize)]
struct SearchHits {
    #[serde(rename = "hits")]
    _hits: Vec<IgnoredAny>,
}

const SEARCH_RESPONSE: &str = "this is the response to a search, which does not name its query; write a member \
                               for each query, as `jq '{\"QUERY\": [.hits.hits[]._id]}'` does, with the id that the \
                               gold set has";

/// Parses a run. The answers are in the order of the file. By default, documents with scores are judged by
/// score, and lists in their order.
pub(super) fn parse<'t>(
    text: &'t str,
    chosen: Chosen,
    keeps_scores: bool,
    stated: Option<&Columns>,
) -> Result<Vec<(usize, Answer<'t>)>, Wrong> {
    let Entries::<Documents<'_>>(queries) = serde_json::from_str(text).map_err(|error| {
        let line = text.lines().nth(error.line().saturating_sub(1));
        let line = line.unwrap_or_default();
        let mut names = ["NaN", "Infinity"].into_iter();
        let name = names.find(|name| line.contains(name));
        let remedy = name.map_or_else(String::new, |name| {
            format!("; {name} is no number in JSON: write a score, or leave the document out")
        });
        if serde_json::from_str::<SearchResponse>(text).is_ok() {
            return RunProblem::Json(SEARCH_RESPONSE.to_owned()).at(1);
        }
        let problem =
            format!("not a run in JSON, `{{query: {{document: score}}}}`: {error}{remedy}");
        RunProblem::Json(problem).at(error.line())
    })?;
    if queries.is_empty() {
        return Err(RunProblem::Empty.into());
    }
    let mut answered = FxHashSet::default();
    let answers = queries.into_iter().map(|(query, documents)| {
        if !answered.insert(query.clone()) {
            let query = query.into_owned();
            return Err(RunProblem::RepeatedQuery { query, first: 1 }.at(1));
        }
        let row = |document, score| Row {
            line: 1,
            query: Cow::Borrowed(""),
            document,
            rank: None,
            score,
        };
        let (rows, implied): (Vec<Row<'t>>, Order) = match documents {
            Documents::Scored(scored) => {
                let rows = scored.into_iter();
                let rows = rows.map(|(document, score)| row(document, Some(score)));
                (rows.collect(), Order::Score)
            }
            Documents::Listed(listed) => {
                let mut implied = None;
                let rows = listed.into_iter().map(|listed| match listed {
                    Listed::Text(id) => Ok(row(Cow::Owned(id), None)),
                    Listed::Number(id) => {
                        let id = id_of(&id, "document").map_err(|problem| problem.at(1))?;
                        Ok(row(id, None))
                    }
                    Listed::Record(record) => {
                        let (row, order) = record_row(1, &record, stated, Some(&query))?;
                        implied.get_or_insert(order);
                        Ok(row)
                    }
                });
                let rows = rows.collect::<Result<_, Wrong>>()?;
                (rows, implied.unwrap_or(Order::Served))
            }
        };
        Ok((1, answer(query, rows, chosen.or(implied), keeps_scores)?))
    });
    answers.collect()
}
