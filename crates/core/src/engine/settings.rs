//! Validated settings of the engine.
//!
//! The engine reads no files and no environment variables. The configuration builds this value.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::detection::{Burst, SeriesRules, log_threshold};
use crate::engine::money::PriceTable;
use crate::engine::objective::MeanObjective;
pub use crate::engine::objective::{MeanQuantity, Objective, Quantity};
use crate::engine::position::Topics;
use crate::event::{Limits, Search};
use crate::labelling::{LabelMeasure, SigningKey};
use crate::measure::Measure;
use crate::measure::direction::Direction;
use crate::number::{real, real_length};
use crate::ranking::Rules;
use crate::time::Millis;

/// Estimate of the quality of all traffic from labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelling {
    /// Estimated measures.
    pub measures: Vec<LabelMeasure>,
    /// Number of labels a day that the engine requests.
    pub per_day: f64,
    /// Time after a window in which its judgements count.
    pub deadline: Millis,
    /// Length of a window.
    pub window: Millis,
    /// Seed of the draws.
    pub seed: u64,
    /// Highest grade of the scale.
    pub scale_max: f64,
    /// Key of the signatures of requests.
    pub key: SigningKey,
}

/// Settings that determine how inputs change the state. Two engines with equal settings and equal
/// inputs have equal states.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Topics of the events.
    pub topics: Topics,
    /// Time after a search in which its conversions are counted, if it is longer than the feedback window.
    pub conversion_window: Option<Duration>,
    /// Measures computed for every search, in the order of exposition, without duplicates.
    pub measures: Vec<Measure>,
    /// Names of the labels that break every score down. A label is taken from the gold query, else
    /// from the search.
    pub slices: Vec<String>,
    /// Labels of a search that state the version of its variant, in order of precedence.
    pub version_labels: Vec<String>,
    /// Rules for judging results and for separating parts of a ranking.
    pub judging: Rules,
    /// Rolling windows, shortest first.
    pub windows: Vec<WindowSpec>,
    /// Rolling scores that are exposed.
    pub rolling: Rolling,
    /// Measures whose range over unjudged results is counted.
    pub ranges: Ranges,
    /// Maximum delay of a record behind the newest event time at which it is still in order.
    pub out_of_orderness: Duration,
    /// Time after a search during which feedback is joined with it.
    pub feedback_window: Duration,
    /// Idle time, by the wall clock, after which a topic that is read to its end no longer holds
    /// the watermark back.
    pub idle_timeout: Duration,
    /// Maximum time by which an event may be ahead of the wall time.
    pub max_future_skew: Duration,
    /// Memory of one worker for everything that grows with traffic, in bytes: pending and closed
    /// searches, waiting feedback, sessions, series and windows. Under pressure, closed searches
    /// are dropped and the oldest pending ones are finalised early.
    pub memory: usize,
    /// Limits on the records of one search and of one session.
    pub join_limits: JoinLimits,
    /// Upper bounds of the latency histogram buckets in seconds, ascending.
    pub latency_buckets: Vec<f64>,
    /// Prices of models, for events that do not state their cost.
    pub prices: PriceTable,
    /// Weights of a click at position 1, 2, …: 1 / propensity, clipped. The last weight applies to
    /// all later positions. Empty if propensities are not known.
    pub click_weights: Vec<f64>,
    /// Expected clicks at position 1, 2, …, from 0 to 1; none after the last.
    pub expected_clicks: Vec<f64>,
    /// Minimum number of searches behind a rolling value of a user measure.
    pub min_samples: u64,
    /// Regression detection.
    pub detection: Detection,
    /// Objectives of latency, errors, cost and traffic.
    pub objectives: Vec<Objective>,
    /// Declared experiments. If there are any, [`Experiment::SLICE`] is a slice.
    pub experiments: Vec<Experiment>,
    /// Estimate of quality from labels.
    pub labelling: Option<Labelling>,
    /// Maximum number of series that one metric family exposes. Further ones are counted under
    /// `__other__`.
    pub series_per_family: usize,
    /// Maximum number of distinct values of one label (variant, stage, model, …). Further ones
    /// become `__other__`.
    pub values_per_label: usize,
    /// Limits on single records.
    pub record_limits: Limits,
}

/// Settings of regression detection: the series monitored, and the thresholds of the evidence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detection {
    /// Measures monitored for regressions. If empty, detection is off.
    pub measures: Vec<MonitoredMeasure>,
    /// Slices monitored beside the whole, as indexes into the slices.
    pub slices: Vec<usize>,
    /// [Tests](Objective::tests) of the objectives: means of latency and cost, and shares of searches.
    pub means: Vec<MeanObjective>,
    /// Tolerated drop of the scores, from 0 to 1.
    pub tolerance: f64,
    /// Minimum tolerated drop in the warm-up of a series.
    pub warm_up_tolerance: f64,
    /// True if drops in some of the queries are looked for.
    pub local: bool,
    /// Mean length of a burst of dependent searches.
    pub burst: Burst,
    /// Probability of ever raising a false alarm on a target that is met.
    pub alpha: f64,
    /// Threshold of the log evidence (natural logarithm) for a missed target: ln(1/alpha). It is
    /// for the mean e-value of all workers of all replicas.
    pub target_threshold: f64,
    /// Number of workers in each replica; 0 counts as 1.
    pub workers: u64,
    /// Number of replicas; 0 counts as 1.
    pub replicas: u64,
    /// Threshold of the log evidence (natural logarithm) for a drop.
    pub drop_threshold: f64,
    /// Threshold of the log evidence (natural logarithm) that an experiment is not split as
    /// declared.
    pub split_threshold: f64,
}

/// Minimum threshold of the drop test with the local part: ln of ten days in minutes. Without evidence,
/// M of the local part is that of two days.
const MIN_LOCAL_THRESHOLD: f64 = 9.574_983_485_564_092;

impl Detection {
    /// Rules of the drop test of a series.
    pub fn series_rules(&self, watched: &MonitoredMeasure) -> SeriesRules {
        SeriesRules {
            threshold: self.drop_threshold,
            tolerance: self.tolerance,
            warm_up_tolerance: self.warm_up_tolerance,
            repeat_window: self.burst.repeat_window(),
            has_local: self.local && self.drop_threshold >= MIN_LOCAL_THRESHOLD,
            is_seasonal: watched.is_seasonal,
            alarmed: None,
        }
    }

    /// Threshold of the log evidence at which the searches of one replica alone raise an alarm
    /// about a missed target: ln(replicas/alpha).
    pub fn target_threshold_of_replica(&self) -> f64 {
        self.target_threshold + real(self.replicas.max(1)).ln()
    }

    /// Threshold of the log evidence at which the searches of one worker alone raise an alarm about
    /// a missed target: ln(R/alpha) for R workers over all replicas. Bounds use it too.
    pub fn target_threshold_of_worker(&self) -> f64 {
        self.target_threshold_of_replica() + real(self.workers.max(1)).ln()
    }
}

/// Monitored measure. Its scores are from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct MonitoredMeasure {
    /// Index among the measures.
    pub index: usize,
    /// Target of the mean, if any.
    pub target: Option<f64>,
    /// True if lower scores are better.
    pub is_lower_better: bool,
    /// True for a measure of user behaviour.
    pub is_user_measure: bool,
    /// True if the scores differ by the hour of the week.
    pub is_seasonal: bool,
}

/// Unit of an experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Assignment {
    /// User; the session if a search has no user id, and the search without both.
    #[default]
    User,
    /// Session; the search if it has no session id.
    Session,
}

impl Assignment {
    /// Names in the configuration.
    pub const NAMES: [(&'static str, Self); 2] = [("user", Self::User), ("session", Self::Session)];

    /// Name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Session => "session",
        }
    }
}

/// Experiment: users or sessions that are assigned to its arms at random.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Id, the `experiment.id` of its searches.
    pub id: String,
    /// Arm with which the others are compared.
    pub control: String,
    /// Unit that is assigned to an arm.
    pub assignment: Assignment,
    /// Declared share of the units of each arm; the shares sum to 1.
    pub split: Vec<(String, f64)>,
    /// Guardrail measures, as indexes into the measures: an arm in which one of them is worse than in
    /// the control raises an alarm.
    pub guardrails: Vec<usize>,
}

impl Experiment {
    /// Name of the slice whose values are the declared experiments.
    pub const SLICE: &str = "experiment";

    /// Threshold of the log evidence (natural logarithm) that an arm is worse: ln(m/alpha) for m pairs of a
    /// guardrail and an arm.
    pub fn threshold(&self, alpha: f64) -> f64 {
        let compared = self.split.len().saturating_sub(1).max(1);
        let pairs = self.guardrails.len().max(1).saturating_mul(compared);
        log_threshold(alpha) + real_length(pairs).ln()
    }
}

impl Settings {
    /// Name of the slice that contains all searches.
    pub const ALL_SEARCHES: &str = "all";

    /// Name of the slice of synthetic searches, whose only value is `true`.
    pub const SYNTHETIC: &str = "synthetic";

    /// Name of the stage that stands for the whole search.
    pub const WHOLE_SEARCH: &str = "all";

    /// Upper bounds in seconds of the buckets of the time to the first click.
    pub const FIRST_CLICK_BUCKETS: [f64; 12] = [
        0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0,
    ];

    /// Index of the measure by which rankings are judged first: the first monitored measure of
    /// rankings, else the first measure of rankings for which higher scores are better.
    pub fn primary_measure(&self) -> Option<usize> {
        let monitored = self.detection.measures.iter();
        let mut monitored = monitored.filter(|monitored| !monitored.is_user_measure);
        let mut upwards = self.measures.iter().enumerate().filter(|(_, measure)| {
            !measure.is_user_measure() && measure.descriptor().direction == Direction::Up
        });
        let first = monitored.next().map(|monitored| monitored.index);
        first.or_else(|| upwards.next().map(|(index, _)| index))
    }

    /// Returns true if any score, or its upper bound, depends on the highest grade of the scale.
    pub fn depends_on_scale(&self) -> bool {
        self.measures.iter().any(Measure::depends_on_scale)
    }

    /// Monitored measure of this canonical name.
    pub(super) fn monitored(&self, name: &str) -> Option<&MonitoredMeasure> {
        let mut monitored = self.detection.measures.iter();
        monitored.find(|it| {
            let measure = self.measures.get(it.index);
            measure.is_some_and(|measure| measure.to_string() == name)
        })
    }

    /// Slices of the configuration: without those of experiments and of synthetic searches.
    pub fn shown_slices(&self) -> impl Iterator<Item = &String> {
        let slices = self.slices.iter();
        slices.filter(|slice| ![Experiment::SLICE, Self::SYNTHETIC].contains(&slice.as_str()))
    }

    /// Returns true if the range of a measure over unjudged results is counted and exposed.
    pub fn has_range(&self, measure: usize) -> bool {
        let is_selected = match self.ranges {
            Ranges::All => true,
            Ranges::Watched => {
                let mut monitored = self.detection.measures.iter();
                self.primary_measure() == Some(measure)
                    || monitored.any(|monitored| monitored.index == measure)
            }
            Ranges::None => false,
        };
        is_selected && self.rolling != Rolling::None && self.measures[measure].has_range()
    }

    /// Returns the id of the declared experiment of a search. A synthetic search has none, because
    /// no user was assigned to an arm.
    pub fn experiment_of(&self, search: &Search<'_>) -> Option<&str> {
        if search.is_synthetic() {
            return None;
        }
        let id = search.experiment.as_ref()?.id.as_deref()?;
        let mut declared = self.experiments.iter();
        declared.find(|it| it.id == id).map(|it| it.id.as_str())
    }
}

/// Rolling window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowSpec {
    /// Label value, as written in the configuration: `1m`, `24h`.
    pub name: String,
    /// Length of the window, at least one second.
    pub length: Duration,
}

/// Rolling scores that are exposed. Counters give the same means over any range, so that rolling
/// scores are for readers without a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rolling {
    /// Of all searches and of every slice.
    All,
    /// Of all searches.
    #[default]
    Whole,
    /// No rolling scores: neither of all searches nor of a slice.
    None,
}

/// Measures whose range over unjudged results is counted. Each of them is scored a second time for a
/// search with unjudged results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ranges {
    /// All that have one.
    All,
    /// The monitored ones, and the primary one.
    #[default]
    Watched,
    /// No measure.
    None,
}

/// Maximum numbers of records that a join keeps one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinLimits {
    /// Feedback records of one search. Further ones are counted, and have no other effect.
    pub feedback_per_search: usize,
    /// Searches of one session. Further ones are treated as searches without a session.
    pub searches_per_session: usize,
    /// User interactions of one session. Further ones do not end a dwell time.
    pub interactions_per_session: usize,
}
