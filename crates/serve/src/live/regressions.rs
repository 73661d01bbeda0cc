//! Detected regressions: logged once, and kept for the demo and the times of missed targets.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use tracing::warn;

use rankgauge_core::detection::{DropClass, DropExtent, Part};
use rankgauge_core::engine::evidence::{Alarm, RegressedQuery};
use rankgauge_core::engine::read_model::ReadModel;
use rankgauge_core::engine::registry::{OTHER, Registry};
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::time::WallTime;

/// Maximum number of kept regressions.
const MAX_REGRESSIONS: usize = 100;

/// Detected regression with the labels of its series.
#[derive(Clone, Debug, PartialEq)]
pub struct Regression {
    /// Time of the alarm.
    pub at: WallTime,
    /// Name of the test: `target` or `drop`.
    pub test: &'static str,
    /// Name of the measure.
    pub measure: String,
    /// Name of the variant.
    pub variant: String,
    /// Name of the slice; `all` for all searches.
    pub slice: String,
    /// Value of the slice.
    pub value: String,
    /// Regression evidence (log e-value): the natural logarithm of the evidence.
    pub log_evidence: f64,
    /// Threshold of `log_evidence`.
    pub threshold: f64,
    /// Baseline mean, or target of the measure.
    pub expected: f64,
    /// Moving mean of the last searches.
    pub recent: f64,
    /// Queries with the largest regressions, at most five.
    pub queries: Vec<RegressedQuery>,
    /// Size, start and number of searches of a drop.
    pub drop: Option<DropSize>,
    /// Part of the queries that dropped: `all`, or `some`, which `queries` names. Absent for a missed
    /// target.
    pub part: Option<&'static str>,
    /// Cause of the drop, at the alarm and as decided since: `worse`, the upper bound over unjudged results fell as well;
    /// `more_unjudged`, only the share of judged results fell; `undecided`. Absent for a missed target.
    pub class: Option<&'static str>,
}

/// Size and start of a drop.
#[derive(Clone, Debug, PartialEq)]
pub struct DropSize {
    /// Mean loss of a search against its baseline.
    pub estimate: f64,
    /// Lower bound of the loss.
    pub lower: f64,
    /// Upper bound of the loss.
    pub upper: f64,
    /// Estimated start in event time.
    pub since: String,
    /// Number of compared searches since then.
    pub searches: u64,
}

impl From<DropExtent> for DropSize {
    fn from(extent: DropExtent) -> Self {
        let start = Timestamp::from_second(extent.since.saturating_mul(60));
        Self {
            estimate: extent.estimate,
            lower: extent.lower,
            upper: extent.upper,
            since: start.map(|start| start.to_string()).unwrap_or_default(),
            searches: extent.searches,
        }
    }
}

impl Regression {
    fn of(alarm: Alarm, settings: &Settings, registry: &Registry, at: WallTime) -> Self {
        let nothing = Snapshot::default();
        let model = ReadModel::new(&nothing, settings, registry);
        let series = model.names(alarm.series);
        let name = |name: Option<&str>| name.unwrap_or(OTHER).to_owned();
        let measure = model.measures().get(alarm.measure);
        Self {
            at,
            test: alarm.test.name(),
            measure: measure.cloned().unwrap_or_default(),
            variant: name(series.map(|it| it.variant)),
            slice: name(series.map(|it| it.slice)),
            value: name(series.map(|it| it.value)),
            log_evidence: alarm.log_evidence,
            threshold: alarm.threshold,
            expected: alarm.expected,
            recent: alarm.recent,
            queries: alarm.worst_regressions,
            drop: alarm.drop.map(DropSize::from),
            part: alarm.part.map(Part::name),
            class: alarm.class.map(DropClass::name),
        }
    }

    /// Returns the worst queries with their baseline and recent means, for the log.
    fn worst_queries(&self) -> String {
        let queries = self.queries.iter().map(|it| {
            let (query, baseline, recent) = (&it.query, it.baseline, it.recent);
            format!("{query:?} {baseline:.3} -> {recent:.3}")
        });
        queries.collect::<Vec<_>>().join(", ")
    }
}

/// Last detected regressions, oldest first.
#[derive(Debug, Default)]
pub struct Regressions(Mutex<VecDeque<Regression>>);

impl Regressions {
    /// Last detected regressions, newest first.
    pub fn latest(&self) -> Vec<Regression> {
        let latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        latest.iter().rev().cloned().collect()
    }

    /// Logs and keeps the alarms of the engine of a worker.
    pub fn report(
        &self,
        alarms: Vec<Alarm>,
        settings: &Settings,
        registry: &Registry,
        at: WallTime,
    ) {
        for alarm in alarms {
            let regression = Regression::of(alarm, settings, registry, at);
            warn!(
                test = regression.test,
                measure = regression.measure,
                variant = regression.variant,
                slice = regression.slice,
                value = regression.value,
                recent = regression.recent,
                expected = regression.expected,
                log_evidence = regression.log_evidence,
                threshold = regression.threshold,
                since = regression.drop.as_ref().map(|drop| drop.since.as_str()),
                loss = regression.drop.as_ref().map(|drop| drop.estimate),
                loss_lower = regression.drop.as_ref().map(|drop| drop.lower),
                loss_upper = regression.drop.as_ref().map(|drop| drop.upper),
                searches = regression.drop.as_ref().map(|drop| drop.searches),
                part = regression.part,
                class = regression.class,
                queries = %regression.worst_queries(),
                "regression detected"
            );
            let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if latest.len() >= MAX_REGRESSIONS {
                latest.pop_front();
            }
            latest.push_back(regression);
        }
    }
}
