//! Click models with aggregated counts: the position-based model with harvested propensities
//! (Agarwal et al. 2019, "Estimating position bias without intrusive interventions"), and the user
//! browsing model (Dupret and Piwowarski 2008), which has more contexts.

use std::collections::BTreeMap;

/// Beta prior of attractiveness: one click in four examined impressions.
pub(super) const PRIOR_CLICKS: f64 = 1.0;
/// Misses of the prior of attractiveness.
pub(super) const PRIOR_MISSES: f64 = 3.0;
/// Maximum number of rounds of expectation maximisation.
const MAX_ROUNDS: usize = 60;
/// Largest change of an attractiveness in the last round.
const MIN_STEP: f64 = 1e-4;
/// Attractiveness before the first click.
pub(super) const UNKNOWN_ATTRACTIVENESS: f64 = 0.25;
/// Standard deviation of the estimate by expectation maximisation, as a prior of ln p.
const PRIOR_DEVIATION: f64 = 0.35;
/// Minimum sums of a ratio of two ranks.
const MIN_SUM: f64 = 5.0;

/// Impressions of a pair of query and document in one context: a rank, or a rank and the last click.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Index of the pair.
    pub pair: usize,
    /// Index of the context; 0 is examined always.
    pub context: usize,
    /// Number of impressions.
    pub shown: f64,
    /// Number of clicked impressions.
    pub clicked: f64,
}

/// Fitted model.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Probability of a click on an examined result, by pair.
    pub attractiveness: Vec<f64>,
    /// Probability of examination, by context.
    pub examination: Vec<f64>,
}

/// Fits the model by expectation maximisation. The examination stays as it is if it is `fixed`.
pub fn fit(cells: &[Cell], pairs: usize, contexts: usize, fixed: Option<&[f64]>) -> Model {
    let mut attractiveness = vec![UNKNOWN_ATTRACTIVENESS; pairs];
    let mut examination = fixed.map_or_else(|| vec![0.5; contexts], <[f64]>::to_vec);
    if let Some(first) = examination.first_mut() {
        *first = 1.0;
    }
    let mut of_pair = vec![0.0; pairs];
    let mut of_context = vec![0.0; contexts];
    for cell in cells {
        of_pair[cell.pair] += cell.shown;
        of_context[cell.context] += cell.shown;
    }
    for _ in 0..MAX_ROUNDS {
        let mut attracted = vec![0.0; pairs];
        let mut examined = vec![0.0; contexts];
        for cell in cells {
            let (a, e) = (attractiveness[cell.pair], examination[cell.context]);
            let missed = cell.shown - cell.clicked;
            let miss = (1.0 - a * e).max(1e-9);
            attracted[cell.pair] += cell.clicked + missed * a * (1.0 - e) / miss;
            examined[cell.context] += cell.clicked + missed * e * (1.0 - a) / miss;
        }
        let mut step = 0.0_f64;
        for ((a, attracted), shown) in attractiveness.iter_mut().zip(&attracted).zip(&of_pair) {
            let next = (PRIOR_CLICKS + attracted) / (PRIOR_CLICKS + PRIOR_MISSES + shown);
            step = step.max((next - *a).abs());
            *a = next.clamp(1e-6, 1.0 - 1e-6);
        }
        if fixed.is_none() {
            let contexts = examination.iter_mut().zip(&examined).zip(&of_context);
            for (index, ((e, examined), shown)) in contexts.enumerate() {
                *e = if index == 0 {
                    1.0
                } else {
                    ((1.0 + examined) / (2.0 + shown)).clamp(1e-4, 1.0)
                };
            }
        }
        if step < MIN_STEP {
            break;
        }
    }
    Model {
        attractiveness,
        examination,
    }
}

/// Log ratio of the examination of two ranks, with its variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// ln(p_i / p_j).
    pub log: f64,
    /// Variance of the log ratio.
    pub variance: f64,
}

/// Sums for the ratios of all pairs of ranks. Sums of several weeks are added.
#[derive(Clone, Debug, Default)]
pub struct Harvest(BTreeMap<(usize, usize), [f64; 3]>);

impl Harvest {
    /// Adds the cells of one query and document in one week, one for each rank, ascending.
    pub fn add(&mut self, cells: &[Cell]) {
        for (index, upper) in cells.iter().enumerate() {
            for lower in &cells[index + 1..] {
                let total = upper.shown + lower.shown;
                let clicks = upper.clicked + lower.clicked;
                let products = upper.shown * lower.shown * clicks;
                let sums = [
                    upper.clicked * lower.shown / total,
                    lower.clicked * upper.shown / total,
                    (products - upper.clicked * lower.clicked * total) / (total * total),
                ];
                let of_ranks = self.0.entry((upper.context, lower.context)).or_default();
                for (sum, more) in of_ranks.iter_mut().zip(sums) {
                    *sum += more;
                }
            }
        }
    }

    /// Ratios of Mantel and Haenszel that rest on enough clicks, by pair of ranks from 0.
    pub fn ratios(&self) -> BTreeMap<(usize, usize), Ratio> {
        let enough = self
            .0
            .iter()
            .filter(|(_, [r, s, _])| *r >= MIN_SUM && *s >= MIN_SUM);
        let ratios = enough.map(|(ranks, [r, s, spread])| {
            let ratio = Ratio {
                log: (r / s).ln(),
                variance: (spread / (r * s)).max(1e-9),
            };
            (*ranks, ratio)
        });
        ratios.collect()
    }
}

/// Probability that users examine each rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Propensities {
    /// Probability by rank; 1 for the first.
    pub by_rank: Vec<f64>,
    /// Standard error of ln p by rank.
    pub standard_error: Vec<f64>,
    /// Measured share by rank: 0 if it rests on expectation maximisation only, 1 if it is harvested.
    pub harvested: Vec<f64>,
}

/// Least squares for ln p from the harvested ratios, drawn towards the fitted `examination`.
pub fn propensities(harvest: &Harvest, examination: &[f64]) -> Propensities {
    let ranks = examination.len();
    let unknown = ranks.saturating_sub(1);
    let precision = 1.0 / (PRIOR_DEVIATION * PRIOR_DEVIATION);
    let mut matrix = vec![vec![0.0; unknown]; unknown];
    let mut right: Vec<f64> = Vec::with_capacity(unknown);
    for (index, row) in matrix.iter_mut().enumerate() {
        row[index] = precision;
        right.push(examination[index + 1].ln() * precision);
    }
    for ((upper, lower), ratio) in harvest.ratios() {
        if upper >= ranks || lower >= ranks {
            continue;
        }
        let weight = 1.0 / ratio.variance;
        // The first rank has ln p = 0.
        let signs = [(upper, 1.0), (lower, -1.0)];
        for (one, sign) in signs.into_iter().filter(|(rank, _)| *rank > 0) {
            right[one - 1] += sign * ratio.log * weight;
            for (other, other_sign) in signs.into_iter().filter(|(rank, _)| *rank > 0) {
                matrix[one - 1][other - 1] += sign * other_sign * weight;
            }
        }
    }
    let covariance = inverse(matrix);
    let solved = covariance
        .iter()
        .map(|row| row.iter().zip(&right).map(|(c, b)| c * b).sum::<f64>());
    let mut logs = vec![(0.0, 1e9)];
    let variances = || covariance.iter().enumerate().map(|(index, row)| row[index]);
    logs.extend(
        solved
            .zip(variances())
            .map(|(log, variance)| (log, 1.0 / variance)),
    );
    logs.truncate(ranks);
    let mut logs = non_increasing(&logs);
    for log in &mut logs {
        *log = log.min(0.0);
    }
    let first = logs.first().copied().unwrap_or(0.0);
    let with_first = |value: f64, rest: &mut dyn Iterator<Item = f64>| {
        std::iter::once(value).chain(rest).take(ranks).collect()
    };
    Propensities {
        by_rank: logs.iter().map(|log| (log - first).exp()).collect(),
        standard_error: with_first(0.0, &mut variances().map(f64::sqrt)),
        harvested: with_first(1.0, &mut variances().map(|it| 1.0 - it * precision)),
    }
}

/// Weighted fit that never increases (pool adjacent violators), from values with their weights.
fn non_increasing(values: &[(f64, f64)]) -> Vec<f64> {
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for (value, weight) in values {
        let mut block = (*value, *weight, 1);
        while let Some(before) = blocks.last().copied().filter(|before| before.0 < block.0) {
            blocks.pop();
            let weight = before.1 + block.1;
            let mean = (before.0 * before.1 + block.0 * block.1) / weight;
            block = (mean, weight, before.2 + block.2);
        }
        blocks.push(block);
    }
    let repeated = blocks
        .into_iter()
        .flat_map(|(value, _, number)| std::iter::repeat_n(value, number));
    repeated.collect()
}

/// Weighted fit that never decreases.
pub fn non_decreasing(values: &[f64]) -> Vec<f64> {
    let reversed: Vec<(f64, f64)> = values.iter().rev().map(|value| (*value, 1.0)).collect();
    let mut fitted = non_increasing(&reversed);
    fitted.reverse();
    fitted
}

/// Inverse of a positive definite matrix, by elimination.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let size = matrix.len();
    let mut result: Vec<Vec<f64>> = (0..size)
        .map(|row| {
            (0..size)
                .map(|column| f64::from(u8::from(row == column)))
                .collect()
        })
        .collect();
    for pivot in 0..size {
        let divisor = matrix[pivot][pivot];
        for value in matrix[pivot].iter_mut().chain(&mut result[pivot]) {
            *value /= divisor;
        }
        let (left, right) = (matrix[pivot].clone(), result[pivot].clone());
        for row in (0..size).filter(|row| *row != pivot) {
            let factor = matrix[row][pivot];
            let subtract = |values: &mut [f64], of: &[f64]| {
                for (value, of) in values.iter_mut().zip(of) {
                    *value -= factor * of;
                }
            };
            subtract(&mut matrix[row], &left);
            subtract(&mut result[row], &right);
        }
    }
    result
}

/// Examined impressions of each pair.
pub fn exposure(cells: &[Cell], pairs: usize, examination: &[f64]) -> Vec<f64> {
    let mut exposure = vec![0.0; pairs];
    for cell in cells {
        exposure[cell.pair] += cell.shown * examination[cell.context];
    }
    exposure
}
