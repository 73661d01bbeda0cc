//! Parser of the ground truth of the multi-agent evaluation plan: a list of queries with articles.
//!
//! ```json
//! [{"query_id": 1, "query": "17조", "category": "article_number",
//!   "relevant_articles": [{"hang_id": "국토계획법_17조_1항", "relevance": 3, "reason": "exact_match"}]}]
//! ```
//!
//! `total_relevant` is kept and not compared with the list: the example of the plan counts twelve
//! articles and lists three.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::draft::{Draft, QueryDraft};
use super::json::{JsonError, Rating, Source, StringOrInteger, detail, each_query, parse};
use super::judgements::JudgementDraft;
use crate::gold::problem::{Place, Problems};

#[derive(Deserialize)]
struct PlanQuery {
    query_id: StringOrInteger,
    #[serde(alias = "query_text")]
    query: Option<String>,
    category: Option<StringOrInteger>,
    query_type: Option<StringOrInteger>,
    difficulty: Option<StringOrInteger>,
    primary_domain: Option<StringOrInteger>,
    relevant_articles: Vec<Article>,
    total_relevant: Option<u64>,
}

#[derive(Deserialize)]
struct Article {
    hang_id: StringOrInteger,
    relevance: Rating,
    reason: Option<String>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// Parses a list of queries, or a single query.
pub(super) fn read(source: &Source<'_>, problems: &mut Problems) -> Draft {
    let mut draft = Draft::new(source.file.place(None));
    let take = |line: usize, text: &str| -> Result<(), JsonError> {
        let query: PlanQuery = parse(text)?;
        draft
            .queries
            .push(query.into_draft(source.file.place(Some(line))));
        Ok(())
    };
    let what = "a query, which is an object with `query_id` and `relevant_articles`";
    each_query(source, what, problems, take);
    draft
}

impl PlanQuery {
    fn into_draft(self, place: Place) -> QueryDraft {
        let labels = [
            ("category", self.category),
            ("query_type", self.query_type),
            ("difficulty", self.difficulty),
            ("primary_domain", self.primary_domain),
        ];
        let labels = labels
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.0)));
        let articles = self.relevant_articles.into_iter();
        QueryDraft {
            text: self.query,
            labels: labels.collect(),
            total_relevant: self.total_relevant,
            judgements: articles
                .map(|article| {
                    JudgementDraft::new(article.hang_id.0, article.relevance.0)
                        .with_detail(detail(article.reason, article.others))
                })
                .collect(),
            ..QueryDraft::new(place, self.query_id.0)
        }
    }
}
