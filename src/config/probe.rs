//! Configuration of the probe, the section `probe`.

use super::key::{Checked, Key};
use super::keys;
use super::reader::Reader;
use rankgauge_probe::{AnswerShape, HeaderText, Part, Preset, Probe, ProbeTarget, Request};

pub(super) fn read(reader: &mut Reader) -> Probe {
    let mut targets: Vec<ProbeTarget> = Vec::new();
    for path in reader.sections(&keys::PROBE_TARGETS) {
        let Some(target) = target(reader, &path) else {
            continue;
        };
        if targets.iter().any(|other| other.variant == target.variant) {
            let text = format!("two targets have the variant \"{}\"", target.variant);
            reader.problem(&keys::PROBE_VARIANT.of(&path).path, text);
        } else {
            targets.push(target);
        }
    }
    Probe {
        targets,
        rate: reader.get(&keys::PROBE_RATE),
        concurrency: reader.get(&keys::CONCURRENCY),
        timeout: reader.get(&keys::PROBE_TIMEOUT),
        retries: reader.get(&keys::RETRIES),
        results: reader.get(&keys::RESULTS),
        max_answer: reader.get(&keys::MAX_ANSWER),
        max_failures: reader.get(&keys::MAX_FAILURES),
        ca_file: reader.find(&keys::CA_FILE),
    }
}

fn target(reader: &mut Reader, path: &str) -> Option<ProbeTarget> {
    let variant = reader.required(&keys::PROBE_VARIANT.of(path));
    let preset = reader.get(&keys::PRESET.of(path));
    let headers = headers(reader, path);
    let request = request(reader, path, preset, headers.as_deref());
    let attributes = reader.names(&keys::ATTRIBUTES.of(path));
    let mut pointer = |key: &Key<Checked<String>>, default: Option<&str>| {
        let pointer = reader.find(&key.of(path));
        pointer.or_else(|| default.map(str::to_owned))
    };
    let answer = AnswerShape {
        hits: pointer(&keys::HITS, Some(preset.hits))?,
        id: pointer(&keys::HIT_ID, Some(preset.id))?,
        score: pointer(&keys::HIT_SCORE, Some(preset.score))?,
        group: pointer(&keys::HIT_GROUP, None),
        total: pointer(&keys::TOTAL, preset.total),
        attributes: attributes.into_iter().collect(),
        empty: preset.empty,
        partial: preset.partial,
    };
    Some(ProbeTarget {
        variant: variant?,
        request: request?,
        headers: headers?,
        answer,
    })
}

/// The headers of the target at `path`; `None` if one of them cannot be used.
fn headers(reader: &mut Reader, path: &str) -> Option<Vec<(String, HeaderText)>> {
    let key = keys::HEADERS.of(path);
    let names = reader.names(&key).into_iter();
    let headers: Vec<_> = names
        .map(|(name, value)| {
            let header = HeaderText::new(&name, &value);
            let problem = |text| reader.problem(&format!("{}.{name}", key.path), text);
            Some((name.clone(), header.map_err(problem).ok()?))
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
    let (url_key, body_key) = (keys::URL.of(path), keys::BODY.of(path));
    let url = reader.required(&url_key);
    let body = reader.find(&body_key).filter(|body| !body.is_empty());
    let method = reader.find(&keys::METHOD.of(path));
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
            Part::Url => &url_key.path,
            Part::Body => &body_key.path,
        };
        reader.problem(key, problem);
    }
    None
}
