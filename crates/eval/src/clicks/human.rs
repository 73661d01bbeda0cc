//! Agreement of grades from clicks with human judgements.

use serde::Serialize;

use super::model::non_decreasing;
use rankgauge_core::number::real_length;

/// Agreement with human judgements of the same documents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HumanAgreement {
    /// Documents with both.
    pub documents: usize,
    /// Share of the pairs of documents of a query that are in the same order. `None` without pairs.
    pub agreement: Option<f64>,
    /// Cohen's kappa of the rounded grades with quadratic weights. `None` if it is undefined.
    pub kappa: Option<f64>,
}

/// Document with both grades.
#[derive(Clone, Copy, Debug)]
pub(super) struct Both {
    pub(super) query: u32,
    pub(super) attractiveness: f64,
    pub(super) clicks: f64,
    pub(super) human: f64,
}

/// Compares documents, which are ordered by query.
pub(super) fn compare(documents: &[Both]) -> HumanAgreement {
    let (mut equal, mut pairs) = (0.0, 0.0);
    for query in documents.chunk_by(|a, b| a.query == b.query) {
        for (at, a) in query.iter().enumerate() {
            for b in &query[at + 1..] {
                let human = a.human.total_cmp(&b.human);
                if human.is_eq() {
                    continue;
                }
                pairs += 1.0;
                let clicks = a.attractiveness.total_cmp(&b.attractiveness);
                equal += if clicks == human {
                    1.0
                } else if clicks.is_eq() {
                    0.5
                } else {
                    0.0
                };
            }
        }
    }
    let rounded = documents.iter();
    let rounded: Vec<(f64, f64)> = rounded
        .map(|both| (both.clicks.round(), both.human.round()))
        .collect();
    HumanAgreement {
        documents: documents.len(),
        agreement: (pairs > 0.0).then(|| equal / pairs),
        kappa: quadratic_kappa(&rounded),
    }
}

/// Cohen's kappa with quadratic weights. `None` if one grade is everywhere.
pub(super) fn quadratic_kappa(pairs: &[(f64, f64)]) -> Option<f64> {
    let number = real_length(pairs.len());
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / number;
    let observed = mean(&|(a, b)| (a - b).powi(2));
    let (a, b) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
    // Expectation of (a - b)² for independent a and b.
    let expected =
        mean(&|pair| (pair.0 - a).powi(2)) + mean(&|pair| (pair.1 - b).powi(2)) + (a - b).powi(2);
    (expected > 0.0).then(|| 1.0 - observed / expected)
}

/// Isotonic regression of human grades on attractiveness.
#[derive(Debug)]
pub(super) struct Scale(Vec<(f64, f64)>);

impl Scale {
    pub(super) fn of(documents: &[Both]) -> Self {
        let mut sorted = documents.to_vec();
        sorted.sort_by(|a, b| a.attractiveness.total_cmp(&b.attractiveness));
        let human: Vec<f64> = sorted.iter().map(|both| both.human).collect();
        let attractiveness = sorted.iter().map(|both| both.attractiveness);
        Self(attractiveness.zip(non_decreasing(&human)).collect())
    }

    /// Rounded grade.
    pub(super) fn grade(&self, attractiveness: f64) -> f64 {
        let above = self.0.partition_point(|(at, _)| *at <= attractiveness);
        let found = self.0.get(above.saturating_sub(1));
        found.map_or(0.0, |(_, grade)| grade.round())
    }
}
