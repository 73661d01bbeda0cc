//! Simulation of the estimates: synthetic searches whose true measures are known, and repeated samples of
//! them. It shows bias, coverage under continuous monitoring, and the labels that are needed.

use serde::Serialize;

use super::forecast::Forecast;
use super::interval::any_time;
use super::order::{clock, order_of};
use super::sequence::{Control, Rows, Step, estimate, sequence};
use rankgauge_core::labelling::uniform;
use rankgauge_core::number::{real, real_length};

/// Candidates of a query, and served results.
const CANDIDATES: usize = 30;
const SERVED: usize = 10;
/// Cutoff of the measure, P@5.
const CUTOFF: usize = 5;
/// Exponent of the popularity of queries.
const ZIPF: f64 = 0.85;
/// Deviation by which the scores of variant B differ from those of A.
const CHURN: f64 = 0.35;
/// Probability that a judge calls an irrelevant document relevant that only B serves, in addition.
const JUDGE_BIAS: f64 = 0.2;
/// First label from which the interval to look at once is compared.
const FIRST_LOOK: usize = 20;
/// Kappas of the judges; `None` is no judge.
const JUDGES: [Option<f64>; 4] = [None, Some(0.4), Some(0.6), Some(0.8)];
/// Estimated values: true if the difference, and the true difference.
const TARGETS: [(bool, f64); 4] = [(true, 0.0), (true, 0.02), (true, 0.05), (false, 0.02)];

/// Size of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulationOptions {
    /// Distinct queries.
    pub queries: usize,
    /// Searches.
    pub searches: usize,
    /// Samples of each case.
    pub repetitions: usize,
    /// Labels of which the widths are reported; twice as many are looked at.
    pub labels: usize,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// Result of one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulatedCase {
    /// `level` or `difference`.
    pub kind: &'static str,
    /// Kappa of the judge. `None` without a judge.
    pub judge_kappa: Option<f64>,
    /// True value.
    pub truth: f64,
    /// Error of the judge alone.
    pub judge_error: Option<f64>,
    /// Mean error of the estimates after `labels`.
    pub bias: f64,
    /// Standard error of the bias.
    pub bias_standard_error: f64,
    /// Share of the samples whose interval to look at once contains the truth after `labels`.
    pub covers_once: f64,
    /// Share whose interval to look at once misses the truth after any label.
    pub ever_outside_once: f64,
    /// Share whose any-time interval misses the truth after any label.
    pub ever_outside_any_time: f64,
    /// Mean half-width of the interval to look at once.
    pub half_width_once: f64,
    /// Mean half-width of the any-time interval.
    pub half_width_any_time: f64,
    /// Labels for a half-width of 0.05 and 0.02: once, then any time. Scaled from `labels`.
    pub labels_needed: [[usize; 2]; 2],
}

/// Pseudo-random numbers (SplitMix64; Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (real((z ^ (z >> 31)) >> 11) + 0.5) / 9_007_199_254_740_992.0
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.next().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.next()).cos()
    }

    /// Beta(1.3, 1.7) (Jöhnk 1964).
    fn difficulty(&mut self) -> f64 {
        loop {
            let (x, y) = (self.next().powf(1.0 / 1.3), self.next().powf(1.0 / 1.7));
            if x + y <= 1.0 {
                return x / (x + y);
            }
        }
    }
}

/// Query with candidates.
struct Query {
    grades: Vec<f64>,
    /// Score of each candidate in variant A, and what is added in B.
    scores: Vec<f64>,
    churn: Vec<f64>,
}

impl Query {
    fn draw(random: &mut Random) -> Self {
        let difficulty = random.difficulty();
        let grades = (0..CANDIDATES).map(|_| {
            let (is_relevant, part) = (random.next() < difficulty, random.next());
            match (is_relevant, part) {
                (false, _) => 0.0,
                (true, ..0.45) => 1.0,
                (true, ..0.78) => 2.0,
                (true, _) => 3.0,
            }
        });
        let grades: Vec<f64> = grades.collect();
        let scores = grades.iter();
        let scores = scores.map(|grade| 0.35 * grade + 1.2 * random.normal());
        let scores = scores.collect();
        let churn = (0..CANDIDATES).map(|_| CHURN * random.normal()).collect();
        Self {
            grades,
            scores,
            churn,
        }
    }

    /// Candidates of a list, best first. Variant B prefers grades by `gain` more; `None` is variant A.
    fn list(&self, gain: Option<f64>) -> Vec<usize> {
        let score = |at: usize| match gain {
            Some(gain) => self.scores[at] + self.churn[at] + gain * self.grades[at],
            None => self.scores[at],
        };
        let scores: Vec<f64> = (0..CANDIDATES).map(score).collect();
        let mut order: Vec<usize> = (0..CANDIDATES).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        order.truncate(SERVED);
        order
    }

    fn precision(&self, list: &[usize]) -> f64 {
        let top = list.iter().take(CUTOFF);
        let relevant = top.filter(|at| self.grades[**at] > 0.0).count();
        real_length(relevant) / real_length(CUTOFF)
    }
}

/// Rows of a frame: documents with a coefficient.
#[derive(Default)]
struct SimulatedFrame {
    coefficient: Vec<f64>,
    size: Vec<f64>,
    gain: Vec<f64>,
    is_only_in_b: Vec<bool>,
    names: Vec<(String, String)>,
}

impl SimulatedFrame {
    fn of(queries: &[Query], weights: &[f64], is_difference: bool, gain: f64) -> Self {
        let mut frame = Self::default();
        for (number, (query, weight)) in queries.iter().zip(weights).enumerate() {
            let lists = [query.list(None), query.list(Some(gain))];
            for document in 0..CANDIDATES {
                let [a, b] = [0, 1].map(|variant: usize| {
                    let is_served = lists[variant].iter().take(CUTOFF).any(|it| *it == document);
                    f64::from(u8::from(is_served)) * weight / real_length(CUTOFF)
                });
                let coefficient = if is_difference { b - a } else { a };
                if coefficient.abs() > 0.0 {
                    frame.coefficient.push(coefficient);
                    frame.size.push(coefficient.abs());
                    let is_relevant = query.grades[document] > 0.0;
                    frame.gain.push(f64::from(u8::from(is_relevant)));
                    frame.is_only_in_b.push(a <= 0.0);
                    frame
                        .names
                        .push((format!("q{number}"), format!("d{document}")));
                }
            }
        }
        frame
    }

    fn value(&self, gains: &[f64]) -> f64 {
        let products = self.coefficient.iter().zip(gains);
        products.map(|(a, gain)| a * gain).sum()
    }

    /// Scores of a judge with this kappa, and none without.
    fn judge(&self, kappa: Option<f64>, random: &mut Random) -> Vec<f64> {
        let Some(kappa) = kappa else {
            return vec![0.0; self.gain.len()];
        };
        let total: f64 = self.size.iter().sum();
        let relevant = self.size.iter().zip(&self.gain);
        let prevalence = relevant.map(|(size, gain)| size * gain).sum::<f64>() / total;
        let kappa_of = |error: f64| {
            let judged = prevalence * (1.0 - error) + (1.0 - prevalence) * error;
            let chance = prevalence * judged + (1.0 - prevalence) * (1.0 - judged);
            (1.0 - error - chance) / (1.0 - chance)
        };
        let (mut low, mut high) = (0.0, 0.5);
        for _ in 0..30 {
            let middle = f64::midpoint(low, high);
            if kappa_of(middle) > kappa {
                low = middle;
            } else {
                high = middle;
            }
        }
        let rows = self.gain.iter().zip(&self.is_only_in_b);
        let scores = rows.map(|(gain, is_only_in_b)| {
            let is_wrong = random.next() < low;
            let is_biased = random.next() < JUDGE_BIAS;
            let score = if is_wrong { 1.0 - gain } else { *gain };
            if *is_only_in_b && is_biased {
                1.0
            } else {
                score
            }
        });
        scores.collect()
    }

    /// Order of a sample, as `label draw` makes it.
    fn order(&self, seed: u64) -> Vec<usize> {
        let rows = self.names.iter().zip(&self.size);
        let clocks =
            rows.map(|((query, document), size)| clock(uniform(seed, query, document), *size));
        order_of(&clocks.collect::<Vec<f64>>())
    }
}

/// Sums over the samples of a case.
#[derive(Default)]
struct Sums {
    error: f64,
    squares: f64,
    missed_at_plan: f64,
    ever_missed: f64,
    any_time_missed: f64,
    half_once: f64,
    half_any_time: f64,
}

impl Sums {
    fn add(&mut self, steps: &[Step], truth: f64, labels: usize, frame: &SimulatedFrame) {
        let range = (
            frame.coefficient.iter().map(|a| a.min(0.0)).sum(),
            frame.coefficient.iter().map(|a| a.max(0.0)).sum(),
        );
        let misses = |number: usize| {
            let found = estimate(steps.get(..number)?)?;
            let half = 1.96 * found.standard_error;
            Some((found.value, half, (found.value - truth).abs() > half))
        };
        let count = |is_missed: bool| f64::from(u8::from(is_missed));
        if let Some((value, half, is_missed)) = misses(labels) {
            self.error += value - truth;
            self.squares += (value - truth).powi(2);
            self.missed_at_plan += count(is_missed);
            self.half_once += half;
        }
        let mut looks = (FIRST_LOOK..=steps.len()).filter_map(misses);
        self.ever_missed += count(looks.any(|(.., is_missed)| is_missed));
        // The any-time interval is the intersection of those of all labels.
        let [low, high] = any_time(steps, range, labels);
        self.any_time_missed += count(truth < low || high < truth);
        let [low, high] = any_time(steps.get(..labels).unwrap_or(steps), range, labels);
        self.half_any_time += (high - low) / 2.0;
    }
}

/// Runs all cases. The same options give the same numbers.
pub fn simulate(options: SimulationOptions) -> Vec<SimulatedCase> {
    let mut random = Random(options.seed);
    let queries: Vec<Query> = (0..options.queries)
        .map(|_| Query::draw(&mut random))
        .collect();
    let popularity: Vec<f64> = (1..=options.queries)
        .map(|rank| real_length(rank).powf(-ZIPF))
        .collect();
    let total: f64 = popularity.iter().sum();
    let popularity: Vec<f64> = popularity.into_iter().map(|it| it / total).collect();
    let mut weights = vec![0.0; options.queries];
    let mut sum = 0.0;
    let cumulated = popularity.iter().map(|it| {
        sum += it;
        sum
    });
    let cumulated: Vec<f64> = cumulated.collect();
    for _ in 0..options.searches {
        let drawn = random.next();
        let at = cumulated.partition_point(|it| *it < drawn);
        if let Some(weight) = weights.get_mut(at.min(options.queries.saturating_sub(1))) {
            *weight += 1.0 / real_length(options.searches);
        }
    }
    let mean = |gain: Option<f64>| -> f64 {
        let queries = queries
            .iter()
            .zip(&weights)
            .filter(|(_, weight)| **weight > 0.0);
        queries
            .map(|(query, weight)| weight * query.precision(&query.list(gain)))
            .sum()
    };
    let of_a = mean(None);
    let mut cases = Vec::new();
    for (number, (is_difference, difference)) in (0_u64..).zip(TARGETS) {
        let (mut low, mut high) = (-0.5, 1.5);
        for _ in 0..14 {
            let middle = f64::midpoint(low, high);
            if mean(Some(middle)) - of_a < difference {
                low = middle;
            } else {
                high = middle;
            }
        }
        let gain = f64::midpoint(low, high);
        let frame = SimulatedFrame::of(&queries, &weights, is_difference, gain);
        let truth = frame.value(&frame.gain);
        let judges = JUDGES.map(|kappa| (kappa, frame.judge(kappa, &mut random)));
        let mut sums = JUDGES.map(|_| Sums::default());
        let order =
            |repetition| frame.order(options.seed.wrapping_add((number << 32) + repetition));
        let sizes: Vec<f64> = order(0).iter().map(|row| frame.size[*row]).collect();
        let forecast = Forecast::of(&sizes);
        for repetition in (0_u64..).take(options.repetitions) {
            let order = order(repetition);
            let labelled = order.iter().take(2 * options.labels);
            let gains: Vec<f64> = labelled.map(|row| frame.gain[*row]).collect();
            for ((_, prediction), sums) in judges.iter().zip(&mut sums) {
                let rows = Rows {
                    coefficient: &frame.coefficient,
                    prediction,
                    size: &frame.size,
                };
                let steps = sequence(rows, &order, &gains, Control::Regression);
                sums.add(&steps, truth, options.labels, &frame);
            }
        }
        for ((kappa, prediction), sums) in judges.iter().zip(sums) {
            let samples = real_length(options.repetitions.max(1));
            let bias = sums.error / samples;
            let variance = (sums.squares / samples - bias * bias).max(0.0);
            let [once, any_time] = [sums.half_once, sums.half_any_time].map(|sum| sum / samples);
            let needed = |half: f64, wanted: f64| {
                forecast.labels_for(forecast.error(options.labels) * wanted / half)
            };
            cases.push(SimulatedCase {
                kind: if is_difference { "difference" } else { "level" },
                judge_kappa: *kappa,
                truth,
                judge_error: kappa.map(|_| frame.value(prediction) - truth),
                bias,
                bias_standard_error: (variance / samples).sqrt(),
                covers_once: 1.0 - sums.missed_at_plan / samples,
                ever_outside_once: sums.ever_missed / samples,
                ever_outside_any_time: sums.any_time_missed / samples,
                half_width_once: once,
                half_width_any_time: any_time,
                labels_needed: [0.05, 0.02]
                    .map(|wanted| [needed(once, wanted), needed(any_time, wanted)]),
            });
        }
    }
    cases
}
