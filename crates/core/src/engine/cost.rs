//! Counters of tokens, model calls and money, and the rolling cost per query.

use serde::{Deserialize, Serialize};

use crate::engine::fixed::{count_to_f64, units_to_f64};
use crate::engine::latency::Spread;
use crate::engine::money::{MONEY_DECIMALS, Money, Price, PriceTable};
use crate::engine::registry::{Dimension, Family, Label, Registry, Series};
use crate::engine::state::{Renumbering, same_windows};
use crate::engine::table::{self, entry};
use crate::engine::window::{Pane, Progress, Window};
use crate::event::{Search, Usage};
use crate::time::EventTime;

/// Use of a token. The four directions do not overlap: their sum is the number of all tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Input tokens that were not read from a cache.
    Input,
    /// Output tokens that are not reasoning.
    Output,
    /// Input tokens read from the provider's cache.
    CacheRead,
    /// Output tokens spent on reasoning.
    Reasoning,
}

impl Direction {
    /// All directions, in the order of their labels.
    pub const ALL: [Self; 4] = [Self::Input, Self::Output, Self::CacheRead, Self::Reasoning];

    /// Label value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::CacheRead => "cache_read",
            Self::Reasoning => "reasoning",
        }
    }
}

/// Cost of the searches of one series within a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spend {
    count: u64,
    sum: Money,
    nanos: Spread,
}

impl Spend {
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

    /// Mean cost of a search in units of the currency, or `None` without searches.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0)
            .then(|| units_to_f64(self.sum.units(), MONEY_DECIMALS) / count_to_f64(self.count))
    }

    /// 95th percentile of the cost of a search in units of the currency, or `None` without
    /// searches.
    pub fn p95(&self) -> Option<f64> {
        self.nanos
            .quantile(0.95)
            .map(|nanos| count_to_f64(nanos) / 1e9)
    }
}

/// Costs of searches, by series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spends(Vec<Spend>);

impl Spends {
    /// Costs, by series of [`Family::CostPerQuery`].
    pub fn by_series(&self) -> &[Spend] {
        &self.0
    }
}

impl Pane for Spends {
    fn merge(&mut self, other: &Self) {
        table::merge(&mut self.0, &other.0, Spend::merge);
    }
}

/// Snapshot of the token, call and money counters, additive over workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostTotals {
    /// Tokens, by series of [`Family::Tokens`].
    pub tokens: Vec<u64>,
    /// Model calls, by series of [`Family::Calls`].
    pub calls: Vec<u64>,
    /// Money spent, by series of [`Family::Cost`].
    pub money: Vec<Money>,
    /// Calls without a known price, by series of [`Family::Unpriced`].
    pub unpriced: Vec<u64>,
    /// Rolling cost per query, by window and series of [`Family::CostPerQuery`].
    pub windows: Vec<Spends>,
}

impl CostTotals {
    /// Adds the costs of another worker.
    pub fn merge(&mut self, other: &Self) {
        table::add(&mut self.tokens, &other.tokens);
        table::add(&mut self.calls, &other.calls);
        table::merge(&mut self.money, &other.money, |mine, theirs| {
            *mine += *theirs;
        });
        table::add(&mut self.unpriced, &other.unpriced);
        table::merge(&mut self.windows, &other.windows, Pane::merge);
    }
}

/// Costs of one worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Costs {
    pub(super) counters: CostTotals,
    pub(super) windows: Vec<Window<Spends>>,
    /// Samples recorded under `__other__` because their family was full, by family.
    #[serde(with = "table::by_family")]
    pub(super) dropped: [u64; Family::ALL.len()],
}

impl Costs {
    /// Creates empty costs with the given windows.
    pub fn new(windows: Vec<Window<Spends>>) -> Self {
        Self {
            counters: CostTotals::default(),
            windows,
            dropped: [0; Family::ALL.len()],
        }
    }

    /// Counts the tokens, calls and cost of `search`.
    pub fn record(
        &mut self,
        search: &Search<'_>,
        variant: Label,
        prices: &PriceTable,
        registry: &Registry,
    ) {
        let mut whole: Vec<(Label, Money)> = Vec::new();
        let mut complete = true;
        for usage in search.usage.iter().flatten() {
            let model_name = usage.model.as_deref().unwrap_or("");
            let model = registry.label(Dimension::Model, model_name);
            self.count_tokens(usage, model, variant, registry);
            // A stated cost of the whole search already includes the cost of this call.
            if search.cost.is_some() {
                continue;
            }
            if let Some((currency, cost)) = cost_of(usage, model_name, prices, search.ts) {
                let currency = registry.label(Dimension::Currency, currency);
                self.count_money(registry, [currency, model, variant], cost);
                match whole.iter_mut().find(|(known, _)| *known == currency) {
                    Some((_, sum)) => *sum += cost,
                    None => whole.push((currency, cost)),
                }
            } else if usage.used_tokens() > 0 {
                complete = false;
                let series = self.admit(
                    registry,
                    Family::Unpriced,
                    [model, Label::EMPTY, Label::EMPTY],
                );
                *entry(&mut self.counters.unpriced, series) += 1;
            }
        }
        if let Some(stated) = &search.cost
            && let Some(cost) = Money::from_stated(stated.amount)
        {
            let currency = registry.label(Dimension::Currency, stated.currency());
            self.count_money(registry, [currency, Label::EMPTY, variant], cost);
            whole.push((currency, cost));
        }
        // If the price of a part is unknown, the cost of the search is unknown. Such a search is
        // left out, because a partial cost would make the mean too low.
        if complete {
            for (currency, cost) in whole {
                let series = self.admit(
                    registry,
                    Family::CostPerQuery,
                    [currency, variant, Label::EMPTY],
                );
                for window in &mut self.windows {
                    window.record(search.ts, |spends| {
                        entry(&mut spends.0, series).record(cost);
                    });
                }
            }
        }
    }

    /// Advances the windows to `progress`.
    pub fn follow(&mut self, progress: Progress) {
        for window in &mut self.windows {
            window.follow(progress);
        }
    }

    /// Adds the counts that an earlier process saved.
    pub(super) fn restore(&mut self, saved: &Self, renumbering: &Renumbering) {
        let (mine, theirs) = (&mut self.counters, &saved.counters);
        let count = |mine: &mut u64, theirs: &u64| *mine += theirs;
        renumbering.add(Family::Tokens, &mut mine.tokens, &theirs.tokens, count);
        renumbering.add(Family::Calls, &mut mine.calls, &theirs.calls, count);
        renumbering.add(
            Family::Unpriced,
            &mut mine.unpriced,
            &theirs.unpriced,
            count,
        );
        renumbering.add(
            Family::Cost,
            &mut mine.money,
            &theirs.money,
            |mine, theirs| {
                *mine += *theirs;
            },
        );
        table::add_array(&mut self.dropped, &saved.dropped);
        for (mine, theirs) in same_windows(&mut self.windows, &saved.windows) {
            mine.restore(theirs, |pane| {
                let mut spends = Spends::default();
                renumbering.add(Family::CostPerQuery, &mut spends.0, &pane.0, Spend::merge);
                spends
            });
        }
    }

    /// Returns a snapshot of the counters and the windows, for exposition.
    pub fn totals(&self) -> CostTotals {
        let windows = self.windows.iter().map(Window::total).collect();
        CostTotals {
            windows,
            ..self.counters.clone()
        }
    }

    /// Samples recorded under `__other__`, by family.
    pub fn dropped(&self) -> &[u64; Family::ALL.len()] {
        &self.dropped
    }

    fn count_tokens(
        &mut self,
        usage: &Usage<'_>,
        model: Label,
        variant: Label,
        registry: &Registry,
    ) {
        let operation = registry.label(
            Dimension::Operation,
            usage.operation.as_deref().unwrap_or(""),
        );
        let series = self.admit(registry, Family::Calls, [model, operation, variant]);
        *entry(&mut self.counters.calls, series) += 1;
        for (direction, tokens) in usage.tokens_by_direction() {
            if tokens > 0 {
                let labels = [model, Label::from_position(direction as usize), variant];
                let series = self.admit(registry, Family::Tokens, labels);
                *entry(&mut self.counters.tokens, series) += tokens;
            }
        }
    }

    fn count_money(&mut self, registry: &Registry, labels: [Label; 3], cost: Money) {
        let series = self.admit(registry, Family::Cost, labels);
        *entry(&mut self.counters.money, series) += cost;
    }

    fn admit(&mut self, registry: &Registry, family: Family, labels: [Label; 3]) -> Series {
        let admission = registry.series(family, labels);
        self.dropped[family as usize] += u64::from(admission.dropped);
        admission.series
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
