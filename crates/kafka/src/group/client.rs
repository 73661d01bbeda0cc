//! Client callbacks of librdkafka: log messages, errors, and statistics, which provide lag and
//! connection state.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::statistics::{ConsumerGroup, Statistics};
use tracing::{debug, info, warn};

use super::stall::Position;
use super::{Member, Membership, State};
use crate::connection::ConnectionProblem;
use crate::settings::GroupProtocol;
use crate::throttle::Throttle;

/// Time with a coordinator after which a member without an assignment has none: three heartbeats of the
/// group protocol of the brokers.
const EMPTY_ASSIGNMENT_MILLIS: i64 = 15_000;

impl<M: Member> ClientContext for Membership<M> {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        let (worker, text) = (self.worker, self.settings.masked(message));
        match level {
            // The same text arrives as an error, which is logged with its remedy.
            _ if facility == "FAIL" => {
                debug!(target: "librdkafka", worker, facility, text, "librdkafka log");
            }
            RDKafkaLogLevel::Emerg
            | RDKafkaLogLevel::Alert
            | RDKafkaLogLevel::Critical
            | RDKafkaLogLevel::Error => {
                warn!(target: "librdkafka", worker, facility, text, "librdkafka log");
            }
            RDKafkaLogLevel::Warning | RDKafkaLogLevel::Notice => {
                info!(target: "librdkafka", worker, facility, text, "librdkafka log");
            }
            RDKafkaLogLevel::Info | RDKafkaLogLevel::Debug => {
                debug!(target: "librdkafka", worker, facility, text, "librdkafka log");
            }
        }
    }

    fn error(&self, problem: KafkaError, reason: &str) {
        let (worker, reason) = (self.worker, self.settings.masked(reason));
        let Some(code) = problem.rdkafka_error_code() else {
            return;
        };
        let mut state = self.state();
        if let Some(cause) = ConnectionProblem::of(&problem, &reason) {
            state.note_problem(worker, cause, &reason);
            return;
        }
        if code == RDKafkaErrorCode::AllBrokersDown {
            state.set_connected(false);
            // The errors of the brokers state the cause.
            if !state.connection.has_problem() {
                state.note_problem(worker, ConnectionProblem::Other, &reason);
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
        let mut state = self.state();
        let was_connected = state.is_connected;
        state.set_connected(connected);
        if !connected {
            // Without a connection, no partition can make progress.
            state.forget_stalls();
            return;
        }
        state.connection.connected(self.worker, !was_connected);
        // The brokers do not send an empty assignment.
        let is_member = |group: &ConsumerGroup| {
            group.state == "up" && group.stateage >= EMPTY_ASSIGNMENT_MILLIS
        };
        let is_consumer = self.settings.group_protocol == GroupProtocol::Consumer;
        let has_joined = self.changes.load(Ordering::Relaxed) > 0;
        if is_consumer && !has_joined && statistics.cgrp.as_ref().is_some_and(is_member) {
            self.changes.fetch_add(1, Ordering::Relaxed);
            state.member.assign(BTreeMap::new(), &[]);
        }
        let State {
            member,
            assigned,
            held,
            deferred,
            stall_watch,
            stalls,
            ..
        } = &mut *state;
        let now = Instant::now();
        for &kind in self.settings.kinds() {
            let Some(topic) = statistics.topics.get(self.settings.topic(kind)) else {
                continue;
            };
            for number in assigned.iter() {
                let Some(partition) = topic.partitions.get(number) else {
                    continue;
                };
                // Records of an open transaction, and those after them, cannot be read yet.
                let end = if self.settings.reads_uncommitted() {
                    partition.hi_offset
                } else {
                    partition.ls_offset
                };
                let place = (*number, kind);
                let is_paused = held.contains(&place) || deferred.contains_key(&place);
                let waits = !is_paused && partition.next_offset < end;
                let position = waits.then_some(Position {
                    fetch: partition.next_offset,
                    received: partition.app_offset,
                });
                stall_watch.note(place, position, now);
                if end >= 0 {
                    let is_read = partition.fetchq_cnt == 0 && partition.next_offset >= end;
                    member.note_end(kind, *number, end, is_read);
                }
            }
        }
        *stalls = stall_watch.stalls(now);
    }
}
