//! What an engine had counted as checkpoints of format 1 hold it.
//!
//! There, lists by family have no length: they end with the families of that time. What has been
//! added since starts empty.

use serde::Deserialize;

use super::{Counted, Names, State};
use crate::engine::correlation::Correlation;
use crate::engine::cost::{CostTotals, Costs, Spends};
use crate::engine::counts::Counts;
use crate::engine::evidence::Evidence;
use crate::engine::latency::{Cumulative, Latency};
use crate::engine::registry::Labels;
use crate::engine::scores::Scores;
use crate::engine::settings::FIRST_CLICK_BUCKETS;
use crate::engine::snapshot::EventCounts;
use crate::engine::window::{Progress, Window};
use crate::time::WallTime;

const DIMENSIONS: usize = 8;
const FAMILIES: usize = 13;

/// A state of format 1.
#[derive(Debug, Deserialize)]
pub struct Version1 {
    names: Names1,
    wall: WallTime,
    counted: Counted1,
}

#[derive(Debug, Deserialize)]
struct Names1 {
    measures: Vec<String>,
    slices: Vec<String>,
    components: Vec<String>,
    labels: [Vec<Box<str>>; DIMENSIONS],
    series: [Vec<Labels>; FAMILIES],
}

#[derive(Debug, Deserialize)]
struct Counted1 {
    events: EventCounts,
    finalised_early: u64,
    gaps: [u64; 2],
    scores: Scores,
    latency: Latency,
    costs: Costs1,
    counts: [Vec<u64>; FAMILIES],
    dropped: [u64; FAMILIES],
    windows_at: Option<(Progress, WallTime)>,
}

#[derive(Debug, Deserialize)]
struct Costs1 {
    counters: CostTotals,
    windows: Vec<Window<Spends>>,
    dropped: [u64; FAMILIES],
}

impl From<Version1> for State {
    fn from(saved: Version1) -> Self {
        let Version1 {
            names,
            wall,
            counted,
        } = saved;
        Self {
            names: Names {
                measures: names.measures,
                slices: names.slices,
                components: names.components,
                labels: longer(names.labels),
                series: longer(names.series),
            },
            wall,
            counted: Counted {
                events: counted.events,
                finalised_early: counted.finalised_early,
                gaps: counted.gaps,
                crowded: 0,
                scores: counted.scores,
                latency: counted.latency,
                costs: Costs {
                    counters: counted.costs.counters,
                    windows: counted.costs.windows,
                    dropped: longer(counted.costs.dropped),
                },
                counts: Counts::new(longer(counted.counts)),
                dropped: longer(counted.dropped),
                first_clicks: Cumulative::new(&FIRST_CLICK_BUCKETS),
                correlation: Correlation::default(),
                evidence: Evidence::default(),
                windows_at: counted.windows_at,
            },
        }
    }
}

/// The same list with the families that have been added at its end.
fn longer<T: Default, const M: usize, const N: usize>(list: [T; M]) -> [T; N] {
    let mut rest = list.into_iter();
    std::array::from_fn(|_| rest.next().unwrap_or_default())
}
