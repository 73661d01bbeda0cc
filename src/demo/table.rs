//! View of the demo as plain text: for a pipe, a file, and the summary at the end.

use std::fmt::Write as _;

use super::history::{History, Story};
use super::screen::Context;
use super::setting::Library;
use super::view::{IncidentLine, Variant, View};
use rankgauge_core::event::Kind;
use rankgauge_core::text::count_of;
use rankgauge_eval::text_layout::{Column, TextTable};

/// Measures of the table, as configured by the law-search profile. With the other columns, they fit
/// a terminal of 80 characters.
const COLUMNS: [&str; 5] = ["P@5", "R@10", "nDCG@10", "RR", "CTR"];

/// Least width of the names of variants.
const NAME_WIDTH: usize = 7;

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

/// The whole view.
pub(super) fn text(view: &View, history: &History, context: &Context) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let written = write(&mut text, view, history, context);
    debug_assert!(written.is_ok());
    text
}

fn write(text: &mut String, view: &View, history: &History, context: &Context) -> std::fmt::Result {
    writeln!(
        text,
        "rankgauge demo: {}; the last minute\n",
        context.library.title()
    )?;
    write!(text, "{}", quality(view))?;
    write!(text, "{}", components(view, context.library))?;
    write!(text, "{}", feedback(view))?;
    writeln!(text)?;
    for kind in Kind::ALL {
        writeln!(text, "{}", outcomes(view, kind))?;
    }
    writeln!(text, "lag       {} records", view.lag)?;
    let story = history.story();
    if !course(&story).is_empty() {
        writeln!(text, "{}", course(&story))?;
    }
    for incident in &view.incidents {
        writeln!(text, "{}", incident_line(incident))?;
    }
    if let Some(expectation) = &context.expectation {
        writeln!(text, "expected  {expectation}")?;
    }
    if let Some(page) = &context.page {
        writeln!(text, "open      {page}")?;
    }
    let metrics = context.metrics;
    writeln!(
        text,
        "try       curl -s http://{metrics}/metrics | grep nDCG@10"
    )?;
    writeln!(text, "next      point it at your cluster: see README.md")?;
    writeln!(text, "stop      Ctrl-C")
}

/// Results at the end: the tables, the outcomes and the course of the drop.
pub(super) fn summary(view: &View, history: &History, context: &Context) -> String {
    let text = text(view, history, context);
    let is_instruction = |line: &&str| {
        let words = ["open ", "try ", "next ", "stop "];
        !words.iter().any(|word| line.starts_with(word))
    };
    let lines: Vec<&str> = text.lines().filter(is_instruction).collect();
    lines.join("\n") + "\nnext      point it at your cluster: see README.md\n"
}

/// Course of the planned drop in one sentence; empty if none is planned.
pub(super) fn course(story: &Story) -> String {
    match story {
        Story::Unplanned => String::new(),
        Story::Planned(planned, left) => {
            let seconds = (left.0 + 999) / 1_000;
            let [before, _, watch] = planned.scenario.change(planned.system);
            format!("{before} in {seconds} s: {watch}.")
        }
        Story::Undetected {
            planned,
            since,
            searches,
            since_end,
        } => {
            let (seconds, system) = (since.0 / 1_000, planned.system);
            let [_, after, _] = planned.scenario.change(system);
            let alarm = match (planned.scenario.expects_alarm(), since_end) {
                (true, None) => "no alarm yet".to_owned(),
                (true, Some(end)) => format!("this ended {} s ago without an alarm", end.0 / 1_000),
                (false, None) => "no alarm, as expected".to_owned(),
                (false, Some(end)) => {
                    format!("this ended {} s ago; no alarm, as expected", end.0 / 1_000)
                }
            };
            let searches = count_of(*searches, "search", "searches");
            format!("{after} {seconds} s ago ({searches} of {system}); {alarm}.")
        }
        Story::Found(found) => found.sentence(),
    }
}

/// Number of records of a kind and their outcomes.
pub(super) fn outcomes(view: &View, kind: Kind) -> String {
    let kind = kind.name();
    let outcomes = view.outcomes[kind].iter().filter(|(_, count)| **count > 0);
    let outcomes: String = outcomes
        .flat_map(|(outcome, count)| [" ".to_owned(), count.to_string(), format!(" {outcome},")])
        .collect();
    let (received, pending) = (view.received[kind], view.pending[kind]);
    format!("{kind:<9} {received} received:{outcomes} {pending} pending")
}

pub(super) fn incident_line(it: &IncidentLine) -> String {
    let IncidentLine {
        variant, measure, ..
    } = it;
    let what = match it.subject {
        "answer" => "incident of answers",
        _ => "incident",
    };
    let state = match (it.ended_by, &it.ended_after) {
        (None, _) => "open".to_owned(),
        (Some(by), None) => format!("ended: {by}"),
        (Some(by), Some(version)) => format!("ended: {by} after {version}"),
    };
    let when = it.ended_by.map_or("now", |_| "at the end");
    let size = it.means.map_or_else(String::new, |[before, after]| {
        format!(" {before:.3} → {after:.3} {when}")
    });
    format!(
        "{:<NAME_WIDTH$} {what}: {measure}{size}, {}, {}; {state}",
        shown_name(variant),
        it.class,
        it.severity
    )
}

/// Name of a variant; words for the searches without one.
pub(super) fn shown_name(variant: &str) -> &str {
    if variant.is_empty() {
        "no variant"
    } else {
        variant
    }
}

/// Table of search quality, latency and cost.
fn quality(view: &View) -> TextTable {
    let mut columns = vec![
        Column::left(0, NAME_WIDTH),
        Column::right(1, 8),
        Column::right(1, 5),
    ];
    columns.extend(COLUMNS.map(|_| Column::right(1, 7)));
    columns.extend([Column::right(1, 7), Column::right(1, 8)]);
    let mut table = TextTable::new(columns);
    let header = ["variant", "searches", "/s"].into_iter();
    table.row(header.chain(COLUMNS).chain(["p95 ms", "USD/1000"]));
    for (name, variant) in &view.variants {
        let p95 = variant.latency_ms.map(|[_, p95]| p95);
        let cost = variant.cost_per_query.map(|cost| cost * 1_000.0);
        let mut cells = vec![
            shown_name(name).to_owned(),
            variant.searches.to_string(),
            format!("{:.1}", variant.searches_per_second),
        ];
        cells.extend(COLUMNS.map(|measure| mean(variant, measure)));
        cells.extend([number(p95, 0), number(cost, 3)]);
        table.row(cells);
    }
    table
}

/// Table of component contributions.
pub(super) fn components(view: &View, library: Library) -> TextTable {
    let shown = library.components();
    let mut columns = vec![Column::left(0, NAME_WIDTH)];
    columns.extend(shown.iter().map(|_| Column::right(1, 9)));
    let mut table = TextTable::new(columns);
    table.row(
        [""].into_iter()
            .chain(shown.iter().map(|(title, _)| *title)),
    );
    for (name, variant) in &view.variants {
        let means = shown.iter().map(|(_, measure)| mean(variant, measure));
        table.row([shown_name(name).to_owned()].into_iter().chain(means));
    }
    table
}

/// Table of user feedback.
pub(super) fn feedback(view: &View) -> TextTable {
    let mut columns = vec![Column::left(0, NAME_WIDTH), Column::right(1, 8)];
    columns.extend(FEEDBACK_COLUMNS.map(|_| Column::right(1, 8)));
    let mut table = TextTable::new(columns);
    let header = ["users", "searches"].into_iter();
    table.row(header.chain(FEEDBACK_COLUMNS.map(|(title, _)| title)));
    for (name, variant) in &view.variants {
        let cells = [shown_name(name).to_owned(), variant.finalised.to_string()].into_iter();
        table.row(cells.chain(FEEDBACK_COLUMNS.map(|(_, measure)| mean(variant, measure))));
    }
    table
}

/// Mean of a measure over the last minute.
fn mean(variant: &Variant, measure: &str) -> String {
    number(variant.last_minute.get(measure).copied(), 3)
}

/// Formats a number, or a dash if there is none.
pub(super) fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::super::history::PlannedDrop;
    use super::super::setting::Scenario;
    use super::super::view::IncidentLine;
    use super::*;
    use rankgauge_core::time::{EventTime, Millis, WallTime};

    #[test]
    fn a_change_that_has_ended_without_an_alarm_is_no_present_one() {
        let at = |since_end| {
            course(&Story::Undetected {
                planned: PlannedDrop {
                    wall: WallTime(0),
                    end: Some(WallTime(50_000)),
                    event: EventTime(0),
                    scenario: Scenario::Answers,
                    system: "rerank",
                },
                since: Millis(85_000),
                searches: 1,
                since_end,
            })
        };
        let now = at(None);
        assert!(
            now.ends_with("(1 search of rerank); no alarm yet."),
            "{now}"
        );
        let after = at(Some(Millis(35_000)));
        let end = "this ended 35 s ago without an alarm.";
        assert!(after.ends_with(end), "{after}");
    }

    #[test]
    fn a_name_of_seven_letters_has_a_space_before_its_incident() {
        let line = IncidentLine {
            id: 1,
            alarmed_at: EventTime(0),
            means: None,
            queries: Vec::new(),
            title: "keyword got worse".to_owned(),
            variant: "keyword".to_owned(),
            measure: "nDCG@10".to_owned(),
            subject: "ranking",
            class: "worse",
            severity: "critical",
            ended_by: None,
            ended_after: None,
        };
        let text = incident_line(&line);
        assert!(text.starts_with("keyword incident: nDCG@10"), "{text}");
        let unnamed = IncidentLine {
            variant: String::new(),
            ..line
        };
        let text = incident_line(&unnamed);
        assert!(text.starts_with("no variant incident: "), "{text}");
    }
}
