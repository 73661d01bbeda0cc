//! Native JSON of events, the inverse of their decoder.
//!
//! Each structure is taken apart by the names of its fields, so that a new field does not compile until
//! it is written. Absent fields are left out.

use std::collections::BTreeMap;

use serde::ser::{Error, Serialize, SerializeMap, Serializer};

use super::text::{Attributes, Id, Text, Value};
use super::{
    Action, Amount, Answer, Citation, Cost, Edge, Evaluation, EvaluatorKind, Experiment, Feedback,
    Hit, HitDetails, JudgmentTarget, Score, Search, Stage, Usage,
};
use crate::time::EventTime;

/// Name of a custom action. The event does not keep the name that the user chose.
const CUSTOM: &str = "custom";

/// Field of an object.
trait Field {
    /// Writes the field, unless it is absent.
    fn write<M: SerializeMap>(&self, name: &'static str, object: &mut M) -> Result<(), M::Error>;
}

/// Fields of these types are never absent.
macro_rules! required {
    ($($field:ty),*) => {
        $(impl Field for $field {
            fn write<M: SerializeMap>(
                &self,
                name: &'static str,
                object: &mut M,
            ) -> Result<(), M::Error> {
                object.serialize_entry(name, self)
            }
        })*
    };
}

required!(Id<'_>, Text<'_>, f64, Vec<Hit<'_>>);

impl<T: Serialize> Field for Option<T> {
    fn write<M: SerializeMap>(&self, name: &'static str, object: &mut M) -> Result<(), M::Error> {
        match self {
            Some(value) => object.serialize_entry(name, value),
            None => Ok(()),
        }
    }
}

/// A flag that is absent if it is false.
impl Field for bool {
    fn write<M: SerializeMap>(&self, name: &'static str, object: &mut M) -> Result<(), M::Error> {
        self.then_some(true).write(name, object)
    }
}

impl Field for EventTime {
    fn write<M: SerializeMap>(&self, name: &'static str, object: &mut M) -> Result<(), M::Error> {
        object.serialize_entry(name, &self.0)
    }
}

/// Implements `Serialize` as an object of all fields, in this order.
macro_rules! written {
    ($($structure:ident { $($field:ident $(as $name:literal)?),* $(,)? })*) => {
        $(impl Serialize for $structure<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Self { $($field),* } = self;
                let mut object = serializer.serialize_map(None)?;
                $($field.write(written!(@ $field $($name)?), &mut object)?;)*
                object.end()
            }
        })*
    };
    (@ $field:ident) => { stringify!($field) };
    (@ $field:ident $name:literal) => { $name };
}

written! {
    Search {
        query_id, ts, query, query_key, synthetic, results, latency_ms, stages, usage, cost, routing,
        domain, fired, merged_from, context, answer, experiment, variant, session_id, client_id, user_id,
        trace_id, application, total_hits, page, page_size, is_filtered as "filters", sort, error_type,
        labels, attrs,
    }
    Answer { id, text, citations, refused, model }
    Edge { from, to }
    Stage { name, latency_ms, hits, error }
    Usage {
        operation, provider, model, input_tokens, output_tokens, cache_read_input_tokens,
        reasoning_output_tokens, cost,
    }
    Cost { amount, currency }
    Experiment { id, variant }
}

impl Serialize for Hit<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            id, rank, score, ..
        } = self;
        let HitDetails {
            group_id,
            stages,
            team,
            text,
            hops,
            depth,
            path,
            attrs,
        } = self.details();
        let mut object = serializer.serialize_map(None)?;
        id.write("id", &mut object)?;
        rank.write("rank", &mut object)?;
        score.write("score", &mut object)?;
        group_id.write("group_id", &mut object)?;
        stages.write("stages", &mut object)?;
        team.write("team", &mut object)?;
        text.write("text", &mut object)?;
        hops.write("hops", &mut object)?;
        depth.write("depth", &mut object)?;
        path.write("path", &mut object)?;
        attrs.write("attrs", &mut object)?;
        object.end()
    }
}

impl Serialize for Feedback<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            event_id,
            ts,
            query_id,
            session_id,
            object_id,
            position,
            action,
            evaluation,
        } = self;
        let mut object = serializer.serialize_map(None)?;
        event_id.write("event_id", &mut object)?;
        ts.write("ts", &mut object)?;
        let name = Action::NAMES.get(action.index());
        object.serialize_entry(
            "type",
            name.ok_or_else(|| Error::custom("an unknown action"))?,
        )?;
        query_id.write("query_id", &mut object)?;
        session_id.write("session_id", &mut object)?;
        object_id.write("object_id", &mut object)?;
        position.write("position", &mut object)?;
        match action {
            Action::Dwell { dwell_ms } => dwell_ms.write("dwell_ms", &mut object)?,
            Action::Thumbs { up } => object.serialize_entry("value", up)?,
            Action::Rating { value, min, max } => {
                value.write("value", &mut object)?;
                min.write("min", &mut object)?;
                max.write("max", &mut object)?;
            }
            Action::Judgment { grade } => grade.write("value", &mut object)?,
            Action::Custom => object.serialize_entry("name", CUSTOM)?,
            Action::Conversion {
                amount: Some(Amount { value, currency }),
            } => {
                value.write("amount", &mut object)?;
                let code = std::str::from_utf8(currency).map_err(Error::custom)?;
                object.serialize_entry("currency", code)?;
            }
            Action::Impression
            | Action::Click
            | Action::Conversion { amount: None }
            | Action::Reformulation
            | Action::Comment => {}
        }
        if let Some(evaluation) = evaluation {
            evaluation.write_members(&mut object)?;
        }
        object.end()
    }
}

impl Evaluation<'_> {
    /// Writes the members of a judgment that has an evaluator.
    fn write_members<M: SerializeMap>(&self, object: &mut M) -> Result<(), M::Error> {
        let Self {
            target,
            name,
            evaluator,
            version,
            kind,
            request,
            scale,
            cost,
        } = self;
        let not_empty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let target = JudgmentTarget::NAMES.get(*target as usize);
        target.copied().write("target", object)?;
        not_empty(name).write("name", object)?;
        if !evaluator.is_empty() {
            let kind = EvaluatorKind::NAMES.get(*kind as usize).copied();
            let members = [
                ("id", not_empty(evaluator)),
                ("version", not_empty(version)),
                ("kind", kind.map(str::to_owned)),
            ];
            let members = members
                .into_iter()
                .filter_map(|(name, text)| Some((name, text?)));
            let evaluator: BTreeMap<&str, String> = members.collect();
            object.serialize_entry("evaluator", &evaluator)?;
        }
        request.write("request", object)?;
        if let Some((min, max)) = scale {
            min.write("min", object)?;
            max.write("max", object)?;
        }
        cost.write("cost", object)
    }
}

impl Serialize for Citation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.id.serialize(serializer)
    }
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl Serialize for Id<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl Serialize for Score<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Text(text) => text.serialize(serializer),
            Value::Number(number) => serializer.serialize_f64(*number),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Other => serializer.serialize_unit(),
        }
    }
}
