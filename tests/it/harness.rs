//! Test harness for the real programs: a Kafka broker, Prometheus, Alertmanager, and the built
//! binary.
//!
//! Each program uses free loopback ports and a separate folder below the target directory, and ends
//! with the test process, even if that is killed. The harness must not know the expectations of a
//! test. No test is skipped: a missing program is a failure that explains the installation.
#![allow(
    clippy::disallowed_methods,
    reason = "the harness needs a clock to wait for programs; the ban is for the engine"
)]
#![allow(
    clippy::panic,
    reason = "a harness that cannot prepare a test fails it, with the reason"
)]

pub(crate) mod alertmanager;
pub(crate) mod browser;
pub(crate) mod command;
pub(crate) mod faults;
pub(crate) mod gate;
pub(crate) mod kafka;
pub(crate) mod prometheus;
pub(crate) mod pty;
pub(crate) mod sidecar;

use std::fs::{self, File};
use std::io::Write as _;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Polls `condition` until it returns a value. Tests sleep only here.
///
/// A condition that takes long, as a scrape of thousands of series, is polled less often, so that the wait leaves
/// processor time to the programs that it waits for.
///
/// # Panics
/// After `limit`, with `what` as the condition that did not hold.
pub(crate) fn wait_until<T>(
    limit: Duration,
    what: &str,
    mut condition: impl FnMut() -> Option<T>,
) -> T {
    const SHORTEST: Duration = Duration::from_millis(20);
    const LONGEST: Duration = Duration::from_secs(1);
    let start = Instant::now();
    loop {
        let polled = Instant::now();
        if let Some(value) = condition() {
            return value;
        }
        assert!(start.elapsed() < limit, "timed out after {limit:?}: {what}");
        std::thread::sleep((polled.elapsed() * 2).clamp(SHORTEST, LONGEST));
    }
}

/// Returns a free TCP port of the loopback that this process has not returned before.
///
/// The port is below the range of the kernel for outgoing connections. The port of a stopped broker
/// therefore stays free until its restart, and a client that reconnects cannot connect to itself.
pub(crate) fn free_port() -> u16 {
    const FIRST: u16 = 12_000;
    const COUNT: u16 = 20_000;
    static HANDED_OUT: AtomicU16 = AtomicU16::new(0);
    // Concurrent test processes start at different ports.
    let start = u16::try_from(std::process::id() * 61 % u32::from(COUNT)).unwrap_or(0);
    for _ in 0..COUNT {
        let step = HANDED_OUT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + (start + step % COUNT) % COUNT;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port of 127.0.0.1 from {FIRST} on");
}

/// Directory of the files that `tests/setup.sh` and cargo create.
fn target_directory() -> &'static Path {
    // Cargo's scratch directory for integration tests is `target/tmp`.
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("invariant: cargo's temporary directory lies in the target directory")
}

/// Creates a folder for one program, removed on drop.
pub(crate) fn scratch_folder(prefix: &str) -> TempDir {
    tempfile::Builder::new()
        .prefix(&format!("{prefix}-"))
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap_or_else(|error| panic!("no scratch folder for {prefix}: {error}"))
}

/// Sends an HTTP GET. Returns the status and the body, or an error after a minute without a response.
pub(crate) fn http_get(url: &str) -> Result<(u16, String), ureq::Error> {
    let mut response = http().get(url).call()?;
    // A scrape may be larger than the default limit of the client.
    let body = response
        .body_mut()
        .with_config()
        .limit(1 << 30)
        .read_to_string()?;
    Ok((response.status().as_u16(), body))
}

/// HTTP client that accepts every status and uses no proxy.
fn http() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .timeout_global(Some(Duration::from_mins(1)))
        .build()
        .new_agent()
}

/// Running program that ends with this process.
///
/// Dropping the value kills the program and, in a failed test, prints the end of its log. If this
/// process is killed, the standard input of a watchdog closes; the watchdog then kills the program
/// and removes its folder. For that it ignores the signals of a terminal.
struct Program {
    name: String,
    child: Child,
    watchdog: Child,
    log: PathBuf,
}

impl Program {
    /// Starts `command` with its output in `log`. The watchdog removes `folder`.
    ///
    /// # Panics
    /// If the program cannot be started, with `remedy`, which explains the installation.
    fn start(name: &str, command: &mut Command, folder: &Path, log: PathBuf, remedy: &str) -> Self {
        let output = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", log.display()));
        let errors = output
            .try_clone()
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", log.display()));
        let child = command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {name}: {error}; {remedy}"));
        let watchdog = Command::new("sh")
            .args([
                "-c",
                r#"trap '' HUP INT TERM; read -r _ || { kill -9 "$1"; rm -rf "$2"; }"#,
                "watchdog",
            ])
            .arg(child.id().to_string())
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start sh: {error}"));
        Self {
            name: name.to_owned(),
            child,
            watchdog,
            log,
        }
    }

    /// Id of the process.
    fn id(&self) -> u32 {
        self.child.id()
    }

    /// Fails the test if the program has ended unexpectedly.
    fn assert_running(&mut self) {
        if let Some(status) = self.exit_status() {
            panic!("{} ended: {status}", self.name);
        }
    }

    /// Waits until `/-/ready` reports that the program is ready, as in Prometheus and Alertmanager.
    fn await_ready(&mut self, address: SocketAddr, limit: Duration) {
        let what = format!("{} is ready", self.name);
        wait_until(limit, &what, || {
            self.assert_running();
            let (status, _) = http_get(&format!("http://{address}/-/ready")).ok()?;
            (status == 200).then_some(())
        });
    }

    /// Exit status of the program if it has ended.
    fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child
            .try_wait()
            .unwrap_or_else(|error| panic!("cannot get the status of {}: {error}", self.name))
    }

    /// Stops the program with SIGSTOP and waits until no thread of it runs.
    ///
    /// Sending the signal is not enough: the process stops when one of its threads is scheduled and
    /// handles the signal, and on a busy machine the other threads run until then.
    fn pause(&self) {
        self.signal("STOP");
        let threads = format!("/proc/{}/task", self.child.id());
        let what = format!("every thread of {} is stopped", self.name);
        wait_until(Duration::from_secs(30), &what, || {
            std::fs::read_dir(&threads)
                .unwrap_or_else(|error| panic!("cannot list {threads}: {error}"))
                .flatten()
                // A thread may have ended since the listing.
                .filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok())
                .all(|stat| {
                    // "1 (name) T 2 …"; the name may contain parentheses.
                    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
                    state == Some(Some('T'))
                })
                .then_some(())
        });
    }

    /// Resumes the program after [`Program::pause`].
    fn resume(&self) {
        self.signal("CONT");
    }

    /// Sends a signal by its name: `TERM`, `STOP`, `CONT`.
    fn signal(&self, signal: &str) {
        // The `kill` builtin of the shell: not every machine has the program.
        let sent = Command::new("sh")
            .args(["-c", r#"kill -s "$1" "$2""#, "sh", signal])
            .arg(self.child.id().to_string())
            .status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "cannot send {signal} to {}",
            self.name
        );
    }

    /// Sends SIGTERM and waits up to `limit` for the end of the program.
    fn terminate(&mut self, limit: Duration) -> ExitStatus {
        if let Some(status) = self.exit_status() {
            return status;
        }
        self.signal("TERM");
        let what = format!("{} ends after SIGTERM", self.name);
        wait_until(limit, &what, || self.exit_status())
    }

    /// Log of the program so far.
    fn log(&self) -> String {
        std::fs::read(&self.log).map_or_else(
            |error| format!("(no log in {}: {error})", self.log.display()),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    /// Last lines of the log, for failure messages.
    fn log_tail(&self) -> String {
        const LINES: usize = 40;
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(LINES)..].join("\n");
        format!("--- the end of {}'s log ---\n{tail}\n---", self.name)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log_tail());
        }
        // A destructor cannot handle a failure; the watchdog is still running.
        let ended = self.child.kill().and_then(|()| self.child.wait());
        if ended.is_ok()
            && let Some(mut leash) = self.watchdog.stdin.take()
        {
            // A line ends the watchdog without a kill: the process id of the ended program may be
            // reused.
            drop(leash.write_all(b"\n"));
        }
        drop(self.watchdog.wait());
    }
}

/// Python environment `name` that `tests/setup.sh` installs, and the folder of its programs.
///
/// # Panics
/// If the packages of the folder are not installed.
pub(crate) fn python(name: &str) -> (PathBuf, PathBuf) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let target =
        target.expect("invariant: cargo's temporary directory lies in the target directory");
    let environment = target.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name);
    let wanted = fs::read(source.join("requirements.txt")).expect("requirements.txt is there");
    let installed = fs::read(environment.join("requirements.txt")).unwrap_or_default();
    assert!(
        installed == wanted,
        "the packages are not installed in {}: run tests/setup.sh {name}",
        environment.display()
    );
    (environment, source)
}
