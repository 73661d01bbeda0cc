//! Forms of a payload around its encoding: the framing of a schema registry, and compression.
//!
//! A record in another form than its topic's format is rejected with the name of that form.

use std::borrow::Cow;
use std::io::Read;

use crate::event::{Limits, Reason, Rejection};
use crate::text;

/// Framing of the payloads of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// The payload is the content alone.
    None,
    /// A zero byte and the id of a schema in a schema registry, 4 bytes. In Protocol Buffers, the indexes
    /// of the message follow.
    Confluent,
    /// Single object of Avro: two bytes, and the fingerprint of the schema.
    SingleObject,
}

impl Framing {
    /// Every framing with its name in the configuration.
    pub const NAMES: [(&str, Self); 3] = [
        ("none", Self::None),
        ("confluent", Self::Confluent),
        ("single_object", Self::SingleObject),
    ];

    /// Schema id and content of a payload in the framing of a schema registry.
    pub fn unframed(payload: &[u8]) -> Option<(u32, &[u8])> {
        let (head, content) = payload.split_first_chunk::<5>()?;
        let [0, id @ ..] = *head else { return None };
        Some((u32::from_be_bytes(id), content))
    }
}

/// Compression of the payloads of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// The payload is not compressed.
    None,
    /// Gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// Every compression with its name in the configuration.
    pub const NAMES: [(&str, Self); 3] = [
        ("none", Self::None),
        ("gzip", Self::Gzip),
        ("zstd", Self::Zstd),
    ];

    /// Returns the payload without compression, of at most `limits.record_bytes` bytes.
    ///
    /// # Errors
    /// The payload is not compressed like this, or too large.
    pub(super) fn inflated<'a>(
        self,
        payload: &'a [u8],
        limits: &Limits,
    ) -> Result<Cow<'a, [u8]>, Rejection> {
        if payload.is_empty() || self == Self::None {
            return Ok(Cow::Borrowed(payload));
        }
        let bound = u64::try_from(limits.record_bytes).unwrap_or(u64::MAX);
        let mut inflated = Vec::new();
        let (name, read) = match self {
            Self::None | Self::Gzip => {
                let decoder = flate2::read::MultiGzDecoder::new(payload);
                let read = decoder
                    .take(bound.saturating_add(1))
                    .read_to_end(&mut inflated);
                ("gzip", read)
            }
            Self::Zstd => {
                let read = zstd::stream::read::Decoder::new(payload).and_then(|decoder| {
                    decoder
                        .take(bound.saturating_add(1))
                        .read_to_end(&mut inflated)
                });
                ("zstd", read)
            }
        };
        if let Err(error) = read {
            return Err(Rejection::new(
                Reason::NotUtf8,
                format_args!("{name} is expected: {error}"),
            ));
        }
        if inflated.len() > limits.record_bytes {
            return Err(Rejection::new(
                Reason::TooLarge,
                format_args!(
                    "more than {} bytes after decompression, limits.record_bytes is {0}",
                    limits.record_bytes
                ),
            ));
        }
        Ok(Cow::Owned(inflated))
    }
}

/// Beginnings of compressed payloads.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Returns true for a payload that begins as a compressed one.
pub(super) fn is_compressed(payload: &[u8]) -> bool {
    payload.starts_with(&GZIP) || payload.starts_with(&ZSTD)
}

/// Beginning of a single object of Avro.
const SINGLE_OBJECT: [u8; 2] = [0xc3, 0x01];

/// Returns fingerprint and content of a single object of Avro.
pub(super) fn single_object(payload: &[u8]) -> Option<(u64, &[u8])> {
    let rest = payload.strip_prefix(&SINGLE_OBJECT)?;
    let (fingerprint, content) = rest.split_first_chunk()?;
    Some((u64::from_le_bytes(*fingerprint), content))
}

/// Returns true for a payload that can be in another form than one without framing and compression.
pub(super) fn may_be_other(payload: &[u8]) -> bool {
    form(payload).is_some()
}

/// Name of the form of a payload, and the configuration for it.
fn form(payload: &[u8]) -> Option<(String, &'static str)> {
    if payload.starts_with(&GZIP) {
        return Some(("compressed with gzip".to_owned(), "compression: gzip"));
    }
    if payload.starts_with(&ZSTD) {
        return Some(("compressed with zstd".to_owned(), "compression: zstd"));
    }
    if payload.starts_with(&SINGLE_OBJECT) {
        let name = "a single object of Avro".to_owned();
        return Some((name, "encoding: avro, framing: single_object"));
    }
    if payload.starts_with(b"Obj\x01") {
        let name = "a file of Avro".to_owned();
        return Some((
            name,
            "encoding: avro, after the producer sends single records",
        ));
    }
    let (id, content) = Framing::unframed(payload)?;
    let name = format!("framed for a schema registry (magic byte 0, schema id {id})");
    let is_json = matches!(content.trim_ascii_start().first(), Some(b'{' | b'['));
    let remedy = if is_json {
        "encoding: json, framing: confluent"
    } else {
        "encoding: avro or protobuf, framing: confluent"
    };
    Some((name, remedy))
}

/// Replaces the rejection of a payload that is in another form than expected.
#[cold]
pub(super) fn explained(payload: &[u8], rejection: Rejection) -> Rejection {
    match rejection.reason {
        Reason::NotUtf8 | Reason::NotJson | Reason::NotProtobuf | Reason::NotAvro => {}
        _ => return rejection,
    }
    match form(payload) {
        Some((name, remedy)) if !text::is_utf16(payload) => Rejection {
            is_whole_record: rejection.is_whole_record,
            ..Rejection::new(
                rejection.reason,
                format_args!(
                    "the record is {name}; set {remedy} in a format of the section formats \
                     (docs/connect/own-records.md)"
                ),
            )
        },
        _ => rejection,
    }
}
