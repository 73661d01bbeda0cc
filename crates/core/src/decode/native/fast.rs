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

/// Reads an object into a variable for each name: `None` for an absent member. A repeated member is
/// an error. Members of other names are dropped.
macro_rules! read_members {
    ($reader:ident, $($name:literal => $variable:ident: $read:expr,)*) => {
        $(let mut $variable = None;)*
        let mut members = $reader.object()?;
        while let Some(name) = $reader.name_bytes(&mut members)? {
            match name {
                $(name if name == $name.as_bytes() => {
                    if $variable.is_some() {
                        return Err(GiveUp);
                    }
                    $variable = Some($read($reader)?);
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
    read_members!(reader,
        "query_id" => query_id: read_id,
        "ts" => ts: read_time,
        "query" => query: optional_text,
        "query_key" => query_key: optional_id,
        "synthetic" => synthetic: |reader: &mut Reader<'a>| reader.nullable(Reader::boolean),
        "results" => results: |reader: &mut Reader<'a>| reader.list(12, read_hit),
        "latency_ms" => latency_ms: optional_float,
        "stages" => stages: |reader: &mut Reader<'a>| optional_list(reader, 8, read_stage),
        "usage" => usage: |reader: &mut Reader<'a>| optional_list(reader, 4, read_usage),
        "cost" => cost: |reader: &mut Reader<'a>| reader.nullable(read_cost),
        "routing" => routing: optional_texts,
        "domain" => domain: optional_text,
        "fired" => fired: |reader: &mut Reader<'a>| reader.nullable(|reader| read_entries(reader, read_flag)),
        "merged_from" => merged_from: |reader: &mut Reader<'a>| optional_list(reader, 4, read_id),
        "context" => context: |reader: &mut Reader<'a>| optional_list(reader, 4, read_id),
        "experiment" => experiment: |reader: &mut Reader<'a>| reader.nullable(read_experiment),
        "variant" => variant: optional_text,
        "session_id" => session_id: optional_id,
        "client_id" => client_id: optional_id,
        "user_id" => user_id: optional_id,
        "trace_id" => trace_id: optional_id,
        "application" => application: optional_text,
        "total_hits" => total_hits: optional_unsigned,
        "page" => page: optional_unsigned,
        "error_type" => error_type: optional_text,
        "labels" => labels: |reader: &mut Reader<'a>| reader.nullable(|reader| read_entries(reader, read_scalar)),
        "attrs" => attrs: optional_attributes,
    );
    Ok(Box::new(Search {
        query_id: query_id.ok_or(GiveUp)?,
        ts: ts.ok_or(GiveUp)?,
        query: query.flatten(),
        query_key: query_key.flatten(),
        synthetic: synthetic.flatten(),
        results: results.ok_or(GiveUp)?,
        latency_ms: latency_ms.flatten(),
        stages: stages.flatten(),
        usage: usage.flatten(),
        cost: cost.flatten(),
        routing: routing.flatten(),
        domain: domain.flatten(),
        fired: fired.flatten(),
        merged_from: merged_from.flatten(),
        context: context.flatten(),
        experiment: experiment.flatten(),
        variant: variant.flatten(),
        session_id: session_id.flatten(),
        client_id: client_id.flatten(),
        user_id: user_id.flatten(),
        trace_id: trace_id.flatten(),
        application: application.flatten(),
        total_hits: total_hits.flatten(),
        page: page.flatten(),
        error_type: error_type.flatten(),
        labels: labels.flatten(),
        attrs: attrs.flatten(),
    }))
}

fn read_hit<'a>(reader: &mut Reader<'a>) -> Read<Hit<'a>> {
    read_members!(reader,
        "id" => id: read_id,
        "rank" => rank: optional_unsigned,
        "score" => score: optional_score,
        "group_id" => group_id: optional_id,
        "stages" => stages: optional_texts,
        "team" => team: optional_text,
        "text" => text: optional_text,
        "hops" => hops: optional_unsigned,
        "depth" => depth: optional_unsigned,
        "path" => path: |reader: &mut Reader<'a>| optional_list(reader, 4, read_edge),
        "attrs" => attrs: optional_attributes,
    );
    Ok(Hit {
        id: id.ok_or(GiveUp)?,
        rank: rank.flatten(),
        score: score.flatten(),
        group_id: group_id.flatten(),
        stages: stages.flatten(),
        team: team.flatten(),
        text: text.flatten(),
        hops: hops.flatten(),
        depth: depth.flatten(),
        path: path.flatten(),
        attrs: attrs.flatten(),
    })
}

fn read_edge<'a>(reader: &mut Reader<'a>) -> Read<Edge<'a>> {
    read_members!(reader,
        "from" => from: read_id,
        "to" => to: read_id,
    );
    Ok(Edge {
        from: from.ok_or(GiveUp)?,
        to: to.ok_or(GiveUp)?,
    })
}

fn read_stage<'a>(reader: &mut Reader<'a>) -> Read<Stage<'a>> {
    read_members!(reader,
        "name" => name: read_text,
        "latency_ms" => latency_ms: optional_float,
        "hits" => hits: optional_unsigned,
        "error" => error: optional_text,
    );
    Ok(Stage {
        name: name.ok_or(GiveUp)?,
        latency_ms: latency_ms.flatten(),
        hits: hits.flatten(),
        error: error.flatten(),
    })
}

fn read_usage<'a>(reader: &mut Reader<'a>) -> Read<Usage<'a>> {
    read_members!(reader,
        "operation" => operation: optional_text,
        "provider" => provider: optional_text,
        "model" => model: optional_text,
        "input_tokens" => input_tokens: optional_unsigned,
        "output_tokens" => output_tokens: optional_unsigned,
        "cache_read_input_tokens" => cache_read_input_tokens: optional_unsigned,
        "reasoning_output_tokens" => reasoning_output_tokens: optional_unsigned,
        "cost" => cost: |reader: &mut Reader<'a>| reader.nullable(read_cost),
    );
    Ok(Usage {
        operation: operation.flatten(),
        provider: provider.flatten(),
        model: model.flatten(),
        input_tokens: input_tokens.flatten(),
        output_tokens: output_tokens.flatten(),
        cache_read_input_tokens: cache_read_input_tokens.flatten(),
        reasoning_output_tokens: reasoning_output_tokens.flatten(),
        cost: cost.flatten(),
    })
}

fn read_cost<'a>(reader: &mut Reader<'a>) -> Read<Cost<'a>> {
    read_members!(reader,
        "amount" => amount: Reader::float,
        "currency" => currency: optional_text,
    );
    Ok(Cost {
        amount: amount.ok_or(GiveUp)?,
        currency: currency.flatten(),
    })
}

fn read_experiment<'a>(reader: &mut Reader<'a>) -> Read<Experiment<'a>> {
    read_members!(reader,
        "id" => id: optional_id,
        "variant" => variant: optional_text,
    );
    Ok(Experiment {
        id: id.flatten(),
        variant: variant.flatten(),
    })
}

fn read_feedback<'a>(reader: &mut Reader<'a>) -> Read<FeedbackWire<'a>> {
    read_members!(reader,
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
    Ok(FeedbackWire {
        event_id: event_id.ok_or(GiveUp)?,
        ts: ts.ok_or(GiveUp)?,
        action: action.ok_or(GiveUp)?,
        query_id: query_id.flatten(),
        session_id: session_id.flatten(),
        object_id: object_id.flatten(),
        position: position.flatten(),
        value: value.flatten(),
        min: min.flatten(),
        max: max.flatten(),
        dwell_ms: dwell_ms.flatten(),
        name: name.flatten(),
        _comment: comment.flatten(),
        _client_id: client_id.flatten(),
        _user_id: user_id.flatten(),
        _trace_id: trace_id.flatten(),
        _application: application.flatten(),
        _labels: labels.flatten(),
        _attrs: attrs.flatten(),
    })
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
