//! Target of the probe: a search endpoint with its request and the shape of its answers.
//!
//! A target is resolved: the values of its preset are filled in. Headers keep their references to
//! files and environment variables, which this module must not read.

use super::header::HeaderText;
use super::preset::Preset;
use super::template::{Context, Template, TemplateValue, has_placeholder};

/// Search endpoint: its request and the pointers into its answer (RFC 6901).
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeTarget {
    /// Variant of the events.
    pub variant: String,
    /// URL, method and body.
    pub request: Request,
    /// Headers by name.
    pub headers: Vec<(String, HeaderText)>,
    /// Pointers into the answer.
    pub answer: AnswerShape,
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

/// Request of a target, which depends on the query.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub(super) url: Template,
    pub(super) method: Method,
    pub(super) body: Option<Template>,
}

/// Part of a target that a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Target as a whole.
    Target,
    /// URL.
    Url,
    /// Body.
    Body,
}

impl Request {
    /// Completes a request with the parts of its preset. Without a URL, only the body is checked.
    ///
    /// # Errors
    /// Problems with the parts that they are about. They do not repeat the URL, which may contain
    /// credentials.
    pub fn new(
        url: Option<&str>,
        method: Option<Method>,
        body: Option<&str>,
        content_type: Option<&str>,
        preset: &Preset,
    ) -> Result<Self, Vec<(Part, String)>> {
        let is_complete = url.is_some_and(has_placeholder);
        let method = method.unwrap_or(match body {
            Some(_) => Method::Post,
            None if is_complete => Method::Get,
            None => preset.method,
        });
        let is_own = is_complete || body.is_some();
        let url = url.map(|url| match method {
            Method::Get if !is_own => preset.with_parameters(url),
            Method::Get | Method::Post => url.to_owned(),
        });
        let body = match method {
            Method::Post if !is_own => preset.body,
            Method::Get | Method::Post => body,
        };
        let mut problems = Vec::new();
        let url = url.map(|url| parse_url(&url));
        let body = body.map(|body| parse_body(body, content_type));
        let (url, body) = match (url, body.transpose()) {
            (Some(Ok(url)), Ok(body)) => (url, body),
            (url, body) => {
                let url = url.and_then(Result::err);
                problems.extend(url.map(|problem| (Part::Url, problem)));
                problems.extend(body.err().map(|problem| (Part::Body, problem)));
                return Err(problems);
            }
        };
        let request = Self { url, method, body };
        if request.names().any(|name| name != "size") {
            return Ok(request);
        }
        let text = if preset.example.is_empty() {
            "the request does not depend on the query; write {{query}} into url or body".to_owned()
        } else {
            format!(
                "the preset {} has no request of its own; write a body with {{{{query}}}}, as {}",
                preset.name, preset.example
            )
        };
        problems.push((Part::Target, text));
        Err(problems)
    }

    /// Names of all placeholders.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let body = self.body.iter().flat_map(Template::names);
        self.url.names().chain(body)
    }

    /// Returns true if the request is encrypted.
    pub fn is_https(&self) -> bool {
        let scheme = self.url.beginning().split("://").next();
        scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
    }
}

/// Values for the check of a template.
fn sample(name: &str) -> TemplateValue<'static> {
    match name {
        "size" => TemplateValue::Number(10),
        _ => TemplateValue::Text("x".into()),
    }
}

fn parse_url(url: &str) -> Result<Template, String> {
    let template = Template::parse(url, Context::Url)?;
    let uri: http::Uri = template
        .render(|name| Some(sample(name)))
        .parse()
        .map_err(|problem| format!("is not a URL: {problem}"))?;
    let beginning = template.beginning();
    let host = beginning.split_once("://").map_or("", |(_, rest)| rest);
    let problem = if !matches!(uri.scheme_str(), Some("http" | "https")) {
        "is not a URL; write http://HOST/PATH or https://HOST/PATH"
    } else if uri.authority().is_some_and(|it| it.as_str().contains('@')) {
        "contains credentials; write them into headers, from a file or the environment"
    } else if !host.contains(['/', '?'])
        && host.len() < uri.authority().map_or(0, |it| it.as_str().len())
    {
        "has a placeholder in its host; only path and parameters can have one"
    } else {
        return Ok(template);
    };
    Err(problem.to_owned())
}

fn parse_body(body: &str, content_type: Option<&str>) -> Result<Template, String> {
    let context = match content_type {
        Some(text) if text.starts_with("application/x-www-form-urlencoded") => Context::Form,
        Some(text) if !text.contains("json") => Context::Text,
        Some(_) | None => Context::Json,
    };
    let template = Template::parse(body, context)?;
    if context == Context::Json {
        let text = template.render(|name| Some(sample(name)));
        let documents = serde_json::Deserializer::from_str(&text);
        let mut documents = documents.into_iter::<serde::de::IgnoredAny>();
        if let Some(error) = documents.find_map(Result::err) {
            return Err(format!(
                "is not JSON: {error}; for another format, state it in the header content-type"
            ));
        }
    }
    Ok(template)
}
