//! Texts of durations and amounts of memory: a whole number and a unit.
//!
//! A duration without a unit is ambiguous (seconds or milliseconds), so it is rejected.

use std::time::Duration;

/// Message for a text that is not a duration.
pub(super) const DURATION: &str = "is not a duration; write a whole number and a unit (ms, s, m, h or d), as 500ms, 30s, 10m, 24h";

/// Message for a text that is not an amount of memory.
pub(super) const BYTES: &str =
    "is not an amount of memory; write a whole number and a unit (KiB, MiB or GiB), as 256MiB";

/// Names of units with their sizes, smallest first.
type Units = [(&'static str, u64)];

const MILLISECONDS: &Units = &[("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];

/// Durations are printed in hours at most.
const DAYS: &Units = &[("d", 86_400_000)];

/// The short names are those of Kubernetes.
const MEMORY: &Units = &[
    ("", 1),
    ("Ki", 1 << 10),
    ("KiB", 1 << 10),
    ("Mi", 1 << 20),
    ("MiB", 1 << 20),
    ("Gi", 1 << 30),
    ("GiB", 1 << 30),
];

fn parse(text: &str, units: &Units) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let (_, size) = units.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*size)
}

/// Formats a number in the largest unit that keeps it whole.
fn format(number: u64, units: &Units, zero: &str) -> String {
    let mut units = units.iter().rev();
    let unit = units.find(|(_, size)| number > 0 && number.is_multiple_of(*size));
    unit.map_or_else(
        || zero.to_owned(),
        |(name, size)| format!("{}{name}", number / size),
    )
}

/// Parses `500ms`, `30s`, `10m`, `24h` or `90d`. `None` for any other text and on overflow.
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    let millis = parse(text, MILLISECONDS).or_else(|| parse(text, DAYS));
    millis.map(Duration::from_millis)
}

/// Formats a duration as the configuration writes it. Fractions of a millisecond are cut.
pub fn format_duration(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis());
    format(millis.unwrap_or(u64::MAX), MILLISECONDS, "0s")
}

/// Parses `268435456`, `256MiB` or `256Mi`. `None` for any other text and on overflow.
pub(super) fn parse_bytes(text: &str) -> Option<usize> {
    usize::try_from(parse(text, MEMORY)?).ok()
}

/// Formats an amount of memory as the configuration writes it.
pub fn format_bytes(bytes: usize) -> String {
    format(u64::try_from(bytes).unwrap_or(u64::MAX), MEMORY, "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_whole_number_with_a_unit() {
        assert_eq!(parse_duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse_duration("30s"), Some(Duration::from_secs(30)));
        assert_eq!(parse_duration("10m"), Some(Duration::from_mins(10)));
        assert_eq!(parse_duration("24h"), Some(Duration::from_hours(24)));
        assert_eq!(parse_duration("90d"), Some(Duration::from_hours(90 * 24)));
        let wrong = ["", "30", "s", "1.5h", "-1s", "1 s", "1w", "1h30m"];
        for text in wrong.into_iter().chain(["99999999999999999999s"]) {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        assert_eq!(parse_duration(&format!("{}h", u64::MAX)), None);
    }

    #[test]
    fn an_amount_of_memory_is_a_whole_number_with_a_unit() {
        assert_eq!(parse_bytes("268435456"), Some(256 << 20));
        assert_eq!(parse_bytes("256MiB"), Some(256 << 20));
        assert_eq!(parse_bytes("256Mi"), Some(256 << 20));
        assert_eq!(parse_bytes("1GiB"), Some(1 << 30));
        assert_eq!(parse_bytes("64KiB"), Some(64 << 10));
        for text in ["", "MiB", "1.5GiB", "-1MiB", "1 MiB", "1MB", "1T"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
        assert_eq!(parse_bytes(&format!("{}GiB", usize::MAX)), None);
    }

    #[test]
    fn a_quantity_is_written_in_its_largest_whole_unit() {
        for text in ["1ms", "1500ms", "90s", "10m", "24h"] {
            let formatted = parse_duration(text).map(format_duration);
            assert_eq!(formatted.as_deref(), Some(text));
        }
        assert_eq!(format_duration(Duration::ZERO), "0s");
        for text in ["100", "1KiB", "1500KiB", "256MiB", "3GiB"] {
            assert_eq!(parse_bytes(text).map(format_bytes).as_deref(), Some(text));
        }
    }
}
