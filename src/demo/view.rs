//! Current results of the demo: measures by variant, outcomes of records and reported drops.
//!
//! A view is computed from one snapshot. It must not know how it is shown.

use std::collections::BTreeMap;

use serde::Serialize;

use rankgauge_core::engine::evidence::Test;
use rankgauge_core::engine::family;
use rankgauge_core::engine::fixed::{NANO_DECIMALS, count_to_f64, units_to_f64};
use rankgauge_core::engine::registry::{Dimension, OTHER};
use rankgauge_core::engine::scores::{SEARCHES, column_of};
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, WallTime};
use rankgauge_serve::collect::Names;
use rankgauge_serve::live::regressions::Regression;

/// Window of the results, short enough to show a drop soon.
const WINDOW: &str = "1m";

/// Measure that the demo puts first.
const HEADLINE: &str = "nDCG@10";

/// Current results of the demo.
#[derive(Debug, Serialize)]
pub struct View {
    /// Number of records received, by kind.
    pub(super) received: BTreeMap<&'static str, u64>,
    /// Number of records by kind and outcome.
    pub(super) outcomes: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    /// Number of searches that wait for feedback, and of feedback events that wait for their
    /// search.
    pub(super) pending: BTreeMap<&'static str, u64>,
    /// Number of records still to be read.
    pub(super) lag: u64,
    /// Results by variant.
    pub(super) variants: BTreeMap<String, Variant>,
    /// Drops of scores that were reported, oldest first. Their time depends on the speed of the
    /// workers; they are not serialised because a summary is the same for the same seed.
    #[serde(skip)]
    pub(super) drops: Vec<Regression>,
    /// Times of the snapshot.
    #[serde(skip)]
    pub(super) times: Option<Times>,
}

/// Times of a snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// Wall time of the workers.
    pub(super) wall: WallTime,
    /// Newest event time.
    pub(super) newest: EventTime,
}

/// Scores of one measure since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ScoreTotal {
    /// Number of searches with a score.
    pub(super) count: f64,
    /// Sum of their scores.
    pub(super) sum: f64,
}

/// Results of one variant.
#[derive(Debug, Default, Serialize)]
pub(super) struct Variant {
    pub(super) searches: u64,
    pub(super) searches_per_second: f64,
    /// Means since the start.
    means: BTreeMap<String, f64>,
    /// Means over the last minute.
    pub(super) last_minute: BTreeMap<String, f64>,
    /// Scores of the headline measure since the start.
    #[serde(skip)]
    pub(super) headline: ScoreTotal,
    /// Number of scores in the last minute's mean of the headline measure.
    #[serde(skip)]
    pub(super) headline_count: u64,
    /// Number of searches in the last minute's measures of user feedback.
    pub(super) finalised: u64,
    /// Median and 95th percentile of the last minute's latency, in milliseconds.
    pub(super) latency_ms: Option<[f64; 2]>,
    /// Mean cost of a search of the last minute, in US dollars.
    pub(super) cost_per_query: Option<f64>,
}

impl View {
    /// Builds the view of a snapshot.
    pub fn of(snapshot: &Snapshot, names: &Names, regressions: &[Regression]) -> Self {
        let outcomes: BTreeMap<_, BTreeMap<_, _>> = Kind::ALL
            .into_iter()
            .map(|kind| {
                (
                    kind.name(),
                    snapshot.totals.events.outcomes(kind).into_iter().collect(),
                )
            })
            .collect();
        let pending: BTreeMap<_, _> = Kind::ALL
            .into_iter()
            .map(|kind| (kind.name(), snapshot.pending[kind.index()]))
            .collect();
        let received = Kind::ALL
            .into_iter()
            .map(|kind| {
                let counted: u64 = outcomes[kind.name()].values().sum();
                (kind.name(), counted + pending[kind.name()])
            })
            .collect();
        let lag = snapshot
            .partitions
            .iter()
            .flat_map(|status| status.lag)
            .flatten()
            .sum();
        Self {
            received,
            outcomes,
            pending,
            lag,
            variants: variants(snapshot, names),
            drops: regressions
                .iter()
                .rev()
                // Missed targets of V1 are expected and not shown.
                .filter(|regression| regression.test == Test::Drop.name())
                .cloned()
                .collect(),
            times: snapshot
                .wall
                .zip(snapshot.progress)
                .map(|(wall, progress)| Times {
                    wall,
                    newest: progress.newest,
                }),
        }
    }
}

/// Name of the measure that the demo puts first: nDCG@10, or the first configured one.
pub(super) fn headline_measure(names: &Names) -> String {
    let mut measures = names.settings.measures.iter().map(ToString::to_string);
    let first = measures.clone().next().unwrap_or_default();
    measures.find(|it| it == HEADLINE).unwrap_or(first)
}

fn variants(snapshot: &Snapshot, names: &Names) -> BTreeMap<String, Variant> {
    let known = names.registry.values(Dimension::Variant);
    let name = |label: rankgauge_core::engine::registry::Label| {
        known
            .get(label.index())
            .map_or(OTHER, |name| name)
            .to_owned()
    };
    let measures: Vec<String> = names
        .settings
        .measures
        .iter()
        .map(ToString::to_string)
        .collect();
    let headline = headline_measure(names);
    let window = names
        .settings
        .windows
        .iter()
        .position(|window| window.name == WINDOW);
    let seconds = window.map_or(1.0, |window| {
        names.settings.windows[window].length.as_secs_f64()
    });
    let rolling: Vec<_> = window
        .map(|window| snapshot.totals.scores.window_rows(window).collect())
        .unwrap_or_default();
    let mut variants: BTreeMap<String, Variant> = BTreeMap::new();
    let series = names.registry.series_labels(&family::SCORE);
    for (number, ([variant, slice, ..], row)) in series
        .into_iter()
        .zip(snapshot.totals.scores.rows())
        .enumerate()
    {
        if slice.position() != Some(0) {
            continue;
        }
        let entry = variants.entry(name(variant)).or_default();
        entry.searches = row[SEARCHES].count;
        let recent_row = rolling.get(number).copied().flatten();
        for (index, measure) in measures.iter().enumerate() {
            let tally = row[column_of(index)];
            if tally.count > 0 {
                let mean = units_to_f64(tally.sum, NANO_DECIMALS) / count_to_f64(tally.count);
                entry.means.insert(measure.clone(), mean);
            }
            let is_headline = *measure == headline;
            if is_headline {
                entry.headline = ScoreTotal {
                    count: count_to_f64(tally.count),
                    sum: units_to_f64(tally.sum, NANO_DECIMALS),
                };
            }
            let recent = recent_row.map(|row| row[column_of(index)]);
            if let Some(mean) = recent.and_then(|cell| cell.mean()) {
                entry.last_minute.insert(measure.clone(), mean);
            }
            if is_headline {
                entry.headline_count = recent.map_or(0, |cell| cell.count);
            }
            // Every finalised search has a score in this measure.
            if measure == "Converted" {
                entry.finalised = recent.map_or(0, |cell| cell.count);
            }
        }
        let recent = recent_row.map_or(0, |row| row[SEARCHES].count);
        entry.searches_per_second = count_to_f64(recent) / seconds;
    }
    let stages = names.registry.values(Dimension::Stage);
    let latency = window.and_then(|window| snapshot.totals.latency.windows.iter().nth(window));
    let spreads = latency.map_or(&[][..], |window| window.sum().by_series());
    let members = names.registry.series_labels(&family::SEARCH_LATENCY);
    for ([stage, variant, ..], spread) in members.into_iter().zip(spreads) {
        let whole = stages
            .get(stage.index())
            .is_some_and(|stage| &**stage == rankgauge_core::engine::WHOLE_SEARCH);
        if let (true, Some(median), Some(p95)) =
            (whole, spread.quantile(0.5), spread.quantile(0.95))
        {
            let millis = |micros| count_to_f64(micros) / 1e3;
            variants.entry(name(variant)).or_default().latency_ms =
                Some([millis(median), millis(p95)]);
        }
    }
    let spends =
        window.and_then(|window| snapshot.totals.cost_per_query.windows.iter().nth(window));
    let spends = spends.map_or(&[][..], |window| window.sum().by_series());
    let members = names.registry.series_labels(&family::COST_PER_QUERY_MEAN);
    for ([_, variant, ..], spend) in members.into_iter().zip(spends) {
        if let Some(mean) = spend.mean() {
            variants.entry(name(variant)).or_default().cost_per_query = Some(mean);
        }
    }
    variants.retain(|_, variant| variant.searches > 0);
    variants
}
