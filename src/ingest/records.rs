//! Records of the worker: decoded, then fed to an engine.

use jiff::Timestamp;

use rankgauge_core::decode::{Event, Formats};
use rankgauge_core::engine::id::{SearchIds, Target};
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::{
    Acceptance, Feedback, Kind, Limits, Reason, RecordCounts, RecordOutcome, Rejection, Search,
};
use rankgauge_core::time::EventTime;

/// Maximum number of records that are taken together. Their memory accesses overlap, and the code of
/// each step stays in the processor's cache.
pub const MAX_GROUP: usize = 16;

/// Rejection of a record, or of one of its events.
pub(super) struct Refusal {
    pub(super) why: Rejection,
    /// False if the record has other events, which are counted.
    pub(super) is_whole_record: bool,
}

/// Conditions under which `engine` accepts records.
pub(super) fn acceptance(engine: &Engine) -> Acceptance {
    Acceptance {
        limits: engine.record_limits(),
        has_gold_texts: engine.has_gold_texts(),
    }
}

/// Decodes one record and feeds it to the engine.
///
/// # Errors
/// The reason for the rejection of the record, or of the first rejected event of a record with
/// several. What is rejected is counted.
pub fn take(
    engine: &mut Engine,
    formats: &Formats,
    kind: Kind,
    at: Position,
    payload: &[u8],
) -> Result<(), Rejection> {
    let decoded = Decoded::of(formats, kind, payload, &engine.record_limits());
    let applied = decoded.apply(engine, formats, kind, at, |_| ());
    applied.map_err(|refusal| refusal.why)
}

/// Decodes records and feeds them to the engine as a worker does: together.
///
/// # Errors
/// The reason for the rejection of the first rejected record. What is rejected is counted.
pub fn take_group<'a>(
    engine: &mut Engine,
    formats: &Formats,
    records: impl Iterator<Item = (Kind, Position, &'a [u8])>,
) -> Result<(), Rejection> {
    let mut outcome = Ok(());
    for (kind, at, decoded) in decode_group(engine, formats, records) {
        let applied = decoded.apply(engine, formats, kind, at, |_| ());
        outcome = outcome.and(applied.map_err(|refusal| refusal.why));
    }
    outcome
}

/// Decodes records, and lets the engine prepare them.
pub(super) fn decode_group<'a>(
    engine: &mut Engine,
    formats: &Formats,
    records: impl Iterator<Item = (Kind, Position, &'a [u8])>,
) -> Vec<(Kind, Position, Decoded<'a>)> {
    let limits = engine.record_limits();
    let decoded = records.map(|(kind, at, payload)| {
        let decoded = Decoded::of(formats, kind, payload, &limits);
        (kind, at, decoded)
    });
    let decoded: Vec<_> = decoded.collect();
    engine.prepare(decoded.iter().filter_map(|(_, at, it)| it.input(*at)));
    decoded
}

/// Decoded event, as it is noted.
pub(super) enum Noted<'a> {
    Search(&'a Search<'a>),
    Feedback(&'a Feedback<'a>),
}

/// Decoded record.
pub(super) enum Decoded<'a> {
    Search(Box<Search<'a>>, SearchIds),
    Feedback(Feedback<'a>, Option<Target>),
    Rejected(Rejection),
    /// Record of a format whose records hold any number of events. They are decoded when they are
    /// applied.
    Several(&'a [u8]),
}

impl<'a> Decoded<'a> {
    pub(super) fn of(formats: &Formats, kind: Kind, payload: &'a [u8], limits: &Limits) -> Self {
        match formats.event(kind, payload, limits) {
            Some(Ok(Event::Search(event))) => {
                let ids = SearchIds::of(&event);
                Self::Search(event, ids)
            }
            Some(Ok(Event::Feedback(event))) => {
                let target = Target::of(&event);
                Self::Feedback(event, target)
            }
            Some(Err(why)) => Self::Rejected(why),
            None => Self::Several(payload),
        }
    }

    /// Input for an event that is known before it is applied.
    pub(super) fn input(&self, at: Position) -> Option<Input<'_>> {
        match self {
            Self::Search(event, ids) => Some(Input::Search {
                at,
                event,
                ids: *ids,
            }),
            Self::Feedback(event, target) => Some(Input::Feedback {
                at,
                event,
                target: *target,
            }),
            Self::Rejected(_) | Self::Several(_) => None,
        }
    }

    /// Passes the events of the record to `note`, and feeds the record to the engine.
    pub(super) fn apply(
        &self,
        engine: &mut Engine,
        formats: &Formats,
        kind: Kind,
        at: Position,
        mut note: impl FnMut(Noted<'_>),
    ) -> Result<(), Refusal> {
        let refused = match self {
            Self::Search(search, ids) => {
                note(Noted::Search(search));
                apply_search(engine, at, search, *ids)
            }
            Self::Feedback(feedback, target) => {
                note(Noted::Feedback(feedback));
                apply_feedback(engine, at, feedback, *target)
            }
            Self::Rejected(why) => Some(reject(engine, kind, at, why.clone())),
            Self::Several(payload) => {
                return apply_several(engine, formats, kind, at, payload, note);
            }
        };
        refused.map_or(Ok(()), |why| {
            Err(Refusal {
                why,
                is_whole_record: true,
            })
        })
    }
}

/// Decodes the events of a record one by one, passes them to `note`, and feeds them to the engine.
fn apply_several(
    engine: &mut Engine,
    formats: &Formats,
    kind: Kind,
    at: Position,
    payload: &[u8],
    mut note: impl FnMut(Noted<'_>),
) -> Result<(), Refusal> {
    let acceptance = acceptance(engine);
    engine.apply(Input::Record { kind, at });
    let mut first = None;
    let mut has_events = false;
    let decoded = match kind {
        Kind::Search => formats.searches(payload, &acceptance, &mut |event| {
            has_events = true;
            let refused = match event {
                Ok(event) => {
                    note(Noted::Search(event));
                    apply_search(engine, at, event, SearchIds::of(event))
                }
                Err(why) => Some(reject(engine, kind, at, why)),
            };
            first = first.take().or(refused);
        }),
        Kind::Feedback => formats.feedback(payload, &acceptance.limits, &mut |event| {
            has_events = true;
            let refused = match event {
                Ok(event) => {
                    note(Noted::Feedback(event));
                    apply_feedback(engine, at, event, Target::of(event))
                }
                Err(why) => Some(reject(engine, kind, at, why)),
            };
            first = first.take().or(refused);
        }),
    };
    let outcome = match &decoded {
        Ok(_) if has_events => RecordOutcome::Used,
        Ok(_) => RecordOutcome::WithoutEvents,
        Err(_) => RecordOutcome::Invalid,
    };
    let counts = decoded.unwrap_or_else(|why| {
        first = Some(reject(engine, kind, at, why));
        RecordCounts::default()
    });
    engine.apply(Input::RecordRead { outcome, counts });
    first.map_or(Ok(()), |why| {
        Err(Refusal {
            why,
            is_whole_record: outcome == RecordOutcome::Invalid,
        })
    })
}

fn apply_search(
    engine: &mut Engine,
    at: Position,
    event: &Search<'_>,
    ids: SearchIds,
) -> Option<Rejection> {
    let reason = engine.apply(Input::Search { at, event, ids })?;
    Some(future_time(reason, event.ts))
}

fn apply_feedback(
    engine: &mut Engine,
    at: Position,
    event: &Feedback<'_>,
    target: Option<Target>,
) -> Option<Rejection> {
    let reason = engine.apply(Input::Feedback { at, event, target })?;
    Some(future_time(reason, event.ts))
}

/// Counts a rejected event or record.
fn reject(engine: &mut Engine, kind: Kind, at: Position, why: Rejection) -> Rejection {
    let reason = why.reason;
    engine.apply(Input::Rejected { kind, at, reason });
    why
}

/// Rejection of an event by the engine, which has counted it.
fn future_time(reason: Reason, EventTime(ts): EventTime) -> Rejection {
    Rejection {
        reason,
        detail: format!(
            "ts: {} is further ahead of the clock than engine.max_future_skew",
            Timestamp::from_millisecond(ts).map_or_else(|_| ts.to_string(), |ts| ts.to_string())
        ),
    }
}
