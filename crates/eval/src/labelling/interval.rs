//! Confidence sequence by betting (Waudby-Smith and Ramdas 2024), for estimates whose range is known
//! before each label: valid at every label together, without approximation.

use rankgauge_core::number::real_length;

use super::sequence::Step;

/// Number of candidate values.
const CANDIDATES: usize = 2_001;
/// Probability that the interval ever misses the value.
const ALPHA: f64 = 0.05;

/// Interval after the labels of `steps`, within the possible values `lowest` to `highest`. It is
/// narrowest near `planned` labels.
pub fn any_time(steps: &[Step], (lowest, highest): (f64, f64), planned: usize) -> [f64; 2] {
    let last = real_length(CANDIDATES - 1);
    let step = (highest - lowest) / last;
    let candidates: Vec<f64> = (0..CANDIDATES)
        .map(|index| {
            if index + 1 == CANDIDATES {
                highest
            } else {
                lowest + real_length(index) * step
            }
        })
        .collect();
    let candidate = |index: usize| candidates.get(index).copied().unwrap_or(highest);
    let mut wealth = vec![[0.0_f64; 2]; CANDIDATES];
    let (mut mean, mut number, mut variance) = (0.5, 1.0, 0.25);
    let mut interval = [lowest, highest];
    for Step {
        z,
        lowest: low,
        highest: high,
        ..
    } in steps
    {
        let width = high - low;
        if width.is_nan() || width <= 0.0 {
            continue;
        }
        let x = (z - low) / width;
        let rows = real_length(planned.max(1));
        let fraction = (2.0 * (2.0 / ALPHA).ln() / ((variance / number) * rows)).sqrt();
        let (mut first, mut final_kept) = (None, None);
        for (index, (value, wealth)) in candidates.iter().zip(&mut wealth).enumerate() {
            let m = (value - low) / width;
            let up = fraction.min(0.5 / m.max(1e-12));
            let down = fraction.min(0.5 / (1.0 - m).max(1e-12));
            wealth[0] += (1.0 + up * (x - m)).max(1e-300).ln();
            wealth[1] += (1.0 - down * (x - m)).max(1e-300).ln();
            let is_kept = wealth[0].max(wealth[1]) + 0.5_f64.ln() < (1.0 / ALPHA).ln();
            if is_kept && (-1e-9..=1.0 + 1e-9).contains(&m) {
                first = first.or(Some(index));
                final_kept = Some(index);
            }
        }
        // One step outwards, because the value may lie between two candidates.
        if let (Some(first), Some(final_kept)) = (first, final_kept) {
            interval[0] = interval[0].max(candidate(first.saturating_sub(1)));
            interval[1] = interval[1].min(candidate((final_kept + 1).min(CANDIDATES - 1)));
        }
        number += 1.0;
        variance += (x - mean).powi(2);
        mean += (x - mean) / number;
    }
    interval
}
