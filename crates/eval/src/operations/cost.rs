//! Cost of a search.

use std::collections::BTreeMap;

use rankgauge_core::engine::money::PriceTable;
use rankgauge_core::event::{Search, Usage};

/// Cost of a search by currency, empty if it has none; `None` if a part is unknown.
pub(super) fn costs_of(search: &Search<'_>, prices: &PriceTable) -> Option<BTreeMap<String, f64>> {
    let mut costs = BTreeMap::new();
    if let Some(stated) = &search.cost {
        costs.insert(stated.currency().to_owned(), stated.amount);
        return Some(costs);
    }
    for usage in search.usage.iter().flatten() {
        let (currency, cost) = cost_of(usage, search, prices)?;
        *costs.entry(currency).or_insert(0.0) += cost;
    }
    Some(costs)
}

fn cost_of(usage: &Usage<'_>, search: &Search<'_>, prices: &PriceTable) -> Option<(String, f64)> {
    if let Some(stated) = &usage.cost {
        return Some((stated.currency().to_owned(), stated.amount));
    }
    let model = usage.model.as_deref().unwrap_or("");
    let price = prices.find(model, search.ts)?;
    let cached = usage.cache_read_input_tokens.unwrap_or(0);
    let reasoning = usage.reasoning_output_tokens.unwrap_or(0);
    let input = usage.input_tokens.unwrap_or(0).saturating_sub(cached);
    let output = usage.output_tokens.unwrap_or(0).saturating_sub(reasoning);
    let mut cost = price.input.for_tokens(input);
    cost += price.output.for_tokens(output);
    cost += price.cache_read.for_tokens(cached);
    cost += price.reasoning.for_tokens(reasoning);
    Some((price.currency.clone(), nanos_to_units(cost.nanos())))
}

#[allow(
    clippy::cast_precision_loss,
    reason = "the cost of a search lies far below 2^53 nano-units"
)]
fn nanos_to_units(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
