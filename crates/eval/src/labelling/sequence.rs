//! Estimates from labels in the order of a sample (Des Raj 1956), with a control variate whose slope
//! is fitted to earlier labels (Angelopoulos et al. 2023, "PPI++").

use rankgauge_core::number::real_length;

/// Rows of prior weight in the fit of the control variate.
const PRIOR_ROWS: f64 = 10.0;
/// Gain of the prior rows.
const PRIOR_GAIN: f64 = 0.5;
/// Labels that weigh as much as the prior of the slope of a judge with two phases.
const PRIOR_LABELS: f64 = 10.0;

/// Rows of a frame. All slices have the same length, and every size is positive.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Coefficient of the gain of each row in the estimated value.
    pub coefficient: &'a [f64],
    /// Prediction of the gain of each row, fixed before any label.
    pub prediction: &'a [f64],
    /// Size of each row, to which its sampling is proportional.
    pub size: &'a [f64],
}

/// Control variate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// None.
    Nothing,
    /// Mean gain of the earlier labels.
    Mean,
    /// Linear function of the prediction, fitted to the earlier labels.
    Regression,
}

/// Estimate of one label, with its range. The expectation is the estimated value, given the labels
/// before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Unbiased estimate.
    pub z: f64,
    /// Size that was not labelled before this label.
    pub remaining: f64,
    /// Lowest possible estimate, known before the label.
    pub lowest: f64,
    /// Highest possible estimate, known before the label.
    pub highest: f64,
}

/// Sums over earlier labels for the fit of the control variate.
struct Fit {
    weight: f64,
    x: f64,
    xx: f64,
    y: f64,
    xy: f64,
    centre: f64,
}

impl Fit {
    fn new(rows: Rows<'_>) -> Self {
        let weights = rows.coefficient.iter().map(|a| a.abs());
        let total: f64 = weights.clone().sum();
        let weighted = weights.zip(rows.prediction).map(|(a, f)| a * f);
        Self {
            weight: PRIOR_ROWS,
            x: 0.0,
            xx: PRIOR_ROWS / 4.0,
            y: PRIOR_ROWS * PRIOR_GAIN,
            xy: 0.0,
            centre: if total > 0.0 {
                weighted.sum::<f64>() / total
            } else {
                0.0
            },
        }
    }

    /// Intercept and slope.
    fn line(&self, control: Control) -> (f64, f64) {
        let slope = match control {
            Control::Nothing => return (0.0, 0.0),
            Control::Mean => 0.0,
            Control::Regression => {
                let slope = (self.weight * self.xy - self.x * self.y)
                    / (self.weight * self.xx - self.x * self.x);
                slope.clamp(0.0, 1.0)
            }
        };
        let intercept = (self.y - slope * self.x) / self.weight - slope * self.centre;
        (intercept, slope)
    }

    fn add(&mut self, weight: f64, prediction: f64, gain: f64) {
        let x = prediction - self.centre;
        self.weight += weight;
        self.x += weight * x;
        self.xx += weight * x * x;
        self.y += weight * gain;
        self.xy += weight * x * gain;
    }
}

/// Estimates of each label: `gains` are those of the first rows of `order`, from 0 to 1.
pub fn sequence(rows: Rows<'_>, order: &[usize], gains: &[f64], control: Control) -> Vec<Step> {
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let (mut remaining, mut coefficients) = (sum(rows.size), sum(rows.coefficient));
    let products = rows.coefficient.iter().zip(rows.prediction);
    let mut predicted: f64 = products.map(|(a, f)| a * f).sum();
    let ratios = || rows.coefficient.iter().zip(rows.size).map(|(a, s)| a / s);
    let squares = rows
        .coefficient
        .iter()
        .zip(rows.size)
        .map(|(a, s)| a * a / s);
    let mean_weight = squares.sum::<f64>() / remaining;
    let highest_ratio = ratios().fold(0.0, f64::max);
    let lowest_ratio = ratios().fold(0.0, |lowest: f64, ratio| lowest.max(-ratio));
    let predictions = || rows.prediction.iter().copied();
    let lowest_f = predictions().fold(f64::INFINITY, f64::min);
    let highest_f = predictions().fold(f64::NEG_INFINITY, f64::max);

    let mut fit = Fit::new(rows);
    let mut labelled = 0.0;
    let mut steps = Vec::with_capacity(gains.len());
    for (row, gain) in order.iter().zip(gains) {
        let (a, f, s) = (
            rows.coefficient[*row],
            rows.prediction[*row],
            rows.size[*row],
        );
        // The size of this row is not labelled yet; differences of sums may be a little less.
        let left = remaining.max(s);
        let (intercept, slope) = fit.line(control);
        let base = labelled + intercept * coefficients + slope * predicted;
        let ends = [intercept + slope * lowest_f, intercept + slope * highest_f];
        let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        steps.push(Step {
            z: base + left * a * (gain - intercept - slope * f) / s,
            remaining: left,
            lowest: base - left * (highest_ratio * high).max(lowest_ratio * (1.0 - low)),
            highest: base + left * (highest_ratio * (1.0 - low)).max(lowest_ratio * high),
        });
        let weight = if mean_weight > 0.0 {
            (a / s).powi(2) / mean_weight
        } else {
            0.0
        };
        fit.add(weight, f, *gain);
        labelled += a * gain;
        remaining -= s;
        coefficients -= a;
        predicted -= a * f;
    }
    steps
}

/// Estimate with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Estimated value.
    pub value: f64,
    /// Standard error; infinite for a single label.
    pub standard_error: f64,
}

/// Mean of the steps, weighted by the square of the remaining size.
pub fn estimate(steps: &[Step]) -> Option<Estimate> {
    let weights = || steps.iter().map(|step| step.remaining.powi(-2));
    let total: f64 = weights().sum();
    let value = weights()
        .zip(steps)
        .map(|(w, step)| w * step.z)
        .sum::<f64>()
        / total;
    let squares = weights().zip(steps);
    let squares: f64 = squares
        .map(|(w, step)| (w * (step.z - value)).powi(2))
        .sum();
    let labels = real_length(steps.len());
    let spread = if steps.len() > 1 {
        labels / (labels - 1.0)
    } else {
        f64::INFINITY
    };
    value.is_finite().then(|| Estimate {
        value,
        standard_error: if steps.len() > 1 {
            (squares * spread).sqrt() / total
        } else {
            f64::INFINITY
        },
    })
}

/// Estimate from gains of a judge for the first rows of `order`, and of people for the first of them.
pub fn two_phase(
    rows: Rows<'_>,
    order: &[usize],
    judge: &[f64],
    human: &[f64],
) -> Option<Estimate> {
    let none = vec![0.0; rows.size.len()];
    let rows = Rows {
        prediction: &none,
        ..rows
    };
    let by_judge = sequence(rows, order, judge, Control::Nothing);
    let by_human = sequence(rows, order, human, Control::Nothing);
    let labels = real_length(by_human.len());
    let mean = |steps: &[Step]| steps.iter().map(|step| step.z).sum::<f64>() / labels;
    let both = by_judge.get(..by_human.len())?;
    let (mean_x, mean_y) = (mean(both), mean(&by_human));
    let mut slope = 0.0;
    if by_human.len() > 1 {
        let pairs = || both.iter().zip(&by_human);
        let shared: f64 = pairs().map(|(x, y)| (x.z - mean_x) * (y.z - mean_y)).sum();
        let own: f64 = both.iter().map(|x| (x.z - mean_x).powi(2)).sum();
        slope = (shared / (labels - 1.0)) / (own / (labels - 1.0)).max(1e-12);
    }
    let slope = slope.clamp(0.0, 1.0) * labels / (labels + PRIOR_LABELS);
    let weights = |steps: &[Step]| {
        let weights: Vec<f64> = steps.iter().map(|step| step.remaining.powi(-2)).collect();
        let total: f64 = weights.iter().sum();
        weights
            .into_iter()
            .map(|it| it / total)
            .collect::<Vec<f64>>()
    };
    let (of_judge, of_human) = (weights(&by_judge), weights(&by_human));
    let mean_judge: f64 = of_judge.iter().zip(&by_judge).map(|(w, j)| w * j.z).sum();
    let differences: Vec<f64> = by_human
        .iter()
        .zip(both)
        .map(|(y, x)| y.z - slope * x.z)
        .collect();
    let mean_difference: f64 = of_human.iter().zip(&differences).map(|(w, d)| w * d).sum();
    let judged = of_judge.iter().zip(&by_judge);
    let judged: f64 = judged.map(|(w, j)| (w * (j.z - mean_judge)).powi(2)).sum();
    let labelled = of_human.iter().zip(&differences);
    let labelled: f64 = labelled
        .map(|(w, d)| (w * (d - mean_difference)).powi(2))
        .sum();
    let both_weights = of_judge.iter().zip(&of_human);
    let shared = both_weights.zip(both.iter().zip(&differences));
    let shared: f64 = shared
        .map(|((wj, wh), (x, d))| wj * wh * (x.z - mean_x) * (d - mean_difference))
        .sum();
    let variance = slope * slope * judged + labelled + 2.0 * slope * shared;
    let value = slope * mean_judge + mean_difference;
    value.is_finite().then(|| Estimate {
        value,
        standard_error: variance.max(0.0).sqrt(),
    })
}
