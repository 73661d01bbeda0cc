//! States of the live page in which something is missing: each says what, and what to do next.

use serde_json::json;

use super::view;
use crate::harness::kafka::broker;
use crate::harness::sidecar::Sidecar;
use crate::harness::{free_port, wait_until};
use crate::live::stream::Stream;
use crate::live::{SOON, scrape_when_received, settings, start};
use rankgauge_core::time::Millis;

/// Waits until a page contains every text.
fn says(sidecar: &Sidecar, path: &str, texts: &[&str]) {
    for text in texts {
        let what = format!("{path} contains {text:?}");
        wait_until(SOON, &what, || {
            let page = view(sidecar, path);
            String::from_utf8_lossy(&page.body)
                .contains(text)
                .then_some(())
        });
    }
}

#[test]
fn without_broker_traffic_and_gold_set_the_next_step_is_named() {
    let sidecar = start(&json!({
        "kafka": {"brokers": format!("127.0.0.1:{}", free_port())},
    }));
    says(
        &sidecar,
        "/",
        &[
            "✗ no broker connection",
            "no gold set",
            "No searches yet",
            "<li>no searches yet</li>",
            "<title>✗ Overview",
            "icon-problem.svg",
            "<code>rankgauge produce</code>",
        ],
    );
    says(
        &sidecar,
        "/gold",
        &["No gold set is loaded", "<code>gold.paths</code>"],
    );
    says(
        &sidecar,
        "/pipeline",
        &[
            "No record received yet",
            "<code>kafka.brokers</code>",
            "✗ away",
        ],
    );
}

/// A few seconds of searches: hardly any query is searched in two minutes, so its baseline is not
/// compared yet.
fn short_stream() -> Stream {
    let mut stream = Stream::of_queries(broker(), 1_000, 50.0, Millis(10_000), None);
    stream.produce(broker(), 200);
    stream
}

#[test]
fn baselines_that_are_being_learned_and_few_samples_are_shown() {
    let stream = short_stream();
    let mut settings = settings(broker(), &stream);
    settings["measures"] = json!(["nDCG@10", "CTR"]);
    settings["detection"] = json!({"measures": ["nDCG@10"]});
    // More than the searches of a variant.
    settings["feedback"] = json!({"min_samples": 1_000});
    let sidecar = start(&settings);
    scrape_when_received(&sidecar, stream.produced());
    // The traffic has stopped, which is no health.
    says(&sidecar, "/", &["<li>no searches for ", "<title>Overview"]);
    let learning = "baselines; a drop below them is not found yet";
    says(
        &sidecar,
        "/",
        &[learning, ">learning: ", " too few samples"],
    );
    says(&sidecar, "/systems/V5", &[">learning: "]);
}

#[test]
fn the_series_limit_is_shown_with_what_it_drops() {
    let stream = short_stream();
    let mut settings = settings(broker(), &stream);
    settings["slices"] = json!(["query_type"]);
    settings["measures"] = json!(["nDCG@10"]);
    settings["windows"] = json!(["5m"]);
    settings["limits"] = json!({"series_per_family": 12});
    let sidecar = start(&settings);
    scrape_when_received(&sidecar, stream.produced());
    says(&sidecar, "/", &["✗ series limit reached"]);
    let texts = [
        "✗ Series limit reached.",
        "<span class=\"label\">score ",
        "<code>limits.series_per_family</code>",
    ];
    says(&sidecar, "/pipeline", &texts);
}
