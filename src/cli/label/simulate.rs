//! `label simulate`: bias and coverage of the estimates on synthetic searches.

use clap::Args;
use serde::Serialize;

use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::output::OutputFormat;
use rankgauge_eval::labelling::simulation::{SimulatedCase, SimulationOptions, simulate};
use rankgauge_eval::text_layout::{Column, TextTable};

#[derive(Debug, Args)]
pub(in crate::cli) struct SimulateArguments {
    /// Number of distinct queries.
    #[arg(long, value_name = "N", default_value_t = 30_000, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    queries: u32,
    /// Number of searches.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    searches: u32,
    /// Number of samples of each case.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repetitions: u32,
    /// Number of labels of which the widths are printed; twice as many are looked at.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(20..=5_000))]
    labels: u32,
    /// Seed of all random numbers.
    #[arg(long, value_name = "N", default_value_t = 77)]
    seed: u64,
    #[command(flatten)]
    output_format: OutputFormat,
}

#[derive(Serialize)]
struct Report<'a> {
    measure: &'static str,
    queries: u32,
    searches: u32,
    repetitions: u32,
    labels: u32,
    seed: u64,
    cases: &'a [SimulatedCase],
}

pub(super) fn run(arguments: &SimulateArguments) -> Result<(), Failure> {
    let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let cases = simulate(SimulationOptions {
        queries: size(arguments.queries),
        searches: size(arguments.searches),
        repetitions: size(arguments.repetitions),
        labels: size(arguments.labels),
        seed: arguments.seed,
    });
    let report = Report {
        measure: "P@5",
        queries: arguments.queries,
        searches: arguments.searches,
        repetitions: arguments.repetitions,
        labels: arguments.labels,
        seed: arguments.seed,
        cases: &cases,
    };
    arguments.output_format.print(|| text(&report), &report)
}

fn text(report: &Report<'_>) -> String {
    let mut page = Page::default();
    page.line(format_args!(
        "{} searches of {} queries, {} samples of {} labels, looked at up to {} labels",
        report.searches,
        report.queries,
        report.repetitions,
        report.labels,
        2 * report.labels
    ));
    page.heading("Error, and coverage of the intervals of 95 %");
    let mut table = TextTable::new([
        Column::left(2, 11),
        Column::right(1, 5),
        Column::right(1, 7),
        Column::right(1, 7),
        Column::right(1, 7),
        Column::right(1, 6),
        Column::right(1, 8),
        Column::right(1, 8),
    ]);
    table.row([
        "P@5", "judge", "truth", "judge's", "bias", "covers", "ever out", "any time",
    ]);
    let number = |value: f64| format!("{value:+.3}");
    let judge = |case: &SimulatedCase| {
        let kappa = case.judge_kappa;
        kappa.map_or_else(|| "none".to_owned(), |kappa| format!("{kappa:.1}"))
    };
    for case in report.cases {
        table.row([
            case.kind.to_owned(),
            judge(case),
            number(case.truth),
            case.judge_error.map_or_else(|| "-".to_owned(), number),
            number(case.bias),
            format!("{:.2}", case.covers_once),
            format!("{:.2}", case.ever_outside_once),
            format!("{:.2}", case.ever_outside_any_time),
        ]);
    }
    page.table(&table);
    page.item("judge's: error of the judge alone; covers: looked at once; ever out: the same interval, looked at after each label; any time: the any-time interval, looked at after each label");
    page.heading("Half-width, and labels that are needed for ± 0.05 and ± 0.02: once / any time");
    let mut table = TextTable::new([
        Column::left(2, 11),
        Column::right(1, 5),
        Column::right(1, 7),
        Column::right(1, 7),
        Column::right(1, 15),
        Column::right(1, 15),
    ]);
    table.row(["P@5", "judge", "once", "any", "± 0.05", "± 0.02"]);
    for case in report.cases {
        let [five, two] = case
            .labels_needed
            .map(|[once, any_time]| format!("{once} / {any_time}"));
        table.row([
            case.kind.to_owned(),
            judge(case),
            format!("{:.3}", case.half_width_once),
            format!("{:.3}", case.half_width_any_time),
            five,
            two,
        ]);
    }
    page.table(&table);
    page.into_text()
}
