//! Content of the demo's terminal: lines of styled text that fit a size.
//!
//! No line is wider than the terminal, for any text. This module must not know how a
//! line is written to a terminal.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use unicode_width::UnicodeWidthStr;

use super::history::{History, Story};
use super::setting::Library;
use super::table;
use super::view::{Variant, View};
use rankgauge_core::event::Kind;
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::measure::tier;
use rankgauge_core::number::real;
use rankgauge_eval::text_layout::{escape_controls, truncate, wrap};
use rankgauge_serve::target::Target;

/// Size of a terminal in character cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of columns.
    pub columns: u16,
    /// Number of rows.
    pub rows: u16,
}

/// Meaning of a text, which decides its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Ordinary text.
    Plain,
    /// Better than before, or a reached target.
    Good,
    /// Worse than before, or a missed target.
    Bad,
    /// Important text.
    Strong,
    /// Explanations and headers.
    Faint,
}

/// Line of a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line(pub Vec<(String, Tone)>);

impl Line {
    fn of(text: impl Into<String>, tone: Tone) -> Self {
        Self(vec![(text.into(), tone)])
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.0.iter().map(|(text, _)| text.width()).sum()
    }

    /// Adds a text, aligned right in `width` columns.
    fn right(&mut self, text: &str, width: usize, tone: Tone) {
        let space = width.saturating_sub(text.width());
        self.0.push((" ".repeat(space), Tone::Plain));
        self.0.push((text.to_owned(), tone));
    }

    /// Removes what is wider than `width`, and makes control characters visible.
    fn fit(mut self, width: usize) -> Self {
        let mut left = width;
        for (text, _) in &mut self.0 {
            *text = match left {
                0 => String::new(),
                left => truncate(&escape_controls(text), left),
            };
            left = left.saturating_sub(text.width());
        }
        self.0.retain(|(text, _)| !text.is_empty());
        self
    }
}

/// Values of the screen that do not change, except for the messages.
#[derive(Clone, Debug)]
pub struct Context {
    /// Address of the live page, if it is served.
    pub page: Option<String>,
    /// Address of the metrics.
    pub metrics: SocketAddr,
    /// Measure that comes first.
    pub headline: String,
    /// Targets of measures.
    pub targets: Vec<Target>,
    /// Texts of the gold queries by their keys.
    pub queries: BTreeMap<String, String>,
    /// Documents and systems.
    pub library: Library,
    /// Expected results of the scenario, if anything changes.
    pub expectation: Option<String>,
    /// Last warnings of the log.
    pub messages: Vec<String>,
}

/// Measures after the headline measure, as configured by the law-search profile.
const MEASURES: [&str; 3] = ["P@5", "R@10", "RR"];

/// Minimum and maximum width of a sparkline. A cell of the widest one stands for two seconds.
const SPARKLINE: (usize, usize) = (10, 60);

/// Number of views for which each of two alternating tables is shown.
const VIEWS_PER_TABLE: u32 = 20;

/// Maximum number of queries of an alarm that are listed.
const MAX_QUERIES: usize = 5;

/// Lines of the screen for `size`. `views` counts the views shown so far.
pub fn frame(
    view: &View,
    history: &History,
    context: &Context,
    size: Size,
    views: u32,
) -> Vec<Line> {
    let (width, rows) = (usize::from(size.columns), usize::from(size.rows));
    let title = format!(
        "rankgauge demo: {}; the last minute",
        context.library.title()
    );
    let mut head = vec![Line::of(title, Tone::Strong), Line::default()];
    head.extend(quality(view, history, context, width));
    head.push(Line::of(legend(history), Tone::Faint));
    head.push(Line::default());
    let foot = foot(view, context);
    let left = rows.saturating_sub(head.len() + foot.len());
    let mut story = story(view, history, context, width);
    story.truncate(left);
    story.push(Line::default());
    head.append(&mut story);
    let left = rows.saturating_sub(head.len() + foot.len());
    head.extend(further_tables(view, context.library, (width, left), views));
    head.extend(foot);
    head.truncate(rows);
    head.into_iter().map(|line| line.fit(width)).collect()
}

/// Text and meaning of a cell.
type Cell = (String, Tone);

/// Column of the table of search quality.
struct QualityColumn<'a> {
    title: &'a str,
    width: usize,
    cell: CellOf<'a>,
}

/// Cell of a variant, by its name and results.
type CellOf<'a> = Box<dyn Fn(&str, &Variant) -> Cell + 'a>;

impl<'a> QualityColumn<'a> {
    fn new(
        title: &'a str,
        width: usize,
        cell: impl Fn(&str, &Variant) -> Cell + 'a,
    ) -> QualityColumn<'a> {
        QualityColumn {
            title,
            width,
            cell: Box::new(cell),
        }
    }
}

/// Table of search quality with the change and the course of the headline measure.
fn quality(view: &View, history: &History, context: &Context, width: usize) -> Vec<Line> {
    let plain = |text: String| (text, Tone::Plain);
    let headline = context.headline.as_str();
    let measure = |name: &'static str| {
        QualityColumn::new(name, 8, move |_, variant| score(context, name, variant))
    };
    let left = [
        QualityColumn::new("searches", 9, move |_, it| plain(it.searches.to_string())),
        QualityColumn::new(headline, headline.width().max(7) + 2, |_, variant| {
            score(context, headline, variant)
        }),
        QualityColumn::new("change", 10, |name, variant| {
            change(history.baseline(name), variant, headline)
        }),
    ];
    let mut right: Vec<QualityColumn<'_>> = MEASURES.into_iter().map(measure).collect();
    right.push(QualityColumn::new("p95 ms", 8, move |_, variant| {
        plain(table::number(variant.latency_ms.map(|[_, p95]| p95), 0))
    }));
    let optional = [
        measure("CTR"),
        QualityColumn::new("USD/1000", 10, move |_, variant| {
            let cost = variant.cost_per_query.map(|cost| cost * 1_000.0);
            plain(table::number(cost, 3))
        }),
        QualityColumn::new("/s", 6, move |_, variant| {
            plain(format!("{:.1}", variant.searches_per_second))
        }),
    ];
    let names = view.variants.keys().map(|name| table::shown_name(name));
    let name_width = names.map(UnicodeWidthStr::width).max();
    let name_width = name_width.unwrap_or(0).clamp(7, 20);
    let total = |columns: &[QualityColumn<'_>]| columns.iter().map(|it| it.width).sum::<usize>();
    for column in optional {
        let used = name_width + total(&left) + total(&right) + column.width;
        if used + 2 + 2 * SPARKLINE.0 <= width {
            right.push(column);
        }
    }
    let used = name_width + total(&left) + total(&right) + 2;
    let cells = width.saturating_sub(used).clamp(SPARKLINE.0, SPARKLINE.1);
    let cells = u16::try_from(cells).unwrap_or(0);
    let sparklines: BTreeMap<&str, Vec<Option<f64>>> = view
        .variants
        .keys()
        .map(|name| (name.as_str(), history.sparkline(name, cells)))
        .collect();
    let scale = Scale::of(sparklines.values().flatten().copied().flatten());
    let mut header = Line::of(format!("{:<name_width$}", "variant"), Tone::Faint);
    for column in &left {
        header.right(column.title, column.width, Tone::Faint);
    }
    let minutes = format!("  {:<1$}", "two minutes", usize::from(cells));
    header
        .0
        .push((truncate(&minutes, usize::from(cells) + 2), Tone::Faint));
    for column in &right {
        header.right(column.title, column.width, Tone::Faint);
    }
    let mut lines = vec![header];
    for (name, variant) in &view.variants {
        let shown = truncate(&escape_controls(table::shown_name(name)), name_width);
        let space = " ".repeat(name_width.saturating_sub(shown.width()));
        let mut line = Line::of(shown + &space, Tone::Strong);
        for column in &left {
            let (text, tone) = (column.cell)(name, variant);
            line.right(&text, column.width, tone);
        }
        let blocks: String = sparklines[name.as_str()]
            .iter()
            .map(|it| scale.block(*it))
            .collect();
        line.0.push((format!("  {blocks}"), Tone::Plain));
        for column in &right {
            let (text, tone) = (column.cell)(name, variant);
            line.right(&text, column.width, tone);
        }
        lines.push(line);
    }
    lines
}

/// Mean of a measure with the mark of the tier that it reaches.
fn score(context: &Context, measure: &str, variant: &Variant) -> Cell {
    let mean = variant.last_minute.get(measure).copied();
    let text = table::number(mean, 3);
    let targets = context.targets.iter();
    let mut targets: Vec<(&str, f64)> = targets
        .filter(|target| target.measure.to_string() == measure)
        .map(|target| (target.tier.as_str(), target.value))
        .collect();
    let direction = Direction::of(measure);
    let strictness = |it: &(&str, f64)| direction.strictness(it.1);
    targets.sort_by(|a, b| strictness(b).total_cmp(&strictness(a)));
    let Some(mean) = mean.filter(|_| !targets.is_empty()) else {
        return (text + " ", Tone::Plain);
    };
    let reached = |(_, value): &&(&str, f64)| direction.reaches(mean, *value);
    match targets
        .iter()
        .enumerate()
        .find(|(_, target)| reached(target))
    {
        Some((0, (tier, _))) => (format!("{text}{}", tier::mark(Some((tier, 0)))), Tone::Good),
        Some((higher, (tier, _))) => (
            format!("{text}{}", tier::mark(Some((tier, higher)))),
            Tone::Plain,
        ),
        None => (format!("{text}{}", tier::mark(None)), Tone::Bad),
    }
}

/// Change of a mean against its baseline. It is marked if it is larger than three standard errors
/// of a mean of scores from 0 to 1, whose standard deviation is at most 0.5.
fn change(baseline: Option<f64>, variant: &Variant, measure: &str) -> Cell {
    let mean = variant.last_minute.get(measure).copied();
    let (Some(baseline), Some(mean)) = (baseline, mean) else {
        return ("-".to_owned(), Tone::Plain);
    };
    let change = mean - baseline;
    let error = 0.5 / real(variant.headline_count.max(1)).sqrt();
    let text = signed(change);
    if change.abs() <= 3.0 * error {
        (text, Tone::Plain)
    } else if change > 0.0 {
        (format!("▲ {text}"), Tone::Good)
    } else {
        (format!("▼ {text}"), Tone::Bad)
    }
}

/// Formats a difference with its sign. A difference that rounds to 0 has none.
fn signed(change: f64) -> String {
    let digits = format!("{:.3}", change.abs());
    match digits.as_str() {
        "0.000" => digits,
        _ if change < 0.0 => format!("−{digits}"),
        _ => format!("+{digits}"),
    }
}

/// Scale of all sparklines, so that they can be compared with each other.
struct Scale {
    lowest: f64,
    range: f64,
}

impl Scale {
    /// Minimum range: smaller differences are noise.
    const MIN_RANGE: f64 = 0.25;
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (lowest, highest) = values.fold((f64::MAX, f64::MIN), |(lowest, highest), value| {
            (lowest.min(value), highest.max(value))
        });
        Self {
            lowest,
            range: (highest - lowest).max(Self::MIN_RANGE),
        }
    }

    /// Block for a value, or a space if there is none.
    fn block(&self, value: Option<f64>) -> char {
        let Some(value) = value else { return ' ' };
        let share = (value - self.lowest) / self.range;
        let borders = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let reached = borders.into_iter().filter(|border| share * 8.0 >= *border);
        Self::BLOCKS[reached.count()]
    }
}

/// Explanation of the marks.
fn legend(history: &History) -> &'static str {
    match history.story() {
        Story::Undetected { .. } | Story::Found(_) => {
            "● excellent ◐ good ○ acceptable ✗ below  ▲▼ change against the mean before the drop"
        }
        Story::Unplanned | Story::Planned(..) => {
            "● excellent ◐ good ○ acceptable ✗ below  ▲▼ change against the mean before this minute"
        }
    }
}

/// Course of the planned drop, and alarms.
fn story(view: &View, history: &History, context: &Context, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let story = history.story();
    match &story {
        Story::Unplanned => {
            if view.incidents.is_empty() {
                lines.push(Line::of("No alarm was raised.", Tone::Plain));
            }
        }
        Story::Planned(..) | Story::Undetected { .. } => {
            lines.push(Line::of(table::course(&story), Tone::Strong));
        }
        Story::Found(found) => {
            let sentence = wrap(&found.sentence(), width, "▼ ", "  ");
            lines.extend(sentence.lines().map(|line| Line::of(line, Tone::Bad)));
            for query in found.incident.queries.iter().take(MAX_QUERIES) {
                let text = context.queries.get(&query.query);
                lines.push(Line(vec![
                    (format!("  {}  ", query.query), Tone::Strong),
                    (
                        format!("{:.2} → {:.2}  ", query.before, query.now),
                        Tone::Bad,
                    ),
                    (text.cloned().unwrap_or_default(), Tone::Plain),
                ]));
            }
        }
    }
    for incident in &view.incidents {
        lines.push(Line::of(table::incident_line(incident), Tone::Plain));
    }
    if let Some(expectation) = &context.expectation {
        lines.push(Line::of(format!("expected: {expectation}"), Tone::Faint));
    }
    lines
}

/// Tables of components and users, beside each other, below each other or alternating, as the space
/// permits.
fn further_tables(
    view: &View,
    library: Library,
    (width, rows): (usize, usize),
    views: u32,
) -> Vec<Line> {
    let tables =
        [table::components(view, library), table::feedback(view)].map(|table| table.to_string());
    let [components, users] = &tables;
    let height = components.lines().count() + 1;
    let plain = |text: &str| -> Vec<Line> {
        let mut lines: Vec<Line> = text
            .lines()
            .map(|line| Line::of(line, Tone::Plain))
            .collect();
        for (header, tone) in lines.first_mut().into_iter().flat_map(|line| &mut line.0) {
            debug_assert!(!header.is_empty());
            *tone = Tone::Faint;
        }
        lines.push(Line::default());
        lines
    };
    let widest = |text: &str| text.lines().map(str::width).max().unwrap_or(0);
    let beside = widest(components) + 4;
    if rows < height {
        Vec::new()
    } else if beside + widest(users) <= width {
        let lines = components.lines().zip(users.lines());
        let lines = lines.map(|(first, second)| {
            let space = " ".repeat(beside.saturating_sub(first.width()));
            format!("{first}{space}{second}\n")
        });
        plain(&lines.collect::<String>())
    } else if rows >= 2 * height {
        [plain(components), plain(users)].concat()
    } else if (views / VIEWS_PER_TABLE).is_multiple_of(2) {
        plain(components)
    } else {
        plain(users)
    }
}

/// Outcomes of records, addresses and messages.
fn foot(view: &View, context: &Context) -> Vec<Line> {
    let mut lines: Vec<Line> = Kind::ALL
        .into_iter()
        .map(|kind| Line::of(table::outcomes(view, kind), Tone::Plain))
        .collect();
    lines.push(Line::of(
        format!("lag       {} records", view.lag),
        Tone::Plain,
    ));
    if let Some(page) = &context.page {
        lines.push(Line(vec![
            ("open      ".to_owned(), Tone::Plain),
            (page.clone(), Tone::Strong),
            ("  (live page)".to_owned(), Tone::Faint),
        ]));
    }
    let metrics = format!("metrics   http://{}/metrics", context.metrics);
    lines.push(Line::of(metrics, Tone::Plain));
    lines.push(Line::of("stop      Ctrl-C", Tone::Plain));
    let messages = context.messages.iter();
    lines.extend(messages.map(|message| Line::of(message.trim_end(), Tone::Bad)));
    lines
}
