//! Arguments of the gate: conditions that runs have to meet, for a build that must fail on a worse
//! ranking.

use clap::{Args, ValueEnum};

use super::failure::Failure;
use super::output::ReportFormat;
use crate::config::Config;
use rankgauge_core::engine::settings::{MeanQuantity, Quantity};
use rankgauge_core::measure::{Measure, Relation, Requirement};
use rankgauge_eval::evaluate::Goal;
use rankgauge_eval::gate::{
    self, Check, OPERATION_NUMBERS, OperationBound, Outcome, UserRequirement,
};
use rankgauge_eval::text_layout::escape_controls;

/// Conditions of `evaluate`.
#[derive(Debug, Default, Args)]
pub(super) struct Conditions {
    /// Fail (exit code 3) if a run misses a configured target of this tier; with --feedback also a target of
    /// a user measure.
    #[arg(long, value_name = "TIER")]
    fail_below: Option<String>,
    /// Fail (exit code 3) if a run misses this bound of a measure ("nDCG@10>=0.75"; with --feedback
    /// "CTR>=0.4") or of its operations ("latency_ms_p95<=500"), or the configured goal of this name; may
    /// be repeated.
    #[arg(long, value_name = "BOUND")]
    require: Vec<String>,
}

/// Verdicts that fail a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// A run is significantly worse than the first on any measure.
    Worse,
    /// A run differs significantly from the first on any measure.
    Difference,
}

impl From<FailOn> for gate::FailOn {
    fn from(fail_on: FailOn) -> Self {
        match fail_on {
            FailOn::Worse => Self::Worse,
            FailOn::Difference => Self::Difference,
        }
    }
}

/// Bounds that a run has to meet together.
#[derive(Clone, Debug)]
pub(super) enum Required {
    /// Bounds of measures.
    Measures {
        name: String,
        requirements: Vec<Requirement>,
    },
    /// Bound of a number of the operations.
    Operations(OperationBound),
}

impl Conditions {
    /// Returns true if there is any condition.
    pub(super) fn has_any(&self) -> bool {
        self.fail_below.is_some() || !self.require.is_empty()
    }

    /// Parses the bounds and looks up the names of goals.
    pub(super) fn required(&self, config: &Config) -> Result<Vec<Required>, Failure> {
        let required = self.require.iter().map(|text| {
            if let Some(goal) = config.goals.iter().find(|goal| goal.name == *text) {
                return Ok(Required::Measures {
                    name: goal.name.clone(),
                    requirements: goal.requirements.clone(),
                });
            }
            if let Some(bound) = operation_bound(text)? {
                return Ok(Required::Operations(bound));
            }
            let requirement: Requirement = text.parse().map_err(|error| {
                let goals = config.goals.iter().map(|goal| goal.name.as_str());
                let goals: Vec<&str> = goals.collect();
                let known = if goals.is_empty() {
                    String::new()
                } else {
                    format!("; the configured goals are {}", goals.join(", "))
                };
                Failure::Usage(anyhow::anyhow!("--require: {error}{known}"))
            })?;
            Ok(Required::Measures {
                name: requirement.to_string(),
                requirements: vec![requirement],
            })
        });
        required.collect()
    }

    /// Conditions on the computed `measures`, on the computed `user_measures` and on the operations.
    pub(super) fn resolve(
        &self,
        required: &[Required],
        measures: &[Measure],
        user_measures: &[Measure],
        config: &Config,
    ) -> gate::Conditions {
        let of_measures = || required.iter().map(Required::requirements);
        let goals = of_measures().filter_map(|(name, requirements)| {
            let of_run = requirements.iter();
            let of_run = of_run.filter(|it| !it.measure.is_user_measure());
            let of_run: Vec<Requirement> = of_run.cloned().collect();
            let goal = Goal::new(name.to_owned(), &of_run, measures)?;
            (!of_run.is_empty()).then_some(goal)
        });
        let users = of_measures().flat_map(|(name, requirements)| {
            let of_users = requirements.iter();
            let of_users = of_users.filter(|it| it.measure.is_user_measure());
            of_users.map(move |requirement| UserRequirement {
                name: name.to_owned(),
                requirement: requirement.clone(),
                tier: None,
            })
        });
        let operations = required.iter().filter_map(|it| match it {
            Required::Measures { .. } => None,
            Required::Operations(bound) => Some(bound.clone()),
        });
        let tier = self.fail_below.as_deref();
        let targets = operation_targets(config);
        // A target has a tier, so none is selected without one.
        let targets = targets.filter(|target| target.tier.as_deref() == tier);
        let user_targets = config.targets.iter();
        let user_targets = user_targets.filter(|target| {
            Some(target.tier.as_str()) == tier && user_measures.contains(&target.measure)
        });
        let user_targets = user_targets.map(|target| UserRequirement {
            name: target.tier.clone(),
            requirement: Requirement {
                measure: target.measure.clone(),
                relation: target.measure.descriptor().direction.relation(),
                bound: target.value,
            },
            tier: Some(target.tier.clone()),
        });
        gate::Conditions {
            tier: self.fail_below.clone(),
            goals: goals.collect(),
            operations: operations.chain(targets).collect(),
            users: users.chain(user_targets).collect(),
        }
    }
}

/// Bounds of the configured targets on latency, errors and cost that a run can state.
pub(super) fn operation_targets(config: &Config) -> impl Iterator<Item = OperationBound> + '_ {
    let objectives = config.engine.objectives.iter();
    let numbers = objectives.filter_map(|objective| {
        let (number, factor) = match &objective.quantity {
            Quantity::Mean(MeanQuantity::Latency(stage)) => (latency(stage, "mean"), 1e3),
            Quantity::Mean(MeanQuantity::Cost(currency)) => (format!("cost_{currency}_mean"), 1.0),
            Quantity::LatencyQuantile { stage, quantile } => {
                let parts = [(0.5, "p50"), (0.95, "p95"), (0.99, "p99")];
                let (_, part) = parts.iter().find(|(of, _)| (of - quantile).abs() < 1e-9)?;
                (latency(stage, part), 1e3)
            }
            Quantity::ErrorRate => ("error_rate".to_owned(), 1.0),
            Quantity::ZeroResultRate => ("zero_result_rate".to_owned(), 1.0),
            // Of a running service, not of a run.
            Quantity::TrafficShare { .. } | Quantity::Throughput => return None,
        };
        Some((objective, number, factor))
    });
    numbers.flat_map(|(objective, number, factor)| {
        let tiers = objective.tiers.iter();
        tiers.map(move |(tier, target)| OperationBound {
            number: number.clone(),
            relation: Relation::AtMost,
            // 0.035 s are 35 ms, not 35.00000000000001.
            bound: (target * factor * 1e6).round() / 1e6,
            tier: Some(tier.clone()),
        })
    })
}

/// Name of a part of the latency of a stage in milliseconds; the stage `all` is the whole search.
fn latency(stage: &str, part: &str) -> String {
    if stage == "all" {
        format!("latency_ms_{part}")
    } else {
        format!("stage_{stage}_ms_{part}")
    }
}

impl Required {
    /// Measures of the bounds.
    pub(super) fn measures(&self) -> impl Iterator<Item = &Measure> {
        let (_, requirements) = self.requirements();
        requirements.iter().map(|requirement| &requirement.measure)
    }

    /// Name, and bounds of measures; none for a bound of the operations.
    fn requirements(&self) -> (&str, &[Requirement]) {
        match self {
            Self::Measures { name, requirements } => (name, requirements),
            Self::Operations(bound) => (&bound.number, &[]),
        }
    }
}

/// Parses a bound of operations: `latency_ms_p95<=500`. `None` if the name is not one of theirs.
fn operation_bound(text: &str) -> Result<Option<OperationBound>, Failure> {
    let Some((name, relation, bound)) = Relation::split(text) else {
        return Ok(None);
    };
    let is_like_one = ["latency", "stage_", "cost_", "capacity"]
        .iter()
        .any(|start| name.starts_with(start));
    if !gate::is_operation_number(name) {
        if is_like_one {
            return Err(Failure::Usage(anyhow::anyhow!(
                "--require: `{name}` is not a number of the operations; there are {OPERATION_NUMBERS}"
            )));
        }
        return Ok(None);
    }
    let parsed = bound.parse().ok().filter(|bound: &f64| bound.is_finite());
    let bound = parsed.ok_or_else(|| {
        Failure::Usage(anyhow::anyhow!(
            "--require: `{bound}` in `{text}` is not a number; write latency_ms_p95<=500"
        ))
    })?;
    Ok(Some(OperationBound {
        number: name.to_owned(),
        relation,
        bound,
        tier: None,
    }))
}

/// Rejects a format that contains only checks if there are none. `conditions` names the flags.
pub(super) fn check_format(
    format: ReportFormat,
    has_conditions: bool,
    conditions: &str,
) -> Result<(), Failure> {
    let name = match format {
        ReportFormat::Junit => "junit",
        ReportFormat::Github => "github",
        ReportFormat::Text
        | ReportFormat::Json
        | ReportFormat::Csv
        | ReportFormat::Markdown
        | ReportFormat::Html => return Ok(()),
    };
    if has_conditions {
        return Ok(());
    }
    Err(Failure::Usage(anyhow::anyhow!(
        "--format {name} contains only the checks of a gate; add {conditions}"
    )))
}

/// Result of the gate: a failure that lists the failed checks.
pub(super) fn result(checks: &[Check]) -> Result<(), Failure> {
    let failed: Vec<String> = checks
        .iter()
        .filter(|check| check.outcome == Outcome::Failed)
        .map(|check| {
            let [run, condition, detail] =
                [&check.run, &check.condition, &check.detail].map(|text| escape_controls(text));
            format!("\n  {run}: {condition}: {detail}")
        })
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::Gate(anyhow::anyhow!(
        "the gate failed: {} of {} checks{}",
        failed.len(),
        checks.len(),
        failed.concat()
    )))
}
