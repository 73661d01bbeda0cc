//! `gold kappa`: agreement of annotators.

use clap::Args;
use rankgauge_core::measure::Relation;
use rankgauge_core::number::percent;
use serde::Serialize;

use super::input::{Source, failed, number};
use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::output::OutputFormat;
use rankgauge_eval::gold::agreement::{Agreement, Kappa};
use rankgauge_eval::text_layout::{Column, TextTable, count_of};

#[derive(Debug, Args)]
pub(in crate::cli) struct KappaArguments {
    #[command(flatten)]
    source: Source,
    /// Minimum sufficient kappa (unweighted; the mean of all pairs of annotators).
    #[arg(long, value_name = "KAPPA", default_value = "0.7", value_parser = number, allow_negative_numbers = true)]
    threshold: f64,
    /// Number of disagreements in the text output, largest first.
    #[arg(long, value_name = "N", default_value_t = 10)]
    worst: usize,
    #[command(flatten)]
    output_format: OutputFormat,
}

#[derive(Serialize)]
struct Report<'a> {
    /// True if kappa reaches the threshold.
    sufficient: bool,
    threshold: f64,
    #[serde(flatten)]
    agreement: &'a Agreement,
}

pub(super) fn run(arguments: &KappaArguments) -> Result<(), Failure> {
    let set = arguments.source.input.load(&arguments.source.files)?;
    let agreement = Agreement::of(set.queries());
    let threshold = arguments.threshold;
    let report = Report {
        sufficient: agreement
            .kappa
            .is_some_and(|kappa| Relation::AtLeast.holds(kappa, threshold)),
        threshold,
        agreement: &agreement,
    };
    arguments
        .output_format
        .print(|| text(&agreement, threshold, arguments.worst), &report)?;
    match agreement.kappa {
        None => Err(failed(
            "nothing is annotated twice: kappa needs judgements with annotator_1 and annotator_2"
                .to_owned(),
        )),
        Some(kappa) if !report.sufficient => Err(failed(format!(
            "Cohen's kappa is {kappa:.3}, below {threshold}"
        ))),
        Some(_) => Ok(()),
    }
}

fn text(agreement: &Agreement, threshold: f64, worst: usize) -> String {
    let mut page = Page::default();
    let (Some(kappa), Some(quadratic), Some(equal)) =
        (agreement.kappa, agreement.quadratic, agreement.agreement)
    else {
        page.line(format_args!("nothing is annotated twice"));
        return page.into_text();
    };
    let title = match agreement.pairs.len() {
        1 => "Agreement of two annotators",
        _ => "Agreement of annotators, mean of all pairs",
    };
    page.line(format_args!(
        "{title}, over {}",
        count_of(agreement.n, "judgement", "judgements")
    ));
    page.gap();
    let against = if Relation::AtLeast.holds(kappa, threshold) {
        "reaches"
    } else {
        "BELOW"
    };
    page.line(format_args!(
        "  Cohen's kappa            {kappa:>7.4}  {against} {threshold}"
    ));
    page.line(format_args!("  with quadratic weights   {quadratic:>7.4}"));
    page.line(format_args!(
        "  equal grades             {:>8}",
        percent(equal, 1)
    ));
    if agreement.pairs.len() > 1 {
        let mut pairs = TextTable::new([
            Column::right(2, 6),
            Column::right(2, 9),
            Column::right(2, 6),
            Column::right(2, 7),
            Column::left(2, 0),
        ]);
        pairs.row(["kappa", "quadratic", "equal", "n", "pair"]);
        for pair in &agreement.pairs {
            let Kappa {
                n,
                agreement,
                kappa,
                quadratic,
            } = pair.kappa;
            pairs.row([
                format!("{kappa:.3}"),
                format!("{quadratic:.3}"),
                percent(agreement, 0),
                n.to_string(),
                format!("{} and {}", pair.a, pair.b),
            ]);
        }
        page.gap();
        page.table(&pairs);
    }
    if !agreement.disagreements.is_empty() && worst > 0 {
        page.heading("They disagree most on");
        page.items(&agreement.disagreements, worst, |found| {
            let grades: Vec<String> = found
                .grades
                .iter()
                .map(|(name, grade)| format!("{name} {grade}"))
                .collect();
            format!(
                "by {}: query {}, document {} ({})",
                found.difference,
                found.query,
                found.document,
                grades.join(", ")
            )
        });
    }
    page.into_text()
}
