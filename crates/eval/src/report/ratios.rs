//! Ratios of counts.

use crate::evaluate::{Micro, RunEvaluation};
use rankgauge_core::number::real;

/// Ratio `part` / `whole`; 0 if `whole` is 0.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        real(part) / real(whole)
    }
}

/// Share of the answered queries that the gold set has; `None` without answered queries.
pub(super) fn coverage(run: &RunEvaluation) -> Option<f64> {
    let known = run.queries.iter().filter(|query| query.answered).count();
    let answered = known + run.unknown.len();
    let count = |number| u64::try_from(number).unwrap_or(u64::MAX);
    (answered > 0).then(|| ratio(count(known), count(answered)))
}

/// Micro-averaged precision, recall and F1. Precision is undefined without retrieved results,
/// recall without relevant documents, and F1 without both.
pub(super) fn micro_averages(micro: &Micro) -> [(&'static str, Option<f64>); 3] {
    let found = micro.true_positives;
    let share = |rest: u64| (found + rest > 0).then(|| ratio(found, found + rest));
    let precision = share(micro.false_positives);
    let recall = share(micro.false_negatives);
    let f1 = precision.zip(recall).map(|(precision, recall)| {
        let both = precision + recall;
        if both > 0.0 {
            2.0 * precision * recall / both
        } else {
            0.0
        }
    });
    [("P", precision), ("R", recall), ("F1", f1)]
}
