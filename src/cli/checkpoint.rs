//! `checkpoint` commands: contents of a checkpoint folder, for inspection before it is deleted.
//!
//! Exit status 0: every checkpoint is readable. 1: at least one is not. 2: wrong usage.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde::Serialize;

use super::failure::Failure;
use super::layout::{Page, shown_variant};
use super::output::OutputFormat;
use crate::checkpoint::folder::{Contents, look};
use crate::checkpoint::{Checkpoint, VERSION};
use crate::config::Config;
use rankgauge_core::engine::Engine;
use rankgauge_core::engine::partition::CommitPoint;
use rankgauge_core::engine::read_model::ReadModel;
use rankgauge_core::engine::state::State;
use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, WallTime};
use rankgauge_eval::text_layout::{Column, TextTable};

/// Subcommand of `checkpoint`.
#[derive(Debug, Subcommand)]
pub(super) enum CheckpointCommand {
    /// Show the contents of the checkpoints in a folder, without changes.
    Show(Show),
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// Folder of checkpoints: checkpoint.folder of the configuration.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    output_format: OutputFormat,
}

/// Runs a command.
pub(super) fn run(command: &CheckpointCommand) -> Result<(), Failure> {
    let CheckpointCommand::Show(arguments) = command;
    let folder = &arguments.folder;
    if let Err(problem) = std::fs::read_dir(folder) {
        let problem = anyhow!("{} cannot be listed: {problem}", folder.display());
        return Err(Failure::Usage(problem));
    }
    let contents = look(folder);
    let summary = Summary::new(&contents);
    arguments.output_format.print(|| summary.text(), &summary)?;
    if summary.unreadable.is_empty() {
        Ok(())
    } else {
        Err(Failure::Running(anyhow!(
            "{} of {} checkpoints cannot be read; a sidecar that starts with this folder moves them \
             aside and restarts their counters at 0",
            summary.unreadable.len(),
            summary.unreadable.len() + summary.checkpoints.len()
        )))
    }
}

/// Contents of a folder.
#[derive(Serialize)]
struct Summary {
    checkpoints: Vec<WorkerSummary>,
    /// Of all workers.
    means: Vec<VariantMean>,
    open_incidents: Vec<OpenIncident>,
    unreadable: Vec<Unreadable>,
}

/// Mean of a measure over all searches of a variant since the start.
#[derive(Serialize)]
struct VariantMean {
    variant: String,
    measure: String,
    mean: f64,
    n: u64,
}

/// Measure and slice of an open incident.
#[derive(Serialize)]
struct OpenIncident {
    incident: String,
    variant: String,
    measure: String,
    slice: String,
    value: String,
    /// Estimated beginning in event time.
    started_at: String,
}

#[derive(Serialize)]
struct Unreadable {
    file: String,
    problem: String,
}

/// Checkpoint of one worker.
#[derive(Serialize)]
struct WorkerSummary {
    worker: usize,
    format: u32,
    written: String,
    cluster: Option<String>,
    group: String,
    /// SHA-256 of the gold set.
    gold_sha256: Option<String>,
    events: Vec<Events>,
    measures: usize,
    /// Number of series, by the family that owns them.
    series: Vec<(String, usize)>,
    windows: Vec<WindowLine>,
    /// Watermark of the windows.
    watermark: Option<String>,
    positions: Vec<Position>,
}

#[derive(Serialize)]
struct Events {
    kind: &'static str,
    outcome: &'static str,
    count: u64,
}

#[derive(Serialize)]
struct WindowLine {
    seconds: i64,
    panes: usize,
}

#[derive(Serialize)]
struct Position {
    topic: String,
    partition: i32,
    /// Offset at which a restart begins to read.
    rebuild: i64,
    /// First offset that is not in the counters.
    counted: i64,
}

impl Summary {
    fn new(contents: &Contents) -> Self {
        let unreadable = contents.rejected.iter().map(|rejected| Unreadable {
            file: rejected.path.display().to_string(),
            problem: rejected.error.to_string(),
        });
        let checkpoints = contents.checkpoints.iter();
        let states = checkpoints.clone().map(|it| &it.state);
        let base = Config::default().engine;
        let settings = Arc::new(State::inspection_settings(states.clone(), base));
        let registry = Arc::new(Engine::registry(&settings));
        let wall = WallTime::default();
        let mut engine = Engine::new(Arc::clone(&settings), Arc::clone(&registry), wall);
        for state in states {
            engine.restore(state);
        }
        let snapshot = engine.snapshot();
        let model = ReadModel::new(&snapshot, &settings, &registry);
        Self {
            checkpoints: checkpoints.map(WorkerSummary::new).collect(),
            means: means(&model),
            open_incidents: open_incidents(&model),
            unreadable: unreadable.collect(),
        }
    }

    fn text(&self) -> String {
        let mut page = Page::default();
        if self.checkpoints.is_empty() && self.unreadable.is_empty() {
            page.line(format_args!("There is no checkpoint here."));
        }
        for (number, worker) in self.checkpoints.iter().enumerate() {
            if number > 0 {
                page.gap();
            }
            worker.write(&mut page);
        }
        if !self.means.is_empty() {
            page.heading("Means since the start, of all workers");
            page.table(&self.means_table());
        }
        if !self.open_incidents.is_empty() {
            page.heading("Open incidents");
            page.table(&self.incidents_table());
        }
        for unreadable in &self.unreadable {
            page.gap();
            page.item(&format!("{} {}", unreadable.file, unreadable.problem));
        }
        page.into_text()
    }

    fn means_table(&self) -> TextTable {
        let mut table = TextTable::new([
            Column::left(2, 0),
            Column::left(2, 0),
            Column::right(2, 0),
            Column::right(2, 0),
        ]);
        table.row(["variant", "measure", "mean", "n"]);
        for it in &self.means {
            table.row([
                shown_variant(&it.variant).to_owned(),
                it.measure.clone(),
                format!("{:.4}", it.mean),
                it.n.to_string(),
            ]);
        }
        table
    }

    fn incidents_table(&self) -> TextTable {
        let mut table = TextTable::new([Column::left(2, 0); 5]);
        table.row(["variant", "measure", "slice", "value", "since"]);
        for it in &self.open_incidents {
            let variant = shown_variant(&it.variant);
            let cells: [&str; 5] = [variant, &it.measure, &it.slice, &it.value, &it.started_at];
            table.row(cells);
        }
        table
    }
}

/// Means of all measures, by variant.
fn means(model: &ReadModel<'_>) -> Vec<VariantMean> {
    let means = model.variants().flat_map(|of| {
        let measures = model.measures().iter().enumerate();
        measures.filter_map(move |(measure, name)| {
            let tally = model.tally(measure, of.series)?;
            Some(VariantMean {
                variant: of.variant.to_owned(),
                measure: name.clone(),
                mean: tally.mean()?,
                n: tally.count,
            })
        })
    });
    let mut means: Vec<VariantMean> = means.collect();
    means.sort_by(|a, b| a.variant.cmp(&b.variant));
    means
}

/// Measures and slices of the open incidents.
fn open_incidents(model: &ReadModel<'_>) -> Vec<OpenIncident> {
    let incidents = model.snapshot().totals.evidence.incidents();
    let open = incidents.filter(|it| it.ended.is_none());
    let measures = open.flat_map(|of| {
        of.measures.iter().map(move |it| OpenIncident {
            incident: of.name(),
            variant: of.variant.to_string(),
            measure: it.measure.to_string(),
            slice: it.slice.to_string(),
            value: it.value.to_string(),
            started_at: EventTime(of.started.at).to_string(),
        })
    });
    measures.collect()
}

impl WorkerSummary {
    fn new(checkpoint: &Checkpoint) -> Self {
        let state = &checkpoint.state;
        let source = &checkpoint.source;
        let events = Kind::ALL.into_iter().flat_map(|kind| {
            let outcomes = state.events().outcomes(kind);
            outcomes.into_iter().map(move |(outcome, count)| Events {
                kind: kind.name(),
                outcome,
                count,
            })
        });
        let position = |point: &CommitPoint| Position {
            topic: source.topics[point.kind.index()].clone(),
            partition: point.partition,
            rebuild: point.rebuild,
            counted: point.counted,
        };
        let windows = state.windows().map(|(length, panes)| WindowLine {
            seconds: length.0 / 1_000,
            panes,
        });
        let progress = state.progress();
        let watermark = progress.and_then(|progress| progress.watermark);
        Self {
            worker: checkpoint.worker,
            format: VERSION,
            written: checkpoint.written.as_event_time().to_string(),
            cluster: source.cluster.clone(),
            group: source.group.clone(),
            gold_sha256: state.gold_set().map(str::to_owned),
            events: events.collect(),
            measures: state.measures().len(),
            series: state
                .series()
                .filter(|(_, count)| *count > 0)
                .map(|(family, count)| (family.to_owned(), count))
                .collect(),
            windows: windows.collect(),
            watermark: watermark.map(|watermark| watermark.to_string()),
            positions: checkpoint.points.iter().map(position).collect(),
        }
    }

    fn write(&self, page: &mut Page) {
        page.line(format_args!(
            "Worker {}, written {}, format {}",
            self.worker, self.written, self.format
        ));
        page.item(&format!(
            "group {} on cluster {}",
            self.group,
            self.cluster.as_deref().unwrap_or("(unknown)")
        ));
        let gold = self.gold_sha256.as_deref();
        page.item(&format!("gold set {}", gold.unwrap_or("(none)")));
        let counted = |kind: &str| -> String {
            let events = self.events.iter().filter(|event| event.kind == kind);
            let events = events.filter(|event| event.count > 0);
            let counts: Vec<_> = events
                .map(|event| format!("{} {}", event.count, event.outcome))
                .collect();
            let none = || "none".to_owned();
            Some(counts.join(", "))
                .filter(|text| !text.is_empty())
                .unwrap_or_else(none)
        };
        for kind in Kind::ALL {
            page.item(&format!("{}: {}", kind.name(), counted(kind.name())));
        }
        let series: Vec<_> = self
            .series
            .iter()
            .map(|(family, count)| format!("{family} {count}"))
            .collect();
        page.item(&format!(
            "{} measures; series: {}",
            self.measures,
            series.join(", ")
        ));
        let windows: Vec<_> = self
            .windows
            .iter()
            .map(|window| format!("{} s in {} panes", window.seconds, window.panes))
            .collect();
        page.item(&format!(
            "windows: {}; watermark {}",
            windows.join(", "),
            self.watermark.as_deref().unwrap_or("(unknown)")
        ));
        let mut positions = TextTable::new([
            Column::right(2, 9),
            Column::right(1, 14),
            Column::right(1, 14),
            Column::left(2, 0),
        ]);
        positions.row(["partition", "read from", "counted to", "topic"]);
        for position in &self.positions {
            positions.row([
                position.partition.to_string(),
                position.rebuild.to_string(),
                position.counted.to_string(),
                position.topic.clone(),
            ]);
        }
        page.table(&positions);
    }
}
