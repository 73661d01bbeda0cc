//! Change of result lists between versions, as workers record it and readers merge it.

use rankgauge_core::event::Search;
use rankgauge_core::time::EventTime;
use rankgauge_serve::live::deployments::{Deployment, Deployments};
use rankgauge_serve::live::list_changes::{Comparison, ListChanges, MAX_BYTES, MAX_QUERIES};

/// Label that states versions.
fn version_labels() -> Vec<String> {
    vec!["build".to_owned()]
}

/// Search in JSON. `version` is empty for a search that states none.
fn search(id: usize, at: i64, query: &str, version: &str, results: &[String]) -> String {
    let results: Vec<_> = results
        .iter()
        .map(|id| serde_json::json!({ "id": id }))
        .collect();
    let mut event = serde_json::json!({
        "query_id": format!("s{id}"), "ts": at, "query": query, "variant": "V5", "results": results,
    });
    if !version.is_empty() {
        event["labels"] = serde_json::json!({ "build": version });
    }
    event.to_string()
}

/// Records searches, each at the worker of its number.
fn record(changes: &ListChanges, workers: usize, searches: &[String]) {
    for (number, text) in searches.iter().enumerate() {
        let search: Search<'_> = serde_json::from_str(text).unwrap();
        let worker = changes.of(number % workers).unwrap();
        if worker.has_room() {
            worker.record(&search, &version_labels());
        }
    }
}

/// Ten results of a query. `moved` of them are those of the later version.
fn results(query: usize, moved: usize) -> Vec<String> {
    let kept = (0..10 - moved).map(|rank| format!("d{query}-{rank}"));
    let new = (0..moved).map(|rank| format!("new{query}-{rank}"));
    new.chain(kept).collect()
}

/// Three lists of each of `queries` queries before and after a deployment at 100,000 ms, in which the lists
/// of every fifth query changed. The versions are stated if they are not empty.
fn traffic(queries: usize, versions: [&str; 2]) -> Vec<String> {
    let mut searches = Vec::new();
    for (part, version) in versions.into_iter().enumerate() {
        for round in 0..3 {
            for query in 0..queries {
                let moved = if part == 1 && query % 5 == 0 { 5 } else { 0 };
                let at = i64::try_from(100_000 * part + 10_000 * round + query).unwrap();
                let id = searches.len();
                let text = format!("query {query}");
                searches.push(search(id, at, &text, version, &results(query, moved)));
            }
        }
    }
    searches
}

fn only(changes: &ListChanges) -> Comparison {
    let all = changes.all();
    assert_eq!(all.len(), 1, "{all:?}");
    all.into_iter().next().unwrap()
}

/// Asserts the change of [`traffic`].
fn assert_changed(comparison: &Comparison, queries: usize) {
    let change = comparison.change.unwrap();
    assert_eq!(change.queries, queries);
    assert!(
        (change.changed.mean - 0.2).abs() < 1e-9,
        "{:?}",
        change.changed
    );
    assert!(
        (change.overlap.mean - 0.9).abs() < 1e-9,
        "{:?}",
        change.overlap
    );
    let [lower, upper] = change.overlap.interval(0.0);
    assert!(lower < 0.9 && upper > 0.9 && upper < 1.0);
    assert!(change.rbo.mean < 0.9);
    assert!(change.is_reported());
    assert_eq!(comparison.queries.len(), 20.min(queries / 5));
    for query in &comparison.queries {
        let number: usize = query.query["query ".len()..].parse().unwrap();
        assert_eq!(number % 5, 0, "only changed queries are named");
        assert_eq!(query.searches, 6);
    }
}

#[test]
fn versions_that_searches_state_are_compared_over_all_workers() {
    for workers in [1, 3] {
        let changes = ListChanges::new(workers);
        record(&changes, workers, &traffic(100, ["2.3", "2.4"]));
        let found = only(&changes);
        assert_eq!(
            (&*found.with.version, &*found.version.version),
            ("2.3", "2.4")
        );
        assert_changed(&found, 100);
    }
}

#[test]
fn a_deployment_that_is_reported_late_divides_the_lists_at_its_time() {
    let changes = ListChanges::new(2);
    let searches = traffic(60, ["", ""]);
    // Lists of the later version arrive before the deployment is reported: one, then all of them.
    let (before, after) = searches.split_at(180);
    record(&changes, 2, before);
    record(&changes, 2, &after[..60]);
    assert!(changes.all().is_empty(), "one version");
    for worker in 0..2 {
        let worker = changes.of(worker).unwrap();
        worker.deployed("V5", "2.4", EventTime(100_000));
    }
    record(&changes, 2, &after[60..]);
    let found = only(&changes);
    assert_eq!((&*found.with.version, &*found.version.version), ("", "2.4"));
    let change = found.change.unwrap();
    assert!((change.changed.mean - 0.2).abs() < 1e-9, "{change:?}");

    // The next deployment is compared with this one.
    for worker in 0..2 {
        let worker = changes.of(worker).unwrap();
        worker.deployed("V5", "2.5", EventTime(500_000));
        worker.deployed("V5", "2.5", EventTime(500_000));
    }
    let versions = changes.versions();
    let names: Vec<&str> = versions["V5"].iter().map(|it| &*it.version).collect();
    assert_eq!(names, ["2.5", "2.4"]);
}

#[test]
fn a_search_that_is_read_again_is_no_second_list() {
    let changes = ListChanges::new(1);
    let before = traffic(60, ["2.3", "2.3"]);
    record(&changes, 1, &before);
    let list = search(9_999, 300_000, "query 1", "2.4", &results(1, 3));
    record(&changes, 1, &[list.clone(), list]);
    assert_eq!(only(&changes).change, None);
    let second = search(10_000, 300_001, "query 1", "2.4", &results(1, 3));
    record(&changes, 1, &[second]);
    assert_eq!(only(&changes).change.unwrap().queries, 1);
}

#[test]
fn frequent_queries_stay_and_memory_is_bounded() {
    let changes = ListChanges::new(1);
    let worker = changes.of(0).unwrap();
    let long = "x".repeat(5_000);
    for round in 0..40 {
        worker.refill();
        let mut searches = Vec::new();
        for query in 0..200 {
            let id = round * 10_000 + query;
            let at = i64::try_from(id).unwrap();
            let variant = results(query, round % 3);
            searches.push(search(id, at, &format!("frequent {query}"), "1", &variant));
        }
        for query in 0..2_000 {
            let id = round * 10_000 + 1_000 + query;
            let text = format!("rare {round} {query} {long}");
            let at = i64::try_from(id).unwrap();
            searches.push(search(id, at, &text, "1", &results(query, 0)));
        }
        record(&changes, 1, &searches);
        assert!(changes.bytes() <= MAX_BYTES, "{}", changes.bytes());
    }
    worker.refill();
    let mut searches = Vec::new();
    for query in 0..200 {
        for list in 0..2 {
            let id = 1_000_000 + 2 * query + list;
            let text = format!("frequent {query}");
            let at = i64::try_from(id).unwrap();
            searches.push(search(id, at, &text, "2", &results(query, 0)));
        }
    }
    record(&changes, 1, &searches);
    assert_eq!(only(&changes).change.unwrap().queries, 200);
    assert!(changes.bytes() < MAX_QUERIES * 4_000, "{}", changes.bytes());
}

#[test]
fn the_lists_of_a_version_make_room_within_the_limit_of_a_worker() {
    // 32 MiB of 512 workers: 64 KiB a worker.
    let changes = ListChanges::new(512);
    record(&changes, 1, &traffic(2_000, ["1", "2"])[..4_900]);
    assert!(changes.bytes() <= MAX_BYTES / 512, "{}", changes.bytes());
}

#[test]
fn a_deployment_is_marked_once_with_the_change_of_its_lists() {
    let changes = ListChanges::new(1);
    let deployments = Deployments::load(None);
    deployments.add(Deployment {
        variant: "V5".to_owned(),
        version: "2.4".to_owned(),
        ts: 100_000,
        ..Deployment::default()
    });
    changes.sample(&deployments);
    assert_eq!(deployments.latest()[0].lists, None);

    // 60 queries are too few at once, and enough three minutes later.
    record(&changes, 1, &traffic(60, ["2.3", "2.4"]));
    changes.sample(&deployments);
    assert_eq!(deployments.latest()[0].lists, None);
    let later = search(99_999, 290_000, "query 1", "2.4", &results(1, 0));
    record(&changes, 1, &[later]);
    changes.sample(&deployments);
    let lists = deployments.latest()[0].lists.clone().unwrap();
    assert_eq!(
        lists.text,
        "lists of 20 % of head queries changed, mean overlap 0.90"
    );
    assert_eq!((lists.queries, lists.is_change), (60, true));
    assert_eq!(lists.with, "2.3");
    assert_eq!(changes.latest().len(), 1);

    record(&changes, 1, &traffic(90, ["2.3", "2.4"]));
    changes.sample(&deployments);
    assert_eq!(deployments.latest()[0].lists, Some(lists));
}
