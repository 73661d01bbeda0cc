//! Producer of requests for labels.
//!
//! A request that is not delivered counts as one without an answer: the interval of the estimate contains
//! both of its ends.

use std::sync::Mutex;
use std::time::Duration;

use rdkafka::producer::{BaseRecord, Producer as _, ThreadedProducer};
use tracing::warn;

use crate::producer::{Deliveries, Failure, Reports};
use crate::throttle::Throttle;
use crate::{Error, Settings};

/// Time limit for the delivery of outstanding requests at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Producer of one worker. A thread of its own serves the delivery reports.
pub struct LabelRequests {
    topic: String,
    producer: ThreadedProducer<Deliveries<RequestReports>>,
}

/// Receiver of the delivery reports.
struct RequestReports {
    topic: String,
    log: Mutex<Throttle>,
}

impl Reports for RequestReports {
    type Sent = ();

    fn report(&self, (): (), outcome: Result<(), Failure>) {
        let Err(failure) = outcome else { return };
        let mut log = self
            .log
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(suppressed) = log.admit() {
            warn!(topic = self.topic, error = %failure, suppressed, "label request not delivered");
        }
    }
}

impl LabelRequests {
    /// Creates a producer for `topic`.
    ///
    /// # Errors
    /// If librdkafka refuses the configuration.
    pub fn new(topic: &str, settings: &Settings) -> Result<Self, Error> {
        let mut client = settings.client();
        client.set("client.id", "rankgauge-label-requests");
        let reports = RequestReports {
            topic: topic.to_owned(),
            log: Mutex::default(),
        };
        let producer = client.create_with_context(Deliveries::new(settings, reports));
        Ok(Self {
            topic: topic.to_owned(),
            producer: producer.map_err(|error| Error::of_configuration(&error, settings))?,
        })
    }

    /// Sends a request. `key` is the id of its search.
    pub fn send(&self, key: &str, payload: &[u8]) {
        let record = BaseRecord::<'_, str, [u8], ()>::to(&self.topic)
            .key(key)
            .payload(payload);
        if let Err((problem, _)) = self.producer.send(record) {
            self.producer.context().refused((), &problem);
        }
    }

    /// Waits until the requests are delivered, for a limited time.
    pub fn flush(&self) {
        if let Err(problem) = self.producer.flush(FLUSH_TIMEOUT) {
            warn!(topic = self.topic, error = %problem, "label requests not delivered");
        }
    }
}
