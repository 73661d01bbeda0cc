//! Client callbacks of librdkafka: log messages, errors, and statistics, which provide lag and
//! connection state.

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::statistics::Statistics;
use tracing::{debug, info, warn};

use super::Membership;
use rankgauge_core::engine::Input;
use rankgauge_core::event::Kind;
use rankgauge_kafka::connection::ConnectionProblem;
use rankgauge_kafka::throttle::Throttle;

impl ClientContext for Membership {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        let worker = self.context.number;
        match level {
            // The same text arrives as an error, which is logged with its remedy.
            _ if facility == "FAIL" => {
                debug!(
                    target: "librdkafka",
                    worker, facility, text = message, "librdkafka log"
                );
            }
            RDKafkaLogLevel::Emerg
            | RDKafkaLogLevel::Alert
            | RDKafkaLogLevel::Critical
            | RDKafkaLogLevel::Error => {
                warn!(
                    target: "librdkafka",
                    worker, facility, text = message, "librdkafka log"
                );
            }
            RDKafkaLogLevel::Warning | RDKafkaLogLevel::Notice => {
                info!(
                    target: "librdkafka",
                    worker, facility, text = message, "librdkafka log"
                );
            }
            RDKafkaLogLevel::Info | RDKafkaLogLevel::Debug => {
                debug!(
                    target: "librdkafka",
                    worker, facility, text = message, "librdkafka log"
                );
            }
        }
    }

    fn error(&self, problem: KafkaError, reason: &str) {
        let worker = self.context.number;
        let Some(code) = problem.rdkafka_error_code() else {
            return;
        };
        let mut state = self.state();
        if let Some(cause) = ConnectionProblem::of(&problem, reason) {
            state.connection.note(worker, cause, reason);
            return;
        }
        if code == RDKafkaErrorCode::AllBrokersDown {
            self.context.view().set_connected(false);
            // The errors of the brokers state the cause.
            if !state.connection.has_problem() {
                state
                    .connection
                    .note(worker, ConnectionProblem::Other, reason);
            }
            return;
        }
        let log = &mut state.error_log;
        let index = log.iter().position(|(known, _)| *known == code);
        let index = index.unwrap_or_else(|| {
            log.push((code, Throttle::default()));
            log.len() - 1
        });
        if let Some(suppressed) = log[index].1.admit() {
            warn!(worker, error = reason, code = ?code, suppressed, "consumer error");
        }
    }

    fn stats(&self, statistics: Statistics) {
        // The connection to the group coordinator is separate and is not counted: records come
        // through the other connections.
        let connected = statistics
            .brokers
            .values()
            .any(|broker| broker.state == "UP" && broker.nodeid >= 0);
        let was_connected = self.context.view().connected();
        self.context.view().set_connected(connected);
        if !connected {
            return;
        }
        let mut state = self.state();
        let worker = self.context.number;
        state.connection.connected(worker, !was_connected);
        for kind in Kind::ALL {
            let Some(topic) = statistics.topics.get(self.kafka().topic(kind)) else {
                continue;
            };
            for number in state.engine.partitions() {
                let Some(partition) = topic.partitions.get(&number) else {
                    continue;
                };
                let Some(next) = state.engine.next_offset(kind, number) else {
                    continue;
                };
                // Records of an open transaction, and those after them, cannot be read yet.
                let end = if self.kafka().reads_uncommitted() {
                    partition.hi_offset
                } else {
                    partition.ls_offset
                };
                if end < 0 {
                    continue;
                }
                let read_all = partition.fetchq_cnt == 0 && partition.next_offset >= end;
                let left = if read_all { 0 } else { end - next };
                let records = u64::try_from(left).unwrap_or(0);
                state.engine.apply(Input::Lag {
                    kind,
                    partition: number,
                    records,
                });
            }
        }
    }
}
