//! Systems side by side: every variant with its scores against targets, baseline and control.
//!
//! The numbers are samples of `/metrics`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::experiments::name_of;
use super::parameters::Parameters;
use super::problem::ApiError;
use super::status;
use crate::collect::{ALL_SEARCHES, LabelPair};
use crate::history::{History, SAMPLE_INTERVAL, Series};
use crate::http::Exposition;
use crate::samples::Samples;
use crate::target::Target;
use rankgauge_core::engine::evidence::Test;
use rankgauge_core::engine::family;
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::time::EventTime;

pub(crate) const PARAMETERS: [&str; 3] = ["window", "variant", "measure"];

/// Systems side by side.
#[derive(Debug, Serialize)]
#[allow(
    clippy::struct_field_names,
    reason = "the member of the response is named `systems`"
)]
pub(crate) struct Systems {
    /// End of the window; null before the first watermark.
    pub(crate) watermark: Option<String>,
    /// Rolling window of the means.
    pub(crate) window: String,
    /// All configured windows, shortest first.
    pub(crate) windows: Vec<String>,
    /// Control of the first experiment; null without experiments.
    pub(crate) control: Option<String>,
    /// Measures in the order of the configuration.
    pub(crate) measures: Vec<MeasureInfo>,
    pub(crate) systems: Vec<System>,
    pub(crate) history: HistoryTimes,
}

/// Facts about a measure.
#[derive(Debug, Serialize)]
pub(crate) struct MeasureInfo {
    pub(crate) measure: String,
    /// Direction in which scores improve: `up`, `down` or `neither`.
    pub(crate) direction: &'static str,
    /// True if the measure is about user behaviour.
    pub(crate) is_user_measure: bool,
    /// True for the measure by which rankings are judged first.
    pub(crate) is_primary: bool,
    /// True if the measure is monitored for regressions.
    pub(crate) is_monitored: bool,
    /// Targets of the mean, highest first.
    pub(crate) targets: Vec<TargetInfo>,
}

/// Target of a mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct TargetInfo {
    pub(crate) tier: String,
    pub(crate) value: f64,
}

/// Times of the points of the score history.
#[derive(Debug, Serialize)]
pub(crate) struct HistoryTimes {
    /// Window of the means in the history.
    pub(crate) window: Option<String>,
    pub(crate) interval_seconds: u64,
    /// Times of the points, oldest first.
    pub(crate) times: Vec<String>,
    #[serde(skip)]
    pub(crate) at: Vec<EventTime>,
}

/// One variant.
#[derive(Debug, Serialize)]
pub(crate) struct System {
    pub(crate) variant: String,
    pub(crate) is_control: bool,
    /// Searches since the start.
    pub(crate) searches: u64,
    pub(crate) searches_per_second: Option<f64>,
    /// Share of the searches in the window whose query is in the gold set.
    pub(crate) gold_coverage: Option<f64>,
    /// Searches that reported an error, since the start.
    pub(crate) errors: u64,
    /// Latency quantiles in seconds in the window, by stage and quantile.
    pub(crate) latency_seconds: BTreeMap<String, BTreeMap<String, f64>>,
    /// Mean cost of a search in the window, by currency.
    pub(crate) cost_per_query: BTreeMap<String, f64>,
    /// User actions since the start, by type.
    pub(crate) feedback: BTreeMap<String, u64>,
    /// Scores in the order of the measures. Measures without a value are omitted.
    pub(crate) scores: Vec<SystemScore>,
}

/// Scores of one variant and measure over all searches.
#[derive(Debug, Serialize)]
pub(crate) struct SystemScore {
    pub(crate) measure: String,
    /// Mean in the window; null for an empty window.
    pub(crate) mean: Option<f64>,
    /// Highest tier whose target the mean reaches; null without such a tier.
    pub(crate) tier: Option<String>,
    /// True if the measure has targets and the mean reaches none.
    pub(crate) is_below_targets: bool,
    /// Baseline mean; null until a search was compared with the baseline of its query.
    pub(crate) baseline: Option<f64>,
    /// Searches in the baseline; null for a measure that is not monitored.
    pub(crate) baseline_searches: Option<u64>,
    /// Confidence bounds of the mean of all searches since the last deployment.
    pub(crate) bounds: Option<Interval>,
    /// Mean minus the mean of the control since the start, with its confidence interval.
    pub(crate) difference: Option<Difference>,
    /// Tests with an active alarm: `drop`, `target`.
    pub(crate) alarms: Vec<String>,
    /// Means at the times of the history.
    pub(crate) history: Vec<Option<f64>>,
}

/// Confidence bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Interval {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// Difference from the control with its anytime-valid confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    pub(crate) estimate: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// Families from which the response is computed.
const FAMILIES: [&family::Family; 15] = [
    &family::SCORE,
    &family::SEARCHES,
    &family::SEARCHES_PER_SECOND,
    &family::GOLD_COVERAGE,
    &family::SEARCH_ERRORS,
    &family::SEARCH_LATENCY_QUANTILE,
    &family::COST_PER_QUERY_MEAN,
    &family::FEEDBACK,
    &family::BASELINE_SCORE,
    &family::BASELINE_SEARCHES,
    &family::SCORE_BOUND,
    &family::EXPERIMENT_DIFFERENCE,
    &family::REGRESSION,
    &family::SCORE_COUNT,
    &family::EXPERIMENT_CONTROL,
];

/// Returns the systems that the parameters select.
pub(crate) fn of(
    exposition: &Exposition,
    history: &History,
    targets: &[Target],
    params: &Parameters,
) -> Result<Systems, ApiError> {
    let settings = &exposition.names.settings;
    let windows: Vec<String> = settings.windows.iter().map(|it| it.name.clone()).collect();
    let window = match params.single("window")? {
        None => windows.first().cloned().unwrap_or_default(),
        Some(window) if windows.iter().any(|known| known == window) => window.to_owned(),
        Some(window) => {
            return Err(ApiError::bad_request(format!(
                "\"{window}\" is not a configured window: use one of {}",
                windows.join(", ")
            )));
        }
    };
    let wanted: Vec<String> = params
        .values("measure")
        .map(|text| super::measures::configured(text, settings))
        .collect::<Result<_, _>>()?;
    let is_wanted = |measure: &str| wanted.is_empty() || wanted.iter().any(|it| it == measure);
    let is_selected = |family: &str, labels: &[LabelPair<'_>]| {
        FAMILIES.iter().any(|known| known.name == family)
            && labels.iter().all(|(name, value)| match *name {
                "slice" => *value == ALL_SEARCHES,
                "window" => *value == window,
                "measure" => is_wanted(value),
                _ => true,
            })
    };
    let snapshot = exposition.published.merged();
    let samples = exposition.samples(&snapshot, &is_selected);
    let experiments = &settings.experiments;
    let control = experiments.first().map(|first| first.control.clone());
    let measures = measures(exposition, targets, is_wanted);
    let variants: Vec<&str> = samples
        .all(&family::SEARCHES, &[])
        .map(|sample| sample.label("variant"))
        .filter(|variant| params.matches("variant", variant))
        .collect();
    let (times, series) =
        history.series(|measure, variant| is_wanted(measure) && params.matches("variant", variant));
    let view = View {
        samples: &samples,
        window: &window,
        measures: &measures,
        control: control.as_deref(),
        series: &series,
        experiment: experiments.first().map(|first| first.id.as_str()),
    };
    let mut systems: Vec<System> = variants.into_iter().map(|it| view.system(it)).collect();
    systems.sort_by(|a, b| a.variant.cmp(&b.variant));
    let watermark = snapshot.progress.and_then(|progress| progress.watermark);
    Ok(Systems {
        watermark: watermark.map(status::time),
        history: HistoryTimes {
            window: windows.first().cloned(),
            interval_seconds: SAMPLE_INTERVAL.as_secs(),
            at: times.iter().map(|at| at.as_event_time()).collect(),
            times: times
                .into_iter()
                .map(|at| status::time(at.as_event_time()))
                .collect(),
        },
        window,
        windows,
        control,
        systems,
        measures,
    })
}

fn measures(
    exposition: &Exposition,
    targets: &[Target],
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<MeasureInfo> {
    let settings = &exposition.names.settings;
    let monitored = |index| {
        let mut monitored = settings.detection.measures.iter();
        monitored.any(|monitored| monitored.index == index)
    };
    let measures = settings.measures.iter().enumerate();
    measures
        .map(|(index, measure)| {
            let direction = measure.descriptor().direction;
            let of_measure = targets.iter().filter(|target| target.measure == *measure);
            let mut targets: Vec<TargetInfo> = of_measure
                .map(|target| TargetInfo {
                    tier: target.tier.clone(),
                    value: target.value,
                })
                .collect();
            targets.sort_by(|a, b| match direction {
                Direction::Down => a.value.total_cmp(&b.value),
                Direction::Up | Direction::Neither => b.value.total_cmp(&a.value),
            });
            MeasureInfo {
                measure: measure.to_string(),
                direction: name_of(direction),
                is_user_measure: measure.is_user_measure(),
                is_primary: settings.primary_measure() == Some(index),
                is_monitored: monitored(index),
                targets,
            }
        })
        .filter(|info| is_wanted(&info.measure))
        .collect()
}

struct View<'a> {
    samples: &'a Samples<'a>,
    window: &'a str,
    measures: &'a [MeasureInfo],
    control: Option<&'a str>,
    experiment: Option<&'a str>,
    series: &'a [Series],
}

impl View<'_> {
    fn system(&self, variant: &str) -> System {
        let of_variant = [("variant", variant)];
        let in_window = [("variant", variant), ("window", self.window)];
        let samples = self.samples;
        let mut latency: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
        for sample in samples.all(&family::SEARCH_LATENCY_QUANTILE, &in_window) {
            let of_stage = latency.entry(sample.label("stage").to_owned()).or_default();
            of_stage.insert(sample.label("quantile").to_owned(), sample.value);
        }
        let costs = samples.all(&family::COST_PER_QUERY_MEAN, &in_window);
        let feedback = samples.all(&family::FEEDBACK, &of_variant);
        let errors = samples.all(&family::SEARCH_ERRORS, &of_variant);
        let searches = samples.value(&family::SEARCHES, &of_variant);
        System {
            variant: variant.to_owned(),
            is_control: self.control == Some(variant),
            searches: searches.map_or(0, whole),
            searches_per_second: samples.value(&family::SEARCHES_PER_SECOND, &in_window),
            gold_coverage: samples.value(&family::GOLD_COVERAGE, &in_window),
            errors: whole(errors.map(|sample| sample.value).sum()),
            latency_seconds: latency,
            cost_per_query: costs
                .map(|sample| (sample.label("currency").to_owned(), sample.value))
                .collect(),
            feedback: feedback
                .map(|sample| (sample.label("type").to_owned(), whole(sample.value)))
                .collect(),
            scores: self
                .measures
                .iter()
                .filter_map(|measure| self.score(variant, measure))
                .collect(),
        }
    }

    /// Scores of a variant; `None` without any score since the start.
    fn score(&self, variant: &str, info: &MeasureInfo) -> Option<SystemScore> {
        let labels = [("measure", info.measure.as_str()), ("variant", variant)];
        let samples = self.samples;
        samples.value(&family::SCORE_COUNT, &labels)?;
        let mean = samples.value(&family::SCORE, &labels);
        let reached = |target: &&TargetInfo| {
            mean.is_some_and(|mean| match info.direction {
                "down" => mean <= target.value,
                _ => mean >= target.value,
            })
        };
        let tier = info.targets.iter().find(reached);
        let bound = |bound| {
            let [measure, variant] = labels;
            let labels = [measure, variant, ("bound", bound)];
            samples.value(&family::SCORE_BOUND, &labels)
        };
        let difference = |bound| {
            let [measure, variant] = labels;
            let labels = [
                ("experiment", self.experiment?),
                measure,
                variant,
                ("bound", bound),
            ];
            samples.value(&family::EXPERIMENT_DIFFERENCE, &labels)
        };
        let tests = || samples.all(&family::REGRESSION, &labels);
        let alarms = tests().filter(|sample| sample.value > 0.0);
        // A drop is tested from the first search that was compared with its baseline.
        let is_learned = tests().any(|sample| sample.label("test") == Test::Drop.name());
        let baseline = samples.value(&family::BASELINE_SCORE, &labels);
        let mut series = self.series.iter();
        let series = series.find(|it| it.measure == info.measure && it.variant == variant);
        Some(SystemScore {
            measure: info.measure.clone(),
            mean,
            is_below_targets: mean.is_some() && !info.targets.is_empty() && tier.is_none(),
            tier: tier.map(|target| target.tier.clone()),
            baseline: baseline.filter(|_| is_learned),
            baseline_searches: samples
                .value(&family::BASELINE_SEARCHES, &labels)
                .map(whole),
            bounds: bound("lower").zip(bound("upper")).map(interval),
            difference: interval_of(&difference),
            alarms: alarms
                .map(|sample| sample.label("test").to_owned())
                .collect(),
            history: series.map(|it| it.means.clone()).unwrap_or_default(),
        })
    }
}

fn interval((lower, upper): (f64, f64)) -> Interval {
    Interval { lower, upper }
}

/// Difference whose bounds `value_of` returns by name.
pub(super) fn interval_of(value_of: &impl Fn(&'static str) -> Option<f64>) -> Option<Difference> {
    Some(Difference {
        estimate: value_of("estimate")?,
        lower: value_of("lower")?,
        upper: value_of("upper")?,
    })
}

/// Converts the value of a counter that counts in whole numbers.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value of a counter is not negative, and exact up to 2^53"
)]
pub(super) fn whole(value: f64) -> u64 {
    value as u64
}
