//! Check of a running system, for `rankgauge check --live`: topics, permissions, and a sample of the
//! records, compared with the configuration and the gold set.
//!
//! A problem is one [`Finding`] with its remedy. The parts are functions of the sample; only
//! [`Sampler`] talks to the brokers. Nothing is written and no offset is committed.

mod clock;
mod coverage;
mod keys;
mod load;
mod records;

use std::time::Duration;

use serde::Serialize;

use crate::config::Config;
use crate::ingest::group::Unavailable;
use crate::ingest::sample::{SampleError, Sampler, TopicSample};
use crate::ingest::wall_now;
use rankgauge_core::event::Kind;
use rankgauge_core::gold::GoldSet;

use records::Sample;

/// Limits of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Records to sample from each topic.
    pub records: usize,
    /// Time for all requests together.
    pub time: Duration,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The check passed.
    Ok,
    /// Metrics are incomplete, or the check was not possible.
    Warning,
    /// The sidecar cannot work, or its metrics are wrong.
    Error,
}

impl Severity {
    /// Name in the output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the check: `connection`, `topics`, `permissions`, `records`, `keys`, `clock`, `gold`
    /// or `capacity`.
    pub check: &'static str,
    /// Severity.
    pub severity: Severity,
    /// Result, in one line.
    pub message: String,
    /// Action that solves the problem; `None` without a problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self {
            check,
            severity: Severity::Ok,
            message: message.into(),
            remedy: None,
        }
    }

    fn warning(check: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            remedy: Some(remedy.into()),
            ..Self::ok(check, message)
        }
    }

    fn error(check: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            ..Self::warning(check, message, remedy)
        }
    }

    /// The finding as one line: severity, check, result and remedy.
    pub fn line(&self) -> String {
        let severity = self.severity.name();
        let remedy = self.remedy.as_ref();
        let remedy = remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
        let line = format!("{severity:<8}{}: {}{remedy}", self.check, self.message);
        // Messages quote ids and broker errors, which may contain line breaks.
        line.replace(['\n', '\r'], " ")
    }
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

/// Time span for users, in the unit that fits: `250 ms`, `42 s`, `3.5 h`.
fn span(millis: i64) -> String {
    let tenths = |unit: i64, name: &str| {
        let tenths = millis.saturating_mul(10) / unit;
        if tenths % 10 == 0 {
            format!("{} {name}", tenths / 10)
        } else {
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
    };
    match millis {
        ..1_000 => format!("{millis} ms"),
        1_000..120_000 => tenths(1_000, "s"),
        120_000..7_200_000 => tenths(60_000, "min"),
        7_200_000..172_800_000 => tenths(3_600_000, "h"),
        _ => tenths(86_400_000, "days"),
    }
}

/// Share for users: `12.5 %`.
fn percent(part: usize, whole: usize) -> String {
    let per_mille = part.saturating_mul(1_000) / whole.max(1);
    if part > 0 && per_mille == 0 {
        return "less than 0.1 %".to_owned();
    }
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}
