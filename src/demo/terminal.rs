//! Alternate screen of the terminal: entered, drawn line by line, and left as it was found.
//!
//! The terminal keeps Ctrl-C as a signal. Typed characters are not shown, and are discarded at the
//! end. This module must not know the meaning of a line.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::style::{Attribute, Color, Print, ResetColor, SetAttribute, SetForegroundColor};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap,
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetwinsize, tcsetattr,
};

use super::screen::{Line, Size, Tone};
use crate::log::is_colour_allowed;
use rankgauge_eval::text_layout::escape_lines;

/// Size of a terminal that does not report its own.
const DEFAULT_SIZE: Size = Size {
    columns: 80,
    rows: 24,
};

/// Maximum number of messages that are kept while the screen is in use.
const MAX_MESSAGES: usize = 100;

/// Number of messages on the screen.
const SHOWN_MESSAGES: usize = 2;

/// Returns true if standard output is a terminal with cursor addressing.
pub(super) fn is_usable() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    io::stdout().is_terminal() && !is_dumb
}

/// Returns true if the log has colours: standard error is a terminal and they are allowed.
pub(super) fn has_log_colour() -> bool {
    io::stderr().is_terminal() && is_colour_allowed()
}

/// Writer of frames: writes only the lines that differ from the frame before.
#[derive(Debug)]
pub struct Canvas<W> {
    out: W,
    has_colour: bool,
    size: Option<Size>,
    lines: Vec<Line>,
}

impl<W: Write> Canvas<W> {
    /// Canvas on `out`, with an unknown content.
    pub fn new(out: W, has_colour: bool) -> Self {
        Self {
            out,
            has_colour,
            size: None,
            lines: Vec::new(),
        }
    }

    /// Draws `lines`, which fit `size`, from the top of the screen.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub fn draw(&mut self, lines: Vec<Line>, size: Size) -> io::Result<()> {
        let out = &mut self.out;
        queue!(out, BeginSynchronizedUpdate)?;
        if self.size.replace(size) != Some(size) {
            // The terminal may have moved lines.
            queue!(out, Clear(ClearType::All))?;
            self.lines.clear();
        }
        for (row, line) in (0..).zip(&lines) {
            if self.lines.get(usize::from(row)) == Some(line) {
                continue;
            }
            queue!(out, MoveTo(0, row))?;
            for (text, tone) in &line.0 {
                write_styled(out, text, *tone, self.has_colour)?;
            }
            // Beyond the last column, the last character would be cleared.
            if line.width() < usize::from(size.columns) {
                queue!(out, Clear(ClearType::UntilNewLine))?;
            }
        }
        if lines.len() < self.lines.len() {
            let row = u16::try_from(lines.len()).unwrap_or(u16::MAX);
            queue!(out, MoveTo(0, row), Clear(ClearType::FromCursorDown))?;
        }
        queue!(out, EndSynchronizedUpdate)?;
        self.lines = lines;
        self.out.flush()
    }
}

/// Writes a text in the style of its tone. Colours are a pair for colour-blind users, out of the
/// terminal's own palette; a mark or a position says the same without colour.
fn write_styled(out: &mut impl Write, text: &str, tone: Tone, has_colour: bool) -> io::Result<()> {
    let (attribute, colour) = match tone {
        Tone::Plain => return queue!(out, Print(text)),
        Tone::Good => (None, Some(Color::Blue)),
        Tone::Bad => (Some(Attribute::Bold), Some(Color::Red)),
        Tone::Strong => (Some(Attribute::Bold), None),
        Tone::Faint => (Some(Attribute::Dim), None),
    };
    if let Some(attribute) = attribute {
        queue!(out, SetAttribute(attribute))?;
    }
    if let Some(colour) = colour.filter(|_| has_colour) {
        queue!(out, SetForegroundColor(colour))?;
    }
    queue!(out, Print(text), SetAttribute(Attribute::Reset))
}

/// Log lines while the screen is in use. Otherwise, lines go to standard error.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages(Arc<Kept>);

#[derive(Debug, Default)]
struct Kept {
    is_kept: AtomicBool,
    lines: Mutex<VecDeque<String>>,
}

impl Messages {
    /// The last messages.
    pub(super) fn last(&self) -> Vec<String> {
        let lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let first = lines.len().saturating_sub(SHOWN_MESSAGES);
        lines.iter().skip(first).cloned().collect()
    }

    /// Keeps messages from now on.
    fn keep(&self) {
        self.0.is_kept.store(true, Ordering::Release);
    }

    /// Writes the kept messages to standard error, and the following ones too.
    fn release(&self) {
        self.0.is_kept.store(false, Ordering::Release);
        let mut lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines.drain(..) {
            // Standard error may be closed.
            drop(io::stderr().write_all(line.as_bytes()));
        }
    }
}

impl Write for Messages {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // A log in a file does not disturb the screen.
        if !self.0.is_kept.load(Ordering::Acquire) || !io::stderr().is_terminal() {
            return io::stderr().write(line);
        }
        let mut lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= MAX_MESSAGES {
            lines.pop_front();
        }
        lines.push_back(String::from_utf8_lossy(line).into_owned());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Prints a text to standard output. Control characters are escaped.
pub(super) fn print(text: &str) -> io::Result<()> {
    print_data(&escape_lines(text))
}

/// Prints data for programs to standard output unchanged.
pub(super) fn print_data(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints a note to standard error. Control characters are escaped.
pub(super) fn note(text: &str) -> io::Result<()> {
    io::stderr().write_all(escape_lines(text).as_bytes())
}

/// Alternate screen of standard output; dropping it leaves the screen.
#[derive(Debug)]
pub(super) struct Terminal {
    canvas: Canvas<io::Stdout>,
    restore: Arc<Restore>,
    messages: Messages,
}

impl Terminal {
    /// Enters the alternate screen. A panic leaves it before its report.
    pub(super) fn enter(messages: &Messages) -> io::Result<Self> {
        let restore = Arc::new(Restore::new(silence_input()?));
        let terminal = Self {
            canvas: Canvas::new(io::stdout(), is_colour_allowed()),
            restore: Arc::clone(&restore),
            messages: messages.clone(),
        };
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore.leave();
            report(panic);
        }));
        messages.keep();
        let mut out = io::stdout();
        queue!(out, EnterAlternateScreen, Hide, DisableLineWrap)?;
        out.flush()?;
        Ok(terminal)
    }

    /// Current size of the terminal.
    pub(super) fn size() -> Size {
        let size = tcgetwinsize(io::stdout()).ok();
        let size = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
        size.map_or(DEFAULT_SIZE, |size| Size {
            columns: size.ws_col,
            rows: size.ws_row,
        })
    }

    /// Draws `lines`, which fit `size`.
    pub(super) fn draw(&mut self, lines: Vec<Line>, size: Size) -> io::Result<()> {
        self.canvas.draw(lines, size)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.restore.leave();
        self.messages.release();
    }
}

/// Restores the terminal, once.
#[derive(Debug)]
struct Restore {
    input: Option<Termios>,
    is_done: AtomicBool,
}

impl Restore {
    fn new(input: Option<Termios>) -> Self {
        Self {
            input,
            is_done: AtomicBool::new(false),
        }
    }

    fn leave(&self) {
        if self.is_done.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut out = io::stdout();
        // The terminal may be closed. It then needs nothing.
        drop(queue!(
            out,
            ResetColor,
            EnableLineWrap,
            Show,
            LeaveAlternateScreen
        ));
        drop(out.flush());
        if let Some(input) = &self.input {
            tcflush(io::stdin(), QueueSelector::IFlush).ok();
            tcsetattr(io::stdin(), OptionalActions::Now, input).ok();
        }
    }
}

/// Stops the echo of typed characters and the suspension by Ctrl-Z, which would leave the shell on
/// the alternate screen. Returns the modes before; `None` if standard input is no terminal.
fn silence_input() -> io::Result<Option<Termios>> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Ok(None);
    }
    let before = tcgetattr(&input)?;
    let mut silent = before.clone();
    silent.local_modes &= !(LocalModes::ECHO | LocalModes::ICANON);
    // 0 disables a special character.
    silent.special_codes[SpecialCodeIndex::VSUSP] = 0;
    tcsetattr(&input, OptionalActions::Now, &silent)?;
    Ok(Some(before))
}
