//! User Behavior Insights 1.3, as OpenSearch and Elasticsearch write it: a record of `ubi_queries`
//! is a search, one of `ubi_events` is feedback.
//!
//! What is needed to judge and to join has to be there; of everything else, what cannot be used is
//! passed over. The specification's own samples fail its schema, so nothing is held to it. Which
//! action means what, and where ordinals begin, is the reader's to say: a [`Dialect`]. What comes
//! out does not say how it was written.
//!
//! Source: <https://github.com/o19s/ubi>, schema 1.3.0, and what the OpenSearch plugin and its
//! collector write (`opensearch-project/user-behavior-insights`).

mod loose;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::Rejection;
use super::action::{ActionName, LONGEST_MS, Said};
use super::json::{bad, check_id, check_length, missing, parse};
use crate::event::{Action, Experiment, Feedback, Id, Limits, Reason, Search, Text, Value};
use crate::time::EventTime;
use loose::{Ids, Loose, QueryAttributes};

/// What an application means by what UBI leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The ordinal of the first result: 0 or 1.
    pub ordinal_base: u32,
    /// What actions mean, by name. An action that is not here is [`Action::Custom`].
    pub actions: BTreeMap<String, Meaning>,
}

/// What an action means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// What native events call so. What it needs is in the event's attributes.
    Type(ActionName),
    /// A thumb, which of the two being said by the action's name.
    Thumb {
        /// Whether it points up.
        up: bool,
    },
}

impl Meaning {
    /// Every meaning by the name that configuration gives it.
    pub fn names() -> impl Iterator<Item = (&'static str, Self)> {
        let types = ActionName::ALL.map(Self::Type);
        Action::NAMES.into_iter().zip(types).chain([
            ("thumbs_up", Self::Thumb { up: true }),
            ("thumbs_down", Self::Thumb { up: false }),
        ])
    }
}

impl Dialect {
    /// What is understood without configuration: the names of the specification, of its sample data
    /// and of its collectors.
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

    /// The 1-based position that an ordinal stands for; `None` where it cannot be one.
    fn position(&self, ordinal: i64) -> Option<u32> {
        let index = ordinal.checked_sub(i64::from(self.ordinal_base))?;
        u32::try_from(index).ok()?.checked_add(1)
    }

    /// What an action means.
    pub fn meaning(&self, action: &str) -> Meaning {
        let known = self.actions.get(action).copied();
        known.unwrap_or(Meaning::Type(ActionName::Custom))
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

/// A record of `ubi_queries`. The other names are those under which the OpenSearch plugin sends it to
/// Data Prepper.
#[derive(Deserialize)]
struct QueryWire<'a> {
    #[serde(borrow, default, alias = "queryId")]
    query_id: Option<Id<'a>>,
    #[serde(default, deserialize_with = "loose::some_time")]
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

/// The response as the OpenSearch plugin sends it to Data Prepper.
#[derive(Deserialize)]
struct ResponseWire<'a> {
    #[serde(borrow, default, rename = "queryResponseHitIds")]
    hit_ids: Option<Ids<'a>>,
}

/// A record of `ubi_events`.
#[derive(Deserialize)]
struct EventWire<'a> {
    #[serde(borrow, default)]
    action_name: Option<Text<'a>>,
    #[serde(default, deserialize_with = "loose::some_time")]
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

/// What is said of an event beyond its name.
#[derive(Default, Deserialize)]
struct EventAttributes<'a> {
    #[serde(borrow, default)]
    object: Option<Loose<'a, Object<'a>>>,
    #[serde(borrow, default)]
    position: Option<Loose<'a, Position<'a>>>,
    // Where events of the time before 1.1 have it.
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

/// What the event was about.
#[derive(Default, Deserialize)]
struct Object<'a> {
    #[serde(borrow, default)]
    object_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    internal_id: Option<Id<'a>>,
}

/// Where it stood.
#[derive(Default, Deserialize)]
struct Position<'a> {
    #[serde(borrow, default)]
    ordinal: Option<Value<'a>>,
}

/// Decodes a record of `ubi_queries`.
///
/// # Errors
/// A [`Rejection`] that names the field.
pub fn search<'a>(payload: &'a [u8], limits: &Limits) -> Result<Search<'a>, Rejection> {
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
    // Of several lists only one need have been filled.
    let filled = lists.into_iter().flatten().map(|Ids(ids)| ids);
    let ids = filled
        .reduce(|first, next| if first.is_empty() { next } else { first })
        .ok_or_else(|| missing("query_response_hit_ids"))?;
    check_length(ids.len(), limits)?;
    if ids.is_empty() && asks_for_nothing(payload, limits) {
        return Err(bad(
            "query",
            "`size` is 0: what asks for no results is no search",
        ));
    }
    let attributes = wire.query_attributes.and_then(Loose::object);
    let attributes = attributes.unwrap_or_default();
    let session_id = attributes.text("session_id").map(Id);
    let session_id = session(wire.client_id.clone(), wire.session_id, session_id)?;
    let latency_ms = attributes.number("latency_ms");
    let mut search = Search::of_documents(query_id, ids.into_iter());
    search.ts = ts;
    search.query = wire.user_query.map(|Id(text)| Text(text));
    search.query_key = attributes.text("query_key").map(Id).and_then(written);
    search.latency_ms = latency_ms.filter(|latency| (0.0..=LONGEST_MS).contains(latency));
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

/// Whether the request in `query` wanted no results, as one for facets alone does. Front ends send
/// it beside the search proper, under the same id; in the logs of Chorus it is every second one.
#[cold]
fn asks_for_nothing(payload: &[u8], limits: &Limits) -> bool {
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

/// The part of a record that says what was asked of the engine.
#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow, default)]
    query: Option<Loose<'a, Request<'a>>>,
}

/// A request of the engine's query language.
#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow, default)]
    size: Option<Value<'a>>,
}

/// Decodes a record of `ubi_events`.
///
/// # Errors
/// A [`Rejection`] that names the field.
pub fn feedback<'a>(
    payload: &'a [u8],
    limits: &Limits,
    dialect: &Dialect,
) -> Result<Feedback<'a>, Rejection> {
    let wire: EventWire<'_> = parse(unwrapped(payload, limits), limits)?;
    let name = wire.action_name.ok_or_else(|| missing("action_name"))?;
    let ts = time(wire.timestamp)?;
    let attributes = wire.event_attributes.and_then(Loose::object);
    let attributes = attributes.unwrap_or_default();
    let object = attributes.object.and_then(Loose::object);
    let object = object.unwrap_or_default();
    let object_id = object.object_id.and_then(written);
    let object_id = object_id.or_else(|| object.internal_id.and_then(written));
    let place = attributes.position.and_then(Loose::object);
    let ordinal = place.and_then(|place| loose::whole(&place.ordinal?));
    let seconds = loose::number(attributes.dwell_time.as_ref());
    let said = Details {
        object_id: object_id.as_ref(),
        ordinal,
        dwell_ms: loose::number(attributes.dwell_ms.as_ref())
            .or_else(|| seconds.map(|seconds| seconds * 1_000.0)),
        value: attributes.value.as_ref(),
        min: loose::number(attributes.min.as_ref()),
        max: loose::number(attributes.max.as_ref()),
    };
    let action = said.action(dialect.meaning(&name))?;
    let query_id = checked("query_id", wire.query_id)?;
    let client_id = wire.client_id.clone();
    let within = attributes.session_id.as_ref().and_then(loose::text).map(Id);
    let session_id = session(wire.client_id, wire.session_id, within)?;
    if query_id.is_none() && session_id.is_none() {
        return Err(missing("query_id"));
    }
    let event_id = match checked("event_id", wire.event_id)? {
        Some(event_id) => event_id,
        None => made_up_id(&[
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
        position: ordinal.and_then(|ordinal| dialect.position(ordinal)),
        object_id,
        action,
    })
}

/// What an event says that some actions need.
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
        let nowhere = self.object_id.is_none() && self.ordinal.is_none();
        if action == ActionName::Click && nowhere {
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
        let said = Said {
            action,
            has_object: self.object_id.is_some(),
            has_position: self.ordinal.is_some(),
            has_name: true,
            value: self.value.and_then(loose::opinion),
            min: self.min,
            max: self.max,
            dwell_ms: self.dwell_ms,
        };
        said.action().map_err(|rejection| {
            let detail = format_args!("event_attributes: {}", rejection.detail);
            Rejection::new(rejection.reason, detail)
        })
    }
}

/// The event in a record. The collector and the plugin send an array of one, because Data Prepper
/// wants arrays.
fn unwrapped<'a>(payload: &'a [u8], limits: &Limits) -> &'a [u8] {
    if payload.len() > limits.record_bytes {
        return payload;
    }
    let array = payload.trim_ascii().strip_prefix(b"[");
    let only = array.and_then(|rest| rest.strip_suffix(b"]"));
    only.filter(|only| !only.trim_ascii().is_empty())
        .unwrap_or(payload)
}

/// An id that says something: none is often written as an empty one.
fn written(id: Id<'_>) -> Option<Id<'_>> {
    (!id.is_empty()).then_some(id)
}

fn checked<'a>(field: &str, id: Option<Id<'a>>) -> Result<Option<Id<'a>>, Rejection> {
    let id = id.and_then(written);
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

/// The session of a search or an event. Searches know their client alone, so the client it is
/// wherever it is known: else the two would not meet.
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

/// The id of an event that has none of its own: 128 bits of the SHA-256 of what tells it from
/// others, so that the same event sent again is known.
fn made_up_id(parts: &[Option<&str>]) -> Id<'static> {
    let mut hash = Sha256::new();
    for part in parts {
        // With their lengths, so that no two lists of parts run into the same bytes.
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
