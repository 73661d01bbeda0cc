//! Starter configuration and gold set, for `rankgauge init`.
//!
//! Without a sample they are examples to edit. With a sample of records, formats, topics,
//! slices, measures and limits are proposed from it. The module is pure: files are read and written by the
//! command.

mod events;
mod guess;
mod leaves;
mod missing;
mod proposal;
mod sample;
mod vocabulary;
mod yaml;

use rankgauge_core::event::Kind;
use rankgauge_core::gold::GoldSet;
use serde_json::{Value, json};

pub use missing::SOURCE as MISSING;
pub use proposal::{Proposal, StarterQuery};
pub use sample::{SampleError, SampleRecord, proposal};

/// Starter configuration as YAML with comments. `gold` is the path of the gold set.
pub fn configuration(proposal: &Proposal, gold: &str) -> String {
    let mut text = String::from(
        "# Starter configuration of rankgauge. It states what most installations change; every other key\n\
         # has its default. All keys, with their meaning: config/rankgauge.yaml of the repository, or\n\
         # `rankgauge config show`. Check this file with `rankgauge check --config FILE`.\n",
    );
    for finding in &proposal.findings {
        text.push_str("# ");
        text.push_str(finding);
        text.push('\n');
    }
    let quoted = |text: &str| Value::from(text).to_string();
    let slices = proposal.slices.iter();
    let described: Vec<String> = slices
        .clone()
        .map(|(name, values)| format!("{name} ({values})"))
        .collect();
    let described = if proposal.findings.is_empty() || described.is_empty() {
        String::new()
    } else {
        format!(
            " In the sample, with the number of values: {}.",
            described.join(", ")
        )
    };
    let slices: Vec<&str> = slices.map(|(name, _)| name.as_str()).collect();
    // A kind that the records do not show keeps its default.
    let format_of = |kind: Kind| match &proposal.own {
        Some(own) if !own.kinds.contains(&kind) => "native",
        _ => proposal.format.as_str(),
    };
    let measures = proposal.measures.iter().map(String::as_str);
    let watched = measures.filter(|measure| measure.starts_with("nDCG"));
    let sections = format!(
            "
kafka:
  # Bootstrap servers. Secrets belong into variables: RANKGAUGE__KAFKA__PROPERTIES__SASL_PASSWORD.
  brokers: {brokers}
  # Topics of search events and of user feedback (docs/events.md). Both need the same number of
  # partitions, and query_id (or session_id) as the key of their records.
  search_topic: {search_topic}
  feedback_topic: {feedback_topic}
  # native, ubi for User Behavior Insights of OpenSearch and Elasticsearch, or a name of formats.
  search_format: {search_format}
  feedback_format: {feedback_format}
  # Where to begin without a committed offset: latest, or earliest for all that the topics hold.
  start: latest
{formats}
gold:
  # Judgements: which documents are relevant to which queries (docs/gold.md). A folder works, too.
  # Relative paths begin at the folder of this file.
  paths: [{gold}]
  # Field of a result that identifies the judged document: id, or group_id if results are chunks.
  judge_by: {judge_by}

# Computed for every search with a gold query, or from user feedback (docs/measures.md).
measures: [{measures}]

# Labels of the gold query, else of the search, that break scores down. Each value is a series.{described}
slices: [{slices}]

# Targets for dashboards and alerts: remove the [] and edit the example.
targets: []
  # - {{measure: nDCG@10, tier: good, value: 0.7}}

# Watched for a drop: an incident opens when searches score worse than the earlier ones with the same
# query (docs/detection.md).
detection:
  measures: [{watched}]

limits:
  # Values of one label; further ones become __other__.
  values_per_label: {values_per_label}
  # Results of one search; a longer list is invalid.
  results_per_search: {results}
  # Size of a record; a larger one is invalid.
  record_bytes: {record_bytes}

metrics:
  # Prometheus scrapes http://HOST:9468/metrics.
  listen: 0.0.0.0:9468

# A search service that emits no events yet: `rankgauge probe` sends it the gold queries
# (docs/probe.md). Remove the [] and edit the example.
probe:
  targets: []
    # - {{variant: V1, preset: opensearch, url: \"http://localhost:9200/INDEX/_search\"}}
",
            brokers = quoted(&proposal.brokers),
            search_topic = quoted(&proposal.search_topic),
            feedback_topic = quoted(&proposal.feedback_topic),
            search_format = format_of(Kind::Search),
            feedback_format = format_of(Kind::Feedback),
            formats = formats(proposal),
            gold = quoted(gold),
            judge_by = proposal.judge_by,
            measures = proposal.measures.join(", "),
            watched = watched.collect::<Vec<_>>().join(", "),
            slices = slices.join(", "),
            values_per_label = proposal.values_per_label,
            results = proposal.results_per_search,
            record_bytes = proposal.record_bytes,
        );
    text.push_str(&sections);
    text
}

/// Section of a format for records of an unknown shape.
fn formats(proposal: &Proposal) -> String {
    let Some(own) = &proposal.own else {
        return String::new();
    };
    let framing = if own.is_framed {
        "    framing: confluent\n"
    } else {
        ""
    };
    format!(
        "
# Proposed from the sample: compare it with your records (docs/connect/own-records.md). `rankgauge tail`
# shows each record under it.
formats:
  {}:
    encoding: json
{framing}    mapping:
{}",
        proposal.format, own.mapping
    )
}

/// Starter gold set of the native format: queries without judgements.
pub fn gold(proposal: &Proposal) -> String {
    let queries = (1..).zip(&proposal.queries);
    let queries = queries.map(|(number, query): (usize, _)| {
        let mut entry = json!({
            "query_id": format!("Q{number:03}"),
            "query_text": query.text,
            "ground_truth": {},
        });
        for (label, value) in query.labels {
            entry[*label] = (*value).into();
        }
        entry
    });
    let gold = json!({
        "version": GoldSet::STARTER_VERSION,
        "scale_max": 3,
        "queries": queries.collect::<Vec<_>>(),
    });
    format!("{gold:#}\n")
}
