//! Text format of amounts of memory: a whole number of bytes, or with a unit.

/// Message for a text that is not an amount of memory.
pub(super) const EXPECTED: &str =
    "is not an amount of memory; write a whole number and a unit (KiB, MiB or GiB), as 256MiB";

/// Bytes in each unit, smallest first. The second name is that of Kubernetes.
const UNITS: [(&str, &str, usize); 3] = [
    ("KiB", "Ki", 1 << 10),
    ("MiB", "Mi", 1 << 20),
    ("GiB", "Gi", 1 << 30),
];

/// Parses `268435456`, `256MiB` or `256Mi`. `None` for any other text and on overflow.
pub(super) fn parse(text: &str) -> Option<usize> {
    let digits = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let factor = match unit {
        "" => 1,
        unit => {
            let mut units = UNITS.iter();
            units
                .find(|(name, short, _)| unit == *name || unit == *short)?
                .2
        }
    };
    number.parse::<usize>().ok()?.checked_mul(factor)
}

/// Formats an amount of memory in the largest unit that keeps it whole.
pub fn format(bytes: usize) -> String {
    let mut units = UNITS.iter().rev();
    let unit = units.find(|(_, _, factor)| bytes >= *factor && bytes.is_multiple_of(*factor));
    unit.map_or_else(
        || bytes.to_string(),
        |(name, _, factor)| format!("{}{name}", bytes / factor),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_of_memory_is_a_whole_number_with_a_unit() {
        assert_eq!(parse("268435456"), Some(256 << 20));
        assert_eq!(parse("256MiB"), Some(256 << 20));
        assert_eq!(parse("256Mi"), Some(256 << 20));
        assert_eq!(parse("1GiB"), Some(1 << 30));
        assert_eq!(parse("64KiB"), Some(64 << 10));
        for text in ["", "MiB", "1.5GiB", "-1MiB", "1 MiB", "1MB", "1T"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&format!("{}GiB", usize::MAX)), None);
    }

    #[test]
    fn an_amount_of_memory_is_written_in_its_largest_whole_unit() {
        for text in ["100", "1KiB", "1500KiB", "256MiB", "3GiB"] {
            assert_eq!(parse(text).map(format).as_deref(), Some(text));
        }
    }
}
