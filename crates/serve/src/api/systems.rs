//! Systems side by side: every variant with its scores against targets, baseline and control.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::missed_targets::{self, MissedTarget};
use super::parameters::{Parameter, Parameters, VARIANT, Values};
use super::problem::ApiError;
use super::timestamp::Timestamp;
use crate::history::{History, Series, Span};
use crate::http::Exposition;
use crate::target::Target;
use rankgauge_core::detection::Baselines;
use rankgauge_core::engine::evidence::Test;
use rankgauge_core::engine::family::Quantile;
use rankgauge_core::engine::read_model::{
    ArmReading, MeasuredDifference, ReadModel, ScoreSeries, WatchedSeries,
};
use rankgauge_core::engine::settings::{Experiment, Settings};
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::time::EventTime;

pub(crate) const PARAMETERS: [Parameter; 4] = [
    Parameter::text("window", "Rolling window; the shortest one without it."),
    VARIANT,
    Parameter::filter("measure", "Measure as written in the configuration."),
    HISTORY,
];

/// Length of the history.
pub(crate) const HISTORY: Parameter = Parameter {
    name: "history",
    values: Values::Word {
        words: &Span::NAMES,
        default: Some(Span::NAMES[0]),
    },
    help: "Length of the history.",
};

/// Systems side by side.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(
    clippy::struct_field_names,
    reason = "the member of the response is named `systems`"
)]
pub(crate) struct Systems {
    /// End of the window; null before the first watermark.
    pub(crate) watermark: Option<Timestamp>,
    /// Rolling window of the means.
    pub(crate) window: String,
    /// All configured windows, shortest first.
    pub(crate) windows: Vec<String>,
    /// Control of the first experiment; null without experiments.
    pub(crate) control: Option<String>,
    /// Measures in the order of the configuration.
    pub(crate) measures: Vec<MeasureInfo>,
    pub(crate) systems: Vec<System>,
    /// Means that miss their targets, also those of slices: of all searches first, then by evidence.
    pub(crate) missed_targets: Vec<MissedTarget>,
    pub(crate) history: HistoryTimes,
}

impl Systems {
    /// Returns true if a variant is one of the systems.
    pub(crate) fn has(&self, variant: &str) -> bool {
        self.systems.iter().any(|it| it.variant == variant)
    }
}

/// Facts about a measure.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent properties, each a member of the JSON"
)]
pub(crate) struct MeasureInfo {
    /// Position in the settings.
    #[serde(skip)]
    index: usize,
    pub(crate) measure: String,
    /// Direction in which scores improve: `up`, `down` or `neither`.
    #[schemars(with = "String", extend("enum" = ["up", "down", "neither"]))]
    pub(crate) direction: Direction,
    /// True if the measure is about user behaviour.
    pub(crate) is_user_measure: bool,
    /// True for the measure by which rankings are judged first.
    pub(crate) is_primary: bool,
    /// True if the measure is monitored for regressions.
    pub(crate) is_monitored: bool,
    /// True if the drop test expects the mean of the same hour of earlier weeks.
    pub(crate) is_seasonal: bool,
    /// Targets of the mean, that which is hardest to reach first.
    pub(crate) targets: Vec<TargetInfo>,
}

/// Target of a mean.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Target")]
pub(crate) struct TargetInfo {
    pub(crate) tier: String,
    pub(crate) value: f64,
}

/// Times of the points of the score history.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HistoryTimes {
    /// Length: 10m, 1h, 1d or 1w.
    pub(crate) span: &'static str,
    /// Window of the means in the history of ten minutes; null for a longer one, whose means are those of
    /// the searches since the point before.
    pub(crate) window: Option<String>,
    pub(crate) interval_seconds: u64,
    /// Times of the points, oldest first.
    pub(crate) times: Vec<Timestamp>,
}

/// One variant.
#[derive(Debug, Default, Serialize, JsonSchema)]
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
    #[schemars(with = "BTreeMap<String, BTreeMap<String, f64>>")]
    pub(crate) latency_seconds: BTreeMap<String, BTreeMap<Quantile, f64>>,
    /// Mean cost of a search in the window, by currency.
    pub(crate) cost_per_query: BTreeMap<String, f64>,
    /// User actions since the start, by type.
    pub(crate) feedback: BTreeMap<String, u64>,
    /// Scores in the order of the measures. Measures without a value are omitted.
    pub(crate) scores: Vec<SystemScore>,
}

/// Scores of one variant and measure over all searches.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct SystemScore {
    pub(crate) measure: String,
    /// Mean in the window; null for an empty window.
    pub(crate) mean: Option<f64>,
    /// Range of the mean over the grades of unjudged results; null for a measure without such a range.
    pub(crate) range: Option<Interval>,
    /// Highest tier whose target the mean reaches; null without such a tier.
    pub(crate) tier: Option<String>,
    /// True if the measure has targets and the mean reaches none.
    pub(crate) is_below_targets: bool,
    /// Baseline mean; null until a search was compared with the baseline of its query.
    pub(crate) baseline: Option<f64>,
    /// Searches in the baseline; null for a measure that is not monitored.
    pub(crate) baseline_searches: Option<u64>,
    /// Drop that is not reported: the configured one, that of the warm-up, or five times the learned
    /// variation of hours. Null before the first comparison.
    pub(crate) tolerance: Option<f64>,
    /// End of the warm-up of the drop test in event time; null before the first comparison and after
    /// the warm-up.
    pub(crate) warm_up_until: Option<Timestamp>,
    /// Confidence bounds of the mean of all searches since the last deployment.
    pub(crate) bounds: Option<Interval>,
    /// Mean minus the mean of the control since the start, with its confidence interval.
    pub(crate) difference: Option<Difference>,
    /// Drop of an open incident with this measure over all searches; null without one.
    pub(crate) drop: Option<SystemDrop>,
    /// Tests with an active alarm: `drop`, `target`.
    #[schemars(extend("items" = { "type": "string", "enum": ["drop", "target"] }))]
    pub(crate) alarms: Vec<String>,
    /// Means at the times of the history; an hour and more only of watched measures.
    pub(crate) history: Vec<Option<f64>>,
}

/// Size of the drop of an open incident: the same means as in `/api/v1/incidents`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SystemDrop {
    /// Id of the incident.
    pub(crate) incident: String,
    /// Mean before the beginning.
    pub(crate) before: f64,
    /// Mean of the current searches, with the mix of queries from before.
    pub(crate) now: f64,
}

/// Confidence bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Interval {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// Difference from the control with its anytime-valid confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Difference {
    pub(crate) estimate: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl Difference {
    /// Returns true if the interval shows a difference: it excludes 0.
    pub(crate) fn is_shown(&self) -> bool {
        self.lower > 0.0 || self.upper < 0.0
    }
}

impl From<MeasuredDifference> for Difference {
    fn from(found: MeasuredDifference) -> Self {
        let [lower, upper] = found.interval;
        Self {
            estimate: found.estimate,
            lower,
            upper,
        }
    }
}

impl From<[f64; 2]> for Interval {
    fn from([lower, upper]: [f64; 2]) -> Self {
        Self { lower, upper }
    }
}

/// Returns the systems that the parameters select.
pub(crate) fn of(
    exposition: &Exposition,
    history: &History,
    targets: &[Target],
    params: &Parameters,
) -> Result<Systems, ApiError> {
    let settings = &exposition.names.settings;
    let windows: Vec<String> = settings.windows.iter().map(|it| it.name.clone()).collect();
    let window = params.single("window");
    let window = window.map_or(Ok(0), |name| super::measures::window(name, settings))?;
    let wanted: Vec<String> = params
        .values("measure")
        .map(|text| {
            let index = super::measures::configured(text, settings);
            index.map(|index| settings.measures[index].to_string())
        })
        .collect::<Result<_, _>>()?;
    let is_wanted = |measure: &str| wanted.is_empty() || wanted.iter().any(|it| it == measure);
    let snapshot = exposition.published.merged();
    let model = exposition.names.read(&snapshot);
    let experiment = settings.experiments.first();
    let measures = measures(exposition, targets, is_wanted);
    let span = Span::named(params.word("history"));
    let (times, series) = history.series(span, |measure, variant| {
        is_wanted(measure) && params.matches("variant", variant)
    });
    let view = View {
        arms: experiment.map_or_else(Vec::new, |it| model.arms(it)),
        model: &model,
        window,
        measures: &measures,
        experiment,
        series: &series,
    };
    let variants = model.variants();
    let variants = variants.filter(|it| params.matches("variant", it.variant));
    let mut systems: Vec<System> = variants.map(|it| view.system(&it)).collect();
    systems.extend(view.systems_of_others());
    systems.sort_by(|a, b| a.variant.cmp(&b.variant));
    let mut missed_targets = missed_targets::all(exposition, &model);
    missed_targets.retain(|it| is_wanted(&it.measure) && params.matches("variant", &it.variant));
    Ok(Systems {
        watermark: model.watermark().map(Timestamp),
        history: HistoryTimes {
            span: span.name(),
            window: windows.first().cloned().filter(|_| span == Span::Minutes),
            interval_seconds: span.interval().as_secs(),
            times: times
                .into_iter()
                .map(|at| Timestamp(at.as_event_time()))
                .collect(),
        },
        window: windows.get(window).cloned().unwrap_or_default(),
        windows,
        control: experiment.map(|it| it.control.clone()),
        missed_targets,
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
        monitored.find(|monitored| monitored.index == index)
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
            let strictness = |it: &TargetInfo| direction.strictness(it.value);
            targets.sort_by(|a, b| strictness(b).total_cmp(&strictness(a)));
            MeasureInfo {
                index,
                measure: measure.to_string(),
                direction,
                is_user_measure: measure.is_user_measure(),
                is_primary: settings.primary_measure() == Some(index),
                is_monitored: monitored(index).is_some(),
                is_seasonal: monitored(index).is_some_and(|it| it.is_seasonal),
                targets,
            }
        })
        .filter(|info| is_wanted(&info.measure))
        .collect()
}

struct View<'a> {
    model: &'a ReadModel<'a>,
    /// Position of the window.
    window: usize,
    measures: &'a [MeasureInfo],
    /// First experiment, and its arms.
    experiment: Option<&'a Experiment>,
    arms: Vec<ArmReading<'a>>,
    series: &'a [Series],
}

impl View<'_> {
    fn system(&self, of: &ScoreSeries<'_>) -> System {
        let (model, window) = (self.model, self.window);
        let mut latency: BTreeMap<String, BTreeMap<Quantile, f64>> = BTreeMap::new();
        for it in model.latencies(window).filter(|it| it.variant == of.label) {
            for quantile in Quantile::ALL {
                if let Some(seconds) = it.seconds(quantile.share()) {
                    let of_stage = latency.entry(it.stage.to_owned()).or_default();
                    of_stage.insert(quantile, seconds);
                }
            }
        }
        let costs = model.costs(window).filter(|it| it.variant == of.label);
        let feedback = model.feedback(of.label);
        let measures = self.measures.iter();
        System {
            variant: of.variant.to_owned(),
            is_control: self.experiment.is_some_and(|it| it.control == of.variant),
            searches: model.searches(of.series),
            searches_per_second: model.searches_per_second(of.series, window),
            gold_coverage: model.gold_coverage(of.series, window),
            errors: model.errors(of.label),
            latency_seconds: latency,
            cost_per_query: costs
                .filter_map(|it| Some((it.currency.to_owned(), it.cost.mean()?)))
                .collect(),
            feedback: feedback
                .map(|(action, count)| (action.to_owned(), count))
                .collect(),
            scores: measures.filter_map(|it| self.score(of, it)).collect(),
        }
    }

    /// Variants of which this process has counted no search, with the history of the other replicas.
    fn systems_of_others(&self) -> Vec<System> {
        let counted: BTreeSet<&str> = self.model.variants().map(|it| it.variant).collect();
        let variants: BTreeSet<&str> = self.series.iter().map(|it| &*it.variant).collect();
        let others = variants.difference(&counted).map(|variant| System {
            variant: (*variant).to_owned(),
            is_control: self.experiment.is_some_and(|it| it.control == **variant),
            scores: (self.measures.iter())
                .filter_map(|it| self.history(variant, it))
                .collect(),
            ..System::default()
        });
        others.collect()
    }

    /// Score without a search of this process, with the history of the other replicas; `None` without one.
    fn history(&self, variant: &str, info: &MeasureInfo) -> Option<SystemScore> {
        let mut series = self.series.iter();
        let found = series.find(|it| it.measure == info.measure && it.variant == variant)?;
        Some(SystemScore {
            measure: info.measure.clone(),
            history: found.means.clone(),
            ..SystemScore::default()
        })
    }

    /// Drop of a measure over all searches, if an open incident has it.
    fn drop_of(&self, variant: &str, measure: &str) -> Option<SystemDrop> {
        let mut incidents = self.model.snapshot().totals.evidence.incidents();
        incidents.find_map(|it| {
            let is_meant = it.ended.is_none() && *it.variant == *variant;
            let mut measures = it.measures.iter().filter(|_| is_meant);
            let of = measures.find(|of| of.name() == (measure, Settings::ALL_SEARCHES, ""))?;
            Some(SystemDrop {
                incident: it.name(),
                before: of.before()?.mean,
                now: of.level_of(it.loss_now(of)?)?.mean,
            })
        })
    }

    /// Scores of a variant; `None` without any score since the start, and without a history.
    fn score(&self, of: &ScoreSeries<'_>, info: &MeasureInfo) -> Option<SystemScore> {
        let (model, measure) = (self.model, info.index);
        let history = self.history(of.variant, info);
        if model.tally(measure, of.series).is_none() {
            return history;
        }
        let mean = model.mean(measure, of.series, self.window);
        let reached = |target: &&TargetInfo| {
            mean.is_some_and(|mean| info.direction.reaches(mean, target.value))
        };
        let tier = info.targets.iter().find(reached);
        let arm = self.arms.iter().find(|arm| arm.variant == of.variant);
        let difference = arm.zip(self.experiment);
        let difference = difference.and_then(|(arm, of)| model.difference(measure, arm, of));
        let watched = model.watched_series(measure, of.series);
        let alarms = watched.iter().flat_map(WatchedSeries::alarms);
        let baseline = model.baseline(measure, of.label);
        // A drop is tested from the first search that was compared with its baseline.
        let evidence = watched.as_ref().map(|it| it.log_evidence);
        let is_learned = evidence.is_some_and(|it| it[Test::Drop as usize].is_some());
        Some(SystemScore {
            measure: info.measure.clone(),
            mean,
            range: model
                .range(measure, of.series, self.window)
                .map(|[lower, upper]| Interval { lower, upper }),
            is_below_targets: mean.is_some() && !info.targets.is_empty() && tier.is_none(),
            tier: tier.map(|target| target.tier.clone()),
            baseline: baseline.filter(|_| is_learned).and_then(Baselines::mean),
            baseline_searches: baseline.map(Baselines::scores),
            tolerance: watched.as_ref().and_then(|it| it.tolerance),
            warm_up_until: watched
                .as_ref()
                .filter(|it| it.is_warm_up)
                .and_then(|it| it.warm_up_until)
                .map(|minute| Timestamp(EventTime(minute.saturating_mul(60_000)))),
            drop: self.drop_of(of.variant, &info.measure),
            alarms: alarms.map(|test| test.name().to_owned()).collect(),
            bounds: watched
                .as_ref()
                .and_then(|it| it.bounds)
                .map(Interval::from),
            difference: difference.map(Difference::from),
            history: history.map(|it| it.history).unwrap_or_default(),
        })
    }
}
