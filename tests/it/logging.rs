//! Log of a command: one flat object per line in JSON, and no effect on the process if it cannot be
//! written.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvError};
use std::time::{Duration, Instant};

use rankgauge::log::{LogQueue, MAX_LINES};
use serde_json::{Map, Value};

use crate::harness::sidecar::Exposition;
use crate::harness::{free_port, http_get, wait_until};

/// Log of `replay` at the level `debug`, with these lines of search events.
fn log_of_replay(searches: &str) -> Vec<Map<String, Value>> {
    log_of_replay_with(None, searches)
}

/// The same with directives in `RANKGAUGE_LOG`.
fn log_of_replay_with(directives: Option<&str>, searches: &str) -> Vec<Map<String, Value>> {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases/duplicate-and-late");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let events = folder.path().join("search.jsonl");
    fs::write(&events, searches).expect("a file of search events");
    let output = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .env_remove("RANKGAUGE_LOG")
        .envs(directives.map(|directives| ("RANKGAUGE_LOG", directives)))
        .arg("replay")
        .arg("--config")
        .arg(case.join("config.yaml"))
        .args(["--set", "log.format=json", "--set", "log.level=debug"])
        .args(["--set", "gold.paths=gold.json"])
        .arg("--search")
        .arg(&events)
        .current_dir(&case)
        .output()
        .expect("the binary runs");
    let log = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success(), "{log}");
    let lines = log.lines().map(|line| {
        serde_json::from_str(line).unwrap_or_else(|problem| panic!("{problem}: {line}"))
    });
    lines.collect()
}

#[test]
fn directives_in_the_environment_change_the_levels_of_their_targets_only() {
    let lines = |directives| log_of_replay_with(directives, "not JSON\n").len();
    let all = lines(None);
    assert!(all > 0);
    assert_eq!(lines(Some("")), all);
    assert_eq!(lines(Some("another_target=trace")), all);
    // One more line states that they are ignored.
    assert_eq!(lines(Some("rankgauge=loud")), all + 1);
    assert_eq!(lines(Some("off")), 0);
    assert_eq!(lines(Some("rankgauge=off")), 0);
}

#[test]
fn every_line_of_a_json_log_is_one_flat_object() {
    let lines = log_of_replay("no JSON\n{\"query_id\": \"s1\"}\n");
    // One line for each record, and the warning that most of them are invalid.
    assert_eq!(lines.len(), 3, "{lines:?}");
    for line in &lines {
        for member in ["timestamp", "level", "target", "message"] {
            assert!(
                line.get(member).is_some_and(Value::is_string),
                "{member}: {line:?}"
            );
        }
        assert!(!line.contains_key("fields"), "{line:?}");
    }
}

#[test]
fn the_fields_of_an_event_are_members_of_its_line() {
    let lines = log_of_replay("no JSON\n");
    let [line, warning] = lines.as_slice() else {
        panic!("one rejected record gives one line, and a warning follows: {lines:?}");
    };
    assert_eq!(warning["level"], "WARN");
    assert_eq!(warning["invalid"], 1);
    assert_eq!(line["message"], "record rejected");
    assert_eq!(line["level"], "DEBUG");
    assert_eq!(line["target"], "rankgauge::ingest::replay");
    assert_eq!(line["record"], 1);
    let path = line["path"].as_str().expect("a path");
    assert!(path.ends_with("search.jsonl"), "{path}");
    assert!(line["error"].is_string(), "{line:?}");
}

/// Sidecar whose standard error is not read, without a broker. Dropping it ends the process.
struct Unlogged {
    process: Child,
    port: u16,
}

impl Unlogged {
    fn start(errors: Stdio) -> Self {
        let port = free_port();
        let process = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
            .env_remove("RANKGAUGE_LOG")
            .args(["run", "--set", "kafka.brokers=127.0.0.1:1"])
            .args(["--set", "log.level=debug", "--set", "admin.listen=none"])
            .arg("--set")
            .arg(format!("metrics.listen=127.0.0.1:{port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .expect("the binary runs");
        Self { process, port }
    }

    fn metrics(&self) -> Option<Exposition> {
        let (_, body) = http_get(&format!("http://127.0.0.1:{}/metrics", self.port)).ok()?;
        Exposition::parse(&body).ok()
    }

    /// Sends SIGTERM and returns the exit status.
    fn terminate(&mut self) -> ExitStatus {
        let sent = Command::new("sh")
            .args(["-c", r#"kill -s TERM "$1""#, "sh"])
            .arg(self.process.id().to_string())
            .status();
        assert!(sent.is_ok_and(|status| status.success()));
        wait_until(LIMIT, "the sidecar ends after SIGTERM", || {
            self.process.try_wait().expect("a status")
        })
    }
}

impl Drop for Unlogged {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Time limit for a start or a stop on a busy machine.
const LIMIT: Duration = Duration::from_mins(1);

/// Starts a sidecar with this standard error, waits until it reports lost lines, and stops it.
fn lines_are_lost_and_counted(errors: Stdio) {
    let mut sidecar = Unlogged::start(errors);
    wait_until(LIMIT, "lost log lines are counted", || {
        let ended = sidecar.process.try_wait().expect("a status");
        assert_eq!(ended, None, "the sidecar ended");
        let lost = sidecar
            .metrics()?
            .value("rankgauge_log_lines_lost_total", &[])
            .expect("the family is exposed");
        (lost > 0.5).then_some(())
    });
    let status = sidecar.terminate();
    assert!(status.success(), "{status}");
}

#[test]
fn sidecar_runs_while_the_disk_of_its_log_is_full() {
    let full = fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("the device is there");
    lines_are_lost_and_counted(Stdio::from(full));
}

#[test]
fn sidecar_runs_after_the_reader_of_its_log_has_ended() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    lines_are_lost_and_counted(Stdio::from(writer));
}

/// Output that blocks every write until the test permits it.
struct Blocked {
    permits: mpsc::Receiver<()>,
    written: mpsc::Sender<Vec<u8>>,
}

impl Write for Blocked {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        // A dropped sender permits every write.
        let (Ok(()) | Err(RecvError)) = self.permits.recv();
        drop(self.written.send(line.to_vec()));
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn output_that_blocks_loses_new_lines_and_stalls_the_process_only_once() {
    const EXTRA: usize = 1_000;
    let (permit, permits) = mpsc::channel();
    let (written, lines) = mpsc::channel();
    let queue = LogQueue::start(Blocked { permits, written }).expect("a thread");
    queue.push(b"first");
    // The writer has taken the first line and is blocked.
    permit.send(()).expect("the writer runs");
    assert_eq!(lines.recv().expect("a line"), b"first");
    let started = Instant::now();
    for number in 0..=MAX_LINES + EXTRA {
        queue.push(number.to_string().as_bytes());
    }
    let stalled = started.elapsed();
    assert!(stalled < Duration::from_secs(5), "{stalled:?}");
    // The writer may hold one line outside of the queue.
    let lost = usize::try_from(queue.lost().load(Ordering::Relaxed)).expect("few lines");
    assert!((EXTRA..=EXTRA + 1).contains(&lost), "{lost}");

    drop(permit);

    for number in 0..=MAX_LINES + EXTRA - lost {
        let line = lines.recv().expect("a line");
        assert_eq!(String::from_utf8_lossy(&line), number.to_string());
    }
    queue.push(b"afterwards");
    assert_eq!(lines.recv().expect("a line"), b"afterwards");
}

#[test]
fn flush_waits_for_all_lines_of_a_working_output() {
    let (permit, permits) = mpsc::channel();
    let (written, lines) = mpsc::channel();
    drop(permit);
    let queue = LogQueue::start(Blocked { permits, written }).expect("a thread");
    for number in 0..100 {
        queue.push(number.to_string().as_bytes());
    }
    queue.flush();
    assert_eq!(lines.try_iter().count(), 100);
    assert_eq!(queue.lost().load(Ordering::Relaxed), 0);
}
