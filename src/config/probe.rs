//! Configuration of the probe, the section `probe`.

use std::time::Duration;

use super::judging::finite;
use super::reader::Reader;
use rankgauge_probe::{
    AnswerShape, HeaderText, Method, PRESETS, Part, Preset, Probe, ProbeTarget, Request,
};

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
    let headers = headers(reader, &key("headers"));
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
    Some(ProbeTarget {
        variant: variant.filter(|variant| !variant.is_empty())?,
        request: request?,
        headers: headers?,
        answer,
    })
}

/// The headers at `path`; `None` if one of them cannot be used.
fn headers(reader: &mut Reader, path: &str) -> Option<Vec<(String, HeaderText)>> {
    let names = reader.names(path).into_iter();
    let headers: Vec<_> = names
        .map(|name| {
            let key = format!("{path}.{name}");
            let value = reader.scalar(&key)?;
            // Not `parsed`, which repeats the value: it may be a secret.
            let header = HeaderText::new(&name, &value);
            let header = header.map_err(|problem| reader.problem(&key, problem));
            Some((name, header.ok()?))
        })
        .collect();
    headers.into_iter().collect()
}

fn request(
    reader: &mut Reader,
    path: &str,
    preset: &Preset,
    headers: Option<&[(String, HeaderText)]>,
) -> Option<Request> {
    let [url_key, method_key, body_key] =
        ["url", "method", "body"].map(|name| format!("{path}.{name}"));
    let url = reader.required(&url_key);
    let body = reader.scalar(&body_key).filter(|body| !body.is_empty());
    let methods = [("GET", Method::Get), ("POST", Method::Post)].map(|(name, it)| (name, Some(it)));
    let method = reader.choice(&method_key, None, &methods);
    let mut headers = headers.unwrap_or_default().iter();
    let content_type = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let content_type = content_type.map(|(_, value)| value.text());
    let request = Request::new(
        url.as_deref(),
        method,
        body.as_deref(),
        content_type.as_deref(),
        preset,
    );
    let problems = match request {
        Ok(request) => return Some(request),
        Err(problems) => problems,
    };
    for (part, problem) in problems {
        let key = match part {
            Part::Target => path,
            Part::Url => &url_key,
            Part::Body => &body_key,
        };
        reader.problem(key, problem);
    }
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
