//! Queue of log lines for standard error.
//!
//! Standard error can fail: its disk is full, its reader has ended, or its reader no longer reads.
//! None of these may end or stall the process. Lines are written by a thread of their own, and lines
//! that cannot be written are counted. This module must not know the content of a line, except that a text
//! for users is one line without control characters.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: the thread that writes the log is started here"
)]

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rankgauge_core::text::escape_controls;
use tracing_subscriber::fmt::MakeWriter;

/// Maximum number of lines that wait for standard error.
pub const MAX_LINES: usize = 4_096;

/// Maximum wait of a thread for space in a full queue. Only the first line of a stall waits.
const SPACE_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum wait for the last lines at the end of a command.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Queue of log lines. Clones refer to the same queue.
#[derive(Clone, Debug, Default)]
pub struct LogQueue(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Number of lines that could not be written.
    lost: Arc<AtomicU64>,
    /// Notified when a line is added or written.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    /// True while the writer writes a line that it took from the queue.
    is_writing: bool,
    /// True if a line did not find space in time, until the next line is written.
    is_stalled: bool,
}

impl LogQueue {
    /// Starts a thread that writes the lines of a new queue to `output`.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(output: impl Write + Send + 'static) -> io::Result<Self> {
        let queue = Self::default();
        let lines = queue.clone();
        thread::Builder::new()
            .name("log".into())
            .spawn(move || lines.write_to(output))?;
        Ok(queue)
    }

    /// Number of lines that could not be written.
    pub fn lost(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.0.lost)
    }

    /// Waits until all lines are written, for a limited time.
    pub fn flush(&self) {
        let pending = |state: &mut State| state.is_writing || !state.lines.is_empty();
        drop(self.wait_while(self.state(), FLUSH_TIMEOUT, pending));
    }

    /// Adds a line. Waits for space while the output makes progress. A line without space is lost
    /// and counted.
    pub fn push(&self, line: &[u8]) {
        let is_full = |state: &mut State| state.lines.len() >= MAX_LINES;
        let mut state = self.state();
        if is_full(&mut state) && !state.is_stalled {
            state = self.wait_while(state, SPACE_TIMEOUT, is_full);
            state.is_stalled = is_full(&mut state);
        }
        if is_full(&mut state) {
            self.0.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        state.lines.push_back(line.to_vec());
        self.0.changed.notify_all();
    }

    /// Writes the lines of the queue to `output`, one at a time, until the process ends.
    fn write_to(&self, mut output: impl Write) {
        loop {
            let line = self.take();
            let written = output.write_all(&line).and_then(|()| output.flush());
            let mut state = self.state();
            state.is_writing = false;
            state.is_stalled = false;
            let lost = u64::from(written.is_err());
            self.0.lost.fetch_add(lost, Ordering::Relaxed);
            self.0.changed.notify_all();
        }
    }

    /// Waits for the next line and removes it from the queue.
    fn take(&self) -> Vec<u8> {
        let mut state = self.state();
        loop {
            if let Some(line) = state.lines.pop_front() {
                state.is_writing = true;
                return line;
            }
            let changed = self.0.changed.wait(state);
            state = changed.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn wait_while<'a>(
        &self,
        state: MutexGuard<'a, State>,
        limit: Duration,
        condition: impl Fn(&mut State) -> bool,
    ) -> MutexGuard<'a, State> {
        let waited = self.0.changed.wait_timeout_while(state, limit, condition);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writer of one event: a formatted event is written with one call.
impl Write for LogQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for LogQueue {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Returns true unless `NO_COLOR` is set (<https://no-color.org>).
pub(crate) fn is_colour_allowed() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Queue for the events of a log in text form. An event is one line, whichever texts of files, events and
/// clients it quotes: line breaks and other control characters are [escaped](escape_controls).
#[derive(Clone, Debug)]
pub struct TextLines {
    queue: LogQueue,
    has_colour: bool,
}

impl TextLines {
    /// Lines for `queue`. With `has_colour`, the sequences for colours stay, which the writer of the events
    /// adds. It escapes those of the quoted texts itself.
    pub fn new(queue: LogQueue, has_colour: bool) -> Self {
        Self { queue, has_colour }
    }

    fn escaped(&self, event: &str) -> String {
        let mut line = String::with_capacity(event.len() + 1);
        let mut rest = event.strip_suffix('\n').unwrap_or(event);
        while let Some((text, colour, after)) = next_colour(rest).filter(|_| self.has_colour) {
            line.push_str(&escape_controls(text));
            line.push_str(colour);
            rest = after;
        }
        line.push_str(&escape_controls(rest));
        line.push('\n');
        line
    }
}

/// Splits a text at its first sequence for a colour.
fn next_colour(text: &str) -> Option<(&str, &str, &str)> {
    let is_parameter = |character: char| character.is_ascii_digit() || character == ';';
    text.match_indices("\u{1b}[").find_map(|(start, _)| {
        let parameters = text.get(start + 2..)?;
        let after = parameters
            .trim_start_matches(is_parameter)
            .strip_prefix('m')?;
        let end = text.len() - after.len();
        Some((&text[..start], &text[start..end], after))
    })
}

/// Writer of one event: a formatted event is written with one call.
impl Write for TextLines {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        self.queue.push(self.escaped(&text).as_bytes());
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for TextLines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Log of a command. Its end waits for the last lines, for a limited time.
#[derive(Debug)]
pub struct Log(LogQueue);

impl Log {
    /// Starts a log on `output`, standard error as a rule. `subscribe` installs a subscriber that writes to the queue,
    /// and returns false if the process has a log already: in tests, a second command in the same
    /// process keeps the log of the first.
    ///
    /// # Errors
    /// If the thread that writes the log cannot be started.
    pub fn start(
        output: impl Write + Send + 'static,
        subscribe: impl FnOnce(LogQueue) -> bool,
    ) -> io::Result<Self> {
        let queue = LogQueue::start(output)?;
        if subscribe(queue.clone()) {
            let (queue, report) = (queue.clone(), std::panic::take_hook());
            // A panic ends the process at once. The lines before it are its explanation.
            std::panic::set_hook(Box::new(move |panic| {
                queue.flush();
                report(panic);
            }));
        }
        Ok(Self(queue))
    }

    /// The queue of the log.
    pub fn queue(&self) -> &LogQueue {
        &self.0
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.0.flush();
    }
}
