//! Tables of `backtest --simulate`: promised against observed, on the traffic models.

use anyhow::anyhow;
use serde::Serialize;

use super::arguments::TestArguments;
use super::simulation::SimulatedTable;
use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::output::{Format, OutputFormat, note};
use crate::cli::threads::start_threads;
use rankgauge_lab::simulation::{
    DROPS, Delay, FREQUENT_ALPHAS, FREQUENT_MINUTES, FalseAlarmCount, Found, LIMITS, Listed, Model,
    Report, Row, SEARCHES, Setup, Table, USERS, hold_against_promise, table, violations,
};

/// Number of streams of a model. Over all models of searches, they are enough to show with 95 %
/// confidence that fewer than 2 in 1000 streams raise a false alarm.
pub(super) const DEFAULT_STREAMS: u32 = 240;

/// Name of the models beyond the assumptions. They have no promise.
const LIMITS_NAME: &str = "beyond the assumptions";

const MINUTES_PER_DAY: f64 = 1_440.0;

/// Results on a group of models.
#[derive(Serialize)]
struct Group {
    name: &'static str,
    #[serde(flatten)]
    report: Report,
    /// Promises that are not shown to hold. `None` for models beyond the assumptions.
    violations: Option<Vec<String>>,
    #[serde(skip)]
    models: Vec<Model>,
}

/// Groups of models of dependent traffic.
const GROUPS: [(&str, &[Model]); 3] = [
    ("searches", &SEARCHES),
    ("user measures", &USERS),
    (LIMITS_NAME, &LIMITS),
];

/// Part of the report.
#[derive(Serialize)]
#[serde(untagged)]
enum Part {
    Group(Group),
    Table(Table),
}

/// Runs the simulation of models whose name contains `model`, on a number of streams with a seed.
pub(super) fn run(
    tables: &[SimulatedTable],
    (model, streams, seed): (&str, u32, u64),
    test_arguments: &TestArguments,
    format: Format,
) -> Result<(), Failure> {
    let accepted = test_arguments.false_alarms();
    let setup = Setup {
        streams,
        seed,
        burst: test_arguments.burst(),
        alpha: test_arguments.alpha,
        minutes: accepted.minutes(),
        epsilon: test_arguments.epsilon,
        warm_up_tolerance: test_arguments.warm_up_tolerance,
    };
    start_threads();
    let mut parts = Vec::new();
    for wanted in tables {
        match wanted.subject() {
            None => parts.extend(groups(model, &setup).into_iter().map(Part::Group)),
            Some(subject) => {
                let simulated = table(subject, model, &setup, |row: &Row| {
                    simulated(&row.traffic);
                });
                parts.extend(simulated.map(Part::Table));
            }
        }
    }
    if parts.is_empty() {
        let models = GROUPS.iter().flat_map(|(_, models)| *models);
        let models: Vec<&str> = models.map(|it| it.name).collect();
        return Err(Failure::Usage(anyhow!(
            "no traffic model of these tables has \"{model}\" in its name; the models of the table \
             `drop` are: {}",
            models.join("; ")
        )));
    }
    OutputFormat { format }.print(|| text(&parts, &setup), &parts)
}

fn simulated(model: &str) {
    note(&format!("simulated: {model}\n"));
}

/// Results on the models of dependent traffic.
fn groups(model: &str, setup: &Setup) -> Vec<Group> {
    let mut groups = Vec::new();
    for (name, models) in GROUPS {
        let is_meant = |it: &&Model| it.name.contains(model);
        let models: Vec<Model> = models.iter().filter(is_meant).copied().collect();
        if models.is_empty() {
            continue;
        }
        let report = hold_against_promise(&models, setup, |result| simulated(result.model));
        let violations = (name != LIMITS_NAME).then(|| violations(&models, &report));
        groups.push(Group {
            name,
            report,
            violations,
            models,
        });
    }
    groups
}

fn text(parts: &[Part], setup: &Setup) -> String {
    let mut page = Page::default();
    let groups: Vec<&Group> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Group(group) => Some(group),
            Part::Table(_) => None,
        })
        .collect();
    if !groups.is_empty() {
        text_of_groups(&mut page, &groups, setup);
    }
    for part in parts {
        if let Part::Table(table) = part {
            text_of_table(&mut page, table);
        }
    }
    page.into_text()
}

/// Adds a Markdown table of results, and its violations.
fn text_of_table(page: &mut Page, table: &Table) {
    let has_methods = table.rows.iter().any(|row| row.method.is_some());
    let has_found = table.rows.iter().any(|row| !row.found.is_empty());
    let has_listed = table
        .rows
        .iter()
        .any(|row| row.found.iter().any(|found| found.listed.is_some()));
    let is_practice = table
        .rows
        .iter()
        .any(|row| row.false_alarms_a_week.is_some());
    let has_classes = table.rows.iter().any(|row| !row.classes.is_empty());
    let mut head = vec!["traffic".to_owned()];
    head.extend(has_methods.then(|| "method".to_owned()));
    head.push("streams".to_owned());
    if is_practice {
        head.push("false alarms a week".to_owned());
    } else {
        let levels = table.levels.iter();
        head.extend(levels.map(|level| format!("false alarms, {level}")));
    }
    head.extend(has_found.then(|| "effect".to_owned()));
    head.extend(has_found.then(|| format!("median {} (found of)", table.unit)));
    head.extend(has_listed.then(|| "listed".to_owned()));
    head.extend(has_classes.then(|| "class".to_owned()));
    page.lines(format_args!("{}.", table.title));
    page.gap();
    page.lines(format_args!("| {} |", head.join(" | ")));
    page.lines(format_args!("|{}", "---|".repeat(head.len())));
    for row in &table.rows {
        let mut cells = vec![row.traffic.clone()];
        cells.extend(has_methods.then(|| row.method.unwrap_or("sidecar").to_owned()));
        cells.push(row.streams.to_string());
        if is_practice {
            cells.push(format!(
                "{:.1}",
                row.false_alarms_a_week.unwrap_or_default()
            ));
        } else {
            let counted = row.false_alarms.iter().map(count);
            let missing = table.levels.len().saturating_sub(row.false_alarms.len());
            cells.extend(counted.chain(vec![String::new(); missing]));
        }
        let each = |of: &dyn Fn(&Found) -> String| {
            let cells: Vec<String> = row.found.iter().map(of).collect();
            cells.join(" / ")
        };
        if has_found {
            cells.push(each(&|found| found.size.to_string()));
            cells.push(each(&|found| {
                let median = number(found.median.unwrap_or(f64::INFINITY));
                if found.found == found.of {
                    median
                } else {
                    format!("{median} ({} of {})", found.found, found.of)
                }
            }));
        }
        if has_listed {
            cells.push(each(&|found| found.listed.map_or("-".to_owned(), number)));
        }
        if has_classes {
            let classes = row.classes.iter();
            let classes: Vec<String> = classes
                .map(|(name, count)| format!("{count} {name}"))
                .collect();
            cells.push(classes.join(", "));
        }
        page.lines(format_args!("| {} |", cells.join(" | ")));
    }
    page.gap();
    let together = table.together.iter().map(count);
    let together: Vec<String> = together.collect();
    if !together.is_empty() && !is_practice {
        page.lines(format_args!(
            "False alarms of the rows with a promise together: {}.",
            together.join(", ")
        ));
    }
    if !table.violations.is_empty() {
        page.lines(format_args!("Not shown to hold:"));
        page.items(&table.violations, usize::MAX, Clone::clone);
    }
    page.gap();
}

fn text_of_groups(page: &mut Page, groups: &[&Group], setup: &Setup) {
    for group in groups {
        for (test, promise) in [
            (
                "Target test",
                format!(
                    "a share of {}, {} and {} of the streams",
                    setup.alpha, FREQUENT_ALPHAS[0], FREQUENT_ALPHAS[1]
                ),
            ),
            (
                "Drop test",
                format!(
                    "one in {:.0}, {:.0} and {:.0} days of a series",
                    setup.minutes / MINUTES_PER_DAY,
                    FREQUENT_MINUTES[0] / MINUTES_PER_DAY,
                    FREQUENT_MINUTES[1] / MINUTES_PER_DAY
                ),
            ),
        ] {
            let is_target = test == "Target test";
            page.lines(format_args!(
                "{test}, {}. Promised false alarms: {promise}.",
                group.name
            ));
            page.gap();
            group_table(page, group, is_target);
            page.gap();
        }
        summary(page, group);
        page.gap();
    }
    let [d1, d2, d3, d4] = DROPS;
    page.lines(format_args!(
        "False alarms: healthy streams with an alarm; in brackets the number that is not exceeded with\n\
         95 % confidence, and the promised number. Delays: median minutes to the alarm after drops of\n\
         {d1} / {d2} / {d3} / {d4}; of the drop test among streams without an alarm before the drop."
    ));
    page.gap();
}

/// Adds a Markdown table of one of the tests.
fn group_table(page: &mut Page, group: &Group, is_target: bool) {
    let heads: &[&str] = if is_target {
        &["delays", "delays listed"]
    } else {
        &[
            "delays in the warm-up",
            "listed",
            "delays after it",
            "delays after it listed",
        ]
    };
    page.lines(format_args!(
        "| traffic | streams × searches | false alarms, level 1 | level 2 | level 3 | {} |",
        heads.join(" | ")
    ));
    page.lines(format_args!("|{}", "---|".repeat(5 + heads.len())));
    for (model, result) in group.models.iter().zip(&group.report.models) {
        let listed = |of: fn(&Listed) -> [Option<f64>; 4]| {
            let listed = model.listed.as_ref().map(of);
            let is_listed = |it: &[Option<f64>; 4]| it.iter().any(Option::is_some);
            listed
                .filter(is_listed)
                .map_or("-".to_owned(), listed_minutes)
        };
        let (test, cells) = if is_target {
            let test = &result.target;
            (test, vec![minutes(&test.delays), listed(|it| it.target)])
        } else {
            let cells = vec![
                minutes(&result.drop.delays),
                listed(|it| it.drop),
                minutes(&result.after_warm_up),
                listed(|it| it.after_warm_up),
            ];
            (&result.drop, cells)
        };
        page.lines(format_args!(
            "| {} | {} × {:.0}k | {} | {} |",
            result.model,
            result.streams,
            result.searches / 1000.0,
            counts(&test.false_alarms),
            cells.join(" | ")
        ));
    }
    let all = if is_target {
        &group.report.target
    } else {
        &group.report.drop
    };
    page.lines(format_args!(
        "| **together** | {} × {:.0}k | {} |{}",
        group.report.streams,
        group.report.searches / f64::from(group.report.streams.max(1)) / 1000.0,
        counts(all),
        " |".repeat(heads.len())
    ));
}

/// Adds a statement whether the promises hold.
fn summary(page: &mut Page, group: &Group) {
    let Some(violations) = &group.violations else {
        page.lines(format_args!("{}: no promise.", group.name));
        return;
    };
    if violations.is_empty() {
        page.lines(format_args!(
            "{}: every promise holds: false alarms at most twice the promise with 95 % confidence;\n\
             no median delay is shown to exceed 1.3 (target) or 1.15 times (drop) the listed one (95 % confidence).",
            group.name
        ));
        return;
    }
    page.lines(format_args!("{}: not shown to hold:", group.name));
    page.items(violations, usize::MAX, Clone::clone);
}

/// Cells of a table: the false alarms at each level.
fn counts(counts: &[FalseAlarmCount]) -> String {
    let cells = counts.iter().map(count);
    cells.collect::<Vec<_>>().join(" | ")
}

fn count(count: &FalseAlarmCount) -> String {
    format!(
        "{} (≤ {:.1}; {:.1})",
        count.observed, count.at_most, count.promised
    )
}

fn minutes(delays: &[Delay; 4]) -> String {
    let texts = delays.map(|delay| number(delay.median.unwrap_or(f64::INFINITY)));
    texts.join(" / ")
}

fn listed_minutes(listed: [Option<f64>; 4]) -> String {
    let texts = listed.map(|listed| listed.map_or("-".to_owned(), number));
    texts.join(" / ")
}

/// Delay with two or three digits; infinite without an alarm.
fn number(delay: f64) -> String {
    match delay {
        delay if delay.is_infinite() => "never".to_owned(),
        delay if delay < 10.0 => format!("{delay:.1}"),
        delay => format!("{delay:.0}"),
    }
}
