//! Routes: their paths, and how they read a body.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Uri};
use rankgauge_core::decode::mapped::Mapped;
use rankgauge_core::decode::{Format, Formats};
use rankgauge_core::event::Kind;
use rankgauge_serve::gateway::Route;

use crate::answer::{Form, Refusal};

/// Formats of the configuration.
#[derive(Clone, Debug)]
pub struct KnownFormats {
    native: Formats,
    ubi: Formats,
    otlp_proto: Formats,
    otlp_json: Formats,
    mapped: BTreeMap<String, Formats>,
}

impl KnownFormats {
    /// The formats of `configured`, with the mappings by name.
    pub fn new(configured: &Formats, mappings: &BTreeMap<String, Arc<Mapped>>) -> Self {
        let with = |format| Formats {
            search: format,
            feedback: format,
            mapped: [None, None],
            ..configured.clone()
        };
        let of_mapping = |mapped: &Arc<Mapped>| {
            let mapped = [Some(Arc::clone(mapped)), Some(Arc::clone(mapped))];
            // A request states its compression itself, and a body has no framing.
            Formats {
                mapped,
                ..with(Format::Mapped)
            }
            .of_lines()
        };
        let mapped = mappings.iter();
        Self {
            native: with(Format::Native),
            ubi: with(Format::Ubi),
            otlp_proto: with(Format::OtlpProto),
            otlp_json: with(Format::OtlpJson),
            mapped: mapped
                .map(|(name, it)| (name.clone(), of_mapping(it)))
                .collect(),
        }
    }
}

/// Reading of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading<'f> {
    /// JSON values, each an event of this kind.
    Values(Kind, &'f Formats),
    /// One message of OpenTelemetry.
    Otlp(&'f Formats),
}

/// Route at a path.
pub(crate) fn route(path: &str) -> Option<Route> {
    Some(match path {
        "/v1/searches" => Route::Searches,
        "/v1/feedback" => Route::Feedback,
        "/v1/traces" => Route::Traces,
        "/v1/logs" => Route::Logs,
        "/v1/ubi/queries" => Route::UbiQueries,
        "/v1/ubi/events" => Route::UbiEvents,
        _ => return None,
    })
}

/// Form of the answers of a route.
pub(crate) fn form(route: Route, headers: &HeaderMap) -> Form {
    match route {
        Route::Traces | Route::Logs if is_json(headers) => Form::OtlpJson,
        Route::Traces | Route::Logs => Form::OtlpProto,
        _ => Form::Events,
    }
}

/// Reading of the body of a request.
pub(crate) fn reading<'f>(
    route: Route,
    uri: &Uri,
    headers: &HeaderMap,
    known: &'f KnownFormats,
) -> Result<Reading<'f>, Refusal> {
    let of = |kind| match format_name(uri)? {
        None | Some("native") => Ok(Reading::Values(kind, &known.native)),
        Some("ubi") => Ok(Reading::Values(kind, &known.ubi)),
        Some(name) => {
            let unknown = Refusal::Invalid(
                "format names no format of the configuration; use native, ubi or the name of a mapping",
            );
            let formats = known.mapped.get(name).ok_or(unknown)?;
            let maps = formats.mapped[kind.index()]
                .as_ref()
                .is_some_and(|it| it.maps(kind));
            if !maps {
                return Err(Refusal::Invalid(
                    "the format does not map events of this kind; add them to its mapping, or send them to the \
                     other path",
                ));
            }
            Ok(Reading::Values(kind, formats))
        }
    };
    match route {
        Route::Searches => of(Kind::Search),
        Route::Feedback => of(Kind::Feedback),
        Route::UbiQueries => Ok(Reading::Values(Kind::Search, &known.ubi)),
        Route::UbiEvents => Ok(Reading::Values(Kind::Feedback, &known.ubi)),
        Route::Traces | Route::Logs if is_json(headers) => Ok(Reading::Otlp(&known.otlp_json)),
        Route::Traces | Route::Logs if is_protobuf(headers) => Ok(Reading::Otlp(&known.otlp_proto)),
        Route::Traces | Route::Logs => Err(Refusal::Unsupported(
            "Content-Type is not supported; send application/x-protobuf or application/json",
        )),
        Route::Other => Err(Refusal::NotFound),
    }
}

/// Value of `format`, the only parameter; empty if it has none. Names need no escapes.
fn format_name(uri: &Uri) -> Result<Option<&str>, Refusal> {
    let mut format = None;
    let pairs = uri.query().unwrap_or_default().split('&');
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if name != "format" {
            return Err(Refusal::Invalid(
                "a parameter of the address is not known: the only one is format; correct its name, or leave it out",
            ));
        }
        if format.replace(value).is_some() {
            return Err(Refusal::Invalid("format is given twice; give it once"));
        }
    }
    Ok(format)
}

/// Media type of a body, without its parameters.
fn media_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = value.and_then(|it| it.split(';').next());
    essence.unwrap_or_default().trim()
}

fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).eq_ignore_ascii_case("application/json")
}

fn is_protobuf(headers: &HeaderMap) -> bool {
    let found = media_type(headers);
    ["application/x-protobuf", "application/protobuf"]
        .iter()
        .any(|known| found.eq_ignore_ascii_case(known))
}

/// Returns true if the client declares the body as lines of JSON.
pub(crate) fn is_lines(headers: &HeaderMap) -> bool {
    let found = media_type(headers);
    [
        "application/x-ndjson",
        "application/ndjson",
        "application/jsonl",
        "application/x-jsonlines",
    ]
    .iter()
    .any(|known| found.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hyper::header::{CONTENT_TYPE, HeaderValue};
    use hyper::{HeaderMap, Uri};
    use rankgauge_core::decode::Formats;

    use super::{KnownFormats, format_name, reading, route};
    use crate::answer::Refusal;

    fn uri(address: &str) -> Uri {
        address.parse().expect("an address")
    }

    #[test]
    fn a_format_without_a_value_is_not_the_default_one() {
        for (address, expected) in [
            ("/v1/searches", None),
            ("/v1/searches?", None),
            ("/v1/searches?format=", Some("")),
            ("/v1/searches?format", Some("")),
            ("/v1/searches?format=ours&", Some("ours")),
        ] {
            assert_eq!(format_name(&uri(address)), Ok(expected), "{address}");
        }
    }

    /// Result of the parameters of a request, whose body is JSON.
    fn read(address: &str) -> Result<(), Refusal> {
        let known = KnownFormats::new(&Formats::NATIVE, &BTreeMap::new());
        let uri = uri(address);
        let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let headers: HeaderMap = headers.into_iter().collect();
        let route = route(uri.path()).expect("a route");
        reading(route, &uri, &headers, &known).map(|_| ())
    }

    #[test]
    fn parameters_that_the_gateway_does_not_have_are_refused() {
        for path in ["/v1/searches", "/v1/feedback"] {
            for query in ["x=1", "formt=ubi", "format=ubi&x", "Format=ubi"] {
                let refused = read(&format!("{path}?{query}"));
                let Err(Refusal::Invalid(text)) = refused else {
                    panic!("{path}?{query}: {refused:?}");
                };
                assert!(text.contains("the only one is format"), "{text}");
            }
            let twice = read(&format!("{path}?format=ubi&format=native"));
            assert_eq!(
                twice,
                Err(Refusal::Invalid("format is given twice; give it once"))
            );
            assert_eq!(read(&format!("{path}?format=ubi")), Ok(()));
        }
    }

    #[test]
    fn clients_of_other_protocols_may_send_parameters_of_their_own() {
        for path in [
            "/v1/traces",
            "/v1/logs",
            "/v1/ubi/queries",
            "/v1/ubi/events",
        ] {
            assert_eq!(read(&format!("{path}?refresh=true")), Ok(()), "{path}");
        }
    }
}
