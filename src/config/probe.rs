//! Configuration of the probe, the section `probe`: targets, pace and limits.
//!
//! A target is resolved here: the values of its preset are filled in. Headers keep their references
//! to files and environment variables, which this module must not read.

mod header;
mod preset;
mod template;

use std::path::PathBuf;
use std::time::Duration;

use super::judging::finite;
use super::reader::Reader;
pub use header::{HeaderPart, HeaderValue};
use preset::{PRESETS, Preset};
pub use template::{Context, Template, TemplateValue};

/// Configuration of the probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Search endpoints, one per variant.
    pub targets: Vec<ProbeTarget>,
    /// Requests per second over all targets, repetitions included; above 0.
    pub rate: f64,
    /// Maximum number of requests in progress.
    pub concurrency: usize,
    /// Time limit of one request, from the connection to the last byte of the answer.
    pub timeout: Duration,
    /// Maximum number of repetitions of a failed request.
    pub retries: usize,
    /// Number of results to request, the value of `{{size}}`.
    pub results: usize,
    /// Maximum size of an answer in bytes.
    pub max_answer: usize,
    /// Share of failed searches above which the probe fails; 0 to 1.
    pub max_failures: f64,
    /// Certificates in PEM of the authorities that sign the certificates of the targets. Default:
    /// those of the system.
    pub ca_file: Option<PathBuf>,
}

/// Search endpoint: its request and the pointers into its answer (RFC 6901).
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeTarget {
    /// Variant of the events.
    pub variant: String,
    /// URL with placeholders.
    pub url: Template,
    /// Method.
    pub method: Method,
    /// Headers by name.
    pub headers: Vec<(String, HeaderValue)>,
    /// Body with placeholders.
    pub body: Option<Template>,
    /// Pointers into the answer.
    pub answer: AnswerShape,
}

impl ProbeTarget {
    /// Returns true if requests are encrypted.
    pub fn is_https(&self) -> bool {
        let scheme = self.url.beginning().split("://").next();
        scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
    }
}

/// HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// POST.
    Post,
}

/// JSON pointers into an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerShape {
    /// List of hits.
    pub hits: String,
    /// Id, in a hit.
    pub id: String,
    /// Score, in a hit.
    pub score: String,
    /// Document of a chunk, in a hit.
    pub group: Option<String>,
    /// Number of matching documents.
    pub total: Option<String>,
    /// Attributes by name, in a hit.
    pub attributes: Vec<(String, String)>,
    /// Value that states that an answer without a list of hits has none.
    pub empty: Option<&'static str>,
    /// Values that mark an answer as partial.
    pub partial: &'static [&'static str],
}

/// Placeholders that are not labels of the gold query.
pub const PLACEHOLDERS: [&str; 3] = ["query", "query_key", "size"];

const MIB: usize = 1 << 20;

pub(super) fn read(reader: &mut Reader) -> Probe {
    let mut targets: Vec<ProbeTarget> = Vec::new();
    for path in reader.sections("probe.targets") {
        let Some(target) = target(reader, &path) else {
            continue;
        };
        if targets.iter().any(|other| other.variant == target.variant) {
            let text = format!("two targets have the variant \"{}\"", target.variant);
            reader.problem(&format!("{path}.variant"), text);
        } else {
            targets.push(target);
        }
    }
    let timeouts = Duration::from_millis(1)..=Duration::from_mins(10);
    Probe {
        targets,
        rate: number(
            reader,
            "probe.rate",
            5.0,
            |rate| (0.001..=10_000.0).contains(&rate),
            "is not a number of requests per second, from 0.001 to 10000",
        ),
        concurrency: reader.whole("probe.concurrency", 2, 1..=256),
        timeout: reader.duration("probe.timeout", Duration::from_secs(5), &timeouts),
        retries: reader.whole("probe.retries", 2, 0..=10),
        results: reader.whole("probe.results", 10, 1..=10_000),
        max_answer: reader.bytes("probe.max_answer", 8 * MIB, 1024..=(1 << 30)),
        max_failures: number(
            reader,
            "probe.max_failures",
            0.1,
            |share| (0.0..=1.0).contains(&share),
            "is not a share from 0 to 1",
        ),
        ca_file: super::path(reader, "probe.ca_file"),
    }
}

fn number(
    reader: &mut Reader,
    path: &str,
    default: f64,
    is_valid: impl Fn(f64) -> bool,
    problem: &str,
) -> f64 {
    let parsed = reader.parsed(path, |text| {
        let number = finite(text).filter(|number| is_valid(*number));
        number.ok_or(problem)
    });
    parsed.unwrap_or(default)
}

fn target(reader: &mut Reader, path: &str) -> Option<ProbeTarget> {
    let key = |name: &str| format!("{path}.{name}");
    let variant_key = key("variant");
    let variant = reader.required(&variant_key);
    if variant.as_deref() == Some("") {
        reader.problem(&variant_key, "is empty; name the variant of the events");
    }
    let presets = PRESETS.map(|preset| (preset.name, preset));
    let preset = reader.choice(&key("preset"), PRESETS[0], &presets);
    let headers = header::read(reader, &key("headers"));
    let request = request(reader, path, preset, headers.as_deref());
    let answer = AnswerShape {
        hits: pointer(reader, &key("hits")).unwrap_or_else(|| preset.hits.to_owned()),
        id: pointer(reader, &key("id")).unwrap_or_else(|| preset.id.to_owned()),
        score: pointer(reader, &key("score")).unwrap_or_else(|| preset.score.to_owned()),
        group: pointer(reader, &key("group")),
        total: pointer(reader, &key("total")).or_else(|| preset.total.map(str::to_owned)),
        attributes: attributes(reader, &key("attributes")),
        empty: preset.empty,
        partial: preset.partial,
    };
    let Request { url, method, body } = request?;
    Some(ProbeTarget {
        variant: variant.filter(|variant| !variant.is_empty())?,
        url,
        method,
        headers: headers?,
        body,
        answer,
    })
}

/// The request of a target: its own parts, completed by those of its preset.
fn request(
    reader: &mut Reader,
    path: &str,
    preset: &Preset,
    headers: Option<&[(String, HeaderValue)]>,
) -> Option<Request> {
    let [url_key, method_key, body_key] =
        ["url", "method", "body"].map(|name| format!("{path}.{name}"));
    let url = reader.required(&url_key);
    let stated_body = reader.scalar(&body_key).filter(|body| !body.is_empty());
    let methods = [("GET", Method::Get), ("POST", Method::Post)].map(|(name, it)| (name, Some(it)));
    let stated_method = reader.choice(&method_key, None, &methods);
    let has_placeholder =
        |text: &str| template::split_placeholder(text).is_ok_and(|it| it.1.is_some());
    let is_complete = url.as_deref().is_some_and(has_placeholder);
    let method = stated_method.unwrap_or(match &stated_body {
        Some(_) => Method::Post,
        None if is_complete => Method::Get,
        None => preset.method,
    });
    let is_own = is_complete || stated_body.is_some();
    let url = url.map(|url| match method {
        Method::Get if !is_own => with_parameters(&url, preset),
        Method::Get | Method::Post => url,
    });
    let body: Option<String> = match (stated_body, method) {
        (Some(body), _) => Some(body),
        (None, Method::Post) if !is_own => preset.body.map(str::to_owned),
        (None, Method::Get | Method::Post) => None,
    };
    let url = url.and_then(|url| parse_url(reader, &url_key, &url));
    let template = body
        .as_ref()
        .map(|body| parse_body(reader, &body_key, body, headers));
    let request = Request {
        url: url?,
        method,
        body: match template {
            None => None,
            Some(body) => Some(body?),
        },
    };
    let mut names = request.names();
    if names.any(|name| name != "size") {
        drop(names);
        return Some(request);
    }
    let text = if preset.example.is_empty() {
        "the request does not depend on the query; write {{query}} into url or body".to_owned()
    } else {
        format!(
            "the preset {} has no request of its own; write a body with {{{{query}}}}, as {}",
            preset.name, preset.example
        )
    };
    reader.problem(path, text);
    None
}

/// Request of a target.
struct Request {
    url: Template,
    method: Method,
    body: Option<Template>,
}

impl Request {
    /// Names of all placeholders.
    fn names(&self) -> impl Iterator<Item = &str> {
        let body = self.body.iter().flat_map(Template::names);
        self.url.names().chain(body)
    }
}

/// Appends the parameters of the preset that the URL does not name.
fn with_parameters(url: &str, preset: &Preset) -> String {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let is_named = |name: &str| {
        let mut stated = query.split('&').map(|it| it.split('=').next());
        stated.any(|it| it == Some(name))
    };
    let mut url = url.to_owned();
    for (name, value) in preset.parameters {
        if !is_named(name) {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(name);
            url.push('=');
            url.push_str(value);
        }
    }
    url
}

/// Values for the check of a template.
fn sample(name: &str) -> TemplateValue<'static> {
    match name {
        "size" => TemplateValue::Number(10),
        _ => TemplateValue::Text("x".into()),
    }
}

fn parse_url(reader: &mut Reader, path: &str, url: &str) -> Option<Template> {
    let problem = match Template::parse(url, Context::Url) {
        Err(problem) => problem,
        Ok(template) => match template
            .render(|name| Some(sample(name)))
            .parse::<http::Uri>()
        {
            Err(problem) => format!("is not a URL: {problem}"),
            Ok(uri) => match uri_problem(&uri, template.beginning()) {
                None => return Some(template),
                Some(problem) => problem.to_owned(),
            },
        },
    };
    // The URL is not repeated: it may contain credentials.
    reader.problem(path, problem);
    None
}

fn uri_problem(uri: &http::Uri, beginning: &str) -> Option<&'static str> {
    let host = beginning.split_once("://").map_or("", |(_, rest)| rest);
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        Some("is not a URL; write http://HOST/PATH or https://HOST/PATH")
    } else if uri.authority().is_some_and(|it| it.as_str().contains('@')) {
        Some("contains credentials; write them into headers, from a file or the environment")
    } else if !host.contains(['/', '?'])
        && host.len() < uri.authority().map_or(0, |it| it.as_str().len())
    {
        Some("has a placeholder in its host; only path and parameters can have one")
    } else {
        None
    }
}

fn parse_body(
    reader: &mut Reader,
    path: &str,
    body: &str,
    headers: Option<&[(String, HeaderValue)]>,
) -> Option<Template> {
    let mut headers = headers.unwrap_or_default().iter();
    let content_type = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let content_type = content_type.map(|(_, value)| value.text());
    let context = match content_type.as_deref() {
        Some(text) if text.starts_with("application/x-www-form-urlencoded") => Context::Form,
        Some(text) if !text.contains("json") => Context::Text,
        Some(_) | None => Context::Json,
    };
    let problem = match Template::parse(body, context) {
        Err(problem) => problem,
        Ok(template) if context != Context::Json => return Some(template),
        Ok(template) => {
            let text = template.render(|name| Some(sample(name)));
            let documents = serde_json::Deserializer::from_str(&text);
            let mut documents = documents.into_iter::<serde::de::IgnoredAny>();
            match documents.find_map(Result::err) {
                None => return Some(template),
                Some(error) => format!(
                    "is not JSON: {error}; for another format, state it in the header content-type"
                ),
            }
        }
    };
    reader.problem(path, problem);
    None
}

/// The JSON pointer at `path`.
fn pointer(reader: &mut Reader, path: &str) -> Option<String> {
    reader.parsed(path, |text| {
        if text.is_empty() || text.starts_with('/') {
            Ok(text.to_owned())
        } else {
            Err("is not a JSON pointer; begin it with a slash, as /hits/hits")
        }
    })
}

fn attributes(reader: &mut Reader, path: &str) -> Vec<(String, String)> {
    let names = reader.names(path).into_iter();
    let pointers = names.filter_map(|name| {
        let pointer = pointer(reader, &format!("{path}.{name}"))?;
        Some((name, pointer))
    });
    pointers.collect()
}
