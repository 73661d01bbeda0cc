//! `gold validate`: errors in a gold set, and its quality.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;

use super::input::{Source, failed, grade, number};
use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::output::OutputFormat;
use rankgauge_core::gold::{self, GoldError, Grade, Problem, Unjudged};
use rankgauge_core::number::percent;
use rankgauge_eval::evaluate::GoldFacts;
use rankgauge_eval::gold::agreement::{Agreement, AnnotatorPair};
use rankgauge_eval::gold::review::{Expectations, Finding, Minimum, Review, Share, Size, Target};
use rankgauge_eval::text_layout::{Column, TextTable, count_of};

/// Maximum number of findings of a kind in the text output.
const MAX_SHOWN: usize = 50;

/// Maximum number of values of a label in the text output.
const MAX_VALUES: usize = 12;

#[derive(Debug, Args)]
pub(in crate::cli) struct Validate {
    #[command(flatten)]
    source: Source,
    /// Target share of the queries with a label value; may be repeated: query_type.keyword=0.4.
    #[arg(long = "target", value_name = "LABEL.VALUE=SHARE", value_parser = target)]
    targets: Vec<Target>,
    /// Minimum number of queries with a label value; may be repeated: primary_domain.tax=20.
    #[arg(long = "minimum", value_name = "LABEL.VALUE=N", value_parser = minimum)]
    minimums: Vec<Minimum>,
    /// Lowest and highest recommended number of relevant documents of a query: 5..10.
    #[arg(long, value_name = "LOW..HIGH", value_parser = range)]
    relevant: Option<Bounds>,
    /// Maximum difference between a share and its target.
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = number)]
    tolerance: f64,
    /// Minimum sufficient Cohen's kappa (unweighted).
    #[arg(long, value_name = "KAPPA", default_value = "0.7", value_parser = number, allow_negative_numbers = true)]
    threshold: f64,
    /// Maximum difference between the grades of annotators on one judgement.
    #[arg(long, value_name = "GRADES", default_value = "1", value_parser = number)]
    disagreement: f64,
    /// Highest grade of the scale if the files do not state it.
    #[arg(long, value_name = "GRADE", value_parser = grade, allow_negative_numbers = true)]
    scale_max: Option<Grade>,
    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    output_format: OutputFormat,
}

/// Lowest and highest number.
type Bounds = [usize; 2];

fn range(text: &str) -> Result<Bounds, String> {
    let ends = text.split_once("..").and_then(|(low, high)| {
        let ends = [low.trim().parse().ok()?, high.trim().parse().ok()?];
        (ends[0] <= ends[1]).then_some(ends)
    });
    ends.ok_or_else(|| "LOW..HIGH is expected, 5..10".to_owned())
}

fn minimum(text: &str) -> Result<Minimum, String> {
    let parts = text.rsplit_once('=').and_then(|(name, queries)| {
        let (label, value) = name.split_once('.')?;
        let queries = queries.parse().ok()?;
        (!label.is_empty() && !value.is_empty()).then(|| Minimum {
            label: label.to_owned(),
            value: value.to_owned(),
            queries,
        })
    });
    parts.ok_or_else(|| {
        "LABEL.VALUE=N is expected with a number of queries: primary_domain.tax=20".to_owned()
    })
}

fn target(text: &str) -> Result<Target, String> {
    let parts = text.rsplit_once('=').and_then(|(name, share)| {
        let (label, value) = name.split_once('.')?;
        let share: f64 = share.parse().ok()?;
        let sound = !label.is_empty() && !value.is_empty() && (0.0..=1.0).contains(&share);
        sound.then(|| Target {
            label: label.to_owned(),
            value: value.to_owned(),
            share,
        })
    });
    parts.ok_or_else(|| {
        "LABEL.VALUE=SHARE is expected with a share from 0 to 1: difficulty.easy=0.4".to_owned()
    })
}

#[derive(Serialize)]
struct Report<'a> {
    valid: bool,
    #[serde(flatten)]
    gold: GoldFacts,
    errors: &'a [Finding],
    /// Number of errors beyond those listed.
    errors_more: usize,
    warnings: &'a [Finding],
    size: Size,
    distribution: &'a BTreeMap<String, BTreeMap<String, Share>>,
    kappa: KappaReport<'a>,
}

#[derive(Serialize)]
struct KappaReport<'a> {
    threshold: f64,
    n: usize,
    agreement: Option<f64>,
    unweighted: Option<f64>,
    quadratic: Option<f64>,
    pairs: &'a [AnnotatorPair],
}

pub(super) fn run(arguments: &Validate) -> Result<(), Failure> {
    let options = gold::Options {
        unjudged: Unjudged::None,
        ..arguments.source.input.options()
    };
    let (set, error) = gold::examine(&arguments.source.files, &options);
    let unreadable = |problem: &Problem| {
        matches!(
            problem,
            Problem::Unreadable { .. } | Problem::NoFiles { .. }
        )
    };
    let error = match error {
        Some(error) if error.problems().iter().any(unreadable) => {
            return Err(Failure::Usage(error.into()));
        }
        other => other,
    };
    let expected = Expectations {
        kappa: arguments.threshold,
        difference: arguments.disagreement,
        targets: arguments.targets.clone(),
        tolerance: arguments.tolerance,
        scale_max: arguments.scale_max,
        minimums: arguments.minimums.clone(),
        relevant: arguments.relevant,
    };
    let review = Review::of(&set, &expected);
    let problems = error.as_ref().map(GoldError::problems).unwrap_or_default();
    let mut errors: Vec<Finding> = problems.iter().map(Finding::from).collect();
    errors.extend_from_slice(&review.errors);
    let more = error.as_ref().map_or(0, GoldError::more);

    let report = Report {
        valid: errors.is_empty(),
        gold: GoldFacts::of(&set),
        errors: &errors,
        errors_more: more,
        warnings: &review.warnings,
        size: review.size,
        distribution: &review.distribution,
        kappa: KappaReport {
            threshold: expected.kappa,
            n: review.agreement.n,
            agreement: review.agreement.agreement,
            unweighted: review.agreement.kappa,
            quadratic: review.agreement.quadratic,
            pairs: &review.agreement.pairs,
        },
    };
    arguments
        .output_format
        .print(|| text(&report, &review.agreement), &report)?;
    let wrong = count_of(errors.len() + more, "error", "errors");
    let warnings = count_of(review.warnings.len(), "warning", "warnings");
    if !errors.is_empty() {
        Err(failed(format!(
            "the gold set is not valid: {wrong}, {warnings}"
        )))
    } else if arguments.strict && !review.warnings.is_empty() {
        Err(failed(format!(
            "the gold set has {warnings}, and --strict treats them as errors"
        )))
    } else {
        Ok(())
    }
}

fn text(report: &Report<'_>, agreement: &Agreement) -> String {
    let mut page = Page::default();
    page.line(format_args!("Gold set {}", report.gold.version));
    page.line(format_args!(
        "{}, {}",
        count_of(report.gold.queries, "query", "queries"),
        count_of(report.gold.judgements, "judgement", "judgements")
    ));
    findings(&mut page, "Errors", report.errors);
    if report.errors_more > 0 {
        page.item(&format!("… and {} more", report.errors_more));
    }
    findings(&mut page, "Warnings", report.warnings);

    page.heading("Size");
    let size = &report.size;
    page.item(&format!(
        "{}: {}. Recommended: {} for first tests, {} for serious evaluation, {} before \
         production.",
        count_of(size.queries, "query", "queries"),
        match size.reached {
            None => "too few",
            Some("small") => "enough for first tests",
            Some("medium") => "enough for serious evaluation",
            Some(_) => "enough before production",
        },
        size.small,
        size.medium,
        size.large
    ));

    for (label, values) in report.distribution {
        let aimed = values.values().any(|share| share.target.is_some());
        let columns = if aimed {
            " (queries, share, target)"
        } else {
            ""
        };
        page.heading(&format!("Queries by {label}{columns}"));
        let mut values: Vec<(&String, &Share)> = values.iter().collect();
        values.sort_by_key(|(_, share)| Reverse(share.count));
        let mut shares = TextTable::new([
            Column::right(2, 6),
            Column::right(1, 8),
            Column::right(0, if aimed { 9 } else { 0 }),
            Column::left(2, 0),
        ]);
        for (value, share) in values.iter().take(MAX_VALUES) {
            shares.row([
                share.count.to_string(),
                percent(share.share, 1),
                share.target.map(|it| percent(it, 1)).unwrap_or_default(),
                (*value).clone(),
            ]);
        }
        page.table(&shares);
        if values.len() > MAX_VALUES {
            page.line(format_args!(
                "  … and {} other values",
                values.len() - MAX_VALUES
            ));
        }
    }

    page.heading("Agreement of annotators");
    match (agreement.kappa, agreement.quadratic, agreement.agreement) {
        (Some(kappa), Some(quadratic), Some(equal)) => page.item(&format!(
            "Cohen's kappa {kappa:.3} (quadratic {quadratic:.3}), equal grades {}, over {}; \
             at least {} is expected",
            percent(equal, 1),
            count_of(agreement.n, "judgement", "judgements"),
            report.kappa.threshold
        )),
        _ => page.item("Nothing is annotated twice."),
    }
    page.gap();
    page.line(format_args!(
        "{}: {}, {}",
        if report.valid { "valid" } else { "NOT VALID" },
        count_of(report.errors.len() + report.errors_more, "error", "errors"),
        count_of(report.warnings.len(), "warning", "warnings")
    ));
    page.into_text()
}

fn findings(page: &mut Page, heading: &str, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    page.heading(heading);
    page.items(findings, MAX_SHOWN, |finding| {
        match (&finding.file, finding.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: {}", finding.message),
            (Some(file), None) => format!("{file}: {}", finding.message),
            (None, _) => finding.message.clone(),
        }
    });
}
