//! Detected regressions: logged once, and kept for the API.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
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
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Regression {
    /// Time of the alarm.
    #[serde(skip)]
    pub at: WallTime,
    /// Name of the test: `target` or `drop`.
    #[schemars(extend("enum" = ["drop", "target"]))]
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
    #[schemars(with = "Vec<RegressedQueryMembers>")]
    pub queries: Vec<RegressedQuery>,
    /// Size, start and number of searches of a drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop: Option<DropSize>,
    /// Part of the queries that dropped: `all`, or `some`, which `queries` names. Absent for a missed
    /// target.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("enum" = ["all", "some"]))]
    pub part: Option<&'static str>,
    /// Cause of the drop, at the alarm and as decided since: `worse`, the upper bound over unjudged results fell as well;
    /// `more_unjudged`, only the share of judged results fell; `undecided`. Absent for a missed target.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("enum" = ["worse", "more_unjudged", "undecided"]))]
    pub class: Option<&'static str>,
}

/// Members of a [`RegressedQuery`].
#[derive(JsonSchema)]
#[schemars(rename = "RegressedQuery")]
#[allow(dead_code, reason = "the core has no schemas")]
struct RegressedQueryMembers {
    query: String,
    baseline: f64,
    recent: f64,
}

/// Size and start of a drop.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DropSize {
    /// Mean loss of a search against its baseline.
    pub estimate: f64,
    /// Lower bound of the loss.
    pub lower: f64,
    /// Upper bound of the loss.
    pub upper: f64,
    /// Estimated start in event time.
    #[schemars(extend("format" = "date-time"))]
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
pub struct Regressions(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Number of regressions since the start.
    reported: u64,
    latest: VecDeque<Regression>,
}

impl Regressions {
    /// Last detected regressions, newest first.
    pub fn latest(&self) -> Vec<Regression> {
        let numbered = self.numbered().into_iter();
        numbered.map(|(_, regression)| regression).collect()
    }

    /// Last detected regressions with their numbers since the start, newest first.
    pub fn numbered(&self) -> Vec<(u64, Regression)> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = (0..kept.reported).rev();
        let latest = kept.latest.iter().rev().cloned();
        numbers.zip(latest).collect()
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
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.latest.len() >= MAX_REGRESSIONS {
                kept.latest.pop_front();
            }
            kept.latest.push_back(regression);
            kept.reported += 1;
        }
    }
}
