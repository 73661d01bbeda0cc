//! Log records and spans of a feedback topic, in JSON.

use serde::Deserialize;

use super::feedback::{Item, ItemAttributes, Scope, Target, VisitItem};
use super::json::{Integer, KeyValue, bytes, id_of_text, list, or_default};
use crate::event::Text;

/// Record of log records or of spans.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Items<'a> {
    #[serde(borrow, default, deserialize_with = "list")]
    resource_logs: Vec<ResourceLogs<'a>>,
    #[serde(borrow, default, deserialize_with = "list")]
    resource_spans: Vec<ResourceSpans<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceLogs<'a> {
    #[serde(borrow, default, deserialize_with = "list")]
    scope_logs: Vec<ScopeLogs<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScopeLogs<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    scope: ScopeWire<'a>,
    #[serde(borrow, default, deserialize_with = "list")]
    log_records: Vec<LogRecord<'a>>,
}

#[derive(Default, Deserialize)]
struct ScopeWire<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    name: Text<'a>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    version: Text<'a>,
}

impl<'a> ScopeWire<'a> {
    fn scope(&self) -> Scope<'a> {
        Scope {
            name: bytes(&self.name),
            version: bytes(&self.version),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogRecord<'a> {
    #[serde(default)]
    time_unix_nano: Integer,
    #[serde(default)]
    observed_time_unix_nano: Integer,
    #[serde(borrow, default, deserialize_with = "or_default")]
    trace_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    span_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    event_name: Text<'a>,
    #[serde(borrow, default, deserialize_with = "list")]
    attributes: Vec<KeyValue<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    #[serde(borrow, default, deserialize_with = "list")]
    scope_spans: Vec<ScopeSpans<'a>>,
}

#[derive(Deserialize)]
struct ScopeSpans<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    scope: ScopeWire<'a>,
    #[serde(borrow, default, deserialize_with = "list")]
    spans: Vec<Span<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Span<'a> {
    #[serde(default)]
    end_time_unix_nano: Integer,
    #[serde(borrow, default, deserialize_with = "list")]
    attributes: Vec<KeyValue<'a>>,
    #[serde(borrow, default, deserialize_with = "list")]
    links: Vec<Link<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Link<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    trace_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    span_id: Text<'a>,
}

impl<'a> Items<'a> {
    fn logs(&self) -> impl Iterator<Item = &ScopeLogs<'a>> {
        self.resource_logs.iter().flat_map(|it| &it.scope_logs)
    }

    fn spans(&self) -> impl Iterator<Item = &ScopeSpans<'a>> {
        self.resource_spans.iter().flat_map(|it| &it.scope_spans)
    }

    /// Number of log records and spans.
    pub(super) fn len(&self) -> usize {
        let logs = self.logs().map(|it| it.log_records.len());
        logs.chain(self.spans().map(|it| it.spans.len())).sum()
    }

    /// Calls `visit` for each log record and span, with its scope and its attributes.
    pub(super) fn walk(&self, visit: &mut VisitItem<'_, 'a>) {
        for of_scope in self.logs() {
            let scope = of_scope.scope.scope();
            for log in &of_scope.log_records {
                let times = [log.time_unix_nano.0, log.observed_time_unix_nano.0];
                let item = Item::Log {
                    event_name: bytes(&log.event_name),
                    target: target(&log.trace_id, &log.span_id),
                    time: times.into_iter().find(|time| *time > 0).unwrap_or(0),
                };
                visit(&item, &scope, &attributes(&log.attributes));
            }
        }
        for of_scope in self.spans() {
            let scope = of_scope.scope.scope();
            for span in &of_scope.spans {
                let link = match &span.links[..] {
                    [link] => Some(target(&link.trace_id, &link.span_id)),
                    _ => None,
                };
                let item = Item::Span {
                    link,
                    time: span.end_time_unix_nano.0,
                };
                visit(&item, &scope, &attributes(&span.attributes));
            }
        }
    }
}

fn target(trace_id: &str, span_id: &str) -> Target {
    Target {
        trace_id: id_of_text(trace_id),
        span_id: id_of_text(span_id),
    }
}

fn attributes<'a>(list: &[KeyValue<'a>]) -> ItemAttributes<'a> {
    let pair = |attribute: &KeyValue<'a>| (attribute.key(), attribute.value());
    list.iter().map(pair).collect()
}
