//! Decoder of User Behavior Insights 1.3, as OpenSearch and Elasticsearch write it: a record of
//! `ubi_queries` is a search, a record of `ubi_events` is feedback.
//!
//! The fields that judging and joining need are required; any other field is ignored if it cannot
//! be used. Records are not validated against the schema, because the specification's own samples
//! fail it. The meaning of each action and the first ordinal are configuration: a [`Dialect`]. The
//! resulting events do not depend on the wire format.
//!
//! Source: <https://github.com/o19s/ubi>, schema 1.3.0, and the output of the OpenSearch plugin and
//! its collector (`opensearch-project/user-behavior-insights`).

mod loose;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::action::{ActionFields, ActionName, MAX_DURATION_MS};
use super::json::{bad, check_id, check_length, missing, parse};
use crate::event::{
    Action, Experiment, Feedback, Id, Limits, Reason, Rejection, Search, Text, Value,
};
use crate::time::EventTime;
use loose::{Ids, Loose, QueryAttributes};

/// Settings for what UBI leaves open to the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Ordinal of the first result: 0 or 1.
    pub ordinal_base: u32,
    /// Meanings of actions, by name. An action that is not listed is [`Action::Custom`].
    pub actions: BTreeMap<String, Meaning>,
}

/// Meaning of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Action of this type in native events. Its values come from the event's attributes.
    Type(ActionName),
    /// Thumbs up or down, as the action's name states.
    Thumb {
        /// True for thumbs up.
        up: bool,
    },
}

impl Meaning {
    /// Every meaning with its name in the configuration.
    pub fn names() -> impl Iterator<Item = (&'static str, Self)> {
        let types = ActionName::ALL.map(Self::Type);
        Action::NAMES.into_iter().zip(types).chain([
            ("thumbs_up", Self::Thumb { up: true }),
            ("thumbs_down", Self::Thumb { up: false }),
        ])
    }
}

impl Dialect {
    /// Default meanings: the names of the specification, of its sample data and of its collectors.
    pub const ACTIONS: [(&str, Meaning); 10] = [
        ("add_to_cart", Meaning::Type(ActionName::Conversion)),
        ("click", Meaning::Type(ActionName::Click)),
        ("dwell", Meaning::Type(ActionName::Dwell)),
        ("impression", Meaning::Type(ActionName::Impression)),
        ("item_click", Meaning::Type(ActionName::Click)),
        ("product_hover", Meaning::Type(ActionName::Impression)),
        ("purchase", Meaning::Type(ActionName::Conversion)),
        ("thumbs_down", Meaning::Thumb { up: false }),
        ("thumbs_up", Meaning::Thumb { up: true }),
        ("view", Meaning::Type(ActionName::Impression)),
    ];

    /// Returns the 1-based position of an ordinal; `None` if the ordinal is out of range.
    fn position(&self, ordinal: i64) -> Option<u32> {
        let index = ordinal.checked_sub(i64::from(self.ordinal_base))?;
        u32::try_from(index).ok()?.checked_add(1)
    }

    /// Returns the meaning of an action.
    pub fn meaning(&self, action: &str) -> Meaning {
        let known = self.actions.get(action).copied();
        known.unwrap_or(Meaning::Type(ActionName::Custom))
    }

    /// Decodes a record of `ubi_queries`, which is the same in every dialect.
    ///
    /// # Errors
    /// A [`Rejection`] that names the field.
    pub fn search<'a>(payload: &'a [u8], limits: &Limits) -> Result<Box<Search<'a>>, Rejection> {
        let wire: QueryWire<'_> = parse(unwrapped(payload, limits), limits)?;
        let query_id = required("query_id", wire.query_id)?;
        let ts = time(wire.timestamp)?;
        let response = wire.response.and_then(Loose::object);
        let lists = [
            wire.query_response_hit_ids,
            wire.query_response_objects_ids,
            wire.query_response_object_ids,
            response.and_then(|response| response.hit_ids),
        ];
        // A record can contain several lists of which only one is filled.
        let filled = lists.into_iter().flatten().map(|Ids(ids)| ids);
        let ids = filled
            .reduce(|first, next| if first.is_empty() { next } else { first })
            .ok_or_else(|| missing("query_response_hit_ids"))?;
        check_length(ids.len(), limits)?;
        if ids.is_empty() && requests_no_results(payload, limits) {
            return Err(bad(
                "query",
                "`size` is 0: a request for no results is not a search",
            ));
        }
        let attributes = wire.query_attributes.and_then(Loose::object);
        let attributes = attributes.unwrap_or_default();
        let session_id = attributes.text("session_id").map(Id);
        let session_id = session(wire.client_id.clone(), wire.session_id, session_id)?;
        let latency_ms = attributes.number("latency_ms");
        let mut search = Box::new(Search::of_documents(query_id, ids.into_iter()));
        search.ts = ts;
        search.query = wire.user_query.map(|Id(text)| Text(text));
        search.query_key = attributes.text("query_key").map(Id).and_then(non_empty);
        search.latency_ms = latency_ms.filter(|latency| (0.0..=MAX_DURATION_MS).contains(latency));
        search.variant = attributes.text("variant").map(Text);
        search.session_id = session_id;
        search.client_id = wire.client_id;
        search.user_id = wire.user_id;
        search.application = wire.application;
        let experiment_id = attributes.text("experiment_id").map(Id);
        search.experiment = attributes.experiment.or_else(|| {
            experiment_id.map(|id| Experiment {
                id: Some(id),
                variant: None,
            })
        });
        search.labels = Some(attributes.labels);
        Ok(search)
    }

    /// Decodes a record of `ubi_events`.
    ///
    /// # Errors
    /// A [`Rejection`] that names the field.
    pub fn feedback<'a>(
        &self,
        payload: &'a [u8],
        limits: &Limits,
    ) -> Result<Feedback<'a>, Rejection> {
        let wire: EventWire<'_> = parse(unwrapped(payload, limits), limits)?;
        let name = wire.action_name.ok_or_else(|| missing("action_name"))?;
        let ts = time(wire.timestamp)?;
        let attributes = wire.event_attributes.and_then(Loose::object);
        let attributes = attributes.unwrap_or_default();
        let object = attributes.object.and_then(Loose::object);
        let object = object.unwrap_or_default();
        let object_id = object.object_id.and_then(non_empty);
        let object_id = object_id.or_else(|| object.internal_id.and_then(non_empty));
        let place = attributes.position.and_then(Loose::object);
        let ordinal = place.and_then(|place| loose::whole(&place.ordinal?));
        let seconds = loose::number(attributes.dwell_time.as_ref());
        let details = Details {
            object_id: object_id.as_ref(),
            ordinal,
            dwell_ms: loose::number(attributes.dwell_ms.as_ref())
                .or_else(|| seconds.map(|seconds| seconds * 1_000.0)),
            value: attributes.value.as_ref(),
            min: loose::number(attributes.min.as_ref()),
            max: loose::number(attributes.max.as_ref()),
        };
        let action = details.action(self.meaning(&name))?;
        let query_id = checked("query_id", wire.query_id)?;
        let client_id = wire.client_id.clone();
        let within = attributes.session_id.as_ref().and_then(loose::text).map(Id);
        let session_id = session(wire.client_id, wire.session_id, within)?;
        if query_id.is_none() && session_id.is_none() {
            return Err(missing("query_id"));
        }
        let event_id = match checked("event_id", wire.event_id)? {
            Some(event_id) => event_id,
            None => derived_id(&[
                client_id.as_deref(),
                session_id.as_deref(),
                query_id.as_deref(),
                Some(&*name),
                Some(&*ts.0.to_string()),
                object_id.as_deref(),
                ordinal.map(|ordinal| ordinal.to_string()).as_deref(),
            ]),
        };
        Ok(Feedback {
            event_id,
            ts,
            query_id,
            session_id,
            position: ordinal.and_then(|ordinal| self.position(ordinal)),
            object_id,
            action,
            evaluation: None,
        })
    }
}

impl Default for Dialect {
    fn default() -> Self {
        let actions = Self::ACTIONS.map(|(name, meaning)| (name.to_owned(), meaning));
        Self {
            ordinal_base: 1,
            actions: actions.into(),
        }
    }
}

/// Record of `ubi_queries`. The other names are those that the OpenSearch plugin sends to Data
/// Prepper.
#[derive(Deserialize)]
struct QueryWire<'a> {
    #[serde(borrow, default, alias = "queryId")]
    query_id: Option<Id<'a>>,
    #[serde(default, deserialize_with = "loose::optional_time")]
    timestamp: Option<EventTime>,
    #[serde(borrow, default, alias = "userQuery")]
    user_query: Option<Id<'a>>,
    #[serde(borrow, default, alias = "clientId")]
    client_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    session_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    user_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    application: Option<Text<'a>>,
    #[serde(borrow, default)]
    query_response_hit_ids: Option<Ids<'a>>,
    #[serde(borrow, default)]
    query_response_objects_ids: Option<Ids<'a>>,
    #[serde(borrow, default)]
    query_response_object_ids: Option<Ids<'a>>,
    #[serde(borrow, default, rename = "queryResponse")]
    response: Option<Loose<'a, ResponseWire<'a>>>,
    #[serde(borrow, default, alias = "queryAttributes")]
    query_attributes: Option<Loose<'a, QueryAttributes<'a>>>,
}

/// Response as the OpenSearch plugin sends it to Data Prepper.
#[derive(Deserialize)]
struct ResponseWire<'a> {
    #[serde(borrow, default, rename = "queryResponseHitIds")]
    hit_ids: Option<Ids<'a>>,
}

/// Record of `ubi_events`.
#[derive(Deserialize)]
struct EventWire<'a> {
    #[serde(borrow, default)]
    action_name: Option<Text<'a>>,
    #[serde(default, deserialize_with = "loose::optional_time")]
    timestamp: Option<EventTime>,
    #[serde(borrow, default)]
    event_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    query_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    client_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    session_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    event_attributes: Option<Loose<'a, EventAttributes<'a>>>,
}

#[derive(Default, Deserialize)]
struct EventAttributes<'a> {
    #[serde(borrow, default)]
    object: Option<Loose<'a, Object<'a>>>,
    #[serde(borrow, default)]
    position: Option<Loose<'a, Position<'a>>>,
    // Location of the session id in events before version 1.1.
    #[serde(borrow, default)]
    session_id: Option<Value<'a>>,
    #[serde(borrow, default)]
    dwell_time: Option<Value<'a>>,
    #[serde(borrow, default)]
    dwell_ms: Option<Value<'a>>,
    #[serde(borrow, default)]
    value: Option<Value<'a>>,
    #[serde(borrow, default)]
    min: Option<Value<'a>>,
    #[serde(borrow, default)]
    max: Option<Value<'a>>,
}

/// Object that the event is about.
#[derive(Default, Deserialize)]
struct Object<'a> {
    #[serde(borrow, default)]
    object_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    internal_id: Option<Id<'a>>,
}

/// Position of the object in the results.
#[derive(Default, Deserialize)]
struct Position<'a> {
    #[serde(borrow, default)]
    ordinal: Option<Value<'a>>,
}

/// Returns true if the request in `query` has size 0, as a request for facets alone does. Front
/// ends send it in addition to the actual search, under the same id; in the logs of Chorus it is
/// every second request.
#[cold]
fn requests_no_results(payload: &[u8], limits: &Limits) -> bool {
    let record = parse::<Asked<'_>>(unwrapped(payload, limits), limits).ok();
    let size = match record.and_then(|record| record.query) {
        Some(Loose::Object(request)) => request.size.as_ref().and_then(loose::whole),
        // The plugin writes the request as text.
        Some(Loose::Plain(Value::Text(text))) => serde_json::from_str::<Request<'_>>(&text)
            .ok()
            .and_then(|request| request.size.as_ref().and_then(loose::whole)),
        Some(Loose::Plain(_)) | None => None,
    };
    size == Some(0)
}

/// Part of a record that holds the request to the search engine.
#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow, default)]
    query: Option<Loose<'a, Request<'a>>>,
}

/// Request in the search engine's query language.
#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow, default)]
    size: Option<Value<'a>>,
}

/// Attributes of an event that some actions require.
struct Details<'e, 'a> {
    object_id: Option<&'e Id<'a>>,
    ordinal: Option<i64>,
    dwell_ms: Option<f64>,
    value: Option<&'e Value<'a>>,
    min: Option<f64>,
    max: Option<f64>,
}

impl Details<'_, '_> {
    fn action(&self, meaning: Meaning) -> Result<Action, Rejection> {
        let action = match meaning {
            Meaning::Thumb { up } => return Ok(Action::Thumbs { up }),
            Meaning::Type(action) => action,
        };
        let is_unlocated = self.object_id.is_none() && self.ordinal.is_none();
        if action == ActionName::Click && is_unlocated {
            return Err(Rejection::new(
                Reason::MissingField,
                "a click needs `event_attributes.object.object_id` or \
                 `event_attributes.position.ordinal`",
            ));
        }
        if action == ActionName::Judgment && self.object_id.is_none() {
            return Err(missing("event_attributes.object.object_id"));
        }
        if action == ActionName::Dwell && self.dwell_ms.is_none() {
            return Err(missing("event_attributes.dwell_time"));
        }
        let fields = ActionFields {
            action,
            has_object: self.object_id.is_some(),
            has_position: self.ordinal.is_some(),
            has_name: true,
            value: self.value.and_then(loose::feedback_value),
            min: self.min,
            max: self.max,
            dwell_ms: self.dwell_ms,
            amount: None,
        };
        fields.action().map_err(|rejection| {
            let detail = format_args!("event_attributes: {}", rejection.detail);
            Rejection::new(rejection.reason, detail)
        })
    }
}

/// Document of an index with its metadata.
#[derive(Deserialize)]
struct Exported<'a> {
    #[serde(borrow, rename = "_source")]
    document: &'a RawValue,
}

/// Returns the event in a record. The collector and the plugin send an array of one event, because
/// Data Prepper requires arrays. Exports of an index have it as the document of a hit.
fn unwrapped<'a>(payload: &'a [u8], limits: &Limits) -> &'a [u8] {
    if payload.len() > limits.record_bytes {
        return payload;
    }
    let trimmed = payload.trim_ascii();
    if trimmed.starts_with(b"{\"_index\"") {
        let exported: Result<Exported<'_>, _> = parse(payload, limits);
        return exported.map_or(payload, |exported| exported.document.get().as_bytes());
    }
    let array = trimmed.strip_prefix(b"[");
    let only = array.and_then(|rest| rest.strip_suffix(b"]"));
    only.filter(|only| !only.trim_ascii().is_empty())
        .unwrap_or(payload)
}

/// Returns the id unless it is empty: many producers send an empty string for an absent id.
fn non_empty(id: Id<'_>) -> Option<Id<'_>> {
    (!id.is_empty()).then_some(id)
}

fn checked<'a>(field: &str, id: Option<Id<'a>>) -> Result<Option<Id<'a>>, Rejection> {
    let id = id.and_then(non_empty);
    if let Some(id) = &id {
        check_id(field, id)?;
    }
    Ok(id)
}

fn required<'a>(field: &str, id: Option<Id<'a>>) -> Result<Id<'a>, Rejection> {
    checked(field, id)?.ok_or_else(|| missing(field))
}

fn time(timestamp: Option<EventTime>) -> Result<EventTime, Rejection> {
    let ts = timestamp.ok_or_else(|| missing("timestamp"))?;
    if ts.0 < 0 {
        return Err(bad("timestamp", "a time before 1970"));
    }
    Ok(ts)
}

/// Returns the session of a search or an event. The client id takes precedence, because searches
/// carry only a client id; otherwise searches and events would not join.
fn session<'a>(
    client_id: Option<Id<'a>>,
    session_id: Option<Id<'a>>,
    within: Option<Id<'a>>,
) -> Result<Option<Id<'a>>, Rejection> {
    for (field, id) in [
        ("client_id", client_id),
        ("session_id", session_id),
        ("session_id", within),
    ] {
        if let Some(id) = checked(field, id)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Derives the id of an event that has none: 128 bits of the SHA-256 of its identifying fields, so
/// that a duplicate of the event is recognised.
pub(super) fn derived_id(parts: &[Option<&str>]) -> Id<'static> {
    let mut hash = Sha256::new();
    for part in parts {
        // Lengths are hashed too, because different lists of parts must not yield the same bytes.
        let length = part.map_or(u64::MAX, |part| {
            u64::try_from(part.len()).unwrap_or(u64::MAX)
        });
        hash.update(length.to_le_bytes());
        hash.update(part.unwrap_or_default());
    }
    let digest = hash.finalize();
    let first = digest.first_chunk::<16>().copied().unwrap_or_default();
    Id(Cow::Owned(format!("{:032x}", u128::from_be_bytes(first))))
}
