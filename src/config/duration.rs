//! Text format of durations: a whole number and a unit.
//!
//! A number without a unit is ambiguous (seconds or milliseconds), so it is rejected.

use std::time::Duration;

/// Message for a text that is not a duration.
pub(super) const EXPECTED: &str =
    "is not a duration; write a whole number and a unit (ms, s, m or h), as 500ms, 30s, 10m, 24h";

/// Milliseconds in each unit, smallest first.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];

/// Parses `500ms`, `30s`, `10m` or `24h`. `None` for any other text and on overflow.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number
        .parse::<u64>()
        .ok()?
        .checked_mul(*millis)
        .map(Duration::from_millis)
}

/// Formats a duration in the largest unit that keeps it whole. Fractions of a millisecond are cut.
pub fn format(duration: Duration) -> String {
    let millis = duration.as_millis();
    UNITS
        .iter()
        .rev()
        .find(|(_, unit)| millis >= u128::from(*unit) && millis.is_multiple_of(u128::from(*unit)))
        .map_or_else(
            || "0s".to_owned(),
            |(name, unit)| format!("{}{name}", millis / u128::from(*unit)),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_whole_number_with_a_unit() {
        assert_eq!(parse("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse("30s"), Some(Duration::from_secs(30)));
        assert_eq!(parse("10m"), Some(Duration::from_mins(10)));
        assert_eq!(parse("24h"), Some(Duration::from_hours(24)));
        for text in [
            "",
            "30",
            "s",
            "1.5h",
            "-1s",
            "1 s",
            "1d",
            "1h30m",
            "99999999999999999999s",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&format!("{}h", u64::MAX)), None);
    }

    #[test]
    fn a_duration_is_written_in_its_largest_whole_unit() {
        for text in ["1ms", "1500ms", "90s", "10m", "24h"] {
            assert_eq!(parse(text).map(format).as_deref(), Some(text));
        }
        assert_eq!(format(Duration::ZERO), "0s");
        assert_eq!(format(Duration::from_hours(1)), "1h");
    }
}
