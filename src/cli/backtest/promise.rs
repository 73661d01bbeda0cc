//! Table of `backtest --simulate`: promised against observed, on the traffic models.

use anyhow::anyhow;
use serde::Serialize;

use super::arguments::TestArguments;
use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::output::{Format, OutputFormat, note};
use crate::cli::threads::start_threads;
use rankgauge_lab::simulation::{
    DROPS, FREQUENT_ALPHAS, FREQUENT_MINUTES, FalseAlarmCount, LIMITS, Model, ModelResult, Report,
    SEARCHES, Setup, TestResult, USERS, hold_against_promise, violations,
};

/// Number of streams of a model. Over all models of searches, they are enough to show with 95 %
/// confidence that fewer than 2 in 1000 streams raise a false alarm.
pub(super) const DEFAULT_STREAMS: u32 = 240;

/// Name of the models beyond the assumptions. They have no promise.
const LIMITS_NAME: &str = "beyond the assumptions";

/// Minutes of a day.
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

/// Runs the simulation.
pub(super) fn run(
    model: &str,
    streams: u32,
    seed: u64,
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
    let mut groups = Vec::new();
    let all = [
        ("searches", &SEARCHES[..]),
        ("user measures", &USERS[..]),
        (LIMITS_NAME, &LIMITS[..]),
    ];
    for (name, models) in all {
        let is_meant = |it: &&Model| it.name.contains(model);
        let models: Vec<Model> = models.iter().filter(is_meant).copied().collect();
        if models.is_empty() {
            continue;
        }
        let report = hold_against_promise(&models, &setup, |result| {
            note(&format!("simulated: {}\n", result.model));
        });
        let violations = (name != LIMITS_NAME).then(|| violations(&models, &report));
        groups.push(Group {
            name,
            report,
            violations,
            models,
        });
    }
    if groups.is_empty() {
        let all = all.iter().flat_map(|(_, models)| *models);
        let all: Vec<&str> = all.map(|it| it.name).collect();
        return Err(Failure::Usage(anyhow!(
            "no traffic model has \"{model}\" in its name; the models are: {}",
            all.join("; ")
        )));
    }
    OutputFormat { format }.print(|| text(&groups, &setup), &groups)
}

fn text(groups: &[Group], setup: &Setup) -> String {
    let mut page = Page::default();
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
            table(&mut page, group, is_target);
            page.gap();
        }
        summary(&mut page, group);
        page.gap();
    }
    page.lines(format_args!(
        "False alarms: healthy streams with an alarm; in brackets the number that is not exceeded with\n\
         95 % confidence, and the promised number. Delays: median minutes to the alarm after drops of\n\
         {} / {} / {}; of the drop test among streams without an alarm before the drop.",
        DROPS[0], DROPS[1], DROPS[2]
    ));
    page.into_text()
}

/// Adds a Markdown table of one of the tests.
fn table(page: &mut Page, group: &Group, is_target: bool) {
    let of = |result: &ModelResult| -> TestResult {
        if is_target {
            result.target
        } else {
            result.drop
        }
    };
    page.lines(format_args!(
        "| traffic | streams × searches | false alarms, level 1 | level 2 | level 3 | delays | delays listed |"
    ));
    page.lines(format_args!("|---|---|---|---|---|---|---|"));
    for (model, result) in group.models.iter().zip(&group.report.models) {
        let listed = model.listed.map(|listed| {
            if is_target {
                listed.target
            } else {
                listed.drop
            }
        });
        let test = of(result);
        page.lines(format_args!(
            "| {} | {} × {:.0}k | {} | {} | {} |",
            result.model,
            result.streams,
            result.searches / 1000.0,
            counts(&test.false_alarms),
            minutes(test.delays),
            listed.map_or_else(|| "-".to_owned(), minutes)
        ));
    }
    let all = if is_target {
        &group.report.target
    } else {
        &group.report.drop
    };
    page.lines(format_args!(
        "| **together** | {} × {:.0}k | {} | | |",
        group.report.streams,
        group.report.searches / f64::from(group.report.streams.max(1)) / 1000.0,
        counts(all)
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
             no median delay is shown to exceed 1.3 times the listed one (95 % confidence).",
            group.name
        ));
        return;
    }
    page.lines(format_args!("{}: not shown to hold:", group.name));
    page.items(violations, usize::MAX, Clone::clone);
}

/// Cells of a table: the false alarms at each level.
fn counts(counts: &[FalseAlarmCount]) -> String {
    let cells = counts.iter().map(|count| {
        format!(
            "{} (≤ {:.1}; {:.1})",
            count.observed, count.at_most, count.promised
        )
    });
    cells.collect::<Vec<_>>().join(" | ")
}

fn minutes(delays: [Option<f64>; 3]) -> String {
    let texts = delays.map(|delay| match delay {
        None => "never".to_owned(),
        Some(delay) if delay < 10.0 => format!("{delay:.1}"),
        Some(delay) => format!("{delay:.0}"),
    });
    texts.join(" / ")
}
