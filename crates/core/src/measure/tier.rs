//! Marks of tiers, the same on every screen and in every report.

/// Explanation of the marks.
pub const LEGEND: &str = "● excellent ◐ good ○ acceptable ✗ below";

/// Mark of a tier: by its name, else by the number of higher tiers of its measure. `None` is that of a mean that
/// reaches no target.
pub fn mark(tier: Option<(&str, usize)>) -> char {
    match tier {
        None => '✗',
        Some(("good", _)) => '◐',
        Some(("acceptable", _)) => '○',
        Some(("excellent", _) | (_, 0)) => '●',
        Some((_, 1)) => '◐',
        Some((_, _)) => '○',
    }
}
