//! Values of a starter configuration.

use super::missing::Missing;
use rankgauge_core::event::Kind;

/// Values that the starter configuration states.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Bootstrap servers.
    pub brokers: String,
    /// Format of both topics: `native`, `ubi`, or the name of a mapping.
    pub format: String,
    /// Mapping of records of an unknown shape.
    pub own: Option<OwnFormat>,
    /// Topic of search events.
    pub search_topic: String,
    /// Topic of feedback events; that of searches if both share one.
    pub feedback_topic: String,
    /// Labels for slices, with their number of values.
    pub slices: Vec<(String, usize)>,
    /// Names of the measures.
    pub measures: Vec<String>,
    /// Field that identifies the judged document.
    pub judge_by: &'static str,
    /// Maximum number of results of one search.
    pub results_per_search: usize,
    /// Maximum size of a record in bytes.
    pub record_bytes: usize,
    /// Maximum number of values of one label.
    pub values_per_label: usize,
    /// Sentences about the sample.
    pub findings: Vec<String>,
    /// Texts of queries to judge.
    pub queries: Vec<StarterQuery>,
}

/// Query to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StarterQuery {
    /// Text, as users enter it.
    pub text: String,
    /// Names and values of its labels. A query of a sample has none: they are for its annotators to decide.
    pub labels: &'static [(&'static str, &'static str)],
}

/// Format proposed for records of an unknown shape.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnFormat {
    /// Mapping as YAML, with the indentation of `formats.NAME.mapping`.
    pub mapping: String,
    /// Parts that were not found. Their lines in the mapping are marked.
    pub missing: Vec<&'static Missing>,
    /// True for JSON in the framing of a schema registry.
    pub is_framed: bool,
    /// Kinds of events that it maps.
    pub kinds: Vec<Kind>,
}

/// Labels of the example queries.
const EXAMPLES: [&[(&str, &str)]; 3] = [
    &[("query_type", "keyword"), ("difficulty", "easy")],
    &[("query_type", "question"), ("difficulty", "easy")],
    &[("query_type", "keyword"), ("difficulty", "hard")],
];

impl Default for Proposal {
    fn default() -> Self {
        let text = |text: &str| text.to_owned();
        Self {
            brokers: text("localhost:9092"),
            format: text("native"),
            own: None,
            search_topic: text("search.log"),
            feedback_topic: text("search.feedback"),
            slices: vec![(text("query_type"), 2), (text("difficulty"), 2)],
            measures: [
                "P@5",
                "R@10",
                "nDCG@10",
                "RR",
                "CTR",
                "Abandoned",
                "ZeroResult",
            ]
            .map(text)
            .to_vec(),
            judge_by: "id",
            results_per_search: 10_000,
            record_bytes: 1 << 20,
            values_per_label: 200,
            findings: Vec::new(),
            queries: [
                ("opening hours", EXAMPLES[0]),
                ("how do I return an order", EXAMPLES[1]),
                ("jacket for rain below 100 euros, no nylon", EXAMPLES[2]),
            ]
            .map(|(query, labels)| StarterQuery {
                text: text(query),
                labels,
            })
            .to_vec(),
        }
    }
}
