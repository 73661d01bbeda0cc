//! Fuzzer of everything that reads external input. libFuzzer guides it by coverage.
//!
//! `RANKGAUGE_FUZZ_TARGET` selects the target. `fuzz/run.sh` builds it with instrumentation, and runs
//! each target on its corpus.
#![no_main]

mod files;
mod gateway;
mod listeners;
mod mappings;
mod records;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

/// Target: reads one input.
type Target = fn(&[u8]);

/// Targets by name.
const TARGETS: [(&str, Target); 15] = [
    ("native", records::native),
    ("ubi", records::ubi),
    ("otlp_proto", records::otlp_proto),
    ("otlp_json", records::otlp_json),
    ("mapping", mappings::mapping),
    ("avro", mappings::avro),
    ("protobuf", mappings::protobuf),
    ("registry", mappings::registry),
    ("gold", files::gold),
    ("run", files::run),
    ("checkpoint", files::checkpoint),
    ("config", files::config),
    ("measure", files::measure),
    ("http", listeners::request),
    ("gateway", gateway::body),
];

/// The target that the environment selects.
fn selected() -> Target {
    static SELECTED: OnceLock<Target> = OnceLock::new();
    *SELECTED.get_or_init(|| {
        let name = std::env::var("RANKGAUGE_FUZZ_TARGET").unwrap_or_default();
        let found = TARGETS.iter().find(|(target, _)| *target == name);
        found.map_or_else(
            || {
                let names = TARGETS.map(|(target, _)| target).join(", ");
                panic!("RANKGAUGE_FUZZ_TARGET is \"{name}\"; possible values: {names}")
            },
            |(_, target)| *target,
        )
    })
}

/// Choice that follows from the input.
fn choice<T: Copy>(input: &[u8], values: &[T]) -> T {
    let sum = input.iter().fold(0_usize, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(usize::from(*byte))
    });
    values[sum % values.len()]
}

/// Checks that a rejection explains itself in a bounded line.
fn assert_explained(text: &str, limit: usize) {
    assert!((1..=limit).contains(&text.len()), "{} bytes", text.len());
}

fuzz_target!(|input: &[u8]| selected()(input));
