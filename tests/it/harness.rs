//! The real programs around the sidecar: a Kafka broker, a Prometheus, the built binary itself.
//!
//! Everything here starts on free ports of the loopback, keeps its files in a folder of its own
//! below the target directory and dies with the test process, however that ends. Nothing here
//! knows what a test expects, and nothing skips: a missing program is a failure that says how to
//! install it.
#![allow(
    clippy::disallowed_methods,
    reason = "waiting for outside programs takes a clock; the ban is the engine's"
)]
#![allow(
    clippy::panic,
    reason = "a harness that cannot set the stage fails the test, with the reason"
)]

pub(crate) mod alertmanager;
pub(crate) mod faults;
pub(crate) mod gate;
pub(crate) mod kafka;
pub(crate) mod prometheus;
pub(crate) mod sidecar;

use std::fs::File;
use std::io::Write as _;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Asks `condition` again and again until it gives a value; the only place where tests sleep.
///
/// # Panics
/// After `limit`, saying `what` was waited for.
pub(crate) fn wait_until<T>(
    limit: Duration,
    what: &str,
    mut condition: impl FnMut() -> Option<T>,
) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(start.elapsed() < limit, "waited {limit:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A TCP port of the loopback on which nothing listens, not handed out before by this process.
///
/// It lies below the range from which the kernel takes ports of outgoing connections. So a broker
/// that is away for a while finds its port free when it comes back, and a client that keeps
/// trying to reach it cannot connect to itself.
pub(crate) fn free_port() -> u16 {
    const FIRST: u16 = 12_000;
    const COUNT: u16 = 20_000;
    static HANDED_OUT: AtomicU16 = AtomicU16::new(0);
    // Two test processes at a time start at different places.
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

/// The directory into which `tests/setup.sh` and cargo put what they make.
fn target_directory() -> &'static Path {
    // Cargo's scratch directory for integration tests is `target/tmp`.
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("invariant: cargo's temporary directory lies in the target directory")
}

/// A folder of its own for one program, removed with the value.
fn scratch_folder(prefix: &str) -> TempDir {
    tempfile::Builder::new()
        .prefix(&format!("{prefix}-"))
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap_or_else(|error| panic!("no scratch folder for {prefix}: {error}"))
}

/// An HTTP GET: status and body. `Err` when no answer came within ten seconds.
pub(crate) fn http_get(url: &str) -> Result<(u16, String), ureq::Error> {
    let mut response = http().get(url).call()?;
    // A scrape may be larger than what the client reads by default.
    let body = response
        .body_mut()
        .with_config()
        .limit(1 << 30)
        .read_to_string()?;
    Ok((response.status().as_u16(), body))
}

/// A client that takes every status as an answer and never goes through a proxy.
fn http() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .timeout_global(Some(Duration::from_secs(10)))
        .build()
        .new_agent()
}

/// A running program that cannot outlive this process.
///
/// Dropping it kills it and, in a test that fails, shows the end of its log. When this process is
/// killed, a watchdog sees its standard input close, kills the program and removes its folder; it
/// ignores the signals of a terminal for that.
struct Program {
    name: String,
    child: Child,
    watchdog: Child,
    log: PathBuf,
}

impl Program {
    /// Starts `command` with its output going to `log`; `folder` is what the watchdog removes.
    ///
    /// # Panics
    /// When it cannot be started, with `remedy`, which says how to install it.
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

    /// Fails the test when the program has ended although nobody asked it to.
    fn assert_running(&mut self) {
        if let Some(status) = self.exit_status() {
            panic!("{} ended: {status}", self.name);
        }
    }

    /// Waits until it says at `/-/ready` that it is, as Prometheus and its kin do.
    fn await_ready(&mut self, address: SocketAddr, limit: Duration) {
        let what = format!("{} is ready", self.name);
        wait_until(limit, &what, || {
            self.assert_running();
            let (status, _) = http_get(&format!("http://{address}/-/ready")).ok()?;
            (status == 200).then_some(())
        });
    }

    /// How it ended, if it has.
    fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child
            .try_wait()
            .unwrap_or_else(|error| panic!("cannot ask for {}: {error}", self.name))
    }

    /// Freezes it, and returns when none of its threads runs any more.
    ///
    /// A signal is only sent by then: the process stops when one of its threads has been given a
    /// processor and found it, and on a busy machine the others go on until then.
    fn pause(&self) {
        self.signal("STOP");
        let threads = format!("/proc/{}/task", self.child.id());
        let what = format!("every thread of {} stands still", self.name);
        wait_until(Duration::from_secs(30), &what, || {
            std::fs::read_dir(&threads)
                .unwrap_or_else(|error| panic!("cannot list {threads}: {error}"))
                .flatten()
                // A thread may have ended between the two looks.
                .filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok())
                .all(|stat| {
                    // "1 (name) T 2 …", and a name may have parentheses.
                    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
                    state == Some(Some('T'))
                })
                .then_some(())
        });
    }

    /// Lets it go on after [`Program::pause`].
    fn resume(&self) {
        self.signal("CONT");
    }

    /// Sends a signal by its name: `TERM`, `STOP`, `CONT`.
    fn signal(&self, signal: &str) {
        // The shell's own `kill`: not every machine has the program of that name.
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

    /// Asks it to end and gives it `limit` for that.
    fn terminate(&mut self, limit: Duration) -> ExitStatus {
        if let Some(status) = self.exit_status() {
            return status;
        }
        self.signal("TERM");
        let what = format!("{} ends after SIGTERM", self.name);
        wait_until(limit, &what, || self.exit_status())
    }

    /// All that it has written so far.
    fn log(&self) -> String {
        std::fs::read(&self.log).map_or_else(
            |error| format!("(no log in {}: {error})", self.log.display()),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    /// The last lines that it has written, to show beside a failure.
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
        // In a destructor nothing can be done about a failure, and the watchdog is there still.
        let ended = self.child.kill().and_then(|()| self.child.wait());
        if ended.is_ok()
            && let Some(mut leash) = self.watchdog.stdin.take()
        {
            // A line releases the watchdog: what it watched has ended, its number may be reused.
            drop(leash.write_all(b"\n"));
        }
        drop(self.watchdog.wait());
    }
}
