//! One run against another: a test of every measure over the queries that both runs have a score
//! for.

use super::scores::RunScores;
use super::verdict::Verdict;
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::number::real_length;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::error::{CompareError, listed};
use crate::text_layout::count_of;
use rankgauge_core::statistics::{Paired, Settings, holm};

/// Number of queries below which even a large difference is hard to distinguish from chance.
pub const MIN_QUERIES: usize = 25;

/// Comparison of one run with another.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Name of the first run.
    pub a: String,
    /// Name of the second run.
    pub b: String,
    /// Number of queries that both runs have.
    pub common: usize,
    /// Number of queries that only the first run has. They are left out.
    pub only_a: usize,
    /// Number of queries that only the second run has. They are left out.
    pub only_b: usize,
    /// Results by measure.
    pub measures: Vec<MeasureComparison>,
}

/// One measure of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureComparison {
    /// Name of the measure.
    pub measure: String,
    /// Means, difference and tests.
    pub paired: Paired,
    /// p of the test that decides, after Holm's correction over the measures of this pair.
    pub p_holm: Option<f64>,
    /// Verdict of the test.
    pub verdict: Verdict,
    /// Interval of the difference at the level at which Holm's correction tests it: it excludes 0 exactly
    /// if the difference is shown. `None` if nothing is tested.
    pub simultaneous: Option<[f64; 2]>,
}

impl Pair {
    /// Number of measures that are tested.
    pub(crate) fn tested(&self) -> usize {
        let tested = self.measures.iter().filter(|of| of.p_holm.is_some());
        tested.count()
    }

    /// Number of queries of which every verdict is possible at the level `alpha`, with Holm's correction for the tested
    /// measures.
    pub(crate) fn needed(&self, alpha: f64) -> usize {
        let tests = real_length(self.tested().max(1));
        let bits = (tests / alpha).log2();
        let mut needed = MIN_TESTED;
        while real_length(needed) - 1.0 <= bits {
            needed += 1;
        }
        needed
    }
}

impl MeasureComparison {
    /// True if the measure has a test and no verdict: with so many tests of so few queries, no difference can be shown.
    pub(crate) fn is_hidden(&self) -> bool {
        self.p_holm.is_some() && self.verdict == Verdict::NotTested
    }

    /// Difference relative to the mean of the first run. `None` if that mean is not positive.
    pub fn relative(&self) -> Option<f64> {
        let (base, difference) = self.paired.a.zip(self.paired.difference)?;
        let relative = difference / base;
        (base > 0.0 && relative.is_finite()).then_some(relative)
    }
}

/// Scores of two runs, query by query in the order of their ids, for each measure.
pub(super) type Columns = Vec<Vec<(f64, f64)>>;

/// Test settings for pairs of runs.
pub(super) struct Tests<'a> {
    pub(super) measures: &'a [String],
    pub(super) statistics: &'a Settings,
    /// True if only the numbers are needed that decide: nothing is drawn for so many queries that the
    /// t-test decides.
    pub(super) is_brief: bool,
    pub(super) alpha: f64,
}

/// Minimum number of queries for a verdict: with 5, no assignment of signs has p up to 0.05.
pub(crate) const MIN_TESTED: usize = 6;

impl Tests<'_> {
    /// Tests `pairs` of `runs`, given by position.
    pub(super) fn pairs(
        &self,
        runs: &[RunScores],
        pairs: &[(usize, usize)],
    ) -> Result<Vec<Pair>, CompareError> {
        let joined: Vec<(Pair, Columns)> = pairs
            .iter()
            .map(|(a, b)| self.join(&runs[*a], &runs[*b]))
            .collect::<Result<_, _>>()?;
        let columns: Vec<&[(f64, f64)]> = joined
            .iter()
            .flat_map(|(_, columns)| columns.iter().map(Vec::as_slice))
            .collect();
        let mut tested = self.columns(&columns).into_iter();
        Ok(joined
            .into_iter()
            .map(|(pair, columns)| Pair {
                measures: self.judged(tested.by_ref().take(columns.len()).collect()),
                ..pair
            })
            .collect())
    }

    /// Tests columns of paired scores.
    pub(super) fn columns(&self, columns: &[&[(f64, f64)]]) -> Vec<Paired> {
        let columns = columns.par_iter();
        columns
            .map(|column| {
                let is_drawn = !self.is_brief || column.len() < Paired::MIN_SKEWED;
                let settings = Settings {
                    permutations: if is_drawn {
                        self.statistics.permutations
                    } else {
                        1
                    },
                    ..*self.statistics
                };
                Paired::of(column, &settings)
            })
            .collect()
    }

    /// Applies Holm's correction to the tests of one pair and adds the verdicts, one for each
    /// measure. Tests of fewer than [`MIN_TESTED`] queries decide nothing.
    pub(super) fn judged(&self, tested: Vec<Paired>) -> Vec<MeasureComparison> {
        let p = tested.iter();
        let p: Vec<Option<f64>> = p
            .map(|paired| paired.deciding_p().filter(|_| paired.n >= MIN_TESTED))
            .collect();
        let corrected = holm(&p, self.alpha);
        let tests = self.measures.iter().zip(tested).zip(corrected);
        tests
            .map(|((measure, paired), corrected)| {
                let (p_holm, factor) = corrected.unzip();
                // With so many tests of so few queries, no difference can be shown.
                let cannot_show = factor.is_some_and(|it| paired.smallest_p() * it >= self.alpha);
                MeasureComparison {
                    measure: measure.clone(),
                    verdict: self.verdict(measure, &paired, p_holm.filter(|_| !cannot_show)),
                    simultaneous: factor
                        .filter(|_| !cannot_show)
                        .and_then(|factor| self.interval(&paired, p_holm?, factor)),
                    paired,
                    p_holm,
                }
            })
            .collect()
    }

    /// Interval at the level at which one of `factor` tests is made.
    fn interval(&self, paired: &Paired, p_holm: f64, factor: f64) -> Option<[f64; 2]> {
        let [low, high] = paired.interval_at(self.alpha / factor)?;
        let excludes_zero = low > 0.0 || high < 0.0;
        Some(match (p_holm < self.alpha, excludes_zero) {
            // The permutation test decided otherwise than the t-test, whose interval ends or begins at 0.
            (true, false) if paired.difference > Some(0.0) => [0.0, high],
            (true, false) => [low, 0.0],
            (false, true) => [low.min(0.0), high.max(0.0)],
            (true, true) | (false, false) => [low, high],
        })
    }

    fn verdict(&self, measure: &str, paired: &Paired, p_holm: Option<f64>) -> Verdict {
        match (p_holm, paired.difference) {
            _ if paired.identical() => Verdict::Identical,
            (Some(p), Some(difference)) if p < self.alpha => {
                Verdict::of(difference, Direction::of(measure))
            }
            (Some(_), _) => Verdict::NotShown,
            (None, _) => Verdict::NotTested,
        }
    }

    fn join(&self, a: &RunScores, b: &RunScores) -> Result<(Pair, Columns), CompareError> {
        let mut columns: Columns = vec![Vec::new(); self.measures.len()];
        let mut common = 0;
        for (query, of_a) in &a.queries {
            let Some(of_b) = b.queries.get(query) else {
                continue;
            };
            common += 1;
            for ((column, a), b) in columns.iter_mut().zip(of_a).zip(of_b) {
                column.extend(a.zip(*b));
            }
        }
        if common == 0 {
            let keys = |run: &RunScores| run.queries.keys().cloned().collect();
            return Err(CompareError::NoCommonQuery {
                a: a.name.clone(),
                b: b.name.clone(),
                of_a: keys(a),
                of_b: keys(b),
            });
        }
        let pair = Pair {
            a: a.name.clone(),
            b: b.name.clone(),
            common,
            only_a: a.queries.len() - common,
            only_b: b.queries.len() - common,
            measures: Vec::new(),
        };
        Ok((pair, columns))
    }
}

/// Returns the limitations of these pairs, one sentence each.
pub(super) fn warnings(comparisons: &[Pair], ablation: &[Pair], alpha: f64) -> Vec<String> {
    let mut warnings = Vec::new();
    // The first step is already among the comparisons.
    for pair in comparisons.iter().chain(ablation.iter().skip(1)) {
        if pair.only_a + pair.only_b > 0 {
            warnings.push(format!(
                "queries that only one run has are left out: {} of `{}`, {} of `{}`",
                pair.only_a, pair.a, pair.only_b, pair.b
            ));
        }
        if pair.common < MIN_TESTED {
            warnings.push(format!(
                "`{}` and `{}` share only {}; below {MIN_TESTED} nothing is tested",
                pair.a,
                pair.b,
                count_of(pair.common, "query", "queries")
            ));
        } else if pair.common < MIN_QUERIES {
            warnings.push(format!(
                "`{}` and `{}` share only {}; below {MIN_QUERIES} little can be shown, and \
                 `no difference shown` is no sign that there is none",
                pair.a,
                pair.b,
                count_of(pair.common, "query", "queries")
            ));
        }
        let tested = pair.measures.iter().filter(|of| of.paired.n >= MIN_TESTED);
        let skewed = tested.filter(|of| of.paired.is_skewed());
        let skewed: Vec<String> = skewed
            .filter_map(|of| Some(format!("{} ({:.1})", of.measure, of.paired.skewness?)))
            .collect();
        if !skewed.is_empty() {
            warnings.push(format!(
                "`{}` and `{}` share fewer than 30 queries, and the differences of {} are skewed (skewness above 1): \
                 the permutation test decides there, not the t-test",
                pair.a,
                pair.b,
                listed(&skewed)
            ));
        }
        let tested = pair.measures.iter().filter(|of| of.paired.n >= MIN_TESTED);
        let constant = tested.filter(|of| of.paired.p.is_none() && of.p_holm.is_some());
        let constant: Vec<String> = constant.map(|of| of.measure.clone()).collect();
        if !constant.is_empty() {
            warnings.push(format!(
                "all queries of `{}` and `{}` differ by the same amount in {}: the t-test is not defined, and the \
                 permutation test decides there",
                pair.a,
                pair.b,
                listed(&constant)
            ));
        }
        let hidden = pair.measures.iter().filter(|of| of.is_hidden());
        let hidden: Vec<String> = hidden.map(|of| of.measure.clone()).collect();
        if let Some(most) = pair.measures.iter().map(|of| of.paired.n).max()
            && !hidden.is_empty()
        {
            warnings.push(format!(
                "with {} and {}, not even the largest difference of `{}` and `{}` can be shown at the level {alpha} in {}: \
                 it needs {}, or fewer measures",
                count_of(most, "query", "queries"),
                count_of(pair.tested(), "tested measure", "tested measures"),
                pair.a,
                pair.b,
                listed(&hidden),
                count_of(pair.needed(alpha), "query", "queries"),
            ));
        }
        let thin: Vec<String> = pair
            .measures
            .iter()
            .filter(|of| of.paired.n < pair.common)
            .map(|of| format!("{} ({})", of.measure, of.paired.n))
            .collect();
        if !thin.is_empty() {
            warnings.push(format!(
                "of the {} of `{}` and `{}`, not all have a score for {}",
                count_of(pair.common, "query", "queries"),
                pair.a,
                pair.b,
                listed(&thin)
            ));
        }
    }
    warnings
}
