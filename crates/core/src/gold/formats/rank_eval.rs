//! Parser of requests of the ranking evaluation API of Elasticsearch.
//!
//! ```json
//! {"requests": [{"id": "Q001", "request": {"query": {"match": {"text": "17조 검색"}}},
//!   "ratings": [{"_index": "laws", "_id": "법률_제17조", "rating": 3}]}]}
//! ```
//!
//! The document id is `_id`; `_index` is kept as a facet. The query text is taken from the request
//! if it is unambiguous.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::draft::{Draft, QueryDraft};
use super::format::Format;
use super::json::{LineCounter, Rating, Source, StringOrInteger, each_object, parse};
use super::judgements::JudgementDraft;
use crate::gold::problem::{Place, Problem, Problems};
use crate::gold::query::JudgementDetail;

#[derive(Deserialize)]
struct Evaluation<'a> {
    #[serde(borrow)]
    requests: &'a RawValue,
}

#[derive(Deserialize)]
struct Request {
    id: StringOrInteger,
    #[serde(rename = "request")]
    search: Option<Value>,
    params: Option<Value>,
    ratings: Vec<RequestRating>,
}

#[derive(Deserialize)]
struct RequestRating {
    #[serde(rename = "_index")]
    index: Option<String>,
    #[serde(rename = "_id")]
    document: StringOrInteger,
    rating: Rating,
}

/// Parses judgements. `None` if there is no list of requests.
pub(super) fn read(source: &Source<'_>, problems: &mut Problems) -> Option<Draft> {
    let Source { file, text } = source;
    let evaluation: Evaluation<'_> = match parse(text) {
        Ok(evaluation) => evaluation,
        Err(fault) => {
            problems.push(fault.problem(file, 1, ""));
            return None;
        }
    };
    let mut draft = Draft::new(file.place(None));
    let list = evaluation.requests.get();
    let found = each_object(
        source,
        &mut LineCounter::new(text),
        list,
        "requests",
        "a request, which is an object with `id` and `ratings`",
        problems,
        |line, text| {
            let request: Request = parse(text)?;
            draft
                .queries
                .push(request.into_draft(file.place(Some(line))));
            Ok(())
        },
    );
    if found == 0 && list.starts_with('[') {
        problems.push(Problem::NoQueries {
            file: file.name.clone(),
            list: "requests",
        });
    }
    Some(draft)
}

impl Request {
    fn into_draft(self, place: Place) -> QueryDraft {
        let text = match (&self.search, &self.params) {
            (Some(search), _) => search.get("query").and_then(text_of_query),
            // Templated request: its only string parameter is the query text.
            (None, Some(Value::Object(params))) => only(params.values().filter_map(Value::as_str)),
            (None, _) => None,
        };
        let ratings = self.ratings.into_iter().map(|rating| {
            let facets = rating
                .index
                .map(|index| (Format::RANK_EVAL_INDEX.to_owned(), index));
            JudgementDraft::new(rating.document.0, rating.rating.0).with_detail(JudgementDetail {
                facets: BTreeMap::from_iter(facets),
                ..JudgementDetail::default()
            })
        });
        QueryDraft {
            text,
            judgements: ratings.collect(),
            ..QueryDraft::new(place, self.id.0)
        }
    }
}

/// Returns the text of the full-text queries within `query`, if all have the same text.
fn text_of_query(query: &Value) -> Option<String> {
    let mut texts = BTreeSet::new();
    collect(query, &mut texts);
    only(texts.into_iter())
}

fn collect<'a>(query: &'a Value, texts: &mut BTreeSet<&'a str>) {
    match query {
        Value::Object(parts) => {
            for (kind, part) in parts {
                let text = match kind.as_str() {
                    // {"match": {field: text}} or {"match": {field: {"query": text}}}
                    "match" | "match_phrase" | "match_phrase_prefix" | "match_bool_prefix" => {
                        let fields = part.as_object().and_then(|fields| fields.values().next());
                        fields.and_then(|field| {
                            field.as_str().or_else(|| field.get("query")?.as_str())
                        })
                    }
                    "multi_match" | "query_string" | "simple_query_string" | "combined_fields" => {
                        part.get("query").and_then(Value::as_str)
                    }
                    _ => None,
                };
                match text {
                    Some(text) => {
                        texts.insert(text);
                    }
                    None => collect(part, texts),
                }
            }
        }
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the only text; `None` if it is blank or if there are several.
fn only<'a>(mut texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let first = texts.next().filter(|text| !text.trim().is_empty())?;
    texts.next().is_none().then(|| first.to_owned())
}
