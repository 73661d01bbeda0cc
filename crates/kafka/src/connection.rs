//! Problems of the connection to Kafka: their cause, their remedy, and their log messages.
//!
//! librdkafka reports the same problem for every broker and every attempt. A cause is logged once a
//! minute with the number of its repetitions.

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use tracing::{info, warn};

use crate::throttle::Throttle;

/// Cause of a failed connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionProblem {
    /// The host name of a broker has no address.
    Unresolved,
    /// The machine answers, but no process listens on the port.
    Refused,
    /// There is no answer.
    Timeout,
    /// The TLS handshake fails.
    Tls,
    /// The broker rejects the credentials.
    Authentication,
    /// The broker closes the connection.
    Closed,
    /// Another cause.
    Other,
}

impl ConnectionProblem {
    /// All causes.
    pub const ALL: [Self; 7] = [
        Self::Unresolved,
        Self::Refused,
        Self::Timeout,
        Self::Tls,
        Self::Authentication,
        Self::Closed,
        Self::Other,
    ];

    /// Cause of an error of librdkafka with this message. `None` if the error is not about a
    /// connection, or only summarises earlier errors: that all brokers are down.
    pub fn of(error: &KafkaError, message: &str) -> Option<Self> {
        if message.contains("SSL handshake failed") {
            return Some(Self::Tls);
        }
        match error.rdkafka_error_code()? {
            RDKafkaErrorCode::Resolve => Some(Self::Unresolved),
            RDKafkaErrorCode::SSL => Some(Self::Tls),
            RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SaslAuthenticationFailed => {
                Some(Self::Authentication)
            }
            RDKafkaErrorCode::OperationTimedOut | RDKafkaErrorCode::RequestTimedOut => {
                Some(Self::Timeout)
            }
            RDKafkaErrorCode::BrokerTransportFailure => Some(Self::of_transport(message)),
            _ => None,
        }
    }

    fn of_transport(message: &str) -> Self {
        let contains = |text: &str| message.contains(text);
        if contains("refused") {
            Self::Refused
        } else if contains("timed out") || contains("unreachable") {
            Self::Timeout
        } else if contains("isconnected") || contains("closed") || contains("reset") {
            Self::Closed
        } else {
            Self::Other
        }
    }

    /// Name in log messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unresolved => "unknown host name",
            Self::Refused => "connection refused",
            Self::Timeout => "no answer",
            Self::Tls => "TLS handshake failed",
            Self::Authentication => "authentication failed",
            Self::Closed => "connection closed by the broker",
            Self::Other => "no connection",
        }
    }

    /// Action that solves the problem.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Unresolved => {
                "check the host names in kafka.brokers, the advertised.listeners of the brokers, \
                 and DNS"
            }
            Self::Refused => {
                "check that the broker runs and that kafka.brokers has its port; if only later \
                 connections fail, check the advertised.listeners of the brokers"
            }
            Self::Timeout => {
                "check the load of the broker, and firewalls and network policies between it and \
                 this process"
            }
            Self::Tls => {
                "check security.protocol, ssl.ca.location and the client certificate in \
                 kafka.properties, and that the port of kafka.brokers is a TLS listener"
            }
            Self::Authentication => {
                "check security.protocol, sasl.mechanism, sasl.username and sasl.password in \
                 kafka.properties"
            }
            Self::Closed => {
                "if this repeats, check that security.protocol in kafka.properties matches the \
                 listener: a TLS or SASL listener closes other connections"
            }
            Self::Other => "check kafka.brokers and the log of the brokers",
        }
    }

    /// Cause, `message` of librdkafka and remedy in one line, for the log of a command.
    pub fn explain(self, message: &str) -> String {
        format!("{}: {message}; {}", self.name(), self.remedy())
    }
}

/// Log of the connections of one client.
#[derive(Debug, Default)]
pub struct ConnectionLog {
    /// Last problem since the last connection.
    last: Option<ConnectionProblem>,
    throttles: [Throttle; ConnectionProblem::ALL.len()],
}

impl ConnectionLog {
    /// Returns true if a problem occurred since the last connection.
    pub fn has_problem(&self) -> bool {
        self.last.is_some()
    }

    /// Logs a problem of the client, or of its worker, unless the same cause was logged recently.
    pub fn note(&mut self, worker: Option<usize>, problem: ConnectionProblem, message: &str) {
        self.last = Some(problem);
        let index = ConnectionProblem::ALL.iter().position(|it| *it == problem);
        let throttle = index.and_then(|index| self.throttles.get_mut(index));
        if let Some(suppressed) = throttle.and_then(Throttle::admit) {
            warn!(
                worker,
                reason = problem.name(),
                error = message,
                remedy = problem.remedy(),
                suppressed,
                "no connection to Kafka; retrying"
            );
        }
    }

    /// Records that a broker is connected. `is_new` is true if no broker was connected before: the
    /// next problem is then a new one and is logged at once.
    pub fn connected(&mut self, worker: usize, is_new: bool) {
        if self.last.take().is_some() && is_new {
            info!(worker, "connected to Kafka");
            self.throttles.iter_mut().for_each(Throttle::reset);
        }
    }
}
