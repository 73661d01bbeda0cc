//! Parsers of the JSON exports of Quepid: books, cases and ratings.
//!
//! A book has judgements of several people for a pair of a query and a document: the grade is their mean, as
//! when Quepid fills a case from a book. As in the CSV export, the text of a query is also its id.

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::draft::{Draft, QueryDraft};
use super::json::{JsonError, Pairs, Rating, Source, StringOrInteger, parse};
use super::judgements::JudgementDraft;
use crate::gold::judgements::Grade;
use crate::gold::problem::{Problem, Problems};
use crate::gold::query::JudgementDetail;

#[derive(Deserialize)]
struct Book {
    query_doc_pairs: Vec<Pair>,
}

#[derive(Deserialize)]
struct Pair {
    query_text: String,
    doc_id: StringOrInteger,
    #[serde(default)]
    judgements: Vec<Judgement>,
}

#[derive(Deserialize)]
struct Judgement {
    rating: Option<Rating>,
    #[serde(default)]
    unrateable: Option<bool>,
    user_email: Option<String>,
}

#[derive(Deserialize)]
struct Case {
    queries: Vec<Query>,
}

#[derive(Deserialize)]
struct Query {
    #[serde(alias = "query")]
    query_text: String,
    ratings: Ratings,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a list of ratings, or an object of document ids and ratings"
)]
enum Ratings {
    Listed(Vec<Listed>),
    ByDocument(Pairs<Rating>),
}

#[derive(Deserialize)]
struct Listed {
    doc_id: StringOrInteger,
    rating: Option<Rating>,
}

/// Parses a book. `None` after a problem.
pub(super) fn read_book(source: &Source<'_>, problems: &mut Problems) -> Option<Draft> {
    let book: Book = whole(source, problems)?;
    let mut queries = Queries::default();
    for pair in book.query_doc_pairs {
        let rated = pair.judgements.into_iter();
        let rated = rated.filter(|judgement| judgement.unrateable != Some(true));
        let rated: Vec<(Grade, Option<String>)> = rated
            .filter_map(|judgement| Some((judgement.rating?.0, judgement.user_email)))
            .collect();
        let sum: f64 = rated.iter().map(|(grade, _)| grade.get()).sum();
        let count = f64::from(u32::try_from(rated.len()).unwrap_or(u32::MAX));
        let mean = Grade::new(sum / count.max(1.0)).filter(|_| !rated.is_empty());
        let judgement = mean.map(|grade| {
            let annotations = (1..).zip(rated).map(|(number, (grade, email))| {
                let name = email.unwrap_or_else(|| number.to_string());
                (format!("annotator_{name}"), grade)
            });
            let detail = JudgementDetail {
                annotations: annotations.collect(),
                ..JudgementDetail::default()
            };
            JudgementDraft::new(pair.doc_id.0, grade).with_detail(detail)
        });
        queries.add(pair.query_text, judgement);
    }
    Some(queries.into_draft(source, problems))
}

/// Parses a case, or its ratings. `None` after a problem.
pub(super) fn read_case(source: &Source<'_>, problems: &mut Problems) -> Option<Draft> {
    let case: Case = whole(source, problems)?;
    let mut queries = Queries::default();
    for query in case.queries {
        let ratings: Vec<(String, Option<Grade>)> = match query.ratings {
            Ratings::Listed(listed) => listed
                .into_iter()
                .map(|it| (it.doc_id.0, it.rating.map(|it| it.0)))
                .collect(),
            Ratings::ByDocument(Pairs(pairs)) => pairs
                .into_iter()
                .map(|(document, rating)| (document, Some(rating.0)))
                .collect(),
        };
        queries.add(query.query_text.clone(), None);
        for (document, grade) in ratings {
            let judgement = grade.map(|grade| JudgementDraft::new(document, grade));
            queries.add(query.query_text.clone(), judgement);
        }
    }
    Some(queries.into_draft(source, problems))
}

/// Parses a whole file.
fn whole<'a, T: Deserialize<'a>>(source: &Source<'a>, problems: &mut Problems) -> Option<T> {
    let parsed: Result<T, JsonError> = parse(source.text);
    parsed
        .map_err(|fault| problems.push(fault.problem(source.file, 1, "")))
        .ok()
}

/// Judgements by query, in the order of the first ones.
#[derive(Default)]
struct Queries {
    texts: Vec<(String, Vec<JudgementDraft<'static>>)>,
    positions: FxHashMap<String, usize>,
}

impl Queries {
    fn add(&mut self, text: String, judgement: Option<JudgementDraft<'static>>) {
        let next = self.texts.len();
        let position = *self.positions.entry(text).or_insert_with_key(|text| {
            self.texts.push((text.clone(), Vec::new()));
            next
        });
        if let Some((_, judgements)) = self.texts.get_mut(position) {
            judgements.extend(judgement);
        }
    }

    fn into_draft(self, source: &Source<'_>, problems: &mut Problems) -> Draft {
        let mut draft = Draft::new(source.file.place(None));
        if self.texts.is_empty() {
            problems.push(Problem::Empty {
                file: source.file.name.clone(),
            });
        }
        draft.queries = self
            .texts
            .into_iter()
            .map(|(text, judgements)| QueryDraft {
                text: Some(text.clone()),
                judgements: judgements.into_iter().collect(),
                ..QueryDraft::new(source.file.place(None), text)
            })
            .collect();
        draft
    }
}
