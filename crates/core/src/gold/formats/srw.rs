//! Parser of judgements of the Search Relevance Workbench of OpenSearch.
//!
//! ```json
//! {"judgmentRatings": [{"query": "17조 검색", "ratings": [{"docId": "법률_제17조", "rating": "3.000"}]}]}
//! ```
//!
//! The workbench writes ratings as strings and has no query ids: the text is also the id.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::draft::{Draft, QueryDraft};
use super::json::{LineCounter, Rating, Source, StringOrInteger, each_object, parse};
use super::judgements::JudgementDraft;
use crate::gold::problem::Problem;
use crate::gold::problem::Problems;

#[derive(Deserialize)]
struct SrwSet<'a> {
    #[serde(borrow, rename = "judgmentRatings")]
    judgment_ratings: &'a RawValue,
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
    let set: SrwSet<'_> = match parse(text) {
        Ok(set) => set,
        Err(fault) => {
            problems.push(fault.problem(file, 1, ""));
            return None;
        }
    };
    let mut draft = Draft::new(file.place(None));
    let list = set.judgment_ratings.get();
    let found = each_object(
        source,
        &mut LineCounter::new(text),
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
    if found == 0 && list.starts_with('[') {
        problems.push(Problem::NoQueries {
            file: file.name.clone(),
            list: "judgmentRatings",
        });
    }
    Some(draft)
}
