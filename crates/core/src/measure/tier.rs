//! Marks of tiers, the same on every screen and in every report.

/// Mark of a mean that reaches no target.
pub const BELOW: char = '✗';

/// Explanation of the marks.
pub const LEGEND: &str = "● excellent ◐ good ○ acceptable ✗ below";

/// Mark of a tier: by its name, else by the number of higher tiers of its measure.
pub fn mark(tier: &str, higher: usize) -> char {
    match (tier, higher) {
        ("good", _) => '◐',
        ("acceptable", _) => '○',
        ("excellent", _) | (_, 0) => '●',
        (_, 1) => '◐',
        (_, _) => '○',
    }
}
