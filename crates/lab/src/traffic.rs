//! Endless, deterministic stream of searches and feedback over a [`Corpus`].
//!
//! Five system versions serve the same users. The quality of each search follows the evaluation
//! plan, by the corpus's gold set, and users react to the results. The stream has event time only:
//! its consumer decides the speed. The module is independent of Kafka.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::corpus::{Corpus, GoldQuery};
use super::quality::{Quality, Variant};
use super::serving::{QueryKind, Served, serve, total_hits};
use super::users::{ActionKind, SimulatedAction, simulate_user};
use super::wire::{Experiment, Feedback, Search, SearchLabels, Stamp, Value};
use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, Millis};

/// Probability that a search belongs to an existing session.
const SAME_SESSION: f64 = 0.45;
/// Time in which a session can continue, in seconds of event time.
const SESSION_SECONDS: f64 = 40.0;
/// Maximum number of records that wait for delivery. It bounds memory if too many searches occur
/// within the delay; the earliest records are then delivered early.
const MAX_PENDING_DELIVERIES: usize = 500_000;
/// Share of searches that interleave two rankings, and probability that the better result of a pair
/// belongs to the new ranker.
const INTERLEAVED: f64 = 0.05;
const NEW_IS_BETTER: f64 = 0.65;
const TEAMS: [&str; 2] = ["new", "old"];
const CLIENTS: u64 = 5_000;
const CHANNELS: [&str; 3] = ["web", "mobile", "api"];

/// Settings of the traffic. The same settings over the same corpus give the same bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrafficSettings {
    /// Seed of the random generator.
    pub seed: u64,
    /// Earliest time of the first search.
    pub start: EventTime,
    /// Mean number of searches per second of event time; 1 if it is not a positive number.
    pub searches_per_second: f64,
    /// Time after the start from which V5 ranks about like V2 (results of graph expansion and
    /// agents are irrelevant) and takes 40 % longer. `None`: never.
    pub regress_after: Option<Millis>,
    /// Time after the start from which V5 is as before the regression. `None`: never.
    pub repair_after: Option<Millis>,
    /// Share of searches, 0 to 1, for queries that are not in the gold set.
    pub unjudged_share: f64,
    /// Share of records, 0 to 1, that are delivered twice.
    pub duplicate_share: f64,
    /// Maximum delay of the delivery of a record after its event time, which is unchanged. With a
    /// delay, records arrive out of order. Zero or less: in order.
    pub disorder: Millis,
}

impl Default for TrafficSettings {
    /// Fifty searches a second from 17 November 2025, in order, each record once, without a
    /// regression; 8 % of the searches are unjudged.
    fn default() -> Self {
        Self {
            seed: 1,
            start: EventTime(1_763_337_600_000),
            searches_per_second: 50.0,
            regress_after: None,
            repair_after: None,
            unjudged_share: 0.08,
            duplicate_share: 0.0,
            disorder: Millis(0),
        }
    }
}

/// One record of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Kind of the record, which determines its topic.
    pub kind: Kind,
    /// Event time: the `ts` of the payload.
    pub ts: EventTime,
    /// Record key: the session. All searches of a session and their feedback share a partition.
    pub key: String,
    /// Event as native JSON.
    pub payload: Vec<u8>,
}

/// Endless stream of records in the order of their delivery. This is the order of their `ts` unless
/// [`TrafficSettings::disorder`] is set or 500,000 records wait, which takes thousands of searches
/// per second.
#[derive(Debug)]
pub struct Traffic {
    corpus: Arc<Corpus>,
    settings: TrafficSettings,
    quality: Quality,
    rng: ChaCha8Rng,
    /// Part of every id. It keeps the ids of two runs over the same cluster apart.
    run: String,
    /// Event time of the next search, in milliseconds after the start.
    clock_ms: f64,
    sessions: Vec<Session>,
    max_sessions: usize,
    /// Sessions that will reformulate their query, with the time.
    reformulations: BinaryHeap<ScheduledReformulation>,
    deliveries: BinaryHeap<Delivery>,
    /// Numbers of searches, sessions, feedback events and deliveries so far.
    searches: u64,
    all_sessions: u64,
    feedback: u64,
    delivered: u64,
    actions: Vec<SimulatedAction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Session {
    number: u64,
    variant: Variant,
}

/// Session that will reformulate its query; the earliest is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ScheduledReformulation {
    at: Reverse<EventTime>,
    session: Session,
}

/// Scheduled delivery. Feedback is serialised at delivery only, because minutes of it can be
/// waiting.
#[derive(Debug)]
struct Delivery {
    at: EventTime,
    /// Sequence number that breaks ties and keeps the order deterministic.
    number: u64,
    what: Event,
}

#[derive(Clone, Debug)]
enum Event {
    Search(Record),
    Feedback(Pending),
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    number: u64,
    search: u64,
    session: u64,
    ts: EventTime,
    /// Document of the user action, if it has one.
    document: Option<usize>,
    action: ActionKind,
}

impl Traffic {
    /// Stream over `corpus`. Finding the odds of the versions takes some tens of milliseconds.
    pub fn new(corpus: Arc<Corpus>, settings: TrafficSettings) -> Self {
        let rate = settings.searches_per_second;
        let settings = TrafficSettings {
            searches_per_second: if rate > 0.0 { rate } else { 1.0 },
            ..settings
        };
        let sessions = whole(settings.searches_per_second * SESSION_SECONDS).clamp(8, 100_000);
        Self {
            quality: Quality::fit(&corpus),
            corpus,
            settings,
            rng: ChaCha8Rng::seed_from_u64(settings.seed),
            run: format!("{:x}-{:x}", settings.seed, settings.start.0),
            clock_ms: 0.0,
            sessions: Vec::new(),
            max_sessions: usize::try_from(sessions).unwrap_or(8),
            reformulations: BinaryHeap::new(),
            deliveries: BinaryHeap::new(),
            searches: 0,
            all_sessions: 0,
            feedback: 0,
            delivered: 0,
            actions: Vec::new(),
        }
    }

    fn now(&self) -> EventTime {
        self.settings.start.plus(Millis(whole(self.clock_ms)))
    }

    /// Generates the next search and all user actions on it.
    fn search(&mut self) {
        let ts = self.now();
        let number = self.searches;
        self.searches += 1;
        let session = self.session();
        let passed = ts.since(self.settings.start);
        let is_past = |after: Option<Millis>| after.is_some_and(|after| passed >= after);
        let regressed = session.variant == Variant::V5
            && is_past(self.settings.regress_after)
            && !is_past(self.settings.repair_after);

        let corpus = Arc::clone(&self.corpus);
        let (query_kind, query, query_key) = self.question(&corpus);
        let mut served = serve(
            &corpus,
            &self.quality,
            (session.variant, regressed),
            query_kind,
            &mut self.rng,
        );
        if self.rng.random::<f64>() < INTERLEAVED {
            self.interleave(&mut served);
        }
        let record = self.search_record(number, ts, session, (query, query_key), &served);
        self.deliver(ts, Event::Search(record));

        let mut actions = std::mem::take(&mut self.actions);
        let grades = served.grades.iter().map(|&(_, grade)| grade);
        if let Some(after_ms) = simulate_user(&grades, &mut self.rng, &mut actions) {
            let at = ts.plus(Millis(after_ms));
            self.reformulations.push(ScheduledReformulation {
                at: Reverse(at),
                session,
            });
        }
        for simulated in actions.drain(..) {
            let ts = ts.plus(Millis(simulated.after_ms));
            let document = simulated
                .action
                .place()
                .and_then(|place| served.grades.get(place));
            let pending = Pending {
                number: self.feedback,
                search: number,
                session: session.number,
                ts,
                document: document.map(|&(document, _)| document),
                action: simulated.action,
            };
            self.feedback += 1;
            self.deliver(ts, Event::Feedback(pending));
        }
        self.actions = actions;

        // Searches are independent of each other: the gaps are exponential.
        let gap = -(1.0 - self.rng.random::<f64>()).ln();
        self.clock_ms += gap * 1_000.0 / self.settings.searches_per_second;
    }

    /// Assigns the results to two teams, in pairs.
    fn interleave(&mut self, served: &mut Served<'_>) {
        let grades: Vec<u8> = served.grades.iter().map(|&(_, grade)| grade).collect();
        for (hits, grades) in served.hits.chunks_mut(2).zip(grades.chunks(2)) {
            let better = usize::from(grades.get(1) > grades.first());
            let is_new_better = self.rng.random::<f64>() < NEW_IS_BETTER;
            for (place, hit) in hits.iter_mut().enumerate() {
                let is_new = (place == better) == is_new_better;
                hit.team = Some(TEAMS[usize::from(!is_new)]);
            }
        }
    }

    /// Session of the next search: one that reformulates its query, an existing one, or a new one
    /// with a random version.
    fn session(&mut self) -> Session {
        let now = self.now();
        if self
            .reformulations
            .peek()
            .is_some_and(|next| next.at.0 <= now)
            && let Some(next) = self.reformulations.pop()
        {
            return next.session;
        }
        if self.rng.random::<f64>() < SAME_SESSION
            && let Some(&session) = self.sessions.choose(&mut self.rng)
        {
            return session;
        }
        let session = Session {
            number: self.all_sessions,
            variant: Variant::ALL[self.rng.random_range(0..Variant::ALL.len())],
        };
        self.all_sessions += 1;
        if self.sessions.len() < self.max_sessions {
            self.sessions.push(session);
        } else {
            let leaving = self.rng.random_range(0..self.sessions.len());
            self.sessions[leaving] = session;
        }
        session
    }

    /// Query of the next search, with its text, its key or both in the event.
    fn question<'a>(
        &mut self,
        corpus: &'a Corpus,
    ) -> (QueryKind<'a>, Option<&'a str>, Option<&'a str>) {
        let judged = self.rng.random::<f64>() >= self.settings.unjudged_share;
        let query: Option<&GoldQuery> = corpus.queries.choose(&mut self.rng);
        let Some(query) = query.filter(|_| judged) else {
            let text = corpus.unjudged_queries.choose(&mut self.rng);
            return (QueryKind::Unjudged, text.map(String::as_str), None);
        };
        let (text, key) = (Some(query.text.as_str()), Some(query.key.as_str()));
        let (text, key) = match self.rng.random_range(0..100) {
            0..65 => (text, key),
            65..85 => (text, None),
            85..94 => (
                query
                    .odd_spellings
                    .choose(&mut self.rng)
                    .map(String::as_str),
                None,
            ),
            94..97 => (query.alias.as_deref().or(text), None),
            _ => (None, key),
        };
        (QueryKind::Gold(query), text, key)
    }

    fn search_record(
        &mut self,
        number: u64,
        ts: EventTime,
        session: Session,
        (query, query_key): (Option<&str>, Option<&str>),
        served: &Served<'_>,
    ) -> Record {
        let query_id = self.query_id(number);
        let key = self.session_id(session.number);
        let event = Search {
            query_id: &query_id,
            ts: Stamp::varied(ts, number),
            query,
            query_key,
            application: "law-search",
            session_id: &key,
            client_id: &format!("c-{}", session.number % CLIENTS),
            trace_id: &format!("{:032x}", self.rng.random::<u128>()),
            experiment: Experiment {
                id: "law-search-ablation",
                variant: session.variant.name(),
            },
            results: &served.hits,
            total_hits: total_hits(served.hits.len(), &mut self.rng),
            latency_ms: served.latency_ms,
            stages: &served.stages,
            usage: &served.usage,
            routing: &served.routing,
            domain: served.routing.first().copied(),
            fired: served.fired.as_ref(),
            merged_from: &served.merged_from,
            context: &served.context,
            error_type: served.error_type,
            labels: SearchLabels {
                channel: CHANNELS[self.rng.random_range(0..CHANNELS.len())],
            },
        };
        let payload = written(&event, 4_096);
        Record {
            kind: Kind::Search,
            ts,
            key,
            payload,
        }
    }

    fn feedback_record(&self, pending: Pending) -> Record {
        let query_id = self.query_id(pending.search);
        let key = self.session_id(pending.session);
        let document = pending
            .document
            .and_then(|document| self.corpus.documents.get(document));
        let mut event = Feedback {
            event_id: &format!("e-{}-{}", self.run, pending.number),
            ts: Stamp::varied(pending.ts, pending.number),
            kind: pending.action.name(),
            query_id: Some(&query_id),
            session_id: &key,
            object_id: document.map(|document| document.id.as_str()),
            position: pending.action.place().map(|place| place + 1),
            dwell_ms: None,
            value: None,
            min: None,
            max: None,
        };
        match pending.action {
            ActionKind::Impression { .. }
            | ActionKind::Conversion { .. }
            | ActionKind::Reformulation => {}
            // Some applications report only the position of a click, some only the document.
            ActionKind::Click { .. } => match pending.number % 10 {
                0 => event.object_id = None,
                1 => event.position = None,
                _ => {}
            },
            ActionKind::Dwell { dwell_ms, .. } => event.dwell_ms = Some(dwell_ms),
            ActionKind::Thumbs { up } => {
                let sign = Value::Sign(if up { 1 } else { -1 });
                let boolean = pending.number.is_multiple_of(2);
                event.value = Some(if boolean { Value::Thumb(up) } else { sign });
            }
            ActionKind::Rating { stars } => {
                event.value = Some(Value::Number(stars));
                event.min = Some(1);
                event.max = Some(5);
            }
            ActionKind::Judgment { grade, .. } => {
                event.value = Some(Value::Number(grade));
                event.position = None;
            }
            ActionKind::SessionRating { points } => {
                event.query_id = None;
                event.value = Some(Value::Number(points));
                event.min = Some(0);
                event.max = Some(10);
            }
            ActionKind::OutsideClick => event.object_id = Some("advertisement"),
        }
        let payload = written(&event, 320);
        Record {
            kind: Kind::Feedback,
            ts: pending.ts,
            key,
            payload,
        }
    }

    /// Schedules the delivery of an event at its event time or, with disorder, later. Some events
    /// are delivered twice.
    fn deliver(&mut self, ts: EventTime, what: Event) {
        if self.settings.duplicate_share > 0.0
            && self.rng.random::<f64>() < self.settings.duplicate_share
        {
            self.enqueue(ts, what.clone());
        }
        self.enqueue(ts, what);
    }

    fn enqueue(&mut self, ts: EventTime, what: Event) {
        let delay = match self.settings.disorder.0 {
            most if most > 0 => self.rng.random_range(0..=most),
            _ => 0,
        };
        self.deliveries.push(Delivery {
            at: ts.plus(Millis(delay)),
            number: self.delivered,
            what,
        });
        self.delivered += 1;
    }

    fn query_id(&self, number: u64) -> String {
        format!("q-{}-{number}", self.run)
    }

    fn session_id(&self, number: u64) -> String {
        format!("s-{}-{number}", self.run)
    }
}

impl Iterator for Traffic {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            // No record generated later can be delivered before the next search.
            let now = self.now();
            let full = self.deliveries.len() >= MAX_PENDING_DELIVERIES;
            if self
                .deliveries
                .peek()
                .is_some_and(|first| full || first.at <= now)
            {
                let first = self.deliveries.pop()?;
                return Some(match first.what {
                    Event::Search(record) => record,
                    Event::Feedback(pending) => self.feedback_record(pending),
                });
            }
            self.search();
        }
    }
}

impl ActionKind {
    fn name(self) -> &'static str {
        match self {
            Self::Impression { .. } => "impression",
            Self::Click { .. } | Self::OutsideClick => "click",
            Self::Dwell { .. } => "dwell",
            Self::Conversion { .. } => "conversion",
            Self::Thumbs { .. } => "thumbs",
            Self::Rating { .. } | Self::SessionRating { .. } => "rating",
            Self::Judgment { .. } => "judgment",
            Self::Reformulation => "reformulation",
        }
    }

    /// Index of the result that the action refers to, from 0.
    fn place(self) -> Option<usize> {
        match self {
            Self::Impression { place }
            | Self::Click { place }
            | Self::Dwell { place, .. }
            | Self::Judgment { place, .. }
            | Self::Conversion { place } => Some(place),
            Self::Thumbs { .. }
            | Self::Rating { .. }
            | Self::SessionRating { .. }
            | Self::OutsideClick
            | Self::Reformulation => None,
        }
    }
}

impl Ord for Delivery {
    /// The earliest is the greatest, because the heap yields its greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Delivery {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Delivery {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Delivery {}

/// Serialises an event as JSON.
fn written(event: &impl serde::Serialize, capacity: usize) -> Vec<u8> {
    let mut payload = Vec::with_capacity(capacity);
    serde_json::to_writer(&mut payload, event)
        .expect("invariant: events have string keys only, and memory takes every write");
    payload
}

/// Integer part of a number, saturated at the limits of the type.
#[expect(
    clippy::cast_possible_truncation,
    reason = "dropping the fraction is the purpose, and the cast saturates"
)]
fn whole(number: f64) -> i64 {
    number as i64
}
