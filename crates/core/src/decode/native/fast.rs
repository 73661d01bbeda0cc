//! Fast reading of native events: the fields of plain JSON, without errors that explain.
//!
//! The implementations of `Deserialize` for the same structures decide what a field can hold. Where
//! this module gives up, they read the record again.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{BorrowedStrDeserializer, Error};

use super::members::{EvaluatorWire, FeedbackWire};
use crate::decode::action::{ActionName, FeedbackValue};
use crate::decode::json::reader::{GiveUp, Number, Reader};
use crate::event::read::deserialize_time;
use crate::event::{
    Answer, Attributes, Citation, Cost, Edge, Experiment, Hit, Id, Score, Search, Stage, Text,
    Usage, Value,
};
use crate::time::EventTime;

type Read = Result<(), GiveUp>;

/// Reads an object into the fields of `$into`. For each of them, a variable of its name is true if
/// there was a member. A repeated member is an error. Members of other names are dropped.
///
/// Each field is read in its place: a value that is moved there is copied in larger portions than it
/// was written in, and a processor waits before such a copy.
///
/// `name => field in part` reads a field of the structure that `$into.part()` returns.
///
/// The first pass reads members in the order of the list, as usual records have them. The second one
/// reads the others, in any order.
macro_rules! read_members {
    (
        $reader:ident, $into:ident,
        $first_name:literal => $first:ident: $read_first:expr,
        $($name:literal => $field:ident $(in $part:ident)?: $read:expr,)*
    ) => {
        let mut members = $reader.object()?;
        let mut $first = $reader.first_is(&mut members, concat!("\"", $first_name, "\":"));
        $(let mut $field = false;)*
        let is_read = 'first_pass: {
            if !$first {
                break 'first_pass false;
            }
            $read_first($reader, &mut $into.$first)?;
            $(if $reader.next_is(concat!(",\"", $name, "\":")) {
                $field = true;
                $read($reader, &mut $into$(.$part())?.$field)?;
                // Most objects have few members: the names that follow need not be compared.
                if $reader.next_is("}") {
                    break 'first_pass true;
                }
            })*
            $reader.next_is("}")
        };
        while !is_read && let Some(name) = $reader.name(&mut members)? {
            match name {
                $first_name => {
                    if std::mem::replace(&mut $first, true) {
                        return Err(GiveUp);
                    }
                    $read_first($reader, &mut $into.$first)?;
                }
                $($name => {
                    if std::mem::replace(&mut $field, true) {
                        return Err(GiveUp);
                    }
                    $read($reader, &mut $into$(.$part())?.$field)?;
                })*
                _ => $reader.skip()?,
            }
        }
    };
}

/// Reads a search. Returns `None` if the text is wrong or unusual.
pub(super) fn search(text: &str) -> Option<Box<Search<'_>>> {
    let mut search = Box::default();
    whole(text, |reader| read_search(reader, &mut search))?;
    Some(search)
}

/// Reads a feedback event. Returns `None` if the text is wrong or unusual.
pub(super) fn feedback(text: &str) -> Option<FeedbackWire<'_>> {
    let mut feedback = FeedbackWire::default();
    whole(text, |reader| read_feedback(reader, &mut feedback))?;
    Some(feedback)
}

/// Reads a whole text with `read`. Returns `None` if it is wrong or unusual.
fn whole<'a>(text: &'a str, read: impl FnOnce(&mut Reader<'a>) -> Read) -> Option<()> {
    let mut reader = Reader::new(text).ok()?;
    read(&mut reader).ok()?;
    reader.end().ok()
}

fn read_search<'a>(reader: &mut Reader<'a>, search: &mut Search<'a>) -> Read {
    read_members!(reader, search,
        "query_id" => query_id: read_id,
        "ts" => ts: read_time,
        "query" => query: optional(read_text),
        "query_key" => query_key: optional(read_id),
        "synthetic" => synthetic: optional(read_boolean),
        "application" => application: optional(read_text),
        "session_id" => session_id: optional(read_id),
        "client_id" => client_id: optional(read_id),
        "user_id" => user_id: optional(read_id),
        "trace_id" => trace_id: optional(read_id),
        "experiment" => experiment: optional(read_experiment),
        "variant" => variant: optional(read_text),
        "results" => results: list(12, read_hit),
        "total_hits" => total_hits: optional(read_unsigned),
        "page" => page: optional(read_unsigned),
        "page_size" => page_size: optional(read_unsigned),
        "filters" => is_filtered: read_is_set,
        "sort" => sort: optional(read_text),
        "latency_ms" => latency_ms: optional(read_float),
        "stages" => stages: optional(list(8, read_stage)),
        "usage" => usage: optional(list(4, read_usage)),
        "cost" => cost: optional(read_cost),
        "routing" => routing: optional(list(4, read_text)),
        "domain" => domain: optional(read_text),
        "fired" => fired: optional(entries(read_flag)),
        "merged_from" => merged_from: optional(list(4, read_id)),
        "context" => context: optional(list(4, read_id)),
        "answer" => answer: optional(read_answer),
        "error_type" => error_type: optional(read_text),
        "labels" => labels: optional(entries(read_scalar)),
        "attrs" => attrs: optional(entries(read_value)),
    );
    if !(query_id && ts && results) {
        return Err(GiveUp);
    }
    Ok(())
}

fn read_answer<'a>(reader: &mut Reader<'a>, answer: &mut Box<Answer<'a>>) -> Read {
    read_members!(reader, answer,
        "id" => id: optional(read_id),
        "text" => text: optional(read_text),
        "citations" => citations: optional(list(4, read_citation)),
        "refused" => refused: optional(read_boolean),
        "model" => model: optional(read_text),
    );
    Ok(())
}

fn read_citation<'a>(reader: &mut Reader<'a>, citation: &mut Citation<'a>) -> Read {
    if reader.token() != Some(b'{') {
        return read_id(reader, &mut citation.id);
    }
    read_members!(reader, citation,
        "id" => id: read_id,
    );
    if !id {
        return Err(GiveUp);
    }
    Ok(())
}

fn read_hit<'a>(reader: &mut Reader<'a>, hit: &mut Hit<'a>) -> Read {
    // Most results have nothing else.
    if let Some((id, score)) = reader.string_and_decimal(r#"{"id":""#, r#"","score":"#) {
        hit.id.0 = Cow::Borrowed(id);
        hit.score = Some(Score::of_short_decimal(score));
        return Ok(());
    }
    read_members!(reader, hit,
        "id" => id: read_id,
        "rank" => rank: optional(read_unsigned),
        "score" => score: optional_score,
        "group_id" => group_id in details_mut: optional(read_id),
        "stages" => stages in details_mut: optional(list(4, read_text)),
        "team" => team in details_mut: optional(read_text),
        "text" => text in details_mut: optional(read_text),
        "hops" => hops in details_mut: optional(read_unsigned),
        "depth" => depth in details_mut: optional(read_unsigned),
        "path" => path in details_mut: optional(list(4, read_edge)),
        "attrs" => attrs in details_mut: optional(entries(read_value)),
    );
    if !id {
        return Err(GiveUp);
    }
    Ok(())
}

fn read_edge<'a>(reader: &mut Reader<'a>, edge: &mut Edge<'a>) -> Read {
    read_members!(reader, edge,
        "from" => from: read_id,
        "to" => to: read_id,
    );
    if !(from && to) {
        return Err(GiveUp);
    }
    Ok(())
}

fn read_stage<'a>(reader: &mut Reader<'a>, stage: &mut Stage<'a>) -> Read {
    read_members!(reader, stage,
        "name" => name: read_text,
        "latency_ms" => latency_ms: optional(read_float),
        "hits" => hits: optional(read_unsigned),
        "error" => error: optional(read_text),
    );
    if !name {
        return Err(GiveUp);
    }
    Ok(())
}

fn read_usage<'a>(reader: &mut Reader<'a>, usage: &mut Usage<'a>) -> Read {
    read_members!(reader, usage,
        "operation" => operation: optional(read_text),
        "provider" => provider: optional(read_text),
        "model" => model: optional(read_text),
        "input_tokens" => input_tokens: optional(read_unsigned),
        "output_tokens" => output_tokens: optional(read_unsigned),
        "cache_read_input_tokens" => cache_read_input_tokens: optional(read_unsigned),
        "reasoning_output_tokens" => reasoning_output_tokens: optional(read_unsigned),
        "cost" => cost: optional(read_cost),
    );
    Ok(())
}

fn read_cost<'a>(reader: &mut Reader<'a>, cost: &mut Cost<'a>) -> Read {
    read_members!(reader, cost,
        "amount" => amount: read_float,
        "currency" => currency: optional(read_text),
    );
    if !amount {
        return Err(GiveUp);
    }
    Ok(())
}

fn read_experiment<'a>(reader: &mut Reader<'a>, experiment: &mut Experiment<'a>) -> Read {
    read_members!(reader, experiment,
        "id" => id: optional(read_id),
        "variant" => variant: optional(read_text),
    );
    Ok(())
}

fn read_feedback<'a>(reader: &mut Reader<'a>, feedback: &mut FeedbackWire<'a>) -> Read {
    read_members!(reader, feedback,
        "event_id" => event_id: read_id,
        "ts" => ts: read_time,
        "type" => action: read_action,
        "query_id" => query_id: optional(read_id),
        "session_id" => session_id: optional(read_id),
        "object_id" => object_id: optional(read_id),
        "position" => position: optional(read_unsigned),
        "value" => value: optional_value,
        "min" => min: optional(read_float),
        "max" => max: optional(read_float),
        "dwell_ms" => dwell_ms: optional(read_float),
        "amount" => amount: optional(read_float),
        "currency" => currency: optional(read_text),
        "name" => name: optional(read_text),
        "target" => target: optional(read_text),
        "request" => request: optional(read_text),
        "evaluator" => evaluator: optional(read_evaluator),
        "cost" => cost: optional(read_cost),
        "comment" => comment: optional(read_text),
        "client_id" => client_id: optional(read_id),
        "user_id" => user_id: optional(read_id),
        "trace_id" => trace_id: optional(read_id),
        "application" => application: optional(read_text),
        "labels" => labels: optional(entries(read_value)),
        "attrs" => attrs: optional(entries(read_value)),
    );
    if !(event_id && ts && action) {
        return Err(GiveUp);
    }
    Ok(())
}

fn read_evaluator<'a>(reader: &mut Reader<'a>, evaluator: &mut Box<EvaluatorWire<'a>>) -> Read {
    read_members!(reader, evaluator,
        "id" => id: read_id,
        "version" => version: optional(read_id),
        "kind" => kind: optional(read_text),
    );
    if !id {
        return Err(GiveUp);
    }
    Ok(())
}

#[inline]
fn read_text<'a>(reader: &mut Reader<'a>, text: &mut Text<'a>) -> Read {
    text.0 = Cow::Borrowed(reader.string()?);
    Ok(())
}

#[inline]
fn read_id<'a>(reader: &mut Reader<'a>, id: &mut Id<'a>) -> Read {
    id.0 = if reader.token() == Some(b'"') {
        Cow::Borrowed(reader.string()?)
    } else {
        Cow::Owned(whole_number(&reader.number()?)?)
    };
    Ok(())
}

/// Decimal form of a whole number.
fn whole_number(number: &Number) -> Result<String, GiveUp> {
    match number {
        Number::Unsigned(number) => Ok(number.to_string()),
        Number::Negative(number) => Ok(number.to_string()),
        Number::Float(_) => Err(GiveUp),
    }
}

fn read_time(reader: &mut Reader<'_>, time: &mut EventTime) -> Read {
    let read = if reader.token() == Some(b'"') {
        deserialize_time(BorrowedStrDeserializer::<Error>::new(reader.string()?))
    } else {
        let millis: u64 = reader.unsigned()?;
        deserialize_time(IntoDeserializer::<Error>::into_deserializer(millis))
    };
    *time = read.map_err(|_| GiveUp)?;
    Ok(())
}

fn read_action(reader: &mut Reader<'_>, action: &mut ActionName) -> Read {
    *action = ActionName::named(reader.string()?).ok_or(GiveUp)?;
    Ok(())
}

fn read_boolean(reader: &mut Reader<'_>, flag: &mut bool) -> Read {
    *flag = reader.boolean()?;
    Ok(())
}

/// Reads any value. `false`, null, and an empty text, list or object are not set.
fn read_is_set(reader: &mut Reader<'_>, is_set: &mut bool) -> Read {
    *is_set = match reader.token() {
        Some(b'n') => !reader.null()?,
        Some(b't' | b'f') => reader.boolean()?,
        Some(b'"') => !reader.string()?.is_empty(),
        Some(b'[') => {
            let mut has_elements = false;
            reader.elements(|reader| {
                has_elements = true;
                reader.skip()
            })?;
            has_elements
        }
        Some(b'{') => {
            let mut members = reader.object()?;
            let mut has_members = false;
            while reader.name(&mut members)?.is_some() {
                has_members = true;
                reader.skip()?;
            }
            has_members
        }
        _ => reader.number().map(|_| true)?,
    };
    Ok(())
}

fn read_float(reader: &mut Reader<'_>, number: &mut f64) -> Read {
    *number = reader.float()?;
    Ok(())
}

fn read_unsigned<T: TryFrom<u64>>(reader: &mut Reader<'_>, number: &mut T) -> Read {
    *number = reader.unsigned()?;
    Ok(())
}

#[inline]
fn optional_score<'a>(reader: &mut Reader<'a>, score: &mut Option<Score<'a>>) -> Read {
    if reader.null()? {
        return Ok(());
    }
    *score = Some(match reader.usual_decimal() {
        Some(decimal) => Score::of_short_decimal(decimal),
        None => Score::from(reader.float()?),
    });
    Ok(())
}

fn optional_value(reader: &mut Reader<'_>, value: &mut Option<FeedbackValue>) -> Read {
    *value = match reader.token() {
        Some(b'n') => return reader.null().map(drop),
        Some(b't' | b'f') => Some(FeedbackValue::Bool(reader.boolean()?)),
        _ => Some(feedback_value(&reader.number()?)?),
    };
    Ok(())
}

fn feedback_value(number: &Number) -> Result<FeedbackValue, GiveUp> {
    let value = match *number {
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

/// Reads null, or a value with `read`.
#[inline]
fn optional<'a, T: Default>(
    read: impl Fn(&mut Reader<'a>, &mut T) -> Read,
) -> impl Fn(&mut Reader<'a>, &mut Option<T>) -> Read {
    move |reader, value| {
        if reader.null()? {
            return Ok(());
        }
        read(reader, value.insert(T::default()))
    }
}

/// Reads an array whose elements `read` reads. It usually has up to `usual` elements.
#[inline]
fn list<'a, T: Default>(
    usual: usize,
    read: impl Fn(&mut Reader<'a>, &mut T) -> Read,
) -> impl Fn(&mut Reader<'a>, &mut Vec<T>) -> Read {
    move |reader, list| {
        list.reserve(usual);
        reader.elements(|reader| read(reader, list.push_mut(T::default())))
    }
}

/// Reads an object whose values `read` reads.
#[inline]
fn entries<'a>(
    read: impl Fn(&mut Reader<'a>, &mut Value<'a>) -> Read,
) -> impl Fn(&mut Reader<'a>, &mut Attributes<'a>) -> Read {
    move |reader, Attributes(entries)| {
        entries.reserve(4);
        let mut members = reader.object()?;
        while let Some(name) = reader.name(&mut members)? {
            let entry = entries.push_mut((Text(Cow::Borrowed(name)), Value::Other));
            read(reader, &mut entry.1)?;
        }
        Ok(())
    }
}

fn read_flag<'a>(reader: &mut Reader<'a>, value: &mut Value<'a>) -> Read {
    *value = Value::Bool(reader.boolean()?);
    Ok(())
}

fn read_scalar<'a>(reader: &mut Reader<'a>, value: &mut Value<'a>) -> Read {
    read_value(reader, value)?;
    if matches!(value, Value::Other) {
        return Err(GiveUp);
    }
    Ok(())
}

fn read_value<'a>(reader: &mut Reader<'a>, value: &mut Value<'a>) -> Read {
    *value = match reader.token() {
        Some(b'"') => Value::Text(Text(Cow::Borrowed(reader.string()?))),
        Some(b'-' | b'0'..=b'9') => match reader.number()? {
            Number::Float(number) => Value::Number(number),
            number => Value::Text(Text(Cow::Owned(whole_number(&number)?))),
        },
        Some(b't' | b'f') => Value::Bool(reader.boolean()?),
        _ => {
            reader.skip()?;
            Value::Other
        }
    };
    Ok(())
}
