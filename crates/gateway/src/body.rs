//! Body of a request, read and decompressed within its limits.

use std::io::Read as _;
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::CONTENT_ENCODING;
use hyper::{HeaderMap, Request};

use crate::answer::Refusal;
use crate::memory::{Full, Memory, Reservation};
use crate::settings::Settings;

/// Time limit for a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Smallest step by which a decompressed body grows.
const STEP: usize = 64 << 10;

/// Body without compression, with its reserved memory.
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    _reservation: Reservation,
}

/// Compression of a body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Identity,
    Gzip,
}

impl Encoding {
    fn of(headers: &HeaderMap) -> Result<Self, Refusal> {
        let mut encoding = Self::Identity;
        for value in headers.get_all(CONTENT_ENCODING) {
            let value = value.as_bytes().trim_ascii();
            if value.eq_ignore_ascii_case(b"gzip") && encoding == Self::Identity {
                encoding = Self::Gzip;
            } else if !value.is_empty() && !value.eq_ignore_ascii_case(b"identity") {
                return Err(Refusal::Unsupported(
                    "Content-Encoding is not supported; send gzip or no compression",
                ));
            }
        }
        Ok(encoding)
    }
}

impl Body {
    /// Reads the body of a request.
    pub(crate) async fn read(
        request: &mut Request<Incoming>,
        settings: &Settings,
        memory: &Memory,
    ) -> Result<Self, Refusal> {
        let encoding = Encoding::of(request.headers())?;
        let reading = raw(request.body_mut(), settings.max_body, memory);
        let read = tokio::time::timeout(BODY_TIMEOUT, reading).await;
        let body = read.map_err(|_| Refusal::SlowBody(BODY_TIMEOUT))??;
        body.decoded(encoding, settings, memory)
    }

    /// Body that was read already.
    pub(crate) fn of_bytes(
        bytes: Vec<u8>,
        headers: &HeaderMap,
        settings: &Settings,
        memory: &Memory,
    ) -> Result<Self, Refusal> {
        let encoding = Encoding::of(headers)?;
        if bytes.len() > settings.max_body {
            return Err(Refusal::TooLarge {
                limit: settings.max_body,
                key: "gateway.max_body",
            });
        }
        let body = Self {
            bytes,
            _reservation: memory.reservation(),
        };
        body.decoded(encoding, settings, memory)
    }

    fn decoded(
        self,
        encoding: Encoding,
        settings: &Settings,
        memory: &Memory,
    ) -> Result<Self, Refusal> {
        match encoding {
            Encoding::Identity => Ok(self),
            Encoding::Gzip => inflated(&self.bytes, settings.max_decompressed, memory),
        }
    }
}

/// Reads a body as it is sent.
async fn raw(body: &mut Incoming, limit: usize, memory: &Memory) -> Result<Body, Refusal> {
    use hyper::body::Body as _;
    let too_large = || Refusal::TooLarge {
        limit,
        key: "gateway.max_body",
    };
    let stated = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if stated > limit {
        return Err(too_large());
    }
    let mut reservation = memory.reservation();
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return Err(Refusal::BrokenBody);
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if data.len() > limit - bytes.len() {
            return Err(too_large());
        }
        append(&mut bytes, &data, stated.min(limit), &mut reservation)?;
    }
    Ok(Body {
        bytes,
        _reservation: reservation,
    })
}

/// Appends `data`, and reserves the memory that this takes. Memory grows with what has arrived, not with
/// what a client states; `expected` only ends the growth.
fn append(
    bytes: &mut Vec<u8>,
    data: &[u8],
    expected: usize,
    reservation: &mut Reservation,
) -> Result<(), Full> {
    let length = bytes.len() + data.len();
    if length > bytes.capacity() {
        let doubled = (2 * bytes.capacity()).max(length);
        let capacity = if expected >= length {
            doubled.min(expected)
        } else {
            doubled
        };
        reservation.grow(capacity - bytes.capacity())?;
        bytes.reserve_exact(capacity - bytes.len());
    }
    bytes.extend_from_slice(data);
    Ok(())
}

/// Decompresses a body.
fn inflated(compressed: &[u8], limit: usize, memory: &Memory) -> Result<Body, Refusal> {
    let mut reservation = memory.reservation();
    let mut decoder = MultiGzDecoder::new(compressed);
    let mut bytes = Vec::new();
    let mut chunk = vec![0; STEP];
    loop {
        let count = decoder
            .read(&mut chunk)
            .map_err(|_| Refusal::Invalid("the body is not compressed with gzip"))?;
        if count == 0 {
            break;
        }
        if count > limit - bytes.len() {
            return Err(Refusal::TooLarge {
                limit,
                key: "gateway.max_decompressed",
            });
        }
        append(
            &mut bytes,
            chunk.get(..count).unwrap_or_default(),
            0,
            &mut reservation,
        )?;
    }
    Ok(Body {
        bytes,
        _reservation: reservation,
    })
}
