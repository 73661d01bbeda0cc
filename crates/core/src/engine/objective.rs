//! Objectives other than the mean of a measure, and the tests of whether they are missed.
//!
//! The module depends on no settings: they contain the objectives.

/// Value of a search that objectives test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Observed<'a> {
    /// Latency of a stage in seconds.
    Latency(&'a str, f64),
    /// True if the search reports an error.
    Error(bool),
    /// True if the search has no results.
    NoResults(bool),
}

/// Objective of a mean: the mean of a quantity should be at most the target. The mean of a quantity
/// that is 0 or 1 is a share of searches.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanObjective {
    /// Name of the evidence. It contains the target, because evidence against one target is none against
    /// another.
    pub name: Box<str>,
    /// Name of the [`Objective`].
    pub(super) objective: Box<str>,
    /// Quantity of a search whose mean is tested.
    pub(super) quantity: TestedQuantity,
    /// Highest mean that meets the objective; above 0, and below 1 for a share.
    pub(super) target: f64,
}

/// Quantity whose mean is tested.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TestedQuantity {
    /// Latency or cost.
    Mean(MeanQuantity),
    /// 1 for a search whose latency of the stage exceeds the seconds.
    Slower(String, f64),
    /// 1 for a search that reports an error.
    Error,
    /// 1 for a search without results.
    NoResults,
    /// 1 for a search of the variant.
    OfVariant(String),
    /// 1 for a search of another variant than this one.
    OfOthers(String),
}

/// Quantity whose mean has an objective, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeanQuantity {
    /// Latency of a stage in seconds.
    Latency(String),
    /// Cost of a search in units of the currency.
    Cost(String),
}

impl MeanObjective {
    /// Value of a search for this objective. `None` if the objective is about another quantity.
    pub(super) fn value(&self, of: Observed<'_>) -> Option<f64> {
        let share = |fails| Some(f64::from(u8::from(fails)));
        match (&self.quantity, of) {
            (TestedQuantity::Mean(MeanQuantity::Latency(stage)), Observed::Latency(other, it))
                if stage == other =>
            {
                Some(it)
            }
            (TestedQuantity::Slower(stage, limit), Observed::Latency(other, it))
                if stage == other =>
            {
                share(it > limit * (1.0 + f64::EPSILON))
            }
            (TestedQuantity::Error, Observed::Error(fails))
            | (TestedQuantity::NoResults, Observed::NoResults(fails)) => share(fails),
            _ => None,
        }
    }
}

/// Objective other than the mean of a measure, with its targets by tier.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// Label value, for example `latency all p95`.
    pub name: String,
    /// Quantity with an objective.
    pub quantity: Quantity,
    /// Targets by tier.
    pub tiers: Vec<(String, f64)>,
}

/// Quantity with an objective.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// Quantile of the latency of a stage, in seconds: the share of slower searches is at most
    /// 1 - quantile.
    LatencyQuantile {
        /// Name of the stage; `all` for the whole search.
        stage: String,
        /// Quantile, between 0 and 1.
        quantile: f64,
    },
    /// Mean of latency or cost.
    Mean(MeanQuantity),
    /// Share of searches that report an error.
    ErrorRate,
    /// Share of searches without results.
    ZeroResultRate,
    /// Share of a variant among all searches.
    TrafficShare {
        /// Name of the variant.
        variant: String,
        /// Lowest share.
        min: Option<f64>,
        /// Highest share.
        max: Option<f64>,
    },
    /// Searches per second, of all variants and replicas.
    Throughput,
}

impl Objective {
    /// The least demanding target. `None` for a share of traffic, which has two bounds.
    pub fn target(&self) -> Option<f64> {
        let targets = self.tiers.iter().map(|(_, target)| *target);
        match self.quantity {
            Quantity::Throughput => targets.min_by(f64::total_cmp),
            Quantity::TrafficShare { .. } => None,
            Quantity::LatencyQuantile { .. }
            | Quantity::Mean(_)
            | Quantity::ErrorRate
            | Quantity::ZeroResultRate => targets.max_by(f64::total_cmp),
        }
    }

    /// Share of searches that may fail. `None` if the objective is not about a share of failures.
    pub fn budget(&self) -> Option<f64> {
        match self.quantity {
            Quantity::LatencyQuantile { quantile, .. } => Some(1.0 - quantile),
            Quantity::ErrorRate | Quantity::ZeroResultRate => self.target(),
            Quantity::Mean(_) | Quantity::TrafficShare { .. } | Quantity::Throughput => None,
        }
    }

    /// Tests of the objective: of a mean, or of a share of searches between 0 and 1. Empty if it is not tested.
    pub fn tests(&self) -> Vec<MeanObjective> {
        let test = |quantity, target: Option<f64>, stated: String| {
            Some(MeanObjective {
                name: format!("{} {stated}", self.name).into(),
                objective: self.name.as_str().into(),
                quantity,
                target: target?,
            })
        };
        let is_share = |share: &f64| *share > 0.0 && *share < 1.0;
        let target = self.target();
        let stated = target.map_or_else(String::new, |target| target.to_string());
        let budget = self.budget().filter(is_share);
        let tests = match &self.quantity {
            Quantity::Mean(quantity) => {
                let quantity = TestedQuantity::Mean(quantity.clone());
                [test(quantity, target, stated), None]
            }
            Quantity::LatencyQuantile { stage, .. } => {
                let quantity =
                    TestedQuantity::Slower(stage.clone(), target.unwrap_or(f64::INFINITY));
                [test(quantity, budget, stated), None]
            }
            Quantity::ErrorRate => [test(TestedQuantity::Error, budget, stated), None],
            Quantity::ZeroResultRate => [test(TestedQuantity::NoResults, budget, stated), None],
            Quantity::TrafficShare { variant, min, max } => {
                let least = min.filter(is_share);
                let others = TestedQuantity::OfOthers(variant.clone());
                let of_variant = TestedQuantity::OfVariant(variant.clone());
                let [low, high] = [least, max.filter(is_share)];
                [
                    test(others, low.map(|share| 1.0 - share), format!("min {low:?}")),
                    test(of_variant, high, format!("max {high:?}")),
                ]
            }
            Quantity::Throughput => [None, None],
        };
        tests.into_iter().flatten().collect()
    }
}
