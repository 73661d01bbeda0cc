//! Disk faults of the sidecar, at a system call that the test selects.
//!
//! The sidecar is the built binary. A C library that the loader puts before the system libraries
//! injects the faults (`tests/faults/faults.c`, which documents the format of a plan). The library
//! requires Linux, like the rest of the harness.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use super::sidecar::Sidecar;
use super::{scratch_folder, wait_until};

/// Maximum time until a sidecar makes a call that it repeats regularly.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Faults below one folder.
pub(crate) struct Faults {
    scratch: TempDir,
    below: PathBuf,
    /// Number of plans so far; each has a separate report.
    plans: AtomicU32,
}

/// System call that the library has reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// Number of the call within its checkpoint; -1 for a call outside of a checkpoint.
    pub(crate) number: i32,
    /// Call and file, as in `fsync worker-0.draft`; `.` is the folder.
    pub(crate) what: String,
}

impl Faults {
    /// Returns an empty set of faults for `folder`, which need not exist.
    pub(crate) fn below(folder: &Path) -> Self {
        Self {
            scratch: scratch_folder("faults"),
            below: folder.to_owned(),
            plans: AtomicU32::new(0),
        }
    }

    /// Starts a sidecar with these faults.
    pub(crate) fn start(&self, configuration: &str) -> Sidecar {
        let text = |path: &Path| {
            let text = path.to_str().expect("invariant: test folders are UTF-8");
            text.to_owned()
        };
        let environment = [
            ("LD_PRELOAD", text(library())),
            ("FAULTS_FOLDER", text(&self.below)),
            ("FAULTS_PLAN", text(&self.plan_file())),
        ];
        let environment = environment
            .each_ref()
            .map(|(name, value)| (*name, &**value));
        Sidecar::start(configuration, &environment)
    }

    /// Replaces the planned faults.
    pub(crate) fn plan(&self, plan: &str) {
        self.plans.fetch_add(1, Ordering::Relaxed);
        let text = format!("{plan}\n{}", self.report_file().display());
        // Atomic: the library may read the plan at any time.
        let draft = self.scratch.path().join("plan.draft");
        fs::write(&draft, text)
            .and_then(|()| fs::rename(&draft, self.plan_file()))
            .expect("the scratch folder can be written");
    }

    /// Removes the planned faults.
    pub(crate) fn clear(&self) {
        fs::remove_file(self.plan_file()).expect("there is a plan");
    }

    /// Calls reported for the last plan.
    pub(crate) fn reported(&self) -> Vec<Call> {
        let text = fs::read_to_string(self.report_file()).unwrap_or_default();
        let calls = text.lines().map(|line| {
            let (number, what) = line.split_once(' ').expect("a number before the call");
            Call {
                number: number.parse().expect("a number"),
                what: what.to_owned(),
            }
        });
        calls.collect()
    }

    /// Calls of the running sidecar that write one checkpoint.
    pub(crate) fn calls_of_a_checkpoint(&self) -> Vec<Call> {
        self.plan("list");
        let calls = wait_until(CALL_TIMEOUT, "two checkpoints have started", || {
            let calls = self.reported();
            let begun: Vec<usize> = (0..calls.len())
                .filter(|at| calls[*at].number == 0)
                .collect();
            Some(calls[*begun.first()?..*begun.get(1)?].to_vec())
        });
        self.clear();
        calls
    }

    fn plan_file(&self) -> PathBuf {
        self.scratch.path().join("plan")
    }

    fn report_file(&self) -> PathBuf {
        let plan = self.plans.load(Ordering::Relaxed);
        self.scratch.path().join(format!("report-{plan}"))
    }
}

/// Path of the library, compiled once per test run.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/faults.c");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let draft = folder.join(format!("faults-{}.so", std::process::id()));
        let output = Command::new("cc")
            .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"])
            .args(["-shared", "-fPIC", "-o"])
            .args([&draft, &source])
            .output()
            .unwrap_or_else(|error| panic!("cannot run cc: {error}; tests/setup.sh build"));
        assert!(
            output.status.success(),
            "{}: {}",
            source.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        // Atomic: another test process may be loading the library.
        let library = folder.join("faults.so");
        fs::rename(&draft, &library).expect("the target directory can be written");
        library
    })
}
