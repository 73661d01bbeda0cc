//! Clients outside the consumer group: their log, and the wait for the first answer of a broker.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::client::{Client, ClientContext};
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use tracing::{debug, warn};

use crate::connection::{ConnectionLog, ConnectionProblem};
use crate::settings::Settings;
use crate::{Error, topic};

/// Time limit for the first answer of a broker.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit of one attempt. Between two attempts, the stop flag is read.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(800);

/// Client context that logs failed connections and retains their cause.
pub(crate) struct StandaloneContext {
    settings: Settings,
    connection: Mutex<Connection>,
}

#[derive(Default)]
struct Connection {
    log: ConnectionLog,
    /// Last cause of a failed connection, with its remedy.
    cause: Option<String>,
}

impl StandaloneContext {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            connection: Mutex::default(),
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        let connection = self.connection.lock();
        connection.unwrap_or_else(PoisonError::into_inner)
    }

    /// Last cause of a failed connection, with its remedy.
    fn cause(&self) -> Option<String> {
        self.connection().cause.clone()
    }
}

impl ClientContext for StandaloneContext {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        let text = self.settings.masked(message);
        debug!(target: "librdkafka", facility, text, "librdkafka log");
    }

    fn error(&self, problem: KafkaError, reason: &str) {
        let reason = self.settings.masked(reason);
        if let Some(cause) = ConnectionProblem::of(&problem, &reason) {
            let mut connection = self.connection();
            connection.log.note(None, cause, &reason);
            connection.cause = Some(cause.explain(&reason));
        } else if !matches!(
            problem.rdkafka_error_code(),
            // The end of a partition is what a reader waits for.
            Some(RDKafkaErrorCode::AllBrokersDown | RDKafkaErrorCode::PartitionEOF)
        ) {
            let error = self.settings.text_of(&problem);
            warn!(%error, reason, "client error");
        }
    }
}

impl ConsumerContext for StandaloneContext {}

/// Waits until a broker answers about `name`, for at most `limit`, or `known_cause_limit` if the cause
/// of the failed connection is known. `poll` serves the events of the client for a short time.
pub(crate) fn connect<C: ClientContext>(
    client: &Client<C>,
    context: &StandaloneContext,
    name: &str,
    [limit, known_cause_limit]: [Duration; 2],
    should_stop: &dyn Fn() -> bool,
    poll: &dyn Fn(),
) -> Result<(), Error> {
    let started = Instant::now();
    loop {
        let left = limit.saturating_sub(started.elapsed());
        match topic::partitions(client, context.settings(), name, left.min(ATTEMPT_TIMEOUT)) {
            Err(Error::NoAnswer) => {}
            Ok(_) | Err(_) => return Ok(()),
        }
        // Polling delivers the cause of a failed connection.
        poll();
        if should_stop() {
            return Err(Error::Interrupted);
        }
        let cause = context.cause();
        let limit = cause.as_ref().map_or(limit, |_| known_cause_limit);
        if started.elapsed() >= limit {
            let brokers = context.settings.brokers.clone();
            return Err(cause.map_or(Error::NoAnswer, |cause| Error::Unanswered {
                brokers,
                cause,
            }));
        }
    }
}
