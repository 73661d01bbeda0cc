//! API requests from programs on the same machine, and rejected requests: cross-origin requests,
//! foreign host names and unknown paths.

mod shown;

use std::fs;
use std::path::Path;

use rankgauge_lab::corpus::Corpus;
use rankgauge_serve::clock::wall_now;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::http::{Answer, ask_as_written, ask_with_body};
use super::{SHUTDOWN, SOON, start, start_with_builds};
use crate::harness::kafka::broker;
use crate::harness::sidecar::Sidecar;
use crate::harness::{free_port, wait_until};

/// Sidecar whose broker never exists, and which reloads its gold set only on request.
fn alone(gold: &[&Path]) -> Sidecar {
    start(&json!({
        "kafka": {"brokers": format!("127.0.0.1:{}", free_port())},
        "workers": 2,
        "gold": {"paths": gold, "reload_interval": "24h"},
    }))
}

fn ask(sidecar: &Sidecar, method: &str, path: &str, headers: &str) -> Answer {
    let headers = format!("Host: localhost\r\n{headers}");
    ask_as_written(sidecar.admin_address(), method, path, &headers)
}

/// JSON body of a response with this status.
fn json_of(answer: &Answer, status: u16) -> Value {
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, status, "{text}");
    let content_type = match status {
        200..300 => "application/json",
        _ => "application/problem+json",
    };
    assert_eq!(answer.header("content-type"), Some(content_type));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn get(sidecar: &Sidecar, path: &str) -> Value {
    json_of(&ask(sidecar, "GET", path, ""), 200)
}

/// Error description in the response to a rejected request.
fn refused(sidecar: &Sidecar, method: &str, path: &str, status: u16) -> Value {
    let answer = json_of(&ask(sidecar, method, path, ""), status);
    assert_eq!(answer["status"], status, "{answer}");
    assert_eq!(answer["type"], "about:blank", "{answer}");
    assert!(answer["title"].is_string(), "{answer}");
    assert!(answer["detail"].is_string(), "{answer}");
    answer
}

#[test]
fn unknown_paths_and_methods_are_answered_with_the_valid_ones() {
    let sidecar = alone(&[]);
    let index = get(&sidecar, "/api/v1");
    assert_eq!(index["endpoints"].as_array().map(Vec::len), Some(25));
    for path in ["/metrics", "/api", "/api/v1/status/", "/api/v2/status"] {
        let answer = refused(&sidecar, "GET", path, 404);
        assert_eq!(answer["endpoints"], index["endpoints"]);
    }
    for endpoint in index["endpoints"].as_array().expect("a list") {
        let (method, path) = endpoint
            .as_str()
            .and_then(|endpoint| endpoint.split_once(' '))
            .expect("a method and a path");
        let (others, allowed) = match (method, path) {
            (_, "/-/log-level") => (["PATCH", "DELETE"], "get, head, post, put"),
            ("GET", _) => (["POST", "DELETE"], "get, head"),
            _ => (["GET", "PUT"], "post"),
        };
        for other in others {
            let answer = ask(&sidecar, other, path, "");
            assert_eq!(answer.header("allow"), Some(allowed), "{other} {path}");
            json_of(&answer, 405);
        }
    }
    let head = ask(&sidecar, "HEAD", "/api/v1/status", "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    let unknown = refused(&sidecar, "GET", "/api/v1/queries/nobody", 404);
    let detail = unknown["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("/api/v1/queries?search=PART"), "{detail}");
    refused(&sidecar, "GET", "/api/v1/queries/%ff", 400);
}

#[test]
fn invalid_parameters_are_rejected_with_the_valid_ones() {
    let sidecar = alone(&[]);
    for (path, expected) in [
        (
            "/api/v1/status?x=1",
            "\"x\" is not a parameter: this endpoint has none",
        ),
        ("/api/v1/measures?mesure=AP", "use one of measure, variant"),
        ("/api/v1/measures?measure=nDGC", "nDCG"),
        ("/api/v1/measures?measure=nDCG@7", "nDCG@7 is not computed"),
        ("/api/v1/measures?window=2m", "use one of 1m, 5m, 1h, 24h"),
        ("/api/v1/queries?limit=0", "from 1 to 1000"),
        ("/api/v1/queries?limit=1&limit=2", "given twice"),
        ("/api/v1/queries?measure=CTR", "feedback window"),
        ("/api/v1/queries?measure=Judged@10", "describes"),
        ("/api/v1/queries?measure=P&cutoff=7", "P@7 is not computed"),
        ("/api/v1/queries?cutoff=5", "give measure"),
        ("/api/v1/queries?search=", "search has no value"),
        ("/api/v1/queries?slice=&value=hard", "slice has no value"),
        ("/api/v1/queries?slice=difficulty", "give value"),
        ("/api/v1/queries.csv?value=hard", "give slice"),
        ("/api/v1/queries?order=", "\"\" is none of worst, highest"),
        ("/api/v1/measures?slice=", "slice has no value"),
        ("/api/v1/systems?window", "window has no value"),
        ("/api/v1/queries?system=V5", "\"system\" is not a parameter"),
    ] {
        let answer = refused(&sidecar, "GET", path, 400);
        let error = answer["detail"].as_str().unwrap_or_default();
        assert!(error.contains(expected), "{path}: {error}");
    }
    let found = get(&sidecar, "/api/v1/queries?measure=nDCG&cutoff=10");
    assert_eq!(found["measure"], "nDCG@10");
    assert_eq!(found["queries"], json!([]));
    // Searches without a variant have the empty name. A form of the page sends its empty fields.
    for path in [
        "/api/v1/queries?variant=",
        "/queries?search=&order=worst&variant=&slice=difficulty&value=&min_count=1",
        "/?window=&history=&against=",
    ] {
        let answer = ask(&sidecar, "GET", path, "");
        assert_eq!(answer.status, 200, "{path}");
    }
}

/// Log and page of a sidecar whose admin listener has this address.
fn shown_on(address: &str, admin: &Value) -> [String; 2] {
    let settings = json!({
        "kafka": {"brokers": format!("127.0.0.1:{}", free_port())},
        "admin": admin,
    });
    let listen = [("RANKGAUGE__ADMIN__LISTEN", address)];
    let sidecar = Sidecar::start(&super::yaml(&settings), &listen);
    let page = ask(&sidecar, "GET", "/", "");
    assert_eq!(page.status, 200);
    let page = String::from_utf8_lossy(&page.body).into_owned();
    [sidecar.log(), page]
}

#[test]
fn admin_listener_without_authentication_on_a_public_address_warns_in_log_and_page() {
    let [log, page] = shown_on("0.0.0.0:0", &json!({}));
    let warning =
        "WARN rankgauge::app: admin listener without authentication on an address of the network";
    assert!(log.contains(warning), "{log}");
    assert!(page.contains("✗ no authentication"), "{page}");
    let accepted = json!({"allow_unauthenticated": true});
    for (address, admin) in [("127.0.0.1:0", &json!({})), ("0.0.0.0:0", &accepted)] {
        let [log, page] = shown_on(address, admin);
        assert!(!log.contains("without authentication"), "{log}");
        assert!(!page.contains("no authentication"), "{page}");
    }
}

#[test]
fn api_accepts_only_loopback_host_headers() {
    let sidecar = alone(&[]);
    let address = sidecar.admin_address();
    let status = |headers: &str| {
        let answer = ask_as_written(address, "GET", "/api/v1/status", headers);
        json_of(&answer, answer.status);
        answer.status
    };
    for host in [
        "localhost",
        "LOCALHOST:8080",
        "127.0.0.1",
        "127.0.0.1:9469",
        "[::1]:9469",
    ] {
        assert_eq!(status(&format!("Host: {host}\r\n")), 200, "{host}");
    }
    for host in [
        "rebound.example",
        "localhost.example",
        "localhost.",
        "192.0.2.1",
        "0x7f000001",
        "",
        "a b",
    ] {
        assert_eq!(status(&format!("Host: {host}\r\n")), 403, "{host}");
    }
    assert_eq!(status(""), 403);
}

#[test]
fn cross_origin_commands_are_rejected() {
    let sidecar = alone(&[]);
    let address = sidecar.admin_address();
    let command = |headers: &str| {
        let headers = format!("Host: {address}\r\n{headers}Content-Length: 0\r\n");
        let answer = ask_as_written(address, "POST", "/-/baseline", &headers);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("access-control-allow-origin"), None);
        answer.status
    };
    for headers in [
        "Origin: http://site.example\r\n",
        "Origin: null\r\n",
        "Origin: http://localhost:1\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
    ] {
        assert_eq!(command(headers), 403, "{headers}");
    }
    assert!(!sidecar.log().contains("baselines reset"));
    let own = format!("Origin: http://{address}\r\nSec-Fetch-Site: same-origin\r\n");
    assert_eq!(command(&own), 202);
}

#[test]
fn pages_run_only_their_own_script_and_commands_of_other_sites_get_a_page_too() {
    let sidecar = alone(&[]);
    let address = sidecar.admin_address();
    let page = |method: &str, path: &str, headers: &str, status: u16| {
        let headers = format!("Host: {address}\r\nAccept: text/html\r\n{headers}");
        let answer = ask_as_written(address, method, path, &headers);
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, status, "{path}: {text}");
        assert_eq!(
            answer.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(
            policy.starts_with("default-src 'none';") && !policy.contains("unsafe"),
            "{policy}"
        );
        // Otherwise a form of the page would have the origin `null`.
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"));
        for inline in [
            " style=",
            "<style",
            " onclick=",
            "<script>",
            "javascript:",
            "http://",
            "https://",
        ] {
            assert!(!text.contains(inline), "{path}: {inline}");
        }
        text
    };
    // Without traffic, gold set and broker, each screen states what is missing.
    for (path, states) in [
        ("/", ["No searches yet", "no gold set", "unknown"]),
        (
            "/queries",
            ["No gold query found", "gold.paths", "no gold set"],
        ),
        (
            "/systems",
            ["No searches yet", "None was reported", "variant"],
        ),
        (
            "/experiments",
            ["No experiment is configured", "control", "arms"],
        ),
        (
            "/pipeline",
            [
                "No record received yet",
                "No partition is assigned",
                "✗ away",
            ],
        ),
        (
            "/gold",
            ["No gold set is loaded", "gold.paths", "not judged"],
        ),
    ] {
        let text = page("GET", path, "", 200);
        for state in states {
            assert!(text.contains(state), "{path}: {state}: {text}");
        }
    }
    page("GET", "/queries/nobody", "", 404);
    page("GET", "/systems/nobody", "", 404);
    page("GET", "/nothing", "", 404);
    page("GET", "/queries?order=best", "", 400);
    let foreign = page(
        "POST",
        "/-/baseline",
        "Origin: null\r\nContent-Length: 0\r\n",
        403,
    );
    assert!(foreign.contains("pages of other sites"), "{foreign}");
    assert!(!sidecar.log().contains("baselines reset"));
    let own = format!("Origin: http://{address}\r\nContent-Length: 0\r\n");
    // The browser reads a screen then, so that a refresh does not repeat the command.
    let answer = ask_as_written(
        address,
        "POST",
        "/-/baseline",
        &format!("Host: {address}\r\nAccept: text/html\r\n{own}"),
    );
    assert_eq!(answer.status, 303);
    assert_eq!(answer.header("location"), Some("/systems?done=baselines"));
    let text = page("GET", "/systems?done=baselines", "", 200);
    assert!(text.contains("The baselines are being reset"), "{text}");
    for path in ["/assets/page.css", "/assets/page.js", "/assets/icon.svg"] {
        let answer = ask(&sidecar, "GET", path, "");
        assert_eq!(answer.status, 200);
        assert!(
            answer
                .header("cache-control")
                .is_some_and(|it| it.contains("immutable"))
        );
    }
}

#[test]
fn the_log_level_is_shown_and_changed_while_the_sidecar_runs() {
    let sidecar = alone(&[]);
    assert_eq!(get(&sidecar, "/-/log-level"), json!({"level": "info"}));
    let change = |method, level| {
        let path = format!("/-/log-level?level={level}");
        json_of(&ask(&sidecar, method, &path, ""), 200)
    };
    // A request that is not HTTP is logged at the level `debug`.
    let debug_lines = || sidecar.log().matches("connection failed").count();
    let provoke = || {
        drop(ask_as_written(
            sidecar.address(),
            "NO",
            "HTTP",
            "Broken\r\n",
        ));
    };
    provoke();
    assert_eq!(debug_lines(), 0);

    let changed = change("POST", "debug");
    assert_eq!(changed, json!({"before": "info", "after": "debug"}));
    assert_eq!(get(&sidecar, "/-/log-level"), json!({"level": "debug"}));
    wait_until(SOON, "a debug message is logged", || {
        provoke();
        (debug_lines() > 0).then_some(())
    });

    let changed = change("PUT", "error");
    assert_eq!(changed, json!({"before": "debug", "after": "error"}));
    wait_until(SOON, "both changes are logged", || {
        (sidecar.log().matches("log level changed").count() == 2).then_some(())
    });
    let before = debug_lines();
    provoke();
    assert_eq!(debug_lines(), before);

    for (path, expected) in [
        ("/-/log-level", "the parameter level is missing"),
        ("/-/log-level?level=loud", "\"loud\" is none of off, error"),
        ("/-/log-level?level=info&level=warn", "given twice"),
        ("/-/log-level?lvl=info", "use one of level"),
    ] {
        let answer = refused(&sidecar, "POST", path, 400);
        let error = answer["detail"].as_str().unwrap_or_default();
        assert!(error.contains(expected), "{path}: {error}");
    }
    refused(&sidecar, "GET", "/-/log-level?level=info", 400);
    let other_site = ask(
        &sidecar,
        "PUT",
        "/-/log-level?level=trace",
        "Origin: http://site.example\r\n",
    );
    json_of(&other_site, 403);
    assert_eq!(get(&sidecar, "/-/log-level"), json!({"level": "error"}));
}

#[test]
fn commands_reach_every_worker_while_the_broker_is_unavailable() {
    let sidecar = alone(&[]);
    let accepted = json_of(&ask(&sidecar, "POST", "/-/baseline", ""), 202);
    assert_eq!(accepted, json!({"workers": 2}));
    wait_until(SOON, "both workers have been asked", || {
        (sidecar.log().matches("baselines reset").count() == 2).then_some(())
    });
}

/// Reports a deployment.
fn deploy(sidecar: &Sidecar, body: &str, headers: &str) -> Answer {
    let headers = format!(
        "Host: localhost\r\n{headers}Content-Length: {}\r\n",
        body.len()
    );
    ask_with_body(
        sidecar.admin_address(),
        "POST",
        "/-/deployment",
        &headers,
        body,
    )
}

#[test]
fn searches_with_a_new_version_are_one_deployment_of_their_variant() {
    let (sidecar, search) = start_with_builds("versions");
    let start = wall_now().0 - 60_000;
    // Both workers see both versions, and the second version beside the first one.
    let searches = (0..40).map(|number| {
        let version = if number >= 20 && number % 4 < 2 { 2 } else { 1 };
        let event = json!({
            "query_id": format!("q{number}"),
            "ts": start + number * 1_000,
            "query": "lease",
            "variant": "V1",
            "labels": {"build": version},
            "results": [{"id": "a"}],
        });
        let partition = i32::from(number % 2 == 1);
        (format!("q{number}"), event.to_string(), Some(partition))
    });
    broker().produce(&search, searches);
    let listed = wait_until(SOON, "the deployment is listed", || {
        let listed = get(&sidecar, "/api/v1/deployments");
        let listed = listed["deployments"].as_array().expect("a list").clone();
        let read = sidecar.metrics().sum("rankgauge_searches_total", &[]);
        (!listed.is_empty() && read >= 40.0).then_some(listed)
    });
    assert_eq!(listed.len(), 1, "{listed:?}");
    let [variant, version] = ["variant", "version"].map(|name| listed[0][name].as_str());
    assert_eq!([variant, version], [Some("V1"), Some("2")]);
    assert_eq!(listed[0]["keeps_baselines"], true);
    // The first version is no deployment, and can be compared nevertheless.
    assert_eq!(listed[0]["before"]["version"], "1", "{listed:?}");
    let pair = ask(&sidecar, "GET", "/systems/V1?from=1&to=2", "");
    assert_eq!(pair.status, 200);
    let unknown = refused(&sidecar, "GET", "/systems/V1?from=3", 404);
    let detail = unknown["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("use one of 2, 1"), "{detail}");
    let log = sidecar.log();
    assert!(!log.contains("baselines of a variant reset"), "{log}");
}

/// Sends reports that are refused.
fn refuse_wrong_reports(sidecar: &Sidecar) {
    for (body, status) in [
        ("", 400),
        ("{}", 400),
        (r#"{"variant": "V5"}"#, 400),
        (r#"{"variant": "V5", "version": ""}"#, 400),
        (r#"{"variant": "V5", "version": "1", "when": 1}"#, 400),
        (r#"{"variant": "V5", "version": "1", "ts": "soon"}"#, 400),
        (
            r#"{"variant": "V5", "version": "1", "ts": 1763370000}"#,
            400,
        ),
        (
            r#"{"variant": "V5", "version": "1", "ts": "2999-01-01T00:00:00Z"}"#,
            400,
        ),
        (
            r#"{"variant": "V5", "version": "1", "ts": 9223372036854775807}"#,
            400,
        ),
        (&"x".repeat(20_000), 413),
        (
            &format!(r#"{{"variant": "V5", "version": "{}"}}"#, "1".repeat(300)),
            400,
        ),
    ] {
        let answer = json_of(&deploy(sidecar, body, ""), status);
        assert!(answer["detail"].is_string(), "{answer}");
    }
}

#[test]
fn deployments_reset_their_variant_are_listed_exposed_and_remembered() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    let settings = json!({
        "kafka": {"brokers": format!("127.0.0.1:{}", free_port())},
        "workers": 2,
        "checkpoint": {"folder": folder.path().join("checkpoints")},
    });
    let mut sidecar = start(&settings);
    assert_eq!(
        get(&sidecar, "/api/v1/deployments"),
        json!({"deployments": []})
    );
    let first = r#"{"variant": "V4", "version": "1", "ts": 1763370000000}"#;
    let second = r#"{"variant": "V5", "version": "1.4.0", "ts": "2025-11-17T10:00:00Z", "note": "new reranker"}"#;
    let accepted = json_of(&deploy(&sidecar, first, ""), 202);
    assert_eq!(accepted["workers"], 2);
    assert_eq!(accepted["deployment"]["time"], "2025-11-17T09:00:00Z");
    json_of(&deploy(&sidecar, second, ""), 202);
    json_of(
        &deploy(&sidecar, r#"{"variant": "V5", "version": "now"}"#, ""),
        202,
    );
    wait_until(SOON, "both workers reset the variant", || {
        let log = sidecar.log();
        (log.matches("baselines of a variant reset").count() == 6).then_some(())
    });
    let is_listed = |sidecar: &Sidecar| {
        let listed = get(sidecar, "/api/v1/deployments");
        let listed = listed["deployments"].as_array().expect("a list").clone();
        let versions: Vec<&str> = listed
            .iter()
            .filter_map(|it| it["version"].as_str())
            .collect();
        assert_eq!(versions, ["now", "1.4.0", "1"]);
        assert_eq!(listed[1]["note"], "new reranker");
        let exposition = sidecar.metrics();
        let labels = [("variant", "V4"), ("version", "1")];
        let time = exposition.matching("rankgauge_deployment_timestamp_seconds", &labels);
        let times: Vec<String> = time.map(|sample| sample.text.clone()).collect();
        assert_eq!(times, ["1763370000"]);
    };
    is_listed(&sidecar);
    let resets = || {
        sidecar
            .log()
            .matches("baselines of a variant reset")
            .count()
    };
    let before = resets();
    let kept = r#"{"variant": "V5", "version": "now", "keeps_baselines": true}"#;
    let accepted = json_of(&deploy(&sidecar, kept, ""), 202);
    assert_eq!(accepted["deployment"]["keeps_baselines"], true);
    json_of(&ask(&sidecar, "POST", "/-/baseline", ""), 202);
    wait_until(SOON, "both workers reset all baselines", || {
        (sidecar.log().matches("baselines reset").count() == 2).then_some(())
    });
    assert_eq!(resets(), before);
    refuse_wrong_reports(&sidecar);
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let accepted = deploy(&sidecar, "variant=V5&version=1.4.0&note=", form);
    assert_eq!(json_of(&accepted, 202)["deployment"]["version"], "1.4.0");
    // curl declares JSON as a form.
    json_of(&deploy(&sidecar, second, form), 202);
    for fields in [
        "version=1",
        "variant=V5&version=+",
        "variant=V5&version=1&ts=1",
    ] {
        let answer = json_of(&deploy(&sidecar, fields, form), 400);
        assert!(answer["detail"].is_string(), "{answer}");
    }
    for body in [first, "variant=V5&version=2"] {
        let foreign = format!("{form}Origin: http://site.example\r\n");
        json_of(&deploy(&sidecar, body, &foreign), 403);
    }
    assert!(sidecar.terminate(SHUTDOWN).success());
    is_listed(&start(&settings));
}

#[test]
fn gold_reload_reports_its_result() {
    let [first, second] = [1, 2].map(|seed| Corpus::generate(seed, 30).gold_json());
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    let file = folder.path().join("gold.json");
    let write = |text: &str| fs::write(&file, text).expect("a file can be written");
    write(&first);
    let sidecar = alone(&[&file]);
    let reload = || ask(&sidecar, "POST", "/-/reload", "");

    let same = json_of(&reload(), 200);
    assert_eq!(same["changed"], false);
    assert_eq!(same["before"], same["after"]);
    assert_eq!(same["before"]["version"], "demo-1");

    write("{\"version\": \"demo-2\", \"queries\": [{\"query_id\": \"a\"}, 5]}");
    let broken = json_of(&reload(), 422);
    let problems = broken["problems"].as_array().expect("a list");
    assert!(!problems.is_empty(), "{broken}");
    let first_problem = problems[0].as_str().expect("a sentence");
    let named = format!("{}:1: ", file.display());
    assert!(first_problem.starts_with(&named), "{broken}");
    assert_eq!(get(&sidecar, "/api/v1/status")["gold"], same["before"]);

    write(&second);
    let changed = json_of(&reload(), 200);
    assert_eq!(changed["changed"], true);
    assert_eq!(changed["before"], same["after"]);
    assert_eq!(changed["after"]["version"], "demo-2");
    assert_eq!(get(&sidecar, "/api/v1/status")["gold"], changed["after"]);
    assert_eq!(
        sidecar
            .metrics()
            .value("rankgauge_gold_reloads_total", &[("result", "failure")]),
        Some(1.0)
    );

    let without = alone(&[]);
    let refused = json_of(&ask(&without, "POST", "/-/reload", ""), 409);
    assert!(
        refused["detail"]
            .as_str()
            .unwrap_or_default()
            .contains("gold.paths")
    );
    assert_eq!(get(&without, "/api/v1/status")["gold"], Value::Null);
}

#[test]
fn api_is_disabled_without_a_listen_address() {
    let configuration = "{kafka: {brokers: '127.0.0.1:1'}}";
    let sidecar = Sidecar::start(configuration, &[("RANKGAUGE__ADMIN__LISTEN", "none")]);
    // The log line of the API would precede the log line of the first worker.
    wait_until(SOON, "the workers are looking for the broker", || {
        sidecar.log().contains("127.0.0.1:1").then_some(())
    });
    assert!(!sidecar.log().contains("serving API"), "{}", sidecar.log());
}

/// Output of `ctl` against a sidecar.
pub(super) fn ctl(sidecar: &Sidecar, arguments: &[&str]) -> std::process::Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .arg("ctl")
        .args(arguments)
        .args(["--url", &format!("http://{}", sidecar.admin_address())])
        .output()
        .expect("the binary runs")
}

pub(super) fn ctl_text(sidecar: &Sidecar, arguments: &[&str]) -> String {
    let output = ctl(sidecar, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn ctl_shows_the_status_and_runs_every_command() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    let gold = folder.path().join("gold.json");
    let set = |judged: &str| json!({"queries": [{"query_id": "q", "query": "q", "ground_truth": {judged: {"relevance": 1}}}]});
    fs::write(&gold, set("d1").to_string()).expect("a file");
    let sidecar = alone(&[&gold]);

    let status = ctl_text(&sidecar, &["status"]);
    for line in [
        "readiness   not ready: ",
        "workers     0 of 2 connected",
        "gold set    1 query",
        "search      none",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }
    let api = get(&sidecar, "/api/v1/status");
    let printed = ctl_text(&sidecar, &["status", "--format", "json"]);
    let printed: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(printed["version"], api["version"]);

    assert_eq!(ctl_text(&sidecar, &["incidents"]), "no incident\n");
    let deployed = ctl_text(
        &sidecar,
        &["deploy", "V5", "1.4.0", "--note", "bug\u{1b}[2J"],
    );
    assert!(
        deployed.starts_with("deployment of V5 1.4.0 at 20"),
        "{deployed}"
    );
    assert!(
        deployed.ends_with("no search has this variant yet; check the name\n"),
        "{deployed}"
    );
    let listed = get(&sidecar, "/api/v1/deployments");
    assert_eq!(listed["deployments"][0]["version"], "1.4.0");
    assert_eq!(
        ctl_text(&sidecar, &["baseline"]),
        "baselines of all variants are reset by 2 workers\n"
    );
    fs::write(&gold, set("d2").to_string()).expect("a file");
    let reloaded = ctl_text(&sidecar, &["reload"]);
    assert!(
        reloaded.starts_with("the gold set changed: 1 query"),
        "{reloaded}"
    );
    let unchanged = ctl_text(&sidecar, &["reload"]);
    assert!(
        unchanged.starts_with("the gold set did not change"),
        "{unchanged}"
    );
    assert_eq!(ctl_text(&sidecar, &["log-level"]), "info\n");
    assert_eq!(
        ctl_text(&sidecar, &["log-level", "debug"]),
        "debug, was info\n"
    );
    assert_eq!(ctl_text(&sidecar, &["log-level"]), "debug\n");

    let wrong = ctl(&sidecar, &["log-level", "loud"]);
    assert_eq!(wrong.status.code(), Some(1), "{wrong:?}");
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(
        said.contains("answers with 400") && said.contains("loud"),
        "{said}"
    );
}

#[test]
fn without_a_broker_the_cause_is_stated_and_nothing_is_claimed() {
    let mut sidecar = alone(&[]);
    wait_until(SOON, "the cause of the failed connection", || {
        let (status, text) = sidecar.get("/readyz");
        assert_eq!(status, 503, "{text}");
        let expected = "has no assignment from its consumer group: connection refused; check that the broker runs";
        text.contains(expected).then_some(())
    });
    let status = ctl_text(&sidecar, &["status"]);
    assert!(status.contains("partitions  0, lag unknown"), "{status}");
    sidecar.terminate(SHUTDOWN);
    let log = sidecar.log();
    assert!(
        log.contains("stopped before the consumer group assigned partitions"),
        "{log}"
    );
    assert!(!log.contains("left the consumer group"), "{log}");
}

#[test]
fn a_start_without_its_gold_file_does_not_say_that_workers_wait() {
    let output = Sidecar::refused("gold: {paths: [/nowhere/gold.json]}\n");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("gold set not loaded"), "{said}");
    assert!(!said.contains("the workers wait"), "{said}");
}

#[test]
fn ctl_says_that_nothing_answers_and_where_it_asked() {
    let run = |arguments: &[&str]| {
        std::process::Command::new(env!("CARGO_BIN_EXE_rankgauge"))
            .args(["ctl", "status"])
            .args(arguments)
            .output()
            .expect("the binary runs")
    };
    let port = free_port();
    let listen = format!("admin.listen=0.0.0.0:{port}");
    for (arguments, code, expected) in [
        (
            ["--set", &listen],
            1,
            format!("http://127.0.0.1:{port} does not answer"),
        ),
        (
            ["--set", "admin.listen=none"],
            2,
            "there is no admin listener".to_owned(),
        ),
        (
            ["--url", "127.0.0.1:1"],
            2,
            "write http://HOST:PORT".to_owned(),
        ),
        (["--user", "alice"], 2, "RANKGAUGE_PASSWORD".to_owned()),
    ] {
        let output = run(&arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(&expected), "{said}");
    }
}

/// Makes a named pipe without a writer: opening it to read hangs, as a volume does that does not answer.
fn pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo starts").success());
}

#[test]
fn a_gold_file_that_hangs_delays_neither_the_listeners_nor_later_good_files() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    let gold = folder.path().join("gold.qrels");
    pipe(&gold);
    let sidecar = start(&json!({
        "kafka": {"brokers": format!("127.0.0.1:{}", free_port())},
        "gold": {"paths": [gold], "reload_interval": "50ms", "load_timeout": "200ms"},
    }));
    let metrics = |path: &str| {
        super::http::ask_as_written(sidecar.address(), "GET", path, "Host: localhost\r\n")
    };
    // The sidecar answers before anything is loaded.
    assert_eq!(metrics("/healthz").status, 200);
    let ready = metrics("/readyz");
    assert_eq!(ready.status, 503);
    assert_eq!(ready.body, b"the gold set is not loaded\n");
    let failures = || {
        let text = String::from_utf8(metrics("/metrics").body).expect("UTF-8");
        let line = text.lines().find_map(|line| {
            line.strip_prefix("rankgauge_gold_reloads_total{result=\"failure\"} ")
        });
        line.map_or(0.0, |value| value.parse().expect("a number"))
    };
    wait_until(SOON, "an attempt is counted", || {
        (failures() >= 1.0).then_some(())
    });
    let slow = json_of(&ask(&sidecar, "POST", "/-/reload", ""), 422);
    let detail = slow["detail"].as_str().expect("a text");
    assert!(
        detail.contains("not read within 0.2 s (gold.load_timeout)"),
        "{detail}"
    );
    assert!(
        sidecar
            .log()
            .contains("gold set not loaded; the workers wait for it")
    );

    // More reads hang than may hang at the same time.
    for _ in 0..20 {
        json_of(&ask(&sidecar, "POST", "/-/reload", ""), 422);
    }

    // A good file in its place is loaded, although the first reads hang for ever.
    let replacement = folder.path().join("good");
    fs::write(&replacement, "q 0 d 1\n").expect("a file");
    fs::rename(&replacement, &gold).expect("the pipe is replaced");
    wait_until(SOON, "the gold set is loaded", || {
        let ready = metrics("/readyz").body;
        (!ready.starts_with(b"the gold set")).then_some(())
    });

    // A file that begins to hang later: the reload answers, and a later file is loaded.
    fs::remove_file(&gold).expect("a file");
    pipe(&gold);
    json_of(&ask(&sidecar, "POST", "/-/reload", ""), 422);
    assert_eq!(get(&sidecar, "/api/v1/status")["gold"]["judgements"], 1);
    fs::write(&replacement, "q 0 d 1\nq 0 e 1\n").expect("a file");
    fs::rename(&replacement, &gold).expect("the pipe is replaced");
    wait_until(SOON, "the new gold set is loaded", || {
        (get(&sidecar, "/api/v1/status")["gold"]["judgements"] == 2).then_some(())
    });
}

#[test]
fn a_web_configuration_that_hangs_ends_the_start_with_its_path() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    let web = folder.path().join("web.yaml");
    pipe(&web);
    let configuration = json!({"metrics": {"web_config_file": web}}).to_string();
    let output = Sidecar::refused(&configuration);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("was not read within 10 s") && said.contains("web.yaml"),
        "{said}"
    );
}
