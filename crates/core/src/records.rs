//! Records of the topics: decoded, then applied to an engine.

use smallvec::SmallVec;

use crate::decode::{Decoded, Encoded, Event, EventRef, Formats};
use crate::engine::effects::{GroupEffects, JudgedSearch, RecordEffect};
use crate::engine::id::{SearchIds, Target};
use crate::engine::{Engine, Position, RecordInput};
use crate::event::{Feedback, Kind, RecordCounts, RecordOutcome, Rejection, Search};

/// Record that is rejected as a whole or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRecord {
    /// Kind of its topic.
    pub kind: Kind,
    /// Position of the record.
    pub at: Position,
    /// Rejection of the record, or of the first rejected one of its events.
    pub rejection: Rejection,
    /// True if none of its events was accepted.
    pub is_whole: bool,
    /// True if the record was read before, by this engine or a previous owner of its partition.
    pub is_read_again: bool,
}

/// Decodes records and applies them to `engine`, in groups of [`Engine::MAX_GROUP`]. Their memory accesses
/// overlap, and the code of each step stays in the processor's cache. After a group was applied,
/// passes each of its events with its position to `consume`, and the judged search of a search that
/// was judged and counted for the first time.
///
/// Returns the rejected records with their places in `records`. They are counted.
pub fn apply<'a, R: Into<Encoded<'a>>>(
    engine: &mut Engine,
    formats: &'a Formats,
    records: impl IntoIterator<Item = (Kind, Position, R)>,
    mut consume: impl FnMut(Position, EventRef<'_>, Option<JudgedSearch<'_>>),
) -> Vec<(usize, RejectedRecord)> {
    let limits = engine.acceptance().limits;
    let decoded = records.into_iter().map(|(kind, at, record)| {
        let record = record.into();
        let content = match formats.event(kind, record, &limits) {
            Ok(Decoded::Event(Event::Search(event))) => {
                let ids = SearchIds::of(&event);
                Content::Search(event, ids)
            }
            Ok(Decoded::Event(Event::Feedback(event))) => {
                let target = Target::of(&event);
                Content::Feedback(event, target)
            }
            Ok(Decoded::Ignored) => Content::Ignored,
            Ok(Decoded::Several) => Content::Several(record),
            Err(rejection) => {
                let kind = formats.probable_kind(kind, record.payload);
                let content = Content::Rejected(rejection);
                return Record { kind, at, content };
            }
        };
        Record { kind, at, content }
    });
    let decoded: Vec<Record<'_>> = decoded.collect();
    let mut all_rejected = Vec::new();
    let mut place = 0;
    for group in decoded.chunk_by(|a, b| a.input().is_some() && b.input().is_some()) {
        if let [
            record @ Record {
                content: Content::Ignored,
                ..
            },
        ] = group
        {
            apply_ignored(engine, record);
        } else if let [record] = group
            && let Content::Several(encoded) = record.content
        {
            let rejected = apply_several(engine, formats, record, encoded, &mut consume);
            all_rejected.extend(rejected.map(|rejected| (place, rejected)));
        } else {
            let inputs = group.iter().filter_map(Record::input);
            let inputs: SmallVec<[_; Engine::MAX_GROUP]> = inputs.collect();
            let effects = engine.apply_group(&inputs);
            report(effects, &mut consume, |index, rejected| {
                all_rejected.push((place + index, rejected));
            });
        }
        place += group.len();
    }
    all_rejected
}

struct Record<'a> {
    kind: Kind,
    at: Position,
    content: Content<'a>,
}

/// Content of a record, as far as it is decoded before it is applied.
enum Content<'a> {
    Search(Box<Search<'a>>, SearchIds),
    Feedback(Feedback<'a>, Option<Target>),
    Rejected(Rejection),
    /// Record of a format whose records hold any number of events. They are decoded when they are
    /// applied.
    Several(Encoded<'a>),
    /// Record that the mapping of its format does not select.
    Ignored,
}

impl Record<'_> {
    /// Returns the input of a record with one event; `None` for a record that can have several.
    fn input(&self) -> Option<RecordInput<'_>> {
        let (kind, at) = (self.kind, self.at);
        Some(match &self.content {
            Content::Search(event, ids) => RecordInput::Search {
                at,
                event,
                ids: *ids,
            },
            Content::Feedback(event, target) => RecordInput::Feedback {
                at,
                event,
                target: *target,
            },
            Content::Rejected(rejection) => RecordInput::Rejected {
                kind,
                at,
                rejection,
            },
            Content::Several(_) | Content::Ignored => return None,
        })
    }
}

fn apply_ignored(engine: &mut Engine, record: &Record<'_>) {
    let (kind, at) = (record.kind, record.at);
    let end = RecordInput::End {
        outcome: RecordOutcome::Ignored,
        counts: RecordCounts::default(),
    };
    for input in [RecordInput::Start { kind, at }, end] {
        engine.apply_group(&[input]);
    }
}

/// Decodes the events of a record and applies them one by one. Returns the rejection of the record,
/// or of the first rejected event.
fn apply_several(
    engine: &mut Engine,
    formats: &Formats,
    record: &Record<'_>,
    encoded: Encoded<'_>,
    consume: &mut impl FnMut(Position, EventRef<'_>, Option<JudgedSearch<'_>>),
) -> Option<RejectedRecord> {
    let (kind, at) = (record.kind, record.at);
    let acceptance = engine.acceptance();
    let mut first: Option<RejectedRecord> = None;
    let mut is_whole = true;
    let mut apply = |input: RecordInput<'_>| {
        let is_event = matches!(
            input,
            RecordInput::Search { .. } | RecordInput::Feedback { .. }
        );
        let mut is_rejected = false;
        report(engine.apply_group(&[input]), consume, |_, rejected| {
            is_rejected = true;
            first.get_or_insert(rejected);
        });
        is_whole &= is_rejected || !is_event;
    };
    apply(RecordInput::Start { kind, at });
    let mut has_events = false;
    let decoded = formats.events(kind, encoded, &acceptance, &mut |event| {
        has_events = true;
        match event {
            Ok(EventRef::Search(event)) => apply(RecordInput::Search {
                at,
                event,
                ids: SearchIds::of(event),
            }),
            Ok(EventRef::Feedback(event)) => apply(RecordInput::Feedback {
                at,
                event,
                target: Target::of(event),
            }),
            Err(rejection) => apply(RecordInput::Rejected {
                kind,
                at,
                rejection: &rejection,
            }),
        }
    });
    let outcome = match &decoded {
        Ok(_) if has_events => RecordOutcome::Used,
        Ok(counts) if counts.ignored > 0 => RecordOutcome::Ignored,
        Ok(_) => RecordOutcome::WithoutEvents,
        Err(_) => RecordOutcome::Invalid,
    };
    let counts = decoded.unwrap_or_else(|rejection| {
        apply(RecordInput::Rejected {
            kind,
            at,
            rejection: &rejection,
        });
        RecordCounts::default()
    });
    apply(RecordInput::End { outcome, counts });
    first.map(|rejected| RejectedRecord {
        is_whole,
        ..rejected
    })
}

/// Passes the events of a group of inputs to `consume`, and the rejected ones with their index to
/// `reject`.
fn report(
    effects: GroupEffects<'_>,
    consume: &mut impl FnMut(Position, EventRef<'_>, Option<JudgedSearch<'_>>),
    mut reject: impl FnMut(usize, RejectedRecord),
) {
    for (index, (input, effect)) in effects.iter().enumerate() {
        let (kind, at) = match *input {
            RecordInput::Search { at, event, .. } => {
                let judged = match effect {
                    RecordEffect::Judged(judged) => Some(judged),
                    RecordEffect::None | RecordEffect::Rejected { .. } => None,
                };
                consume(at, EventRef::Search(event), judged);
                (Kind::Search, at)
            }
            RecordInput::Feedback { at, event, .. } => {
                consume(at, EventRef::Feedback(event), None);
                (Kind::Feedback, at)
            }
            RecordInput::Rejected { kind, at, .. } => (kind, at),
            RecordInput::Start { .. } | RecordInput::End { .. } => continue,
        };
        if let RecordEffect::Rejected {
            rejection,
            is_read_again,
        } = effect
        {
            let rejected = RejectedRecord {
                kind,
                at,
                rejection: rejection.clone(),
                is_whole: true,
                is_read_again,
            };
            reject(index, rejected);
        }
    }
}
