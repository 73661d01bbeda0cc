//! `rankgauge tail`: events as the decoder sees them, one line each.

#![allow(
    clippy::disallowed_methods,
    reason = "signals are received on a thread of their own"
)]

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use super::failure::Failure;
use super::logging;
use super::output::{Format, stdout};
use super::settings::SettingsArguments;
use crate::app::signals::stop_signal;
use crate::config::Config;
use crate::ingest::source::{self, RawRecord, SourceError, Until};
use crate::registry::Blocking;
use crate::tail::{Describer, Line, RecordPlace};
use rankgauge_core::event::{Kind, Reason};
use rankgauge_core::gold;
use rankgauge_core::text::escape_controls;
use rankgauge_kafka::{Error, reader};
use rankgauge_serve::clock::wall_now;

/// Arguments of `tail`.
#[derive(Debug, Args)]
pub(super) struct Tail {
    #[command(flatten)]
    settings: SettingsArguments,
    /// File of search events instead of the topics; may be repeated.
    #[arg(long, value_name = "FILE")]
    search: Vec<PathBuf>,
    /// File of feedback events instead of the topics; may be repeated.
    #[arg(long, value_name = "FILE")]
    feedback: Vec<PathBuf>,
    /// First records to print from the topics.
    #[arg(long, value_enum, default_value_t = From::Latest)]
    from: From,
    /// Stop at the end of the topics instead of waiting for further records.
    #[arg(long)]
    until_end: bool,
    /// Stop after this number of printed events.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Print only events of this search.
    #[arg(long, value_name = "ID")]
    query_id: Option<String>,
    /// Print only events of this variant. Feedback has the variant of its search.
    #[arg(long, value_name = "VARIANT")]
    variant: Option<String>,
    /// Print only events rejected for this reason, or for any reason with `any`.
    #[arg(long, value_name = "REASON", value_parser = reason)]
    reason: Option<String>,
    /// Output format: a line of text, or a JSON object on a line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// First records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum From {
    /// The oldest records of the topics.
    Earliest,
    /// Records written from now on.
    Latest,
}

const ANY_REASON: &str = "any";

fn reason(text: &str) -> Result<String, String> {
    let names = Reason::ALL.map(Reason::name);
    if text == ANY_REASON || names.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(format!("write any or one of {}", names.join(", ")))
    }
}

impl Tail {
    fn wants(&self, line: &Line) -> bool {
        let is_same = |filter: &Option<String>, value: Option<&str>| {
            filter.as_deref().is_none_or(|wanted| value == Some(wanted))
        };
        is_same(&self.query_id, line.query_id.as_deref())
            && is_same(&self.variant, line.variant.as_deref())
            && match self.reason.as_deref() {
                None => true,
                Some(ANY_REASON) => line.reason.is_some(),
                Some(reason) => line.reason == Some(reason),
            }
    }
}

/// Runs the command.
pub(super) fn run(arguments: &Tail) -> Result<(), Failure> {
    let config = arguments.settings.load()?;
    let _log = logging::start(&config)?;
    let gold = gold::load(&config.gold.paths, &config.gold.options)
        .context("the gold set cannot be loaded")
        .map_err(Failure::Usage)?;
    print(arguments, &config, &gold).map_err(Failure::Running)
}

fn print(arguments: &Tail, config: &Config, gold: &gold::GoldSet) -> anyhow::Result<()> {
    let is_from_files = !(arguments.search.is_empty() && arguments.feedback.is_empty());
    let mut schemas = Blocking::new(config.registry.as_ref())?;
    let mut describer = Describer::new(&config.engine, gold);
    let mut left = arguments.count.unwrap_or(u64::MAX);
    let mut failed = None;
    let mut out = stdout();
    let mut take = |record: RawRecord<'_>| {
        let place = RecordPlace {
            source: record.source,
            partition: record.partition,
            offset: record.offset,
        };
        let mut print = |line: &Line| {
            if left == 0 || failed.is_some() || !arguments.wants(line) {
                return;
            }
            let text = match arguments.format {
                Format::Text => escape_controls(&line.text()),
                Format::Json => serde_json::to_string(line).unwrap_or_default(),
            };
            // Readers follow the output: each line is written at once.
            if let Err(problem) = writeln!(out, "{text}").and_then(|()| out.flush()) {
                failed = Some(problem);
            }
            left = left.saturating_sub(1);
        };
        let formats = record.formats.unwrap_or(&config.formats);
        schemas.receive(
            formats,
            record.kind,
            record.payload,
            &config.engine.record_limits,
        );
        describer.describe(
            formats,
            record.kind,
            place,
            (&record).into(),
            wall_now(),
            &mut print,
        );
        left > 0 && failed.is_none()
    };
    if is_from_files {
        let limit = config.engine.record_limits.record_bytes;
        let files: [(Kind, &[PathBuf]); 2] = [
            (Kind::Search, &arguments.search),
            (Kind::Feedback, &arguments.feedback),
        ];
        source::from_files(files, &config.formats, limit, &mut take)?;
    } else {
        let is_stopped = stop_flag().context("cannot wait for signals")?;
        let from = match arguments.from {
            From::Earliest => reader::From::Oldest,
            From::Latest => reader::From::Newest(0),
        };
        let should_stop = || is_stopped.load(Ordering::Relaxed);
        let until = if arguments.until_end {
            Until::Present(Kind::ALL)
        } else {
            Until::Stopped
        };
        match source::from_kafka(&config.kafka, from, until, &should_stop, &mut take) {
            Err(SourceError::Kafka(Error::Interrupted)) => {}
            read => read?,
        }
    }
    match failed {
        // A closed pipe (`| head`) is not an error.
        Some(problem) if problem.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(problem).context("the events cannot be printed")
        }
        Some(_) | None => Ok(()),
    }
}

/// Flag that SIGTERM or SIGINT sets.
fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let signalled = Arc::clone(&flag);
    let stop = {
        // Handlers are installed now; a signal during the start is not lost.
        let _context = runtime.enter();
        stop_signal()?
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            runtime.block_on(stop);
            signalled.store(true, Ordering::Relaxed);
        })?;
    Ok(flag)
}
