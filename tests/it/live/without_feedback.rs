//! A system without feedback: `kafka.feedback_topic: none`.

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::json;

use super::stream::Stream;
use super::{CONSUMED, SHUTDOWN, count, settings, start};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::wait_until;

#[test]
fn searches_are_judged_finalised_and_committed_without_a_feedback_topic() {
    let topic = unique_name("alone");
    broker().create_topic(&topic, 2);
    // No topic has the other name.
    let topics = [topic.clone(), unique_name("absent")];
    let mut stream = Stream::new(topics, 2, 50.0, Millis(3_600_000));
    let mut settings = settings(broker(), &stream);
    settings["kafka"]["feedback_topic"] = json!("none");
    settings["engine"] =
        json!({"out_of_orderness": "5s", "feedback_window": "6s", "idle_timeout": "1s"});
    settings["measures"] = json!(["RR", "ZeroResult"]);
    let searches: Vec<_> = stream
        .take(400)
        .into_iter()
        .filter(|record| record.kind == Kind::Search)
        .collect();
    let number = u64::try_from(searches.len()).expect("few");
    stream.send(broker(), &searches);
    let mut sidecar = start(&settings);
    // Both partitions are idle after the last search: its window passes by the wall clock.
    let of_topic = [("topic", topic.as_str()), ("outcome", "used")];
    let exposition = wait_until(CONSUMED, "every search has its outcome", || {
        let exposition = sidecar.metrics();
        let used = exposition.value("rankgauge_records_total", &of_topic)?;
        let pending = exposition.value("rankgauge_events_pending", &[("kind", "search")]);
        (used > 0.0 && pending == Some(0.0)).then_some(exposition)
    });
    assert_eq!(
        count(&exposition, "rankgauge_records_total", &of_topic),
        number
    );
    let judged = count(
        &exposition,
        "rankgauge_events_total",
        &[("outcome", "judged")],
    );
    assert!(judged > number / 2, "{judged} of {number}");
    assert_eq!(sidecar.get("/readyz").0, 200);
    assert!(sidecar.terminate(SHUTDOWN).success());
    let group = settings["kafka"]["group_id"].as_str().expect("a group");
    let committed = broker().committed_offsets(group, &topic);
    assert_eq!(committed.len(), 2, "{committed:?}");
}
