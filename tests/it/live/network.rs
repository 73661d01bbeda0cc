//! Network cut for longer than the session time-out of the group, and restored.

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::json;

use super::stream::Stream;
use super::{
    SOON, assert_same, counters, replayed, scrape_when_received, settings, start,
    wait_until_counted,
};
use crate::harness::gate::Gate;
use crate::harness::kafka::Broker;
use crate::harness::{free_port, wait_until};

#[test]
fn network_cut_longer_than_the_session_timeout_is_exactly_once() {
    let port = free_port();
    let mut broker = Broker::prepared_behind(Some(port));
    broker.restart();
    let gate = Gate::open(port, broker.behind_gate());
    let mut stream = Stream::on_new_topics(&broker, 4, 100.0, Millis(600_000));
    let mut settings = settings(&broker, &stream);
    settings["kafka"]["brokers"] = json!(format!("127.0.0.1:{port}"));
    settings["checkpoint"] = json!({"folder": stream.folder().join("checkpoints")});
    let properties = &mut settings["kafka"]["properties"];
    properties["session.timeout.ms"] = json!("6000");
    // A connection without a response is closed after this time.
    properties["socket.timeout.ms"] = json!("3000");
    let group = settings["kafka"]["group_id"]
        .as_str()
        .expect("a name")
        .to_owned();
    let sidecar = start(&settings);
    stream.produce(&broker, 1_500);
    wait_until_counted(&broker, &settings, &stream);
    stream.produce(&broker, 1_500);

    gate.cut();

    stream.produce(&broker, 1_500);
    let connected = || {
        sidecar
            .metrics()
            .value("rankgauge_kafka_connected", &[("worker", "0")])
    };
    wait_until(SOON, "the group gives it up, and it notices", || {
        assert_eq!(sidecar.get("/healthz").0, 200, "{}", sidecar.log());
        let gone = broker.group_members(&group) == 0;
        (gone && connected().is_some_and(|connected| connected < 0.5)).then_some(())
    });

    gate.repair();

    wait_until_counted(&broker, &settings, &stream);
    let exposition = scrape_when_received(&sidecar, stream.produced());
    assert_same(
        &counters(&exposition),
        &replayed(&settings, &stream, &exposition),
    );
    wait_until(SOON, "it is connected and ready again", || {
        let connected = connected().is_some_and(|connected| connected > 0.5);
        (connected && sidecar.get("/readyz").0 == 200).then_some(())
    });
    assert!(stream.produced()[Kind::Search.index()] > 4_000);
}
