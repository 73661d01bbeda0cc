//! Counters of tokens, model calls and money, and the rolling cost per query.

use serde::{Deserialize, Serialize};

use crate::engine::family;
use crate::engine::fixed::units_to_f64;
use crate::engine::latency::{HISTOGRAM_PANES, SparseHistogram};
use crate::engine::machine::Engine;
use crate::engine::money::{Money, Price, PriceTable};
use crate::engine::objective::TestedQuantity;
use crate::engine::remap::IdRemap;
use crate::engine::series::{Dimension, Label, Series};
use crate::engine::settings::{MeanQuantity, Settings};
use crate::engine::table::{self, entry};
use crate::engine::tokens::Direction;
use crate::engine::window::{Pane, Progress, Windows};
use crate::event::{Search, Usage};
use crate::number::real;
use crate::time::EventTime;

/// Cost of the searches of one series within a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostSummary {
    count: u64,
    sum: Money,
    nanos: SparseHistogram,
}

impl CostSummary {
    fn record(&mut self, cost: Money) {
        self.count += 1;
        self.sum += cost;
        self.nanos.record(cost.nanos());
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.nanos.merge(&other.nanos);
    }

    /// Number of searches with a cost.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean cost of a search in units of the currency, or `None` without searches.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| units_to_f64(self.sum.units(), Money::DECIMALS) / real(self.count))
    }

    /// Quantile of the cost of a search in units of the currency, or `None` without searches.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let nanos = self.nanos.quantile(quantile);
        nanos.map(|nanos| real(nanos) / 1e9)
    }
}

/// Costs of searches, by series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostSummaries(Vec<CostSummary>);

impl CostSummaries {
    /// Costs, by series of [`family::COST_PER_QUERY_MEAN`].
    pub fn by_series(&self) -> &[CostSummary] {
        &self.0
    }
}

impl CostSummaries {
    /// Returns saved costs with the numbers of this process.
    fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let mut now = Self::default();
        if let Some(table) = family::COST_PER_QUERY_MEAN.table() {
            ids.add(table, &mut now.0, &self.0, CostSummary::merge);
        }
        now
    }
}

impl Pane for CostSummaries {
    fn merge(&mut self, other: &Self) {
        table::merge(&mut self.0, &other.0, CostSummary::merge);
    }
}

/// Rolling cost per query.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostPerQuery {
    /// Costs of searches, by series of [`family::COST_PER_QUERY_MEAN`].
    pub windows: Windows<CostSummaries>,
}

impl CostPerQuery {
    /// Creates empty windows.
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            windows: Windows::new(settings, HISTOGRAM_PANES),
        }
    }

    fn record(&mut self, at: EventTime, series: Series, cost: Money) {
        let record = |costs: &mut CostSummaries| entry(&mut costs.0, series).record(cost);
        self.windows.record(at, record);
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.windows.bytes(|pane| {
            let costs = pane.0.iter().map(|it| it.nanos.bytes()).sum::<usize>();
            costs + pane.0.capacity() * size_of::<CostSummary>()
        })
    }

    /// Advances the windows to `progress`.
    pub(super) fn advance_to(&mut self, progress: Progress) {
        self.windows.advance_to(progress);
    }

    /// Adds other costs with the same numbers.
    pub(super) fn merge(&mut self, other: &Self) {
        let Self { windows } = other;
        self.windows.merge(windows);
    }

    /// Returns saved costs with the numbers of this process.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let now = Windows::new(ids.settings, HISTOGRAM_PANES);
        Self {
            windows: self.windows.remap(now, |pane| pane.remap(ids)),
        }
    }

    /// Returns a copy for exposition.
    pub(super) fn summed(&self) -> Self {
        Self {
            windows: self.windows.summed(),
        }
    }
}

impl Engine {
    /// Counts the tokens, calls and cost of `search`.
    pub(super) fn count_cost(&mut self, search: &Search<'_>, variant: Label) {
        if search.usage.is_none() && search.cost.is_none() {
            return;
        }
        let settings = std::sync::Arc::clone(&self.settings);
        let mut whole: Vec<(Label, Money)> = Vec::new();
        let mut complete = true;
        for usage in search.usage.iter().flatten() {
            let model_name = usage.model.as_deref().unwrap_or("");
            let model = self.names.label(Dimension::Model, model_name);
            self.count_usage(usage, model, variant);
            // A stated cost of the whole search already includes the cost of this call.
            if search.cost.is_some() {
                continue;
            }
            if let Some((currency, cost)) = cost_of(usage, model_name, &settings.prices, search.ts)
            {
                let currency = self.names.label(Dimension::Currency, currency);
                self.count(&family::COST, [currency, model, variant], cost.units());
                match whole.iter_mut().find(|(known, _)| *known == currency) {
                    Some((_, sum)) => *sum += cost,
                    None => whole.push((currency, cost)),
                }
            } else if usage.used_tokens() > 0 {
                complete = false;
                self.count(&family::UNPRICED_USAGE, [model], 1);
            }
        }
        if let Some(stated) = &search.cost
            && let Some(cost) = Money::from_stated(stated.amount)
        {
            let currency = self.names.label(Dimension::Currency, stated.currency());
            let labels = [currency, Label::EMPTY, variant];
            self.count(&family::COST, labels, cost.units());
            whole.push((currency, cost));
        }
        // If the price of a part is unknown, the cost of the search is unknown. Such a search is
        // left out, because a partial cost would make the mean too low.
        if complete {
            for (currency, cost) in whole {
                let series = self.series(&family::COST_PER_QUERY_MEAN, [currency, variant]);
                let cost_per_query = &mut self.totals.cost_per_query;
                cost_per_query.record(search.ts, series, cost);
                for objective in &settings.detection.means {
                    if let TestedQuantity::Mean(MeanQuantity::Cost(name)) = &objective.quantity
                        && self.names.label(Dimension::Currency, name) == currency
                    {
                        let cost = units_to_f64(cost.units(), Money::DECIMALS);
                        let means = &mut self.totals.means;
                        let settings = &settings.detection;
                        means.add(objective, search.ts, variant, cost, settings);
                    }
                }
            }
        }
    }

    fn count_usage(&mut self, usage: &Usage<'_>, model: Label, variant: Label) {
        let operation = usage.operation.as_deref().unwrap_or("");
        let operation = self.names.label(Dimension::Operation, operation);
        self.count(&family::LLM_CALLS, [model, operation, variant], 1);
        for (direction, tokens) in usage.tokens_by_direction() {
            if tokens > 0 {
                let labels = [model, Label::from_position(direction as usize), variant];
                self.count(&family::TOKENS, labels, tokens);
            }
        }
    }
}

/// Returns the currency and the cost of a call: the stated cost, else the cost by the price table.
/// `None` if neither is available.
fn cost_of<'a>(
    usage: &'a Usage<'_>,
    model: &str,
    prices: &'a PriceTable,
    at: EventTime,
) -> Option<(&'a str, Money)> {
    if let Some(stated) = &usage.cost {
        return Some((stated.currency(), Money::from_stated(stated.amount)?));
    }
    let price = prices.find(model, at)?;
    let mut cost = Money::default();
    for (direction, tokens) in usage.tokens_by_direction() {
        cost += price_of(price, direction).for_tokens(tokens);
    }
    Some((&price.currency, cost))
}

fn price_of(price: &Price, direction: Direction) -> Money {
    match direction {
        Direction::Input => price.input,
        Direction::Output => price.output,
        Direction::CacheRead => price.cache_read,
        Direction::Reasoning => price.reasoning,
    }
}

impl Usage<'_> {
    /// Tokens by direction, without overlap. OpenTelemetry counts cached tokens as input tokens and
    /// reasoning tokens as output tokens; this function subtracts them.
    fn tokens_by_direction(&self) -> [(Direction, u64); 4] {
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let reasoning = self.reasoning_output_tokens.unwrap_or(0);
        [
            (
                Direction::Input,
                self.input_tokens.unwrap_or(0).saturating_sub(cached),
            ),
            (
                Direction::Output,
                self.output_tokens.unwrap_or(0).saturating_sub(reasoning),
            ),
            (Direction::CacheRead, cached),
            (Direction::Reasoning, reasoning),
        ]
    }

    fn used_tokens(&self) -> u64 {
        self.tokens_by_direction()
            .iter()
            .map(|(_, tokens)| tokens)
            .sum()
    }
}
