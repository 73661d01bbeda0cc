//! Feedback from OpenTelemetry: log events `gen_ai.evaluation.result`, and the annotations of
//! OpenInference on a span with one link to its target.
//!
//! Most evaluations come from models. Only those whose names are configured are feedback: of users, or
//! judgments with their evaluator.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::documents::unreadable;
use super::mapping::{Mapping, Session};
use super::span::{Bytes, hex};
use super::value::{Any, Raw};
use crate::decode::json::check_id;
use crate::event::{
    Action, Evaluation, EvaluatorKind, Feedback, Id, JudgmentTarget, Reason, RecordCounts,
    Rejection, Text,
};
use crate::time::EventTime;

/// Name of the log event with an evaluation.
const EVALUATION_RESULT: &str = "gen_ai.evaluation.result";

/// Id of an evaluator whose instrumentation scope has no name.
const UNNAMED: &str = "unnamed";

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
    /// Judgment of an answer or of a search by an evaluator: the instrumentation scope.
    Judgment {
        /// Judged object.
        target: JudgmentTarget,
        /// Kind of the evaluator, if the evaluation does not state it.
        kind: EvaluatorKind,
        /// Lowest value.
        min: f64,
        /// Highest value.
        max: f64,
    },
}

// Scales are read from a configuration, which holds finite numbers only.
impl Eq for FeedbackAction {}

impl FeedbackAction {
    /// Parses `thumbs`, `rating MIN..MAX` or `judgment [answer|search] [human|model|rule] [MIN..MAX]`; a
    /// judgment is by default one of an answer by a model, from 0 to 1.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        match words.next()? {
            "thumbs" => words.next().is_none().then_some(Self::Thumbs),
            "rating" => {
                let (min, max) = scale(words.next()?)?;
                words.next().is_none().then_some(Self::Rating { min, max })
            }
            "judgment" => {
                let (mut target, mut kind, mut given) = (None, None, None);
                for word in words {
                    let known = match (JudgmentTarget::named(word), EvaluatorKind::named(word)) {
                        // No span names the result that it judges.
                        (Some(JudgmentTarget::Result), _) => return None,
                        (Some(named), _) => target.replace(named).is_some(),
                        (None, Some(named)) => kind.replace(named).is_some(),
                        (None, None) => given.replace(scale(word)?).is_some(),
                    };
                    if known {
                        return None;
                    }
                }
                let (min, max) = given.unwrap_or((0.0, 1.0));
                Some(Self::Judgment {
                    target: target.unwrap_or(JudgmentTarget::Answer),
                    kind: kind.unwrap_or(EvaluatorKind::Model),
                    min,
                    max,
                })
            }
            _ => None,
        }
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
            Self::Rating { min, max } => {
                let value = score.ok_or_else(|| missing("a rating needs a score"))?;
                check_scale(value, (min, max))?;
                Ok(Action::Rating { value, min, max })
            }
            Self::Judgment { min, max, .. } => {
                let of_label = || {
                    let up = thumb(label?)?;
                    Some(if up { max } else { min })
                };
                let value = score.or_else(of_label);
                let value = value.ok_or_else(|| {
                    missing("a judgment needs a score, or a label such as pass and fail")
                })?;
                check_scale(value, (min, max))?;
                Ok(Action::Judgment { grade: value })
            }
        }
    }
}

/// Parses `MIN..MAX`.
fn scale(text: &str) -> Option<(f64, f64)> {
    let (min, max) = text.split_once("..")?;
    let number = |text: &str| text.parse::<f64>().ok().filter(|it| it.is_finite());
    let (min, max) = (number(min)?, number(max)?);
    (min < max).then_some((min, max))
}

fn check_scale(value: f64, (min, max): (f64, f64)) -> Result<(), Rejection> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(Rejection::new(
        Reason::BadValue,
        format_args!("score: {value} is not between {min} and {max}"),
    ))
}

/// Direction of a thumb by its label.
fn thumb(label: &str) -> Option<bool> {
    const UP: [&str; 9] = [
        "up",
        "pass",
        "passed",
        "thumbs_up",
        "thumbs-up",
        "positive",
        "good",
        "like",
        "true",
    ];
    const DOWN: [&str; 9] = [
        "down",
        "fail",
        "failed",
        "thumbs_down",
        "thumbs-down",
        "negative",
        "bad",
        "dislike",
        "false",
    ];
    let is_one_of = |labels: [&str; 9]| labels.iter().any(|it| it.eq_ignore_ascii_case(label));
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

/// Instrumentation scope of an item.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope<'a> {
    pub(super) name: Bytes<'a>,
    pub(super) version: Bytes<'a>,
}

/// Attributes of an item, in their order.
pub(super) type ItemAttributes<'a> = Vec<(Bytes<'a>, Raw<'a>)>;

/// Receiver of the items of a record, with their scopes and attributes.
pub(super) type VisitItem<'v, 'a> = dyn FnMut(&Item<'a>, &Scope<'a>, &ItemAttributes<'a>) + 'v;

/// Receiver of the feedback of a record, in its order.
pub(super) type VisitFeedback<'v> = dyn FnMut(Result<&Feedback<'_>, Rejection>) + 'v;

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
struct Annotation<'a> {
    level: Level,
    name: Option<Cow<'a, str>>,
    score: Option<f64>,
    label: Option<Cow<'a, str>>,
    identifier: Option<Cow<'a, str>>,
    /// `HUMAN`, `LLM` or `CODE`.
    annotator: Option<Cow<'a, str>>,
}

/// Passes the feedback in an item to `visit`, and counts its evaluations.
pub(super) fn read<'a>(
    (item, scope): (&Item<'a>, &Scope<'a>),
    attributes: &ItemAttributes<'a>,
    mapping: &Mapping,
    counts: &mut RecordCounts,
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
    let evaluations: Vec<Annotation<'a>> = match evaluations {
        Ok(evaluations) => evaluations,
        Err(rejection) => {
            counts.invalid_evaluations += 1;
            visit(Err(rejection.of_one_event()));
            return;
        }
    };
    if evaluations.is_empty() {
        counts.without_evaluation += 1;
    }
    for evaluation in evaluations {
        let name = evaluation.name.as_deref().unwrap_or_default();
        let Some(action) = mapping.feedback.get(name) else {
            counts.ignored_evaluations += 1;
            continue;
        };
        match feedback(
            &evaluation,
            (*action, scope),
            target,
            time,
            attributes,
            mapping,
        ) {
            Ok(feedback) => {
                counts.feedback += 1;
                visit(Ok(&feedback));
            }
            Err(rejection) => {
                counts.invalid_evaluations += 1;
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
) -> Result<Option<Annotation<'a>>, Rejection> {
    let is_evaluation = if event_name.is_empty() {
        get(attributes, "event.name")?.text().as_deref() == Some(EVALUATION_RESULT)
    } else {
        **event_name == *EVALUATION_RESULT.as_bytes()
    };
    if !is_evaluation {
        return Ok(None);
    }
    let member = |name: &str| get(attributes, &format!("gen_ai.evaluation.{name}"));
    Ok(Some(Annotation {
        level: Level::Span,
        name: member("name")?.text(),
        score: member("score.value")?.number(),
        label: member("score.label")?.scalar(),
        identifier: member("identifier")?.scalar(),
        annotator: None,
    }))
}

/// Reads `[trace.|session.]annotations.N.annotation.FIELD` and `….evaluations.N.evaluation.FIELD`.
fn annotations<'a>(attributes: &ItemAttributes<'a>) -> Result<Vec<Annotation<'a>>, Rejection> {
    let mut found: BTreeMap<(Level, bool, u32), Annotation<'a>> = BTreeMap::new();
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
            "annotator_kind" => evaluation.annotator = value.text(),
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
    evaluation: &Annotation<'a>,
    (action, scope): (FeedbackAction, &Scope<'a>),
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
    // The answer is that of another span of the trace than the one of the search.
    let is_of_answer = matches!(
        action,
        FeedbackAction::Judgment {
            target: JudgmentTarget::Answer,
            ..
        }
    ) && mapping.session == Session::Trace;
    let (query_id, session_id) = match (evaluation.level, target.span_id) {
        (Level::Span, Some(span_id)) if !is_of_answer => {
            trace.push('/');
            hex(&span_id, &mut trace);
            (Some(Id(Cow::Owned(trace))), None)
        }
        (Level::Span | Level::Trace | Level::Session, _) => {
            (None, Some(Id(session.unwrap_or(Cow::Owned(trace)))))
        }
    };
    let judgment = judged_by(evaluation, action, scope)?;
    let event_id = match &evaluation.identifier {
        Some(identifier) => identifier.clone(),
        None => Cow::Owned(event_id(target, evaluation, judgment.as_ref(), time)),
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
        evaluation: judgment.map(Box::new),
    })
}

/// Evaluator and subject of a judgment; `None` for an action of a user.
fn judged_by<'a>(
    evaluation: &Annotation<'a>,
    action: FeedbackAction,
    scope: &Scope<'a>,
) -> Result<Option<Evaluation<'a>>, Rejection> {
    let FeedbackAction::Judgment {
        target,
        kind,
        min,
        max,
    } = action
    else {
        return Ok(None);
    };
    let text = |bytes: &Bytes<'a>| match bytes {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(bytes).into_owned()),
    };
    let id = match text(&scope.name) {
        name if name.is_empty() => Cow::Borrowed(UNNAMED),
        name => name,
    };
    check_id("scope.name", &id)?;
    let version = text(&scope.version);
    if !version.is_empty() {
        check_id("scope.version", &version)?;
    }
    Ok(Some(Evaluation {
        request: None,
        cost: None,
        target,
        name: Text(evaluation.name.clone().unwrap_or_default()),
        evaluator: Id(id),
        version: Id(version),
        kind: match evaluation.annotator.as_deref() {
            Some("HUMAN") => EvaluatorKind::Human,
            Some("LLM") => EvaluatorKind::Model,
            Some("CODE") => EvaluatorKind::Rule,
            _ => kind,
        },
        scale: Some((min, max)),
    }))
}

/// Id of an evaluation without an identifier: its target, its time, its name and its evaluator.
fn event_id(
    target: Target,
    evaluation: &Annotation<'_>,
    judgment: Option<&Evaluation<'_>>,
    time: u64,
) -> String {
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
    if let Some(judgment) = judgment {
        id.push('/');
        id.extend(judgment.evaluator.chars().take(40));
    }
    id
}
