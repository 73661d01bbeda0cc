//! Processes, and their CPU time and memory, as Linux reports them in `/proc`.

use std::process::Child;

use anyhow::Context as _;

/// Clock ticks per second in `/proc/PID/stat`. Linux reports 100 on every architecture.
const TICKS_PER_SECOND: f64 = 100.0;

/// Process that is killed when it is dropped.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // A destructor cannot handle a failure.
        drop(self.0.kill().and_then(|()| self.0.wait()));
    }
}

/// User and system time of a process with all its threads, in seconds. `process` is an id, or
/// `self`.
pub(crate) fn cpu_seconds(process: &str) -> anyhow::Result<f64> {
    let path = format!("/proc/{process}/stat");
    let stat = std::fs::read_to_string(&path)
        .with_context(|| format!("CPU time is read from {path}, which only Linux has"))?;
    // "1 (name) S …"; the name may contain spaces and parentheses. Fields 14 and 15 of the line are
    // the 12th and 13th after it.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = fields.split(' ').skip(11).take(2).map(str::parse::<f64>);
    let ticks = ticks.collect::<Result<Vec<f64>, _>>()?;
    Ok(ticks.into_iter().sum::<f64>() / TICKS_PER_SECOND)
}

/// CPU time of the current thread in seconds.
pub(crate) fn thread_cpu_seconds() -> anyhow::Result<f64> {
    let path = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("CPU time is read from {path}, which only Linux has"))?;
    let nanoseconds = text.split(' ').next().unwrap_or_default();
    Ok(nanoseconds.parse::<f64>()? / 1e9)
}

/// Resident memory of a process in bytes. `process` is an id, or `self`.
pub(crate) fn resident_bytes(process: &str) -> anyhow::Result<u64> {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path)
        .with_context(|| format!("resident memory is read from {path}, which only Linux has"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kilobytes = kilobytes.with_context(|| format!("no VmRSS in {path}"))?;
    Ok(kilobytes.parse::<u64>()? * 1024)
}
