//! A record around the decoders: its bytes before, its events after.

use crate::event::{Feedback, Search};
use crate::time::EventTime;

/// Parts of a record around its payload.
pub trait Envelope: std::fmt::Debug {
    /// Key; `None` for a record without one.
    fn key(&self) -> Option<&[u8]>;

    /// Time that Kafka states: of the producer or of the broker.
    fn timestamp(&self) -> Option<EventTime>;

    /// Value of the last header of this name.
    fn header(&self, name: &str) -> Option<&[u8]>;

    /// Passes name and value of each header to `visit`.
    fn for_each_header(&self, visit: &mut dyn FnMut(&str, &[u8]));
}

/// Record before it is decoded.
#[derive(Clone, Copy, Debug)]
pub struct Encoded<'a> {
    /// Payload; empty for a tombstone.
    pub payload: &'a [u8],
    /// Parts around the payload; `None` for a line of a file.
    pub envelope: Option<&'a dyn Envelope>,
}

impl<'a> From<&'a [u8]> for Encoded<'a> {
    fn from(payload: &'a [u8]) -> Self {
        Self {
            payload,
            envelope: None,
        }
    }
}

impl<'a> From<&'a Vec<u8>> for Encoded<'a> {
    fn from(payload: &'a Vec<u8>) -> Self {
        Self::from(payload.as_slice())
    }
}

/// Record before it is decoded, with bytes of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedRecord {
    /// Payload; empty for a tombstone.
    pub payload: Vec<u8>,
    /// Key; `None` for a record without one, and for a line of a file.
    pub key: Option<Vec<u8>>,
    /// Time that Kafka states; `None` for a line of a file.
    pub timestamp: Option<EventTime>,
    /// Names and values of the headers.
    pub headers: Vec<(String, Vec<u8>)>,
}

impl OwnedRecord {
    /// Size of payload, key and headers in bytes.
    pub fn bytes(&self) -> usize {
        let headers = self.headers.iter();
        let headers: usize = headers.map(|(name, value)| name.len() + value.len()).sum();
        self.payload.len() + self.key.as_ref().map_or(0, Vec::len) + headers
    }
}

impl From<Encoded<'_>> for OwnedRecord {
    fn from(record: Encoded<'_>) -> Self {
        let mut headers = Vec::new();
        if let Some(envelope) = record.envelope {
            envelope.for_each_header(&mut |name, value| {
                headers.push((name.to_owned(), value.to_vec()));
            });
        }
        Self {
            payload: record.payload.to_vec(),
            key: record.envelope.and_then(|it| it.key()).map(<[u8]>::to_vec),
            timestamp: record.envelope.and_then(Envelope::timestamp),
            headers,
        }
    }
}

impl Envelope for OwnedRecord {
    fn key(&self) -> Option<&[u8]> {
        self.key.as_deref()
    }

    fn timestamp(&self) -> Option<EventTime> {
        self.timestamp
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        let last = self.headers.iter().rfind(|(known, _)| known == name);
        last.map(|(_, value)| value.as_slice())
    }

    fn for_each_header(&self, visit: &mut dyn FnMut(&str, &[u8])) {
        for (name, value) in &self.headers {
            visit(name, value);
        }
    }
}

impl<'a> From<&'a OwnedRecord> for Encoded<'a> {
    fn from(record: &'a OwnedRecord) -> Self {
        Self {
            payload: &record.payload,
            envelope: Some(record),
        }
    }
}

/// Content of a record.
#[derive(Clone, Debug)]
pub(crate) enum Decoded<'a> {
    /// Its only event.
    Event(Event<'a>),
    /// The mapping of the format does not select it.
    Ignored,
    /// It can hold any number of events: see [`Formats::events`](crate::decode::Formats::events).
    Several,
}

/// Event of a record that holds no other.
#[derive(Clone, Debug)]
pub(crate) enum Event<'a> {
    /// A search. A box, because it is large and passes through several hands.
    Search(Box<Search<'a>>),
    /// A feedback event.
    Feedback(Feedback<'a>),
}

impl Event<'_> {
    pub(super) fn as_ref(&self) -> EventRef<'_> {
        match self {
            Self::Search(search) => EventRef::Search(search),
            Self::Feedback(feedback) => EventRef::Feedback(feedback),
        }
    }
}

/// Reference to an event of a record.
#[derive(Clone, Copy, Debug)]
pub enum EventRef<'e> {
    /// A search.
    Search(&'e Search<'e>),
    /// A feedback event.
    Feedback(&'e Feedback<'e>),
}
