//! Handler of requests: from the body to the answer of the broker.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::EXPECT;
use hyper::{Method, Request, StatusCode};
use rankgauge_core::event::{Acceptance, Kind, Reason};
use rankgauge_kafka::publisher::{Batch, Outcome, Publisher};
use rankgauge_serve::base_listener::probe;
use rankgauge_serve::gateway::{EventOutcome, GatewayMetrics, Route};
use rankgauge_serve::server::{Handler, HttpResponse};
use tokio::sync::oneshot;

use crate::answer::{Answer, Refusal, RejectedEvent, error};
use crate::body::Body;
use crate::cors::{Origin, Origins};
use crate::events::{Reader, Record, Sink, read_body};
use crate::memory::{Memory, Reservation};
use crate::routes::{KnownFormats, Reading, form, is_lines, reading, route};
use crate::settings::Settings;
use crate::tokens::{Client, Tokens};

/// Memory of a record in the queue of the producer, beside key and payload.
const RECORD_OVERHEAD: usize = 512;

/// Time after the limit of a delivery in which its report arrives.
const REPORT_DELAY: Duration = Duration::from_secs(2);

/// Time limit for the rest of the body of a refused request.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Handler of the gateway's listener.
pub(crate) struct Events {
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) settings: Settings,
    pub(crate) topics: [String; 2],
    pub(crate) has_feedback: bool,
    pub(crate) acceptance: Acceptance,
    pub(crate) formats: KnownFormats,
    pub(crate) origins: Origins,
    pub(crate) publisher: Arc<Publisher>,
    pub(crate) memory: Memory,
    pub(crate) metrics: GatewayMetrics,
}

/// Records of a request on their way to the broker.
struct Publishing<'h> {
    events: &'h Events,
    batch: Arc<Batch>,
    sent: usize,
    /// Number of the event of each record that was sent, by the number of the record.
    indexes: Vec<usize>,
    reservation: Reservation,
}

impl Sink for Publishing<'_> {
    fn record(&mut self, record: &Record<'_>) -> Result<(), Refusal> {
        let bytes = record.key.len() + record.payload.len() + RECORD_OVERHEAD;
        self.reservation.grow(bytes)?;
        if self.sent == self.events.settings.max_events {
            return Err(Refusal::TooManyEvents(self.sent));
        }
        let topic = &self.events.topics[record.kind.index()];
        let publisher = &self.events.publisher;
        if !publisher.send(&self.batch, self.sent, topic, record.key, record.payload) {
            return Err(Refusal::Unconfirmed);
        }
        self.sent += 1;
        self.indexes.push(record.index);
        Ok(())
    }
}

impl Events {
    pub(crate) fn readiness_problem(&self) -> Option<String> {
        match (self.publisher.is_ready(), self.publisher.problem()) {
            (true, None) => None,
            (true, Some(problem)) => Some(format!(
                "events are not delivered: {problem}; clients receive 503 and repeat their requests"
            )),
            (false, problem) => {
                let problem = problem.unwrap_or_else(|| "no answer yet".to_owned());
                Some(format!(
                    "the topics have not answered yet: {problem}; check kafka.brokers and the names of the topics"
                ))
            }
        }
    }

    async fn respond(
        &self,
        request: &mut Request<Incoming>,
        route: Route,
    ) -> Result<Answer, Refusal> {
        if request.method() != Method::POST {
            return Err(Refusal::Method("POST"));
        }
        if self.origins.of(request.headers()) == Origin::Refused {
            return Err(Refusal::Origin);
        }
        let client = self.tokens.client(request.headers())?;
        let check = || {
            client
                .as_ref()
                .map_or(Ok(()), |it| it.check(Instant::now()))
        };
        self.count_limited(client.as_deref(), check())?;
        let reading = reading(route, request.uri(), request.headers(), &self.formats)?;
        if matches!(reading, Reading::Values(Kind::Feedback, _)) && !self.has_feedback {
            return Err(Refusal::Invalid(
                "this gateway takes no feedback, because kafka.feedback_topic is none; set it to the topic of feedback",
            ));
        }
        // Without topics, a request would only wait.
        if !self.publisher.is_ready() {
            return Err(Refusal::Unconnected);
        }
        let is_lines = is_lines(request.headers());
        let body = Body::read(request, &self.settings, &self.memory).await?;
        self.metrics.memory(self.memory.used());
        // Another request can have used the limit in the meantime. From here to what this one takes, no
        // other request runs.
        self.count_limited(client.as_deref(), check())?;
        let settings = &self.settings;
        let answer = self.publish(route, client.as_deref(), body, |reader, body| {
            let limits = (settings, &self.memory);
            read_body(reader, (route, reading), is_lines, &body.bytes, limits)
        });
        let answer = answer.await?;
        Ok(Answer {
            is_logs: route == Route::Logs,
            ..answer
        })
    }

    /// Passes `checked` on, and counts a request of `client` beyond its limits.
    fn count_limited(
        &self,
        client: Option<&Client>,
        checked: Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        if let (Some(client), Err(_)) = (client, &checked) {
            self.tokens.count(client, GatewayMetrics::limited);
        }
        checked
    }

    /// Sends the records that `read` finds in the body, and waits for the broker.
    async fn publish(
        &self,
        route: Route,
        client: Option<&Client>,
        body: Body,
        read: impl FnOnce(&mut Reader<'_, Publishing<'_>>, &Body) -> Result<(), Refusal>,
    ) -> Result<Answer, Refusal> {
        let started = Instant::now();
        let (sender, outcome) = oneshot::channel();
        let mut publishing = Publishing {
            events: self,
            // The receiver is gone if the client has closed the connection.
            batch: Batch::new(move |outcome| drop(sender.send(outcome))),
            sent: 0,
            indexes: Vec::new(),
            reservation: self.memory.reservation(),
        };
        let mut reader = Reader::new(self.settings.key, self.acceptance, &mut publishing);
        let done = read(&mut reader, &body);
        let (rejected, ignored) = (reader.rejected, reader.ignored);
        let bytes = body.bytes.len();
        drop(body);
        let Publishing {
            batch,
            sent,
            indexes,
            reservation,
            ..
        } = publishing;
        drop(batch);
        if let Some(client) = client {
            let events = sent + rejected.len();
            client.take(events, bytes);
            let tokens = &self.tokens;
            tokens.count(client, |metrics, name| metrics.taken(name, events, bytes));
        }
        let count = |outcome, count| self.metrics.events(route, outcome, count);
        if let Err(refusal) = done {
            count(EventOutcome::Unconfirmed, sent);
            return Err(refusal);
        }
        let outcome = self.outcome(outcome).await;
        drop(reservation);
        if sent > 0 {
            self.metrics.delivered(route, started.elapsed());
        }
        let answer = answer(outcome, &indexes, (rejected, ignored));
        let answer = answer.inspect_err(|_| count(EventOutcome::Unconfirmed, sent))?;
        count(EventOutcome::Accepted, answer.accepted);
        count(EventOutcome::Rejected, answer.rejected.len());
        count(EventOutcome::Ignored, ignored);
        Ok(answer)
    }

    /// Outcome of the records of a request; that of none without reports.
    async fn outcome(&self, outcome: oneshot::Receiver<Outcome>) -> Outcome {
        let limit = self.settings.timeout + REPORT_DELAY;
        match tokio::time::timeout(limit, outcome).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Outcome::default(),
        }
    }
}

/// Answer from the reports of the records, whose events have these `indexes`. An event that is too large
/// for its topic is rejected; any other failure refuses the request.
fn answer(
    outcome: Outcome,
    indexes: &[usize],
    (mut rejected, ignored): (Vec<RejectedEvent>, usize),
) -> Result<Answer, Refusal> {
    if outcome.delivered + outcome.failed.len() != indexes.len()
        || outcome.failed.iter().any(|(_, it)| !it.is_too_large)
    {
        return Err(Refusal::Unconfirmed);
    }
    for (number, _) in outcome.failed {
        let index = indexes.get(number).copied().unwrap_or_default();
        rejected.push(RejectedEvent {
            index,
            reason: Reason::TooLarge.name(),
            field: None,
        });
    }
    rejected.sort_by_key(|event| event.index);
    Ok(Answer {
        accepted: outcome.delivered,
        ignored,
        rejected,
        is_logs: false,
    })
}

/// Reads the rest of the body of a refused request: a client that is still sending reads no answer.
async fn drain(request: &mut Request<Incoming>, settings: &Settings) {
    // Such a client sends no body after a refusal.
    if request.headers().contains_key(EXPECT) {
        return;
    }
    let body = request.body_mut();
    let rest = async {
        let mut left = settings.max_body;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, hyper::body::Bytes::len);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    };
    // The answer is sent in any case.
    drop(tokio::time::timeout(DRAIN_TIMEOUT, rest).await);
}

impl Handler for Events {
    fn probe(&self, request: &Request<Incoming>) -> Option<HttpResponse> {
        if request.method() == Method::OPTIONS {
            return self.origins.of(request.headers()).preflight();
        }
        probe(request, &|| self.readiness_problem())
    }

    async fn handle(&self, request: &mut Request<Incoming>) -> HttpResponse {
        let started = Instant::now();
        let route = route(request.uri().path()).unwrap_or(Route::Other);
        let form = form(route, request.headers());
        let answered = self.respond(request, route).await;
        let outcome = match &answered {
            Ok(answer) => answer.outcome(),
            Err(refusal) => refusal.outcome(),
        };
        self.metrics.request(route, outcome);
        self.metrics.memory(self.memory.used());
        if route != Route::Other {
            self.metrics.answered(route, started.elapsed());
        }
        if answered.is_err() {
            drain(request, &self.settings).await;
        }
        let mut response = match answered {
            Ok(answer) => answer.into_response(form),
            Err(refusal) => refusal.into_response(form),
        };
        let origin = self.origins.of(request.headers());
        origin.allow(response.headers_mut());
        response
    }

    fn error(&self, status: StatusCode, text: &str) -> HttpResponse {
        error(status, text)
    }
}
