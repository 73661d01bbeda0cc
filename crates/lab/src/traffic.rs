//! Endless, deterministic stream of searches and feedback over a [`Corpus`] or a [`Shop`].
//!
//! Several systems serve the same users. In the law library, the quality of each search follows the
//! evaluation plan. Users react to the results. The stream has event time only: its consumer decides
//! the speed. The module is independent of Kafka.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::answers;
use super::corpus::{Corpus, GoldQuery};
pub use super::fault::Fault;
use super::quality::{Quality, Variant};
use super::serving::{QueryKind, Served, serve, total_hits};
use super::shop::{self, Shop};
use super::users::{ActionKind, SimulatedAction, simulate_user};
use super::wire::{Answer, Experiment, Feedback, Search, SearchLabels, Stamp, Value, written};
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
/// Share of the searches of a bot while it is active, and the number of its session.
const BOT_SHARE: f64 = 0.3;
const BOT: u64 = u64::MAX;
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
    /// Fault between `regress_after` and `repair_after`.
    pub fault: Fault,
    /// Time after the start at which the fault begins. `None`: never.
    pub regress_after: Option<Millis>,
    /// Time after the start at which the fault ends. `None`: never.
    pub repair_after: Option<Millis>,
    /// True if models answer searches of the law library. Its other events are the same without.
    pub answers: bool,
    /// Share of searches, 0 to 1, for queries that are not in the gold set.
    pub unjudged_share: f64,
    /// Share of records, 0 to 1, that are delivered twice.
    pub duplicate_share: f64,
    /// Maximum delay of the delivery of a record after its event time, which is unchanged. With a
    /// delay, records arrive out of order. Zero or less: in order.
    pub disorder: Millis,
    /// Maximum time of feedback after its search. Later feedback is left out, and all other events are the
    /// same. `None`: no feedback is left out.
    pub feedback_within: Option<Millis>,
}

impl Default for TrafficSettings {
    /// Fifty searches a second from 17 November 2025, in order, each record once, without a
    /// regression; 8 % of the searches are unjudged.
    fn default() -> Self {
        Self {
            seed: 1,
            start: EventTime(1_763_337_600_000),
            searches_per_second: 50.0,
            fault: Fault::Ranking,
            regress_after: None,
            repair_after: None,
            answers: false,
            unjudged_share: 0.08,
            duplicate_share: 0.0,
            disorder: Millis(0),
            feedback_within: None,
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
    library: Library,
    settings: TrafficSettings,
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
    /// Index of the system that serves it.
    variant: usize,
}

/// Documents and systems that serve them.
#[derive(Clone, Debug)]
enum Library {
    Law(Arc<Corpus>, Arc<Quality>),
    Shop(Arc<Shop>),
}

impl Library {
    /// Number of systems. Faults are those of the last one.
    fn variants(&self) -> usize {
        match self {
            Self::Law(..) => Variant::ALL.len(),
            Self::Shop(_) => shop::SYSTEMS.len(),
        }
    }

    fn document_id(&self, document: usize) -> Option<&str> {
        match self {
            Self::Law(corpus, _) => corpus.documents.get(document).map(|it| it.id.as_str()),
            Self::Shop(shop) => shop.document_id(document),
        }
    }
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
        let quality = Arc::new(Quality::fit(&corpus));
        Self::over(Library::Law(corpus, quality), settings)
    }

    /// Stream over a shop.
    pub fn of_shop(shop: Arc<Shop>, settings: TrafficSettings) -> Self {
        Self::over(Library::Shop(shop), settings)
    }

    fn over(library: Library, settings: TrafficSettings) -> Self {
        let rate = settings.searches_per_second;
        let settings = TrafficSettings {
            searches_per_second: if rate > 0.0 { rate } else { 1.0 },
            ..settings
        };
        let sessions = whole(settings.searches_per_second * SESSION_SECONDS).clamp(8, 100_000);
        Self {
            library,
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

    /// Number of feedback events on the first `searches` searches that are not yet delivered.
    pub fn pending_feedback(&self, searches: u64) -> u64 {
        let pending = self.deliveries.iter().filter(|delivery| {
            matches!(&delivery.what, Event::Feedback(feedback) if feedback.search < searches)
        });
        u64::try_from(pending.count()).unwrap_or(u64::MAX)
    }

    fn now(&self) -> EventTime {
        self.settings.start.plus(Millis(whole(self.clock_ms)))
    }

    /// Generates the next search and all user actions on it.
    fn search(&mut self) {
        let ts = self.now();
        let number = self.searches;
        self.searches += 1;
        let fault = self.fault(ts);
        let is_bot = fault == Some(Fault::Bots) && self.rng.random::<f64>() < BOT_SHARE;
        let session = if is_bot { self.bot() } else { self.session() };
        // Only an outage affects every system.
        let is_affected = session.variant + 1 == self.library.variants();
        let fault = fault.filter(|it| is_affected || *it == Fault::Outage);
        let (payload, grades) = match self.library.clone() {
            Library::Law(corpus, quality) => {
                self.law_search((ts, number, session), (&corpus, &quality), fault, is_bot)
            }
            Library::Shop(shop) => {
                let context = shop::Context {
                    query_id: &self.query_id(number),
                    session_id: &self.session_id(session.number),
                    client_id: &format!("c-{}", session.number % CLIENTS),
                    ts,
                    system: session.variant,
                    fault,
                    is_bot,
                    unjudged_share: self.settings.unjudged_share,
                };
                shop.search(&context, &mut self.rng)
            }
        };
        let key = self.session_id(session.number);
        let record = Record {
            kind: Kind::Search,
            ts,
            key,
            payload,
        };
        self.deliver(ts, Event::Search(record));
        self.act(ts, number, session, &grades, is_bot);

        // Searches are independent of each other: the gaps are exponential.
        let gap = -(1.0 - self.rng.random::<f64>()).ln();
        self.clock_ms += gap * 1_000.0 / self.settings.searches_per_second;
    }

    /// Fault at a time.
    fn fault(&self, ts: EventTime) -> Option<Fault> {
        let passed = ts.since(self.settings.start);
        let is_past = |after: Option<Millis>| after.is_some_and(|after| passed >= after);
        let is_active =
            is_past(self.settings.regress_after) && !is_past(self.settings.repair_after);
        is_active.then_some(self.settings.fault)
    }

    /// One search of the law library: its event, and the document and grade of each result.
    fn law_search(
        &mut self,
        (ts, number, session): (EventTime, u64, Session),
        (corpus, quality): (&Corpus, &Quality),
        fault: Option<Fault>,
        is_bot: bool,
    ) -> (Vec<u8>, Vec<(usize, u8)>) {
        let variant = Variant::ALL[session.variant];
        let regressed = fault == Some(Fault::Ranking);
        let (query_kind, query, query_key) = if is_bot {
            hardest(corpus)
        } else {
            self.question(corpus)
        };
        let mut served = serve(
            corpus,
            quality,
            (variant, regressed),
            query_kind,
            &mut self.rng,
        );
        match fault {
            Some(Fault::Outage) => served.fail(),
            Some(Fault::Unjudged) => served.replace_by_unjudged(corpus, query_kind, number),
            _ => {}
        }
        if self.rng.random::<f64>() < INTERLEAVED {
            self.interleave(&mut served);
        }
        let answer = match query_kind {
            QueryKind::Gold(query) if self.settings.answers && !served.context.is_empty() => {
                let is_wrong = fault == Some(Fault::Citations);
                let mut rng = ChaCha8Rng::seed_from_u64(self.settings.seed ^ number);
                Some(answers::of_law(corpus, query, &served, is_wrong, &mut rng))
            }
            _ => None,
        };
        let payload = self.search_record(
            (ts, number, session),
            (query, query_key),
            &served,
            answer.as_ref(),
        );
        (payload, served.grades)
    }

    /// User actions on a search.
    fn act(
        &mut self,
        ts: EventTime,
        number: u64,
        session: Session,
        grades: &[(usize, u8)],
        is_bot: bool,
    ) {
        if is_bot {
            return;
        }
        let mut actions = std::mem::take(&mut self.actions);
        let of_users = grades.iter().map(|&(_, grade)| grade);
        if let Some(after_ms) = simulate_user(&of_users, &mut self.rng, &mut actions) {
            let at = ts.plus(Millis(after_ms));
            self.reformulations.push(ScheduledReformulation {
                at: Reverse(at),
                session,
            });
        }
        let within = self.settings.feedback_within;
        for simulated in actions.drain(..) {
            let feedback = self.feedback;
            self.feedback += 1;
            let after = Millis(simulated.after_ms);
            if within.is_some_and(|within| after > within) {
                continue;
            }
            let ts = ts.plus(after);
            let document = simulated.action.place().and_then(|place| grades.get(place));
            let pending = Pending {
                number: feedback,
                search: number,
                session: session.number,
                ts,
                document: document.map(|&(document, _)| document),
                action: simulated.action,
            };
            self.deliver(ts, Event::Feedback(pending));
        }
        self.actions = actions;
    }

    /// Session of the bot: it clicks nothing and never ends.
    fn bot(&self) -> Session {
        Session {
            number: BOT,
            variant: self.library.variants() - 1,
        }
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
            variant: self.rng.random_range(0..self.library.variants()),
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
        (ts, number, session): (EventTime, u64, Session),
        (query, query_key): (Option<&str>, Option<&str>),
        served: &Served<'_>,
        answer: Option<&Answer<'_>>,
    ) -> Vec<u8> {
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
                variant: Variant::ALL[session.variant].name(),
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
            answer,
            labels: SearchLabels {
                channel: CHANNELS[self.rng.random_range(0..CHANNELS.len())],
            },
        };
        written(&event, 4_096)
    }

    fn feedback_record(&self, pending: Pending) -> Record {
        let query_id = self.query_id(pending.search);
        let key = self.session_id(pending.session);
        let document = pending
            .document
            .and_then(|document| self.library.document_id(document));
        let mut event = Feedback {
            event_id: &format!("e-{}-{}", self.run, pending.number),
            ts: Stamp::varied(pending.ts, pending.number),
            kind: pending.action.name(),
            query_id: Some(&query_id),
            session_id: &key,
            object_id: document,
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

/// Query with the fewest relevant documents among the hard ones, by its key.
fn hardest(corpus: &Corpus) -> (QueryKind<'_>, Option<&str>, Option<&str>) {
    let queries = corpus.queries.iter();
    let hard = queries.max_by_key(|it| (it.difficulty.index(), Reverse(it.relevant.len())));
    match hard {
        Some(query) => (QueryKind::Gold(query), None, Some(&query.key)),
        None => (QueryKind::Unjudged, Some("bot"), None),
    }
}

/// Integer part of a number, saturated at the limits of the type.
#[expect(
    clippy::cast_possible_truncation,
    reason = "dropping the fraction is the purpose, and the cast saturates"
)]
fn whole(number: f64) -> i64 {
    number as i64
}
