//! Members of native feedback events, before they are checked.

use serde::Deserialize;

use crate::decode::action::{ActionName, FeedbackValue};
use crate::event::{Attributes, Cost, Id, Text};
use crate::time::EventTime;

/// Evaluator of a judgment.
#[derive(Default, Deserialize)]
pub(in crate::decode) struct EvaluatorWire<'a> {
    #[serde(borrow)]
    pub(in crate::decode) id: Id<'a>,
    #[serde(borrow, default)]
    pub(in crate::decode) version: Option<Id<'a>>,
    #[serde(borrow, default)]
    pub(in crate::decode) kind: Option<Text<'a>>,
}

/// Feedback event.
#[derive(Default, Deserialize)]
pub(in crate::decode) struct FeedbackWire<'a> {
    #[serde(borrow)]
    pub(in crate::decode) event_id: Id<'a>,
    #[serde(deserialize_with = "crate::event::read::deserialize_time")]
    pub(in crate::decode) ts: EventTime,
    #[serde(rename = "type")]
    pub(in crate::decode) action: ActionName,
    #[serde(borrow, default)]
    pub(in crate::decode) query_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    pub(in crate::decode) session_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    pub(in crate::decode) object_id: Option<Id<'a>>,
    #[serde(default)]
    pub(in crate::decode) position: Option<u32>,
    #[serde(default)]
    pub(in crate::decode) value: Option<FeedbackValue>,
    #[serde(default)]
    pub(in crate::decode) min: Option<f64>,
    #[serde(default)]
    pub(in crate::decode) max: Option<f64>,
    #[serde(default)]
    pub(in crate::decode) dwell_ms: Option<f64>,
    #[serde(default)]
    pub(in crate::decode) amount: Option<f64>,
    #[serde(borrow, default)]
    pub(in crate::decode) currency: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(in crate::decode) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(in crate::decode) target: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(in crate::decode) request: Option<Text<'a>>,
    #[serde(
        borrow,
        default,
        deserialize_with = "crate::event::read::optional_boxed_object"
    )]
    pub(in crate::decode) evaluator: Option<Box<EvaluatorWire<'a>>>,
    #[serde(
        borrow,
        default,
        deserialize_with = "crate::event::read::optional_object"
    )]
    pub(in crate::decode) cost: Option<Cost<'a>>,
    // Known fields that no metric uses. They are parsed so that a wrong type is reported.
    #[serde(borrow, default)]
    pub(in crate::decode) comment: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(in crate::decode) client_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    pub(in crate::decode) user_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    pub(in crate::decode) trace_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    pub(in crate::decode) application: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(in crate::decode) labels: Option<Attributes<'a>>,
    #[serde(borrow, default, deserialize_with = "crate::event::read::attributes")]
    pub(in crate::decode) attrs: Option<Attributes<'a>>,
}
