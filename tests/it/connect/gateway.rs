//! Programs that send events to the gateway of a sidecar.

use std::collections::BTreeMap;
use std::process::Command;

use super::{Judged, assert_equal_counters, root, tools};
use crate::gateway::client::{SOON, request};
use crate::harness::kafka::broker;
use crate::harness::wait_until;

/// Runs a program for the gateway of a sidecar of its own, and returns the counters of the searches of V1.
fn counters(
    name: &str,
    command: impl FnOnce(&str) -> Command,
    clicks: f64,
) -> BTreeMap<String, String> {
    let judged = Judged::start(broker(), 2, "native");
    let address = judged.sidecar.gateway_address();
    wait_until(SOON, "the gateway is ready", || {
        let ready = request(address, "GET /readyz", &[], b"").expect("a response");
        (ready.status == 200).then_some(())
    });
    let output = command(&format!("http://{address}")).output();
    let output = output
        .unwrap_or_else(|error| panic!("{name} cannot start: {error}; run tests/setup.sh connect"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{name}: {}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    judged.counters(broker(), "native", clicks)
}

fn python() -> Command {
    Command::new(tools().join("http/bin/python"))
}

#[test]
#[ignore = "needs the toolchains of tests/setup.sh connect: run make test-connect"]
fn programs_over_http_lead_to_the_same_counters() {
    let examples = root().join("examples/http");
    let mut results = Vec::new();
    for (name, mut command, program) in [
        ("curl", Command::new("sh"), "curl.sh"),
        ("python", python(), "send.py"),
        ("javascript", Command::new("node"), "send.mjs"),
        ("go", go(), "send.go"),
    ] {
        let run = |gateway: &str| {
            command.arg(examples.join(program)).arg(gateway);
            command
        };
        results.push((name, counters(name, run, 5.0)));
    }
    assert_equal_counters(&results);
}

fn go() -> Command {
    let mut command = Command::new("go");
    command.arg("run");
    command
}
