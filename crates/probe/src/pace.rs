//! Pace of the requests: a rate over all targets, and the delays between repetitions.

#![allow(clippy::disallowed_methods, reason = "the pace follows the clock")]

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep_until};

/// Delay before the first repetition. It doubles with each one.
const FIRST_DELAY: Duration = Duration::from_millis(200);

/// Maximum delay before a repetition without `Retry-After`.
const MAX_DELAY: Duration = Duration::from_secs(10);

/// Maximum `Retry-After` that is waited for.
pub(super) const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// Rate limit over all targets.
#[derive(Debug)]
pub(super) struct RateLimit {
    interval: Duration,
    next: Mutex<Instant>,
}

impl RateLimit {
    /// Limit of `rate` requests per second.
    pub(super) fn new(rate: f64) -> Self {
        Self {
            interval: Duration::from_secs_f64(1.0 / rate),
            next: Mutex::new(Instant::now()),
        }
    }

    /// Waits for the turn of a request that may be sent from `earliest` on.
    pub(super) async fn wait(&self, earliest: Instant) {
        let turn = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let turn = (*next).max(Instant::now());
            *next = turn + self.interval;
            turn
        };
        sleep_until(turn.max(earliest)).await;
    }
}

/// Delay before repetition `number`, from 1: exponential, with a random part against repetitions in
/// step.
pub(super) fn delay(number: u32) -> Duration {
    let whole = FIRST_DELAY.saturating_mul(1 << number.saturating_sub(1).min(16));
    let whole = whole.min(MAX_DELAY);
    let random = u32::try_from(random() >> 32).unwrap_or(u32::MAX);
    let share = f64::from(random) / f64::from(u32::MAX);
    whole.mul_f64(0.5 + share / 2.0)
}

/// Random number. The standard library seeds every [`RandomState`] randomly.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Parses the header `Retry-After`: seconds or an HTTP date.
pub(super) fn retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(text)
        .ok()?;
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now: Timestamp = "2026-11-22T10:00:00Z".parse().expect("a time");
        let cases = [
            ("3", Some(3)),
            (" 120 ", Some(120)),
            ("Sun, 22 Nov 2026 10:00:07 GMT", Some(7)),
            ("Sun, 22 Nov 2026 09:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
        ];
        for (text, seconds) in cases {
            assert_eq!(
                retry_after(text, now),
                seconds.map(Duration::from_secs),
                "{text}"
            );
        }
    }

    #[test]
    fn delays_grow_up_to_a_limit_and_differ() {
        for (number, most) in [(1, 200), (2, 400), (3, 800), (7, 10_000), (40, 10_000)] {
            let delay = delay(number);
            assert!(delay <= Duration::from_millis(most), "{number}: {delay:?}");
            assert!(
                delay >= Duration::from_millis(most / 2),
                "{number}: {delay:?}"
            );
        }
        let delays: std::collections::BTreeSet<Duration> = (0..20).map(|_| delay(5)).collect();
        assert!(delays.len() > 10);
    }
}
