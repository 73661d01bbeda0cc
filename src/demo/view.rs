//! Current results of the demo: measures by variant, outcomes of records and incidents.
//!
//! A view is computed from one snapshot. It must not know how it is shown.

use std::collections::BTreeMap;

use serde::Serialize;

use rankgauge_core::engine::fixed::Nano;
use rankgauge_core::engine::incidents::Incident;
use rankgauge_core::engine::read_model::{ReadModel, ScoreSeries};
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::event::Kind;
use rankgauge_core::number::real;
use rankgauge_core::time::{EventTime, WallTime};
use rankgauge_serve::collect::Names;

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
    /// Incidents, the open ones first.
    pub incidents: Vec<IncidentLine>,
    /// Times of the snapshot.
    #[serde(skip)]
    pub(super) times: Option<Times>,
}

/// Incident. Its times and sizes depend on the speed of the workers; they are not serialised because a
/// summary is the same for the same seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IncidentLine {
    #[serde(skip)]
    pub(super) id: u64,
    /// Event time of the first alarm.
    #[serde(skip)]
    pub(super) alarmed_at: EventTime,
    /// Means of the primary measure before the beginning and now.
    #[serde(skip)]
    pub(super) means: Option<[f64; 2]>,
    /// Queries that lost most now.
    #[serde(skip)]
    pub queries: Vec<LostQuery>,
    /// Title by subject and class.
    #[serde(skip)]
    pub(super) title: String,
    pub(super) variant: String,
    /// Primary measure.
    pub(super) measure: String,
    pub(super) subject: &'static str,
    pub(super) class: &'static str,
    pub(super) severity: &'static str,
    pub(super) ended_by: Option<&'static str>,
    pub(super) ended_after: Option<String>,
}

/// Query that lost most, with its means before the beginning and now.
#[derive(Clone, Debug, PartialEq)]
pub struct LostQuery {
    /// Key of the query.
    pub query: String,
    pub(super) before: f64,
    pub(super) now: f64,
}

/// Maximum number of queries of an incident.
const MAX_LOST: usize = 5;

impl IncidentLine {
    fn of(it: &Incident) -> Self {
        let ended = it.ended.as_ref();
        let means = it.measures.first().and_then(|primary| {
            let now = primary.level_of(it.loss_now(primary)?)?;
            Some([primary.before()?.mean, now.mean])
        });
        let lost = it.largest_losses().into_iter().filter_map(|of| {
            Some(LostQuery {
                query: of.query.to_string(),
                before: of.before(),
                now: of.now()?.mean,
            })
        });
        Self {
            id: it.id,
            alarmed_at: it.alarmed_at,
            means,
            queries: lost.take(MAX_LOST).collect(),
            title: it.title(),
            variant: it.variant.to_string(),
            measure: it
                .measures
                .first()
                .map_or_else(String::new, |primary| primary.measure.to_string()),
            subject: it.subject().name(),
            class: it.class.name(),
            severity: it.severity().name(),
            ended_by: ended.map(|ended| ended.by.name()),
            ended_after: ended.and_then(|ended| ended.after.as_deref().map(str::to_owned)),
        }
    }
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
    pub fn of(snapshot: &Snapshot, names: &Names) -> Self {
        let model = names.read(snapshot);
        let by_kind = Kind::ALL.into_iter().map(|kind| (kind.name(), kind));
        let lags = model.partitions().iter().flat_map(|status| status.lag);
        Self {
            received: by_kind
                .clone()
                .map(|(name, kind)| (name, model.received(kind)))
                .collect(),
            outcomes: by_kind
                .clone()
                .map(|(name, kind)| (name, model.outcomes(kind).into_iter().collect()))
                .collect(),
            pending: by_kind
                .map(|(name, kind)| (name, model.pending(kind)))
                .collect(),
            lag: lags.flatten().sum(),
            variants: variants(&model),
            incidents: snapshot
                .totals
                .evidence
                .incidents()
                .map(IncidentLine::of)
                .collect(),
            times: model
                .wall()
                .zip(model.newest())
                .map(|(wall, newest)| Times { wall, newest }),
        }
    }
}

/// Name of the measure that the demo puts first: nDCG@10, or the first configured one.
pub(super) fn headline_measure(settings: &Settings) -> String {
    let mut measures = settings.measures.iter().map(ToString::to_string);
    let first = measures.clone().next().unwrap_or_default();
    measures.find(|it| it == HEADLINE).unwrap_or(first)
}

fn variants(model: &ReadModel<'_>) -> BTreeMap<String, Variant> {
    let settings = model.settings();
    let headline = headline_measure(settings);
    let mut windows = settings.windows.iter();
    let window = windows.position(|window| window.name == WINDOW);
    let variants = model.variants();
    let variants = variants.map(|it| {
        (
            it.variant.to_owned(),
            variant(model, &it, window, &headline),
        )
    });
    variants.collect()
}

/// Results of one variant. `window` is the position of the last minute, if it is configured.
fn variant(
    model: &ReadModel<'_>,
    of: &ScoreSeries<'_>,
    window: Option<usize>,
    headline: &str,
) -> Variant {
    let recent = |measure| model.rolling(measure, of.series, window?);
    let recent_count = |measure| recent(measure).map_or(0, |cell| cell.count);
    let measures = || model.measures().iter().enumerate();
    let headline = model.measure(headline);
    let total = headline.and_then(|measure| model.tally(measure, of.series));
    let latency = || {
        let mut latencies = model.latencies(window?);
        let whole = latencies.find(|it| it.is_whole() && it.variant == of.label)?;
        Some([whole.milliseconds(0.5)?, whole.milliseconds(0.95)?])
    };
    let cost = || {
        let costs = model.costs(window?).filter(|it| it.variant == of.label);
        costs.filter_map(|it| it.cost.mean()).last()
    };
    Variant {
        searches: model.searches(of.series),
        searches_per_second: window
            .and_then(|window| model.searches_per_second(of.series, window))
            .unwrap_or(0.0),
        means: measures()
            .filter_map(|(measure, name)| {
                Some((name.clone(), model.tally(measure, of.series)?.mean()?))
            })
            .collect(),
        last_minute: measures()
            .filter_map(|(measure, name)| Some((name.clone(), recent(measure)?.mean()?)))
            .collect(),
        headline: total.map_or_else(ScoreTotal::default, |tally| ScoreTotal {
            count: real(tally.count),
            sum: Nano::sum_to_f64(tally.sum),
        }),
        headline_count: headline.map_or(0, recent_count),
        // Every finalised search has a score in this measure.
        finalised: model.measure("Converted").map_or(0, recent_count),
        latency_ms: latency(),
        cost_per_query: cost(),
    }
}
