//! Fast reading of native events: the fields of plain JSON, without errors that explain.
//!
//! The implementations of `Deserialize` for the same structures decide what a field can hold. Where
//! this module gives up, they read the record again.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{BorrowedStrDeserializer, Error};

use super::FeedbackWire;
use crate::decode::action::{ActionName, FeedbackValue};
use crate::decode::json::reader::{GiveUp, Number, Reader};
use crate::event::read::deserialize_time;
use crate::event::{
    Attributes, Cost, Edge, Experiment, Hit, Id, Score, Search, Stage, Text, Usage, Value,
};
use crate::time::EventTime;

type Read<T> = Result<T, GiveUp>;

/// Reads an object into the fields of `$into`. For each of them, a variable of its name is true if
/// there was a member. A repeated member is an error. Members of other names are dropped.
///
/// The first pass reads members in the order of the list, as usual records have them. The second one
/// reads the others, in any order.
macro_rules! read_members {
    (
        $reader:ident, $into:ident,
        $first_name:literal => $first:ident: $read_first:expr,
        $($name:literal => $field:ident: $read:expr,)*
    ) => {
        let mut members = $reader.object()?;
        let mut $first = $reader.first_is(&mut members, concat!("\"", $first_name, "\":"));
        $(let mut $field = false;)*
        if $first {
            $into.$first = $read_first($reader)?;
            $(if $reader.next_is(concat!(",\"", $name, "\":")) {
                $field = true;
                $into.$field = $read($reader)?;
            })*
        }
        let is_read = $first && $reader.next_is("}");
        while !is_read && let Some(name) = $reader.name(&mut members)? {
            match name {
                $first_name => {
                    if std::mem::replace(&mut $first, true) {
                        return Err(GiveUp);
                    }
                    $into.$first = $read_first($reader)?;
                }
                $($name => {
                    if std::mem::replace(&mut $field, true) {
                        return Err(GiveUp);
                    }
                    $into.$field = $read($reader)?;
                })*
                _ => $reader.skip()?,
            }
        }
    };
}

/// Reads a whole text with `read`. Returns `None` if it is wrong or unusual.
fn whole<'a, T>(text: &'a str, read: impl FnOnce(&mut Reader<'a>) -> Read<T>) -> Option<T> {
    let mut reader = Reader::new(text).ok()?;
    let value = read(&mut reader).ok()?;
    reader.end().ok()?;
    Some(value)
}

/// Reads a search. Returns `None` if the text is wrong or unusual.
pub(super) fn search(text: &str) -> Option<Box<Search<'_>>> {
    whole(text, read_search)
}

/// Reads a feedback event. Returns `None` if the text is wrong or unusual.
pub(super) fn feedback(text: &str) -> Option<FeedbackWire<'_>> {
    whole(text, read_feedback)
}

fn read_search<'a>(reader: &mut Reader<'a>) -> Read<Box<Search<'a>>> {
    let mut search = Box::<Search<'a>>::default();
    read_members!(reader, search,
        "query_id" => query_id: read_id,
        "ts" => ts: read_time,
        "query" => query: optional_text,
        "query_key" => query_key: optional_id,
        "synthetic" => synthetic: |reader: &mut Reader<'a>| reader.nullable(Reader::boolean),
        "application" => application: optional_text,
        "session_id" => session_id: optional_id,
        "client_id" => client_id: optional_id,
        "user_id" => user_id: optional_id,
        "trace_id" => trace_id: optional_id,
        "experiment" => experiment: |reader: &mut Reader<'a>| optional_object(reader, read_experiment),
        "variant" => variant: optional_text,
        "results" => results: |reader: &mut Reader<'a>| reader.list_in_place(12, read_hit),
        "total_hits" => total_hits: optional_unsigned,
        "page" => page: optional_unsigned,
        "latency_ms" => latency_ms: optional_float,
        "stages" => stages: |reader: &mut Reader<'a>| optional_objects(reader, 8, read_stage),
        "usage" => usage: |reader: &mut Reader<'a>| optional_objects(reader, 4, read_usage),
        "cost" => cost: |reader: &mut Reader<'a>| optional_object(reader, read_cost),
        "routing" => routing: optional_texts,
        "domain" => domain: optional_text,
        "fired" => fired: |reader: &mut Reader<'a>| reader.nullable(|reader| read_entries(reader, read_flag)),
        "merged_from" => merged_from: |reader: &mut Reader<'a>| optional_list(reader, 4, read_id),
        "context" => context: |reader: &mut Reader<'a>| optional_list(reader, 4, read_id),
        "error_type" => error_type: optional_text,
        "labels" => labels: |reader: &mut Reader<'a>| reader.nullable(|reader| read_entries(reader, read_scalar)),
        "attrs" => attrs: optional_attributes,
    );
    if !(query_id && ts && results) {
        return Err(GiveUp);
    }
    Ok(search)
}

fn read_hit<'a>(reader: &mut Reader<'a>, hit: &mut Hit<'a>) -> Read<()> {
    read_members!(reader, hit,
        "id" => id: read_id,
        "rank" => rank: optional_unsigned,
        "score" => score: optional_score,
        "group_id" => group_id: optional_id,
        "stages" => stages: optional_texts,
        "team" => team: optional_text,
        "text" => text: optional_text,
        "hops" => hops: optional_unsigned,
        "depth" => depth: optional_unsigned,
        "path" => path: |reader: &mut Reader<'a>| optional_objects(reader, 4, read_edge),
        "attrs" => attrs: optional_attributes,
    );
    if !id {
        return Err(GiveUp);
    }
    Ok(())
}

fn read_edge<'a>(reader: &mut Reader<'a>, edge: &mut Edge<'a>) -> Read<()> {
    read_members!(reader, edge,
        "from" => from: read_id,
        "to" => to: read_id,
    );
    if !(from && to) {
        return Err(GiveUp);
    }
    Ok(())
}

fn read_stage<'a>(reader: &mut Reader<'a>, stage: &mut Stage<'a>) -> Read<()> {
    read_members!(reader, stage,
        "name" => name: read_text,
        "latency_ms" => latency_ms: optional_float,
        "hits" => hits: optional_unsigned,
        "error" => error: optional_text,
    );
    if !name {
        return Err(GiveUp);
    }
    Ok(())
}

fn read_usage<'a>(reader: &mut Reader<'a>, usage: &mut Usage<'a>) -> Read<()> {
    read_members!(reader, usage,
        "operation" => operation: optional_text,
        "provider" => provider: optional_text,
        "model" => model: optional_text,
        "input_tokens" => input_tokens: optional_unsigned,
        "output_tokens" => output_tokens: optional_unsigned,
        "cache_read_input_tokens" => cache_read_input_tokens: optional_unsigned,
        "reasoning_output_tokens" => reasoning_output_tokens: optional_unsigned,
        "cost" => cost: |reader: &mut Reader<'a>| optional_object(reader, read_cost),
    );
    Ok(())
}

fn read_cost<'a>(reader: &mut Reader<'a>, cost: &mut Cost<'a>) -> Read<()> {
    read_members!(reader, cost,
        "amount" => amount: Reader::float,
        "currency" => currency: optional_text,
    );
    if !amount {
        return Err(GiveUp);
    }
    Ok(())
}

fn read_experiment<'a>(reader: &mut Reader<'a>, experiment: &mut Experiment<'a>) -> Read<()> {
    read_members!(reader, experiment,
        "id" => id: optional_id,
        "variant" => variant: optional_text,
    );
    Ok(())
}

fn read_feedback<'a>(reader: &mut Reader<'a>) -> Read<FeedbackWire<'a>> {
    let mut feedback = FeedbackWire::default();
    read_members!(reader, feedback,
        "event_id" => event_id: read_id,
        "ts" => ts: read_time,
        "type" => action: read_action,
        "query_id" => query_id: optional_id,
        "session_id" => session_id: optional_id,
        "object_id" => object_id: optional_id,
        "position" => position: optional_unsigned,
        "value" => value: |reader: &mut Reader<'a>| reader.nullable(read_feedback_value),
        "min" => min: optional_float,
        "max" => max: optional_float,
        "dwell_ms" => dwell_ms: optional_float,
        "name" => name: optional_text,
        "comment" => comment: optional_text,
        "client_id" => client_id: optional_id,
        "user_id" => user_id: optional_id,
        "trace_id" => trace_id: optional_id,
        "application" => application: optional_text,
        "labels" => labels: optional_attributes,
        "attrs" => attrs: optional_attributes,
    );
    if !(event_id && ts && action) {
        return Err(GiveUp);
    }
    Ok(feedback)
}

#[inline]
fn read_text<'a>(reader: &mut Reader<'a>) -> Read<Text<'a>> {
    Ok(Text(Cow::Borrowed(reader.string()?)))
}

#[inline]
fn read_id<'a>(reader: &mut Reader<'a>) -> Read<Id<'a>> {
    if reader.token() == Some(b'"') {
        return Ok(Id(Cow::Borrowed(reader.string()?)));
    }
    Ok(Id(Cow::Owned(whole_number(&reader.number()?)?)))
}

/// Decimal form of a whole number.
fn whole_number(number: &Number) -> Read<String> {
    match number {
        Number::Unsigned(number) => Ok(number.to_string()),
        Number::Negative(number) => Ok(number.to_string()),
        Number::Float(_) => Err(GiveUp),
    }
}

fn read_time(reader: &mut Reader<'_>) -> Read<EventTime> {
    let time = if reader.token() == Some(b'"') {
        deserialize_time(BorrowedStrDeserializer::<Error>::new(reader.string()?))
    } else {
        let millis: u64 = reader.unsigned()?;
        deserialize_time(IntoDeserializer::<Error>::into_deserializer(millis))
    };
    time.map_err(|_| GiveUp)
}

fn read_action(reader: &mut Reader<'_>) -> Read<ActionName> {
    ActionName::named(reader.string()?).ok_or(GiveUp)
}

fn read_feedback_value(reader: &mut Reader<'_>) -> Read<FeedbackValue> {
    let value = match reader.token() {
        Some(b't' | b'f') => return reader.boolean().map(FeedbackValue::Bool),
        _ => reader.number()?,
    };
    let value = match value {
        Number::Unsigned(number) => {
            FeedbackValue::deserialize(IntoDeserializer::<Error>::into_deserializer(number))
        }
        Number::Negative(number) => {
            FeedbackValue::deserialize(IntoDeserializer::<Error>::into_deserializer(number))
        }
        Number::Float(number) => return Ok(FeedbackValue::Number(number)),
    };
    value.map_err(|_| GiveUp)
}

#[inline]
fn optional_text<'a>(reader: &mut Reader<'a>) -> Read<Option<Text<'a>>> {
    reader.nullable(read_text)
}

#[inline]
fn optional_id<'a>(reader: &mut Reader<'a>) -> Read<Option<Id<'a>>> {
    reader.nullable(read_id)
}

fn optional_float(reader: &mut Reader<'_>) -> Read<Option<f64>> {
    reader.nullable(Reader::float)
}

#[inline]
fn optional_score<'a>(reader: &mut Reader<'a>) -> Read<Option<Score<'a>>> {
    reader.nullable(|reader| match reader.usual_decimal() {
        Some(decimal) => Ok(Score::of_short_decimal(decimal)),
        None => reader.float().map(Score::from),
    })
}

fn optional_unsigned<T: TryFrom<u64>>(reader: &mut Reader<'_>) -> Read<Option<T>> {
    reader.nullable(Reader::unsigned)
}

fn optional_texts<'a>(reader: &mut Reader<'a>) -> Read<Option<Vec<Text<'a>>>> {
    optional_list(reader, 4, read_text)
}

#[inline]
fn optional_list<'a, T>(
    reader: &mut Reader<'a>,
    usual: usize,
    read: impl Fn(&mut Reader<'a>) -> Read<T>,
) -> Read<Option<Vec<T>>> {
    reader.nullable(|reader| reader.list(usual, read))
}

#[inline]
fn optional_object<'a, T: Default>(
    reader: &mut Reader<'a>,
    read: impl Fn(&mut Reader<'a>, &mut T) -> Read<()>,
) -> Read<Option<T>> {
    reader.nullable(|reader| {
        let mut object = T::default();
        read(reader, &mut object)?;
        Ok(object)
    })
}

#[inline]
fn optional_objects<'a, T: Default>(
    reader: &mut Reader<'a>,
    usual: usize,
    read: impl Fn(&mut Reader<'a>, &mut T) -> Read<()>,
) -> Read<Option<Vec<T>>> {
    reader.nullable(|reader| reader.list_in_place(usual, read))
}

fn optional_attributes<'a>(reader: &mut Reader<'a>) -> Read<Option<Attributes<'a>>> {
    reader.nullable(|reader| read_entries(reader, read_value))
}

/// Reads an object whose values `read` reads.
#[inline]
fn read_entries<'a>(
    reader: &mut Reader<'a>,
    read: impl Fn(&mut Reader<'a>) -> Read<Value<'a>>,
) -> Read<Attributes<'a>> {
    let mut entries = Vec::with_capacity(4);
    let mut members = reader.object()?;
    while let Some(name) = reader.name(&mut members)? {
        entries.push((Text(Cow::Borrowed(name)), read(reader)?));
    }
    Ok(Attributes(entries))
}

fn read_flag<'a>(reader: &mut Reader<'a>) -> Read<Value<'a>> {
    reader.boolean().map(Value::Bool)
}

fn read_scalar<'a>(reader: &mut Reader<'a>) -> Read<Value<'a>> {
    match read_value(reader)? {
        Value::Other => Err(GiveUp),
        value => Ok(value),
    }
}

fn read_value<'a>(reader: &mut Reader<'a>) -> Read<Value<'a>> {
    match reader.token() {
        Some(b'"') => read_text(reader).map(Value::Text),
        Some(b'-' | b'0'..=b'9') => Ok(match reader.number()? {
            Number::Float(number) => Value::Number(number),
            number => Value::Text(Text(Cow::Owned(whole_number(&number)?))),
        }),
        Some(b't' | b'f') => reader.boolean().map(Value::Bool),
        _ => reader.skip().map(|()| Value::Other),
    }
}
