//! Messages of OpenTelemetry for `prost`, the reference decoder, and their JSON form.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Traces {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_spans: Vec<ScopeSpans>,
    #[prost(string, tag = "3")]
    pub(super) schema_url: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "2")]
    pub(super) dropped_attributes_count: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Scope {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub(super) spans: Vec<Span>,
}

#[derive(Clone, PartialEq, prost::Message)]
#[allow(clippy::struct_field_names, reason = "names of the protocol")]
pub(super) struct Span {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    pub(super) trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub(super) name: String,
    #[prost(int32, tag = "6")]
    pub(super) kind: i32,
    #[prost(fixed64, tag = "7")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    pub(super) end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "10")]
    pub(super) dropped_attributes_count: u32,
    #[prost(message, repeated, tag = "11")]
    pub(super) events: Vec<Event>,
    #[prost(uint32, tag = "12")]
    pub(super) dropped_events_count: u32,
    #[prost(message, repeated, tag = "13")]
    pub(super) links: Vec<Link>,
    #[prost(uint32, tag = "14")]
    pub(super) dropped_links_count: u32,
    #[prost(message, optional, tag = "15")]
    pub(super) status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    pub(super) flags: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Event {
    #[prost(fixed64, tag = "1")]
    pub(super) time_unix_nano: u64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "3")]
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Link {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) span_id: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Status {
    #[prost(string, tag = "2")]
    pub(super) message: String,
    #[prost(int32, tag = "3")]
    pub(super) code: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(message, optional, tag = "2")]
    pub(super) value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AnyValue {
    #[prost(oneof = "Any", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub(super) value: Option<Any>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Any {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(double, tag = "4")]
    Double(f64),
    #[prost(message, tag = "5")]
    Array(ArrayValue),
    #[prost(message, tag = "6")]
    Map(KeyValueList),
    #[prost(bytes = "vec", tag = "7")]
    Bytes(Vec<u8>),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ArrayValue {
    #[prost(message, repeated, tag = "1")]
    pub(super) values: Vec<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct KeyValueList {
    #[prost(message, repeated, tag = "1")]
    pub(super) values: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Logs {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_logs: Vec<ResourceLogs>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ResourceLogs {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_logs: Vec<ScopeLogs>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ScopeLogs {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub(super) log_records: Vec<LogRecord>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct LogRecord {
    #[prost(fixed64, tag = "1")]
    pub(super) time_unix_nano: u64,
    #[prost(int32, tag = "2")]
    pub(super) severity_number: i32,
    #[prost(message, optional, tag = "5")]
    pub(super) body: Option<AnyValue>,
    #[prost(message, repeated, tag = "6")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(fixed32, tag = "8")]
    pub(super) flags: u32,
    #[prost(bytes = "vec", tag = "9")]
    pub(super) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "10")]
    pub(super) span_id: Vec<u8>,
    #[prost(fixed64, tag = "11")]
    pub(super) observed_time_unix_nano: u64,
    #[prost(string, tag = "12")]
    pub(super) event_name: String,
}

/// Members of the JSON form.
mod members {
    use serde_json::Value;

    pub(super) fn list(value: &Value) -> Vec<Value> {
        value.as_array().cloned().unwrap_or_default()
    }

    pub(super) fn text(value: &Value) -> String {
        value.as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn number(value: &Value) -> u64 {
        match value.as_str() {
            Some(text) => text.parse().expect("a number"),
            None => value.as_u64().unwrap_or_default(),
        }
    }

    /// Bytes of an id in hexadecimal digits.
    pub(super) fn id(value: &Value) -> Vec<u8> {
        let text = text(value);
        let byte = |pair: &[u8]| {
            let pair = std::str::from_utf8(pair).expect("ASCII");
            u8::from_str_radix(pair, 16).expect("hexadecimal")
        };
        text.as_bytes().chunks(2).map(byte).collect()
    }
}

impl Logs {
    /// Parses the JSON form.
    pub(super) fn parse(value: &Value) -> Self {
        use members::{id, list, number, text};
        let log = |value: &Value| LogRecord {
            time_unix_nano: number(&value["timeUnixNano"]),
            trace_id: id(&value["traceId"]),
            span_id: id(&value["spanId"]),
            event_name: text(&value["eventName"]),
            attributes: list(&value["attributes"])
                .iter()
                .map(KeyValue::parse)
                .collect(),
            body: value.get("body").map(AnyValue::parse),
            ..LogRecord::default()
        };
        let scope = |value: &Value| ScopeLogs {
            scope: value["scope"]["name"].as_str().map(|name| Scope {
                name: name.to_owned(),
                version: value["scope"]["version"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            }),
            log_records: list(&value["logRecords"]).iter().map(log).collect(),
        };
        let resource = |value: &Value| ResourceLogs {
            resource: None,
            scope_logs: list(&value["scopeLogs"]).iter().map(scope).collect(),
        };
        Self {
            resource_logs: list(&value["resourceLogs"]).iter().map(resource).collect(),
        }
    }
}

/// Lower-case hexadecimal digits of an id.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
        text
    })
}

impl AnyValue {
    pub(super) fn of(value: Any) -> Self {
        Self { value: Some(value) }
    }

    fn json(&self) -> Value {
        match &self.value {
            None => json!({}),
            Some(Any::Text(text)) => json!({"stringValue": text}),
            Some(Any::Bool(flag)) => json!({"boolValue": flag}),
            Some(Any::Int(number)) => json!({"intValue": number.to_string()}),
            Some(Any::Double(number)) if number.is_nan() => json!({"doubleValue": "NaN"}),
            Some(Any::Double(number)) if number.is_infinite() => {
                json!({"doubleValue": if *number > 0.0 { "Infinity" } else { "-Infinity" }})
            }
            Some(Any::Double(number)) => json!({"doubleValue": number}),
            Some(Any::Array(list)) => {
                let values: Vec<Value> = list.values.iter().map(Self::json).collect();
                json!({"arrayValue": {"values": values}})
            }
            Some(Any::Map(list)) => json!({"kvlistValue": {"values": attributes(&list.values)}}),
            // The content does not matter: no mapping reads bytes.
            Some(Any::Bytes(_)) => json!({"bytesValue": "AAEC"}),
        }
    }

    /// Parses the JSON form.
    fn parse(value: &Value) -> Self {
        let Some((key, value)) = value.as_object().and_then(|it| it.iter().next()) else {
            return Self { value: None };
        };
        let elements = |value: &Value| value["values"].as_array().cloned().unwrap_or_default();
        Self::of(match key.as_str() {
            "stringValue" => Any::Text(value.as_str().expect("a text").to_owned()),
            "boolValue" => Any::Bool(value.as_bool().expect("a flag")),
            "intValue" => Any::Int(match value.as_str() {
                Some(text) => text.parse().expect("an integer"),
                None => value.as_i64().expect("an integer"),
            }),
            "doubleValue" => Any::Double(value.as_f64().expect("a number")),
            "arrayValue" => Any::Array(ArrayValue {
                values: elements(value).iter().map(Self::parse).collect(),
            }),
            "kvlistValue" => Any::Map(KeyValueList {
                values: elements(value).iter().map(KeyValue::parse).collect(),
            }),
            "bytesValue" => Any::Bytes(vec![0, 1, 2]),
            other => panic!("{other} is no AnyValue"),
        })
    }
}

impl KeyValue {
    pub(super) fn new(key: impl Into<String>, value: Any) -> Self {
        Self {
            key: key.into(),
            value: Some(AnyValue::of(value)),
        }
    }

    fn parse(value: &Value) -> Self {
        Self {
            key: value["key"].as_str().unwrap_or_default().to_owned(),
            value: value.get("value").map(AnyValue::parse),
        }
    }
}

fn attributes(list: &[KeyValue]) -> Vec<Value> {
    let shown = |attribute: &KeyValue| {
        let mut object = Map::new();
        object.insert("key".into(), json!(attribute.key));
        if let Some(value) = &attribute.value {
            object.insert("value".into(), value.json());
        }
        Value::Object(object)
    };
    list.iter().map(shown).collect()
}

impl Traces {
    /// Record with one resource and one scope.
    pub(super) fn of(service: &[KeyValue], spans: Vec<Span>) -> Self {
        Self {
            resource_spans: vec![ResourceSpans {
                resource: Some(Resource {
                    attributes: service.to_vec(),
                    ..Resource::default()
                }),
                scope_spans: vec![ScopeSpans {
                    scope: Some(Scope {
                        name: "openinference.instrumentation".into(),
                        version: "1".into(),
                    }),
                    spans,
                }],
                schema_url: String::new(),
            }],
        }
    }

    /// JSON form, as the specification of OTLP describes it.
    pub(super) fn json(&self) -> Value {
        let event = |event: &Event| {
            json!({
                "timeUnixNano": event.time_unix_nano.to_string(),
                "name": event.name,
                "attributes": attributes(&event.attributes),
            })
        };
        let span = |span: &Span| {
            let events: Vec<Value> = span.events.iter().map(event).collect();
            let status = span.status.clone().unwrap_or_default();
            json!({
                "traceId": hex(&span.trace_id),
                "spanId": hex(&span.span_id).to_uppercase(),
                "parentSpanId": hex(&span.parent_span_id),
                "name": span.name,
                "kind": span.kind,
                "startTimeUnixNano": span.start_time_unix_nano.to_string(),
                "endTimeUnixNano": span.end_time_unix_nano,
                "attributes": attributes(&span.attributes),
                "droppedAttributesCount": span.dropped_attributes_count,
                "events": events,
                "status": {"message": status.message, "code": status.code},
                "flags": span.flags,
                "unknownField": {"deep": [1, {"er": null}]},
            })
        };
        let scope = |scope: &ScopeSpans| {
            let spans: Vec<Value> = scope.spans.iter().map(span).collect();
            let name = scope.scope.clone().unwrap_or_default().name;
            json!({"scope": {"name": name}, "spans": spans})
        };
        let resource = |it: &ResourceSpans| {
            let scopes: Vec<Value> = it.scope_spans.iter().map(scope).collect();
            let resource = it.resource.clone().unwrap_or_default();
            json!({"resource": {"attributes": attributes(&resource.attributes)}, "scopeSpans": scopes})
        };
        let resources: Vec<Value> = self.resource_spans.iter().map(resource).collect();
        json!({"resourceSpans": resources})
    }

    /// Parses the JSON form.
    pub(super) fn parse(value: &Value) -> Self {
        use members::{id, list, number, text};
        let pairs = |value: &Value| list(value).iter().map(KeyValue::parse).collect();
        let small = |value: &Value| i32::try_from(number(value)).expect("a small number");
        let link = |value: &Value| Link {
            trace_id: id(&value["traceId"]),
            span_id: id(&value["spanId"]),
        };
        let event = |value: &Value| Event {
            time_unix_nano: number(&value["timeUnixNano"]),
            name: text(&value["name"]),
            attributes: pairs(&value["attributes"]),
        };
        let span = |value: &Value| Span {
            trace_id: id(&value["traceId"]),
            span_id: id(&value["spanId"]),
            parent_span_id: id(&value["parentSpanId"]),
            name: text(&value["name"]),
            start_time_unix_nano: number(&value["startTimeUnixNano"]),
            end_time_unix_nano: number(&value["endTimeUnixNano"]),
            attributes: pairs(&value["attributes"]),
            dropped_attributes_count: u32::try_from(number(&value["droppedAttributesCount"]))
                .expect("a small number"),
            events: list(&value["events"]).iter().map(event).collect(),
            links: list(&value["links"]).iter().map(link).collect(),
            status: value.get("status").map(|status| Status {
                message: text(&status["message"]),
                code: small(&status["code"]),
            }),
            ..Span::default()
        };
        let scope = |value: &Value| ScopeSpans {
            scope: value.get("scope").map(|scope| Scope {
                name: text(&scope["name"]),
                version: String::new(),
            }),
            spans: list(&value["spans"]).iter().map(span).collect(),
        };
        let resource = |value: &Value| ResourceSpans {
            resource: value.get("resource").map(|resource| Resource {
                attributes: pairs(&resource["attributes"]),
                ..Resource::default()
            }),
            scope_spans: list(&value["scopeSpans"]).iter().map(scope).collect(),
            schema_url: String::new(),
        };
        Self {
            resource_spans: list(&value["resourceSpans"]).iter().map(resource).collect(),
        }
    }
}

/// Record of one resource with these spans.
pub(crate) fn record(spans: &[serde_json::Value]) -> serde_json::Value {
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            {"key": "service.name", "value": {"stringValue": "law-search"}},
            {"key": "service.version", "value": {"stringValue": "V4"}},
        ]},
        "scopeSpans": [{"scope": {"name": "test"}, "spans": spans}],
    }]})
}

/// Span with these attributes: texts, numbers and flags, or an `AnyValue` as it is.
pub(crate) fn span(attributes: &[(&str, serde_json::Value)]) -> serde_json::Value {
    let attribute = |(key, value): &(&str, serde_json::Value)| {
        let value = match value {
            serde_json::Value::String(text) => json!({"stringValue": text}),
            serde_json::Value::Bool(flag) => json!({"boolValue": flag}),
            serde_json::Value::Number(number) if number.is_i64() => {
                json!({"intValue": number.to_string()})
            }
            serde_json::Value::Number(number) => json!({"doubleValue": number}),
            other => other.clone(),
        };
        json!({"key": key, "value": value})
    };
    json!({
        "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
        "spanId": "00f067aa0ba902b7",
        "name": "LawRetriever.retrieve",
        "startTimeUnixNano": "1763337600000000000",
        "endTimeUnixNano": "1763337600120000000",
        "attributes": attributes.iter().map(attribute).collect::<Vec<_>>(),
        "status": {},
    })
}
