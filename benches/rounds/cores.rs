//! Assignment of cores to the programs of a benchmark, with `taskset`.

use std::process::{Command, Stdio};

/// Assignment of cores to the measured program and to the broker.
pub(crate) struct Cores {
    /// Core lists for `taskset -c`: of the measured program, of the others, of both. `None`: not
    /// pinned.
    sets: Option<[String; 3]>,
    pub(crate) description: String,
}

impl Cores {
    /// Pins the measured program to core 0 and the broker to the others, if the machine can.
    pub(crate) fn pinned() -> Self {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let last = count - 1;
        let sets = ["0".to_owned(), format!("1-{last}"), format!("0-{last}")];
        if count < 2 {
            return Self::free("pinning needs two cores, and this machine has one");
        }
        let works = Command::new("taskset")
            .args(["-c", &sets[0], "true"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !works {
            return Self::free("pinning needs taskset (Debian: apt-get install util-linux)");
        }
        let description = format!(
            "{count} cores: the measured program is pinned to core {}, the broker to {}",
            sets[0], sets[1]
        );
        Self {
            sets: Some(sets),
            description,
        }
    }

    /// Pins nothing.
    pub(crate) fn free(reason: &str) -> Self {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            sets: None,
            description: format!("{count} cores, not pinned: {reason}"),
        }
    }

    /// Command that runs `program` on the core of the measured program.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let Some([measured, ..]) = &self.sets else {
            return Command::new(program);
        };
        let mut command = Command::new("taskset");
        command.args(["-c", measured]).arg(program);
        command
    }

    /// Runs `start` on the cores of the other programs. Threads and processes inherit the cores of
    /// the thread that starts them, here the main thread.
    pub(crate) fn others<T>(&self, start: impl FnOnce() -> T) -> T {
        let Some([_, others, all]) = &self.sets else {
            return start();
        };
        pin(others);
        let started = start();
        pin(all);
        started
    }
}

/// Pins the main thread of this process.
fn pin(cores: &str) {
    let pinned = Command::new("taskset")
        .args(["-pc", cores, &std::process::id().to_string()])
        .stdout(Stdio::null())
        .status();
    assert!(
        pinned.is_ok_and(|status| status.success()),
        "taskset has worked before"
    );
}
