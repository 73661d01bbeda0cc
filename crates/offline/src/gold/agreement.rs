//! How far annotators agree: Cohen's kappa over all judgements that more than one of them made.
//!
//! Pure arithmetic over annotations. It knows no threshold: what is enough is for others to say.
//!
//! Kappa is Cohen's (1960): `(po - pe) / (1 - pe)`, observed against expected agreement. Quadratic
//! weights (Cohen 1968) count a disagreement by the square of the difference of the two grades, as
//! `sklearn.metrics.cohen_kappa_score(a, b, weights="quadratic", labels=…)` does where all grades
//! of the scale are labels; sklearn without `labels` counts places among the grades that occur.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use rankgauge_core::gold::{GoldQuery, Grade};

/// What two annotators' grades of the same judgements have in common.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Kappa {
    /// Judgements that both made; at least one.
    pub n: usize,
    /// The share of them with equal grades, 0 to 1.
    pub agreement: f64,
    /// Unweighted, -1 to 1. Where both gave one and the same grade throughout, chance explains
    /// everything (pe = 1) and it is 1 by convention.
    pub kappa: f64,
    /// With quadratic weights, -1 to 1; 1 in the same case.
    pub quadratic: f64,
}

impl Kappa {
    /// Of pairs of grades, one of each annotator; `None` without any.
    pub fn of(pairs: &[(Grade, Grade)]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let n = float(pairs.len());
        let agreement = float(pairs.iter().filter(|(a, b)| a == b).count()) / n;

        let mut counts: BTreeMap<Grade, (usize, usize)> = BTreeMap::new();
        for (a, b) in pairs {
            counts.entry(*a).or_default().0 += 1;
            counts.entry(*b).or_default().1 += 1;
        }
        if counts.len() == 1 {
            return Some(Self {
                n: pairs.len(),
                agreement,
                kappa: 1.0,
                quadratic: 1.0,
            });
        }
        let by_chance: f64 = counts
            .values()
            .map(|(a, b)| (float(*a) / n) * (float(*b) / n))
            .sum();

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
            agreement,
            kappa: (agreement - by_chance) / (1.0 - by_chance),
            quadratic: 1.0 - observed / expected,
        })
    }
}

/// Two annotators and how far they agree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnnotatorPair {
    /// The first annotator's field, `annotator_1`.
    pub a: String,
    /// The second annotator's.
    pub b: String,
    /// Their agreement.
    #[serde(flatten)]
    pub kappa: Kappa,
}

/// A judgement that annotators do not agree on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    /// The query's position in its set.
    #[serde(skip)]
    pub position: usize,
    /// The query's id.
    pub query: String,
    /// The document's id.
    pub document: String,
    /// What each annotator gave.
    pub grades: BTreeMap<String, Grade>,
    /// The highest of them less the lowest, above 0.
    pub difference: f64,
}

/// How far the annotators of a gold set agree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Judgements with at least two annotators.
    pub n: usize,
    /// The mean over pairs of annotators of the share of equal grades; `None` when nothing is
    /// annotated twice.
    pub agreement: Option<f64>,
    /// The mean over pairs of the unweighted kappa.
    pub kappa: Option<f64>,
    /// The mean over pairs of the kappa with quadratic weights.
    pub quadratic: Option<f64>,
    /// Every pair with a judgement in common, in the order of their names.
    pub pairs: Vec<AnnotatorPair>,
    /// What they do not agree on, the greatest difference first, then in the order of the set.
    pub disagreements: Vec<Disagreement>,
}

impl Agreement {
    /// Over all judgements of `queries`.
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
            (!pairs.is_empty()).then(|| sum / float(pairs.len()))
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

/// A count as a number to calculate with; exact up to four billion, and no set has more.
pub(super) fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
