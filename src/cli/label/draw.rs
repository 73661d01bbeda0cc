//! `label draw`: a sample of pairs of query and document, and its sheet.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::files::{read, wrong};
use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::logging;
use crate::cli::output::OutputFormat;
use crate::cli::output_files::{self, Output};
use crate::cli::recorded::read_events;
use crate::cli::settings::SettingsArguments;
use crate::config::{Config, parse_duration};
use crate::ingest::history::Record;
use rankgauge_core::labelling::LabelMeasure;
use rankgauge_core::number::percent;
use rankgauge_eval::labelling::draw::{Draw, Focus, Target, draw};
use rankgauge_eval::labelling::frame::{self, Frame, FrameBuilder};
use rankgauge_eval::labelling::sheet;
use rankgauge_eval::text_layout::count_of;

#[derive(Debug, Args)]
pub(in crate::cli) struct DrawArguments {
    #[command(flatten)]
    settings: SettingsArguments,
    /// Read the configured topics, from this long ago (90m, 24h) until now. No offset is committed,
    /// and no consumer group is joined.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with_all = ["search", "frame"])]
    last: Option<Duration>,
    /// Files of search events, in the format of `replay`.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "frame", required_unless_present_any = ["last", "frame"])]
    search: Vec<PathBuf>,
    /// Frame of a warehouse, separated by tabs: the columns `query`, `document`, and `a_A`, `a_B`
    /// with the coefficient of each variant; optionally `text` and the prediction `f`.
    #[arg(long, value_name = "FILE")]
    frame: Option<PathBuf>,
    /// Measure: P@k, RBP, or sDCG@k.
    #[arg(long, value_name = "MEASURE", default_value = "P@5")]
    measure: LabelMeasure,
    /// Variant; may be given twice, and the difference is the second minus the first. `V5@2.4` is one of its
    /// versions, if searches state them (`deployments.from`).
    #[arg(long, value_name = "NAME")]
    variant: Vec<String>,
    /// Value that the sample is best at. Default: both with two variants, else level.
    #[arg(long, value_enum)]
    focus: Option<FocusName>,
    /// Number of rows of the sheet.
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rows: u32,
    /// Seed of the order. Another seed draws another sample.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Highest grade of the scale of the labels.
    #[arg(long, value_name = "GRADE", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    scale_max: u32,
    /// File of the sample to write; `label estimate` reads it.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Sheet to write, CSV with an empty column `grade`.
    #[arg(long, value_name = "FILE")]
    sheet: PathBuf,
    /// Overwrite existing files.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output_format: OutputFormat,
}

/// Name of a focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FocusName {
    /// Mean of each variant.
    Level,
    /// Difference of the variants: documents at the same ranks in both cost no label.
    Difference,
    /// Both.
    Both,
}

#[derive(Serialize)]
struct Report<'a> {
    measure: &'a str,
    variants: &'a [String],
    focus: Focus,
    seed: u64,
    /// Rows that can be drawn.
    frame_rows: usize,
    /// Rows of the sheet.
    rows: usize,
    shared_traffic: Option<f64>,
    effective_queries: Option<f64>,
    /// Share of the queries that both variants answered whose lists differ.
    changed_queries: Option<f64>,
    /// Predicted half-width of the interval that is looked at once, after all rows.
    half_width: f64,
    /// Labels for half-widths of 0.05 and 0.02, at most all rows.
    labels_for_005: usize,
    labels_for_002: usize,
}

pub(super) fn run(arguments: &DrawArguments) -> Result<(), Failure> {
    if arguments.variant.len() > 2 {
        return Err(Failure::Usage(anyhow!(
            "--variant may be given twice at most"
        )));
    }
    let frame = arguments.load_frame()?;
    let focus = match (arguments.focus, frame.variants.len()) {
        (Some(FocusName::Level), _) | (None, 1) => Focus::Level,
        (Some(FocusName::Difference), 2) => Focus::Difference,
        (Some(FocusName::Both), 2) | (None, _) => Focus::Both,
        (Some(_), _) => {
            return Err(Failure::Usage(anyhow!(
                "a difference needs two variants: name both with --variant"
            )));
        }
    };
    let measure = (
        arguments.measure.to_string(),
        f64::from(arguments.scale_max),
    );
    let rows = usize::try_from(arguments.rows).unwrap_or(usize::MAX);
    let drawn = draw(frame, measure, focus, arguments.seed, rows).map_err(Failure::usage)?;
    let json = serde_json::to_string(&drawn).map_err(Failure::running)?;
    let sheet = sheet::write(&drawn).map_err(Failure::running)?;
    let files = [(&arguments.output, json + "\n"), (&arguments.sheet, sheet)];
    let files = files.map(|(path, content)| Output {
        path: path.clone(),
        content,
    });
    output_files::write(&files, arguments.force)?;
    let report = Report {
        measure: &drawn.measure,
        variants: &drawn.variants,
        focus: drawn.focus,
        seed: drawn.seed,
        frame_rows: drawn.rows.len(),
        rows: drawn.planned,
        shared_traffic: drawn.shared_traffic,
        effective_queries: drawn.effective_queries,
        changed_queries: drawn.changed_queries,
        half_width: drawn.predicted_half_width(),
        labels_for_005: drawn.labels_needed(0.05),
        labels_for_002: drawn.labels_needed(0.02),
    };
    let text = || text(&report, &drawn, arguments);
    arguments.output_format.print(text, &report)
}

impl DrawArguments {
    fn load_frame(&self) -> Result<Frame, Failure> {
        if let Some(path) = &self.frame {
            let text = read(path)?;
            return frame::parse(&text, &self.variant).map_err(|error| wrong(path, &error));
        }
        let config = self.settings.load()?;
        let _log = logging::start(&config)?;
        if self.variant.is_empty() {
            return Err(Failure::Usage(anyhow!(
                "name one or two variants with --variant; --variant '' is searches without one"
            )));
        }
        self.frame_of_events(&config)
    }

    fn frame_of_events(&self, config: &Config) -> Result<Frame, Failure> {
        let judge_by = config.engine.judging.judge_by;
        let mut builder = FrameBuilder::new(
            self.variant.clone(),
            &self.measure,
            judge_by,
            &config.engine.version_labels,
        );
        let mut take = |record: Record<'_>| {
            if let Record::Search(search) = record {
                builder.search(search);
            }
        };
        read_events(config, self.last, &self.search, &[], &mut take)?;
        builder.finish().map_err(Failure::usage)
    }
}

fn text(report: &Report<'_>, drawn: &Draw, arguments: &DrawArguments) -> String {
    let mut page = Page::default();
    page.line(format_args!(
        "{} of {}, {} in the sheet",
        count_of(report.frame_rows, "row", "rows"),
        drawn.variants.join(" and "),
        report.rows
    ));
    if let Some(shared) = report.shared_traffic {
        page.item(&format!(
            "{} of the searches are of queries that both variants answered; the difference is \
             about these",
            percent(shared, 0)
        ));
    }
    if let Some(changed) = report.changed_queries {
        page.item(&format!(
            "the lists of {} of these queries differ in {}; a difference costs labels for them alone",
            percent(changed, 0),
            report.measure
        ));
    }
    if let Some(queries) = report.effective_queries {
        page.item(&format!("effective number of queries: {queries:.0}"));
    }
    page.item(&format!(
        "expected after {}: ± {:.3}, looked at once; {} for ± 0.05, {} for ± 0.02; about 1.5 times as \
         many, but no more than all rows, for an interval that holds at any time",
        count_of(report.rows, "label", "labels"),
        report.half_width,
        report.labels_for_005,
        report.labels_for_002
    ));
    if !drawn.targets.contains(&Target::Level(0)) {
        page.item("the sample estimates the difference only; --focus both adds the levels");
    }
    page.gap();
    page.line(format_args!(
        "wrote {} and {}; fill in `grade` from the top (0 to {}, or `skip`), then `label estimate`",
        arguments.output.display(),
        arguments.sheet.display(),
        arguments.scale_max
    ));
    page.into_text()
}
