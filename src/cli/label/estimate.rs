//! `label estimate`: a measure of all traffic from the labels of a sample.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::anyhow;
use clap::{Args, ValueEnum};

use super::files::{read, wrong};
use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::output::{print, print_data};
use rankgauge_core::labelling::LabelMeasure;
use rankgauge_core::measure::Relation;
use rankgauge_core::number::percent;
use rankgauge_eval::labelling::draw::{Draw, QUANTILE};
use rankgauge_eval::labelling::html;
use rankgauge_eval::labelling::report::{Judge, Kind, LabelEstimate, LabelReport, report};
use rankgauge_eval::labelling::sheet::Sheet;
use rankgauge_eval::text_layout::{count_of, escape_controls};

#[derive(Debug, Args)]
pub(in crate::cli) struct EstimateArguments {
    /// Sample of `label draw`.
    #[arg(long, value_name = "FILE")]
    draw: PathBuf,
    /// Its sheet with labels: a grade, or `skip`. The first empty row ends the labels.
    #[arg(long, value_name = "FILE")]
    sheet: PathBuf,
    /// Scores of a judge, JSON Lines with `query`, `document`, `score` from 0 to 1, and `judge`. A
    /// bad judge makes the interval wider, never wrong.
    #[arg(long, value_name = "FILE")]
    judge: Option<PathBuf>,
    /// Condition on the end of the any-time interval that counts: `difference(P@5)>-0.02`,
    /// `level(P@5,A)>=0.5`; may be repeated. Exit code 3 if it is missed.
    #[arg(long, value_name = "CONDITION")]
    require: Vec<Condition>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = EstimateFormat::Text)]
    format: EstimateFormat,
}

/// Output format of estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EstimateFormat {
    /// Human-readable text.
    Text,
    /// JSON for programs.
    Json,
    /// HTML page in one file.
    Html,
}

/// Condition on an estimate.
#[derive(Clone, Debug, PartialEq)]
struct Condition {
    text: String,
    kind: Kind,
    measure: String,
    variant: Option<String>,
    relation: Relation,
    limit: f64,
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            "a condition is `difference(MEASURE)>NUMBER` or `level(MEASURE,VARIANT)>NUMBER`, with \
             >, >=, < or <="
                .to_owned()
        };
        let (value, relation, limit) = Relation::split(text).ok_or_else(wrong)?;
        let (name, inner) = value
            .strip_suffix(')')
            .and_then(|value| value.split_once('('))
            .ok_or_else(wrong)?;
        let kind = match name.trim() {
            "difference" => Kind::Difference,
            "level" => Kind::Level,
            _ => return Err(wrong()),
        };
        let (measure, variant) = match inner.rsplit_once(',') {
            Some((measure, variant)) if kind == Kind::Level => (measure, Some(variant)),
            _ => (inner, None),
        };
        let measure: LabelMeasure = measure.trim().parse().map_err(|error| format!("{error}"))?;
        let limit = limit.parse().ok().filter(|limit: &f64| limit.is_finite());
        Ok(Self {
            text: text.to_owned(),
            kind,
            measure: measure.to_string(),
            variant: variant.map(|variant| variant.trim().to_owned()),
            relation,
            limit: limit.ok_or_else(wrong)?,
        })
    }
}

impl Condition {
    /// Returns true if the interval of an estimate meets the condition.
    fn holds(&self, estimate: &LabelEstimate) -> bool {
        let [low, high] = estimate.any_time;
        let end = match self.relation {
            Relation::AtLeast | Relation::Above => low,
            Relation::AtMost | Relation::Below => high,
        };
        self.relation.holds(end, self.limit)
    }

    /// Returns true if the condition is about an estimate.
    fn is_about(&self, estimate: &LabelEstimate) -> bool {
        self.kind == estimate.kind
            && self.measure == estimate.measure
            && (self.variant.as_ref()).is_none_or(|variant| *variant == estimate.variant)
    }
}

pub(super) fn run(arguments: &EstimateArguments) -> Result<(), Failure> {
    let draw = Draw::parse(&read(&arguments.draw)?);
    let draw = draw.map_err(|error| wrong(&arguments.draw, &error))?;
    let measure = draw.measure.parse::<LabelMeasure>();
    let measure = measure.map_err(|error| wrong(&arguments.draw, &error))?;
    let sheet = Sheet::parse(&draw, &read(&arguments.sheet)?);
    let sheet = sheet.map_err(|error| wrong(&arguments.sheet, &error))?;
    let labels = sheet.labels(0);
    let labels = labels.map_err(|error| wrong(&arguments.sheet, &error))?;
    let judge = match &arguments.judge {
        None => None,
        Some(path) => {
            let judge = Judge::parse(&draw, labels.len(), &read(path)?);
            Some(judge.map_err(|error| wrong(path, &error))?)
        }
    };
    let Some(mut report) = report(&draw, &measure, &labels, judge.as_ref()) else {
        return Err(Failure::Usage(anyhow!(
            "{}: row 1 has no label; labels are filled in from the top",
            arguments.sheet.display()
        )));
    };
    report.annotators = sheet.agreement(|grade| measure.gain(grade, draw.scale_max) >= 0.5);
    for condition in &arguments.require {
        if !report.estimates.iter().any(|it| condition.is_about(it)) {
            return Err(Failure::Usage(anyhow!(
                "--require {}: the sample does not estimate this value; draw it with another --focus \
                 or --measure",
                condition.text
            )));
        }
    }
    let output = match arguments.format {
        EstimateFormat::Text => text(&report, &draw),
        EstimateFormat::Html => html::page(&report),
        EstimateFormat::Json => {
            let json = serde_json::to_string_pretty(&report);
            json.map_err(Failure::running)? + "\n"
        }
    };
    match arguments.format {
        EstimateFormat::Text => print(&output),
        EstimateFormat::Html | EstimateFormat::Json => print_data(&output),
    }
    .map_err(Failure::Running)?;
    let missed = arguments.require.iter().filter(|condition| {
        let mut estimates = report.estimates.iter();
        !estimates.all(|it| !condition.is_about(it) || condition.holds(it))
    });
    let missed: Vec<&str> = missed.map(|condition| condition.text.as_str()).collect();
    if missed.is_empty() {
        Ok(())
    } else {
        Err(Failure::Gate(anyhow!(
            "not met by the any-time interval: {}",
            missed.join(", ")
        )))
    }
}

/// Widths that more labels lead to: of the widest interval, without its skipped labels. `None` if all rows
/// are labelled, and for a single label.
fn forecast(report: &LabelReport, draw: &Draw) -> Option<String> {
    let labels = report.estimates.first()?.labels;
    let errors = report.estimates.iter().filter_map(|it| it.standard_error);
    let error = errors.reduce(f64::max)?;
    let rows = draw.rows.len();
    if labels >= rows {
        return None;
    }
    let forecast = draw.forecast();
    let deviation = error / forecast.error(labels);
    let more = [(2, "twice as many labels"), (4, "four times as many")];
    let more = more.into_iter().filter(|(times, _)| labels * times < rows);
    let more = more.map(|(times, name)| {
        let half = QUANTILE * deviation * forecast.error(labels * times);
        format!("{name}: about ± {half:.3}, looked at once")
    });
    let all = format!(
        "all {}: nothing left to chance",
        count_of(rows, "row", "rows")
    );
    Some(more.chain([all]).collect::<Vec<_>>().join("; "))
}

fn text(report: &LabelReport, draw: &Draw) -> String {
    let mut page = Page::default();
    for estimate in &report.estimates {
        let name = match &estimate.against {
            Some(against) => format!("{} - {against}", estimate.variant),
            None => estimate.variant.clone(),
        };
        let interval = |[low, high]: [f64; 2]| format!("[{low:+.3}, {high:+.3}]");
        page.line(format_args!(
            "{} {} {:+.3}   once {}   any time {}   {} of {} labels",
            estimate.measure,
            escape_controls(&name),
            estimate.estimate,
            interval(estimate.once),
            interval(estimate.any_time),
            estimate.labels,
            estimate.rows
        ));
        if estimate.skipped > 0 {
            page.item(&format!(
                "{} skipped: each counts as 0 and as 1, and the intervals include both",
                estimate.skipped
            ));
        }
    }
    if let Some(forecast) = forecast(report, draw) {
        page.item(&forecast);
    }
    if let Some(judge) = &report.judge {
        let kappa = judge.kappa;
        let kappa = kappa.map_or_else(|| "undefined".to_owned(), |it| format!("{it:.2}"));
        let errors = judge.error.iter();
        let errors: Vec<String> = errors
            .map(|(name, error)| format!("{} {error:+.3}", escape_controls(name)))
            .collect();
        page.line(format_args!(
            "judge {}: kappa {kappa}, error {} (corrected)",
            escape_controls(&judge.id),
            errors.join(", ")
        ));
    }
    if let Some(both) = &report.annotators {
        let kappa = both.kappa;
        let kappa = kappa.map_or_else(|| "undefined".to_owned(), |it| format!("{it:.2}"));
        page.line(format_args!(
            "two annotators graded {}: {} equal, kappa {kappa}",
            count_of(both.rows, "row", "rows"),
            percent(both.equal, 0)
        ));
    }
    page.item("The intervals are about the sampled traffic, not about future traffic or errors of annotators.");
    page.into_text()
}
