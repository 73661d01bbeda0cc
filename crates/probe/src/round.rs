//! Round of the probe: every gold query, to every target, once.

#![allow(
    clippy::disallowed_methods,
    reason = "events have the time of their answers"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::http::HeaderMap;
use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tracing::warn;

use super::answer::{self, Answer};
use super::client::{self, Client, ClientError, RequestError, Response};
use super::event::{self, ErrorType, EventParts};
use super::pace::{self, MAX_RETRY_AFTER, RateLimit};
use super::settings::Probe;
use super::target::ProbeTarget;
use rankgauge_core::decode::native;
use rankgauge_core::event::Limits;
use rankgauge_core::gold::{GoldQuery, GoldSet};
use rankgauge_core::number::real_length;
use rankgauge_core::time::EventTime;

/// Failed searches of a target in a row, repetitions included, after which the round skips its
/// other queries: a target that is down would take the whole time of the round.
const MAX_FAILURES_IN_A_ROW: usize = 20;

/// Probe that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No target is configured.
    #[error("there is nothing to probe: configure probe.targets (docs/probe.md)")]
    NoTarget,
    /// No gold query.
    #[error("there is no query to send: name a gold set with gold.paths or --gold")]
    NoQuery,
    /// Gold queries without a text, for a request with `{{query}}`.
    #[error(
        "the request of {variant} contains {{{{query}}}}, and {number} gold queries have no text \
         (the first is {key}); add their texts to the gold set, or send {{{{query_key}}}}"
    )]
    NoText {
        /// Variant of the target.
        variant: String,
        /// Number of queries.
        number: usize,
        /// First of them.
        key: String,
    },
    /// Placeholder that is no label of any gold query.
    #[error(
        "the request of {variant} contains {{{{{name}}}}}, and no gold query has this label; write \
         one of {known}"
    )]
    UnknownPlaceholder {
        /// Variant of the target.
        variant: String,
        /// Name of the placeholder.
        name: String,
        /// Known names, separated by commas.
        known: String,
    },
    /// A header cannot be built.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The round was stopped.
    #[error("stopped before the end of the round")]
    Stopped,
}

/// Event of one search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedEvent {
    /// Index of the target.
    pub target: usize,
    /// Index of the query in the gold set.
    pub query: usize,
    /// Id of the search.
    pub query_id: String,
    /// Native event, one line of JSON.
    pub json: String,
}

/// Results of a round for one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Variant of the target.
    pub variant: String,
    /// Number of complete answers.
    pub answered: usize,
    /// Failed searches by `error_type`.
    pub failed: BTreeMap<String, usize>,
    /// Queries that were not sent, because the target is down or asks for a pause.
    pub skipped: usize,
    /// Latencies of the complete answers in milliseconds, sorted.
    pub latencies: Vec<f64>,
}

impl Tally {
    /// Share of the queries without a complete answer.
    pub fn failed_share(&self) -> f64 {
        let failed = self.failed.values().sum::<usize>() + self.skipped;
        let whole = failed + self.answered;
        real_length(failed) / real_length(whole.max(1))
    }

    /// Latency in milliseconds below which `percent` of the answers came; `None` without answers.
    fn latency(&self, percent: usize) -> Option<f64> {
        let rank = (self.latencies.len() * percent).div_ceil(100);
        self.latencies.get(rank.saturating_sub(1)).copied()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed: usize = self.failed.values().sum();
        let whole = self.answered + failed + self.skipped;
        write!(
            f,
            "{}: {} of {whole} searches answered",
            self.variant, self.answered
        )?;
        if failed > 0 {
            let causes = self.failed.iter();
            let causes: Vec<String> = causes.map(|(cause, n)| format!("{cause} {n}")).collect();
            write!(f, ", {failed} failed ({})", causes.join(", "))?;
        }
        if self.skipped > 0 {
            write!(f, ", {} not sent", self.skipped)?;
        }
        if let (Some(median), Some(high)) = (self.latency(50), self.latency(95)) {
            write!(f, ", latency p50 {median:.1} ms, p95 {high:.1} ms")?;
        }
        Ok(())
    }
}

/// Checks that every target can be sent every query of a gold set.
///
/// # Errors
/// The first problem.
pub fn check(probe: &Probe, gold: &GoldSet) -> Result<(), ProbeError> {
    if probe.targets.is_empty() {
        return Err(ProbeError::NoTarget);
    }
    if gold.queries().is_empty() {
        return Err(ProbeError::NoQuery);
    }
    let labels = gold.queries().iter().flat_map(|query| query.labels.keys());
    let mut known: BTreeSet<&str> = labels.map(String::as_str).collect();
    known.extend(client::PLACEHOLDERS);
    for target in &probe.targets {
        let variant = target.variant.clone();
        for name in target.request.names() {
            if !known.contains(name) {
                return Err(ProbeError::UnknownPlaceholder {
                    variant,
                    name: name.to_owned(),
                    known: known.into_iter().collect::<Vec<_>>().join(", "),
                });
            }
            let mut without = gold.queries().iter().filter(|query| query.text.is_none());
            if name == "query"
                && let Some(first) = without.next()
            {
                return Err(ProbeError::NoText {
                    variant,
                    number: without.count() + 1,
                    key: first.key.clone(),
                });
            }
        }
    }
    Ok(())
}

/// State of a target in a round.
struct TargetState {
    /// Earliest time of the next request.
    not_before: Instant,
    failures_in_a_row: usize,
    is_stopped: bool,
}

/// Round of the probe.
pub struct Round {
    probe: Probe,
    gold: Arc<GoldSet>,
    limits: Limits,
    client: Arc<Client>,
    headers: Vec<HeaderMap>,
    states: Vec<Mutex<TargetState>>,
    rate: RateLimit,
    next: AtomicUsize,
    /// Beginning of the ids of the searches.
    id: String,
}

/// Outcome of one search.
enum Outcome {
    Sent {
        event: ProbedEvent,
        error: Option<ErrorType>,
        latency_ms: f64,
    },
    Skipped {
        target: usize,
    },
}

impl Round {
    /// Prepares a round. Secrets of headers are read here.
    ///
    /// # Errors
    /// If a target cannot be sent the queries.
    pub fn new(
        probe: Probe,
        gold: Arc<GoldSet>,
        limits: Limits,
        client: Arc<Client>,
    ) -> Result<Self, ProbeError> {
        check(&probe, &gold)?;
        let headers = probe.targets.iter().map(client::headers);
        let headers = headers.collect::<Result<Vec<_>, _>>()?;
        let state = |_| {
            Mutex::new(TargetState {
                not_before: Instant::now(),
                failures_in_a_row: 0,
                is_stopped: false,
            })
        };
        Ok(Self {
            headers,
            states: probe.targets.iter().map(state).collect(),
            rate: RateLimit::new(probe.rate),
            next: AtomicUsize::new(0),
            id: format!("probe-{}-{:08x}", now().0, pace::random() >> 32),
            probe,
            gold,
            limits,
            client,
        })
    }

    /// Runs the round. `sink` receives the events in the order of their answers. A tally for each
    /// target is returned.
    ///
    /// # Errors
    /// [`ProbeError::Stopped`] if `stop` ends first.
    pub async fn run(
        self,
        stop: impl Future<Output = ()>,
        mut sink: impl FnMut(ProbedEvent),
    ) -> Result<Vec<Tally>, ProbeError> {
        let round = Arc::new(self);
        let tally = |target: &ProbeTarget| Tally {
            variant: target.variant.clone(),
            ..Tally::default()
        };
        let mut tallies: Vec<Tally> = round.probe.targets.iter().map(tally).collect();
        let (sender, mut outcomes) = mpsc::channel(round.probe.concurrency);
        // Dropping the set aborts the tasks.
        let mut tasks = JoinSet::new();
        for _ in 0..round.probe.concurrency {
            tasks.spawn(Arc::clone(&round).work(sender.clone()));
        }
        drop(sender);
        tokio::pin!(stop);
        loop {
            let outcome = tokio::select! {
                () = &mut stop => return Err(ProbeError::Stopped),
                outcome = outcomes.recv() => outcome,
            };
            match outcome {
                None => break,
                Some(Outcome::Skipped { target }) => tallies[target].skipped += 1,
                Some(Outcome::Sent {
                    event,
                    error,
                    latency_ms,
                }) => {
                    let tally = &mut tallies[event.target];
                    match error {
                        None => {
                            tally.answered += 1;
                            tally.latencies.push(latency_ms);
                        }
                        Some(error) => *tally.failed.entry(error.to_string()).or_default() += 1,
                    }
                    sink(event);
                }
            }
        }
        for tally in &mut tallies {
            tally.latencies.sort_by(f64::total_cmp);
        }
        Ok(tallies)
    }

    /// Sends queries until there are none left. The targets take turns.
    async fn work(self: Arc<Self>, outcomes: mpsc::Sender<Outcome>) {
        let targets = self.probe.targets.len();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let (query, target) = (number / targets, number % targets);
            let Some(gold) = self.gold.queries().get(query) else {
                return;
            };
            let outcome = match self.search(target, gold).await {
                None => Outcome::Skipped { target },
                Some(answered) => self.outcome(target, query, answered),
            };
            if outcomes.send(outcome).await.is_err() {
                return;
            }
        }
    }

    fn state(&self, target: usize) -> MutexGuard<'_, TargetState> {
        let state = self.states[target].lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a query, with repetitions. `None` if the target is stopped.
    async fn search(
        &self,
        target: usize,
        query: &GoldQuery,
    ) -> Option<Result<Response, RequestError>> {
        let mut repetitions = 0;
        loop {
            let earliest = {
                let state = self.state(target);
                if state.is_stopped {
                    return None;
                }
                state.not_before
            };
            self.rate.wait(earliest).await;
            let settings = &self.probe.targets[target];
            let sent = self.client.send(settings, &self.headers[target], query);
            let failed = match sent.await {
                Ok(response) => return Some(Ok(response)),
                Err(failed) => failed,
            };
            let may_repeat = self.note_pause(target, &failed);
            if !may_repeat || !failed.is_transient() || repetitions >= self.probe.retries {
                return Some(Err(failed));
            }
            repetitions += 1;
            if failed.retry_after.is_none() {
                let number = u32::try_from(repetitions).unwrap_or(u32::MAX);
                sleep(pace::delay(number)).await;
            }
        }
    }

    /// Applies the pause that a target asks for. Returns false if it is too long to wait for.
    fn note_pause(&self, target: usize, failed: &RequestError) -> bool {
        let Some(pause) = failed.retry_after else {
            return true;
        };
        let mut state = self.state(target);
        if pause > MAX_RETRY_AFTER {
            if !state.is_stopped {
                let variant = &self.probe.targets[target].variant;
                let seconds = pause.as_secs();
                warn!(
                    variant,
                    seconds, "target asks for a long pause; its other queries are skipped"
                );
            }
            state.is_stopped = true;
            return false;
        }
        state.not_before = state.not_before.max(Instant::now() + pause);
        true
    }

    fn outcome(
        &self,
        target: usize,
        query: usize,
        answered: Result<Response, RequestError>,
    ) -> Outcome {
        let settings = &self.probe.targets[target];
        let gold = &self.gold.queries()[query];
        let latency = match &answered {
            Ok(response) => response.latency,
            Err(failed) => failed.latency,
        };
        let max_hits = self.limits.results_per_search;
        let judged = answered.map_err(|failed| (failed.error, failed.detail));
        let judged = judged.and_then(|response| {
            let answer = answer::parse(&response.body, &settings.answer, max_hits);
            answer.map_err(|error| (ErrorType::Malformed, error.to_string()))
        });
        let mut event = self.event(target, query, judged, latency);
        // An event that the sidecar would reject is a failed search.
        if let Err(rejection) = native::search(event.json.as_bytes(), &self.limits) {
            let error = if event.json.len() > self.limits.record_bytes {
                ErrorType::TooLarge
            } else {
                ErrorType::Malformed
            };
            event = self.event(target, query, Err((error, rejection.to_string())), latency);
        }
        let EventWithError {
            query_id,
            json,
            error,
        } = event;
        self.note(target, gold, error.as_ref());
        Outcome::Sent {
            event: ProbedEvent {
                target,
                query,
                query_id,
                json,
            },
            error: error.map(|(error, _)| error),
            latency_ms: milliseconds(latency),
        }
    }

    fn event(
        &self,
        target: usize,
        query: usize,
        answer: Result<Answer, (ErrorType, String)>,
        latency: Duration,
    ) -> EventWithError {
        let (answer, error) = match answer {
            Ok(answer) if answer.is_partial => {
                let detail = "the engine marks the answer as partial".to_owned();
                (answer, Some((ErrorType::Partial, detail)))
            }
            Ok(answer) => (answer, None),
            Err(error) => {
                let nothing = Answer {
                    hits: Vec::new(),
                    total: None,
                    is_partial: false,
                };
                (nothing, Some(error))
            }
        };
        let query_id = format!("{}-{target}-{query}", self.id);
        let json = event::write(&EventParts {
            query_id: &query_id,
            ts: now(),
            query: &self.gold.queries()[query],
            variant: &self.probe.targets[target].variant,
            answer: &answer,
            latency_ms: milliseconds(latency),
            error: error.as_ref().map(|(error, _)| *error),
        });
        EventWithError {
            query_id,
            json,
            error,
        }
    }

    /// Logs a failure, and stops a target with too many of them.
    fn note(&self, target: usize, query: &GoldQuery, error: Option<&(ErrorType, String)>) {
        let variant = &self.probe.targets[target].variant;
        let mut state = self.state(target);
        let Some((error, detail)) = error else {
            state.failures_in_a_row = 0;
            return;
        };
        state.failures_in_a_row += 1;
        let query_key = &query.key;
        warn!(variant, query_key, error_type = %error, detail, "search failed");
        if state.failures_in_a_row >= MAX_FAILURES_IN_A_ROW && !state.is_stopped {
            state.is_stopped = true;
            let failures = state.failures_in_a_row;
            warn!(
                variant,
                failures, "target is down; its other queries are skipped"
            );
        }
    }
}

struct EventWithError {
    query_id: String,
    json: String,
    error: Option<(ErrorType, String)>,
}

/// The current time, for the events.
fn now() -> EventTime {
    EventTime(Timestamp::now().as_millisecond())
}

/// A duration in milliseconds, in steps of a microsecond.
fn milliseconds(duration: Duration) -> f64 {
    let micros = u32::try_from(duration.as_micros()).unwrap_or(u32::MAX);
    f64::from(micros) / 1e3
}
