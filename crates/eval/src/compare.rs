//! Comparison of two or more runs over the same queries: differences, their sizes and their
//! significance.
//!
//! The input is per-query scores from any source; the output is a [`Comparison`]. A difference is
//! the second run minus the first. The module is independent of output formats and does not touch
//! files.

mod answer_errors;
mod best;
mod error;
mod errors;
mod hard_slices;
mod interaction;
mod labels;
mod options;
mod overlap;
mod pair;
mod patterns;
mod scores;
mod several;
mod stored;
mod verdict;

use crate::evaluate::GoldFacts;
use rankgauge_core::statistics::Settings;

pub use answer_errors::{AnalysedErrors, AnswerErrors};
pub use best::{BestMeasure, BestOfSlice};
pub use error::CompareError;
pub use errors::{
    ErrorAnalysis, FalsePositive, Found, Missed, PatternCount, QueryErrors, WorstQuery,
};
pub use hard_slices::HardSlice;
pub use interaction::{Interaction, InteractionMeasure};
pub use labels::{Labels, SearchLabel, labels};
pub use options::Options;
pub use overlap::{Overlap, overlaps};
pub use pair::{MIN_QUERIES, MeasureComparison, Pair};
pub use patterns::Pattern;
pub(crate) use scores::testable;
pub use scores::{RunScores, ScoreFileError, ScoreFileProblem};
pub use several::Several;
pub use stored::{StoredError, StoredEvaluation};
pub use verdict::Verdict;

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Gold set that the runs were judged against, if known.
    pub gold: Option<GoldFacts>,
    /// Names of the runs, all different, in the order given.
    pub runs: Vec<String>,
    /// Measures that all runs have. Every list "by measure" is in this order.
    pub measures: Vec<String>,
    /// Each run against the first.
    pub comparisons: Vec<Pair>,
    /// Each run against the one before it, if there are more than two.
    pub ablation: Vec<Pair>,
    /// All pairs of three or more runs, by measure.
    pub several: Vec<Several>,
    /// Interaction of two components: difference between their combined effect and the sum of the
    /// single effects.
    pub interaction: Option<Interaction>,
    /// Best run over all queries, then by slice.
    pub best: Vec<BestOfSlice>,
    /// Errors in the worst queries, if known.
    pub errors: Option<ErrorAnalysis>,
    /// Overlap of the results of each run with those of the first, if requested.
    pub overlaps: Vec<Overlap>,
    /// Settings of the statistical tests.
    pub statistics: Settings,
    /// Significance level: a Holm-adjusted p below it shows a difference.
    pub alpha: f64,
    /// Limitations of the results, one sentence each.
    pub warnings: Vec<String>,
}

/// Tests every run against the first, by the measures that all have, without the numbers that do not
/// decide. Empty for one run.
///
/// # Errors
/// Two runs have no query in common, or no measure can be tested.
pub fn against_first(mut runs: Vec<RunScores>, alpha: f64) -> Result<Vec<Pair>, CompareError> {
    if runs.len() < 2 {
        return Ok(Vec::new());
    }
    let (measures, _) = scores::keep_common_measures(&mut runs)?;
    let tests = pair::Tests {
        measures: &measures,
        statistics: &Settings {
            bootstraps: 1,
            ..Settings::default()
        },
        is_brief: true,
        alpha,
    };
    let pairs: Vec<(usize, usize)> = (1..runs.len()).map(|run| (0, run)).collect();
    tests.pairs(&runs, &pairs)
}

/// Compares runs. The same runs and options give the same numbers, regardless of the order of
/// queries in the files and of the number of processors.
///
/// # Errors
/// If there is nothing to compare, or if the options name a run or label that does not exist.
pub fn compare(mut runs: Vec<RunScores>, options: &Options) -> Result<Comparison, CompareError> {
    if runs.len() < 2 {
        return Err(CompareError::TooFewRuns { given: runs.len() });
    }
    scores::make_names_unique(&mut runs);
    let (measures, mut warnings) = scores::keep_common_measures(&mut runs)?;
    let tests = pair::Tests {
        measures: &measures,
        statistics: &options.statistics,
        is_brief: false,
        alpha: options.alpha,
    };
    let against_first: Vec<(usize, usize)> = (1..runs.len()).map(|run| (0, run)).collect();
    // The first step equals the first comparison and is not tested again.
    let steps: Vec<(usize, usize)> = (2..runs.len()).map(|run| (run - 1, run)).collect();
    let mut comparisons = tests.pairs(&runs, &[against_first.as_slice(), &steps].concat())?;
    let mut ablation = comparisons.split_off(against_first.len());
    if !ablation.is_empty() {
        ablation.insert(0, comparisons[0].clone());
    }
    let interaction = match &options.interaction {
        None => None,
        Some(names) => Some(interaction::interaction(&runs, names, &tests)?),
    };
    warnings.extend(pair::warnings(&comparisons, &ablation, options.alpha));
    Ok(Comparison {
        gold: options.gold.clone(),
        several: if runs.len() > 2 {
            let rows = |measure| scores::rows_in_all(&runs, measure);
            several::several(&measures, rows, &options.statistics)
        } else {
            Vec::new()
        },
        best: best::best(&runs, &measures, options)?,
        runs: runs.into_iter().map(|run| run.name).collect(),
        measures,
        comparisons,
        ablation,
        interaction,
        errors: None,
        overlaps: Vec::new(),
        statistics: options.statistics,
        alpha: options.alpha,
        warnings,
    })
}
