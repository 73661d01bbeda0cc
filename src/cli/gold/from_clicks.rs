//! `gold from-clicks`: a gold set of the kind `clicks` from searches and clicks, with its checks.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, ValueEnum};

use super::input::number;
use crate::cli::failure::Failure;
use crate::cli::layout::{Page, shown_variant};
use crate::cli::logging;
use crate::cli::output::OutputFormat;
use crate::cli::output_files;
use crate::cli::recorded::RecordedEvents;
use crate::cli::settings::SettingsArguments;
use crate::config::Config;
use crate::ingest::history::Record;
use rankgauge_core::gold::{self, GoldSet};
use rankgauge_core::number::percent;
use rankgauge_eval::clicks::{
    Analysis, AnalysisOptions, CleanLog, ClickLog, ClickModel, DEFAULT_MEMORY_LIMIT, analyse,
};
use rankgauge_eval::text_layout::{Column, TextTable, count_of, escape_controls};

#[derive(Debug, Args)]
pub(in crate::cli) struct FromClicks {
    #[command(flatten)]
    settings: SettingsArguments,
    #[command(flatten)]
    recorded: RecordedEvents,
    /// File to write, in the native format of gold sets.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Click model of the grades; the other one is the check.
    #[arg(long, value_enum, default_value_t = ModelName::Pbm)]
    model: ModelName,
    /// Gold set of people, to check the clicks against; its scale is used from 50 common documents.
    #[arg(long, value_name = "PATH")]
    human: Vec<PathBuf>,
    /// Minimum number of examined impressions of a document for a grade.
    #[arg(long, value_name = "N", default_value_t = 10.0, value_parser = number)]
    min_exposure: f64,
    /// Lowest rank that counts; results below it are left out.
    #[arg(long, value_name = "RANK", default_value_t = 10, value_parser = clap::value_parser!(u8).range(2..=64))]
    depth: u8,
    /// Overwrite an existing file.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output_format: OutputFormat,
}

/// Name of a click model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModelName {
    /// Position-based model with harvested propensities.
    Pbm,
    /// User browsing model: examination depends on the last click as well.
    Ubm,
}

pub(super) fn run(arguments: &FromClicks) -> Result<(), Failure> {
    let config = arguments.settings.load()?;
    let _log = logging::start(&config)?;
    let human = arguments.human()?;
    let log = arguments.read(&config)?;
    let options = AnalysisOptions {
        model: match arguments.model {
            ModelName::Pbm => ClickModel::Pbm,
            ModelName::Ubm => ClickModel::Ubm,
        },
        min_exposure: arguments.min_exposure,
    };
    let analysis = analyse(&log, human.as_ref(), options);
    let mut written = None;
    if let Some(path) = &arguments.output
        && analysis.trusted
    {
        let set = analysis.gold_set();
        let content = set.map_err(Failure::running)?;
        output_files::write_one(path, content, arguments.force)?;
        written = Some(path.display().to_string());
    }
    arguments
        .output_format
        .print(|| text(&analysis, written.as_deref()), &analysis)?;
    if analysis.trusted {
        return Ok(());
    }
    let refused = if arguments.output.is_some() {
        "; no gold set was written"
    } else {
        ""
    };
    Err(Failure::Running(anyhow!(
        "the clicks are not trusted{refused}: {}",
        analysis.reasons.join("; ")
    )))
}

impl FromClicks {
    fn human(&self) -> Result<Option<GoldSet>, Failure> {
        if self.human.is_empty() {
            return Ok(None);
        }
        let options = gold::Options {
            unjudged: gold::Unjudged::All,
            ..gold::Options::default()
        };
        let set = gold::load(&self.human, &options);
        set.map(Some).map_err(Failure::usage)
    }

    fn read(&self, config: &Config) -> Result<CleanLog, Failure> {
        let judging = config.engine.judging.clone();
        let mut log = ClickLog::new(judging, usize::from(self.depth), DEFAULT_MEMORY_LIMIT);
        let mut first_invalid = None;
        let mut take = |record: Record<'_>| match record {
            Record::Search(event) => log.search(event),
            Record::Feedback(event) => log.feedback(event),
            Record::Rejected { place, why, .. } => {
                first_invalid.get_or_insert_with(|| format!("{place}: {why}"));
            }
        };
        self.recorded.read(config, &mut take)?;
        let log = log.clean();
        if log.searches_read == 0 {
            let first = first_invalid.map_or_else(String::new, |it| format!("; first: {it}"));
            return Err(Failure::Usage(anyhow!("no search could be read{first}")));
        }
        if log.feedback_over_limit > 0 {
            return Err(Failure::Running(anyhow!(
                "{} clicks and impressions exceed the memory limit, and click rates without them \
                 would be wrong; read a shorter time",
                log.feedback_over_limit
            )));
        }
        Ok(log)
    }
}

fn text(analysis: &Analysis, written: Option<&str>) -> String {
    let mut page = Page::default();
    page.line(format_args!(
        "{} searches read, {} count",
        analysis.searches_read, analysis.searches
    ));
    let left_out = &analysis.searches_left_out;
    let counts = [
        (left_out.synthetic, "left out: synthetic"),
        (
            left_out.not_eligible,
            "left out: filtered, sorted, or without the values of gold.judge_when",
        ),
        (
            left_out.too_many_clicks,
            "left out: clicks on more than half of the results",
        ),
        (
            left_out.busy_session,
            "left out: session with more than 60 searches in an hour",
        ),
        (left_out.duplicate, "left out: read twice"),
        (left_out.without_query, "left out: no query text"),
        (
            left_out.rare_query,
            "left out: rarest queries, beyond the memory limit",
        ),
    ];
    page.counts(counts.into_iter().filter(|(count, _)| *count > 0));

    model_checks(&mut page, analysis);
    page.heading(&format!(
        "{} graded, of {} shown",
        count_of(
            analysis.pairs,
            "pair of query and document",
            "pairs of query and document"
        ),
        analysis.pairs_shown
    ));
    page.item(&format!(
        "{} of {} queries, with {} of {} searches, have grades",
        analysis.queries, analysis.queries_searched, analysis.searches_covered, analysis.searches
    ));
    for (variant, share) in &analysis.judged {
        page.item(&format!(
            "judged@10 of {}: {}",
            escape_controls(shown_variant(variant)),
            percent(*share, 0)
        ));
    }
    if let Some(agreement) = analysis.agreement {
        page.item(&format!(
            "{} judged by people as well: {} of their pairs are in the same order{}",
            count_of(analysis.human_documents, "document is", "documents are"),
            percent(agreement, 0),
            (analysis.kappa).map_or_else(String::new, |it| format!(", kappa {it:.2}"))
        ));
    }
    for warning in &analysis.warnings {
        page.item(&format!("warning: {warning}"));
    }
    for reason in &analysis.reasons {
        page.item(&format!("NOT TRUSTED: {reason}"));
    }
    if let Some(path) = written {
        page.gap();
        page.line(format_args!(
            "wrote {} from clicks to {path}",
            count_of(analysis.queries, "query", "queries")
        ));
    }
    page.into_text()
}

/// Adds the propensities and the fit to the last searches.
fn model_checks(page: &mut Page, analysis: &Analysis) {
    page.heading("Examination by rank, and the share of it that is measured");
    let mut table = TextTable::new([
        Column::right(0, 8),
        Column::right(1, 8),
        Column::right(1, 9),
    ]);
    table.row(["rank", "examined", "measured"]);
    let ranks = analysis.propensities.iter().zip(&analysis.harvested);
    for (rank, (examined, measured)) in ranks.enumerate() {
        table.row([
            (rank + 1).to_string(),
            format!("{examined:.3}"),
            percent(*measured, 0),
        ]);
    }
    page.table(&table);

    page.heading(&format!(
        "Last {} searches, which the models were not fitted to",
        analysis.held_out_searches
    ));
    if let (Some(likelihood), Some(perplexity)) = (analysis.log_likelihood, analysis.perplexity) {
        let mut table = TextTable::new([
            Column::left(2, 24),
            Column::right(1, 14),
            Column::right(1, 10),
        ]);
        table.row(["model", "log-likelihood", "perplexity"]);
        let rows = [
            ("position-based", likelihood.pbm, perplexity.pbm),
            ("user browsing", likelihood.ubm, perplexity.ubm),
            ("rank only", likelihood.rank_only, perplexity.rank_only),
        ];
        for (name, likelihood, perplexity) in rows {
            table.row([
                name.to_owned(),
                format!("{likelihood:.4}"),
                format!("{perplexity:.4}"),
            ]);
        }
        page.table(&table);
    } else {
        page.item("There are none.");
    }
}
