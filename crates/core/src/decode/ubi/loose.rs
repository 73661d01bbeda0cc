//! Lenient deserializers: a value of the expected type is read, any other value is ignored.
//!
//! The module knows types of values and the UBI notation of times, lists and attributes. It does
//! not know which record has which of them.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer};
use serde::de::{Deserializer, Error, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use crate::decode::action::FeedbackValue;
use crate::event::read::of_millis;
use crate::event::{Attributes, Experiment, Id, Text, Value};
use crate::time::{EventTime, TimeError};

/// Structure if the value is an object, otherwise a plain value.
pub(super) enum Loose<'a, T> {
    Object(T),
    /// Any other value.
    Plain(Value<'a>),
}

impl<T> Loose<'_, T> {
    /// Returns the object; `None` for a plain value.
    pub(super) fn object(self) -> Option<T> {
        match self {
            Self::Object(object) => Some(object),
            Self::Plain(_) => None,
        }
    }
}

struct LooseVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for LooseVisitor<T> {
    type Value = Loose<'de, T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Loose::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Loose::Plain(Value::Other))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Value::deserialize(BorrowedStrDeserializer::new(text)).map(Loose::Plain)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Loose::Plain(Value::Text(Text(Cow::Owned(text.to_owned())))))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Loose::Plain(Value::Bool(value)))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Loose::Plain(Value::Number(number)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Value::deserialize(number.into_deserializer()).map(Loose::Plain)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Value::deserialize(number.into_deserializer()).map(Loose::Plain)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Loose::Plain(Value::Other))
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Loose<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor(PhantomData))
    }
}

/// Ids of the served results, in served order. The plugin writes `null` for a result that lacks the
/// requested field; the result keeps its position, with an empty id.
pub(super) struct Ids<'a>(pub(super) Vec<Id<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Ids<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ids = Vec::<Option<Id<'a>>>::deserialize(deserializer)?;
        let ids = ids.into_iter();
        Ok(Self(
            ids.map(|id| id.unwrap_or(Id(Cow::Borrowed("")))).collect(),
        ))
    }
}

/// Attributes of a query: labels, some of which have a defined name.
#[derive(Default)]
pub(super) struct QueryAttributes<'a> {
    /// All attributes. An attribute that is not a scalar has no value.
    pub(super) labels: Attributes<'a>,
    /// Experiment: an object with `id` and `variant`, or an id.
    pub(super) experiment: Option<Experiment<'a>>,
}

impl<'a> QueryAttributes<'a> {
    fn get(&self, name: &str) -> Option<&Value<'a>> {
        let mut entries = self.labels.0.iter();
        entries
            .find(|(key, _)| &**key == name)
            .map(|(_, value)| value)
    }

    /// Returns the scalar under `name` as text, if present.
    pub(super) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        text(self.get(name)?)
    }

    /// Returns the number under `name`, if present.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        number(self.get(name))
    }
}

struct QueryAttributesVisitor;

impl<'de> Visitor<'de> for QueryAttributesVisitor {
    type Value = QueryAttributes<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut read = QueryAttributes::default();
        while let Some(name) = map.next_key::<Text<'de>>()? {
            let value: Loose<'de, QueryPart<'de>> = map.next_value()?;
            let is_experiment = &*name == "experiment";
            let value = match value {
                Loose::Object(part) => {
                    if is_experiment {
                        read.experiment = Some(Experiment {
                            id: part.id.as_ref().and_then(text).map(Id),
                            variant: part.variant.as_ref().and_then(text).map(Text),
                        });
                    }
                    Value::Other
                }
                Loose::Plain(value) => {
                    if is_experiment {
                        read.experiment = text(&value).map(|id| Experiment {
                            id: Some(Id(id)),
                            variant: None,
                        });
                    }
                    value
                }
            };
            read.labels.0.push((name, value));
        }
        Ok(read)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for QueryAttributes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(QueryAttributesVisitor)
    }
}

/// Object among the attributes of a query. Only that of the experiment is used.
#[derive(Deserialize)]
struct QueryPart<'a> {
    #[serde(borrow, default)]
    id: Option<Value<'a>>,
    #[serde(borrow, default)]
    variant: Option<Value<'a>>,
}

/// Returns a scalar as text, numbers in their shortest decimal form; `None` for empty text.
pub(super) fn text<'a>(value: &Value<'a>) -> Option<Cow<'a, str>> {
    match value {
        Value::Text(text) => (!text.is_empty()).then(|| text.0.clone()),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(truth) => Some(Cow::Borrowed(if *truth { "true" } else { "false" })),
        Value::Other => None,
    }
}

/// Returns a number, also one in quotes, because some producers write all attributes as text.
pub(super) fn number(value: Option<&Value<'_>>) -> Option<f64> {
    let number = match value? {
        Value::Number(number) => *number,
        Value::Text(text) => text.parse().ok()?,
        Value::Bool(_) | Value::Other => return None,
    };
    number.is_finite().then_some(number)
}

/// Returns an integer, also one in quotes.
pub(super) fn whole(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Text(text) => text.parse().ok(),
        // 3.0 is formatted as 3; a fraction does not parse as an integer.
        Value::Number(number) => number.to_string().parse().ok(),
        Value::Bool(_) | Value::Other => None,
    }
}

/// Returns the value of a thumbs, rating or judgment event.
pub(super) fn feedback_value(value: &Value<'_>) -> Option<FeedbackValue> {
    match value {
        Value::Bool(truth) => Some(FeedbackValue::Bool(*truth)),
        Value::Text(text) if &**text == "true" => Some(FeedbackValue::Bool(true)),
        Value::Text(text) if &**text == "false" => Some(FeedbackValue::Bool(false)),
        Value::Text(_) | Value::Number(_) => number(Some(value)).map(FeedbackValue::Number),
        Value::Other => None,
    }
}

struct TimeVisitor;

impl Visitor<'_> for TimeVisitor {
    type Value = EventTime;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an ISO 8601 time, or epoch milliseconds")
    }

    fn visit_i64<E: Error>(self, millis: i64) -> Result<EventTime, E> {
        of_millis(millis)
    }

    fn visit_u64<E: Error>(self, millis: u64) -> Result<EventTime, E> {
        let millis = i64::try_from(millis);
        of_millis(millis.map_err(|_| E::custom("the time is out of range"))?)
    }

    fn visit_f64<E: Error>(self, millis: f64) -> Result<EventTime, E> {
        let millis = whole(&Value::Number(millis))
            .ok_or_else(|| E::custom(format_args!("{millis} is not a number of milliseconds")));
        of_millis(millis?)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<EventTime, E> {
        if let Ok(millis) = text.parse() {
            return of_millis(millis);
        }
        let time = text.parse::<EventTime>().or_else(|error| match error {
            // A time without an offset is UTC.
            TimeError::NoOffset => format!("{text}Z").parse(),
            error => EventTime::of_date(text).ok_or(error),
        });
        time.map_err(E::custom)
    }
}

/// Reads a UBI time: ISO 8601, which is UTC without an offset, or milliseconds since the epoch,
/// also in quotes.
pub(super) fn optional_time<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<EventTime>, D::Error> {
    struct Time(EventTime);

    impl<'de> Deserialize<'de> for Time {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(TimeVisitor).map(Time)
        }
    }

    Ok(Option::<Time>::deserialize(deserializer)?.map(|Time(time)| time))
}
