//! Description of single records, for `rankgauge tail`: outcome, matched gold query, scores, reason
//! of a rejection.
//!
//! A record is decoded and judged as the sidecar does it. Events that are read too late are not recognised,
//! because only the consumer group knows the watermark. The module must not know where records come from.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use rankgauge_core::decode::{Encoded, EventRef, Formats};
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::event::{Acceptance, Action, Feedback, Kind, Reason, Rejection, Search};
use rankgauge_core::gold::GoldSet;
use rankgauge_core::ranking::Judge;
use rankgauge_core::time::{EventTime, Millis, WallTime};

/// Maximum number of searches that are remembered for their feedback and for duplicates.
const MAX_SEARCHES: usize = 100_000;

/// Described record.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Line {
    /// `search` or `feedback`.
    pub kind: &'static str,
    /// `judged`, `unjudged`, `duplicate` or `invalid`; for feedback `joined` (its search was read
    /// before), `waiting` (not read yet), `orphaned` (its time is outside the window of its search),
    /// `duplicate` or `invalid`. The search of feedback on a session is the last one before it. `skipped` for a record of spans
    /// without an event, `ignored` for a record that the mapping of its format does not select.
    pub outcome: &'static str,
    /// Topic or file.
    pub source: String,
    /// Partition; `None` for a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<i32>,
    /// Offset, or number of the line or record.
    pub offset: i64,
    /// Event time, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ts: Option<String>,
    /// Id of the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_id: Option<String>,
    /// Id of the session; `None` if the event states none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Variant of the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// True for a search of a probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<bool>,
    /// Query text, else the query key, as received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Key of the gold query that matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gold: Option<String>,
    /// Number of results; `None` for feedback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<usize>,
    /// Scores by measure. A measure without a score for this search is absent.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub scores: Map<String, Value>,
    /// Duration in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// Error that the search reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// Type of the feedback; `None` for a search.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub feedback_type: Option<&'static str>,
    /// Id of the feedback event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    /// Document that the feedback is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_id: Option<String>,
    /// Position that the feedback is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// Reason of a rejection, as in `invalid_events_total`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Field and problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Members of a line that its text has before the scores.
const BEFORE_SCORES: [&str; 8] = [
    "reason",
    "detail",
    "query_id",
    "variant",
    "synthetic",
    "query",
    "gold",
    "results",
];

/// Members of a line that its text has after the scores.
const AFTER_SCORES: [&str; 8] = [
    "latency_ms",
    "error_type",
    "type",
    "object_id",
    "position",
    "event_id",
    "session_id",
    "ts",
];

/// Place of a record.
#[derive(Clone, Copy, Debug)]
pub struct RecordPlace<'a> {
    /// Topic or file.
    pub source: &'a str,
    /// Partition; `None` for a file.
    pub partition: Option<i32>,
    /// Offset, or number of the line or record.
    pub offset: i64,
}

/// Search that was read.
struct KnownSearch {
    ts: EventTime,
    variant: String,
    session: Option<String>,
}

impl KnownSearch {
    /// Key among the searches with sessions.
    fn in_session(&self, id: &str) -> Option<InSession> {
        Some((self.session.clone()?, self.ts, id.to_owned()))
    }
}

/// Session of a search, its time and its id.
type InSession = (String, EventTime, String);

/// Describes records in the order in which they are read.
pub struct Describer<'a> {
    settings: &'a Settings,
    gold: &'a GoldSet,
    judge: Judge,
    /// Searches that were read, by id.
    searches: BTreeMap<String, KnownSearch>,
    /// The ones with sessions, by session and time.
    sessions: BTreeSet<InSession>,
    order: VecDeque<String>,
    events: HashSet<String>,
}

impl<'a> Describer<'a> {
    /// Creates a describer.
    pub fn new(settings: &'a Settings, gold: &'a GoldSet) -> Self {
        Self {
            settings,
            gold,
            judge: Judge::new(settings.judging.clone()),
            searches: BTreeMap::new(),
            sessions: BTreeSet::new(),
            order: VecDeque::new(),
            events: HashSet::new(),
        }
    }

    /// Describes a record of a topic or file with `formats`, and passes a line for each of its events to `emit`: a record of spans can
    /// have several, or none. `now` decides whether a time is too far ahead.
    pub fn describe(
        &mut self,
        formats: &Formats,
        kind: Kind,
        place: RecordPlace<'_>,
        record: Encoded<'_>,
        now: WallTime,
        emit: &mut dyn FnMut(&Line),
    ) {
        let payload = record.payload;
        let acceptance = Acceptance {
            limits: self.settings.record_limits,
            has_gold_texts: self.gold.has_texts(),
        };
        let mut is_empty = true;
        let kind_of_rejected = formats.probable_kind(kind, payload);
        let mut place_and_emit = |kind: Kind, line: Line| {
            is_empty = false;
            emit(&Line {
                kind: kind.name(),
                source: place.source.to_owned(),
                partition: place.partition,
                offset: place.offset,
                ..line
            });
        };
        let decoded = formats.events(kind, record, &acceptance, &mut |event| {
            let (kind, line) = match event {
                Ok(EventRef::Search(search)) => (Kind::Search, self.search(search, now)),
                Ok(EventRef::Feedback(feedback)) => (Kind::Feedback, self.feedback(feedback, now)),
                Err(rejection) => (kind_of_rejected, rejected(payload, &rejection)),
            };
            place_and_emit(kind, line);
        });
        match decoded {
            Err(rejection) => place_and_emit(kind_of_rejected, rejected(payload, &rejection)),
            Ok(counts) if is_empty => emit(&Line {
                kind: kind.name(),
                outcome: if counts.ignored > 0 {
                    "ignored"
                } else {
                    "skipped"
                },
                source: place.source.to_owned(),
                partition: place.partition,
                offset: place.offset,
                ..Line::default()
            }),
            Ok(_) => {}
        }
    }

    fn search(&mut self, search: &Search<'_>, now: WallTime) -> Line {
        let variant = search.variant();
        let mut line = Line {
            ts: Some(search.ts.to_string()),
            query_id: Some(search.query_id.to_string()),
            session_id: search.session_id.as_deref().map(str::to_owned),
            variant: (!variant.is_empty()).then(|| variant.to_owned()),
            synthetic: search.is_synthetic().then_some(true),
            query: search
                .query
                .as_deref()
                .or(search.query_key.as_deref())
                .map(str::to_owned),
            results: Some(search.results.len()),
            latency_ms: search.latency_ms,
            error_type: search.error_type.as_deref().map(str::to_owned),
            ..Line::default()
        };
        if self.is_future(search.ts, now) {
            return line.rejected_as_future();
        }
        let window = self.settings.feedback_window;
        let known = self.searches.get(&*search.query_id);
        // After the window, the id is that of a new search.
        if known.is_some_and(|known| distance(search.ts, known.ts) <= window) {
            line.outcome = "duplicate";
            return line;
        }
        self.remember(search);
        if let Err(reason) = self.settings.judging.eligibility.check(search) {
            line.outcome = "not_eligible";
            line.reason = Some(reason.name());
            return line;
        }
        let query_key = search.query_key.as_deref();
        let Some(index) = self.gold.find(query_key, search.query.as_deref()) else {
            line.outcome = "unjudged";
            return line;
        };
        let query = self.gold.query(index);
        line.outcome = "judged";
        line.gold = Some(query.key.clone());
        let judged = self.judge.judge(search, query);
        for measure in &self.settings.measures {
            if measure.is_user_measure() {
                continue;
            }
            if let Some(score) = measure.score(&judged) {
                line.scores.insert(measure.to_string(), score.into());
            }
        }
        line
    }

    fn feedback(&mut self, feedback: &Feedback<'_>, now: WallTime) -> Line {
        let search = feedback.query_id.as_deref();
        let known = match search {
            Some(search) => self.searches.get(search),
            None => self.last_of_session(feedback),
        };
        let problem = known.and_then(|known| self.window_problem(feedback, known.ts));
        let mut line = Line {
            ts: Some(feedback.ts.to_string()),
            event_id: Some(feedback.event_id.to_string()),
            query_id: search.map(str::to_owned),
            session_id: feedback.session_id.as_deref().map(str::to_owned),
            variant: known
                .map(|known| known.variant.clone())
                .filter(|variant| !variant.is_empty()),
            feedback_type: Action::NAMES.get(feedback.action.index()).copied(),
            object_id: feedback.object_id.as_deref().map(str::to_owned),
            position: feedback.position,
            outcome: match (known, &problem) {
                (None, _) => "waiting",
                (Some(_), None) => "joined",
                (Some(_), Some(_)) => "orphaned",
            },
            detail: problem,
            ..Line::default()
        };
        if self.is_future(feedback.ts, now) {
            return line.rejected_as_future();
        }
        if self.events.len() >= MAX_SEARCHES {
            self.events.clear();
        }
        if !self.events.insert(feedback.event_id.to_string()) {
            line.outcome = "duplicate";
            line.detail = None;
        }
        line
    }

    /// Last search of the session of feedback, not after it.
    fn last_of_session(&self, feedback: &Feedback<'_>) -> Option<&KnownSearch> {
        let session = feedback.session_id.as_deref()?;
        let bound = |ts| (session.to_owned(), ts, String::new());
        let after = bound(feedback.ts.plus(Millis(1)));
        let (_, _, id) = self
            .sessions
            .range(bound(EventTime(i64::MIN))..after)
            .next_back()?;
        self.searches.get(id)
    }

    /// Reason for which feedback does not belong to a search with its id or session, served at `searched`.
    fn window_problem(&self, feedback: &Feedback<'_>, searched: EventTime) -> Option<String> {
        let apart = distance(feedback.ts, searched);
        let is_before = feedback.ts < searched;
        let own = self.settings.conversion_window;
        let own = own.filter(|_| {
            matches!(feedback.action, Action::Conversion { .. })
                && !is_before
                && feedback.query_id.is_some()
        });
        let (window, key) = match own {
            Some(window) if window > self.settings.feedback_window => {
                (window, "engine.feedback_windows")
            }
            _ => (self.settings.feedback_window, "engine.feedback_window"),
        };
        let seconds = |time: Duration| time.as_secs_f64();
        let side = if is_before { "before" } else { "after" };
        let of = match feedback.query_id {
            Some(_) => "its search",
            None => "the last search of its session",
        };
        (apart > window).then(|| {
            format!(
                "{} s {side} {of}, outside the feedback window of {} s ({key})",
                seconds(apart),
                seconds(window)
            )
        })
    }

    fn remember(&mut self, search: &Search<'_>) {
        let id = search.query_id.to_string();
        let known = KnownSearch {
            ts: search.ts,
            variant: search.variant().to_owned(),
            session: search.session_id.as_deref().map(str::to_owned),
        };
        self.sessions.extend(known.in_session(&id));
        if let Some(earlier) = self.searches.insert(id.clone(), known) {
            self.leave_session(&id, &earlier);
            return;
        }
        self.order.push_back(id);
        if self.order.len() > MAX_SEARCHES
            && let Some(oldest) = self.order.pop_front()
            && let Some(search) = self.searches.remove(&oldest)
        {
            self.leave_session(&oldest, &search);
        }
    }

    fn leave_session(&mut self, id: &str, search: &KnownSearch) {
        if let Some(key) = search.in_session(id) {
            self.sessions.remove(&key);
        }
    }

    fn is_future(&self, ts: EventTime, now: WallTime) -> bool {
        let skew = Millis::from(self.settings.max_future_skew);
        ts > now.as_event_time().plus(skew)
    }
}

/// Description of a record that is not an event. Its ids are shown if they can be read.
fn rejected(payload: &[u8], rejection: &Rejection) -> Line {
    let fields: Option<Map<String, Value>> = serde_json::from_slice(payload).ok();
    let text = |name: &str| match fields.as_ref()?.get(name)? {
        Value::String(text) => Some(text.chars().take(256).collect()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    Line {
        outcome: "invalid",
        query_id: text("query_id"),
        event_id: text("event_id"),
        variant: text("variant"),
        reason: Some(rejection.reason.name()),
        detail: Some(rejection.detail.clone()),
        ..Line::default()
    }
}

/// Time between two events.
fn distance(one: EventTime, other: EventTime) -> Duration {
    Duration::from_millis(one.0.abs_diff(other.0))
}

impl Line {
    fn rejected_as_future(mut self) -> Self {
        self.outcome = "invalid";
        self.reason = Some(Reason::FutureTime.name());
        self.detail = Some("`ts` is further ahead than engine.max_future_skew".to_owned());
        self
    }

    /// One line for users: kind, outcome, then `name=value`, with quotes where needed.
    pub fn text(&self) -> String {
        let mut line = format!("{:<8} {:<9}", self.kind, self.outcome);
        let partition = self.partition.map(|number| format!("[{number}]"));
        let place = format!(
            "{}{}:{}",
            self.source,
            partition.unwrap_or_default(),
            self.offset
        );
        let Ok(Value::Object(members)) = serde_json::to_value(self) else {
            return line;
        };
        let member = |name: &&'static str| {
            let text = match members.get(*name)? {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.as_f64().unwrap_or_default().to_string(),
                other => other.to_string(),
            };
            Some(((*name).to_owned(), text))
        };
        let scores = self.scores.iter().map(|(name, value)| {
            let value = value.as_f64().unwrap_or_default();
            (name.clone(), format!("{value:.4}"))
        });
        let fields = BEFORE_SCORES.iter().filter_map(member);
        let fields = fields.chain(scores);
        let fields = fields.chain(AFTER_SCORES.iter().filter_map(member));
        let fields = fields.chain([("at".to_owned(), place)]);
        for (name, value) in fields {
            if !value.is_empty() {
                line.push(' ');
                line.push_str(&name);
                line.push('=');
                line.push_str(&quoted(&value));
            }
        }
        line
    }
}

/// A value with quotes and escapes if it contains blanks, quotes or control characters.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| !(c.is_whitespace() || c.is_control() || c == '"' || c == '\\');
    if text.chars().all(is_plain) {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}
