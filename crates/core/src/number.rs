//! Counts as floating-point numbers, and shares as text.

/// Converts a count. Exact up to 2⁵³; beyond it, no ratio or test shows the difference.
#[allow(
    clippy::cast_precision_loss,
    reason = "counts beyond 2^53 lose only digits that no result shows"
)]
pub fn real(count: u64) -> f64 {
    count as f64
}

/// Converts the length of a list in memory. A length above `u32::MAX` becomes `u32::MAX`.
pub fn real_length(length: usize) -> f64 {
    f64::from(u32::try_from(length).unwrap_or(u32::MAX))
}

/// Share from 0 to 1 in per cent: a part is never written as all, nor as nothing.
pub fn percent(share: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", 100.0 * share);
    let is = |whole: f64| text == format!("{whole:.decimals$}");
    let digits = i32::try_from(decimals).unwrap_or(i32::MAX);
    let step = 0.1_f64.powi(digits);
    if share > 0.0 && is(0.0) {
        format!("< {step:.decimals$} %")
    } else if share < 1.0 && is(100.0) {
        format!("> {:.decimals$} %", 100.0 - step)
    } else {
        format!("{text} %")
    }
}

/// Returns 1 if `holds` is true, else 0.
pub(crate) fn indicator(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn a_part_is_never_written_as_all_or_nothing() {
        let shares = [0.0, 0.000_4, 0.004, 0.126, 0.996, 0.999_6, 1.0];
        let whole = ["0 %", "< 1 %", "< 1 %", "13 %", "> 99 %", "> 99 %", "100 %"];
        assert_eq!(shares.map(|it| percent(it, 0)), whole);
        let tenths = [
            "0.0 %", "< 0.1 %", "0.4 %", "12.6 %", "99.6 %", "> 99.9 %", "100.0 %",
        ];
        assert_eq!(shares.map(|it| percent(it, 1)), tenths);
    }
}
