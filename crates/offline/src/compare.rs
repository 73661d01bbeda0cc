//! Two or more runs over the same queries: what differs, by how much, and how sure that is.
//!
//! From per-query scores to a [`Comparison`], wherever the scores come from. Differences are second
//! minus first. Nothing here knows how a comparison looks, and nothing touches files.

mod best;
mod errors;
mod interaction;
mod labels;
mod mistakes;
mod pair;
mod scores;
mod verdict;

use std::collections::BTreeMap;

use crate::evaluate::GoldFacts;
use rankgauge_core::statistics::Settings;

pub use best::{BestMeasure, BestOfSlice};
pub use errors::{ErrorAnalysis, FalsePositive, Missed, QueryErrors, WorstQuery};
pub use interaction::{Interaction, InteractionMeasure};
pub use labels::labels;
pub use mistakes::Mistakes;
pub use pair::{MeasureComparison, Pair};
pub use scores::{RunScores, ScoreFileError, ScoreFileProblem};
pub use verdict::Verdict;

/// Below so many queries even a large difference can hardly be told from chance.
pub const FEW_QUERIES: usize = 25;

/// Labels of queries: query -> label -> value.
pub type Labels = BTreeMap<String, BTreeMap<String, String>>;

/// What to compare, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the tests are given.
    pub statistics: Settings,
    /// A difference is shown when its Holm-adjusted p is below this.
    pub alpha: f64,
    /// Four runs by name: base, with one component, with the other, with both.
    pub interaction: Option<[String; 4]>,
    /// The labels to name the best run by.
    pub by: Vec<String>,
    /// What `by` looks labels up in.
    pub labels: Labels,
    /// What the runs were judged against, where that is known.
    pub gold: Option<GoldFacts>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            statistics: Settings::default(),
            alpha: 0.05,
            interaction: None,
            by: Vec::new(),
            labels: Labels::new(),
            gold: None,
        }
    }
}

/// What comparing runs found.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What the runs were judged against, where that is known.
    pub gold: Option<GoldFacts>,
    /// The runs' names, all different, in the order in which they were given.
    pub runs: Vec<String>,
    /// The measures that all runs have. Everything that is a list "by measure" is in this order.
    pub measures: Vec<String>,
    /// Every run against the first.
    pub comparisons: Vec<Pair>,
    /// Every run against the one before it, where there are more than two.
    pub ablation: Vec<Pair>,
    /// Whether two components do more or less together than each for itself.
    pub interaction: Option<Interaction>,
    /// The best run over all queries, then by slice.
    pub best: Vec<BestOfSlice>,
    /// What the worst queries got wrong, where that is known.
    pub errors: Option<ErrorAnalysis>,
    /// What the tests were given.
    pub statistics: Settings,
    /// Below it, a Holm-adjusted p shows a difference.
    pub alpha: f64,
    /// What a reader has to know before believing a number; a sentence each.
    pub warnings: Vec<String>,
}

/// Why runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum CompareError {
    #[error("{given} run is nothing to compare; name two or more")]
    TooFewRuns { given: usize },
    #[error(
        "`{a}` and `{b}` have no measure in common: the first has {}, the second {}",
        listed(.of_a),
        listed(.of_b)
    )]
    NoCommonMeasure {
        a: String,
        b: String,
        of_a: Vec<String>,
        of_b: Vec<String>,
    },
    #[error(
        "`{a}` and `{b}` have no query in common: the first has {}, the second {}",
        listed(.of_a),
        listed(.of_b)
    )]
    NoCommonQuery {
        a: String,
        b: String,
        of_a: Vec<String>,
        of_b: Vec<String>,
    },
    #[error("the interaction names `{name}`, and there are the runs {}", listed(.known))]
    UnknownRun { name: String, known: Vec<String> },
    #[error("the interaction names `{name}` twice; it takes four different runs: base,a,b,both")]
    RepeatedRun { name: String },
    #[error("no query has the label `{name}`; there are {}", listed(.known))]
    UnknownLabel { name: String, known: Vec<String> },
}

/// How many names a sentence lists.
const LISTED: usize = 10;

/// Names for a sentence.
fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = names
        .iter()
        .take(LISTED)
        .map(|it| format!("`{it}`"))
        .collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Compares runs. The same runs and options give the same numbers, whatever the order of queries
/// in their files and however many processors there are.
///
/// # Errors
/// When there is nothing to compare, or the options name what is not there.
pub fn compare(mut runs: Vec<RunScores>, options: &Options) -> Result<Comparison, CompareError> {
    if runs.len() < 2 {
        return Err(CompareError::TooFewRuns { given: runs.len() });
    }
    scores::make_names_different(&mut runs);
    let (measures, mut warnings) = scores::keep_common_measures(&mut runs)?;
    let tests = pair::Tests {
        measures: &measures,
        statistics: &options.statistics,
        alpha: options.alpha,
    };
    let against_first: Vec<(usize, usize)> = (1..runs.len()).map(|run| (0, run)).collect();
    // The first step is the first comparison, and is not tested again.
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
    warnings.extend(pair::warnings(&comparisons, &ablation));
    Ok(Comparison {
        gold: options.gold.clone(),
        best: best::best(&runs, &measures, options)?,
        runs: runs.into_iter().map(|run| run.name).collect(),
        measures,
        comparisons,
        ablation,
        interaction,
        errors: None,
        statistics: options.statistics,
        alpha: options.alpha,
        warnings,
    })
}
