//! `gold sample`: a sample of the judgements for a further annotator, and the error rate that the
//! answers show.

use rankgauge_core::number::percent;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;

use super::adopt::{name_of, read};
use super::input::{Source, failed, number};
use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::output::OutputFormat;
use crate::cli::output_files;
use rankgauge_eval::gold::sample::{self, ErrorRate, Sampled, Size};
use rankgauge_eval::gold::write::sheet;
use rankgauge_eval::text_layout::count_of;

#[derive(Debug, Args)]
pub(in crate::cli) struct Sample {
    #[command(flatten)]
    source: Source,
    /// Share of the judgements to sample, above 0, up to 1.
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    share: f64,
    /// Number of judgements to sample, instead of a share.
    #[arg(long, value_name = "N", conflicts_with = "share")]
    size: Option<usize>,
    /// Label that defines the strata: each value has its share of the sample.
    #[arg(long, value_name = "LABEL")]
    by: Option<String>,
    /// Seed of the choice; the same seed chooses the same judgements.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Annotation sheet to write.
    #[arg(long, value_name = "FILE", required_unless_present = "answers")]
    sheet: Option<PathBuf>,
    /// Overwrite an existing file.
    #[arg(long)]
    force: bool,
    /// Completed sheet of an earlier sample: print the error rate of the gold set instead.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sheet", "share", "size", "by", "force"])]
    answers: Option<PathBuf>,
    /// Maximum share of answers with another grade; above it, the command fails.
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = number, requires = "answers")]
    max_error: f64,
    #[command(flatten)]
    output_format: OutputFormat,
}

fn share(text: &str) -> Result<f64, String> {
    number(text)
        .ok()
        .filter(|share| *share > 0.0 && *share <= 1.0)
        .ok_or_else(|| "a number above 0, up to 1 is expected, 0.1".to_owned())
}

#[derive(Serialize)]
struct Drawn<'a> {
    judgements: usize,
    sampled: usize,
    seed: u64,
    sample: &'a [Sampled],
}

pub(super) fn run(arguments: &Sample) -> Result<(), Failure> {
    let set = arguments.source.input.load(&arguments.source.files)?;
    if let Some(answers) = &arguments.answers {
        let rows = read(answers)?;
        let rate = sample::error_rate(&set, &rows)
            .map_err(|error| Failure::Usage(anyhow!("{}, {error}", name_of(answers))))?;
        arguments
            .output_format
            .print(|| answered(&rate, arguments.max_error), &rate)?;
        return match rate.rate {
            None => Err(failed("no row has a grade; fill in the sheet".to_owned())),
            Some(share) if share > arguments.max_error => Err(failed(format!(
                "{} of the answers have another grade, above {}",
                percent(share, 1),
                percent(arguments.max_error, 1)
            ))),
            Some(_) => Ok(()),
        };
    }
    if let Some(label) = &arguments.by
        && !set.queries().iter().any(|it| it.labels.contains_key(label))
    {
        return Err(Failure::Usage(anyhow!(
            "no query has the label `{label}`; `gold stats` lists the labels"
        )));
    }
    let size = match arguments.size {
        Some(count) => Size::Count(count),
        None => Size::Share(arguments.share),
    };
    let drawn = sample::sample(&set, size, arguments.by.as_deref(), arguments.seed);
    if let Some(path) = &arguments.sheet {
        let content = sheet(&sample::rows(&drawn)).map_err(Failure::usage)?;
        output_files::write_one(path, content, arguments.force)?;
    }
    let report = Drawn {
        judgements: set.judgement_count(),
        sampled: drawn.len(),
        seed: arguments.seed,
        sample: &drawn,
    };
    arguments
        .output_format
        .print(|| text(&report, arguments), &report)
}

fn text(report: &Drawn<'_>, arguments: &Sample) -> String {
    let mut page = Page::default();
    page.line(format_args!(
        "{} of {} sampled, seed {}",
        report.sampled,
        count_of(report.judgements, "judgement", "judgements"),
        report.seed
    ));
    if arguments.by.is_some() {
        let mut strata: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
        for sampled in report.sample {
            *strata.entry(&sampled.stratum).or_default() += 1;
        }
        let name = |value: &str| {
            if value.is_empty() {
                "without a value"
            } else {
                value
            }
            .to_owned()
        };
        let strata: Vec<(usize, String)> = strata
            .into_iter()
            .map(|(value, count)| (count, name(value)))
            .collect();
        page.counts(strata.iter().map(|(count, value)| (*count, value.as_str())));
    }
    if let Some(path) = &arguments.sheet {
        page.line(format_args!(
            "wrote {}; fill in `grade`, then `gold sample --answers`",
            path.display()
        ));
    }
    page.into_text()
}

fn answered(rate: &ErrorRate, most: f64) -> String {
    let mut page = Page::default();
    page.line(format_args!(
        "{} checked, {} without a grade",
        count_of(
            usize::try_from(rate.answered).unwrap_or(usize::MAX),
            "judgement",
            "judgements"
        ),
        rate.open
    ));
    let line = |share: Option<f64>, [low, high]: [f64; 2]| {
        let share = share.map_or_else(|| "-".to_owned(), |share| percent(share, 1));
        format!(
            "{share}, 95 % interval {} to {}",
            percent(low, 1),
            percent(high, 1)
        )
    };
    page.line(format_args!(
        "  another grade            {} ({} allowed)",
        line(rate.rate, rate.interval),
        percent(most, 1)
    ));
    page.line(format_args!(
        "  relevant or not differs  {}",
        line(rate.relevance_rate, rate.relevance_interval)
    ));
    if !rate.disagreements.is_empty() {
        page.heading("Disagreements, largest first");
        page.items(&rate.disagreements, 20, |it| {
            format!(
                "query {}, document {}: {} in the gold set, {} in the answer",
                it.query, it.document, it.gold, it.answer
            )
        });
    }
    page.into_text()
}
