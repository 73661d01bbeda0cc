//! Decoder of the native JSON events of `docs/events.md`.
//!
//! A record is decoded directly into structures that borrow from it, without a JSON tree. Usual records
//! are read by `fast`, all others by `serde_json`. Only if that fails as well is a record parsed once
//! more, to find the wrong field.

mod fast;
mod members;

use super::action::{ActionFields, ActionName, FeedbackValue, MAX_DURATION_MS};
use super::json::{bad, check_id, check_length, missing, parse_fast};
use crate::event::{
    Amount, Answer, Cost, Evaluation, EvaluatorKind, Feedback, Id, JudgmentTarget, Limits, Reason,
    Rejection, Search,
};
use crate::time::EventTime;

pub(super) use members::{EvaluatorWire, FeedbackWire};

/// Maximum number of tokens of one call. A higher value is a mistake and must not overflow sums.
pub(super) const MAX_TOKENS_PER_CALL: u64 = 1_000_000_000;

/// Maximum distance in a graph or depth in a hierarchy. A higher number is a mistake, and its square
/// would take up the range of sums.
const MAX_STEPS: u32 = 1_000;

/// Decodes a search.
///
/// # Errors
/// A [`Rejection`] that names the field.
pub fn search<'a>(payload: &'a [u8], limits: &Limits) -> Result<Box<Search<'a>>, Rejection> {
    checked_search(parse_fast(payload, limits, fast::search)?, limits)
}

/// Checks the fields of a search, and puts its results into served order.
///
/// # Errors
/// A [`Rejection`] that names the field.
pub(super) fn checked_search<'a>(
    mut search: Box<Search<'a>>,
    limits: &Limits,
) -> Result<Box<Search<'a>>, Rejection> {
    check_id("query_id", &search.query_id)?;
    check_time(search.ts)?;
    if search.query.is_none() && search.query_key.is_none() {
        return Err(Rejection::new(
            Reason::MissingField,
            "one of `query` and `query_key` is required",
        ));
    }
    search.session_id = session(search.session_id)?;
    check_length(search.results.len(), limits)?;
    if let Some(answer) = &search.answer {
        check_answer(answer, limits)?;
    }
    check_latency("latency_ms", search.latency_ms)?;
    for stage in search.stages.iter().flatten() {
        check_latency("stages[].latency_ms", stage.latency_ms)?;
    }
    check_cost("cost", search.cost.as_ref())?;
    for usage in search.usage.iter().flatten() {
        check_cost("usage[].cost", usage.cost.as_ref())?;
        let tokens = [
            ("usage[].input_tokens", usage.input_tokens),
            ("usage[].output_tokens", usage.output_tokens),
            (
                "usage[].cache_read_input_tokens",
                usage.cache_read_input_tokens,
            ),
            (
                "usage[].reasoning_output_tokens",
                usage.reasoning_output_tokens,
            ),
        ];
        for (field, count) in tokens {
            if count.is_some_and(|count| count > MAX_TOKENS_PER_CALL) {
                return Err(bad(field, "more tokens than a call can use"));
            }
        }
    }
    if search.page == Some(0) {
        return Err(bad("page", "pages are counted from 1"));
    }
    if search.page_size == Some(0) {
        return Err(bad("page_size", "at least 1 is expected"));
    }
    for hit in &search.results {
        if hit.rank == Some(0) {
            return Err(bad("results[].rank", "ranks are counted from 1"));
        }
        check_steps("results[].hops", hit.details().hops)?;
        check_steps("results[].depth", hit.details().depth)?;
    }
    // Served order: by rank where every result has one, else as listed.
    if search.results.iter().all(|hit| hit.rank.is_some())
        && !search.results.is_sorted_by_key(|hit| hit.rank)
    {
        search.results.sort_by_key(|hit| hit.rank);
    }
    Ok(search)
}

/// Decodes a feedback event.
///
/// # Errors
/// A [`Rejection`] that names the field.
pub fn feedback<'a>(payload: &'a [u8], limits: &Limits) -> Result<Feedback<'a>, Rejection> {
    checked_feedback(parse_fast(payload, limits, fast::feedback)?)
}

/// Checks the fields of a feedback event.
///
/// # Errors
/// A [`Rejection`] that names the field.
pub(super) fn checked_feedback(wire: FeedbackWire<'_>) -> Result<Feedback<'_>, Rejection> {
    check_id("event_id", &wire.event_id)?;
    check_time(wire.ts)?;
    if let Some(query_id) = &wire.query_id {
        check_id("query_id", query_id)?;
    }
    check_cost("cost", wire.cost.as_ref())?;
    let evaluation = evaluation(&wire)?;
    let session_id = session(wire.session_id)?;
    if wire.query_id.is_none() && session_id.is_none() {
        return Err(missing("query_id"));
    }
    if wire.position == Some(0) {
        return Err(bad("position", "positions are counted from 1"));
    }
    check_latency("dwell_ms", wire.dwell_ms)?;
    let target = evaluation.as_ref().map(|it| it.target).unwrap_or_default();
    let fields = ActionFields {
        action: wire.action,
        has_object: wire.object_id.is_some() || target != JudgmentTarget::Result,
        has_position: wire.position.is_some(),
        has_name: wire.name.is_some(),
        value: wire.value,
        min: wire.min,
        max: wire.max,
        dwell_ms: wire.dwell_ms,
        amount: amount(wire.amount, wire.currency.as_deref())?,
    };
    let action = fields.action()?;
    Ok(Feedback {
        event_id: wire.event_id,
        ts: wire.ts,
        query_id: wire.query_id,
        session_id,
        object_id: wire.object_id,
        position: wire.position,
        action,
        evaluation,
    })
}

/// Reads the evaluator of a judgment, and what it judges. A plain grade of a result has none.
fn evaluation<'a>(wire: &FeedbackWire<'a>) -> Result<Option<Box<Evaluation<'a>>>, Rejection> {
    if wire.action != ActionName::Judgment {
        return Ok(None);
    }
    let target = match wire.target.as_deref() {
        None => JudgmentTarget::Result,
        Some(name) => JudgmentTarget::named(name)
            .ok_or_else(|| bad("target", "result, answer or search is expected"))?,
    };
    let name = wire.name.clone().unwrap_or_default();
    if name.len() > MAX_NAME {
        return Err(bad("name", "at most 256 bytes are expected"));
    }
    if wire.cost.is_some() && wire.evaluator.is_none() {
        return Err(bad("cost", "a judgment with a cost states its `evaluator`"));
    }
    let request = wire.request.clone();
    if request.as_ref().is_some_and(|it| it.len() > MAX_REQUEST) {
        return Err(bad("request", "at most 4,096 bytes are expected"));
    }
    let is_plain = target == JudgmentTarget::Result
        && name.is_empty()
        && wire.evaluator.is_none()
        && request.is_none();
    if is_plain {
        return Ok(None);
    }
    let mut evaluation = Evaluation {
        target,
        name,
        request,
        cost: wire.cost.clone(),
        ..Evaluation::default()
    };
    if let Some(evaluator) = wire.evaluator.as_deref() {
        check_id("evaluator.id", &evaluator.id)?;
        evaluation.evaluator = evaluator.id.clone();
        evaluation.version = evaluator.version.clone().unwrap_or_default();
        if evaluation.version.len() > MAX_NAME {
            return Err(bad("evaluator.version", "at most 256 bytes are expected"));
        }
        let kind = evaluator.kind.as_deref();
        let kind = kind.ok_or_else(|| missing("evaluator.kind"))?;
        evaluation.kind = EvaluatorKind::named(kind)
            .ok_or_else(|| bad("evaluator.kind", "human, model or rule is expected"))?;
    }
    // Without a scale, the value of a result is a grade on the scale of the gold set.
    let is_grade = target == JudgmentTarget::Result
        && evaluation.name.is_empty()
        && (wire.min.is_none() || wire.max.is_none());
    if !is_grade {
        let (min, max) = (wire.min.unwrap_or(0.0), wire.max.unwrap_or(1.0));
        let value = match wire.value {
            Some(FeedbackValue::Number(value)) => value,
            // The check of the action reports it.
            Some(FeedbackValue::Bool(_)) | None => min,
        };
        if !(min < max && (min..=max).contains(&value)) {
            return Err(bad(
                "value",
                "a judgment lies between `min` (default 0) and `max` (default 1)",
            ));
        }
        evaluation.scale = Some((min, max));
    }
    Ok(Some(Box::new(evaluation)))
}

/// Maximum number of bytes of a request for a label.
const MAX_REQUEST: usize = 4_096;

/// Maximum number of bytes of a name.
const MAX_NAME: usize = 256;

/// Returns the session of an event. An empty id means that there is none.
fn session(id: Option<Id<'_>>) -> Result<Option<Id<'_>>, Rejection> {
    let Some(id) = id.filter(|id| !id.is_empty()) else {
        return Ok(None);
    };
    check_id("session_id", &id)?;
    Ok(Some(id))
}

/// Value of a conversion. The default currency is the US dollar, as for costs.
fn amount(value: Option<f64>, currency: Option<&str>) -> Result<Option<Amount>, Rejection> {
    let Some(value) = value else { return Ok(None) };
    if !(0.0..=1e9).contains(&value) {
        return Err(bad("amount", "between 0 and 10^9 is expected"));
    }
    let code: Option<[u8; 3]> = currency.unwrap_or("USD").as_bytes().try_into().ok();
    let code = code.filter(|code| code.iter().all(u8::is_ascii_uppercase));
    let Some(currency) = code else {
        return Err(bad(
            "currency",
            "a code of three capital letters is expected",
        ));
    };
    Ok(Some(Amount { value, currency }))
}

fn check_time(ts: EventTime) -> Result<(), Rejection> {
    if ts.0 < 0 {
        Err(bad("ts", "a time before 1970"))
    } else {
        Ok(())
    }
}

fn check_latency(field: &str, latency: Option<f64>) -> Result<(), Rejection> {
    match latency {
        Some(latency) if !(0.0..=MAX_DURATION_MS).contains(&latency) => {
            Err(bad(field, "between 0 and 30 days is expected"))
        }
        _ => Ok(()),
    }
}

fn check_answer(answer: &Answer<'_>, limits: &Limits) -> Result<(), Rejection> {
    let citations = answer.citations.as_deref().unwrap_or_default();
    if citations.len() <= limits.results_per_search {
        return Ok(());
    }
    Err(Rejection::new(
        Reason::TooManyResults,
        format_args!(
            "answer.citations: {} ids, limits.results_per_search is {}",
            citations.len(),
            limits.results_per_search
        ),
    ))
}

#[inline]
fn check_steps(field: &str, steps: Option<u32>) -> Result<(), Rejection> {
    match steps {
        Some(steps) if steps > MAX_STEPS => Err(bad(field, "between 0 and 1000 is expected")),
        _ => Ok(()),
    }
}

fn check_cost(field: &str, cost: Option<&Cost<'_>>) -> Result<(), Rejection> {
    let Some(cost) = cost else { return Ok(()) };
    if !(0.0..=1e9).contains(&cost.amount) {
        return Err(bad(field, "`amount` between 0 and 10^9 is expected"));
    }
    let code = cost.currency().as_bytes();
    if code.len() == 3 && code.iter().all(u8::is_ascii_uppercase) {
        return Ok(());
    }
    Err(bad(field, "`currency` is a code of three capital letters"))
}
