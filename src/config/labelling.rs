//! Configuration of the live estimate from labels, the section `labelling`.

use super::checked::Labelling;
use super::keys;
use super::reader::Reader;
use rankgauge_core::engine::position::FeedbackTopic;
use rankgauge_core::engine::settings;
use rankgauge_core::labelling::{LabelMeasure, SigningKey};
use rankgauge_core::number::real_length;

/// Reads the section; `None` without a topic. The labels of a day are those of all workers.
pub(super) fn read(
    reader: &mut Reader,
    kafka: &rankgauge_kafka::Settings,
) -> Option<(Labelling, settings::Labelling)> {
    let topic = reader.find(&keys::LABEL_TOPIC)?;
    if kafka.topics().feedback == FeedbackTopic::None {
        reader.conflict(
            &[&keys::LABEL_TOPIC.path, &keys::FEEDBACK_TOPIC.path],
            "labels come back as judgements of the feedback topic; name one in kafka.feedback_topic",
        );
    }
    if [&kafka.search_topic, &kafka.feedback_topic].contains(&&topic) {
        let text = format!("\"{topic}\" is also consumed: requests are no events");
        reader.problem(&keys::LABEL_TOPIC.path, text);
    }
    let mut measures: Vec<LabelMeasure> = Vec::new();
    for measure in reader.values(&keys::LABEL_MEASURES) {
        if !measures.contains(&measure) {
            measures.push(measure);
        }
    }
    let workers = real_length(reader.get(&keys::WORKERS).max(1));
    let engine = settings::Labelling {
        measures,
        per_day: real_length(reader.get(&keys::LABELS_PER_DAY)) / workers,
        deadline: reader.get(&keys::LABEL_DEADLINE).into(),
        window: reader.get(&keys::LABEL_WINDOW).into(),
        seed: u64::try_from(reader.get(&keys::LABEL_SEED)).unwrap_or_default(),
        scale_max: real_length(reader.get(&keys::LABEL_SCALE)),
        key: SigningKey::default(),
    };
    let labelling = Labelling {
        topic,
        key_file: reader.find(&keys::LABEL_KEY_FILE),
    };
    Some((labelling, engine))
}
