//! Change of result lists after a deployment: API, metrics, log, mark of the deployment and page.

use serde_json::{Value, json};

use super::{SOON, start_with_builds};
use crate::harness::kafka::broker;
use crate::harness::wait_until;
use rankgauge_serve::clock::wall_now;

const QUERIES: usize = 220;

/// Results of a query. Every tenth query has other ones in version 2 of V5.
fn results(query: usize, is_changed: bool) -> Vec<Value> {
    let prefix = if is_changed && query.is_multiple_of(10) {
        "new"
    } else {
        "old"
    };
    let id = |rank: usize| match rank {
        0..5 => json!({"id": format!("{prefix}-{query}-{rank}")}),
        _ => json!({"id": format!("both-{query}-{rank}")}),
    };
    (0..10).map(id).collect()
}

/// Two lists of each query by each version, and in each of both partitions.
fn searches() -> Vec<(String, String, Option<i32>)> {
    let start = wall_now().0 - 120_000;
    let mut searches = Vec::new();
    for (variant, version) in [("V4", "1"), ("V5", "1"), ("V5", "2")] {
        for round in 0..2 {
            for query in 0..QUERIES {
                let number = searches.len();
                let event = json!({
                    "query_id": format!("q{number}"),
                    "ts": start + i64::try_from(10 * number).expect("small"),
                    "query": format!("head query {query}"),
                    "variant": variant,
                    "labels": {"build": version},
                    "results": results(query, version == "2"),
                });
                // The lists of a query are in both partitions, so that both workers have a part of them.
                let partition = i32::from((query + round) % 2 == 0);
                searches.push((format!("q{number}"), event.to_string(), Some(partition)));
            }
        }
    }
    searches
}

#[test]
fn a_deployment_shows_the_share_of_head_queries_whose_lists_changed() {
    let (sidecar, search) = start_with_builds("lists");
    broker().produce(&search, searches());

    let marked = wait_until(SOON, "the deployment is marked", || {
        let listed = sidecar.api("/api/v1/deployments");
        let deployment = listed["deployments"].get(0)?.clone();
        deployment["lists"].is_object().then_some(deployment)
    });
    let words = "lists of 10 % of head queries changed, mean overlap 0.95";
    assert_eq!(marked["lists"]["text"], words, "{marked}");
    assert_eq!(marked["lists"]["queries"], QUERIES);
    let log = sidecar.log();
    assert_eq!(log.matches("lists compared after a deployment").count(), 1);
    assert!(log.contains(words), "{log}");

    let found = sidecar.api("/api/v1/list-changes?variant=V5");
    let change = &found["changes"][0];
    let named = ["variant", "version", "with", "with_version"].map(|name| change[name].as_str());
    assert_eq!(named, [Some("V5"), Some("2"), Some("V5"), Some("1")]);
    assert_eq!(change["queries"], QUERIES);
    assert_eq!(change["is_change"], true);
    let close = |value: &Value, expected: f64| {
        let value = value.as_f64().expect("a number");
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    };
    close(&change["changed"]["mean"], 0.1);
    close(&change["overlap"]["mean"], 0.95);
    for query in change["most_changed"].as_array().expect("a list") {
        let text = query["query"].as_str().expect("a text");
        assert!(text.ends_with('0'), "{text}");
        close(&query["overlap"], 0.5);
    }
    let against = sidecar.api("/api/v1/list-changes?variant=V5&with=V4");
    assert_eq!(against["changes"][0]["with"], "V4");
    close(&against["changes"][0]["changed"]["mean"], 0.1);
    let all = sidecar.api("/api/v1/list-changes");
    assert_eq!(all["changes"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        sidecar.api("/api/v1/list-changes?variant=V4"),
        json!({"changes": []})
    );
    assert_eq!(sidecar.ask_admin("/api/v1/list-changes?variant=V9").0, 404);
    assert_eq!(sidecar.ask_admin("/api/v1/list-changes?with=V4").0, 400);

    let exposition = sidecar.metrics();
    let of = |name: &str, bound: &str| {
        let labels = [("variant", "V5"), ("bound", bound)];
        exposition.value(name, &labels).expect("a sample")
    };
    for name in [
        "rankgauge_list_change",
        "rankgauge_list_changed_ratio",
        "rankgauge_list_overlap",
        "rankgauge_list_rbo",
    ] {
        let [lower, mean, upper] = ["lower", "mean", "upper"].map(|bound| of(name, bound));
        assert!(lower < mean && mean < upper, "{name}");
    }
    assert!((of("rankgauge_list_overlap", "mean") - 0.95).abs() < 1e-9);
    let queries = exposition.value("rankgauge_list_queries", &[("variant", "V5")]);
    assert_eq!(queries, Some(220.0));

    let page = sidecar.page("/systems/V5");
    assert!(
        page.contains("Result lists") && page.contains(words),
        "{page}"
    );
}
