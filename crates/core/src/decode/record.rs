//! A record around the decoders: its bytes before, its events after.

use crate::event::{Feedback, Search};
use crate::time::EventTime;

/// Parts of a record around its payload.
pub trait Envelope: std::fmt::Debug {
    /// Key.
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
