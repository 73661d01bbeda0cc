//! Parser of judgements of the Search Relevance Workbench of OpenSearch.
//!
//! ```json
//! {"judgmentRatings": [{"query": "17조 검색", "ratings": [{"docId": "법률_제17조", "rating": "3.000"}]}]}
//! ```
//!
//! The workbench writes ratings as strings and has no query ids: the text is also the id. Its answer to a request for a
//! judgement list has the object as the `_source` of a hit, as all documents of OpenSearch.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::draft::{Draft, QueryDraft};
use super::json::{JsonError, LineCounter, Rating, Source, StringOrInteger, each_object, parse};
use super::judgements::JudgementDraft;
use crate::gold::problem::{Problem, Problems};

/// Request of an import, document, or response with documents.
#[derive(Deserialize)]
struct SrwSet<'a> {
    #[serde(borrow, rename = "judgmentRatings")]
    judgment_ratings: Option<&'a RawValue>,
    #[serde(borrow, rename = "_source")]
    document: Option<SrwDocument<'a>>,
    #[serde(borrow)]
    hits: Option<SrwHits<'a>>,
}

#[derive(Deserialize)]
struct SrwHits<'a> {
    #[serde(borrow)]
    hits: Vec<SrwHit<'a>>,
}

#[derive(Deserialize)]
struct SrwHit<'a> {
    #[serde(borrow, rename = "_source")]
    document: SrwDocument<'a>,
}

#[derive(Deserialize)]
struct SrwDocument<'a> {
    #[serde(borrow, rename = "judgmentRatings")]
    judgment_ratings: &'a RawValue,
}

impl<'a> SrwSet<'a> {
    /// Lists of judged queries, of which there is at least one.
    fn lists(self) -> Result<Vec<&'a RawValue>, JsonError> {
        let hits = self.hits.into_iter().flat_map(|hits| hits.hits);
        let documents = self.document.into_iter();
        let documents = documents.chain(hits.map(|hit| hit.document));
        let own = self.judgment_ratings.into_iter();
        let lists = own.chain(documents.map(|document| document.judgment_ratings));
        let lists: Vec<&RawValue> = lists.collect();
        if lists.is_empty() {
            return Err(JsonError::missing("judgmentRatings"));
        }
        Ok(lists)
    }
}

#[derive(Deserialize)]
struct SrwQuery {
    query: String,
    ratings: Vec<SrwRating>,
}

#[derive(Deserialize)]
struct SrwRating {
    #[serde(rename = "docId")]
    document: StringOrInteger,
    rating: Rating,
}

/// Parses judgements. `None` if there is no list of ratings.
pub(super) fn read(source: &Source<'_>, problems: &mut Problems) -> Option<Draft> {
    let Source { file, text } = source;
    let lists = match parse(text).and_then(SrwSet::lists) {
        Ok(lists) => lists,
        Err(fault) => {
            problems.push(fault.problem(file, 1, ""));
            return None;
        }
    };
    let mut draft = Draft::new(file.place(None));
    let mut lines = LineCounter::new(text);
    for list in lists {
        let list = list.get();
        let found = each_object(
            source,
            &mut lines,
            list,
            "judgmentRatings",
            "a query, which is an object with `query` and `ratings`",
            problems,
            |line, text| {
                let query: SrwQuery = parse(text)?;
                let ratings = query.ratings.into_iter();
                draft.queries.push(QueryDraft {
                    text: Some(query.query.clone()),
                    judgements: ratings
                        .map(|rating| JudgementDraft::new(rating.document.0, rating.rating.0))
                        .collect(),
                    ..QueryDraft::new(file.place(Some(line)), query.query)
                });
                Ok(())
            },
        );
        if found == 0 && list.starts_with('[') {
            problems.push(Problem::NoQueries {
                file: file.name.clone(),
                list: "judgmentRatings",
            });
        }
    }
    let mut positions: FxHashMap<String, usize> = FxHashMap::default();
    let mut groups: Vec<Vec<QueryDraft>> = Vec::new();
    for query in draft.queries {
        let position = *positions.entry(query.key.clone()).or_insert(groups.len());
        match groups.get_mut(position) {
            Some(group) => group.push(query),
            None => groups.push(vec![query]),
        }
    }
    // The workbench lists a query again for each search configuration.
    let queries = groups
        .into_iter()
        .filter_map(|mut group| match group.len() {
            1 => group.pop(),
            _ => QueryDraft::merged(group, problems),
        });
    draft.queries = queries.collect();
    Some(draft)
}
