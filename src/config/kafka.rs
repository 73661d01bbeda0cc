//! Configuration of Kafka, the section `kafka`: cluster, topics and librdkafka properties.
//!
//! librdkafka knows its properties; [`Settings::problems`] checks their names. Only properties that
//! the sidecar sets itself are rejected here.

use rankgauge_kafka::settings::{Properties, Settings, Start, topic_name};

use super::reader::Reader;

pub(super) fn read(reader: &mut Reader) -> Settings {
    let kafka = Settings {
        brokers: brokers(reader),
        group_id: reader.text("kafka.group_id", "rankgauge", |text| {
            if text.trim().is_empty() {
                Err("is not a group id".to_owned())
            } else {
                Ok(())
            }
        }),
        search_topic: reader.text("kafka.search_topic", "search.log", topic_name),
        feedback_topic: reader.text("kafka.feedback_topic", "search.feedback", topic_name),
        dead_letter_topic: reader.parsed("kafka.dead_letter_topic", |text| {
            topic_name(text).map(|()| text.to_owned())
        }),
        start: reader.choice(
            "kafka.start",
            Start::Latest,
            &[("earliest", Start::Earliest), ("latest", Start::Latest)],
        ),
        properties: properties(reader),
    };
    if kafka.search_topic == kafka.feedback_topic {
        reader.conflict(
            &["kafka.feedback_topic", "kafka.search_topic"],
            format!(
                "\"{}\" is the search topic and the feedback topic",
                kafka.search_topic
            ),
        );
    }
    if let Some(topic) = &kafka.dead_letter_topic
        && [&kafka.search_topic, &kafka.feedback_topic].contains(&topic)
    {
        reader.problem(
            "kafka.dead_letter_topic",
            format!("\"{topic}\" is also consumed: rejected records would be read again for ever"),
        );
    }
    kafka
}

fn brokers(reader: &mut Reader) -> String {
    let path = "kafka.brokers";
    let mut brokers = Vec::new();
    for (element, broker) in reader.list(path, &["localhost:9092"]) {
        if broker.is_empty() || broker.contains(char::is_whitespace) {
            reader.problem(
                &element,
                format!("\"{broker}\" is not a broker; write host:port"),
            );
        } else {
            brokers.push(broker);
        }
    }
    if brokers.is_empty() {
        reader.problem(path, "names no broker; write at least one host:port");
    }
    brokers.join(",")
}

fn properties(reader: &mut Reader) -> Properties {
    let names = reader.names("kafka.properties").into_iter();
    let properties = names.filter_map(|name| {
        let path = format!("kafka.properties.{name}");
        let value = reader.scalar(&path);
        if let Some(reason) = Properties::reserved(&name) {
            reader.problem(&path, format!("cannot be set: {reason}"));
            return None;
        }
        value.map(|value| (name, value))
    });
    properties.collect()
}
