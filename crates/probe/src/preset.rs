//! Presets: the requests and answers of common search engines, as their documentation states them.

use super::target::Method;

/// Request and answer of a search engine. Every value can be overridden by a target.
#[derive(Debug)]
pub struct Preset {
    /// Name in the configuration.
    pub name: &'static str,
    /// Method if the target states neither method nor body.
    pub method: Method,
    /// Parameters of a GET request, appended to the URL.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Body of a POST request.
    pub body: Option<&'static str>,
    /// Pointer to the list of hits in the answer.
    pub hits: &'static str,
    /// Pointer to the id in a hit.
    pub id: &'static str,
    /// Pointer to the score in a hit.
    pub score: &'static str,
    /// Pointer to the number of matching documents in the answer.
    pub total: Option<&'static str>,
    /// Pointer to a value that states that an answer without a list of hits has none.
    pub empty: Option<&'static str>,
    /// Pointers to values that mark an answer as partial: true, a number above 0, a list with
    /// elements, or an object.
    pub partial: &'static [&'static str],
    /// Example of a body, if the engine has no request that works without knowledge of its fields.
    pub example: &'static str,
}

impl Preset {
    /// Presets by their names.
    pub const fn named<const N: usize>(
        presets: [&'static Self; N],
    ) -> [(&'static str, &'static Self); N] {
        let mut named = [("", presets[0]); N];
        let mut index = 0;
        while index < N {
            named[index] = (presets[index].name, presets[index]);
            index += 1;
        }
        named
    }

    /// Appends the parameters that `url` does not name.
    pub(super) fn with_parameters(&self, url: &str) -> String {
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let is_named = |name: &str| {
            let mut stated = query.split('&').map(|it| it.split('=').next());
            stated.any(|it| it == Some(name))
        };
        let mut url = url.to_owned();
        for (name, value) in self.parameters {
            if !is_named(name) {
                url.push(if url.contains('?') { '&' } else { '?' });
                url.push_str(name);
                url.push('=');
                url.push_str(value);
            }
        }
        url
    }
}

/// All presets. The first one is the default.
pub const PRESETS: [&Preset; 8] = [
    &JSON,
    &OPENSEARCH,
    &ELASTICSEARCH,
    &SOLR,
    &VESPA,
    &TYPESENSE,
    &MEILISEARCH,
    &QDRANT,
];

const JSON: Preset = Preset {
    name: "json",
    method: Method::Post,
    parameters: &[("q", "{{query}}")],
    body: Some(r#"{"query": "{{query}}", "size": {{size}}}"#),
    hits: "/results",
    id: "/id",
    score: "/score",
    total: None,
    empty: None,
    partial: &[],
    example: "",
};

/// Search API: <https://docs.opensearch.org/latest/api-reference/search-apis/search/>.
const OPENSEARCH: Preset = Preset {
    name: "opensearch",
    method: Method::Post,
    parameters: &[("q", "{{query}}"), ("size", "{{size}}")],
    body: Some(r#"{"query": {"multi_match": {"query": "{{query}}"}}, "size": {{size}}}"#),
    hits: "/hits/hits",
    id: "/_id",
    score: "/_score",
    total: Some("/hits/total/value"),
    empty: None,
    partial: &["/timed_out", "/_shards/failed"],
    example: "",
};

/// Search API: <https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-search>.
const ELASTICSEARCH: Preset = Preset {
    name: "elasticsearch",
    ..OPENSEARCH
};

/// Common query parameters:
/// <https://solr.apache.org/guide/solr/latest/query-guide/common-query-parameters.html>.
const SOLR: Preset = Preset {
    name: "solr",
    method: Method::Get,
    parameters: &[
        ("defType", "edismax"),
        ("q", "{{query}}"),
        ("rows", "{{size}}"),
        ("fl", "*,score"),
        ("wt", "json"),
    ],
    body: None,
    hits: "/response/docs",
    id: "/id",
    score: "/score",
    total: Some("/response/numFound"),
    empty: None,
    partial: &["/responseHeader/partialResults"],
    example: "",
};

/// Query API and default JSON result format:
/// <https://docs.vespa.ai/en/reference/default-result-format.html>. `children` is absent without
/// hits.
const VESPA: Preset = Preset {
    name: "vespa",
    method: Method::Post,
    parameters: &[
        ("yql", "select * from sources * where userQuery()"),
        ("query", "{{query}}"),
        ("hits", "{{size}}"),
    ],
    body: Some(
        r#"{"yql": "select * from sources * where userQuery()", "query": "{{query}}", "hits": {{size}}}"#,
    ),
    hits: "/root/children",
    id: "/id",
    score: "/relevance",
    total: Some("/root/fields/totalCount"),
    empty: Some("/root/fields/totalCount"),
    partial: &["/root/errors", "/root/coverage/degraded"],
    example: "",
};

/// Search API: <https://typesense.org/docs/latest/api/search.html>. `query_by` names fields, so it
/// is part of the URL.
const TYPESENSE: Preset = Preset {
    name: "typesense",
    method: Method::Get,
    parameters: &[("q", "{{query}}"), ("per_page", "{{size}}")],
    body: None,
    hits: "/hits",
    id: "/document/id",
    score: "/text_match",
    total: Some("/found"),
    empty: None,
    partial: &["/search_cutoff"],
    example: "",
};

/// Search API: <https://www.meilisearch.com/docs/reference/api/search>.
const MEILISEARCH: Preset = Preset {
    name: "meilisearch",
    method: Method::Post,
    parameters: &[
        ("q", "{{query}}"),
        ("limit", "{{size}}"),
        ("showRankingScore", "true"),
    ],
    body: Some(r#"{"q": "{{query}}", "limit": {{size}}, "showRankingScore": true}"#),
    hits: "/hits",
    id: "/id",
    score: "/_rankingScore",
    total: Some("/estimatedTotalHits"),
    empty: None,
    partial: &["/degraded"],
    example: "",
};

/// Query API: <https://api.qdrant.tech/api-reference/search/query-points>.
const QDRANT: Preset = Preset {
    name: "qdrant",
    method: Method::Post,
    parameters: &[],
    body: None,
    hits: "/result/points",
    id: "/id",
    score: "/score",
    total: None,
    empty: None,
    partial: &[],
    example: r#"{"query": {"text": "{{query}}", "model": "MODEL"}, "limit": {{size}}}"#,
};
