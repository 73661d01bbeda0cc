//! Configuration of Kafka, the section `kafka`: cluster, topics and librdkafka properties.
//!
//! librdkafka knows its properties; [`Settings::problems`] checks their names. Only properties that
//! the sidecar sets itself are rejected here.

use rankgauge_core::decode::Formats;
use rankgauge_core::engine::position::Join;
use rankgauge_core::engine::sources::RepartitionKey;
use rankgauge_core::event::Kind;
use rankgauge_kafka::settings::{Properties, Settings, topic_name};

use super::checked::State;
use super::keys;
use super::reader::Reader;

pub(super) fn read(reader: &mut Reader) -> Settings {
    let brokers = reader.values(&keys::BROKERS);
    if reader.is_empty_list(&keys::BROKERS) {
        let text = "names no broker; write at least one host:port";
        reader.problem(&keys::BROKERS.path, text);
    }
    let kafka = Settings {
        brokers: brokers.join(","),
        group_id: reader.get(&keys::GROUP_ID),
        search_topic: reader.get(&keys::SEARCH_TOPIC),
        feedback_topic: reader.get(&keys::FEEDBACK_TOPIC),
        dead_letter_topic: reader.find(&keys::DEAD_LETTER_TOPIC),
        start: reader.get(&keys::START),
        stalled_partition: reader.get(&keys::STALLED_PARTITION),
        group_protocol: reader.get(&keys::GROUP_PROTOCOL),
        join: reader.get(&keys::JOIN),
        owner: owner(),
        properties: properties(reader),
    };
    if kafka.join == Join::Repartition
        && let Err(problem) = topic_name(&kafka.internal_topic(Kind::Feedback))
    {
        let topic = kafka.internal_topic(Kind::Feedback);
        reader.conflict(
            &[&keys::JOIN.path, &keys::GROUP_ID.path],
            format!("the internal topic \"{topic}\" {problem}"),
        );
    }
    if kafka.join == Join::All
        && let Err(problem) = topic_name(&kafka.owner_topic())
    {
        reader.conflict(
            &[&keys::JOIN.path, &keys::GROUP_ID.path],
            format!(
                "the topic of the owner, \"{}\", {problem}",
                kafka.owner_topic()
            ),
        );
    }
    if let Some(topic) = &kafka.dead_letter_topic
        && [&kafka.search_topic, &kafka.feedback_topic].contains(&topic)
    {
        reader.problem(
            &keys::DEAD_LETTER_TOPIC.path,
            format!("\"{topic}\" is also consumed: rejected records would be read again for ever"),
        );
    }
    kafka
}

/// Id by which forwarders distribute records. Reports formats whose records hold several events, which can
/// belong to several partitions.
pub(super) fn repartition_key(
    reader: &mut Reader,
    kafka: &Settings,
    formats: &Formats,
) -> RepartitionKey {
    let key = reader.get(&keys::REPARTITION_KEY);
    let kinds = [
        (Kind::Search, &keys::SEARCH_FORMAT),
        (Kind::Feedback, &keys::FEEDBACK_FORMAT),
    ];
    for (kind, format) in kinds {
        let holds_several = formats.of(kind).is_otlp()
            || (formats.mapped[kind.index()].as_ref()).is_some_and(|it| it.holds_several(kind));
        if kafka.join == Join::Repartition && holds_several && kafka.kinds().contains(&kind) {
            let text = "a record can hold several events, and repartition copies each record to one \
                        partition; use kafka.join: owner, or partition with equal keys";
            reader.conflict(&[&keys::JOIN.path, &format.path], text);
        }
    }
    if kafka.join != Join::Repartition && key != RepartitionKey::default() {
        let text = "has no effect without kafka.join: repartition; remove it";
        reader.problem(&keys::REPARTITION_KEY.path, text);
    }
    key
}

/// Name of this process: its host, in Kubernetes with the namespace of the pod. Other characters than those of
/// host names are left out.
fn owner() -> String {
    let host = std::env::var("HOSTNAME").ok();
    let host = host.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let names = [std::env::var("POD_NAMESPACE").ok(), host];
    let names: Vec<String> = (names.into_iter().flatten())
        .map(|name| {
            let is_kept = |it: &char| it.is_ascii_alphanumeric() || "-._".contains(*it);
            name.chars().filter(is_kept).take(64).collect()
        })
        .collect();
    names.join("/")
}

/// State topic of the fleet.
pub(super) fn state(reader: &mut Reader, kafka: &Settings) -> Option<State> {
    let topic = reader.find(&keys::STATE_TOPIC);
    let interval = reader.get(&keys::STATE_INTERVAL);
    let topic: String = topic?;
    let used = [&kafka.search_topic, &kafka.feedback_topic];
    let mut used = used.into_iter().chain(&kafka.dead_letter_topic);
    if used.any(|it| *it == topic) {
        let text = format!("\"{topic}\" holds other records; name a topic of its own");
        reader.problem(&keys::STATE_TOPIC.path, text);
    }
    Some(State { topic, interval })
}

fn properties(reader: &mut Reader) -> Properties {
    let properties = reader.names(&keys::PROPERTIES);
    for name in properties.keys() {
        if let Some(reason) = Properties::reserved(name) {
            let path = format!("{}.{name}", keys::PROPERTIES.path);
            reader.problem(&path, format!("cannot be set: {reason}"));
        }
    }
    properties.into_iter().collect()
}
