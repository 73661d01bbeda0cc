//! `gold from-clicks` on simulated users whose clicks are known, and `label` on the same searches.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::command::{assert_exit, assert_reports, json, json_of, rankgauge, stderr};

const QUERIES: usize = 30;
const RESULTS: usize = 10;
const SEARCHES: usize = 9_000;

/// Numbers from 0 to 1 of a linear congruential generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 32).unwrap()) / f64::from(u32::MAX)
    }

    fn below(&mut self, limit: usize) -> usize {
        let limit = u32::try_from(limit).unwrap();
        let number = (self.next() * f64::from(limit)).floor();
        (0..limit)
            .rev()
            .find(|it| f64::from(*it) <= number)
            .map_or(0, |it| usize::try_from(it).unwrap())
    }
}

/// Probability that rank `rank` (from 0) is examined.
fn examined(rank: usize) -> f64 {
    1.0 / f64::from(u32::try_from(rank + 1).unwrap())
}

fn is_good(document: usize) -> bool {
    document.is_multiple_of(3)
}

/// Writes searches and clicks of users who examine ranks from the top. With `are_random`, they click
/// whatever they examine alike.
fn write_events(folder: &Path, are_random: bool) {
    let mut random = Random(7);
    let (mut searches, mut feedback) = (String::new(), String::new());
    for search in 0..SEARCHES {
        let query = random.below(QUERIES);
        let mut documents: Vec<usize> = (0..RESULTS).collect();
        documents.rotate_left(query % RESULTS);
        // Half of the traffic has two neighbours swapped.
        if random.next() < 0.5 {
            let at = random.below(RESULTS - 1);
            documents.swap(at, at + 1);
        }
        let variant = if search.is_multiple_of(2) { "A" } else { "B" };
        if variant == "B" {
            // The last good document moves to the top.
            documents.rotate_right(1);
        }
        let time = 1_760_000_000_000_u64 + 60_000 * u64::try_from(search).unwrap();
        let results = documents
            .iter()
            .map(|it| json!({"id": format!("d{query}-{it}")}));
        let event = json!({
            "query_id": format!("s{search}"),
            "ts": time,
            "query": format!("query {query}"),
            "variant": variant,
            "results": results.collect::<Vec<Value>>(),
        });
        writeln!(searches, "{event}").unwrap();
        for (rank, document) in documents.iter().enumerate() {
            let attractive = match (are_random, is_good(*document)) {
                (true, _) => 0.3,
                (false, true) => 0.6,
                (false, false) => 0.1,
            };
            if random.next() < examined(rank) * attractive {
                let event = json!({
                    "event_id": format!("c{search}-{rank}"),
                    "ts": time,
                    "type": "click",
                    "query_id": format!("s{search}"),
                    "object_id": format!("d{query}-{document}"),
                });
                writeln!(feedback, "{event}").unwrap();
            }
        }
    }
    // A machine clicks everything, a probe nothing.
    let machine = json!({
        "query_id": "bot", "ts": 1_760_000_000_000_u64, "query": "query 0",
        "results": (0..RESULTS).map(|it| json!({"id": format!("d0-{it}")})).collect::<Vec<Value>>(),
    });
    writeln!(searches, "{machine}").unwrap();
    for position in 1..=RESULTS {
        let event = json!({
            "event_id": format!("bot-{position}"), "ts": 1_760_000_000_000_u64, "type": "click",
            "query_id": "bot", "position": position,
        });
        writeln!(feedback, "{event}").unwrap();
    }
    let probe = json!({
        "query_id": "probe", "ts": 1_760_000_000_000_u64, "query": "query 0", "synthetic": true,
        "results": [],
    });
    writeln!(searches, "{probe}").unwrap();
    fs::write(folder.join("search.jsonl"), searches).unwrap();
    fs::write(folder.join("feedback.jsonl"), feedback).unwrap();
}

#[test]
fn clicks_become_grades_of_their_own_kind_with_checks() {
    let folder = tempfile::tempdir().unwrap();
    write_events(folder.path(), false);
    let output = rankgauge(
        folder.path(),
        "gold from-clicks --search search.jsonl --feedback feedback.jsonl --output clicks.json \
         --format json",
    );
    let report = json(&output);
    for rank in 0..RESULTS {
        let found = report["propensities"][rank].as_f64().unwrap();
        let ratio = found / examined(rank);
        assert!((0.75..1.3).contains(&ratio), "rank {rank}: {found}");
    }
    assert!(report["harvested"][1].as_f64().unwrap() > 0.9);
    let left_out = &report["searches_left_out"];
    assert_eq!(left_out["synthetic"], 1);
    assert_eq!(left_out["too_many_clicks"], 1);
    assert_eq!(report["trusted"], true);
    assert_eq!(report["agreement"], Value::Null);

    let set = fs::read_to_string(folder.path().join("clicks.json")).unwrap();
    let set: Value = serde_json::from_str(&set).unwrap();
    assert_eq!(set["kind"], "clicks");
    let (mut good, mut bad) = ((0.0, 0.0), (0.0, 0.0));
    for query in set["queries"].as_array().unwrap() {
        for (document, judgement) in query["ground_truth"].as_object().unwrap() {
            let number = document.rsplit('-').next().unwrap().parse().unwrap();
            let sums = if is_good(number) { &mut good } else { &mut bad };
            sums.0 += judgement["relevance"].as_f64().unwrap();
            sums.1 += 1.0;
        }
    }
    let (good, bad) = (good.0 / good.1, bad.0 / bad.1);
    assert!(good > 2.0 && bad < 1.0, "mean grades {good} {bad}");

    let human = json!({"queries": [{"query_id": "other", "ground_truth": {"d": 1}}]});
    fs::write(folder.path().join("human.json"), human.to_string()).unwrap();
    let mixed = rankgauge(folder.path(), "gold stats clicks.json human.json");
    assert_reports(
        &mixed,
        2,
        "human.json: its judgements are of the kind human, but clicks",
    );
}

#[test]
fn clicks_that_mean_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_events(folder.path(), true);
    let output = rankgauge(
        folder.path(),
        "gold from-clicks --search search.jsonl --feedback feedback.jsonl --output clicks.json \
         --format json",
    );
    assert_eq!(json_of(&output, 1)["trusted"], false);
    assert!(stderr(&output).contains("not trusted"));
    assert!(!folder.path().join("clicks.json").exists());
}

#[test]
fn labels_of_a_sample_estimate_all_searches() {
    let folder = tempfile::tempdir().unwrap();
    write_events(folder.path(), false);
    let drawn = rankgauge(
        folder.path(),
        "label draw --search search.jsonl --variant A --variant B --rows 200 --seed 7 --output \
         draw.json --sheet sheet.csv",
    );
    assert_exit(&drawn, 0);
    let sheet = fs::read_to_string(folder.path().join("sheet.csv")).unwrap();
    assert!(
        sheet.starts_with("\u{feff}row,query,document,text,grade"),
        "{sheet}"
    );
    let filled = sheet.lines().enumerate().map(|(line, row)| {
        let document = row.split(',').nth(2).and_then(|id| id.rsplit('-').next());
        match document.and_then(|number| number.parse().ok()) {
            Some(number) if line <= 150 => format!("{row}{}", if is_good(number) { 2 } else { 0 }),
            _ => row.to_owned(),
        }
    });
    let filled = filled.collect::<Vec<String>>().join("\n");
    fs::write(folder.path().join("filled.csv"), filled).unwrap();
    let estimate = "label estimate --draw draw.json --sheet filled.csv --format json";
    let output = rankgauge(folder.path(), estimate);
    let report = json(&output);

    // Truth from the searches themselves.
    let searches = fs::read_to_string(folder.path().join("search.jsonl")).unwrap();
    let mut sums = [[0.0, 0.0], [0.0, 0.0]];
    for line in searches.lines() {
        let search: Value = serde_json::from_str(line).unwrap();
        let variant = match search["variant"].as_str() {
            Some("A") => 0,
            Some("B") => 1,
            _ => continue,
        };
        let results = search["results"].as_array().unwrap().iter().take(5);
        let good = results.filter(|hit| {
            let id = hit["id"].as_str().unwrap();
            is_good(id.rsplit('-').next().unwrap().parse().unwrap())
        });
        sums[variant][0] += f64::from(u32::try_from(good.count()).unwrap()) / 5.0;
        sums[variant][1] += 1.0;
    }
    let truth = sums.map(|[sum, number]| sum / number);
    let estimates = report["estimates"].as_array().unwrap();
    assert_eq!(estimates.len(), 3);
    for (estimate, truth) in estimates.iter().zip(truth) {
        assert_eq!(estimate["kind"], "level");
        assert_eq!(estimate["labels"], 150);
        assert_eq!(estimate["rows"], 200);
        let end = |at: usize| estimate["any_time"][at].as_f64().unwrap();
        assert!(end(0) <= truth && truth <= end(1), "{estimate} {truth}");
    }
    assert_eq!(estimates[2]["kind"], "difference");
    assert_eq!(estimates[2]["against"], "A");
    assert_eq!(report["judge"], Value::Null);

    let page = estimate.replace("--format json", "--format html");
    let page = rankgauge(folder.path(), &page).stdout;
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("<td>P@5 of B - A</td>"), "{page}");

    let missed = format!("{estimate} --require difference(P@5)>0.9");
    assert_eq!(rankgauge(folder.path(), &missed).status.code(), Some(3));
    let met = format!("{estimate} --require difference(P@5)>-0.9");
    assert_eq!(rankgauge(folder.path(), &met).status.code(), Some(0));
    let other = format!("{estimate} --require difference(P@3)>-0.9");
    assert_eq!(rankgauge(folder.path(), &other).status.code(), Some(2));
}

#[test]
fn searches_that_are_not_judged_grade_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write_events(folder.path(), false);
    let from_clicks = |settings: &str| {
        let arguments = format!(
            "gold from-clicks --search search.jsonl --feedback feedback.jsonl --format json {settings}"
        );
        json(&rankgauge(folder.path(), &arguments))
    };
    let plain = from_clicks("");
    let path = folder.path().join("search.jsonl");
    let searches = fs::read_to_string(&path).unwrap();
    let changed = |member: &str, value: Value| {
        let lines = searches.lines().map(|line| {
            let mut search: Value = serde_json::from_str(line).unwrap();
            let id = search["query_id"].as_str().unwrap_or_default();
            search["query_id"] = format!("{member} {id}").into();
            search["synthetic"] = false.into();
            search[member] = value.clone();
            search.to_string() + "\n"
        });
        lines.collect::<String>()
    };
    let tested = changed("variant", json!("test"));
    let filtered = changed("filters", json!(["color:red"]));
    let sorted = changed("sort", json!("price_asc"));
    fs::write(&path, searches.clone() + &tested + &filtered + &sorted).unwrap();
    let count = searches.lines().count();
    let settings = "gold: {judge_when: {variant: [A, B]}}";
    fs::write(folder.path().join("judge.yaml"), settings).unwrap();
    let mixed = from_clicks("--config judge.yaml");
    // The machine has no variant.
    assert_eq!(mixed["searches_left_out"]["not_eligible"], 3 * count + 1);
    assert_eq!(mixed["searches"], plain["searches"]);
    assert_eq!(mixed["propensities"], plain["propensities"]);
}
