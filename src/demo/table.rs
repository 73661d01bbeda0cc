//! View of the demo: measures by variant, drawn on the terminal or printed as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;

use crossterm::cursor::MoveToColumn;
use crossterm::cursor::MoveUp;
use crossterm::execute;
use crossterm::terminal::{Clear, ClearType};
use serde::Serialize;

use super::DemoOptions;
use crate::expose::collect::Names;
use crate::ingest::regressions::Regression;
use rankgauge_core::engine::evidence::Test;
use rankgauge_core::engine::family;
use rankgauge_core::engine::fixed::{NANO_DECIMALS, count_to_f64, units_to_f64};
use rankgauge_core::engine::registry::{Dimension, OTHER};
use rankgauge_core::engine::scores::{SEARCHES, column_of};
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::event::Kind;
use rankgauge_offline::text_layout::{Column, TextTable};

/// Measures of the table, as configured by the law-search profile. With the other columns, they fit
/// a terminal of 80 characters.
const COLUMNS: [&str; 5] = ["P@5", "R@10", "nDCG@10", "RR", "CTR"];

/// Columns of the second table with their measures in the profile: discovery by expansion (RNE) and
/// agents (A2A) alone and the precision of their results, accuracy of the A2A trigger, recall of
/// decrees and rules, and routing to the correct domain.
const COMPONENT_COLUMNS: [(&str, &str); 7] = [
    ("RNE new", "Discovery(rne)"),
    ("RNE P", "ComponentP(rne)"),
    ("A2A new", "Discovery(a2a,when=fired)"),
    ("A2A P", "ComponentP(a2a,when=fired)"),
    ("A2A trig.", "Trigger(a2a)"),
    ("cross-law", "FacetR(law_type!=법률)"),
    ("routed", "Routing@1"),
];

/// Columns of the third table: user feedback on the searches whose feedback window has passed. The
/// column before them is the number of these searches.
const FEEDBACK_COLUMNS: [(&str, &str); 7] = [
    ("SAT", "SAT"),
    ("convert", "Converted"),
    ("gave up", "Abandoned"),
    ("reworded", "Reformulated"),
    ("thumbs", "ThumbsUp"),
    ("rating", "Rating"),
    ("sessions", "SessionSuccess"),
];

/// Number of rows that all tables need. On a smaller terminal, the second and the third alternate.
const MIN_ROWS: u16 = 31;

/// Number of views for which each of them is shown.
const VIEWS_PER_TABLE: u32 = 20;

/// Interval between written views, in views, if the output is not a terminal.
const PLAIN_OUTPUT_INTERVAL: u32 = 20;

/// Window of the table, short enough to show a drop soon.
const WINDOW: &str = "1m";

/// Current results of the demo.
#[derive(Debug, Serialize)]
pub(super) struct View {
    /// Number of records received, by kind.
    received: BTreeMap<&'static str, u64>,
    /// Number of records by kind and outcome.
    outcomes: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    /// Number of searches that wait for feedback, and of feedback events that wait for their
    /// search.
    pending: BTreeMap<&'static str, u64>,
    /// Number of records still to be read.
    lag: u64,
    /// Results by variant.
    variants: BTreeMap<String, Variant>,
    /// Reported regressions, one sentence each. Their time depends on the speed of the workers;
    /// they are not serialised because a summary is the same for the same seed.
    #[serde(skip)]
    regressions: BTreeMap<(String, String), String>,
}

/// Results of one variant.
#[derive(Debug, Default, Serialize)]
struct Variant {
    searches: u64,
    searches_per_second: f64,
    /// Means since the start.
    means: BTreeMap<String, f64>,
    /// Means over the last minute.
    last_minute: BTreeMap<String, f64>,
    /// Number of searches in the last minute's measures of user feedback.
    finalised: u64,
    /// Median and 95th percentile of the last minute's latency, in milliseconds.
    latency_ms: Option<[f64; 2]>,
    /// Mean cost of a search of the last minute, in US dollars.
    cost_per_query: Option<f64>,
}

impl Variant {
    /// Mean of a measure over the last minute.
    fn mean(&self, measure: &str) -> String {
        number(self.last_minute.get(measure).copied(), 3)
    }
}

impl View {
    /// Builds the view of a snapshot.
    pub(super) fn of(snapshot: &Snapshot, names: &Names, regressions: &[Regression]) -> Self {
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
            regressions: regressions
                .iter()
                // Missed targets of V1 are expected and not shown.
                .filter(|regression| regression.test == Test::Drop.name())
                .map(regression_line)
                .collect(),
        }
    }
}

/// Formats a regression in one line, with its variant and measure as the key.
fn regression_line(regression: &Regression) -> ((String, String), String) {
    let Regression {
        measure,
        variant,
        recent,
        expected,
        ..
    } = regression;
    let queries = regression.queries.iter().take(3);
    let queries: Vec<&str> = queries.map(|moved| &*moved.query).collect();
    let line = format!(
        "{variant:<7}{measure} fell: about {recent:.3}, was {expected:.3}; {}",
        queries.join(", ")
    );
    ((variant.clone(), measure.clone()), line)
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
        for (index, measure) in measures.iter().enumerate() {
            let tally = row[column_of(index)];
            if tally.count > 0 {
                let mean = units_to_f64(tally.sum, NANO_DECIMALS) / count_to_f64(tally.count);
                entry.means.insert(measure.clone(), mean);
            }
            let recent = rolling.get(number).map(|row| row[column_of(index)]);
            if let Some(mean) = recent.and_then(|cell| cell.mean()) {
                entry.last_minute.insert(measure.clone(), mean);
            }
            // Every finalised search has a score in this measure.
            if measure == "Converted" {
                entry.finalised = recent.map_or(0, |cell| cell.count);
            }
        }
        let recent = rolling.get(number).map_or(0, |row| row[SEARCHES].count);
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

/// Terminal screen on which each view replaces the one before.
#[derive(Debug)]
pub(super) struct Screen {
    address: SocketAddr,
    regression: Option<std::time::Duration>,
    live: bool,
    lines_drawn: u16,
    views: u32,
}

impl Screen {
    /// Empty screen.
    pub(super) fn new(address: SocketAddr, options: &DemoOptions) -> Self {
        Self {
            address,
            regression: options.regress_after,
            live: io::stdout().is_terminal(),
            lines_drawn: 0,
            views: 0,
        }
    }

    /// Draws `view` over the one before. If the output is not a terminal, draws only some views.
    pub(super) fn update(&mut self, view: &View) -> io::Result<()> {
        self.views += 1;
        if self.live || self.views.is_multiple_of(PLAIN_OUTPUT_INTERVAL) {
            self.draw(view)?;
        }
        Ok(())
    }

    /// Draws `view` over the one before.
    pub(super) fn draw(&mut self, view: &View) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let text = self.text(view);
        if self.live && self.lines_drawn > 0 {
            let up = MoveUp(self.lines_drawn);
            execute!(out, up, MoveToColumn(0), Clear(ClearType::FromCursorDown))?;
        }
        self.lines_drawn = u16::try_from(text.lines().count()).unwrap_or(0);
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn text(&self, view: &View) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let written = self.write(view, &mut text);
        debug_assert!(written.is_ok());
        text
    }

    fn write(&self, view: &View, text: &mut String) -> std::fmt::Result {
        writeln!(
            text,
            "rankgauge demo: Korean law search by five system versions; the last minute\n"
        )?;
        write!(text, "{}", quality(view))?;
        let rows = crossterm::terminal::size().map_or(MIN_ROWS, |(_, rows)| rows);
        let takes_turns = self.live && rows < MIN_ROWS;
        let is_first = (self.views / VIEWS_PER_TABLE).is_multiple_of(2);
        if !takes_turns || is_first {
            write!(text, "{}", parts(view))?;
        }
        if !takes_turns || !is_first {
            write!(text, "{}", feedback(view))?;
        }
        writeln!(text)?;
        for kind in Kind::ALL.map(Kind::name) {
            write!(text, "{kind:<9} {} received:", view.received[kind])?;
            for (outcome, count) in view.outcomes[kind].iter().filter(|(_, count)| **count > 0) {
                write!(text, " {count} {outcome},")?;
            }
            writeln!(text, " {} pending", view.pending[kind])?;
        }
        // With this line, two tables fit a terminal of 24 lines.
        writeln!(text, "lag       {} records", view.lag)?;
        for line in view.regressions.values() {
            writeln!(text, "{line}")?;
        }
        if let Some(after) = self.regression.filter(|_| view.regressions.is_empty()) {
            let seconds = after.as_secs();
            writeln!(
                text,
                "V5 gets worse {seconds} s after the start: watch its nDCG@10 and its p95."
            )?;
        }
        writeln!(
            text,
            "try       curl -s http://{}/metrics | grep nDCG@10",
            self.address
        )?;
        writeln!(text, "next      point it at your cluster: see README.md")?;
        writeln!(text, "stop      Ctrl-C")
    }
}

/// Table of search quality, latency and cost.
fn quality(view: &View) -> TextTable {
    let mut columns = vec![Column::left(0, 7), Column::right(1, 8), Column::right(1, 5)];
    columns.extend(COLUMNS.map(|_| Column::right(1, 7)));
    columns.extend([Column::right(1, 7), Column::right(1, 8)]);
    let mut table = TextTable::new(columns);
    let header = ["variant", "searches", "/s"].into_iter();
    table.row(header.chain(COLUMNS).chain(["p95 ms", "USD/1000"]));
    for (name, variant) in &view.variants {
        let p95 = variant.latency_ms.map(|[_, p95]| p95);
        let cost = variant.cost_per_query.map(|cost| cost * 1_000.0);
        let mut cells = vec![
            name.clone(),
            variant.searches.to_string(),
            format!("{:.1}", variant.searches_per_second),
        ];
        cells.extend(COLUMNS.map(|measure| variant.mean(measure)));
        cells.extend([number(p95, 0), number(cost, 3)]);
        table.row(cells);
    }
    table
}

/// Table of component contributions.
fn parts(view: &View) -> TextTable {
    let mut columns = vec![Column::left(0, 7)];
    columns.extend(COMPONENT_COLUMNS.map(|_| Column::right(1, 9)));
    let mut table = TextTable::new(columns);
    table.row(
        [""].into_iter()
            .chain(COMPONENT_COLUMNS.map(|(title, _)| title)),
    );
    for (name, variant) in &view.variants {
        let means = COMPONENT_COLUMNS.map(|(_, measure)| variant.mean(measure));
        table.row([name.clone()].into_iter().chain(means));
    }
    table
}

/// Table of user feedback.
fn feedback(view: &View) -> TextTable {
    let mut columns = vec![Column::left(0, 7), Column::right(1, 8)];
    columns.extend(FEEDBACK_COLUMNS.map(|_| Column::right(1, 8)));
    let mut table = TextTable::new(columns);
    let header = ["users", "searches"].into_iter();
    table.row(header.chain(FEEDBACK_COLUMNS.map(|(title, _)| title)));
    for (name, variant) in &view.variants {
        let cells = [name.clone(), variant.finalised.to_string()].into_iter();
        table.row(cells.chain(FEEDBACK_COLUMNS.map(|(_, measure)| variant.mean(measure))));
    }
    table
}

/// Formats a number, or a dash if there is none.
fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}
