//! Check of a running system, for `rankgauge check --live`: topics, permissions, and a sample of the
//! records, compared with the configuration and the gold set.
//!
//! A problem is one [`Finding`] with its remedy. The parts are functions of the sample; only
//! [`Sampler`] talks to the brokers. Nothing is written and no offset is committed.

mod clock;
mod coverage;
mod finding;
mod keys;
mod load;
mod records;

use std::time::Duration;

use crate::config::Config;
use crate::ingest::group::Unavailable;
use crate::ingest::sample::{SampleError, Sampler, TopicSample};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::GoldSet;
use rankgauge_serve::clock::wall_now;

pub use finding::{Finding, Severity};
use records::Sample;

/// Limits of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Records to sample from each topic.
    pub records: usize,
    /// Time for all requests together.
    pub time: Duration,
}

/// Runs all checks that are possible. `gold` is the loaded gold set, if one is configured.
pub fn run(config: &Config, gold: Option<&GoldSet>, limits: Limits) -> Vec<Finding> {
    let kafka = &config.kafka;
    let sampler = match Sampler::new(kafka, limits.time) {
        Ok(sampler) => sampler,
        Err(error) => return vec![failed("connection", &error)],
    };
    if let Err(error) = sampler.connect() {
        return vec![failed("connection", &error)];
    }
    let mut findings = vec![Finding::ok(
        "connection",
        format!("{} answers", kafka.brokers),
    )];
    let partitions = topics(config, &sampler, &mut findings);
    // The request names a partition. Without the topic, it waits for its leader in vain.
    if partitions[Kind::Search.index()].is_some() {
        findings.push(match sampler.check_group() {
            Ok(()) => Finding::ok(
                "permissions",
                format!("consumer group {} may be described", kafka.group_id),
            ),
            Err(error) => failed("permissions", &error),
        });
    }
    let mut by_kind: [Option<TopicSample>; 2] = [None, None];
    let mut since = None;
    for kind in Kind::ALL {
        let Some(count) = partitions[kind.index()] else {
            continue;
        };
        let topic = kafka.topic(kind);
        match sampler.read(topic, count, limits.records, since) {
            Ok(sample) => {
                if sample.is_cut {
                    findings.push(Finding::warning(
                        "records",
                        format!("the sample of {topic} has only {}", sample.records.len()),
                        "allow more time with --timeout, or sample less with --sample",
                    ));
                }
                if kind == Kind::Search {
                    // Feedback follows its search: it is sampled from the same time on.
                    since = sample.records.iter().filter_map(|it| it.timestamp).min();
                }
                by_kind[kind.index()] = Some(sample);
            }
            Err(error) => findings.push(failed("permissions", &error)),
        }
    }
    let wall = wall_now();
    let sample = Sample::decode(config, gold, &by_kind, wall);
    findings.extend(records::check(config, &by_kind, &sample));
    findings.extend(keys::check(config, &sample));
    findings.extend(clock::check(config, &by_kind, &sample, wall));
    findings.extend(coverage::check(config, gold, &sample));
    findings.extend(load::check(config, &sample));
    findings
}

/// Checks the topics. Returns the number of partitions of each that can be read.
fn topics(
    config: &Config,
    sampler: &Sampler<'_>,
    findings: &mut Vec<Finding>,
) -> [Option<usize>; 2] {
    let kafka = &config.kafka;
    let mut counts = [None, None];
    for kind in Kind::ALL {
        match sampler.partitions(kafka.topic(kind)) {
            Ok(count) => counts[kind.index()] = Some(count),
            Err(problem) => findings.push(unavailable(&problem, "as many partitions as the other")),
        }
    }
    if let [Some(searches), Some(feedback)] = counts {
        let (search_topic, feedback_topic) = (&kafka.search_topic, &kafka.feedback_topic);
        findings.push(if searches == feedback {
            Finding::ok(
                "topics",
                format!("{search_topic} and {feedback_topic} have {searches} partitions each"),
            )
        } else {
            let smaller = if searches < feedback {
                search_topic
            } else {
                feedback_topic
            };
            Finding::error(
                "topics",
                format!(
                    "{search_topic} has {searches} partitions and {feedback_topic} has {feedback}"
                ),
                format!(
                    "add partitions to {smaller}: one worker must read a search and its feedback"
                ),
            )
        });
    }
    if let Some(topic) = &kafka.dead_letter_topic {
        findings.push(match sampler.partitions(topic) {
            Ok(_) => Finding::ok("topics", format!("{topic} exists for dead-letter records")),
            Err(problem) => unavailable(&problem, "any number of partitions"),
        });
    }
    counts
}

fn unavailable(problem: &Unavailable, partitions: &str) -> Finding {
    match problem {
        Unavailable::NoAnswer => Finding::error(
            "connection",
            "the brokers no longer answer",
            "check the brokers, and allow more time with --timeout",
        ),
        Unavailable::NoTopic(topic) => Finding::error(
            "topics",
            format!("topic {topic} does not exist"),
            format!("create it with {partitions}, or correct its name in kafka.*_topic"),
        ),
        Unavailable::Forbidden(topic) => failed(
            "permissions",
            &SampleError::ForbiddenTopic(topic.to_owned()),
        ),
        Unavailable::Topic(topic, code) => Finding::error(
            "topics",
            format!("topic {topic} is not available: {code}"),
            "check the brokers",
        ),
    }
}

/// Finding for a request that failed.
fn failed(check: &'static str, error: &SampleError) -> Finding {
    let remedy = match error {
        SampleError::Configuration(_) => "correct kafka.properties",
        // The message has its remedy.
        SampleError::Unanswered(_) => {
            return Finding {
                severity: Severity::Error,
                ..Finding::ok(check, error.to_string())
            };
        }
        SampleError::ForbiddenTopic(_) => {
            "allow Describe and Read on the topic to the user of kafka.properties"
        }
        SampleError::ForbiddenGroup(_) => {
            "allow Describe and Read on the group to the user of kafka.properties, or correct \
             kafka.group_id"
        }
        SampleError::Request { .. } => "check the brokers and their log",
    };
    Finding::error(check, error.to_string(), remedy)
}
