//! Writers of the JSON formats of other tools: the Search Relevance Workbench of OpenSearch, the
//! ranking evaluation of Elasticsearch, ranx and pytrec_eval.

use serde::Serialize;
use serde::ser::Serializer;
use serde_json::json;

use rankgauge_core::gold::{Format, GoldQuery, GoldSet, Grade};

fn pretty(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}

/// Serialises judgements for the Search Relevance Workbench, which writes ratings as strings.
pub(super) fn srw(named: &[(&str, &GoldQuery)]) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Set<'a> {
        #[serde(rename = "judgmentRatings")]
        judgment_ratings: Vec<Query<'a>>,
    }
    #[derive(Serialize)]
    struct Query<'a> {
        query: &'a str,
        ratings: Vec<Rating<'a>>,
    }
    #[derive(Serialize)]
    struct Rating<'a> {
        #[serde(rename = "docId")]
        document: &'a str,
        rating: String,
    }
    let queries = named.iter().map(|(name, query)| Query {
        query: name,
        ratings: query
            .documents()
            .into_iter()
            .map(|(document, grade)| Rating {
                document,
                rating: grade.to_string(),
            })
            .collect(),
    });
    pretty(&Set {
        judgment_ratings: queries.collect(),
    })
}

/// Serialises the `requests` of a ranking evaluation, without a metric: the user adds it.
pub(super) fn rank_eval(set: &GoldSet, index: &str) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Evaluation<'a> {
        requests: Vec<Asked<'a>>,
    }
    #[derive(Serialize)]
    struct Asked<'a> {
        id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        request: Option<serde_json::Value>,
        ratings: Vec<Judged<'a>>,
    }
    #[derive(Serialize)]
    struct Judged<'a> {
        #[serde(rename = "_index")]
        index: &'a str,
        #[serde(rename = "_id")]
        document: &'a str,
        rating: Grade,
    }
    let requests = set.queries().iter().map(|query| {
        let documents = query.documents().into_iter().enumerate();
        let ratings = documents.map(|(position, (document, rating))| {
            let detail = query.details.get(position);
            let stated = detail.and_then(|detail| detail.facets.get(Format::RANK_EVAL_INDEX));
            Judged {
                index: stated.map_or(index, String::as_str),
                document,
                rating,
            }
        });
        let text = query.text.as_deref();
        Asked {
            id: &query.key,
            // The query covers all fields: a gold set does not contain the searched fields.
            request: text.map(|text| json!({"query": {"simple_query_string": {"query": text}}})),
            ratings: ratings.collect(),
        }
    });
    pretty(&Evaluation {
        requests: requests.collect(),
    })
}

/// Serialises judgements to the qrels of ranx and pytrec_eval.
pub(super) fn ranx(set: &GoldSet) -> Result<String, serde_json::Error> {
    struct Qrels<'a>(&'a [GoldQuery]);
    impl Serialize for Qrels<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().map(|query| (&query.key, Documents(query))))
        }
    }
    struct Documents<'a>(&'a GoldQuery);
    impl Serialize for Documents<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.documents())
        }
    }
    pretty(&Qrels(set.queries()))
}
