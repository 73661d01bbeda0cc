//! Texts of values: parsers that state a problem, which follows the quoted text (`is not …`).

use std::net::SocketAddr;
use std::path::PathBuf;

use super::key::one_of;
use rankgauge_core::columns::Columns;
use rankgauge_core::decode::Format;
use rankgauge_core::decode::otlp::{DocumentSource, FeedbackAction};
use rankgauge_core::decode::ubi::Meaning;
use rankgauge_core::engine::money::Money;
use rankgauge_core::gold::{self, Grade};
use rankgauge_core::time::EventTime;
use rankgauge_kafka::settings::topic_name;

/// Text that is not blank.
pub(super) fn group_id(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("is not a group id".to_owned());
    }
    Ok(text.to_owned())
}

/// Protocols that librdkafka reads before a broker.
const BROKER_PROTOCOLS: [&str; 4] = ["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"];

/// Broker, `host:port`. librdkafka adds the port 9092 to a host alone.
pub(super) fn broker(text: &str) -> Result<String, String> {
    let (protocol, address) = text.split_once("://").unwrap_or(("plaintext", text));
    let is_protocol = BROKER_PROTOCOLS
        .iter()
        .any(|known| protocol.eq_ignore_ascii_case(known));
    let (host, port) = match address.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':').unwrap_or_default())),
        None => match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    let is_host = !host.is_empty()
        && !host
            .contains(|it: char| it.is_whitespace() || it.is_control() || "/@?#[]".contains(it));
    let is_port = port.is_none_or(|port| {
        port.bytes().all(|it| it.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|it| it > 0)
    });
    if is_protocol && is_host && is_port {
        return Ok(text.to_owned());
    }
    Err(
        "is not a broker; write host:port, as kafka-1:9092, with a protocol of Kafka before it if needed, \
         as SASL_SSL://kafka-1:9093"
            .to_owned(),
    )
}

/// Name of a topic.
pub(super) fn topic(text: &str) -> Result<String, String> {
    topic_name(text)?;
    Ok(text.to_owned())
}

/// URL of a schema registry, without a slash at its end.
pub(super) fn registry_url(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("https://")
        .or(text.strip_prefix("http://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty()) else {
        return Err(
            "is no URL of a registry; write http://HOST:PORT or https://HOST:PORT".to_owned(),
        );
    };
    if rest.contains('@') {
        return Err("has a user; write registry.username and registry.password".to_owned());
    }
    if text.parse::<http::Uri>().is_err() || rest.contains(['?', '#']) {
        return Err("is no URL of a registry".to_owned());
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// Encodings of the Collector's Kafka exporter that are not read.
const OTHER_ENCODINGS: [&str; 5] = [
    "jaeger_proto",
    "jaeger_json",
    "zipkin_proto",
    "zipkin_json",
    "raw",
];

/// Reserved record format of a topic. `known` are the names of the other formats.
pub(super) fn record_format(text: &str, known: &[String]) -> Result<Format, String> {
    let remedy = if OTHER_ENCODINGS.contains(&text) {
        "; set traces.encoding of the Kafka exporter to otlp_proto or otlp_json"
    } else {
        ""
    };
    let reserved = Format::NAMES.into_iter();
    if let Some((_, format)) = reserved.clone().find(|(name, _)| *name == text) {
        return Ok(format);
    }
    let names: Vec<&str> = reserved
        .map(|(name, _)| name)
        .chain(known.iter().map(String::as_str))
        .collect();
    Err(format!("is none of {}{remedy}", names.join(", ")))
}

/// Meaning of a UBI action.
pub(super) fn meaning(text: &str) -> Result<Meaning, String> {
    let meanings: Vec<_> = Meaning::names().collect();
    one_of(text, &meanings)
}

/// Source of the id of a document in a span.
pub(super) fn document_source(text: &str) -> Result<DocumentSource, String> {
    let source = DocumentSource::parse(text);
    source.ok_or_else(|| "is neither document.id nor metadata.KEY".to_owned())
}

/// Meaning of an evaluation of a span.
pub(super) fn feedback_action(text: &str) -> Result<FeedbackAction, String> {
    let action = FeedbackAction::parse(text);
    action.ok_or_else(|| {
        "is neither thumbs, rating MIN..MAX nor judgment [answer|search] [human|model|rule] [MIN..MAX]"
            .to_owned()
    })
}

/// Path of a file or a folder.
pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("is empty; name a path, or leave the key out".to_owned());
    }
    Ok(PathBuf::from(text))
}

/// Text that is not empty, with `remedy` in the problem.
fn not_empty(text: &str, remedy: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err(format!("is empty; {remedy}"));
    }
    Ok(text.to_owned())
}

/// Path of a gold set.
pub(super) fn gold_path(text: &str) -> Result<String, String> {
    not_empty(text, "name a file or a folder")
}

/// Name that events contain.
pub(super) fn event_name(text: &str) -> Result<String, String> {
    not_empty(text, "write it as it appears in events")
}

/// Variant of the events of a probe.
pub(super) fn probed_variant(text: &str) -> Result<String, String> {
    not_empty(text, "name the variant of the events")
}

/// Beginning of a stage.
pub(super) fn stage(text: &str) -> Result<String, String> {
    not_empty(text, "every stage begins with an empty text")
}

/// Format of gold files; `None` for `auto`.
pub(super) fn gold_format(text: &str) -> Result<Option<gold::Format>, String> {
    if text == "auto" {
        return Ok(None);
    }
    let format = text.parse::<gold::Format>().map(Some);
    format.map_err(|error| format!("is neither auto nor a format: {error}"))
}

/// Columns of judgements in tables.
pub(super) fn gold_columns(text: &str) -> Result<Columns, String> {
    Columns::of_gold(text).map_err(|problem| format!("states no columns of judgements: {problem}"))
}

/// Grade of a judgement.
pub(super) fn grade(text: &str) -> Result<Grade, String> {
    text.parse().ok().and_then(Grade::new).ok_or_else(|| {
        let (lowest, highest) = (Grade::MIN, Grade::MAX);
        format!("is not a grade; write a number from {lowest} to {highest}")
    })
}

/// Checks that `text` is a valid Prometheus label name. Slices, tiers and components must be.
pub(super) fn label_name(text: &str) -> Result<String, String> {
    let mut bytes = text.bytes();
    let starts_well = bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if starts_well && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Ok(text.to_owned());
    }
    Err("is not a name; use letters, digits and _, and no digit first".to_owned())
}

/// Label by which scores are broken down.
pub(super) fn slice(text: &str) -> Result<String, String> {
    if text == "all" {
        return Err("is reserved for all searches; choose another label".to_owned());
    }
    label_name(text)
}

pub(super) fn goal_name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(['<', '>']) {
        return Err("is not a name; write some text without < and >".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn currency(text: &str) -> Result<String, String> {
    if text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Ok(text.to_owned());
    }
    Err("is not a currency; write its three letters, as USD".to_owned())
}

/// Price per million tokens.
pub(super) fn price(text: &str) -> Result<Money, String> {
    let problem = "is not a price per million tokens; write a plain decimal of at most nine places, \
                   as 0.15";
    Money::from_decimal(text).ok_or_else(|| problem.to_owned())
}

/// Date, which stands for midnight UTC, or ISO 8601 time with an offset.
pub(super) fn moment(text: &str) -> Result<EventTime, String> {
    let time = EventTime::of_date(text).or_else(|| text.parse().ok());
    time.ok_or_else(|| {
        "is not a date (2025-01-31) or an ISO 8601 time with an offset (2025-01-31T09:00:00+09:00)"
            .to_owned()
    })
}

/// Address of the metrics.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let address = text.parse();
    address.map_err(|_| "is not an address and port, as 0.0.0.0:9468".to_owned())
}

/// Address of a listener, or none. `example` is its usual address.
fn address_or_none(text: &str, example: &str) -> Result<Option<SocketAddr>, String> {
    if ["", "none"].contains(&text) {
        return Ok(None);
    }
    let address = text.parse().map(Some);
    address.map_err(|_| format!("is neither none nor an address and port, as {example}"))
}

/// Address of the API, or none.
pub(super) fn admin_address(text: &str) -> Result<Option<SocketAddr>, String> {
    address_or_none(text, "127.0.0.1:9469")
}

/// Address of the gateway, or none.
pub(super) fn gateway_address(text: &str) -> Result<Option<SocketAddr>, String> {
    address_or_none(text, "0.0.0.0:4318")
}

/// Address of the metrics of a probe, or none.
pub(super) fn probe_address(text: &str) -> Result<Option<SocketAddr>, String> {
    address_or_none(text, "0.0.0.0:9470")
}

/// JSON pointer (RFC 6901).
pub(super) fn pointer(text: &str) -> Result<String, String> {
    if text.is_empty() || text.starts_with('/') {
        return Ok(text.to_owned());
    }
    Err("is not a JSON pointer; begin it with a slash, as /hits/hits".to_owned())
}
