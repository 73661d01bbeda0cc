//! The native JSON events of `docs/events.md`.
//!
//! A record is decoded straight into structures that borrow from it: no JSON tree is built. Only
//! when that fails is it read a second time, more slowly, to learn which field was wrong.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Reason, Rejection};
use crate::engine::settings::Limits;
use crate::event::{Action, Attributes, Cost, Feedback, Id, Search, Text};
use crate::time::EventTime;

/// More tokens than any call can have used; what is above is a mistake and must not overflow sums.
const MOST_TOKENS: u64 = 1_000_000_000;

/// Longer than any search can have taken (30 days), in milliseconds.
const LONGEST_MS: f64 = 30.0 * 86_400_000.0;

/// Decodes a search.
///
/// # Errors
/// A [`Rejection`] that names the field.
pub fn search<'a>(payload: &'a [u8], limits: &Limits) -> Result<Search<'a>, Rejection> {
    let mut search: Search<'_> = parse(payload, limits)?;
    check_id("query_id", &search.query_id)?;
    check_time(search.ts)?;
    if search.query.is_none() && search.query_key.is_none() {
        return Err(Rejection::new(
            Reason::MissingField,
            "one of `query` and `query_key` is required",
        ));
    }
    if search.results.len() > limits.results_per_search {
        return Err(Rejection::new(
            Reason::TooManyResults,
            format_args!(
                "{} results, limits.results_per_search is {}",
                search.results.len(),
                limits.results_per_search
            ),
        ));
    }
    check_latency("latency_ms", search.latency_ms)?;
    for stage in search.stages.iter().flatten() {
        check_latency("stages[].latency_ms", stage.latency_ms)?;
    }
    check_cost("cost", search.cost.as_ref())?;
    for usage in search.usage.iter().flatten() {
        check_cost("usage[].cost", usage.cost.as_ref())?;
        let tokens = [
            ("usage[].input_tokens", usage.input_tokens),
            ("usage[].output_tokens", usage.output_tokens),
            (
                "usage[].cache_read_input_tokens",
                usage.cache_read_input_tokens,
            ),
            (
                "usage[].reasoning_output_tokens",
                usage.reasoning_output_tokens,
            ),
        ];
        for (field, count) in tokens {
            if count.is_some_and(|count| count > MOST_TOKENS) {
                return Err(bad(field, "more tokens than a call can use"));
            }
        }
    }
    if search.results.iter().any(|hit| hit.rank == Some(0)) {
        return Err(bad("results[].rank", "ranks are counted from 1"));
    }
    // Served order: by rank where every result has one, else as listed.
    if search.results.iter().all(|hit| hit.rank.is_some())
        && !search.results.is_sorted_by_key(|hit| hit.rank)
    {
        search.results.sort_by_key(|hit| hit.rank);
    }
    Ok(search)
}

/// Decodes a feedback event.
///
/// # Errors
/// A [`Rejection`] that names the field.
pub fn feedback<'a>(payload: &'a [u8], limits: &Limits) -> Result<Feedback<'a>, Rejection> {
    let wire: FeedbackWire<'_> = parse(payload, limits)?;
    check_id("event_id", &wire.event_id)?;
    check_time(wire.ts)?;
    if let Some(query_id) = &wire.query_id {
        check_id("query_id", query_id)?;
    }
    if wire.query_id.is_none() && wire.session_id.is_none() {
        return Err(missing("query_id"));
    }
    if wire.position == Some(0) {
        return Err(bad("position", "positions are counted from 1"));
    }
    let action = action(&wire)?;
    Ok(Feedback {
        event_id: wire.event_id,
        ts: wire.ts,
        query_id: wire.query_id,
        session_id: wire.session_id,
        object_id: wire.object_id,
        position: wire.position,
        action,
    })
}

#[derive(Deserialize)]
struct FeedbackWire<'a> {
    #[serde(borrow)]
    event_id: Id<'a>,
    #[serde(deserialize_with = "crate::event::read::written_time")]
    ts: EventTime,
    #[serde(rename = "type")]
    action: ActionName,
    #[serde(borrow, default)]
    query_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    session_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    object_id: Option<Id<'a>>,
    #[serde(default)]
    position: Option<u32>,
    #[serde(default)]
    value: Option<Opinion>,
    #[serde(default)]
    min: Option<f64>,
    #[serde(default)]
    max: Option<f64>,
    #[serde(default)]
    dwell_ms: Option<f64>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    // Known, and of no use to a metric; read so that a wrong type is reported.
    #[serde(borrow, default, rename = "comment")]
    _comment: Option<Text<'a>>,
    #[serde(borrow, default, rename = "client_id")]
    _client_id: Option<Id<'a>>,
    #[serde(borrow, default, rename = "user_id")]
    _user_id: Option<Id<'a>>,
    #[serde(borrow, default, rename = "labels")]
    _labels: Option<Attributes<'a>>,
}

/// The `type` of a feedback event.
#[derive(Clone, Copy)]
enum ActionName {
    Impression,
    Click,
    Dwell,
    Conversion,
    Thumbs,
    Rating,
    Judgment,
    Reformulation,
    Comment,
    Custom,
}

// Written by hand, as is that of `Opinion`: what serde derives for an enum says of a number that
// it is no JSON, and takes an object.
impl<'de> Deserialize<'de> for ActionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Text::deserialize(deserializer)?;
        Ok(match &*name {
            "impression" => Self::Impression,
            "click" => Self::Click,
            "dwell" => Self::Dwell,
            "conversion" => Self::Conversion,
            "thumbs" => Self::Thumbs,
            "rating" => Self::Rating,
            "judgment" => Self::Judgment,
            "reformulation" => Self::Reformulation,
            "comment" => Self::Comment,
            "custom" => Self::Custom,
            other => return Err(D::Error::unknown_variant(other, &Action::NAMES)),
        })
    }
}

/// The `value` of a thumb (a truth value or ±1) or of a rating.
#[derive(Clone, Copy)]
enum Opinion {
    Bool(bool),
    Number(f64),
}

impl<'de> Deserialize<'de> for Opinion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OpinionVisitor;

        impl Visitor<'_> for OpinionVisitor {
            type Value = Opinion;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number or a truth value")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Opinion, E> {
                Ok(Opinion::Bool(value))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Opinion, E> {
                Ok(Opinion::Number(number))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Opinion, E> {
                self.visit_f64(whole_number(number).ok_or_else(|| E::custom("out of range"))?)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Opinion, E> {
                let number = i64::try_from(number).ok().and_then(whole_number);
                self.visit_f64(number.ok_or_else(|| E::custom("out of range"))?)
            }
        }

        deserializer.deserialize_any(OpinionVisitor)
    }
}

/// An integer as a floating-point number; `None` beyond 32 bits, which no scale reaches.
fn whole_number(number: i64) -> Option<f64> {
    i32::try_from(number).ok().map(f64::from)
}

fn action(wire: &FeedbackWire<'_>) -> Result<Action, Rejection> {
    Ok(match wire.action {
        ActionName::Impression => Action::Impression,
        ActionName::Click if wire.object_id.is_none() && wire.position.is_none() => {
            return Err(Rejection::new(
                Reason::MissingField,
                "a click needs `object_id` or `position`",
            ));
        }
        ActionName::Click => Action::Click,
        ActionName::Dwell => match wire.dwell_ms {
            None => return Err(missing("dwell_ms")),
            Some(dwell_ms) if (0.0..=LONGEST_MS).contains(&dwell_ms) => Action::Dwell { dwell_ms },
            Some(_) => return Err(bad("dwell_ms", "between 0 and 30 days is expected")),
        },
        ActionName::Conversion => Action::Conversion,
        ActionName::Thumbs => match wire.value {
            None => return Err(missing("value")),
            Some(Opinion::Bool(up)) => Action::Thumbs { up },
            Some(Opinion::Number(value)) if value.abs().to_bits() == 1.0_f64.to_bits() => {
                Action::Thumbs {
                    up: value.is_sign_positive(),
                }
            }
            Some(Opinion::Number(_)) => {
                return Err(bad("value", "a thumb is true, false, 1 or -1"));
            }
        },
        ActionName::Rating => {
            let value = number(wire.value)?;
            let (min, max) = (wire.min.unwrap_or(1.0), wire.max.unwrap_or(5.0));
            if !(min < max && (min..=max).contains(&value)) {
                return Err(bad(
                    "value",
                    "a rating lies between `min` (default 1) and `max` (default 5)",
                ));
            }
            Action::Rating { value, min, max }
        }
        ActionName::Judgment if wire.object_id.is_none() => return Err(missing("object_id")),
        ActionName::Judgment => Action::Judgment {
            grade: number(wire.value)?,
        },
        ActionName::Reformulation => Action::Reformulation,
        ActionName::Comment => Action::Comment,
        ActionName::Custom if wire.name.is_none() => return Err(missing("name")),
        ActionName::Custom => Action::Custom,
    })
}

fn number(value: Option<Opinion>) -> Result<f64, Rejection> {
    match value {
        Some(Opinion::Number(number)) => Ok(number),
        Some(Opinion::Bool(_)) => Err(Rejection::new(
            Reason::WrongType,
            "value: a number is expected",
        )),
        None => Err(missing("value")),
    }
}

fn parse<'a, T: Deserialize<'a>>(payload: &'a [u8], limits: &Limits) -> Result<T, Rejection> {
    if payload.is_empty() {
        return Err(Rejection::new(Reason::Empty, "the record has no payload"));
    }
    if payload.len() > limits.record_bytes {
        return Err(Rejection::new(
            Reason::TooLarge,
            format_args!(
                "{} bytes, limits.record_bytes is {}",
                payload.len(),
                limits.record_bytes
            ),
        ));
    }
    let text =
        // Text in Hangul makes the standard library's check a tenth of all work; it is asked only
        // where the error is.
        simdutf8::basic::from_utf8(payload)
        .or_else(|_| std::str::from_utf8(payload))
        .map_err(|error| Rejection::new(Reason::NotUtf8, error))?;
    // Deriving reads an array as the fields of a structure in order; no event is written so.
    if text.trim_start().starts_with('[') {
        return Err(Rejection::new(
            Reason::WrongType,
            "an array; an object is expected",
        ));
    }
    serde_json::from_str(text).map_err(|_| explain::<T>(text))
}

/// Reads `text` again, keeping track of where in the document the problem is.
#[cold]
fn explain<'a, T: Deserialize<'a>>(text: &'a str) -> Rejection {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) else {
        return Rejection::new(Reason::NotJson, "characters after the end of the event");
    };
    let path = error.path().to_string();
    // What has no path ends in a question mark; the whole document's is a dot.
    let path = path.trim_end_matches(['?', '.']);
    let inner = error.into_inner();
    // A record is a line of its own, whatever line of a file it stands on.
    let message = inner
        .to_string()
        .replace(" at line 1 column ", " at column ");
    let reason = match inner.classify() {
        serde_json::error::Category::Data if message.starts_with("missing field") => {
            Reason::MissingField
        }
        serde_json::error::Category::Data if message.starts_with("invalid type") => {
            Reason::WrongType
        }
        serde_json::error::Category::Data => Reason::BadValue,
        _ => Reason::NotJson,
    };
    if path.is_empty() {
        Rejection::new(reason, message)
    } else {
        Rejection::new(reason, format_args!("{path}: {message}"))
    }
}

fn missing(field: &str) -> Rejection {
    Rejection::new(
        Reason::MissingField,
        format_args!("missing field `{field}`"),
    )
}

fn bad(field: &str, expected: &str) -> Rejection {
    Rejection::new(Reason::BadValue, format_args!("{field}: {expected}"))
}

fn check_id(field: &str, id: &str) -> Result<(), Rejection> {
    if (1..=256).contains(&id.len()) {
        return Ok(());
    }
    Err(Rejection::new(
        Reason::BadValue,
        format_args!("{field}: 1 to 256 bytes are expected, it has {}", id.len()),
    ))
}

fn check_time(ts: EventTime) -> Result<(), Rejection> {
    if ts.0 < 0 {
        Err(bad("ts", "a time before 1970"))
    } else {
        Ok(())
    }
}

fn check_latency(field: &str, latency: Option<f64>) -> Result<(), Rejection> {
    match latency {
        Some(latency) if !(0.0..=LONGEST_MS).contains(&latency) => {
            Err(bad(field, "between 0 and 30 days is expected"))
        }
        _ => Ok(()),
    }
}

fn check_cost(field: &str, cost: Option<&Cost<'_>>) -> Result<(), Rejection> {
    let Some(cost) = cost else { return Ok(()) };
    if !(0.0..=1e9).contains(&cost.amount) {
        return Err(bad(field, "`amount` between 0 and 10^9 is expected"));
    }
    let code = cost.currency().as_bytes();
    if code.len() == 3 && code.iter().all(u8::is_ascii_uppercase) {
        return Ok(());
    }
    Err(bad(field, "`currency` is a code of three capital letters"))
}
