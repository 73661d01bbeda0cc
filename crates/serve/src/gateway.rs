//! Metrics of a gateway.

use std::time::Duration;

use prometheus::{IntCounterVec, IntGauge};

use crate::latencies::Latencies;

/// Declares a label whose values are fixed.
macro_rules! label {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $value:ident = $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $value),*
        }

        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$value),*];

            /// Label value.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text),*
                }
            }
        }
    };
}

label! {
    /// Route of a request.
    Route {
        /// `/v1/searches`.
        Searches = "searches",
        /// `/v1/feedback`.
        Feedback = "feedback",
        /// `/v1/traces`.
        Traces = "traces",
        /// `/v1/logs`.
        Logs = "logs",
        /// `/v1/ubi/queries`.
        UbiQueries = "ubi_queries",
        /// `/v1/ubi/events`.
        UbiEvents = "ubi_events",
        /// Any other path.
        Other = "other",
    }
}

label! {
    /// Outcome of a request.
    RequestOutcome {
        /// Every event was accepted.
        Ok = "ok",
        /// Some events were rejected.
        Partial = "partial",
        /// No event was accepted.
        Rejected = "rejected",
        /// The request cannot be read.
        Invalid = "invalid",
        /// The token is missing or wrong.
        Unauthorised = "unauthorised",
        /// The application has used its rate limit.
        Limited = "limited",
        /// No memory is left, or the broker did not answer.
        Unavailable = "unavailable",
    }
}

label! {
    /// Outcome of an event.
    EventOutcome {
        /// The broker has it.
        Accepted = "accepted",
        /// It is not valid.
        Rejected = "rejected",
        /// It is not selected.
        Ignored = "ignored",
        /// The broker did not confirm it.
        Unconfirmed = "unconfirmed",
    }
}

/// Metrics of a gateway.
#[derive(Clone, Debug)]
pub struct GatewayMetrics {
    pub(crate) requests: IntCounterVec,
    pub(crate) events: IntCounterVec,
    pub(crate) memory: IntGauge,
    pub(crate) application_events: IntCounterVec,
    pub(crate) application_bytes: IntCounterVec,
    pub(crate) application_limited: IntCounterVec,
    pub(crate) request_duration: Latencies,
    pub(crate) delivery_duration: Latencies,
}

impl GatewayMetrics {
    /// Exposes every series: `increase` misses the first event of a counter that appears with it.
    pub(crate) fn expose(&self) {
        for route in Route::ALL {
            for outcome in RequestOutcome::ALL {
                self.requests
                    .with_label_values(&[route.name(), outcome.name()]);
            }
            if *route == Route::Other {
                continue;
            }
            for outcome in EventOutcome::ALL {
                self.events
                    .with_label_values(&[route.name(), outcome.name()]);
            }
            self.request_duration.expose(route.name());
            self.delivery_duration.expose(route.name());
        }
    }

    /// Counts a request.
    pub fn request(&self, route: Route, outcome: RequestOutcome) {
        self.requests
            .with_label_values(&[route.name(), outcome.name()])
            .inc();
    }

    /// Counts events.
    pub fn events(&self, route: Route, outcome: EventOutcome, count: usize) {
        let counter = self
            .events
            .with_label_values(&[route.name(), outcome.name()]);
        counter.inc_by(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// Exposes the applications `now`, and no longer those that were exposed `before`.
    pub fn applications(&self, before: &[&str], now: &[&str]) {
        for family in [
            &self.application_events,
            &self.application_bytes,
            &self.application_limited,
        ] {
            for name in before.iter().filter(|name| !now.contains(name)) {
                // It is absent only if it was removed before.
                drop(family.remove_label_values(&[name]));
            }
            for name in now {
                family.with_label_values(&[name]);
            }
        }
    }

    /// Counts what an application sent.
    pub fn taken(&self, application: &str, events: usize, bytes: usize) {
        for (family, count) in [
            (&self.application_events, events),
            (&self.application_bytes, bytes),
        ] {
            let counter = family.with_label_values(&[application]);
            counter.inc_by(u64::try_from(count).unwrap_or(u64::MAX));
        }
    }

    /// Counts a request of an application beyond its limits.
    pub fn limited(&self, application: &str) {
        self.application_limited
            .with_label_values(&[application])
            .inc();
    }

    /// Sets the memory in use.
    pub fn memory(&self, bytes: usize) {
        self.memory.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Records the duration of a request.
    pub fn answered(&self, route: Route, duration: Duration) {
        self.request_duration.record(route.name(), duration);
    }

    /// Records the time that the broker took for the records of a request.
    pub fn delivered(&self, route: Route, duration: Duration) {
        self.delivery_duration.record(route.name(), duration);
    }
}
