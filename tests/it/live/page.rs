//! The live page in a real browser, on a stream with a regression that has been read to its end.

mod states;

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use rankgauge_lab::traffic::Record;
use serde_json::{Value, json};

use super::admin::{ctl, ctl_text};
use super::http::{Answer, ask_as_written};
use super::stream::Stream;
use super::{SOON, scrape_when_received, settings, start, yaml};
use crate::harness::browser::look;
use crate::harness::kafka::broker;
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;

/// Text of a query that must stay a text.
const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=alert(1)>";

/// Settings with the measures, slices, targets and the experiment of a search team.
fn settings_of_a_team(stream: &Stream) -> Value {
    let mut settings = settings(broker(), stream);
    settings["measures"] = json!(["P@5", "R@10", "nDCG@10", "RR", "CTR", "SAT"]);
    settings["slices"] = json!(["query_type", "difficulty"]);
    settings["targets"] = json!([
        {"measure": "nDCG@10", "tier": "good", "value": 0.75},
        {"measure": "P@5", "tier": "good", "value": 0.7},
    ]);
    let arm = |variant: &str| json!({"variant": variant, "share": 0.2});
    let arms = ["V1", "V2", "V3", "V4", "V5"].map(arm);
    settings["experiments"] = json!([{
        "id": "law-search-ablation",
        "control": "V4",
        "arms": arms,
    }]);
    settings["components"] = json!({"rne": {"stages": ["rne_"]}});
    settings
}

/// Sidecar that has read a regression of V5, with the detection of the demo.
fn regressed(stream: &mut Stream) -> Sidecar {
    let gold = fs::read_to_string(stream.gold()).expect("the gold set can be read");
    let mut gold: Value = serde_json::from_str(&gold).expect("the gold set is JSON");
    let queries = gold["queries"].as_array_mut();
    queries.expect("queries are a list").push(json!({
        "query_id": "hostile",
        "query_text": HOSTILE,
        "ground_truth": {"a": {"relevance": 1}},
    }));
    fs::write(stream.gold(), gold.to_string()).expect("the gold set can be written");
    let demo = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("config/demo.yaml"));
    let demo = demo.expect("the profile of the demo can be read");
    let (_, detection) = demo.split_once("\ndetection:\n").expect("a section");
    let detection = detection.lines().take_while(|line| line.starts_with(' '));
    // This team has no answers.
    let detection: Vec<String> = detection
        .map(|line| line.replace("CitationF1, ", ""))
        .collect();
    stream.produce(broker(), 20_000);
    let configuration = format!(
        "{}detection:\n{}\n",
        yaml(&settings_of_a_team(stream)),
        detection.join("\n")
    );
    let sidecar = Sidecar::start(&configuration, &[]);
    scrape_when_received(&sidecar, stream.produced());
    wait_until(SOON, "the incident of V5 is open", || {
        let found = sidecar.api("/api/v1/incidents");
        let mut incidents = found["incidents"].as_array()?.iter();
        let is_found = |it: &Value| it["ended_at"].is_null() && it["variant"] == "V5";
        incidents.any(is_found).then_some(())
    });
    sidecar
}

#[test]
fn a_reader_gets_from_an_alarm_to_its_cause_in_two_clicks() {
    // A query counts once a minute: the drop takes minutes of event time to be found.
    let regress_after = Some(Millis(600_000));
    let mut stream = Stream::of_queries(broker(), 40, 10.0, Millis(2_000_000), regress_after);
    let sidecar = regressed(&mut stream);
    let listed = sidecar.api("/api/v1/queries?limit=1");
    let query = &listed["queries"][0];
    let claims = json!({
        "systems": 5,
        "variant": "V5",
        "metrics": format!("http://{}/metrics", sidecar.address()),
        "slice": "query_type",
        "hostile": {"key": "hostile", "text": HOSTILE},
        "search": {"key": query["key"], "text": query["text"]},
    });
    let claims_file = stream.folder().join("claims.json");
    fs::write(&claims_file, claims.to_string()).expect("the folder can be written");
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    let address = format!("http://{}", sidecar.admin_address());
    look("page.mjs", &[&address, &pictures, &claims_file]);
    one_size_is_shown_everywhere(&sidecar);
    words_of_operators_are_kept(&sidecar);
    responses_match_the_description(&sidecar);
}

/// The loss and the means of the incident are equal in the API, the metrics, Markdown, `ctl` and the
/// page.
fn one_size_is_shown_everywhere(sidecar: &Sidecar) {
    let found = sidecar.api("/api/v1/incidents");
    let incident = &found["incidents"][0];
    assert_eq!(incident["variant"], "V5", "{found}");
    let primary = &incident["measures"][0];
    let mean = |level: &str| primary[level]["mean"].as_f64().expect("a mean");
    assert!(
        (mean("before") - mean("now") - mean("loss")).abs() < 1e-9,
        "{primary}"
    );
    let exposition = sidecar.metrics();
    let of = |name: &str| primary[name].as_str().expect("a text");
    let labels = [
        ("variant", "V5"),
        ("measure", of("measure")),
        ("slice", of("slice")),
        ("value", of("value")),
        ("bound", "estimate"),
    ];
    let exposed = exposition.value("rankgauge_incident_loss", &labels);
    let exposed = exposed.expect("the loss is exposed");
    assert!((exposed - mean("loss")).abs() < 1e-9, "{exposed}");
    let id = incident["id"].as_str().expect("an id");
    let text = |path: &str| sidecar.page(path);
    let now = format!("{:.3}", mean("now"));
    for path in [
        format!("/incidents/{id}"),
        "/incidents".to_owned(),
        "/".to_owned(),
        format!("/api/v1/incidents/{id}?format=markdown"),
        "/api/v1/incidents?format=markdown".to_owned(),
    ] {
        let text = text(&path);
        assert!(text.contains(&now), "{path}: no {now} in {text}");
    }
    let printed = ctl_text(sidecar, &["incidents"]);
    assert!(printed.contains(&now), "no {now} in {printed}");
    let loss = format!("{:.3}", mean("loss"));
    let markdown = text(&format!("/api/v1/incidents/{id}?format=markdown"));
    assert!(markdown.contains(&loss), "no {loss} in {markdown}");
    // The systems have the same means.
    let systems = sidecar.api("/api/v1/systems");
    let systems = systems["systems"].as_array().expect("a list");
    let system = systems.iter().find(|it| it["variant"] == "V5");
    let scores = system.expect("V5")["scores"].as_array().expect("a list");
    let score = scores.iter().find(|it| it["measure"] == of("measure"));
    if of("slice") == "all" {
        let drop = &score.expect("its score")["drop"];
        assert_eq!(drop["incident"], id, "{drop}");
        for name in ["before", "now"] {
            let found = drop[name].as_f64().expect("a mean");
            assert!((found - mean(name)).abs() < 1e-9, "{drop}");
        }
    }
    // The alert states the mean of the replicas, of which there is one.
    let rules = include_str!("../../../deploy/prometheus/rules/quality.rules.yaml");
    let recorded = "expr: avg by (cluster, namespace, job, measure, variant, slice, value, bound) (rankgauge_incident_loss)";
    assert!(rules.contains(recorded));
    assert!(
        rules.contains(r#"with printf "rankgauge:incident_loss:avg{%s,bound=\"estimate\"}" $of"#)
    );
}

/// Operators acknowledge an incident and leave notes, which all readers show.
fn words_of_operators_are_kept(sidecar: &Sidecar) {
    let incident = sidecar.api("/api/v1/incidents?limit=1")["incidents"][0].clone();
    let id = incident["id"].as_str().expect("an id");
    let path = format!("/api/v1/incidents/{id}");
    let printed = ctl_text(sidecar, &["acknowledge", id, "--by", "alice"]);
    assert!(
        printed.starts_with(&format!("incident {id} acknowledged by alice at ")),
        "{printed}"
    );
    let again = ctl_text(sidecar, &["acknowledge", id, "--by", "bob"]);
    assert_eq!(
        again,
        printed.replace("acknowledged", "was already acknowledged")
    );
    let printed = ctl_text(sidecar, &["note", id, "rolled *back*", "--by", "bob"]);
    assert!(
        printed.starts_with(&format!("note on incident {id} by bob at ")),
        "{printed}"
    );
    let shown = wait_until(SOON, "the note is kept", || {
        let shown = sidecar.api(&path);
        let is_kept = shown["notes"][0].is_object() && shown["acknowledged"].is_object();
        is_kept.then_some(shown)
    });
    assert_eq!(shown["acknowledged"]["by"], "alice", "{shown}");
    let note = &shown["notes"][0];
    assert_eq!(
        (&note["by"], &note["text"]),
        (&json!("bob"), &json!("rolled *back*"))
    );
    let text = |path: &str| sidecar.page(path);
    let markdown = text(&format!("{path}?format=markdown"));
    assert!(markdown.contains(r"bob: rolled \*back\*"), "{markdown}");
    assert!(markdown.contains("Acknowledged by alice"), "{markdown}");
    let page = text(&format!("/incidents/{id}"));
    assert!(page.contains("rolled *back*"), "{page}");
    assert!(text("/").contains("1 note"), "the card states the note");
    // Unknown incidents and notes beyond the limits are refused.
    let refused = |arguments: &[&str], expected: &str| {
        let output = ctl(sidecar, arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(error.contains(expected), "{error}");
    };
    refused(&["acknowledge", "none"], "no incident has the id");
    refused(&["note", id, " "], "a note has from 1 to 2000");
    refused(&["note", id, &"x".repeat(2_001)], "text has 2001 bytes");
    for number in 2..=32 {
        ctl_text(sidecar, &["note", id, &format!("note {number}")]);
    }
    wait_until(SOON, "all notes are kept", || {
        let shown = sidecar.api(&path);
        (shown["notes"].as_array()?.len() == 32).then_some(())
    });
    refused(
        &["note", id, "one more"],
        "the incident has 32 notes, the maximum",
    );
}

/// Validates the responses of all endpoints, and of all pages of lists, against the description of
/// the API.
fn responses_match_the_description(sidecar: &Sidecar) {
    let described = sidecar.api("/api/v1/openapi.json");
    let checked_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/openapi.json");
    let checked_in = fs::read_to_string(checked_in).expect("the description is checked in");
    let checked_in: Value = serde_json::from_str(&checked_in).expect("the description is JSON");
    assert_eq!(described, checked_in);
    let paths = described["paths"].as_object().expect("paths are an object");
    let key = sidecar.api("/api/v1/queries?limit=1")["queries"][0]["key"].clone();
    let key = key.as_str().expect("a key is a text");
    let incident = sidecar.api("/api/v1/incidents?limit=1")["incidents"][0]["id"].clone();
    let incident = incident.as_str().expect("an id is a text");
    for (path, operations) in paths {
        // The fuzzer checks commands (`make api-fuzz`).
        let Some(read) = operations.get("get") else {
            assert!(
                path.starts_with("/-/") || path.contains("/{id}/"),
                "{path} cannot be read"
            );
            continue;
        };
        let content = &read["responses"]["200"]["content"];
        let Some(content) = content.get("application/json") else {
            assert!(content.get("text/csv").is_some(), "{path}: {content}");
            continue;
        };
        let schema = &content["schema"];
        let mut schema = schema.clone();
        schema["components"] = described["components"].clone();
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let check = |address: &str| -> Value {
            let response = sidecar.api(address);
            let errors = validator.iter_errors(&response);
            let errors: Vec<_> = errors
                .map(|error| format!("{}: {error}", error.instance_path()))
                .take(5)
                .collect();
            assert!(errors.is_empty(), "{address}: {errors:?}");
            response
        };
        let address = path.replace("{key}", key).replace("{id}", incident);
        let whole = check(&address);
        let members = whole.as_object().expect("an object");
        if !members.contains_key("next_cursor") {
            continue;
        }
        let name = [
            "measures",
            "metrics",
            "queries",
            "incidents",
            "without_traffic",
        ];
        let name = name
            .into_iter()
            .find(|name| members.contains_key(*name))
            .expect("a list");
        let is_at_rest = (0..ATTEMPTS).any(|_| pages_equal_the_list(&address, name, &check));
        assert!(
            is_at_rest,
            "{path}: changed during each of {ATTEMPTS} readings"
        );
    }
}

/// Number of readings of a list until it rests.
const ATTEMPTS: usize = 20;

/// Compares the entries of all pages of a list with the list before and after them. An entry that is
/// the same before and after has to be the same on its page. All traffic has been read, so entries
/// change only with the clock: ages, which are left out, a few metrics of the process, and all means
/// of a rolling window when it moves. Returns false if more than one in twenty entries has changed.
fn pages_equal_the_list(address: &str, name: &str, read: &impl Fn(&str) -> Value) -> bool {
    let list = |response: &Value| -> Vec<Value> {
        let mut entries = response[name].as_array().expect("a list").clone();
        for members in entries.iter_mut().filter_map(Value::as_object_mut) {
            members.remove("age_seconds");
        }
        entries
    };
    let before = list(&read(address));
    let limit = before.len().div_ceil(3).max(1);
    let mut joined = Vec::new();
    let mut next = format!("{address}?limit={limit}");
    while joined.len() < before.len() {
        let page = read(&next);
        joined.extend(list(&page));
        let Some(cursor) = page["next_cursor"].as_str() else {
            break;
        };
        next = format!("{address}?limit={limit}&cursor={cursor}");
    }
    let after = list(&read(address));
    if joined.len() < before.len() || after.len() != before.len() {
        return false;
    }
    let mut changed = 0;
    for ((joined, before), after) in joined.iter().zip(&before).zip(&after) {
        if before == after {
            assert_eq!(joined, before, "{address}");
        } else {
            changed += 1;
        }
    }
    changed * 20 <= before.len()
}

#[test]
fn a_healthy_system_lists_no_query_as_regressed() {
    let mut stream = Stream::of_queries(broker(), 40, 10.0, Millis(2_000_000), None);
    stream.produce(broker(), 20_000);
    let mut settings = settings_of_a_team(&stream);
    settings["detection"] = json!({"measures": ["nDCG@10", "SAT"]});
    let sidecar = start(&settings);
    scrape_when_received(&sidecar, stream.produced());
    measures_of_users_are_not_compared_with_their_baselines(&sidecar);
    for measure in ["nDCG@10", "P@5", "R@10", "RR"] {
        let path = format!("/api/v1/queries?measure={measure}&order=regressed");
        let lost = sidecar.api(&path);
        assert_eq!(lost["found"], 0, "{lost}");
        // All 200 pairs are compared.
        let all = sidecar.api(&format!("{path}&evidence=any&limit=1000"));
        let entries = all["queries"].as_array().expect("a list");
        assert!(entries.len() > 150, "{measure}: {}", entries.len());
        for entry in entries {
            assert_ne!(entry["verdict"], "regressed", "{entry}");
            let [lower, upper] =
                ["effect_lower", "effect_upper"].map(|end| entry[end].as_f64().expect("a number"));
            assert!(lower <= 0.0 && upper >= 0.0 || entry["verdict"] == "improved");
        }
    }
    let page = |path: &str| String::from_utf8_lossy(&view(&sidecar, path).body).into_owned();
    assert!(page("/queries?order=regressed").contains("No query has a loss beyond noise"));
    assert!(!page("/").contains(" that lost"));

    let slice = "slice=query_type&value=specific_article";
    let found = sidecar.api(&format!(
        "/api/v1/queries?{slice}&min_count=20&order=searched&limit=1000"
    ));
    let entries = found["queries"].as_array().expect("a list");
    assert!(!entries.is_empty());
    for entry in entries {
        assert_eq!(entry["labels"]["query_type"], "specific_article");
        assert!(entry["count"].as_u64() >= Some(20), "{entry}");
    }
    assert!(entries.is_sorted_by(|a, b| a["count"].as_u64() >= b["count"].as_u64()));
    let csv = page(&format!(
        "/api/v1/queries.csv?{slice}&min_count=20&order=searched"
    ));
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("key,text,variant,"), "{}", lines[0]);
    assert_eq!(lines.len(), entries.len() + 1);
    for (line, entry) in lines[1..].iter().zip(entries) {
        let key = entry["key"].as_str().expect("a text");
        assert!(line.starts_with(&format!("{key},")), "{line}");
    }
    // Every cell of the slices opens its queries.
    let cell = format!("variant=V4&amp;{}&amp;", slice.replace('&', "&amp;"));
    assert!(page("/").contains(&cell.replace('_', "%5F")), "{cell}");
}

/// Baselines of a measure of users have the last search of each session, its mean has all.
fn measures_of_users_are_not_compared_with_their_baselines(sidecar: &Sidecar) {
    let found = sidecar.api("/api/v1/systems");
    let systems = found["systems"].as_array().expect("a list");
    let of_v4 = systems.iter().find(|it| it["variant"] == "V4");
    let scores = of_v4.expect("V4")["scores"].as_array().expect("a list");
    let page = |path: &str| String::from_utf8_lossy(&view(sidecar, path).body).into_owned();
    let [overview, system] = [page("/"), page("/systems/V4")];
    let part = |text: &str, start: &str, end: &str| -> String {
        let (_, rest) = text.split_once(start).expect("the start of the part");
        let (part, _) = rest.split_once(end).expect("the end of the part");
        part.to_owned()
    };
    let row = part(&overview, "<tr data-variant=\"V4\">", "</tr>");
    for (measure, is_compared) in [("nDCG@10", true), ("SAT", false)] {
        let score = scores.iter().find(|it| it["measure"] == measure);
        let score = score.expect("a measure of the team");
        assert!(score["baseline"].is_number(), "{score}");
        let cell = part(&row, &format!("data-measure=\"{measure}\""), "</td>");
        assert_eq!(cell.contains("against the baseline"), is_compared, "{cell}");
        let row = part(
            &system,
            &format!("<tr data-measure=\"{measure}\">"),
            "</tr>",
        );
        let is_labelled = row.contains("of last searches of sessions");
        assert_eq!(is_labelled, !is_compared, "{row}");
    }
}

/// Limits of the first view: body and assets as sent, and the CPU time of the page in seconds. On a busy
/// machine, its time is longer.
const MAX_FIRST_VIEW_BYTES: usize = 150_000;
const MAX_FIRST_VIEW: f64 = 0.2;

/// Views whose CPU time is measured, and the interval at which the page refreshes itself.
const VIEWS: u32 = 25;
const REFRESH_SECONDS: f64 = 5.0;

/// Limit of the CPU time for a reader as a share of one core. The page is rendered on a thread of its
/// own and waits for no worker, so ingest loses at most this share of a core.
const MAX_SHARE: f64 = 0.01;

#[test]
fn the_first_view_of_a_large_gold_set_is_small_and_fast() {
    let mut stream = Stream::of_queries(broker(), 1_000, 50.0, Millis(120_000), None);
    stream.produce(broker(), 5_000);
    let sidecar = start(&settings_of_a_team(&stream));
    scrape_when_received(&sidecar, stream.produced());
    for path in ["/", "/queries", "/gold", "/systems/V5"] {
        let answer = view(&sidecar, path);
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        let assets = text.split('"').filter(|it| it.starts_with("/assets/"));
        let assets = assets.map(|asset| view(&sidecar, asset).body.len());
        let bytes = answer.body.len() + assets.sum::<usize>();
        let start = sidecar.cpu_seconds();
        for _ in 0..VIEWS {
            view(&sidecar, path);
        }
        let cpu = (sidecar.cpu_seconds() - start) / f64::from(VIEWS);
        let share = cpu / REFRESH_SECONDS;
        eprintln!(
            "{path}: {bytes} bytes uncompressed with assets; {:.1} ms of CPU time for a view: {:.2} % of a \
             core with a refresh every {REFRESH_SECONDS} s",
            cpu * 1e3,
            share * 1e2
        );
        assert!(bytes < MAX_FIRST_VIEW_BYTES, "{path}: {bytes} bytes");
        assert!(share < MAX_SHARE, "{path}: {share}");
    }
}

/// Deployment of V5 with this version, if its period is known.
fn deployed(sidecar: &Sidecar, version: &str) -> Option<Value> {
    let listed = sidecar.api("/api/v1/deployments");
    let mut listed = listed["deployments"].as_array().expect("a list").iter();
    let found = listed.find(|it| it["version"] == version && it["period"].is_object());
    found.cloned()
}

#[test]
fn two_deployments_are_shown_side_by_side_with_the_numbers_of_the_api() {
    let mut stream = Stream::of_queries(broker(), 40, 10.0, Millis(2_000_000), None);
    let sidecar = start(&settings_of_a_team(&stream));
    stream.produce(broker(), 2_000);
    scrape_when_received(&sidecar, stream.produced());
    for version in ["1.0", "2.0"] {
        ctl_text(&sidecar, &["deploy", "V5", version]);
        wait_until(SOON, "the period begins", || deployed(&sidecar, version));
        stream.produce(broker(), 4_000);
        scrape_when_received(&sidecar, stream.produced());
        wait_until(SOON, "the searches of the period are sampled", || {
            let found = deployed(&sidecar, version)?;
            (found["period"]["searches"].as_u64() > Some(500)).then_some(())
        });
    }
    let periods = ["1.0", "2.0"].map(|it| deployed(&sidecar, it).expect("a period"));
    let periods = periods.each_ref().map(|it| &it["period"]);
    assert!(
        periods[0]["until"].as_i64() <= periods[1]["from"].as_i64(),
        "{periods:?}"
    );
    let page = |path: &str| String::from_utf8_lossy(&view(&sidecar, path).body).into_owned();
    let shown = page("/systems/V5?window=5m&slice=difficulty");
    let (_, shown) = shown.split_once("id=\"compare\"").expect("the comparison");
    for period in periods {
        assert!(period["p95_seconds"].is_f64(), "{period}");
        let scores = period["scores"].as_array().expect("a list");
        let primary = scores.iter().find(|it| it["measure"] == "nDCG@10");
        let primary = primary.expect("the primary measure");
        assert!(primary["searches"].as_u64() > Some(100), "{primary}");
        for number in [
            &primary["mean"],
            &primary["searches"],
            &period["searches"],
            &period["p95_seconds"],
        ] {
            let value = format!("<data value=\"{number}\"");
            assert!(shown.contains(&value), "no {value} in {shown}");
        }
    }
    let loss = |of: &Value, name: &str| {
        let mut scores = of["scores"].as_array().expect("a list").iter();
        let score = scores.find(|it| it["measure"] == "nDCG@10");
        score.expect("the primary measure")[name].as_f64()
    };
    let [from, to] = periods.map(|it| loss(it, "mean").expect("a mean"));
    let change = format!("<data value=\"{}\"", to - from);
    let has_bounds = periods.iter().all(|it| loss(it, "lower").is_some());
    assert_eq!(shown.contains(&change), has_bounds, "{shown}");
    // Links state both versions, and keep window and slice.
    let link = "?from=1%2E0&amp;to=2%2E0&amp;window=5m&amp;slice=difficulty#compare";
    assert!(shown.contains(link), "no {link} in {shown}");
    let queries = "/queries?order=regressed&amp;variant=V5&amp;window=5m";
    assert!(shown.contains(queries), "no {queries} in {shown}");
    let older = page("/systems/V5?from=2.0&to=1.0");
    assert!(
        older.contains("Queries that lost: kept of the last deployment only."),
        "{older}"
    );
    let headers = "Host: localhost\r\n";
    let unknown = "/systems/V5?from=3.0";
    let answer = ask_as_written(sidecar.admin_address(), "GET", unknown, headers);
    assert_eq!(answer.status, 404);
}

/// Maximum height of a screen on a phone, with all that is not folded.
const MAX_PHONE_HEIGHT: u32 = 4_000;

/// Number of systems of the large configuration.
const MANY_SYSTEMS: u64 = 12;

/// Sidecar with the measures of law search, [`MANY_SYSTEMS`] systems in one experiment and 1,000 queries,
/// after two deployments of V5.
fn with_many_systems(stream: &mut Stream) -> Sidecar {
    let profile = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/law-search.yaml");
    let mut settings = settings(broker(), stream);
    let arms = (1..=MANY_SYSTEMS)
        .map(|number| json!({"variant": format!("V{number}"), "share": 1.0 / 12.0}));
    settings["publish_interval"] = json!("1s");
    settings["experiments"] = json!([{
        "id": "versions",
        "control": "V4",
        "assignment": "session",
        "arms": arms.collect::<Vec<_>>(),
    }]);
    let text = fs::read_to_string(profile).expect("the profile can be read");
    let sidecar = Sidecar::start(&format!("{}{text}", yaml(&settings)), &[]);
    for version in [None, Some("1.0"), Some("2.0")] {
        if let Some(version) = version {
            ctl_text(&sidecar, &["deploy", "V5", version]);
            wait_until(SOON, "the period begins", || deployed(&sidecar, version));
        }
        let records = stream.take(3_000).into_iter().map(in_one_of_many_systems);
        let records: Vec<_> = records.collect();
        stream.send(broker(), &records);
        scrape_when_received(&sidecar, stream.produced());
    }
    wait_until(SOON, "the period of the last deployment is sampled", || {
        let found = deployed(&sidecar, "2.0")?;
        let scores = found["period"]["scores"].as_array()?;
        (!scores.is_empty()).then_some(())
    });
    sidecar
}

/// The record, if it is a search in the system of a hash of its key.
fn in_one_of_many_systems(mut record: Record) -> Record {
    if record.kind == Kind::Search {
        let mut search: Value = serde_json::from_slice(&record.payload).expect("JSON");
        let mut hasher = DefaultHasher::new();
        record.key.hash(&mut hasher);
        let variant = format!("V{}", hasher.finish() % MANY_SYSTEMS + 1);
        search["experiment"] = json!({"id": "versions", "variant": variant});
        record.payload = search.to_string().into_bytes();
    }
    record
}

#[test]
fn the_first_view_of_many_systems_is_small_and_short() {
    let mut stream = Stream::of_queries(broker(), 1_000, 50.0, Millis(240_000), None);
    let sidecar = with_many_systems(&mut stream);
    let systems = sidecar.api("/api/v1/systems");
    let systems = systems["systems"].as_array().expect("a list");
    assert_eq!(systems.len() as u64, MANY_SYSTEMS);
    let overflow = &sidecar.api("/api/v1/pipeline")["overflow"];
    assert_eq!(overflow, &json!({}), "no series is beyond its limit");
    let screens = [
        "/",
        "/queries",
        "/systems",
        "/systems/V5",
        "/experiments",
        "/gold",
    ];
    for path in screens {
        let headers = "Host: localhost\r\nAccept-Encoding: gzip\r\n";
        let sent = |path: &str| {
            let answer = ask_as_written(sidecar.admin_address(), "GET", path, headers);
            assert_eq!(answer.status, 200, "{path}");
            answer.body.len()
        };
        let page = String::from_utf8_lossy(&view(&sidecar, path).body).into_owned();
        let assets = page.split('"').filter(|it| it.starts_with("/assets/"));
        let bytes = sent(path) + assets.map(sent).sum::<usize>();
        let start = sidecar.cpu_seconds();
        for _ in 0..VIEWS {
            sent(path);
        }
        let cpu = (sidecar.cpu_seconds() - start) / f64::from(VIEWS);
        eprintln!("{path}: {bytes} bytes with assets as sent, {cpu:.3} s of CPU time");
        assert!(bytes < MAX_FIRST_VIEW_BYTES, "{path}: {bytes} bytes");
        assert!(cpu < MAX_FIRST_VIEW, "{path}: {cpu} s");
    }
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    fs::create_dir_all(&pictures).expect("the folder can be made");
    let address = format!("http://{}", sidecar.admin_address());
    let most = MAX_PHONE_HEIGHT.to_string();
    let mut arguments: Vec<&dyn AsRef<OsStr>> = vec![&address, &pictures, &most];
    arguments.extend(screens.iter().map(|it| it as &dyn AsRef<OsStr>));
    look("heights.mjs", &arguments);
}

fn view(sidecar: &Sidecar, path: &str) -> Answer {
    let answer = ask_as_written(sidecar.admin_address(), "GET", path, "Host: localhost\r\n");
    assert_eq!(answer.status, 200, "{path}");
    answer
}
