//! One run of the sidecar over all records of its topics, as a process of its own.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::cores::Cores;
use crate::it::harness::sidecar::Exposition;
use crate::it::harness::{free_port, http_get};
use crate::process::{Running, cpu_seconds};

/// Interval of scrapes, and of the snapshots that they expose: more often than by default, for a
/// finer clock. A scrape takes about a millisecond of CPU time.
const INTERVAL: Duration = Duration::from_millis(250);
/// Maximum duration of one run.
const TIMEOUT: Duration = Duration::from_mins(5);
/// End of the log that an error message contains, in bytes.
const LOG_TAIL: usize = 4_000;

/// Settings of a run.
pub(crate) struct SidecarRun<'a> {
    /// The executable.
    pub(crate) program: &'a Path,
    /// Configuration file, if any.
    pub(crate) config: Option<&'a Path>,
    /// Settings over it, as in `--set`.
    pub(crate) settings: &'a [(String, String)],
    /// Folder for the log.
    pub(crate) folder: &'a Path,
    /// Number of records in both topics.
    pub(crate) records: u64,
}

/// Measurements of one run of any program.
#[derive(Clone, Copy, Debug, serde::Deserialize, serde::Serialize)]
pub(crate) struct Measured {
    pub(crate) events: u64,
    /// Wall time of `events`.
    pub(crate) seconds: f64,
    /// User and system time of `events`.
    pub(crate) cpu_seconds: f64,
}

impl Measured {
    #[allow(
        clippy::cast_precision_loss,
        reason = "an event count is far below 2^52"
    )]
    pub(crate) fn per_second(&self) -> f64 {
        self.events as f64 / self.seconds
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "an event count is far below 2^52"
    )]
    pub(crate) fn cpu_micros(&self) -> f64 {
        1e6 * self.cpu_seconds / self.events as f64
    }
}

impl SidecarRun<'_> {
    /// Runs the sidecar until it has received all records. The CPU time includes the start of the
    /// process. The wall time is that between the first scrape with records and the last one before
    /// the end, scaled to all records: it excludes the start and joining the group.
    pub(crate) fn measure(&self, cores: &Cores) -> anyhow::Result<(Measured, Exposition)> {
        let address = format!("127.0.0.1:{}", free_port());
        let url = format!("http://{address}/metrics");
        let log = self.folder.join("rankgauge.log");
        let mut command = cores.command(self.program);
        command.arg("run");
        if let Some(config) = self.config {
            command.arg("--config").arg(config);
        }
        let interval = format!("{}ms", INTERVAL.as_millis());
        let own = [
            ("metrics.listen", address.as_str()),
            ("admin.listen", "none"),
            ("workers", "1"),
            ("publish_interval", &interval),
            ("kafka.start", "earliest"),
            // The watermark of the end stays where the records leave it.
            ("engine.idle_timeout", "1h"),
        ];
        let given = self.settings.iter();
        let given = given.map(|(key, value)| (key.as_str(), value.as_str()));
        let is_given = |key: &str| self.settings.iter().any(|(given, _)| given == key);
        let own = own.into_iter().filter(|(key, _)| !is_given(key));
        for (key, value) in own.chain(given) {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("RANKGAUGE__") {
                command.env_remove(name);
            }
        }
        let output = File::create(&log)?;
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        let mut running = Running(child);
        let outcome = self.watch(&mut running, &url);
        outcome.with_context(|| {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            let tail = text.len().saturating_sub(LOG_TAIL);
            let tail = text.get(tail..).unwrap_or(&text);
            format!(
                "{} run; the end of its log:\n{tail}",
                self.program.display()
            )
        })
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "a record count is far below 2^52"
    )]
    fn watch(&self, running: &mut Running, url: &str) -> anyhow::Result<(Measured, Exposition)> {
        let process = running.0.id().to_string();
        let deadline = Instant::now() + TIMEOUT;
        let mut first: Option<(Instant, u64)> = None;
        let mut last: Option<(Instant, u64)> = None;
        loop {
            std::thread::sleep(INTERVAL);
            if let Some(status) = running.0.try_wait()? {
                bail!("it ended: {status}");
            }
            let received = http_get(url).map_or(0, |(_, text)| received(&text));
            if received >= self.records {
                break;
            }
            if received > 0 && last.is_none_or(|(_, earlier)| received > earlier) {
                let now = (Instant::now(), received);
                first.get_or_insert(now);
                last = Some(now);
            }
            ensure!(
                Instant::now() < deadline,
                "{received} of {} records received in {TIMEOUT:?}",
                self.records
            );
        }
        let cpu_seconds = cpu_seconds(&process)?;
        let (Some((begin, before)), Some((end, after))) = (first, last) else {
            bail!("too short to measure: use more --searches");
        };
        ensure!(after > before, "too short to measure: use more --searches");
        let share = (after - before) as f64 / self.records as f64;
        let measured = Measured {
            events: self.records,
            seconds: (end - begin).as_secs_f64() / share,
            cpu_seconds,
        };
        // Windows advance with the next snapshots.
        std::thread::sleep(4 * INTERVAL);
        let (_, text) = http_get(url)?;
        let exposition = Exposition::parse(&text).map_err(anyhow::Error::msg)?;
        Ok((measured, exposition))
    }
}

/// Number of records received, by outcome or pending.
fn received(exposition: &str) -> u64 {
    let lines = exposition.lines().filter(|line| {
        line.starts_with("rankgauge_events_total{") || line.starts_with("rankgauge_events_pending{")
    });
    let values = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
    values.sum()
}
