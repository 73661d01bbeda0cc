//! Restart with more or fewer workers: the replica continues with the existing checkpoints.

use rankgauge_core::time::Millis;
use serde_json::json;

use super::stream::Stream;
use super::{
    SHUTDOWN, assert_same, counters, replayed, scrape_when_received, settings, start,
    wait_until_counted,
};
use crate::harness::kafka::broker;

#[test]
fn counters_survive_a_change_of_the_number_of_workers() {
    let mut stream = Stream::on_new_topics(broker(), 4, 100.0, Millis(600_000));
    let mut settings = settings(broker(), &stream);
    let folder = stream.folder().join("checkpoints");
    settings["checkpoint"] = json!({"folder": folder});
    let files = || {
        let mut names: Vec<_> = std::fs::read_dir(&folder)
            .expect("the folder is there")
            .map(|file| file.expect("a file").file_name())
            .filter_map(|name| name.into_string().ok())
            .filter(|name| name.ends_with(".checkpoint"))
            .collect();
        names.sort();
        names
    };
    for (workers, expected) in [(3, 3), (1, 1), (2, 2), (4, 4)] {
        settings["workers"] = json!(workers);
        let mut sidecar = start(&settings);
        stream.produce(broker(), 1_000);
        wait_until_counted(broker(), &settings, &stream);
        let exposition = scrape_when_received(&sidecar, stream.produced());
        assert_same(
            &counters(&exposition),
            &replayed(&settings, &stream, &exposition),
        );
        let status = sidecar.terminate(SHUTDOWN);
        assert!(status.success(), "{status}");
        assert_eq!(files().len(), expected, "{:?}", files());
    }
}
