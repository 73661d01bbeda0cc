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

impl ClientContext for Membership {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        let worker = self.context.number;
        match level {
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
        if problem.rdkafka_error_code() == Some(RDKafkaErrorCode::AllBrokersDown) {
            self.context.view().set_connected(false);
        }
        warn!(worker = self.context.number, error = %problem, reason, "librdkafka error");
    }

    fn stats(&self, statistics: Statistics) {
        // The connection to the group coordinator is separate and is not counted: records come
        // through the other connections.
        let connected = statistics
            .brokers
            .values()
            .any(|broker| broker.state == "UP" && broker.nodeid >= 0);
        self.context.view().set_connected(connected);
        if !connected {
            return;
        }
        let mut state = self.state();
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
                if partition.hi_offset < 0 {
                    continue;
                }
                let read_all =
                    partition.fetchq_cnt == 0 && partition.next_offset >= partition.hi_offset;
                let left = if read_all {
                    0
                } else {
                    partition.hi_offset - next
                };
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
