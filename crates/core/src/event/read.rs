//! Deserializers of event values. A value is borrowed from the record where possible, and rejected
//! with an explanation if it has the wrong type.
//!
//! The module knows types of values, but not which event has which of them.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};

use serde_json::value::RawValue;

use super::text::{Attributes, Id, Text, Value};
use crate::time::EventTime;

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text))
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(match simdutf8::basic::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(without_lone_surrogates(bytes)),
        })
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(without_lone_surrogates(bytes)))
    }
}

/// Text of a JSON string. JavaScript cuts strings within a character and writes half of it as an escape,
/// which is no character: it becomes U+FFFD.
fn without_lone_surrogates(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        // serde_json writes half a character as three bytes; the first of them is 0xED.
        let is_first = chunk.invalid().first() == Some(&0xed);
        if is_first {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    text
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As bytes, half a character is no error.
        deserializer.deserialize_bytes(TextVisitor).map(Text)
    }
}

/// Visitor of any value: true unless it is null, `false` or empty.
struct IsSetVisitor;

impl<'de> Visitor<'de> for IsSetVisitor {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<bool, E> {
        Ok(flag)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_str<E>(self, text: &str) -> Result<bool, E> {
        Ok(!text.is_empty())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<bool, A::Error> {
        let mut has_elements = false;
        while elements.next_element::<IgnoredAny>()?.is_some() {
            has_elements = true;
        }
        Ok(has_elements)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<bool, A::Error> {
        let mut has_members = false;
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            has_members = true;
        }
        Ok(has_members)
    }
}

/// Returns true for any value but null, `false`, and an empty text, list or object.
pub(super) fn is_set<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    deserializer.deserialize_any(IsSetVisitor)
}

/// Text that stands for a value of another type.
pub(crate) const OTHER: &str = "__other__";

/// A text, or null. [`OTHER`] stands for a value of any other type.
pub(super) fn text_or_other<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Text<'a>>, D::Error> {
    struct TextOrOther<'a>(PhantomData<&'a str>);

    impl<'de: 'a, 'a> Visitor<'de> for TextOrOther<'a> {
        type Value = Option<Text<'a>>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("any value")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
            Ok(Some(Text(Cow::Borrowed(text))))
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some(Text(Cow::Owned(text.to_owned()))))
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Some(other()))
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Some(other()))
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Some(other()))
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Some(other()))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<Self::Value, A::Error> {
            IgnoredAny.visit_seq(elements)?;
            Ok(Some(other()))
        }

        fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
            IgnoredAny.visit_map(members)?;
            Ok(Some(other()))
        }
    }

    fn other<'a>() -> Text<'a> {
        Text(Cow::Borrowed(OTHER))
    }

    deserializer.deserialize_any(TextOrOther(PhantomData))
}

struct IdVisitor;

impl<'de> Visitor<'de> for IdVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string or an integer")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Id<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor).map(Id)
    }
}

/// Beginning of the message for a time in seconds.
pub(crate) const TIME_IN_SECONDS: &str = "a time in seconds";

/// Numbers that are times in seconds, of the years 1973 to 2286. In milliseconds, they are times of
/// January to April 1970.
const SECONDS: Range<i64> = 100_000_000..10_000_000_000;

/// The same with fractions.
const SECONDS_AS_NUMBERS: Range<f64> = 100_000_000.0..10_000_000_000.0;

/// Numbers from here are times in microseconds, from the year 1973 on. In milliseconds, they are times from
/// the year 5138 on.
const MICROSECONDS: i64 = 100_000_000_000_000;

/// Numbers from here are times in nanoseconds, from the year 1973 on.
const NANOSECONDS: i64 = 100_000_000_000_000_000;

/// Converts milliseconds to a time, and rejects numbers of other units.
pub(crate) fn of_millis<E: Error>(millis: i64) -> Result<EventTime, E> {
    if SECONDS.contains(&millis) {
        return Err(in_seconds());
    }
    if let Some(steps) = steps_to_unit(millis) {
        let unit = if steps == 1 {
            "microseconds"
        } else {
            "nanoseconds"
        };
        return Err(E::custom(format_args!(
            "a time in {unit}; send milliseconds since 1970-01-01T00:00:00Z, or ISO 8601 with an offset"
        )));
    }
    Ok(EventTime(millis))
}

/// Number of steps, each to a thousandth, from milliseconds to the unit of a number that is too large for a
/// time in milliseconds.
pub(crate) fn steps_to_unit(millis: i64) -> Option<usize> {
    match millis {
        ..MICROSECONDS => None,
        MICROSECONDS..NANOSECONDS => Some(1),
        NANOSECONDS.. => Some(2),
    }
}

fn in_seconds<E: Error>() -> E {
    E::custom(format_args!(
        "{TIME_IN_SECONDS}; send milliseconds since 1970-01-01T00:00:00Z, or ISO 8601 with an offset"
    ))
}

struct TimeVisitor;

impl Visitor<'_> for TimeVisitor {
    type Value = EventTime;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an ISO 8601 time with an offset, or epoch milliseconds")
    }

    fn visit_i64<E: Error>(self, millis: i64) -> Result<EventTime, E> {
        of_millis(millis)
    }

    fn visit_u64<E: Error>(self, millis: u64) -> Result<EventTime, E> {
        let millis = i64::try_from(millis);
        of_millis(millis.map_err(|_| E::custom("the time is out of range"))?)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<EventTime, E> {
        // `time.time()` of Python, for example.
        if SECONDS_AS_NUMBERS.contains(&number) {
            return Err(in_seconds());
        }
        Err(E::invalid_type(Unexpected::Float(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<EventTime, E> {
        text.parse().map_err(E::custom)
    }
}

/// Reads an event time: milliseconds since the epoch, or a text with an offset.
///
/// # Errors
/// Another value, a number of seconds, microseconds or nanoseconds, or a text without an offset.
pub fn deserialize_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EventTime, D::Error> {
    deserializer.deserialize_any(TimeVisitor)
}

/// Structure that is read only from an object. A derived `Deserialize` accepts an array as well, as
/// the structure's fields in order. No event has that form.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// Reads an array of objects.
pub(super) fn objects<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct ObjectsVisitor<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectsVisitor<T> {
        type Value = Vec<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an array of objects")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            // A page of results. Growing step by step would copy the first ones several times.
            let mut list = Vec::with_capacity(if size_of::<T>() > 128 { 12 } else { 4 });
            while let Some(Object(element)) = seq.next_element()? {
                list.push(element);
            }
            Ok(list)
        }
    }

    deserializer.deserialize_seq(ObjectsVisitor(PhantomData))
}

/// List of objects, for [`optional_objects`].
struct Objects<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Objects<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        objects(deserializer).map(Self)
    }
}

/// Reads an optional array of objects.
pub(crate) fn optional_objects<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let list = Option::<Objects<T>>::deserialize(deserializer)?;
    Ok(list.map(|Objects(list)| list))
}

/// Reads an optional object.
pub(crate) fn optional_object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let object = Option::<Object<T>>::deserialize(deserializer)?;
    Ok(object.map(|Object(object)| object))
}

/// Reads an optional object into memory of its own.
pub(crate) fn optional_boxed_object<'de, D, T>(deserializer: D) -> Result<Option<Box<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(optional_object(deserializer)?.map(Box::new))
}

/// Value of a component: true or false.
struct Flag<'a>(Value<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Flag<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bool::deserialize(deserializer).map(|flag| Self(Value::Bool(flag)))
    }
}

impl<'a> From<Flag<'a>> for Value<'a> {
    fn from(flag: Flag<'a>) -> Self {
        flag.0
    }
}

/// Value of a label: a string, a number or a boolean.
struct Scalar<'a>(Value<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Other => Err(D::Error::invalid_type(
                Unexpected::Other("null, an array or an object"),
                &"a string, a number or a boolean",
            )),
            value => Ok(Self(value)),
        }
    }
}

impl<'a> From<Scalar<'a>> for Value<'a> {
    fn from(scalar: Scalar<'a>) -> Self {
        scalar.0
    }
}

/// Optional object whose values are all of the type `V`.
struct Entries<'a, V>(Attributes<'a>, PhantomData<V>);

impl<'de: 'a, 'a, V> Deserialize<'de> for Entries<'a, V>
where
    V: Deserialize<'de> + Into<Value<'a>>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<'a, V>(PhantomData<(&'a (), V)>);

        impl<'de: 'a, 'a, V> Visitor<'de> for EntriesVisitor<'a, V>
        where
            V: Deserialize<'de> + Into<Value<'a>>,
        {
            type Value = Entries<'a, V>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::with_capacity(4);
                while let Some((name, value)) = map.next_entry::<Text<'de>, V>()? {
                    entries.push((name, value.into()));
                }
                Ok(Entries(Attributes(entries), PhantomData))
            }
        }

        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

/// Reads an optional object of booleans.
pub(super) fn flags<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Attributes<'a>>, D::Error> {
    let entries = Option::<Entries<'a, Flag<'a>>>::deserialize(deserializer)?;
    Ok(entries.map(|Entries(attributes, _)| attributes))
}

/// Reads an optional object of strings, numbers and booleans.
pub(super) fn labels<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Attributes<'a>>, D::Error> {
    let entries = Option::<Entries<'a, Scalar<'a>>>::deserialize(deserializer)?;
    Ok(entries.map(|Entries(attributes, _)| attributes))
}

impl<'de: 'a, 'a> Deserialize<'de> for Attributes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Entries::<'a, Value<'a>>::deserialize(deserializer)?;
        Ok(entries.0)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Value::Text(Text(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value::Text(Text(Cow::Owned(text.to_owned()))))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Value::Text(Text(Cow::Owned(number.to_string()))))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Value::Text(Text(Cow::Owned(number.to_string()))))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Value::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Other)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Value<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

/// Value of an attribute as JSON text has it, in whose texts half a character is no error.
struct JsonValue<'a>(Value<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for JsonValue<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        let value = if raw.starts_with('"') {
            serde_json::from_str(raw).map(Value::Text)
        } else {
            serde_json::from_str(raw)
        };
        value.map(Self).map_err(Error::custom)
    }
}

impl<'a> From<JsonValue<'a>> for Value<'a> {
    fn from(value: JsonValue<'a>) -> Self {
        value.0
    }
}

/// Reads an optional object of values of JSON text.
pub(crate) fn attributes<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Attributes<'a>>, D::Error> {
    let entries = Option::<Entries<'a, JsonValue<'a>>>::deserialize(deserializer)?;
    Ok(entries.map(|Entries(attributes, _)| attributes))
}
