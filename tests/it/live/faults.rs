//! Disk faults and kills between any two system calls of a checkpoint.

use std::path::Path;
use std::time::Duration;

use rankgauge::checkpoint::folder::look;
use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use serde_json::Value;

use super::recovery::{assert_not_less, durable};
use super::stream::Stream;
use super::{
    CONSUMED, Counters, SHUTDOWN, SOON, assert_same, count, counted, counters, received, replayed,
    scrape_when_received, settings, start, wait_until_counted, yaml,
};
use crate::harness::faults::Faults;
use crate::harness::kafka::broker;
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;

/// Error numbers from `errno.h` on Linux.
const EIO: u8 = 5;
const ENOSPC: u8 = 28;
const EROFS: u8 = 30;

/// Calls of a checkpoint that must succeed, in order. A failed close does not matter: the file is
/// already on disk.
const CALLS: [&str; 8] = [
    "open worker-0.draft",
    "write worker-0.draft",
    "fsync worker-0.draft",
    "close worker-0.draft",
    "rename worker-0.checkpoint",
    "open .",
    "fsync .",
    "close .",
];

/// Stream, and settings for a sidecar with a checkpoint folder.
fn stage() -> (Stream, Value) {
    let stream = Stream::on_new_topics(broker(), 4, 100.0, Millis(3_600_000));
    let mut settings = settings(broker(), &stream);
    durable(&mut settings, &stream.folder().join("checkpoints"));
    (stream, settings)
}

/// Checkpoint folder in `settings`.
fn folder(settings: &Value) -> &Path {
    let folder = settings["checkpoint"]["folder"].as_str();
    Path::new(folder.expect("invariant: settings name a folder"))
}

/// Numbers of successful and failed checkpoint writes.
fn attempts(sidecar: &Sidecar) -> [u64; 2] {
    let exposition = sidecar.metrics();
    ["success", "failure"].map(|result| {
        count(
            &exposition,
            "rankgauge_checkpoints_total",
            &[("result", result)],
        )
    })
}

/// Counted records of each kind according to the checkpoints in `folder`.
fn on_disk(folder: &Path) -> [u64; 2] {
    let contents = look(folder);
    assert!(contents.rejected.is_empty(), "{:?}", contents.rejected);
    assert!(contents.list_error.is_none(), "{:?}", contents.list_error);
    let points = || {
        let checkpoints = contents.checkpoints.iter();
        checkpoints.flat_map(|checkpoint| &checkpoint.points)
    };
    Kind::ALL.map(|kind| {
        let counted = points().filter(|point| point.kind == kind);
        let counted = counted.map(|point| u64::try_from(point.counted).expect("not negative"));
        counted.sum()
    })
}

/// Number of occurrences of `text` in the log.
fn said(sidecar: &Sidecar, text: &str) -> usize {
    sidecar.log().matches(text).count()
}

#[test]
fn kill_before_any_checkpoint_call_or_around_a_commit_is_exactly_once() {
    let (mut stream, settings) = stage();
    let faults = Faults::below(folder(&settings));
    let sidecar = faults.start(&yaml(&settings));
    stream.produce(broker(), 1_000);
    scrape_when_received(&sidecar, stream.produced());
    let calls = faults.calls_of_a_checkpoint();
    let mut order: Vec<&str> = calls.iter().map(|call| &*call.what).collect();
    order.dedup();
    assert_eq!(
        order, CALLS,
        "write, fsync, rename, fsync of the folder: durable, and all or nothing"
    );
    let mut seen = counters(&sidecar.metrics());
    drop(sidecar);

    let mut kill = |plan: &str| {
        let sidecar = faults.start(&yaml(&settings));
        let mut look = |sidecar: &Sidecar| {
            let found = counters(&sidecar.metrics());
            assert_not_less(&found, &seen);
            seen = found;
        };
        look(&sidecar);
        faults.plan(plan);
        let reached = wait_until(SOON, plan, || {
            stream.produce(broker(), 100);
            look(&sidecar);
            faults.reported().into_iter().next()
        });
        // The rest of the process continues, so the records counted from here on are not on disk.
        stream.produce(broker(), 100);
        look(&sidecar);
        drop(sidecar);
        faults.clear();
        reached
    };
    for (plan, at) in [
        ("commit before", "sendmsg commit"),
        ("commit after", "sent commit"),
    ] {
        assert_eq!(kill(plan).what, at);
    }
    // The open call, and all write calls.
    for number in 0.. {
        let reached = kill(&format!("hold {number}"));
        if !CALLS[..2].contains(&&*reached.what) {
            break;
        }
        assert_eq!(reached.number, number);
    }
    for call in &CALLS[2..] {
        assert_eq!(kill(&format!("hold {call}")).what, *call);
    }
    // This checkpoint was published before the next one starts.
    let reached = kill("hold 1000");
    assert_eq!((reached.number, &*reached.what), (0, CALLS[0]));
    assert_ends_as_replay(&stream, &settings, &seen);
}

/// Starts a sidecar on a working disk. Its final counters equal those of `replay`.
fn assert_ends_as_replay(stream: &Stream, settings: &Value, seen: &Counters) {
    let sidecar = start(settings);
    wait_until_counted(broker(), settings, stream);
    let exposition = scrape_when_received(&sidecar, stream.produced());
    let found = counters(&exposition);
    assert_not_less(&found, seen);
    assert_same(&found, &replayed(settings, stream, &exposition));
}

/// Asserts that, while `plan` makes checkpoint writes fail, the sidecar keeps counting, logs the
/// failure, and commits only offsets that are on disk. Afterwards, it writes checkpoints again.
fn assert_outlives(
    plan: &str,
    faults: &Faults,
    sidecar: &Sidecar,
    stream: &mut Stream,
    settings: &Value,
) {
    const FAILS: &str = "checkpoint write failed; offsets are not committed";
    const WORKS: &str = "checkpoint writes recovered";
    let before = stream.produced();
    let [_, failures] = attempts(sidecar);
    let logged = [FAILS, WORKS].map(|text| said(sidecar, text));

    faults.plan(plan);
    wait_until(SOON, plan, || {
        (attempts(sidecar)[1] > failures).then_some(())
    });
    stream.produce(broker(), 200);
    scrape_when_received(sidecar, stream.produced());
    let failed = attempts(sidecar)[1];
    wait_until(SOON, plan, || {
        (attempts(sidecar)[1] > failed + 1).then_some(())
    });
    assert_eq!(sidecar.get("/healthz"), (200, "ok\n".to_owned()), "{plan}");
    assert_eq!(said(sidecar, FAILS), logged[0] + 1, "{plan}");
    let committed = counted(broker(), settings, stream);
    assert_eq!(committed, before, "{plan}: committed what is not on disk");
    let durable = on_disk(folder(settings));
    for kind in 0..durable.len() {
        assert!(durable[kind] >= before[kind], "{plan}: {durable:?}");
    }

    let [written, _] = attempts(sidecar);
    faults.clear();
    wait_until(SOON, "checkpoints are written again", || {
        (attempts(sidecar)[0] > written).then_some(())
    });
    wait_until_counted(broker(), settings, stream);
    assert_eq!(on_disk(folder(settings)), stream.produced(), "{plan}");
    assert_eq!(said(sidecar, WORKS), logged[1] + 1, "{plan}");
}

#[test]
fn disk_failure_at_any_call_stops_commits_but_not_counting_or_scrapes() {
    let (mut stream, settings) = stage();
    let faults = Faults::below(folder(&settings));
    let sidecar = faults.start(&yaml(&settings));
    stream.produce(broker(), 1_000);
    scrape_when_received(&sidecar, stream.produced());
    wait_until_counted(broker(), &settings, &stream);
    let calls = faults.calls_of_a_checkpoint();

    // The disk is full from one call on. The last call only closes a file that is on disk.
    for call in &calls[..calls.len() - 1] {
        let plan = format!("from {} {ENOSPC}", call.number);
        assert_outlives(&plan, &faults, &sidecar, &mut stream, &settings);
    }
    // One call fails, and the cleanup after it succeeds.
    let kinds = CALLS.iter().filter(|call| !call.starts_with("close"));
    for (call, error) in kinds.zip([EROFS, EIO].into_iter().cycle()) {
        let plan = format!("only {call} {error}");
        assert_outlives(&plan, &faults, &sidecar, &mut stream, &settings);
    }
    assert_outlives("readonly", &faults, &sidecar, &mut stream, &settings);

    // A short write is not a failure.
    let [_, failures] = attempts(&sidecar);
    faults.plan("short 7");
    stream.produce(broker(), 200);
    wait_until_counted(broker(), &settings, &stream);
    assert_eq!(on_disk(folder(&settings)), stream.produced());
    assert_eq!(attempts(&sidecar)[1], failures);

    // After a kill while writes fail, the sidecar counts again from the last checkpoint.
    faults.plan(&format!("from 0 {ENOSPC}"));
    stream.produce(broker(), 500);
    scrape_when_received(&sidecar, stream.produced());
    drop(sidecar);
    assert_ends_as_replay(&stream, &settings, &Counters::new());
}

#[test]
fn read_only_checkpoint_folder_is_used_once_it_becomes_writable() {
    let (mut stream, settings) = stage();
    let faults = Faults::below(folder(&settings));
    faults.plan("readonly");
    let sidecar = faults.start(&yaml(&settings));
    stream.produce(broker(), 500);
    scrape_when_received(&sidecar, stream.produced());
    assert!(attempts(&sidecar)[1] > 0);
    assert_eq!(attempts(&sidecar)[0], 0);
    let committed: u64 = counted(broker(), &settings, &stream).iter().sum();
    assert_eq!(committed, 0, "nothing is on disk");
    assert!(!folder(&settings).exists());
    let log = sidecar.log();
    assert!(log.contains("Read-only file system"), "{log}");

    faults.clear();
    wait_until_counted(broker(), &settings, &stream);
    assert_eq!(on_disk(folder(&settings)), stream.produced());
    // The process holds the lock of the folder from then on.
    let second = Sidecar::refused(&yaml(&settings));
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(
        said.contains("another process uses the checkpoint folder"),
        "{said}"
    );
    drop(sidecar);
    assert_ends_as_replay(&stream, &settings, &Counters::new());
}

#[test]
fn slow_disk_delays_exposed_values_but_not_counting_or_shutdown() {
    let (mut stream, settings) = stage();
    let faults = Faults::below(folder(&settings));
    let mut sidecar = faults.start(&yaml(&settings));
    stream.produce(broker(), 500);
    scrape_when_received(&sidecar, stream.produced());
    wait_until_counted(broker(), &settings, &stream);

    // Two delays per checkpoint: for the file and for the folder.
    faults.plan("slow 2000");
    let seen = counters(&sidecar.metrics());
    stream.produce(broker(), 500);
    wait_until(CONSUMED, "what was counted is on disk, and visible", || {
        assert_eq!(sidecar.get("/healthz").0, 200);
        let exposition = sidecar.metrics();
        assert_not_less(&counters(&exposition), &seen);
        (received(&exposition) == stream.produced()).then_some(())
    });
    let exposition = sidecar.metrics();
    let took = exposition.value("rankgauge_checkpoint_duration_seconds", &[("worker", "0")]);
    assert!(took >= Some(4.0), "{took:?}");

    stream.produce(broker(), 500);
    let status = sidecar.terminate(SHUTDOWN + Duration::from_secs(10));
    assert!(status.success(), "{status}: {}", sidecar.log());
    drop(sidecar);
    assert_ends_as_replay(&stream, &settings, &counters(&exposition));
}
