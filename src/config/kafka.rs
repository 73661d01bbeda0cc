//! Configuration of Kafka, the section `kafka`: cluster, topics and librdkafka properties.
//!
//! librdkafka knows its properties; [`Settings::problems`] checks their names. Only properties that
//! the sidecar sets itself are rejected here.

use rankgauge_core::engine::position::Join;
use rankgauge_kafka::settings::{Properties, Settings, topic_name};

use super::reader::Reader;
use super::{State, keys};

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
        properties: properties(reader),
    };
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
