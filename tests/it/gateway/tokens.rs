//! Tokens of applications, and their rate limits.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use tempfile::TempDir;

use super::client::{Gateway, Response, SOON, request, search, topics};
use super::hostile::gzip;
use crate::harness::kafka::broker;
use crate::harness::sidecar::Sidecar;
use crate::harness::{scratch_folder, wait_until};

const SHOP: &str = "shop-token-0123456789abcdef";
const MOBILE: &str = "mobile-token-0123456789abcdef";

/// A file with two applications.
fn tokens_file(shop: &str, limits: &str) -> String {
    format!(
        "applications:\n  - name: shop\n    tokens: [{shop}]\n{limits}  - name: mobile\n    tokens: [{MOBILE}]\n"
    )
}

/// Gateway with a file of tokens.
struct Protected {
    gateway: Gateway,
    folder: TempDir,
}

impl Protected {
    fn start(file: &str) -> Self {
        let folder = scratch_folder("tokens");
        let path = folder.path().join("tokens.yaml");
        fs::write(&path, file).expect("a file");
        let more = format!("gateway: {{tokens_file: {}}}", path.display());
        Self {
            gateway: Gateway::start(&more),
            folder,
        }
    }

    fn write(&self, file: &str) {
        // As a volume of Kubernetes does: a new file takes the name.
        let next = self.folder.path().join("next");
        fs::write(&next, file).expect("a file");
        fs::rename(next, self.folder.path().join("tokens.yaml")).expect("a renamed file");
    }

    fn post(&self, token: &str, body: &str) -> Response {
        let authorization = format!("Bearer {token}");
        let headers = [("Authorization", authorization.as_str())];
        self.gateway
            .request("POST /v1/searches", &headers, body.as_bytes())
    }

    fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.gateway.process.metrics().value(name, labels)
    }
}

fn retry_after(response: &Response) -> u64 {
    let value = response.head.split("retry-after: ").nth(1);
    let value = value.and_then(|rest| rest.lines().next()?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("{}", response.head))
}

#[test]
fn a_request_needs_a_token() {
    let protected = Protected::start(&tokens_file(SHOP, ""));
    let gateway = &protected.gateway;
    let body = search(1);
    let refused = |headers: &[(&str, &str)]| {
        let answer = gateway.request("POST /v1/searches", headers, body.as_bytes());
        assert_eq!(answer.status, 401, "{answer:?}");
        assert!(
            answer.head.contains("www-authenticate: bearer"),
            "{}",
            answer.head
        );
    };
    let valid = format!("Bearer {SHOP}");
    refused(&[]);
    refused(&[("Authorization", SHOP)]);
    refused(&[("Authorization", "Bearer ")]);
    refused(&[("Authorization", "Bearer shop-token-0123456789abcdeg")]);
    refused(&[("Authorization", &valid), ("Authorization", &valid)]);
    for (token, application) in [(SHOP, "shop"), (MOBILE, "mobile")] {
        assert_eq!(protected.post(token, &body).status, 200);
        let labels = [("application", application)];
        let value = |name| protected.value(name, &labels);
        assert_eq!(
            value("rankgauge_gateway_application_events_total"),
            Some(1.0)
        );
        let bytes = value("rankgauge_gateway_application_bytes_total");
        assert_eq!(bytes, Some(f64::from(u32::try_from(body.len()).unwrap())));
    }
    let labels = [("route", "searches"), ("outcome", "unauthorised")];
    let count = protected.value("rankgauge_gateway_requests_total", &labels);
    assert_eq!(count, Some(5.0));
    let (_, metrics) = gateway.process.get("/metrics");
    for secret in [SHOP, MOBILE, "0123456789"] {
        assert!(!metrics.contains(secret));
        assert!(!gateway.process.log().contains(secret));
    }
    assert_eq!(
        request(gateway.address, "GET /healthz", &[], b"")
            .unwrap()
            .status,
        200
    );
}

#[test]
fn an_application_beyond_its_rate_is_answered_with_429() {
    let limits = "    events_per_second: 5\n    bytes_per_second: 1MiB\n";
    let protected = Protected::start(&tokens_file(SHOP, limits));
    let batch: Vec<String> = (0..20).map(search).collect();
    let batch = batch.join("\n");
    // The first delivery to a new topic can take longer than the debt.
    assert_eq!(protected.post(MOBILE, &batch).status, 200);
    let started = Instant::now();
    // A batch above the limit passes, and is paid for afterwards: 15 events, at 5 a second.
    assert_eq!(protected.post(SHOP, &batch).status, 200);
    let limited = protected.post(SHOP, &search(21));
    assert_eq!(limited.status, 429, "{limited:?}");
    assert!((1..=4).contains(&retry_after(&limited)), "{}", limited.head);
    // Another application is not affected.
    assert_eq!(protected.post(MOBILE, &batch).status, 200);
    let answered = wait_until(SOON, "the debt is paid", || {
        (protected.post(SHOP, &search(21)).status == 200).then(|| started.elapsed())
    });
    assert!(answered.as_secs_f64() > 2.0, "{answered:?}");
    let shop = [("application", "shop")];
    let limited = protected.value(
        "rankgauge_gateway_application_limited_requests_total",
        &shop,
    );
    assert!(limited >= Some(1.0), "{limited:?}");
    let records = Gateway::records(&protected.gateway.search);
    assert_eq!(records.len(), 3 * 20 + 1);
}

#[test]
fn bytes_are_those_without_compression() {
    let limits = "    bytes_per_second: 10KiB\n";
    let protected = Protected::start(&tokens_file(SHOP, limits));
    let padded = format!("{}{}", search(1), " ".repeat(120_000));
    let authorization = format!("Bearer {SHOP}");
    let headers = [
        ("Authorization", authorization.as_str()),
        ("Content-Encoding", "gzip"),
    ];
    let body = gzip(padded.as_bytes());
    assert!(body.len() < 1_000);
    // The first delivery to a new topic can take longer than the debt.
    assert_eq!(protected.post(MOBILE, &search(1)).status, 200);
    let gateway = &protected.gateway;
    let first = gateway.request("POST /v1/searches", &headers, &body);
    assert_eq!(first.status, 200, "{first:?}");
    let second = gateway.request("POST /v1/searches", &headers, &body);
    assert_eq!(second.status, 429, "{second:?}");
    // The debt is 11 seconds, less the time of the delivery.
    assert!((4..=11).contains(&retry_after(&second)), "{}", second.head);
}

#[test]
fn tokens_change_while_the_gateway_runs() {
    let protected = Protected::start(&tokens_file(SHOP, ""));
    assert_eq!(protected.post(SHOP, &search(1)).status, 200);
    let other = "other-token-0123456789abcdef";
    protected.write(&tokens_file(&format!("{SHOP}, {other}"), ""));
    wait_until(SOON, "the new token is valid", || {
        (protected.post(other, &search(2)).status == 200).then_some(())
    });
    assert_eq!(protected.post(SHOP, &search(3)).status, 200);
    // A file with a problem changes nothing.
    protected.write("applications: [{name: shop, tokens: [short-secret]}]\n");
    wait_until(SOON, "the problem is logged", || {
        let log = protected.gateway.process.log();
        log.contains("tokens file reload failed").then_some(())
    });
    assert!(!protected.gateway.process.log().contains("short-secret"));
    assert_eq!(protected.post(SHOP, &search(4)).status, 200);
    protected.write(&format!(
        "applications: [{{name: web, tokens: [{other}]}}]\n"
    ));
    wait_until(SOON, "the old token is invalid", || {
        (protected.post(SHOP, &search(5)).status == 401).then_some(())
    });
    assert_eq!(protected.post(other, &search(6)).status, 200);
    let events = |name| {
        protected.value(
            "rankgauge_gateway_application_events_total",
            &[("application", name)],
        )
    };
    // The series of an application ends with it.
    assert_eq!(
        (events("web"), events("shop"), events("mobile")),
        (Some(1.0), None, None)
    );
}

fn check(folder: &Path, gateway: &str) -> Output {
    let file = folder.join("rankgauge.yaml");
    fs::write(
        &file,
        format!("kafka: {{brokers: x:9092}}\ngateway: {gateway}\n"),
    )
    .expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankgauge"));
    let check = command.arg("check").arg("--config").arg(file).output();
    check.expect("rankgauge runs")
}

#[test]
fn check_finds_open_gateways_and_wrong_files() {
    let folder = scratch_folder("tokens");
    let folder = folder.path();
    let warning = "gateway.listen: other machines can send events";
    let stderr = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let open = check(folder, "{listen: '0.0.0.0:4318'}");
    assert!(
        open.status.success() && stderr(&open).contains(warning),
        "{open:?}"
    );
    let local = check(folder, "{listen: '127.0.0.1:4318'}");
    assert!(
        local.status.success() && !stderr(&local).contains(warning),
        "{local:?}"
    );
    let path = folder.join("tokens.yaml");
    let with_tokens = format!(
        "{{listen: '0.0.0.0:4318', tokens_file: {}}}",
        path.display()
    );
    fs::write(&path, tokens_file(SHOP, "")).expect("a file");
    let protected = check(folder, &with_tokens);
    assert!(
        protected.status.success() && !stderr(&protected).contains(warning),
        "{protected:?}"
    );
    for (file, problem) in [
        ("applications: []", "1 to 1000 applications"),
        (
            "applications: [{name: a, tokens: [secret-word]}]",
            "at least 16 visible",
        ),
        (
            "applications: [{name: a}]",
            "applications[0].tokens: is missing",
        ),
        (
            "applications: [{tokens: [secret-word-0123456789]}]",
            "applications[0].name: is missing",
        ),
        (
            "applications: [{name: 'a b', tokens: [secret-word-0123456789]}]",
            "is not a name",
        ),
        (
            "applications: [{name: a, tokens: [secret-word-0123456789]}, {name: b, tokens: [secret-word-0123456789]}]",
            "is a token twice",
        ),
        (
            "applications: [{name: a, tokens: [secret-word-0123456789], events_per_second: 0}]",
            "a number above 0",
        ),
        (
            "applications: [{name: a, tokens: [secret-word-0123456789], rate: 1}]",
            "rate",
        ),
    ] {
        fs::write(&path, file).expect("a file");
        let refused = check(folder, &with_tokens);
        let text = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{file}: {refused:?}");
        assert!(text.contains(problem), "{file}: {text}");
        assert!(!text.contains("secret-word"), "{text}");
    }
    fs::write(&path, tokens_file(SHOP, "")).expect("a file");
    let web = folder.join("web.yaml");
    fs::write(&web, format!("bearer_tokens_file: {}\n", path.display())).expect("a file");
    let twice = format!(
        "{{listen: '0.0.0.0:4318', tokens_file: {}, web_config_file: {}}}",
        path.display(),
        web.display()
    );
    let refused = check(folder, &twice);
    assert!(
        stderr(&refused).contains("cannot be combined with gateway.tokens_file"),
        "{refused:?}"
    );
}

#[test]
fn the_sidecar_needs_a_token_as_the_gateway_does() {
    let (search_topic, feedback_topic, group) = topics();
    let settings = |gateway: &str| {
        format!(
            "kafka: {{brokers: '{}', search_topic: {search_topic}, feedback_topic: {feedback_topic}, \
             group_id: {group}}}\ngateway: {gateway}\n",
            broker().bootstrap()
        )
    };
    let folder = scratch_folder("tokens");
    let path = folder.path().join("tokens.yaml");
    fs::write(&path, tokens_file(SHOP, "")).expect("a file");
    let listen = "listen: '127.0.0.1:0'";
    let gateway = format!("{{{listen}, tokens_file: {}}}", path.display());
    let sidecar = Sidecar::start(&settings(&gateway), &[]);
    let address = sidecar.gateway_address();
    let body = search(1);
    let refused = request(address, "POST /v1/searches", &[], body.as_bytes()).expect("a response");
    assert_eq!(refused.status, 401, "{refused:?}");
    let authorization = format!("Bearer {SHOP}");
    let headers = [("Authorization", authorization.as_str())];
    wait_until(SOON, "the sidecar takes an event", || {
        let answer = request(address, "POST /v1/searches", &headers, body.as_bytes());
        (answer.expect("a response").status == 200).then_some(())
    });
}
