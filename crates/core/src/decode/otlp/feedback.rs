//! Feedback from OpenTelemetry: log events `gen_ai.evaluation.result`, and the annotations of
//! OpenInference on a span with one link to its target.
//!
//! Most evaluations come from models. Only those whose names are configured are users.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::documents::unreadable;
use super::mapping::{Mapping, Session};
use super::span::{Bytes, hex};
use super::value::{Any, Raw};
use crate::decode::json::check_id;
use crate::event::{Action, EvaluationCounts, Feedback, Id, Reason, Rejection};
use crate::time::EventTime;

/// Name of the log event with an evaluation.
const EVALUATION_RESULT: &str = "gen_ai.evaluation.result";

/// Action that an evaluation stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FeedbackAction {
    /// Thumbs up for a score above 0, thumbs down for any other.
    Thumbs,
    /// Rating on a scale.
    Rating {
        /// Lowest value.
        min: f64,
        /// Highest value.
        max: f64,
    },
}

// Scales are read from a configuration, which holds finite numbers only.
impl Eq for FeedbackAction {}

impl FeedbackAction {
    /// Parses `thumbs` or `rating MIN..MAX`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "thumbs" {
            return Some(Self::Thumbs);
        }
        let (min, max) = text.strip_prefix("rating ")?.trim().split_once("..")?;
        let number = |text: &str| text.parse::<f64>().ok().filter(|it| it.is_finite());
        let (min, max) = (number(min)?, number(max)?);
        (min < max).then_some(Self::Rating { min, max })
    }

    /// Returns the action with this score and this label.
    fn action(self, score: Option<f64>, label: Option<&str>) -> Result<Action, Rejection> {
        let missing = |detail: &str| Rejection::new(Reason::MissingField, detail);
        match self {
            Self::Thumbs => {
                let up = match (score, label) {
                    (Some(score), _) => score > 0.0,
                    (None, Some(label)) => thumb(label).ok_or_else(|| {
                        Rejection::new(
                            Reason::BadValue,
                            format_args!("label: \"{label}\" is neither up nor down"),
                        )
                    })?,
                    (None, None) => return Err(missing("a thumb needs a score or a label")),
                };
                Ok(Action::Thumbs { up })
            }
            Self::Rating { min, max } => match score {
                None => Err(missing("a rating needs a score")),
                Some(value) if (min..=max).contains(&value) => {
                    Ok(Action::Rating { value, min, max })
                }
                Some(value) => Err(Rejection::new(
                    Reason::BadValue,
                    format_args!("score: {value} is not between {min} and {max}"),
                )),
            },
        }
    }
}

/// Direction of a thumb by its label.
fn thumb(label: &str) -> Option<bool> {
    const UP: [&str; 7] = [
        "up",
        "thumbs_up",
        "thumbs-up",
        "positive",
        "good",
        "like",
        "true",
    ];
    const DOWN: [&str; 7] = [
        "down",
        "thumbs_down",
        "thumbs-down",
        "negative",
        "bad",
        "dislike",
        "false",
    ];
    let is_one_of = |labels: [&str; 7]| labels.iter().any(|it| it.eq_ignore_ascii_case(label));
    if is_one_of(UP) {
        Some(true)
    } else {
        is_one_of(DOWN).then_some(false)
    }
}

/// Trace and span that an evaluation is about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Target {
    pub(super) trace_id: Option<[u8; 16]>,
    pub(super) span_id: Option<[u8; 8]>,
}

/// Log record or span of a feedback topic.
#[derive(Debug)]
pub(super) enum Item<'a> {
    /// Log record.
    Log {
        event_name: Bytes<'a>,
        target: Target,
        time: u64,
    },
    /// Span. Without exactly one link, it annotates nothing.
    Span { link: Option<Target>, time: u64 },
}

/// Attributes of an item, in their order.
pub(super) type ItemAttributes<'a> = Vec<(Bytes<'a>, Raw<'a>)>;

/// Receiver of the feedback of a record, in its order.
pub type VisitFeedback<'v> = dyn FnMut(Result<&Feedback<'_>, Rejection>) + 'v;

/// Level that an evaluation is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    #[default]
    Span,
    Trace,
    Session,
}

/// Evaluation or annotation.
#[derive(Debug, Default)]
struct Evaluation<'a> {
    level: Level,
    name: Option<Cow<'a, str>>,
    score: Option<f64>,
    label: Option<Cow<'a, str>>,
    identifier: Option<Cow<'a, str>>,
}

/// Passes the feedback in an item to `visit`, and counts its evaluations.
pub(super) fn read<'a>(
    item: &Item<'a>,
    attributes: &ItemAttributes<'a>,
    mapping: &Mapping,
    counts: &mut EvaluationCounts,
    visit: &mut VisitFeedback<'_>,
) {
    let (target, time, evaluations) = match item {
        Item::Log {
            event_name,
            target,
            time,
        } => {
            let evaluation = of_log(event_name, attributes);
            (
                *target,
                *time,
                evaluation.map(|it| it.into_iter().collect()),
            )
        }
        Item::Span {
            link: Some(link),
            time,
        } => (*link, *time, annotations(attributes)),
        Item::Span { link: None, .. } => (Target::default(), 0, Ok(Vec::new())),
    };
    let evaluations: Vec<Evaluation<'a>> = match evaluations {
        Ok(evaluations) => evaluations,
        Err(rejection) => {
            counts.invalid += 1;
            visit(Err(rejection.of_one_event()));
            return;
        }
    };
    if evaluations.is_empty() {
        counts.other += 1;
    }
    for evaluation in evaluations {
        let name = evaluation.name.as_deref().unwrap_or_default();
        let Some(action) = mapping.feedback.get(name) else {
            counts.ignored += 1;
            continue;
        };
        match feedback(&evaluation, *action, target, time, attributes, mapping) {
            Ok(feedback) => {
                counts.feedback += 1;
                visit(Ok(&feedback));
            }
            Err(rejection) => {
                counts.invalid += 1;
                visit(Err(rejection.placed_at(name).of_one_event()));
            }
        }
    }
}

fn get<'a>(attributes: &ItemAttributes<'a>, name: &str) -> Result<Any<'a>, Rejection> {
    let mut found = attributes.iter();
    let found = found.find(|(key, _)| **key == *name.as_bytes());
    found.map_or(Ok(Any::Empty), |(_, value)| {
        value.decode().map_err(|problem| unreadable(name, &problem))
    })
}

/// Reads the evaluation in a log record; `None` if it is another event.
fn of_log<'a>(
    event_name: &Bytes<'a>,
    attributes: &ItemAttributes<'a>,
) -> Result<Option<Evaluation<'a>>, Rejection> {
    let is_evaluation = if event_name.is_empty() {
        get(attributes, "event.name")?.text().as_deref() == Some(EVALUATION_RESULT)
    } else {
        **event_name == *EVALUATION_RESULT.as_bytes()
    };
    if !is_evaluation {
        return Ok(None);
    }
    let member = |name: &str| get(attributes, &format!("gen_ai.evaluation.{name}"));
    Ok(Some(Evaluation {
        level: Level::Span,
        name: member("name")?.text(),
        score: member("score.value")?.number(),
        label: member("score.label")?.scalar(),
        identifier: member("identifier")?.scalar(),
    }))
}

/// Reads `[trace.|session.]annotations.N.annotation.FIELD` and `….evaluations.N.evaluation.FIELD`.
fn annotations<'a>(attributes: &ItemAttributes<'a>) -> Result<Vec<Evaluation<'a>>, Rejection> {
    let mut found: BTreeMap<(Level, bool, u32), Evaluation<'a>> = BTreeMap::new();
    for (key, value) in attributes {
        let Ok(key) = std::str::from_utf8(key) else {
            continue;
        };
        let Some((place, field)) = annotation_key(key) else {
            continue;
        };
        let value = value
            .decode()
            .map_err(|problem| unreadable(key, &problem))?;
        let evaluation = found.entry(place).or_default();
        evaluation.level = place.0;
        match field {
            "name" => evaluation.name = value.text(),
            "score" => evaluation.score = value.number(),
            "label" => evaluation.label = value.scalar(),
            "identifier" => evaluation.identifier = value.scalar(),
            _ => {}
        }
    }
    Ok(found.into_values().collect())
}

fn annotation_key(key: &str) -> Option<((Level, bool, u32), &str)> {
    let (level, rest) = if let Some(rest) = key.strip_prefix("trace.") {
        (Level::Trace, rest)
    } else if let Some(rest) = key.strip_prefix("session.") {
        (Level::Session, rest)
    } else {
        (Level::Span, key)
    };
    let (is_evaluation, rest) = match rest.strip_prefix("annotations.") {
        Some(rest) => (false, rest),
        None => (true, rest.strip_prefix("evaluations.")?),
    };
    let (position, rest) = rest.split_once('.')?;
    let noun = if is_evaluation {
        "evaluation."
    } else {
        "annotation."
    };
    Some((
        (level, is_evaluation, position.parse().ok()?),
        rest.strip_prefix(noun)?,
    ))
}

fn feedback<'a>(
    evaluation: &Evaluation<'a>,
    action: FeedbackAction,
    target: Target,
    time: u64,
    attributes: &ItemAttributes<'a>,
    mapping: &Mapping,
) -> Result<Feedback<'a>, Rejection> {
    let missing = |detail: &str| Rejection::new(Reason::MissingField, detail);
    let Some(trace_id) = target.trace_id else {
        return Err(missing("no trace: a trace id of 16 bytes is required"));
    };
    if time == 0 {
        return Err(missing("no time"));
    }
    let mut trace = String::with_capacity(49);
    hex(&trace_id, &mut trace);
    let session = match (evaluation.level, mapping.session) {
        (Level::Session, Session::SessionId) => get(attributes, "session.id")?.text(),
        (Level::Trace | Level::Session | Level::Span, _) => None,
    };
    let (query_id, session_id) = match (evaluation.level, target.span_id) {
        (Level::Span, Some(span_id)) => {
            trace.push('/');
            hex(&span_id, &mut trace);
            (Some(Id(Cow::Owned(trace))), None)
        }
        (Level::Span | Level::Trace | Level::Session, _) => {
            (None, Some(Id(session.unwrap_or(Cow::Owned(trace)))))
        }
    };
    let event_id = match &evaluation.identifier {
        Some(identifier) => identifier.clone(),
        None => Cow::Owned(event_id(target, evaluation, time)),
    };
    check_id("identifier", &event_id)?;
    if let Some(session) = &session_id {
        check_id("session_id", session)?;
    }
    let label = evaluation.label.as_deref();
    Ok(Feedback {
        event_id: Id(event_id),
        ts: EventTime(i64::try_from(time / 1_000_000).unwrap_or(i64::MAX)),
        query_id,
        session_id,
        object_id: None,
        position: None,
        action: action.action(evaluation.score, label)?,
        evaluation: None,
    })
}

/// Id of an evaluation without an identifier: its target, its name and its time.
fn event_id(target: Target, evaluation: &Evaluation<'_>, time: u64) -> String {
    let mut id = String::with_capacity(64);
    hex(&target.trace_id.unwrap_or_default(), &mut id);
    hex(&target.span_id.unwrap_or_default(), &mut id);
    let level = match evaluation.level {
        Level::Span => 's',
        Level::Trace => 't',
        Level::Session => 'u',
    };
    id.push(level);
    hex(&time.to_be_bytes(), &mut id);
    id.extend(
        evaluation
            .name
            .iter()
            .flat_map(|name| name.chars())
            .take(40),
    );
    id
}
