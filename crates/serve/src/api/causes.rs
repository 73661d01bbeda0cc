//! Changes that came with an incident: of deployments, measures, latencies, costs and evaluators.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use super::timestamp::Timestamp;
use crate::history::{History, Operation, Span};
use rankgauge_core::engine::incidents::Incident;
use rankgauge_core::engine::read_model::{EvaluatorPart, EvaluatorVerdict};
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::number::real_length;
use rankgauge_core::time::WallTime;

/// Maximum number of causes of an incident.
const MAX_CAUSES: usize = 10;

/// Longest time between a deployment and the beginning of an incident that it may have caused, in
/// milliseconds.
const DEPLOYED_BEFORE: i64 = 24 * 3_600_000;

/// Kind of a cause that is a measure.
const MEASURE: &str = "measure";

/// Change of a measure below which it is no cause.
const MIN_CHANGE: f64 = 0.02;

/// Change of a latency or a cost below which it is no cause, relative to the larger value.
const MIN_RELATIVE_CHANGE: f64 = 0.2;

/// Length of the shortest window in milliseconds: points of the history after the beginning still contain
/// earlier searches for as long.
const DRAIN: i64 = 60_000;

/// Change that came with an incident.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "IncidentCause")]
pub(crate) struct Cause {
    /// A deployment before the beginning; a measure that changed with it: of a component, of a facet, of the
    /// judged share; a latency or a cost that changed with it; or the evaluator whose values fell.
    #[schemars(extend("enum" = ["deployment", "measure", "latency", "cost", "evaluator"]))]
    pub(crate) kind: &'static str,
    /// Version, name of the measure, latency of a stage, cost in a currency, or evaluator with its version.
    pub(crate) name: String,
    /// Time of the deployment, or of the change of the evaluator; null for a measure.
    pub(crate) at: Option<Timestamp>,
    /// Mean before the beginning; null for a deployment. Of an evaluator, its difference from people.
    pub(crate) before: Option<f64>,
    /// Mean after the beginning; null for a deployment.
    pub(crate) after: Option<f64>,
    /// Of an evaluator: `drifted` or `new_version`, it explains the incident; `unchanged`, it does not;
    /// `undecided`, too few searches are judged by people since the beginning. Null otherwise.
    #[schemars(with = "Option<String>", extend("enum" = ["drifted", "new_version", "unchanged", "undecided", null]))]
    pub(crate) verdict: Option<&'static str>,
}

/// Value before an incident and in it.
struct Change {
    kind: &'static str,
    name: String,
    before: f64,
    after: f64,
}

impl Change {
    /// Change relative to the larger value.
    fn relative(&self) -> f64 {
        let larger = self.before.abs().max(self.after.abs());
        (self.after - self.before).abs() / larger.max(f64::MIN_POSITIVE)
    }

    /// Returns true if the change is large enough for a cause.
    fn is_cause(&self) -> bool {
        if self.kind == MEASURE {
            (self.after - self.before).abs() >= MIN_CHANGE
        } else {
            self.relative() >= MIN_RELATIVE_CHANGE
        }
    }
}

impl From<Change> for Cause {
    fn from(it: Change) -> Self {
        Self {
            kind: it.kind,
            name: it.name,
            at: None,
            before: Some(it.before),
            after: Some(it.after),
            verdict: None,
        }
    }
}

fn kind_of(of: Operation) -> &'static str {
    match of {
        Operation::Latency => "latency",
        Operation::Cost => "cost",
    }
}

/// Name of a latency or cost, from its stage or currency.
fn name_of(of: Operation, part: &str) -> String {
    match of {
        Operation::Latency if part == Settings::WHOLE_SEARCH => "p95 latency in seconds".to_owned(),
        Operation::Latency => format!("p95 latency of {part} in seconds"),
        Operation::Cost => format!("{part} for 1,000 searches"),
    }
}

/// Returns true if the evaluator explains the incident.
pub(super) fn is_evaluator(part: &EvaluatorPart<'_>) -> bool {
    matches!(
        part.verdict,
        EvaluatorVerdict::Drifted | EvaluatorVerdict::NewVersion
    )
}

impl Cause {
    fn of_evaluator(part: &EvaluatorPart<'_>) -> Self {
        let name = if part.version.is_empty() {
            part.evaluator.clone()
        } else {
            format!("{} version {}", part.evaluator, part.version)
        };
        Self {
            kind: "evaluator",
            name,
            at: part.at.map(Timestamp),
            before: part.shift.map(|it| it.before),
            after: part.shift.map(|it| it.since),
            verdict: Some(part.verdict.name()),
        }
    }
}

/// Changes that came with an incident: deployments in the day before it, then the measures of the variant
/// whose means changed most. The second value is true if other values are known before it and in it.
pub(super) fn of(
    it: &Incident,
    history: &History,
    evaluator: Option<&EvaluatorPart<'_>>,
) -> (Vec<Cause>, bool) {
    let before = it.deployments.iter().filter(|mark| {
        let passed = it.started.upper.saturating_sub(mark.deployed.at.0);
        !mark.is_during && passed <= DEPLOYED_BEFORE
    });
    let deployments = before.map(|mark| Cause {
        kind: "deployment",
        name: mark
            .deployed
            .version
            .as_deref()
            .unwrap_or_default()
            .to_owned(),
        at: Some(Timestamp(mark.deployed.at)),
        before: None,
        after: None,
        verdict: None,
    });
    let mut causes: Vec<Cause> = evaluator.map(Cause::of_evaluator).into_iter().collect();
    causes.extend(deployments);
    let end = it.ended.as_ref().map_or(i64::MAX, |ended| ended.at.0);
    let is_member = |name: &str| it.measures.iter().any(|member| *member.measure == *name);
    let mut changed = changes(history, &it.variant, it.started.at..end);
    let is_compared = !changed.is_empty();
    changed.retain(|it| it.is_cause() && (it.kind != MEASURE || !is_member(&it.name)));
    changed.sort_by(|one, other| other.relative().total_cmp(&one.relative()));
    causes.extend(changed.into_iter().map(Cause::from));
    causes.truncate(MAX_CAUSES);
    (causes, is_compared)
}

/// Values of a variant that are known both before a period and in it.
fn changes(history: &History, variant: &str, period: Range<i64>) -> Vec<Change> {
    let mean = |times: &[WallTime], means: &[Option<f64>], of: Range<i64>| {
        let points = times.iter().zip(means).filter(|(at, _)| of.contains(&at.0));
        let known: Vec<f64> = points.filter_map(|(_, mean)| *mean).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / real_length(known.len()))
    };
    let drained = period.start.saturating_add(DRAIN)..period.end;
    let both = |times: &[WallTime], means: &[Option<f64>]| {
        let before = mean(times, means, i64::MIN..period.start)?;
        Some((before, mean(times, means, drained.clone())?))
    };
    let (times, series) = history.series(Span::Minutes, |_, it| it == variant);
    let measures = series.into_iter().filter_map(|it| {
        let (before, after) = both(&times, &it.means)?;
        Some(Change {
            kind: MEASURE,
            name: it.measure,
            before,
            after,
        })
    });
    let mut all: Vec<Change> = measures.collect();
    for of in Operation::ALL {
        let (times, series) = history.operations(of, variant);
        all.extend(series.into_iter().filter_map(|it| {
            let (before, after) = both(&times, &it.means)?;
            Some(Change {
                kind: kind_of(of),
                name: name_of(of, &it.measure),
                before,
                after,
            })
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_latency_that_changed_with_an_incident_is_a_cause_and_an_equal_cost_is_none() {
        let history = History::default();
        for minute in 0..8 {
            let at = WallTime(minute * 60_000);
            let (latency, cost) = if minute < 4 {
                (0.25, 1.0)
            } else {
                (0.5, 1.125)
            };
            let values = |name: &str, value| BTreeMap::from([((name.into(), "V5".into()), value)]);
            history.add_operations(Operation::Latency, at, &values("vector", latency));
            history.add_operations(Operation::Cost, at, &values("USD", cost));
        }
        let known = changes(&history, "V5", 240_000..i64::MAX);
        assert_eq!(known.len(), 2, "latency and cost are compared");
        let found: Vec<(&str, &str, [f64; 2])> = known
            .iter()
            .filter(|it| it.is_cause())
            .map(|it| (it.kind, it.name.as_str(), [it.before, it.after]))
            .collect();
        let expected = ("latency", "p95 latency of vector in seconds", [0.25, 0.5]);
        assert_eq!(found, [expected]);
        // Nothing is known of V4, of the time before the history, and of the time after it.
        for (variant, start) in [("V4", 240_000), ("V5", 0), ("V5", 420_000)] {
            let known = changes(&history, variant, start..i64::MAX);
            assert!(known.is_empty(), "{variant} at {start}");
        }
    }
}
