//! Records with several events: OpenTelemetry spans, counted exactly once for each record, span and
//! event, across restarts at any record.

use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::decode::otlp::Mapping;
use rankgauge_core::decode::{Format, Formats};
use rankgauge_core::engine::partition::{CommitPoint, Resume};
use rankgauge_core::engine::{Engine, Position, family};
use rankgauge_core::event::{Kind, SpanOutcome};
use rankgauge_core::records;
use serde_json::json;

use super::recovery::{restored, write};
use super::{
    FEEDBACK_WINDOW, START, World, accounted, difference, drain, outcome, read, settings, tick,
};
use crate::otel::messages::{record, span};

/// Span of a record.
#[derive(Clone, Debug)]
struct Draft {
    id: u8,
    /// Milliseconds relative to the wall clock.
    at: i64,
    what: SpanOutcome,
    documents: u8,
}

#[derive(Clone, Debug)]
enum Step {
    Spans(Vec<Draft>),
    Garbage(&'static str),
    Feedback { event: u8, id: u8, at: i64 },
    Tick(i64),
    Crash,
}

fn draft() -> impl Strategy<Value = Draft> {
    // Some spans are too far in the future when they are read first, and no longer when they are
    // read again.
    let at = prop_oneof![8 => -6_000..0_i64, 1 => -60_000..0_i64, 2 => 50_000..75_000_i64];
    let what = prop_oneof![
        8 => Just(SpanOutcome::Search),
        1 => Just(SpanOutcome::Invalid),
        1 => Just(SpanOutcome::WithoutDocuments),
        1 => Just(SpanOutcome::Ignored),
        1 => Just(SpanOutcome::Other),
    ];
    (0..30_u8, at, what, 0..4_u8).prop_map(|(id, at, what, documents)| Draft {
        id,
        at,
        what,
        documents,
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => vec(draft(), 0..6).prop_map(Step::Spans),
        1 => prop_oneof![Just(""), Just("{\"resourceSpans\": 1}"), Just("{\"resourceSpans\":[{")]
            .prop_map(Step::Garbage),
        6 => (any::<u8>(), 0..30_u8, -6_000..0_i64)
            .prop_map(|(event, id, at)| Step::Feedback { event, id, at }),
        5 => (0..12_000_i64).prop_map(Step::Tick),
        2 => Just(Step::Crash),
    ];
    vec(step, 1..80)
}

impl Draft {
    fn trace(&self, wall: i64) -> String {
        trace(self.id, wall + self.at)
    }

    fn write(&self, wall: i64) -> serde_json::Value {
        let kind = if self.what == SpanOutcome::Other {
            "CHAIN"
        } else {
            "RETRIEVER"
        };
        let text = ["용도지역 변경", "건폐율", "unknown"][usize::from(self.id) % 3];
        let mut attributes = vec![
            ("openinference.span.kind".to_owned(), json!(kind)),
            ("input.value".to_owned(), json!(text)),
        ];
        let has_documents = self.what != SpanOutcome::WithoutDocuments;
        for number in (0..=self.documents).filter(|_| has_documents) {
            let document = format!("d{}", (number + self.id) % 7);
            let key = format!("retrieval.documents.{number}.document.id");
            attributes.push((key, json!(document)));
        }
        let attributes: Vec<(&str, serde_json::Value)> = attributes
            .iter()
            .map(|(key, value)| (key.as_str(), value.clone()))
            .collect();
        let mut span = span(&attributes);
        let end = (START + wall + self.at) * 1_000_000;
        span["traceId"] = json!(self.trace(wall));
        span["startTimeUnixNano"] = json!((end - 20_000_000).to_string());
        span["endTimeUnixNano"] = json!(end.to_string());
        if self.what == SpanOutcome::Ignored {
            span["name"] = json!("Law._retrieve");
        }
        if self.what == SpanOutcome::Invalid {
            span["droppedAttributesCount"] = json!(1);
        }
        span
    }
}

/// Id of a trace. An id occurs again within ten seconds, and never later: a search that repeats the id
/// of another one after more than a feedback window is another search, unless the first one is open.
fn trace(id: u8, at: i64) -> String {
    let period = at.div_euclid(PERIOD) + 1_000;
    format!("{:032x}", period * 1_000 + i64::from(id))
}

/// Time within which an id occurs again.
const PERIOD: i64 = 10_000;

/// Last time at which the ids of `at` occur. Feedback has this time, so it is never earlier than its
/// search: a search can be read when earlier feedback on it is orphaned already, and after a restart
/// the feedback joins it (see the limits in docs/guarantees.md).
fn end_of_period(at: i64) -> i64 {
    at.div_euclid(PERIOD) * PERIOD + PERIOD - 1
}

fn formats() -> Formats {
    Formats {
        search: Format::OtlpJson,
        otlp: Mapping::default(),
        ..Formats::NATIVE
    }
}

/// Reader of one partition, whose engine can be replaced by one restored from its checkpoint.
struct Reader {
    world: World,
    engine: Engine,
    wall: i64,
    searches: Vec<String>,
    feedback: Vec<String>,
}

impl Reader {
    fn new() -> Self {
        let world = World::new(settings());
        let mut engine = world.engine();
        super::assign(&mut engine, 0);
        Self {
            world,
            engine,
            wall: 0,
            searches: Vec::new(),
            feedback: Vec::new(),
        }
    }

    fn read_search(&mut self, offset: usize) {
        let at = Position {
            partition: 0,
            offset: i64::try_from(offset).expect("a short log"),
        };
        let payload = self.searches[offset].as_bytes();
        let record = (Kind::Search, at, payload);
        records::apply(&mut self.engine, &formats(), [record], |_, _, _| ());
    }

    fn read_feedback(&mut self, offset: usize) {
        let number = i64::try_from(offset).expect("a short log");
        let payload = &self.feedback[offset];
        read(&mut self.engine, Kind::Feedback, 0, number, payload);
    }

    fn take(&mut self, step: &Step, crashes: bool) {
        match step {
            Step::Spans(drafts) => {
                let spans: Vec<_> = drafts.iter().map(|draft| draft.write(self.wall)).collect();
                self.searches.push(record(&spans).to_string());
                self.read_search(self.searches.len() - 1);
            }
            Step::Garbage(text) => {
                self.searches.push((*text).to_owned());
                self.read_search(self.searches.len() - 1);
            }
            Step::Feedback { event, id, at } => {
                let query = format!("{}/00f067aa0ba902b7", trace(*id, self.wall + at));
                let ts = START + end_of_period(self.wall + at);
                let event = json!({
                    "event_id": format!("e{event}"), "query_id": query, "ts": ts,
                    "type": "click", "object_id": "d1", "position": 1,
                });
                self.feedback.push(event.to_string());
                self.read_feedback(self.feedback.len() - 1);
            }
            Step::Tick(after) => {
                self.wall += after;
                tick(&mut self.engine, START + self.wall);
            }
            Step::Crash if crashes => self.restart(),
            Step::Crash => {}
        }
    }

    /// Continues in another process from the checkpoint of the present moment.
    fn restart(&mut self) {
        let bytes = write(&self.engine);
        self.world = World::new(settings());
        let (engine, points) = restored(&self.world, &bytes);
        self.engine = engine;
        tick(&mut self.engine, START + self.wall);
        let mut resume = Resume {
            counted: [Some(0); 2],
            ..Resume::default()
        };
        for point in &points {
            resume.add(point);
        }
        let rebuild = resume.rebuild;
        self.engine.apply(rankgauge_core::engine::Input::Assigned {
            partition: 0,
            resume,
        });
        let start =
            |kind: Kind| usize::try_from(rebuild[kind.index()].unwrap_or(0)).expect("not negative");
        for offset in start(Kind::Search)..self.searches.len() {
            self.read_search(offset);
        }
        for offset in start(Kind::Feedback)..self.feedback.len() {
            self.read_feedback(offset);
        }
    }

    fn spans(&self) -> [u64; 5] {
        let counters = self.engine.snapshot().totals.counters;
        let names = self.world.registry.series_labels(&family::SPANS);
        let counted = counters.of(&family::SPANS);
        SpanOutcome::ALL.map(|outcome| {
            let position = names
                .iter()
                .position(|labels| labels[0].position() == Some(outcome as usize));
            let count = position.and_then(|position| counted.get(position));
            u64::try_from(count.copied().unwrap_or(0)).expect("not negative")
        })
    }
}

/// Counts that the records lead to: records by outcome, spans by outcome, and events.
#[derive(Debug, Default, PartialEq, Eq)]
struct Expected {
    records: [u64; 4],
    spans: [u64; 5],
    events: u64,
}

impl Expected {
    fn add(&mut self, step: &Step) {
        match step {
            Step::Spans(drafts) => {
                let events = drafts.iter().filter(|draft| {
                    matches!(draft.what, SpanOutcome::Search | SpanOutcome::Invalid)
                });
                let events = u64::try_from(events.count()).expect("few");
                self.records[usize::from(events == 0)] += 1;
                self.events += events;
                for draft in drafts {
                    self.spans[draft.what as usize] += 1;
                }
            }
            Step::Garbage(_) => {
                self.records[2] += 1;
                self.events += 1;
            }
            Step::Feedback { .. } | Step::Tick(_) | Step::Crash => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn records_spans_and_events_are_conserved_across_restarts(steps in steps()) {
        let mut survivor = Reader::new();
        let mut victim = Reader::new();
        let mut expected = Expected::default();
        for step in &steps {
            survivor.take(step, false);
            victim.take(step, true);
            expected.add(step);
            for reader in [&survivor, &victim] {
                let snapshot = reader.engine.snapshot();
                let events = &snapshot.totals.events;
                let found = Expected {
                    records: events.records(Kind::Search).map(|(_, count)| count),
                    spans: reader.spans(),
                    events: accounted(&snapshot, Kind::Search),
                };
                prop_assert_eq!(&found, &expected);
                let [used, ..] = events.records(Kind::Feedback);
                prop_assert_eq!(used.1, accounted(&snapshot, Kind::Feedback));
            }
        }
        for reader in [&mut survivor, &mut victim] {
            drain(&mut [&mut reader.engine], 1, START + reader.wall + FEEDBACK_WINDOW);
        }
        let found = victim.world.samples(&victim.engine.snapshot());
        let expected = survivor.world.samples(&survivor.engine.snapshot());
        let differences = difference(&found, &expected);
        prop_assert!(differences.is_empty(), "{differences:#?}");
    }
}

fn spans_at(times: &[i64]) -> Step {
    let draft = |(id, at): (u8, &i64)| Draft {
        id,
        at: *at,
        what: SpanOutcome::Search,
        documents: 1,
    };
    Step::Spans((0..).zip(times).map(draft).collect())
}

/// A record at the end of a span of rejected records can hold an accepted event that is newer than
/// the oldest rejected one, because the clock has advanced in between.
#[test]
fn a_rejected_span_does_not_reject_its_neighbours_when_it_is_read_again() {
    let mut reader = Reader::new();
    for step in [
        spans_at(&[61_000]),
        Step::Tick(10_000),
        // Rejected as well, beside one that the clock has caught up with.
        spans_at(&[70_000, 59_000]),
        Step::Tick(1_000),
        spans_at(&[-1_000]),
    ] {
        reader.take(&step, false);
    }
    let pending = reader.engine.snapshot().pending;
    assert_eq!(pending[Kind::Search.index()], 2);
    reader.take(&Step::Crash, true);
    let snapshot = reader.engine.snapshot();
    assert_eq!(snapshot.pending, pending);
    assert_eq!(outcome(&snapshot, Kind::Search, "invalid"), 2);
}

#[test]
fn a_record_is_needed_until_its_last_span_is_closed() {
    let mut reader = Reader::new();
    reader.take(&spans_at(&[-40_000, -1_000]), false);
    reader.take(&spans_at(&[]), false);
    reader.take(&spans_at(&[0]), false);
    let rebuild = |reader: &Reader| {
        let points = reader.engine.commit_points();
        let point = |point: &&CommitPoint| point.kind == Kind::Search;
        let point = points.iter().find(point).expect("a point");
        (point.rebuild, point.counted)
    };
    // The first span is closed when the watermark passes its window; the second is pending.
    assert_eq!(rebuild(&reader), (0, 3));
    reader.take(&Step::Crash, true);
    assert_eq!(rebuild(&reader), (0, 3));
    assert_eq!(accounted(&reader.engine.snapshot(), Kind::Search), 3);
}
