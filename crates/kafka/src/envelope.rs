//! Parts of a message around its payload, for the decoders.

use std::fmt::Debug;

use rdkafka::Message;
use rdkafka::message::Headers as _;

use rankgauge_core::decode::Envelope;
use rankgauge_core::time::EventTime;

/// Key, time and headers of a message.
#[derive(Debug)]
pub struct MessageEnvelope<'m, M>(pub &'m M);

impl<M: Message + Debug> Envelope for MessageEnvelope<'_, M> {
    fn key(&self) -> Option<&[u8]> {
        self.0.key()
    }

    fn timestamp(&self) -> Option<EventTime> {
        self.0.timestamp().to_millis().map(EventTime)
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        let headers = self.0.headers()?;
        let mut places = (0..headers.count()).rev();
        places.find_map(|place| {
            let header = headers.try_get(place)?;
            (header.key == name).then_some(header.value).flatten()
        })
    }

    fn for_each_header(&self, visit: &mut dyn FnMut(&str, &[u8])) {
        for header in self.0.headers().into_iter().flat_map(|it| it.iter()) {
            if let Some(value) = header.value {
                visit(header.key, value);
            }
        }
    }
}
