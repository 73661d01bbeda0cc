//! Inter-annotator agreement: Cohen's kappa over all judgements with more than one annotator.
//!
//! Pure arithmetic over annotations. This module must not know thresholds.
//!
//! Kappa is Cohen's (1960): `(po - pe) / (1 - pe)`, observed against expected agreement. Quadratic
//! weights (Cohen 1968) weight a disagreement by the squared difference of the two grades, as
//! `sklearn.metrics.cohen_kappa_score(a, b, weights="quadratic", labels=…)` does when all grades
//! of the scale are labels. Without `labels`, sklearn uses ranks among the grades that occur.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use rankgauge_core::gold::{GoldQuery, Grade};
use rankgauge_core::number::real_length;
use rankgauge_core::statistics::kappa;

/// Agreement of two annotators on the judgements that both made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Kappa {
    /// Judgements that both made; at least one.
    pub n: usize,
    /// Share of judgements with equal grades, 0 to 1.
    pub agreement: f64,
    /// Unweighted kappa, -1 to 1. If both annotators gave the same single grade throughout, the
    /// expected agreement is 1 (pe = 1) and kappa is 1 by convention.
    pub kappa: f64,
    /// Kappa with quadratic weights, -1 to 1; 1 in the same case.
    pub quadratic: f64,
}

impl Kappa {
    /// Computes kappa from pairs of grades, one per annotator; `None` without pairs.
    pub fn of(pairs: &[(Grade, Grade)]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let n = real_length(pairs.len());

        // The expected squared difference of two independent draws is the sum of their variances
        // and of the squared difference of their means.
        let mean = |grade: fn(&(Grade, Grade)) -> f64| pairs.iter().map(grade).sum::<f64>() / n;
        let (mean_a, mean_b) = (mean(|pair| pair.0.get()), mean(|pair| pair.1.get()));
        let square = |value: f64| value * value;
        let spread = |of: fn(&(Grade, Grade)) -> f64, mean: f64| {
            pairs
                .iter()
                .map(|pair| square(of(pair) - mean))
                .sum::<f64>()
                / n
        };
        let expected = spread(|pair| pair.0.get(), mean_a)
            + spread(|pair| pair.1.get(), mean_b)
            + square(mean_a - mean_b);
        let observed = pairs
            .iter()
            .map(|(a, b)| square(a.get() - b.get()))
            .sum::<f64>()
            / n;
        Some(Self {
            n: pairs.len(),
            agreement: real_length(pairs.iter().filter(|(a, b)| a == b).count()) / n,
            kappa: kappa(pairs.iter().map(|(a, b)| (a, b, 1))).unwrap_or(1.0),
            quadratic: if expected > 0.0 {
                1.0 - observed / expected
            } else {
                1.0
            },
        })
    }
}

/// Pair of annotators and their agreement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnnotatorPair {
    /// Field of the first annotator, for example `annotator_1`.
    pub a: String,
    /// Field of the second annotator.
    pub b: String,
    /// Agreement of the pair.
    #[serde(flatten)]
    pub kappa: Kappa,
}

/// Judgement on which the annotators disagree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    /// Position of the query in its set.
    #[serde(skip)]
    pub position: usize,
    /// Id of the query.
    pub query: String,
    /// Id of the document.
    pub document: String,
    /// Grades by annotator.
    pub grades: BTreeMap<String, Grade>,
    /// Highest grade minus the lowest, above 0.
    pub difference: f64,
}

/// Inter-annotator agreement of a gold set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Judgements with at least two annotators.
    pub n: usize,
    /// Mean over pairs of annotators of the share of equal grades; `None` when no judgement has
    /// two annotators.
    pub agreement: Option<f64>,
    /// Mean over pairs of the unweighted kappa.
    pub kappa: Option<f64>,
    /// Mean over pairs of the kappa with quadratic weights.
    pub quadratic: Option<f64>,
    /// Every pair with a judgement in common, ordered by name.
    pub pairs: Vec<AnnotatorPair>,
    /// Disagreements, the largest difference first, then in the order of the set.
    pub disagreements: Vec<Disagreement>,
}

impl Agreement {
    /// Computes the agreement over all judgements of `queries`.
    pub fn of(queries: &[GoldQuery]) -> Self {
        let mut grades: BTreeMap<(&str, &str), Vec<(Grade, Grade)>> = BTreeMap::new();
        let mut disagreements = Vec::new();
        let mut n = 0;
        for (position, query) in queries.iter().enumerate() {
            for ((document, _), detail) in query.judgements.documents().iter().zip(&query.details) {
                let given: Vec<(&str, Grade)> = detail
                    .annotations
                    .iter()
                    .map(|(name, grade)| (name.as_str(), *grade))
                    .collect();
                n += usize::from(given.len() > 1);
                for (index, (a, by_a)) in given.iter().enumerate() {
                    for (b, by_b) in given.iter().skip(index + 1) {
                        grades.entry((a, b)).or_default().push((*by_a, *by_b));
                    }
                }
                let distinct: BTreeSet<Grade> = given.iter().map(|(_, grade)| *grade).collect();
                if let (Some(low), Some(high)) = (distinct.first(), distinct.last())
                    && low != high
                {
                    disagreements.push(Disagreement {
                        position,
                        query: query.key.clone(),
                        document: (*document).to_owned(),
                        grades: detail.annotations.clone(),
                        difference: high.get() - low.get(),
                    });
                }
            }
        }
        disagreements.sort_by(|a, b| b.difference.total_cmp(&a.difference));
        let pairs: Vec<AnnotatorPair> = grades
            .into_iter()
            .filter_map(|((a, b), grades)| {
                Some(AnnotatorPair {
                    a: a.to_owned(),
                    b: b.to_owned(),
                    kappa: Kappa::of(&grades)?,
                })
            })
            .collect();
        let mean = |of: fn(&Kappa) -> f64| {
            let sum: f64 = pairs.iter().map(|pair| of(&pair.kappa)).sum();
            (!pairs.is_empty()).then(|| sum / real_length(pairs.len()))
        };
        Self {
            n,
            agreement: mean(|kappa| kappa.agreement),
            kappa: mean(|kappa| kappa.kappa),
            quadratic: mean(|kappa| kappa.quadratic),
            pairs,
            disagreements,
        }
    }
}
