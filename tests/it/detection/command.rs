//! The command `rankgauge backtest`.

use serde_json::Value;

use super::{backtest, printed};
use crate::harness::command::{self, assert_reports, stderr, stdout};

#[track_caller]
fn refused(flags: &str, input: &str, says: &[&str]) {
    let output = backtest(flags, input);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{flags:?} {input}: {said}");
    let is_one = said.starts_with("rankgauge: ") && said.lines().count() == 1;
    assert!(is_one || said.starts_with("error: "), "{said}");
    for part in says {
        assert!(said.contains(part), "{said} lacks {part}");
    }
}

#[test]
fn an_invalid_line_is_reported_with_its_number() {
    for (line, says) in [
        ("{\"score\": ", "EOF"),
        ("0.5", "not a JSON object"),
        ("[0.5, null, null]", "not a JSON object"),
        ("{}", "neither a score nor a tick"),
        ("{\"tick\": false}", "neither a score nor a tick"),
        ("{\"tick\": true, \"score\": 1}", "both a score and a tick"),
        (
            "{\"tick\": true, \"baseline\": 1}",
            "a baseline without a score",
        ),
        ("{\"baseline\": 0.5}", "a baseline without a score"),
        ("{\"score\": \"0.5\"}", "invalid type: string"),
        ("{\"score\": NaN}", "expected value"),
        ("{\"score\": 1.5}", "score 1.5 is not from 0 to 1"),
        ("{\"score\": -0.1}", "score -0.1 is not from 0 to 1"),
        ("{\"score\": 1e999}", "number out of range"),
        (
            "{\"score\": 0.5, \"baseline\": 2}",
            "baseline 2 is not from 0 to 1",
        ),
        ("{\"score\": 0.5, \"score\": 0.6}", "duplicate field"),
    ] {
        let input = format!("{{\"score\": 1}}\n\n{{\"tick\": true}}\n{line}\n{{\"score\": 1}}\n");
        refused("--m 0.5", &input, &["standard input:4: ", says]);
    }
    let endless = format!("{{\"score\": 1}}\n{}", " ".repeat(3 << 20));
    let says = "standard input:2: a line longer than 1 MiB";
    refused("--m 0.5", &endless, &[says]);
}

#[test]
fn a_score_without_a_baseline_requires_a_mean() {
    let says = ["standard input:1: a score without a baseline", "--m"];
    refused("", "{\"score\": 0.5}", &says);
    refused("--test target", "{\"score\": 0.5}", &says);
    let without = "{\"score\": 0.5, \"baseline\": null}";
    refused("--epsilon 0.1", without, &says);
}

#[test]
fn wrong_flags_are_rejected() {
    for (flags, says) in [
        ("--m 1.1", "a number from 0 to 1 is expected"),
        ("--m NaN", "a number from 0 to 1 is expected"),
        ("--epsilon 2", "a number from 0 to 1 is expected"),
        ("--alpha 0", "a number between 0 and 1 is expected"),
        ("--false-alarms 0", "--false-alarms"),
        ("--series 0", "--series"),
        ("--test target --clamp", "--clamp is for --test drop"),
        ("--streams 5", "--simulate"),
        ("--simulate --mean 0.8 --test target", "--m 0.8"),
        ("--simulate --deviation 0.6", "below 0.400"),
        ("--simulate --model nothing", "has \"nothing\" in its name"),
        ("--simulate --model nothing", "bursts of 20, Zipf 2k"),
        ("--burst 5", "is not a duration"),
        ("--simulate --scores nowhere", "nowhere: cannot be read"),
    ] {
        refused(flags, "", &[says]);
    }
}

#[test]
fn the_last_line_is_the_summary() {
    let bad = "{\"score\": 0.0, \"query\": \"가맹\"}\n".repeat(40);
    let lines = printed(&["--test", "target", "--m", "0.5"], &bad);
    let summary = &lines.last().expect("a last line")["summary"];
    // The largest bet grows by half at each score: 1.5^n / 8 passes 1000 at the 23rd.
    let first = lines.iter().position(|line| {
        line["log_evidence"]
            .as_f64()
            .is_some_and(|evidence| evidence >= 1000_f64.ln())
    });
    let first = first.expect("it crosses") + 1;
    assert_eq!((first, &summary["crossed_at"]), (23, &Value::from(23)));
    assert_eq!(summary["scores"], 40);
    assert_eq!(summary["ticks"], 0);
    assert_eq!(summary["test"], "target");
    assert_eq!(summary["maximum"], lines[39]);

    let nothing = printed(&["--m", "0.5"], "");
    assert_eq!(nothing.len(), 1);
    assert!(nothing[0]["summary"]["maximum"].is_null());
    assert!(nothing[0]["summary"]["crossed_at"].is_null());
}

#[test]
fn the_threshold_follows_from_the_flags() {
    let threshold = |flags: &[&str]| {
        let lines = printed(&[&["--m", "0.5"], flags].concat(), "{\"tick\": true}");
        lines[0]["summary"]["threshold"]
            .as_f64()
            .expect("a threshold")
    };
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
    close(threshold(&[]), 25_920_000_f64.ln());
    close(
        threshold(&["--series", "1", "--replicas", "1"]),
        129_600_f64.ln(),
    );
    close(threshold(&["--false-alarms", "2"]), 12_960_000_f64.ln());
    close(
        threshold(&["--test", "target", "--alpha", "0.01"]),
        100_f64.ln(),
    );
}

#[test]
fn a_clamped_detector_recovers_sooner() {
    let bad = "{\"score\": 0.2, \"baseline\": 0.9}\n".repeat(100);
    let good = "{\"score\": 0.9, \"baseline\": 0.9}\n".repeat(4000);
    let below = |flags: &[&str]| {
        let lines = printed(flags, &format!("{bad}{good}"));
        let after = lines[100..].iter().position(|line| {
            line["log_evidence"]
                .as_f64()
                .is_some_and(|evidence| evidence < 17.07)
        });
        after.expect("it goes back")
    };
    let (clamped, free) = (below(&["--clamp"]), below(&[]));
    assert!(clamped > 0 && clamped < 500, "{clamped}");
    assert!(free > 1500, "{free}");
}

#[test]
fn a_simulation_of_independent_scores_is_reproducible() {
    let flags =
        "--simulate --mean 0.8 --streams 30 --events 4000 --drop 0.1 --format json --seed 7";
    let one = backtest(flags, "").stdout;
    assert_eq!(one, backtest(flags, "").stdout);
    let report: Value = serde_json::from_slice(&one).expect("JSON");
    let methods = report["methods"].as_array().expect("methods");
    assert_eq!(methods.len(), 3);
    let sequential = &methods[0];
    assert_eq!(sequential["method"], "sequential");
    assert_eq!(sequential["streams"], 30);
    assert_eq!(sequential["false_alarms"], 0);
    assert_eq!(sequential["detected"], 30);
    assert!(
        sequential["median_delay"]
            .as_u64()
            .is_some_and(|delay| delay < 500)
    );
    assert!(
        methods[1]["false_alarms"]
            .as_u64()
            .is_some_and(|number| number > 20)
    );
}

#[test]
fn lines_with_a_time_and_a_query_are_tested_as_in_the_sidecar() {
    let line = |ts: i64, query: &str, score: f64| {
        format!("{{\"ts\": {ts}, \"query\": {query}, \"score\": {score}}}\n")
    };
    // One query a minute: the second search is the first that is compared.
    let searches: String = (0..300)
        .map(|minute| line(60_000 * minute, "17", if minute < 100 { 0.9 } else { 0.4 }))
        .collect();
    let lines = printed(&[], &searches);
    let summary = &lines[300]["summary"];
    assert_eq!(summary["ticks"], 299);
    assert_eq!(lines[0]["log_evidence"], 0.0);
    assert_eq!(lines[5]["ts"], 300_000);
    let crossed = summary["crossed_at"].as_u64().expect("a drop of 0.5");
    assert!((101..250).contains(&crossed), "{crossed}");

    // Twenty searches within a minute are one observation.
    let burst: String = (0..300)
        .flat_map(|minute| (0..20).map(move |place| (minute, place)))
        .map(|(minute, place)| line(60_000 * minute + place, "\"17\"", 0.5))
        .collect();
    let lines = printed(&[], &burst);
    assert_eq!(lines[20]["log_evidence"], lines[39]["log_evidence"]);
    let target = printed(&["--test", "target", "--m", "0.8"], &burst);
    // A block closes at the first search after its end, from 30 searches on.
    assert_eq!(target[99]["log_evidence"], 0.0);
    assert_ne!(target[100]["log_evidence"], 0.0);
    assert!(target[6000]["summary"]["crossed_at"].is_u64());
}

#[test]
fn times_are_read_as_in_events() {
    let line = |ts: &str| format!("{{\"ts\": {ts}, \"query\": \"17\", \"score\": 0.5}}\n");
    let expected = printed(&[], &line("1763337600120"));
    assert_eq!(expected[0]["ts"], 1_763_337_600_120_i64);
    for ts in [
        "1763337600120.9",
        "\"2025-11-17T09:00:00.120+09:00\"",
        "\"2025-11-17 09:00:00,120 +0900\"",
        "\"20251117T000000.120Z\"",
    ] {
        assert_eq!(printed(&[], &line(ts)), expected, "{ts}");
    }
}

#[test]
fn lines_with_a_time_and_a_query_that_cannot_be_tested_are_rejected() {
    let search = "{\"ts\": 60000, \"query\": \"17\", \"score\": 0.5}\n";
    let says = ["standard input:1: ", "--m 0.8"];
    refused("--test target", search, &says);
    for mixed in [
        format!("{search}{{\"score\": 0.5}}\n"),
        format!("{{\"tick\": true}}\n{search}"),
    ] {
        let says = ["standard input:2: ", "cannot be mixed"];
        refused("--m 0.5", &mixed, &says);
    }
    refused(
        "",
        "{\"ts\": \"2025-11-17\", \"query\": \"17\", \"score\": 0.5}",
        &["standard input:1: `ts`: not an ISO 8601 time with an offset"],
    );
    for (ts, says) in [
        ("1763337600", "`ts`: a time in seconds"),
        ("1763337600.5", "`ts`: a time in seconds"),
        ("1763337600000000", "`ts`: a time in microseconds"),
        ("\"2025-11-17 09:00:00\"", "`ts`: a time without an offset"),
        (
            "true",
            "an ISO 8601 time with an offset, or epoch milliseconds",
        ),
    ] {
        let search = format!("{{\"ts\": {ts}, \"query\": \"17\", \"score\": 0.5}}");
        refused("", &search, &["standard input:1: `ts`: ", says]);
        let search = format!("{{\"ts\": {ts}, \"unit\": \"u\", \"arm\": 0, \"score\": 0.5}}");
        refused("--test experiment", &search, &["`ts`: ", says]);
    }
    refused(
        "",
        "{\"ts\": 1, \"query\": [17], \"score\": 0.5}",
        &["standard input:1: `query` is not the id of a query"],
    );
    // Without both keys, a line keeps its meaning.
    let lines = printed(&["--m", "0.5"], "{\"ts\": 60000, \"score\": 0.5}\n");
    assert_eq!(lines[0]["n"], 1);
    let with_baseline = "{\"ts\": 60000, \"query\": \"17\", \"score\": 0.5, \"baseline\": 0.9}\n";
    let without = "{\"score\": 0.5, \"baseline\": 0.9}\n";
    assert_eq!(printed(&[], with_baseline), printed(&[], without));
}

#[test]
fn a_simulation_of_traffic_reports_promised_and_observed_false_alarms() {
    let flags = [
        "--simulate",
        "--table",
        "drop",
        "--model",
        "20k noisy",
        "--streams",
        "4",
        "--seed",
        "7",
        "--format",
        "json",
    ];
    let one = backtest(&flags, "").stdout;
    assert_eq!(one, backtest(&flags, "").stdout);
    let groups: Value = serde_json::from_slice(&one).expect("JSON");
    let model = &groups[0]["models"][0];
    assert_eq!(model["model"], "bursts of 5, Zipf 20k noisy, 10/s");
    assert_eq!(model["streams"], 4);
    let target = &model["target"]["false_alarms"][0];
    assert_eq!(target["observed"], 0);
    assert_eq!(target["promised"], 0.004);
    // 95 % confidence with 0 of 4: 4 (1 - 0.05^(1/4)).
    let at_most = target["at_most"].as_f64().expect("a bound");
    assert!(
        (at_most - 4.0 * (1.0 - 0.05_f64.powf(0.25))).abs() < 1e-6,
        "{at_most}"
    );
    let drop = &model["drop"]["false_alarms"][2];
    // 6 hours of 4 streams; 95 % confidence with no alarm: -ln 0.05.
    assert_eq!(
        (&drop["observed"], &drop["promised"]),
        (&Value::from(0), &Value::from(1.0))
    );
    let at_most = drop["at_most"].as_f64().expect("a bound");
    assert!((at_most + 0.05_f64.ln()).abs() < 1e-6, "{at_most}");
    let delay = |delays: &Value| delays[2]["median"].as_f64().expect("found");
    assert!((20.0..60.0).contains(&delay(&model["target"]["delays"])));
    assert!((0.5..15.0).contains(&delay(&model["drop"]["delays"])));
    // The tolerance of the warm-up takes time.
    assert!(delay(&model["after_warm_up"]) <= delay(&model["drop"]["delays"]));
    let text = stdout(&backtest(&flags[..9], ""));
    assert!(
        text.contains("| bursts of 5, Zipf 20k noisy, 10/s | 4 × "),
        "{text}"
    );
    assert!(
        text.contains("k | 0 (≤ 2.1; 0.0) | 0 (≤ 2.1; 0.0) | 0 (≤ 2.1; 0.2) |"),
        "{text}"
    );
    assert!(text.contains("not shown to hold"), "{text}");
}

/// Rows of one table of a simulation.
fn rows(flags: &[&str]) -> Vec<Value> {
    let flags = [&["--simulate", "--format", "json", "--table"], flags].concat();
    let output = backtest(&flags, "");
    let parts = command::json(&output);
    let parts = parts.as_array().expect("parts");
    assert_eq!(parts.len(), 1, "{flags:?}");
    parts[0]["rows"].as_array().expect("rows").clone()
}

#[test]
fn simulated_experiments_find_effects_and_nothing_else() {
    let model = ["--model", "independent", "--streams", "20"];
    let healthy = &rows(&[&["experiment"], &model[..]].concat())[0];
    let counts = healthy["false_alarms"].as_array().expect("levels");
    // 27 streams are too few for an alarm at 1 of 1000.
    assert_eq!(
        (&healthy["streams"], &counts[0]["observed"]),
        (&Value::from(27), &Value::from(0))
    );
    assert_eq!(counts[0]["promised"], 0.027);
    let effects = &rows(&[&["power"], &model[..]].concat())[0]["found"];
    let searches = |place: usize| effects[place]["median"].as_f64().expect("found");
    assert!((300.0..6_000.0).contains(&searches(2)), "{effects}");
    assert!(searches(1) > searches(2), "{effects}");
    assert_eq!(effects[2]["listed"], 1_400.0);
}

#[test]
fn a_simulation_shows_what_repeated_clicks_do_to_click_events() {
    let rows = rows(&["interleave", "--streams", "8"]);
    let alarms = |row: usize| rows[row]["false_alarms"][0]["observed"].as_u64();
    assert_eq!((rows[0].get("method"), alarms(0)), (None, Some(0)));
    assert_eq!(rows[1]["method"], "click events of searches");
    assert!(alarms(1) > Some(2), "{rows:?}");
    let of = rows[0]["found"][2]["of"].as_u64();
    assert_eq!(rows[0]["found"][2]["found"].as_u64(), of);
}

#[test]
fn a_simulation_counts_a_missing_replica_as_no_evidence() {
    let rows = rows(&["replicas", "--streams", "50"]);
    let alarms = |row: usize| rows[row]["false_alarms"][0]["observed"].as_u64();
    assert!(alarms(0) < alarms(1), "{rows:?}");
    assert_eq!(rows[0]["false_alarms"][0]["promised"], 20.0);
}

#[test]
fn a_simulation_compares_rules_on_the_same_streams() {
    let flags = ["practice", "--model", "0.1/s, 14 days", "--streams", "24"];
    let rows = rows(&flags);
    let of = |rule: &str| {
        let mut rows = rows.iter();
        rows.find(|row| row["method"] == rule).expect(rule)
    };
    assert_eq!(of("drop test")["false_alarms_a_week"], 0.0);
    let z_test = of("hourly z-test")["false_alarms_a_week"].as_f64();
    assert!(z_test > Some(3.0), "{rows:?}");
    let drop = &of("drop test")["found"][3];
    assert_eq!((&drop["size"], &drop["found"]), (&0.2.into(), &drop["of"]));
    let cusum = of("CUSUM")["found"][3]["median"].as_f64().expect("found");
    assert!(
        cusum < drop["median"].as_f64().expect("found") * 20.0,
        "{rows:?}"
    );
    let text = ["--simulate", "--table"];
    let text = stdout(&backtest(&[&text[..], &flags[..]].concat(), ""));
    assert!(
        text.contains("| users, days and weekends, 0.1/s, 14 days | burn rate | 2 |"),
        "{text}"
    );
}

#[test]
fn a_simulation_draws_recorded_scores() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scores.jsonl");
    let file = path.to_str().expect("UTF-8");
    let flags = format!("--simulate --streams 20 --events 3000 --scores {file}");
    let json = format!("{flags} --format json");

    std::fs::write(&path, "{\"score\": 0.9, \"baseline\": 0.85}\n{\"tick\": true}\n{\"score\": 0.6, \"baseline\": 0.65}\n")
        .expect("a file");
    let report = command::json(&backtest(&json, ""));
    assert_eq!(report["mean"], 0.75);
    assert_eq!(report["methods"][0]["detected"], 20);
    refused(
        &format!("{flags} --test target --m 0.5"),
        "",
        &["without baselines"],
    );

    std::fs::write(
        &path,
        "{\"score\": 0.9}\n{\"score\": 0.6, \"baseline\": 0.65}\n",
    )
    .expect("a file");
    refused(&flags, "", &["scores.jsonl:2: ", "one kind"]);
    std::fs::write(&path, "{\"score\": 0}\n").expect("a file");
    refused(&flags, "", &["nothing can fall"]);
    std::fs::write(&path, "").expect("a file");
    refused(&flags, "", &["no score"]);
}

/// Folder with a gold set of two queries and events of a day, one search a minute: 20 right answers
/// to each query, then wrong ones.
fn a_day() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let qrels = "q1 0 d1 1\nq2 0 d2 1\n";
    std::fs::write(folder.path().join("gold.qrels"), qrels).expect("a file");
    let mut events: Vec<String> = (0..400_u32)
        .map(|number| {
            let query = number % 2 + 1;
            let document = if number < 40 { query } else { 9 };
            let variant = if number % 4 < 2 { "A" } else { "B" };
            format!(
                r#"{{"query_id":"s{number}","ts":{},"query_key":"q{query}","variant":"{variant}","results":[{{"id":"d{document}"}}]}}"#,
                1_763_337_600_000_u64 + u64::from(number) * 60_000
            )
        })
        .collect();
    // Files need not be in order, and may contain searches without judgements.
    events.reverse();
    events.push(r#"{"query_id":"x","ts":1763337600000,"query_key":"q3","results":[]}"#.to_owned());
    std::fs::write(folder.path().join("day.jsonl"), events.join("\n")).expect("a file");
    folder
}

/// Runs `backtest` on the day's events.
fn of_a_day(flags: &[&str]) -> std::process::Output {
    let day = a_day();
    let [search, gold] = ["day.jsonl", "gold.qrels"].map(|name| day.path().join(name));
    let mut all = vec!["--search", search.to_str().expect("UTF-8"), "--gold"];
    all.push(gold.to_str().expect("UTF-8"));
    all.extend(flags);
    backtest(&all, "")
}

#[test]
fn events_are_tested_in_time_order_against_the_baseline_of_their_query() {
    let summary = |flags: &[&str]| {
        let output = of_a_day(flags);
        let text = stdout(&output);
        let last = text.lines().last().expect("a last line").to_owned();
        let last: Value = serde_json::from_str(&last).expect("JSON");
        last["summary"].clone()
    };
    // For each query, 15 searches are its baseline, 5 more are right, and all later ones are wrong.
    let learned = summary(&["--measure", "P@1", "--learn", "15"]);
    assert_eq!(learned["scores"], 370);
    assert_eq!(learned["ticks"], 399);
    let crossed = learned["crossed_at"].as_u64().expect("it crosses");
    assert!((40..80).contains(&crossed), "{crossed}");
    let from = 1_763_337_600_000_u64;
    assert_eq!(learned["maximum"]["ts"], from + 399 * 60_000);

    // As in the sidecar, every search after the first of a query is compared.
    let as_sidecar = summary(&["--measure", "P@1", "--as-sidecar"]);
    assert_eq!(as_sidecar["scores"], 400);
    assert_eq!(as_sidecar["ticks"], 399);
    let crossed = as_sidecar["crossed_at"].as_u64().expect("it crosses");
    assert!((50..150).contains(&crossed), "{crossed}");

    let as_it_stands = summary(&["--measure", "P@1", "--m", "0.5", "--variant", "A"]);
    assert_eq!(as_it_stands["scores"], 200);
    assert!(as_it_stands["crossed_at"].is_u64());
}

#[test]
fn events_that_cannot_be_tested_are_rejected() {
    #[track_caller]
    fn refused(flags: &[&str], says: &str) {
        let output = of_a_day(flags);
        assert_reports(&output, 2, says);
        assert!(output.stdout.is_empty());
    }
    refused(&[], "--measure");
    refused(&["--measure", "CTR@5"], "measures user feedback");
    refused(&["--measure", "Hops(rne)"], "not configured");
    refused(&["--measure", "P@1", "--learn", "300"], "smaller --learn");
    refused(
        &["--measure", "P@1", "--variant", "C"],
        "none is in the gold set and of variant `C`",
    );
    refused(&["--measure", "P@1", "--simulate"], "--simulate");
    let day = a_day();
    let gold = day.path().join("gold.qrels");
    let gold = gold.to_str().expect("UTF-8");
    let output = backtest(&["--search", gold, "--measure", "P@1", "--gold", gold], "");
    assert_reports(&output, 2, "gold.qrels:1: not a search event");
}
