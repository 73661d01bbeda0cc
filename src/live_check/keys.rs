//! Partitions of searches and their feedback: a worker joins only what lies in one partition.

use std::collections::HashMap;

use super::finding::{Finding, percent};
use super::records::{Place, Sample, SampledFeedback};
use crate::config::Config;
use rankgauge_core::engine::position::Join;
use rankgauge_core::time::EventTime;

/// Search or session of the sample.
struct Target<'a> {
    at: Place,
    key: Option<&'a [u8]>,
}

/// Findings about the keys of both topics.
pub(super) fn check(
    config: &Config,
    partitions: [Option<usize>; 2],
    sample: &Sample,
) -> Vec<Finding> {
    if sample.searches.is_empty() || sample.feedback.is_empty() {
        return Vec::new();
    }
    let mut searches: HashMap<&str, Target<'_>> = HashMap::new();
    let mut sessions: HashMap<&str, Target<'_>> = HashMap::new();
    for search in &sample.searches {
        let target = || Target {
            at: search.at,
            key: search.key.as_deref(),
        };
        searches.entry(&search.query_id).or_insert_with(target);
        if let Some(session) = &search.session_id {
            sessions.entry(session).or_insert_with(target);
        }
    }
    let mut pairs = 0;
    let mut apart = 0;
    let mut first = None;
    for feedback in &sample.feedback {
        let target = match (&feedback.query_id, &feedback.session_id) {
            (Some(query), _) => searches.get(query.as_str()),
            (None, Some(session)) => sessions.get(session.as_str()),
            (None, None) => None,
        };
        let Some(target) = target else { continue };
        pairs += 1;
        if target.at.partition != feedback.at.partition {
            apart += 1;
            first.get_or_insert((feedback, target));
        }
    }
    if config.kafka.join != Join::Partition && pairs > 0 {
        return vec![of_any(config.kafka.join, apart, pairs, partitions)];
    }
    let Some((feedback, target)) = first else {
        return vec![if pairs > 0 {
            let text =
                format!("{pairs} sampled feedback events lie in the partition of their search");
            Finding::ok("keys", text)
        } else {
            Finding::warning(
                "keys",
                format!(
                    "no sampled feedback event belongs to a sampled search: the searches are of {}, the feedback \
                     is of {}",
                    times(sample.searches.iter().map(|it| it.ts)),
                    times(sample.feedback.iter().map(|it| it.ts))
                ),
                "raise --sample; if the times overlap, check that feedback has the query_id of its search",
            )
        }];
    };
    let name = match (&feedback.query_id, &feedback.session_id) {
        (Some(id), _) => format!("query_id {id}"),
        (None, Some(id)) => format!("session_id {id}"),
        (None, None) => String::new(),
    };
    let kafka = &config.kafka;
    let message = format!(
        "{apart} of {pairs} sampled feedback events ({}) lie in another partition than their \
         search, where they cannot be joined: {name} is in {} [{}] and {} [{}]",
        percent(apart, pairs),
        kafka.search_topic,
        target.at.partition,
        kafka.feedback_topic,
        feedback.at.partition
    );
    let right_key = if config.formats.search.is_otlp() {
        "the trace id (partition_traces_by_id: true in the Kafka exporter)"
    } else {
        "query_id, or session_id for session measures"
    };
    vec![Finding::error(
        "keys",
        message,
        format!(
            "{}; or set kafka.join: owner, with which one replica reads all partitions, or repartition, with \
             which the replicas share them",
            remedy(feedback, target, right_key)
        ),
    )]
}

/// Finding about the pairs of a configuration with which they can lie apart.
fn of_any(
    join: Join,
    apart: usize,
    pairs: usize,
    [searches, feedback]: [Option<usize>; 2],
) -> Finding {
    let shared = format!(
        "{apart} of {pairs} sampled feedback events ({}) lie in another partition than their search",
        percent(apart, pairs)
    );
    let is_needed = apart > 0 || searches != feedback.or(searches);
    Finding::ok(
        "keys",
        if is_needed {
            match join {
                Join::Partition | Join::All => format!("{shared}; kafka.join: owner joins them"),
                Join::Repartition => format!(
                    "{shared}; kafka.join: repartition joins them; owner does, too, without copies of the \
                     records, as long as one replica can read all of them"
                ),
            }
        } else {
            format!(
                "{shared}; kafka.join: partition suffices, and lets replicas share the partitions"
            )
        },
    )
}

/// First and last one of these times.
fn times(all: impl Iterator<Item = EventTime> + Clone) -> String {
    let [first, last] = [all.clone().min(), all.max()].map(Option::unwrap_or_default);
    format!("{first} to {last}")
}

fn remedy(feedback: &SampledFeedback, target: &Target<'_>, right_key: &str) -> String {
    match (target.key, feedback.key.as_deref()) {
        (None, _) | (_, None) => {
            format!("produce both topics with the key {right_key}; one of these records has no key")
        }
        (Some(search), Some(feedback)) if search == feedback => {
            "the keys are equal, so the producers use different partitioners, or partitions were \
             added meanwhile: set partitioner=murmur2_random in clients of librdkafka, as in Java"
                .to_owned()
        }
        (Some(search), Some(feedback)) => format!(
            "produce both topics with the same key: {right_key}; these records have the keys {} \
             and {}",
            shown(search),
            shown(feedback)
        ),
    }
}

/// Key for users, at most 64 characters.
fn shown(key: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(key).chars().take(64).collect();
    format!("{text:?}")
}
