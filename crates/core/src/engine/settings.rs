//! What a person can choose about the engine, already checked.
//!
//! The engine knows nothing of files or environment variables: configuration builds this value.

use std::time::Duration;

use crate::engine::money::PriceTable;
use crate::event::{Limits, Search};
use crate::measure::Measure;
use crate::ranking::Rules;

/// Everything that decides how inputs become state. Two engines with equal settings and equal
/// inputs have equal states.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Measures computed for every search, in the order in which they are exposed. No repeats.
    pub measures: Vec<Measure>,
    /// Names of labels (of the gold query, else of the search) that break every score down.
    pub slices: Vec<String>,
    /// How results are judged, and which parts of a ranking are told apart.
    pub judging: Rules,
    /// Rolling windows, shortest first.
    pub windows: Vec<WindowSpec>,
    /// How far behind the newest event time a record may arrive and still be in order.
    pub out_of_orderness: Duration,
    /// How long after a search its feedback is waited for.
    pub feedback_window: Duration,
    /// Wall time after which a topic that has been read to its end stops holding the watermark.
    pub idle_timeout: Duration,
    /// How far ahead of the wall time an event may be.
    pub max_future_skew: Duration,
    /// Most events that wait in one worker, searches and the feedback kept for them; beyond it the
    /// oldest are finalised early. Closed searches are remembered in what room is left, and in an
    /// eighth more.
    pub max_pending: usize,
    /// Upper bounds of the latency histogram's buckets in seconds, ascending.
    pub latency_buckets: Vec<f64>,
    /// What models cost where the event does not say.
    pub prices: PriceTable,
    /// What a click at position 1, 2, … weighs: 1 / propensity, clipped. The last weight holds for
    /// all positions after it. Empty when propensities are not known.
    pub click_weights: Vec<f64>,
    /// How many clicks are to be expected at position 1, 2, …, from 0 to 1; none after the last.
    pub expected_clicks: Vec<f64>,
    /// Fewest searches behind a rolling value of what people did.
    pub min_samples: u64,
    /// What is watched for regressions.
    pub detection: Detection,
    /// Experiments that are told apart. With any, [`EXPERIMENT`] is the last of the slices.
    pub experiments: Vec<Experiment>,
    /// Limits on cardinality.
    pub series_limits: SeriesLimits,
    /// Limits on single records.
    pub record_limits: Limits,
}

/// The slice whose values are the declared experiments.
pub const EXPERIMENT: &str = "experiment";

/// Upper bounds in seconds of the buckets of the time to the first click.
pub const FIRST_CLICK_BUCKETS: [f64; 12] = [
    0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0,
];

/// What is watched for regressions, and from where on evidence is one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detection {
    /// The measures that are watched. Without any, nothing is.
    pub measures: Vec<Watched>,
    /// Slices that are watched beside the whole, by their place among the slices.
    pub slices: Vec<usize>,
    /// How far scores may fall without being a regression, from 0 to 1.
    pub tolerance: f64,
    /// Searches of a variant from which it is learned what is usual.
    pub baseline_searches: u64,
    /// The probability of ever finding a target missed that is met.
    pub alpha: f64,
    /// ln of the evidence that a target is missed from which on it is: ln(1/alpha).
    pub target_threshold: f64,
    /// ln of the evidence of a drop from which on it is one.
    pub drop_threshold: f64,
    /// The highest that the evidence of a drop may grow to, so that it goes back in time.
    pub ceiling: f64,
    /// ln of the evidence that an experiment is not split as declared.
    pub split_threshold: f64,
}

/// A measure that is watched. Its scores are from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    /// Its place among the measures.
    pub index: usize,
    /// What its mean is asked to reach, if anything.
    pub target: Option<f64>,
    /// Whether less is better.
    pub is_downwards: bool,
    /// Whether it is about what people did.
    pub is_of_people: bool,
}

/// An experiment: searches that were given to its arms by chance.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its id, `experiment.id` of its searches.
    pub id: String,
    /// The arm that the others are compared with.
    pub control: String,
    /// The share of searches that each arm is meant to get; they add up to 1.
    pub split: Vec<(String, f64)>,
}

impl Settings {
    /// The declared experiment that a search takes part in.
    pub fn experiment_of(&self, search: &Search<'_>) -> Option<&str> {
        let id = search.experiment.as_ref()?.id.as_deref()?;
        let mut declared = self.experiments.iter();
        declared.find(|it| it.id == id).map(|it| it.id.as_str())
    }
}

/// A rolling window: `name` is its label value (`1m`), `length` what it spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowSpec {
    /// Label value, as written in the configuration: `1m`, `24h`.
    pub name: String,
    /// What the window spans; at least one second.
    pub length: Duration,
}

/// Limits on cardinality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesLimits {
    /// Maximum number of series that one metric family exposes. Further ones are counted under
    /// `__other__`.
    pub series_per_family: usize,
    /// Maximum number of distinct values of one label (variant, stage, model, …). Further ones
    /// become `__other__`.
    pub values_per_label: usize,
}
