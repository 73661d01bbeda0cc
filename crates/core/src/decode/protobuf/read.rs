//! Reader of messages, as a deserializer that the walk along a mapping drives.
//!
//! Fields can come in any order, and the elements of a repeated field with others between them. A visitor
//! receives each field once, with all its elements; of a field that is not repeated, every value.

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer, UnitDeserializer};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use smallvec::SmallVec;

use super::descriptor::int32;
use super::file::Scalar;
use super::schema::{Field, Message, Schema, Shape, Type};
use crate::decode::binary::{Broken, MAX_DEPTH, Work, text};
use crate::decode::wire::{Field as Wire, Fields};

/// Suffix of the name that the first value of an enum has by convention if it stands for none.
const UNSPECIFIED: &str = "UNSPECIFIED";

/// Reads a message along `seed`.
///
/// # Errors
/// The bytes are no such message, or the seed stops the read.
pub(in crate::decode) fn read<'a, S: DeserializeSeed<'a, Value = ()>>(
    schema: &'a Schema,
    message: usize,
    bytes: &'a [u8],
    seed: S,
) -> Result<(), Broken> {
    let mut work = Work::of(bytes.len());
    seed.deserialize(Content {
        cx: Cx {
            schema,
            work: &mut work,
            depth: 0,
        },
        of: Type::Message(message),
        wire: Wire::Bytes(bytes),
    })
}

/// Schema, and the bounds of the read.
struct Cx<'r, 'a> {
    schema: &'a Schema,
    work: &'r mut Work,
    depth: u32,
}

impl<'a> Cx<'_, 'a> {
    fn message(&self, place: usize) -> Result<&'a Message, Broken> {
        let message = self.schema.messages.get(place);
        message.ok_or(Broken::new("a message that the schema does not have"))
    }

    fn reborrow(&mut self) -> Cx<'_, 'a> {
        Cx {
            schema: self.schema,
            work: &mut *self.work,
            depth: self.depth,
        }
    }

    fn symbol<V: Visitor<'a>>(
        &self,
        place: usize,
        number: i32,
        visitor: V,
    ) -> Result<V::Value, Broken> {
        let names = self.schema.enums.get(place);
        let names = names.map(Vec::as_slice).unwrap_or_default();
        match names.iter().find(|(known, _)| *known == number) {
            Some((0, name)) if name.ends_with(UNSPECIFIED) => visitor.visit_unit(),
            Some((_, name)) => visitor.visit_borrowed_str(name),
            None => visitor.visit_i64(number.into()),
        }
    }
}

/// Value of a field.
struct Content<'r, 'a> {
    cx: Cx<'r, 'a>,
    of: Type,
    wire: Wire<'a>,
}

const OTHER_TYPE: Broken = Broken::new("a field has another type than in the schema");

#[allow(clippy::cast_possible_truncation, reason = "numbers of 32 bits")]
fn uint32(number: u64) -> u32 {
    number as u32
}

fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ (number & 1).cast_signed().wrapping_neg()
}

fn scalar<'a, V: Visitor<'a>>(of: Scalar, wire: Wire<'a>, visitor: V) -> Result<V::Value, Broken> {
    match (of, wire) {
        (Scalar::Text, Wire::Bytes(bytes)) => visitor.visit_borrowed_str(text(bytes)?),
        (Scalar::Bytes, Wire::Bytes(bytes)) => visitor.visit_bytes(bytes),
        (Scalar::Int32, Wire::Varint(number)) => visitor.visit_i64(int32(number).into()),
        (Scalar::Uint64, Wire::Varint(number)) | (Scalar::Fixed64, Wire::Fixed64(number)) => {
            visitor.visit_u64(number)
        }
        (Scalar::Uint32, Wire::Varint(number)) => visitor.visit_u64(uint32(number).into()),
        (Scalar::Sint32 | Scalar::Sint64, Wire::Varint(number)) => {
            visitor.visit_i64(zigzag(number))
        }
        (Scalar::Fixed32, Wire::Fixed32(number)) => visitor.visit_u64(number.into()),
        (Scalar::Sfixed32, Wire::Fixed32(number)) => visitor.visit_i64(number.cast_signed().into()),
        (Scalar::Int64, Wire::Varint(number)) | (Scalar::Sfixed64, Wire::Fixed64(number)) => {
            visitor.visit_i64(number.cast_signed())
        }
        (Scalar::Double, Wire::Fixed64(bits)) => visitor.visit_f64(f64::from_bits(bits)),
        (Scalar::Float, Wire::Fixed32(bits)) => visitor.visit_f64(f32::from_bits(bits).into()),
        (Scalar::Bool, Wire::Varint(truth)) => visitor.visit_bool(truth != 0),
        _ => Err(OTHER_TYPE),
    }
}

impl<'a> Deserializer<'a> for Content<'_, 'a> {
    type Error = Broken;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Broken> {
        let Self { mut cx, of, wire } = self;
        cx.work.take()?;
        match (of, wire) {
            (Type::Scalar(of), wire) => scalar(of, wire, visitor),
            (Type::Enum(place), Wire::Varint(number)) => cx.symbol(place, int32(number), visitor),
            (Type::Message(place), Wire::Bytes(bytes)) => {
                cx.depth += 1;
                if cx.depth > MAX_DEPTH {
                    return Err(Broken::new("messages are nested too deeply"));
                }
                let message = cx.message(place)?;
                match message.shape {
                    Shape::Plain => visitor.visit_map(Members::new(cx, message, bytes)),
                    Shape::Timestamp => timestamp(bytes, visitor),
                    Shape::First => first(cx, message, bytes, visitor),
                    Shape::Any => set(cx, message, bytes, visitor),
                }
            }
            (Type::Group, _) | (_, Wire::Skipped) => visitor.visit_unit(),
            _ => Err(OTHER_TYPE),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Broken> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}

/// Time in milliseconds.
fn timestamp<'a, V: Visitor<'a>>(bytes: &'a [u8], visitor: V) -> Result<V::Value, Broken> {
    let (mut seconds, mut nanos) = (0, 0);
    let mut fields = Fields::of(bytes);
    while let Some((number, wire)) = fields.next()? {
        match number {
            1 => seconds = wire.varint(number)?.cast_signed(),
            2 => nanos = int32(wire.varint(number)?),
            _ => {}
        }
    }
    visitor.visit_i128(i128::from(seconds) * 1_000 + i128::from(nanos.div_euclid(1_000_000)))
}

/// Value of the first field of a message; its default if it is missing.
fn first<'a, V: Visitor<'a>>(
    mut cx: Cx<'_, 'a>,
    message: &'a Message,
    bytes: &'a [u8],
    visitor: V,
) -> Result<V::Value, Broken> {
    let Some(field) = message.fields.first() else {
        return visitor.visit_unit();
    };
    let mut fields = Fields::of(bytes);
    while let Some((number, wire)) = fields.next()? {
        if number == field.number {
            let rest = fields;
            return one(cx, field, wire, rest, visitor);
        }
    }
    match field.of {
        Type::Scalar(Scalar::Text) => visitor.visit_borrowed_str(""),
        Type::Map(_) => visitor.visit_map(Repeated::new(cx, field, None, fields)),
        _ if field.is_repeated => visitor.visit_seq(Repeated::new(cx, field, None, fields)),
        of => default(&mut cx, of, visitor),
    }
}

/// Value of the field that a message has.
fn set<'a, V: Visitor<'a>>(
    cx: Cx<'_, 'a>,
    message: &'a Message,
    bytes: &'a [u8],
    visitor: V,
) -> Result<V::Value, Broken> {
    let mut fields = Fields::of(bytes);
    while let Some((number, wire)) = fields.next()? {
        let field = message.fields.iter().find(|it| it.number == number);
        match field {
            // Null.
            Some(field) if matches!(field.of, Type::Enum(_)) => break,
            Some(field) => return one(cx, field, wire, fields, visitor),
            None => {}
        }
    }
    visitor.visit_unit()
}

/// Value of a field whose first value was read.
fn one<'a, V: Visitor<'a>>(
    cx: Cx<'_, 'a>,
    field: &'a Field,
    wire: Wire<'a>,
    rest: Fields<'a>,
    visitor: V,
) -> Result<V::Value, Broken> {
    match field.of {
        Type::Map(_) => visitor.visit_map(Repeated::new(cx, field, Some(wire), rest)),
        _ if field.is_repeated => visitor.visit_seq(Repeated::new(cx, field, Some(wire), rest)),
        of => Content { cx, of, wire }.deserialize_any(visitor),
    }
}

/// Default of a type.
fn default<'a, V: Visitor<'a>>(
    cx: &mut Cx<'_, 'a>,
    of: Type,
    visitor: V,
) -> Result<V::Value, Broken> {
    match of {
        Type::Scalar(Scalar::Bool) => visitor.visit_bool(false),
        // A number that can be 0 or none.
        Type::Scalar(_) => visitor.visit_u128(0),
        Type::Enum(place) => cx.symbol(place, 0, visitor),
        Type::Message(_) | Type::Map(_) | Type::Group => visitor.visit_unit(),
    }
}

/// Members of a message.
struct Members<'r, 'a> {
    cx: Cx<'r, 'a>,
    message: &'a Message,
    fields: Fields<'a>,
    /// Field that is read next, with its value; `None` for a default.
    next: Option<(&'a Field, Option<Wire<'a>>)>,
    /// Fields that were read, by place: a bit each.
    seen: SmallVec<[u64; 2]>,
    /// Place of the next field whose default is read, after the last field.
    missing: Option<usize>,
}

impl<'r, 'a> Members<'r, 'a> {
    fn new(cx: Cx<'r, 'a>, message: &'a Message, bytes: &'a [u8]) -> Self {
        Self {
            cx,
            message,
            fields: Fields::of(bytes),
            next: None,
            seen: SmallVec::from_elem(0, message.fields.len().div_ceil(64)),
            missing: None,
        }
    }

    fn find(&self, number: u32) -> Option<(usize, &'a Field)> {
        let fields = &self.message.fields;
        // Most messages number their fields from 1 without gaps.
        let guess = usize::try_from(number)
            .unwrap_or(usize::MAX)
            .wrapping_sub(1);
        if let Some(field) = fields.get(guess)
            && field.number == number
        {
            return Some((guess, field));
        }
        let place = fields
            .binary_search_by_key(&number, |field| field.number)
            .ok()?;
        Some((place, fields.get(place)?))
    }

    /// Notes a field. Returns true if it was read before.
    fn note(&mut self, place: usize) -> bool {
        let Some(bits) = self.seen.get_mut(place / 64) else {
            return false;
        };
        let bit = 1 << (place % 64);
        let is_seen = *bits & bit != 0;
        *bits |= bit;
        is_seen
    }

    /// Next field with its value; after the last one, the fields that are missing and have a default.
    fn advance(&mut self) -> Result<Option<(&'a Field, Option<Wire<'a>>)>, Broken> {
        let mut place = if let Some(place) = self.missing {
            place
        } else {
            while let Some((number, wire)) = self.fields.next()? {
                let Some((place, field)) = self.find(number) else {
                    continue;
                };
                if self.note(place) && field.is_repeated {
                    continue;
                }
                return Ok(Some((field, Some(wire))));
            }
            if self.message.has_defaults {
                0
            } else {
                self.message.fields.len()
            }
        };
        let found = loop {
            let Some(field) = self.message.fields.get(place) else {
                break None;
            };
            self.cx.work.take()?;
            place += 1;
            if field.has_default && !self.note(place - 1) {
                break Some((field, None));
            }
        };
        self.missing = Some(place);
        Ok(found)
    }
}

impl<'a> MapAccess<'a> for Members<'_, 'a> {
    type Error = Broken;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Broken> {
        self.next = self.advance()?;
        let Some((field, _)) = self.next else {
            return Ok(None);
        };
        seed.deserialize(BorrowedStrDeserializer::new(&field.name))
            .map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Broken> {
        let Some((field, wire)) = self.next.take() else {
            return Err(Broken::new("a value without its field"));
        };
        seed.deserialize(MemberValue {
            cx: self.cx.reborrow(),
            field,
            wire,
            rest: self.fields,
        })
    }
}

/// Value of a member, with the rest of its message.
struct MemberValue<'r, 'a> {
    cx: Cx<'r, 'a>,
    field: &'a Field,
    wire: Option<Wire<'a>>,
    rest: Fields<'a>,
}

impl<'a> Deserializer<'a> for MemberValue<'_, 'a> {
    type Error = Broken;

    fn deserialize_any<V: Visitor<'a>>(mut self, visitor: V) -> Result<V::Value, Broken> {
        match self.wire {
            Some(wire) => one(self.cx, self.field, wire, self.rest, visitor),
            None if self.field.is_repeated => {
                let none = Fields::of(&[]);
                visitor.visit_seq(Repeated::new(self.cx, self.field, None, none))
            }
            None => default(&mut self.cx, self.field.of, visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Broken> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}

/// Elements of a repeated field, or entries of a map: in the rest of a message.
struct Repeated<'r, 'a> {
    cx: Cx<'r, 'a>,
    field: &'a Field,
    first: Option<Wire<'a>>,
    rest: Fields<'a>,
    /// Numbers that one value holds.
    packed: Fields<'a>,
    /// Value of the entry that is read next.
    value: Option<(Type, Wire<'a>)>,
}

impl<'r, 'a> Repeated<'r, 'a> {
    fn new(cx: Cx<'r, 'a>, field: &'a Field, first: Option<Wire<'a>>, rest: Fields<'a>) -> Self {
        Self {
            cx,
            field,
            first,
            rest,
            packed: Fields::of(&[]),
            value: None,
        }
    }

    /// Next number of a packed value.
    fn packed(&mut self) -> Result<Wire<'a>, Broken> {
        use Scalar as S;
        Ok(match self.field.of {
            Type::Scalar(S::Double | S::Fixed64 | S::Sfixed64) => {
                Wire::Fixed64(u64::from_le_bytes(*self.packed.take_array()?))
            }
            Type::Scalar(S::Float | S::Fixed32 | S::Sfixed32) => {
                Wire::Fixed32(u32::from_le_bytes(*self.packed.take_array()?))
            }
            _ => Wire::Varint(self.packed.varint()?),
        })
    }

    fn advance(&mut self) -> Result<Option<Wire<'a>>, Broken> {
        let is_packable = match self.field.of {
            Type::Scalar(Scalar::Text | Scalar::Bytes)
            | Type::Message(_)
            | Type::Map(_)
            | Type::Group => false,
            Type::Scalar(_) | Type::Enum(_) => true,
        };
        loop {
            if !self.packed.rest().is_empty() {
                return self.packed().map(Some);
            }
            let wire = match self.first.take() {
                Some(wire) => wire,
                None => loop {
                    match self.rest.next()? {
                        None => return Ok(None),
                        Some((number, wire)) if number == self.field.number => break wire,
                        Some(_) => {}
                    }
                },
            };
            match wire {
                Wire::Bytes(bytes) if is_packable => self.packed = Fields::of(bytes),
                wire => return Ok(Some(wire)),
            }
        }
    }
}

impl<'a> SeqAccess<'a> for Repeated<'_, 'a> {
    type Error = Broken;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Broken> {
        let Some(wire) = self.advance()? else {
            return Ok(None);
        };
        let of = self.field.of;
        let cx = self.cx.reborrow();
        seed.deserialize(Content { cx, of, wire }).map(Some)
    }
}

impl<'a> MapAccess<'a> for Repeated<'_, 'a> {
    type Error = Broken;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Broken> {
        let (Type::Map(entry), Some(wire)) = (self.field.of, self.advance()?) else {
            return Ok(None);
        };
        self.cx.work.take()?;
        let Wire::Bytes(bytes) = wire else {
            return Err(OTHER_TYPE);
        };
        let entry = self.cx.message(entry)?;
        let [key_field, value_field, ..] = entry.fields.as_slice() else {
            return Err(OTHER_TYPE);
        };
        let (mut key, mut value) = (None, None);
        let mut fields = Fields::of(bytes);
        while let Some((number, wire)) = fields.next()? {
            match number {
                1 => key = Some(wire),
                2 => value = Some(wire),
                _ => {}
            }
        }
        self.value = value.map(|wire| (value_field.of, wire));
        let key = match (key_field.of, key) {
            (Type::Scalar(Scalar::Text), Some(Wire::Bytes(bytes))) => {
                return seed
                    .deserialize(StrDeserializer::new(text(bytes)?))
                    .map(Some);
            }
            (Type::Scalar(Scalar::Text), None) => String::new(),
            (Type::Scalar(Scalar::Bool), key) => {
                (key.is_some_and(|key| key != Wire::Varint(0))).to_string()
            }
            (Type::Scalar(Scalar::Sint32 | Scalar::Sint64), Some(Wire::Varint(key))) => {
                zigzag(key).to_string()
            }
            (Type::Scalar(Scalar::Uint32 | Scalar::Uint64), Some(Wire::Varint(key)))
            | (Type::Scalar(Scalar::Fixed64), Some(Wire::Fixed64(key))) => key.to_string(),
            (_, Some(Wire::Varint(key) | Wire::Fixed64(key))) => key.cast_signed().to_string(),
            (Type::Scalar(Scalar::Fixed32), Some(Wire::Fixed32(key))) => key.to_string(),
            (_, Some(Wire::Fixed32(key))) => key.cast_signed().to_string(),
            (_, None) => "0".to_owned(),
            _ => return Err(OTHER_TYPE),
        };
        seed.deserialize(StrDeserializer::new(&key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Broken> {
        match self.value.take() {
            Some((of, wire)) => {
                let cx = self.cx.reborrow();
                seed.deserialize(Content { cx, of, wire })
            }
            None => seed.deserialize(UnitDeserializer::new()),
        }
    }
}
