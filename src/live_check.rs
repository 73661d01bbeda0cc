//! Check of a running system, for `rankgauge check --live`: topics, permissions, and a sample of the
//! records, compared with the configuration and the gold set.
//!
//! A problem is one [`Finding`] with its remedy. The parts are functions of the sample; only
//! [`Reader`] and an empty transaction talk to the brokers. No record is written and no offset is committed.

mod clock;
mod coverage;
mod finding;
mod group;
mod keys;
mod load;
mod mapping;
mod memory;
mod records;
mod sample;
mod state_topic;

use std::time::Duration;

use crate::config::{Config, container};
use crate::registry::Blocking;
use rankgauge_core::engine::position::{FeedbackTopic, Join};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::GoldSet;
use rankgauge_kafka::reader::Reader;
use rankgauge_kafka::transaction::Transaction;
use rankgauge_kafka::{Error, Settings};
use rankgauge_serve::clock::wall_now;

pub use finding::{Finding, Severity};
use records::Sample;
use sample::{SampledRecord, Share, TopicSample};

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
    let reader = match Reader::new(kafka) {
        Ok(reader) => reader.with_time_limit(limits.time),
        Err(error) => return vec![failed("connection", &error)],
    };
    if let Err(error) = reader.connect() {
        return vec![failed("connection", &error)];
    }
    let mut findings = vec![Finding::ok(
        "connection",
        format!("{} answers", kafka.brokers),
    )];
    let partitions = topics(config, &reader, &mut findings);
    // The request names a partition. Without the topic, it waits for its leader in vain.
    if partitions[Kind::Search.index()].is_some() {
        findings.push(match reader.check_group() {
            Ok(()) => Finding::ok(
                "permissions",
                format!("consumer group {} may be described", kafka.group_id),
            ),
            Err(error) => failed("permissions", &error),
        });
    }
    findings.extend(forwarders(kafka, limits.time));
    findings.extend(group::check(config, &reader));
    findings.extend(state_topic::check(config, &reader));
    if partitions.iter().flatten().count() == kafka.kinds().len() {
        findings.push(memory::check(config, &reader, container::memory_limit()));
    }
    let mut by_kind: [Option<TopicSample>; 2] = [None, None];
    let mut since = None;
    for &kind in kafka.kinds() {
        let Some(count) = partitions[kind.index()] else {
            continue;
        };
        let topic = kafka.topic(kind);
        let share = Share::of(limits.records, count);
        match sample::read(&reader, kind, share, since) {
            Ok(sample) => {
                findings.extend(cut(&format!("the sample of {topic}"), &sample));
                if kind == Kind::Search {
                    // Feedback follows its search: it is sampled from the same time on.
                    let records = sample.records.iter();
                    since = records.filter_map(|it| it.content.timestamp).min();
                }
                by_kind[kind.index()] = Some(sample);
            }
            Err(error) => findings.push(failed("permissions", &error)),
        }
    }
    let wall = wall_now();
    findings.extend(receive_schemas(config, &by_kind));
    let mut sample = Sample::decode(config, gold, &by_kind, wall);
    if let (Some(since), Some(count)) = (
        sample.unjoined_since(),
        partitions[Kind::Feedback.index()].filter(|_| kafka.kinds().len() > 1),
    ) {
        // After a backfill, the times of Kafka say nothing about those of the events.
        let share = Share::of(limits.records, count);
        let time_of = |record: &SampledRecord| records::time_of(config, Kind::Feedback, record);
        match sample::read_since_event_time(&reader, Kind::Feedback, share, since, time_of) {
            Ok(later) => {
                let topic = kafka.topic(Kind::Feedback);
                let name = format!("the sample of {topic} from the first sampled search on");
                findings.extend(cut(&name, &later));
                if !later.records.is_empty() {
                    by_kind[Kind::Feedback.index()] = Some(later);
                    sample = Sample::decode(config, gold, &by_kind, wall);
                }
            }
            Err(error) => findings.push(failed("permissions", &error)),
        }
    }
    findings.extend(records::check(config, &by_kind, &sample));
    findings.extend(mapping::check(config, gold, &by_kind, &sample));
    findings.extend(records::ids(&sample));
    findings.extend(records::unserved(&sample));
    findings.extend(keys::check(config, partitions, &sample));
    findings.extend(clock::check(config, &by_kind, &sample, wall));
    findings.extend(coverage::check(config, gold, &sample));
    findings.extend(load::check(config, gold, &sample));
    findings
}

/// Finding about a sample that a limit ended early.
fn cut(name: &str, sample: &TopicSample) -> Option<Finding> {
    let records = sample.records.len();
    sample.is_cut.then(|| {
        Finding::warning(
            "records",
            format!("{name} is incomplete (records read: {records})"),
            "allow more time with --timeout, or sample less with --sample",
        )
    })
}

/// Requests the schemas of the sampled records.
fn receive_schemas(config: &Config, samples: &[Option<TopicSample>; 2]) -> Option<Finding> {
    let mut schemas = match Blocking::new(config.registry.as_ref()) {
        Ok(schemas) => schemas,
        Err(problem) => {
            let text = format!("{problem:#}");
            return Some(Finding::error("registry", text, "correct registry.ca_file"));
        }
    };
    for kind in Kind::ALL {
        let records = samples[kind.index()].iter().flat_map(|it| &it.records);
        for record in records {
            let (payload, limits) = (&record.content.payload, &config.engine.record_limits);
            schemas.receive(&config.formats, kind, payload, limits);
        }
    }
    let problem = schemas.problem()?;
    Some(Finding::error(
        "registry",
        problem.to_owned(),
        "start the registry, or correct the section registry",
    ))
}

/// Checks the topics. Returns the number of partitions of each that can be read.
fn topics(config: &Config, reader: &Reader<'_>, findings: &mut Vec<Finding>) -> [Option<usize>; 2] {
    let kafka = &config.kafka;
    let mut counts = [None, None];
    for &kind in kafka.kinds() {
        match reader.partitions(kafka.topic(kind)) {
            Ok(count) => counts[kind.index()] = Some(count),
            Err(problem) => findings.push(unavailable(&problem, "as many partitions as the other")),
        }
    }
    let of_feedback = match kafka.topics().feedback {
        FeedbackTopic::Own => None,
        FeedbackTopic::Shared => Some("it has the feedback, too"),
        FeedbackTopic::None => Some("there is no feedback topic"),
    };
    if let (Some(partitions), Some(of_feedback)) = (counts[0], of_feedback) {
        let topic = &kafka.search_topic;
        let text = format!("{topic} has {partitions} partitions; {of_feedback}");
        findings.push(Finding::ok("topics", text));
    }
    if let [Some(searches), Some(feedback)] = counts {
        let (search_topic, feedback_topic) = (&kafka.search_topic, &kafka.feedback_topic);
        findings.push(if kafka.join != Join::Partition {
            let how = match kafka.join {
                Join::Partition | Join::All => "the owner reads all of them",
                Join::Repartition => "their records are copied to the internal topics",
            };
            Finding::ok(
                "topics",
                format!(
                    "{search_topic} has {searches} partitions and {feedback_topic} has {feedback}; {how}"
                ),
            )
        } else if searches == feedback {
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
                    "add partitions to {smaller}: one worker must read a search and its feedback; or set \
                     kafka.join: owner, with which one replica reads all partitions, or repartition, with \
                     which the replicas share them"
                ),
            )
        });
    }
    findings.extend(owner_topic(config, reader));
    findings.extend(internal_topics(config, reader, counts));
    if let Some(topic) = &kafka.dead_letter_topic {
        findings.push(match reader.partitions(topic) {
            Ok(_) => Finding::ok("topics", format!("{topic} exists for dead-letter records")),
            Err(problem) => unavailable(&problem, "any number of partitions"),
        });
    }
    counts
}

/// Finding about the topic of the owner.
fn owner_topic(config: &Config, reader: &Reader<'_>) -> Option<Finding> {
    if config.kafka.join != Join::All {
        return None;
    }
    let topic = config.kafka.owner_topic();
    Some(match reader.partitions(&topic) {
        Ok(1) => Finding::ok("topics", format!("{topic} exists for the owner")),
        Ok(count) => Finding::error(
            "topics",
            format!("{topic} has {count} partitions"),
            "delete it: rankgauge creates it with 1 partition",
        ),
        Err(Error::NoTopic(_)) => Finding::ok(
            "topics",
            format!(
                "{topic} does not exist; rankgauge creates it, which needs the permission Create"
            ),
        ),
        Err(problem) => unavailable(&problem, "1 partition"),
    })
}

/// Findings about the internal topics of forwarders.
fn internal_topics(
    config: &Config,
    reader: &Reader<'_>,
    sources: [Option<usize>; 2],
) -> Vec<Finding> {
    let kafka = &config.kafka;
    if kafka.join != Join::Repartition {
        return Vec::new();
    }
    let names = kafka.kinds().iter().map(|kind| kafka.internal_topic(*kind));
    let found: Vec<_> = names.map(|name| (reader.partitions(&name), name)).collect();
    let counts = found.iter().filter_map(|(count, _)| count.as_ref().ok());
    let wanted = counts.max().copied();
    let wanted = wanted.or(sources.into_iter().flatten().max());
    let wanted = wanted.unwrap_or_default();
    let finding = |(count, topic): &(Result<usize, Error>, String)| match count {
        Ok(count) if *count == wanted => Finding::ok(
            "topics",
            format!("{topic} has {count} partitions, for copies of the records"),
        ),
        Ok(count) => Finding::error(
            "topics",
            format!("{topic} has {count} partitions, and the other internal topic has {wanted}"),
            "stop all replicas and delete both: rankgauge creates them with equal numbers",
        ),
        Err(Error::NoTopic(_)) => Finding::ok(
            "topics",
            format!(
                "{topic} does not exist; rankgauge creates it with {wanted} partitions, which needs the \
                 permission Create"
            ),
        ),
        Err(problem) => unavailable(problem, "as many partitions as the other internal topic"),
    };
    found.iter().map(finding).collect()
}

/// Findings about what the forwarders need beside topics: their group, and transactions.
fn forwarders(kafka: &Settings, time: Duration) -> Vec<Finding> {
    if kafka.join != Join::Repartition {
        return Vec::new();
    }
    let group = kafka.forwarder_group();
    let of_forwarders = Settings {
        group_id: group.clone(),
        ..kafka.clone()
    };
    let described =
        Reader::new(&of_forwarders).and_then(|reader| reader.with_time_limit(time).check_group());
    vec![
        match described {
            Ok(()) => Finding::ok(
                "permissions",
                format!("consumer group {group} of the forwarders may be described"),
            ),
            Err(error) => failed("permissions", &error),
        },
        match Transaction::try_out(kafka) {
            Ok(()) => Finding::ok(
                "permissions",
                format!("transactional ids that begin with {group}- may be used"),
            ),
            Err(error) => failed("permissions", &error),
        },
    ]
}

fn unavailable(problem: &Error, partitions: &str) -> Finding {
    match problem {
        Error::NoAnswer => Finding::error(
            "connection",
            "the brokers no longer answer",
            "check the brokers, and allow more time with --timeout",
        ),
        Error::NoTopic(topic) => Finding::error(
            "topics",
            format!("topic {topic} does not exist"),
            format!("create it with {partitions}, or correct its name in kafka.*_topic"),
        ),
        Error::Topic { topic, error } => Finding::error(
            "topics",
            format!("topic {topic} is not available: {error}"),
            "check the brokers",
        ),
        problem => failed("permissions", problem),
    }
}

/// Finding for a request that failed.
fn failed(check: &'static str, error: &Error) -> Finding {
    let (message, remedy) = match error {
        Error::Configuration(_) => (error.to_string(), "correct kafka.properties"),
        // The message has its remedy.
        Error::Unanswered { cause: message, .. } => {
            return Finding {
                severity: Severity::Error,
                ..Finding::ok(check, message)
            };
        }
        Error::NoAnswer | Error::Transaction { .. } => {
            return Finding {
                severity: Severity::Error,
                ..Finding::ok(check, error.to_string())
            };
        }
        Error::ForbiddenTopic(topic) => (
            format!("no permission to read topic {topic}"),
            "allow Describe and Read on the topic to the user of kafka.properties",
        ),
        Error::ForbiddenGroup(_) | Error::SilentGroup(_) => (
            error.to_string(),
            "allow Describe and Read on the group to the user of kafka.properties, or correct \
             kafka.group_id",
        ),
        error => (error.to_string(), "check the brokers and their log"),
    };
    Finding::error(check, message, remedy)
}
