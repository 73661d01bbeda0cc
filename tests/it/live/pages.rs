//! Commands of the pages for a running deployment: each line runs as it stands there, with the addresses of a
//! real one.

use std::fs::{self, File};
use std::path::Path;

use rankgauge_core::time::Millis;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::stream::Stream;
use super::{CONSUMED, SOON, scrape_when_received, settings, start, yaml};
use crate::documents::commands::{Block, blocks, lines, shell};
use crate::harness::kafka::broker;
use crate::harness::{free_port, wait_until};

/// Page and beginning of each block.
const BLOCKS: [(&str, &str); 16] = [
    ("README.md", "rankgauge check"),
    ("docs/api.md", "curl"),
    ("docs/gold.md", "rankgauge gold suggest-aliases --config"),
    ("docs/install.md", "rankgauge check"),
    ("docs/operations.md", "rankgauge ctl"),
    ("docs/operations.md", "curl -X POST"),
    ("docs/troubleshooting.md", "rankgauge check"),
    ("docs/connect/access-log.md", "rankgauge tail"),
    ("docs/connect/go.md", "rankgauge tail"),
    ("docs/connect/java.md", "rankgauge tail"),
    ("docs/connect/javascript.md", "rankgauge tail"),
    ("docs/connect/kafka-connect.md", "rankgauge tail"),
    ("docs/connect/opentelemetry.md", "rankgauge tail"),
    ("docs/connect/python.md", "rankgauge tail"),
    ("docs/connect/rust.md", "rankgauge tail"),
    ("docs/connect/ubi.md", "rankgauge tail"),
];

/// Number of the entry of a block.
pub(crate) fn position(block: &Block) -> Option<usize> {
    BLOCKS
        .iter()
        .position(|(page, begin)| block.page == *page && block.text.starts_with(begin))
}

/// Commands that run until they are stopped, and what they write when they work.
const ENDLESS: [(&str, &str); 2] = [
    ("rankgauge run", "serving metrics"),
    ("rankgauge tail", "judged"),
];

#[test]
fn commands_for_a_running_deployment_do_what_the_pages_show() {
    let mut stream = Stream::on_new_topics(broker(), 2, 10.0, Millis(60_000));
    stream.produce(broker(), 300);
    let mut settings = settings(broker(), &stream);
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["rankgauge.yaml", "my.yaml"] {
        fs::write(folder.path().join(name), yaml(&settings)).expect("a file");
    }
    // A failed request of curl is an error.
    fs::write(folder.path().join(".curlrc"), "fail\nsilent\nshow-error\n").expect("a file");
    settings["admin"] = json!({"listen": format!("127.0.0.1:{}", free_port())});
    let sidecar = start(&settings);
    scrape_when_received(&sidecar, stream.produced());
    let admin = sidecar.admin_address().to_string();
    let metrics = sidecar.address().to_string();

    let mut found = Vec::new();
    let mut done = Vec::new();
    for block in blocks("sh") {
        let Some(position) = position(&block) else {
            continue;
        };
        found.push(position);
        for line in lines(&block.text) {
            if done.contains(&line) {
                continue;
            }
            let command = line
                .replace("localhost:9469", &admin)
                .replace("localhost:9468", &metrics);
            run(&block.page, &command, folder.path(), &admin);
            done.push(line);
        }
    }
    found.sort_unstable();
    assert_eq!(found, (0..BLOCKS.len()).collect::<Vec<_>>());
}

/// Runs a line of a page, in a shell.
fn run(page: &str, line: &str, folder: &Path, admin: &str) {
    let endless = ENDLESS.iter().find(|(begin, _)| line.starts_with(begin));
    let log = folder.join("output");
    let output = File::create(&log).expect("a file");
    // A second process has listeners of its own.
    let admin = if line.starts_with("rankgauge run") {
        "127.0.0.1:0"
    } else {
        admin
    };
    let mut process = shell(&format!("exec {line}"), folder)
        .env("CURL_HOME", folder)
        .env("RANKGAUGE__ADMIN__LISTEN", admin)
        .env("RANKGAUGE__METRICS__LISTEN", "127.0.0.1:0")
        .stdout(output.try_clone().expect("a file"))
        .stderr(output)
        .spawn()
        .expect("a shell");
    let written = || fs::read_to_string(&log).expect("text");
    if let Some((_, works)) = endless {
        wait_until(SOON, works, || {
            let ended = process.try_wait().expect("a process");
            assert_eq!(ended, None, "{page}: `{line}` ends: {}", written());
            written().contains(works).then_some(())
        });
        kill_process(Pid::from_child(&process), Signal::INT).expect("a process");
    }
    let status = wait_until(CONSUMED, line, || process.try_wait().expect("a process"));
    assert!(
        status.success(),
        "{page}: `{line}` ends with {status}: {}",
        written()
    );
}
