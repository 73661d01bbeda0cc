//! Walk through the JSON form of an `ExportTraceServiceRequest`.
//!
//! Ids are hexadecimal or base64, 64-bit integers are decimal texts or numbers, names are in lower camel case,
//! and unknown members are ignored, as the OpenTelemetry protocol requires. Absent members, `null`,
//! empty texts and empty objects are default values.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use super::mapping::Mapping;
use super::span::{
    Attributes, EXCEPTION, EXCEPTION_TYPE, ExceptionType, Resource, STATUS_ERROR, Span, id,
};
use super::value::{Any, Raw, Room, Unreadable};
use crate::event::Text;
use crate::event::read::optional_objects;

/// Record of spans.
#[derive(Deserialize)]
pub(super) struct Traces<'a> {
    #[serde(borrow, default, rename = "resourceSpans", deserialize_with = "list")]
    resource_spans: Vec<ResourceSpans<'a>>,
}

#[derive(Deserialize)]
struct ResourceSpans<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    resource: ResourceWire<'a>,
    #[serde(borrow, default, rename = "scopeSpans", deserialize_with = "list")]
    scope_spans: Vec<ScopeSpans<'a>>,
}

#[derive(Default, Deserialize)]
struct ResourceWire<'a> {
    #[serde(borrow, default, deserialize_with = "list")]
    attributes: Vec<KeyValue<'a>>,
}

#[derive(Default, Deserialize)]
struct Scope<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    name: Text<'a>,
}

#[derive(Deserialize)]
struct ScopeSpans<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    scope: Scope<'a>,
    #[serde(borrow, default, deserialize_with = "list")]
    spans: Vec<SpanWire<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpanWire<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    trace_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    span_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    name: Text<'a>,
    #[serde(default)]
    start_time_unix_nano: Integer,
    #[serde(default)]
    end_time_unix_nano: Integer,
    #[serde(borrow, default, deserialize_with = "list")]
    attributes: Vec<KeyValue<'a>>,
    #[serde(default)]
    dropped_attributes_count: Integer,
    #[serde(borrow, default, deserialize_with = "list")]
    events: Vec<EventWire<'a>>,
    #[serde(default, deserialize_with = "or_default")]
    status: Status,
}

#[derive(Deserialize)]
struct EventWire<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    name: Text<'a>,
    #[serde(borrow, default, deserialize_with = "list")]
    attributes: Vec<KeyValue<'a>>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default, deserialize_with = "status_code")]
    code: u64,
}

/// Reads the code of a status: a number, or its name as the JSON mapping of Protocol Buffers writes it.
fn status_code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(StatusVisitor)
}

struct StatusVisitor;

impl<'de> Visitor<'de> for StatusVisitor {
    type Value = u64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a status code or its name, such as STATUS_CODE_OK")
    }

    fn visit_u64<E>(self, code: u64) -> Result<u64, E> {
        Ok(code)
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<u64, E> {
        match name {
            "" | "STATUS_CODE_UNSET" => Ok(0),
            "STATUS_CODE_OK" => Ok(1),
            "STATUS_CODE_ERROR" => Ok(STATUS_ERROR),
            number => number
                .parse()
                .map_err(|_| E::invalid_value(serde::de::Unexpected::Str(name), &self)),
        }
    }

    fn visit_unit<E>(self) -> Result<u64, E> {
        Ok(0)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<u64, A::Error> {
        IntegerVisitor.visit_map(map).map(|Integer(code)| code)
    }
}

/// Attribute whose value is decoded later.
#[derive(Deserialize)]
pub(super) struct KeyValue<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    key: Text<'a>,
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
}

impl<'a> KeyValue<'a> {
    pub(super) fn key(&self) -> Cow<'a, [u8]> {
        bytes(&self.key)
    }

    pub(super) fn value(&self) -> Raw<'a> {
        Raw::Json(self.value.map_or("null", RawValue::get))
    }
}

/// Returns the bytes of a text.
pub(super) fn bytes<'a>(text: &Text<'a>) -> Cow<'a, [u8]> {
    match &text.0 {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.clone().into_bytes()),
    }
}

/// Reads a value; the default for `null`.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads an array of objects; an empty one for `null`.
pub(super) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(optional_objects(deserializer)?.unwrap_or_default())
}

/// Unsigned integer: a number, a decimal text, or a default value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Integer(pub(super) u64);

struct IntegerVisitor;

impl<'de> Visitor<'de> for IntegerVisitor {
    type Value = Integer;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an unsigned integer or its decimal text")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Integer, E> {
        Ok(Integer(number))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Integer, E> {
        if text.is_empty() {
            return Ok(Integer(0));
        }
        let number = text.parse().map(Integer);
        number.map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }

    fn visit_unit<E>(self) -> Result<Integer, E> {
        Ok(Integer(0))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Integer, A::Error> {
        match map.next_key::<IgnoredAny>()? {
            None => Ok(Integer(0)),
            Some(_) => Err(A::Error::invalid_type(serde::de::Unexpected::Map, &self)),
        }
    }
}

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntegerVisitor)
    }
}

/// Decodes an id of `N` bytes: hexadecimal in either case, or the base64 of the JSON mapping of Protocol
/// Buffers. Its padding tells it from hexadecimal digits of another length.
pub(super) fn id_of_text<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() == 2 * N {
        hex_id(text)
    } else {
        base64_id(text)
    }
}

fn base64_id<const N: usize>(text: &str) -> Option<[u8; N]> {
    let decoded = STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text));
    let bytes: [u8; N] = decoded.ok()?.try_into().ok()?;
    id(&bytes)
}

fn hex_id<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|it| u8::try_from(it).ok())
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    id(&bytes)
}

impl<'a> Traces<'a> {
    /// Number of spans.
    pub(super) fn len(&self) -> usize {
        let scopes = self.resource_spans.iter().flat_map(|it| &it.scope_spans);
        scopes.map(|scope| scope.spans.len()).sum()
    }

    /// Calls `visit` for each span, with its attributes and its resource.
    pub(super) fn walk(
        &self,
        mapping: &Mapping,
        visit: &mut dyn FnMut(&Span<'a>, &mut Attributes<'a>, &Resource<'a>),
    ) {
        let mut attributes = Attributes::new(mapping);
        for spans in &self.resource_spans {
            let mut resource = Resource::new(mapping);
            for attribute in &spans.resource.attributes {
                resource.add(attribute.key.as_bytes(), attribute.value(), mapping);
            }
            let is_selected = mapping.selects_resource(&resource);
            for scope in &spans.scope_spans {
                resource.is_selected =
                    is_selected && mapping.selects_scope(scope.scope.name.as_bytes());
                for wire in &scope.spans {
                    attributes.clear();
                    for attribute in &wire.attributes {
                        attributes.add(attribute.key.as_bytes(), attribute.value(), mapping);
                    }
                    visit(&wire.span(), &mut attributes, &resource);
                }
            }
        }
    }
}

impl<'a> SpanWire<'a> {
    fn span(&self) -> Span<'a> {
        let exception = self.events.iter().rev().find_map(|event| {
            let mut attributes = event.attributes.iter().rev();
            let found = attributes.find(|attribute| &*attribute.key == EXCEPTION_TYPE)?;
            (&*event.name == EXCEPTION).then(|| found.value())
        });
        Span {
            trace_id: id_of_text(&self.trace_id),
            span_id: id_of_text(&self.span_id),
            name: bytes(&self.name),
            start: self.start_time_unix_nano.0,
            end: self.end_time_unix_nano.0,
            dropped: self.dropped_attributes_count.0,
            is_error: self.status.code == STATUS_ERROR,
            exception: exception.map_or(ExceptionType::Absent, ExceptionType::Value),
        }
    }
}

/// Decodes the JSON form of an `AnyValue`.
///
/// # Errors
/// It is not one, or it has no room.
pub(super) fn any<'a>(text: &'a str, room: Room<'_>) -> Result<Any<'a>, Unreadable> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = AnyValue(room).deserialize(&mut deserializer);
    value.map_err(|error| Unreadable::Json(error.to_string()))
}

/// Reader of an `AnyValue`.
#[derive(Clone, Copy)]
struct AnyValue<'c>(Room<'c>);

impl<'de> DeserializeSeed<'de> for AnyValue<'_> {
    type Value = Any<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Any<'de>, D::Error> {
        self.0.take().map_err(D::Error::custom)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue<'_> {
    type Value = Any<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object such as {\"stringValue\": …}")
    }

    fn visit_unit<E>(self) -> Result<Any<'de>, E> {
        Ok(Any::Empty)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Any<'de>, E> {
        if text.is_empty() {
            return Ok(Any::Empty);
        }
        Err(E::invalid_type(serde::de::Unexpected::Str(text), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Any<'de>, A::Error> {
        let mut value = Any::Empty;
        while let Some(Text(key)) = map.next_key()? {
            value = match &*key {
                "stringValue" => Any::Text(map.next_value::<Text<'_>>()?.0),
                "boolValue" => Any::Bool(map.next_value()?),
                "intValue" => Any::Int(map.next_value::<Signed>()?.0),
                "doubleValue" => Any::Double(map.next_value::<Real>()?.0),
                "arrayValue" => map.next_value_seed(Values(ArrayOf(self.0.inside())))?,
                "kvlistValue" => map.next_value_seed(Values(MapOf(self.0.inside())))?,
                "bytesValue" => {
                    map.next_value::<Text<'_>>()?;
                    Any::Bytes
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    value
                }
            };
        }
        Ok(value)
    }
}

/// Signed integer: a number or a decimal text.
struct Signed(i64);

impl<'de> Deserialize<'de> for Signed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar(deserializer, "an integer or its decimal text").map(Self)
    }
}

/// Number, or its text: `NaN` and infinities have no JSON number.
struct Real(f64);

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar(deserializer, "a number or its text").map(Self)
    }
}

/// Number that can be written as a text.
trait Scalar: std::str::FromStr {
    fn of_i64(number: i64) -> Option<Self>;
    fn of_f64(number: f64) -> Option<Self>;
}

impl Scalar for i64 {
    fn of_i64(number: i64) -> Option<Self> {
        Some(number)
    }

    fn of_f64(_: f64) -> Option<Self> {
        None
    }
}

impl Scalar for f64 {
    #[allow(
        clippy::cast_precision_loss,
        reason = "a number that is written without a fraction"
    )]
    fn of_i64(number: i64) -> Option<Self> {
        Some(number as f64)
    }

    fn of_f64(number: f64) -> Option<Self> {
        Some(number)
    }
}

fn scalar<'de, D: Deserializer<'de>, T: Scalar>(
    deserializer: D,
    expected: &'static str,
) -> Result<T, D::Error> {
    struct ScalarVisitor<T>(&'static str, PhantomData<T>);

    impl<T: Scalar> Visitor<'_> for ScalarVisitor<T> {
        type Value = T;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str(self.0)
        }

        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
            let unexpected = serde::de::Unexpected::Signed(number);
            T::of_i64(number).ok_or_else(|| E::invalid_value(unexpected, &self))
        }

        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
            let unexpected = serde::de::Unexpected::Unsigned(number);
            let value = i64::try_from(number).ok().and_then(T::of_i64);
            value.ok_or_else(|| E::invalid_value(unexpected, &self))
        }

        fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
            let unexpected = serde::de::Unexpected::Float(number);
            T::of_f64(number).ok_or_else(|| E::invalid_value(unexpected, &self))
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            let unexpected = serde::de::Unexpected::Str(text);
            let value = if text.is_empty() {
                T::of_i64(0)
            } else {
                text.parse().ok()
            };
            value.ok_or_else(|| E::invalid_value(unexpected, &self))
        }
    }

    deserializer.deserialize_any(ScalarVisitor(expected, PhantomData))
}

/// Reader of the elements of an array or of an object.
trait Elements<'de>: Copy {
    type List: Default;

    fn read<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::List, A::Error>;
    fn value(list: Self::List) -> Any<'de>;
}

#[derive(Clone, Copy)]
struct ArrayOf<'c>(Room<'c>);

impl<'de> Elements<'de> for ArrayOf<'_> {
    type List = Vec<Any<'de>>;

    fn read<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::List, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element_seed(AnyValue(self.0))? {
            list.push(value);
        }
        Ok(list)
    }

    fn value(list: Self::List) -> Any<'de> {
        Any::List(list)
    }
}

#[derive(Clone, Copy)]
struct MapOf<'c>(Room<'c>);

impl<'de> Elements<'de> for MapOf<'_> {
    type List = Vec<(Cow<'de, str>, Any<'de>)>;

    fn read<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::List, A::Error> {
        let mut list = Vec::new();
        while let Some(member) = seq.next_element_seed(Member(self.0))? {
            list.push(member);
        }
        Ok(list)
    }

    fn value(list: Self::List) -> Any<'de> {
        Any::Map(list)
    }
}

/// Reader of `{"values": […]}`.
struct Values<E>(E);

impl<'de, E: Elements<'de>> DeserializeSeed<'de> for Values<E> {
    type Value = Any<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Any<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, E: Elements<'de>> Visitor<'de> for Values<E> {
    type Value = Any<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object such as {\"values\": […]}")
    }

    fn visit_unit<X>(self) -> Result<Any<'de>, X> {
        Ok(E::value(E::List::default()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Any<'de>, A::Error> {
        let mut list = E::List::default();
        while let Some(Text(key)) = map.next_key()? {
            if key == "values" {
                list = map.next_value_seed(Sequence(self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(E::value(list))
    }
}

/// Reader of an array of elements; an empty one for `null`.
struct Sequence<E>(E);

impl<'de, E: Elements<'de>> DeserializeSeed<'de> for Sequence<E> {
    type Value = E::List;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<E::List, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, E: Elements<'de>> Visitor<'de> for Sequence<E> {
    type Value = E::List;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_unit<X>(self) -> Result<E::List, X> {
        Ok(E::List::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<E::List, A::Error> {
        self.0.read(seq)
    }
}

/// Reader of `{"key": …, "value": …}`.
struct Member<'c>(Room<'c>);

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = (Cow<'de, str>, Any<'de>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = (Cow<'de, str>, Any<'de>);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with a key and a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut member = (Cow::Borrowed(""), Any::Empty);
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "key" => member.0 = map.next_value::<Text<'_>>()?.0,
                "value" => member.1 = map.next_value_seed(AnyValue(self.0))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(member)
    }
}
