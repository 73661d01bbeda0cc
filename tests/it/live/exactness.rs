//! Live counters equal those of `replay` on the same records, to the last digit.

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::json;

use super::stream::Stream;
use super::{
    assert_same, counters, pending, replayed, scrape_when_received, settings, start,
    wait_until_counted,
};
use crate::harness::kafka::broker;

const SEARCHES: usize = 200_000;
const PARTITIONS: u16 = 8;

#[test]
fn live_counters_of_200_000_searches_equal_replay() {
    let mut stream = Stream::on_new_topics(broker(), PARTITIONS, 200.0, Millis(1_100_000));
    stream.produce(broker(), SEARCHES);
    let mut settings = settings(broker(), &stream);
    settings["workers"] = json!(2);
    let sidecar = start(&settings);

    wait_until_counted(broker(), &settings, &stream);
    let exposition = scrape_when_received(&sidecar, stream.produced());

    // The stream is longer than the feedback window, so most searches are finalised.
    let searches = stream.produced()[Kind::Search.index()];
    assert!(pending(&exposition, Kind::Search) < searches / 5);
    let live = counters(&exposition);
    assert!(live.len() > 2_000, "only {} series", live.len());
    assert_same(&live, &replayed(&settings, &stream, &exposition));
}
