//! Event time and wall time as separate types, because the two must never be mixed.
//!
//! Both count milliseconds since 1970-01-01T00:00:00Z. Neither type can read a clock: a wall time
//! is an input of the engine, an event time is part of an event.

mod error;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use error::TimeError;

/// Time at which something happened, as stated by the event. Milliseconds since the epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct EventTime(pub i64);

/// Time of the sidecar's system clock. Milliseconds since the epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct WallTime(pub i64);

/// Duration in whole milliseconds, signed so that it can hold any difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

impl Millis {
    /// Duration in seconds.
    #[allow(clippy::cast_precision_loss, reason = "exact for 285,000 years")]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl EventTime {
    /// Returns the time `span` later.
    #[must_use]
    pub fn plus(self, span: Millis) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// Returns the time `span` earlier.
    #[must_use]
    pub fn minus(self, span: Millis) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// Returns the time elapsed since `earlier`; negative if this time is before it.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

/// A time with an offset: RFC 3339, or another form of ISO 8601 with one meaning.
impl FromStr for EventTime {
    type Err = TimeError;

    #[inline]
    fn from_str(text: &str) -> Result<Self, TimeError> {
        if !is_rfc3339(text.as_bytes()) {
            return of_iso8601(text);
        }
        let time = text.parse::<jiff::Timestamp>();
        time.map(|time| Self(time.as_millisecond()))
            .map_err(TimeError::Value)
    }
}

impl EventTime {
    /// Returns midnight in UTC of a date, as `2026-11-25`.
    pub fn of_date(date: &str) -> Option<Self> {
        format!("{date}T00:00:00Z").parse().ok()
    }
}

/// Returns true for the form of RFC 3339 with an offset. The value of each number is not checked.
fn is_rfc3339(text: &[u8]) -> bool {
    let has_form = |text: &[u8], form: &[u8]| {
        let matches = |(byte, form): (&u8, &u8)| match form {
            b'0' => byte.is_ascii_digit(),
            b'T' => matches!(byte, b'T' | b't' | b' '),
            b'+' => matches!(byte, b'+' | b'-'),
            other => byte == other,
        };
        text.len() == form.len() && text.iter().zip(form).all(matches)
    };
    let Some((start, rest)) = text.split_at_checked(19) else {
        return false;
    };
    let offset = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit());
            let digits = digits.count();
            if !(1..=9).contains(&digits) {
                return false;
            }
            fraction.get(digits..).unwrap_or_default()
        }
        None => rest,
    };
    has_form(start, b"0000-00-00T00:00:00")
        && (matches!(offset, [b'Z' | b'z']) || has_form(offset, b"+00:00"))
}

/// Reads the other forms: an offset as `+0900`, `+09`, `UTC` or after a space, a fraction after a comma, no seconds,
/// no punctuation (`20261125T100000Z`), and the name of a time zone after the offset, which decides.
#[cold]
fn of_iso8601(text: &str) -> Result<EventTime, TimeError> {
    if !text.is_ascii() {
        return Err(TimeError::Form);
    }
    let is_of_zone = |it: u8| it.is_ascii_alphanumeric() || b"/_+:-".contains(&it);
    let text = match text.strip_suffix(']').and_then(|it| it.split_once('[')) {
        Some((text, zone)) if !zone.is_empty() && zone.bytes().all(is_of_zone) => text,
        _ => text,
    };
    let (local, offset) = text.split_at(text.rfind(['+', '-', 'Z', 'z', 'U']).unwrap_or(0));
    let written = rfc3339_of(local.strip_suffix(' ').unwrap_or(local), offset);
    if is_rfc3339(written.as_bytes()) {
        written.parse()
    } else if is_rfc3339(rfc3339_of(text, "Z").as_bytes()) {
        Err(TimeError::NoOffset)
    } else {
        Err(TimeError::Form)
    }
}

/// RFC 3339 for the parts of another form, both ASCII. The result has another form if the parts have.
fn rfc3339_of(local: &str, offset: &str) -> String {
    let mut time = local.replacen(',', ".", 1);
    let is_basic = time.bytes().take_while(u8::is_ascii_digit).count() == 8;
    let marks = [(4, '-'), (7, '-'), (13, ':'), (16, ':')];
    for (at, mark) in marks.into_iter().filter(|_| is_basic) {
        if at < time.len() {
            time.insert(at, mark);
        }
    }
    if time.len() == "0000-00-00T00:00".len() {
        time.push_str(":00");
    }
    time.push_str(if offset == "UTC" { "Z" } else { offset });
    match offset.len() {
        3 if offset != "UTC" => time.push_str(":00"),
        5 => time.insert(time.len() - 2, ':'),
        _ => {}
    }
    time
}

/// RFC 3339 in UTC; the number of milliseconds for a time beyond the year 9999.
impl fmt::Display for EventTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(timestamp) => timestamp.fmt(f),
            Err(_) => self.0.fmt(f),
        }
    }
}

impl WallTime {
    /// Returns the time elapsed since `earlier`; negative if the clock was set back.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }

    /// Returns the event time with the same value.
    pub fn as_event_time(self) -> EventTime {
        EventTime(self.0)
    }
}

impl From<Duration> for Millis {
    fn from(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
    }
}
