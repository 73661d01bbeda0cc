//! Display of the demo: the alternate screen of a terminal, plain text for a pipe, or JSON at the
//! end.

use std::io;

use super::history::{History, PlannedDrop};
use super::screen::{Context, frame};
use super::table;
use super::terminal::{Messages, Terminal, print, print_data};
use super::view::View;

/// Interval between written views, in views, if the output is not a terminal.
const PLAIN_OUTPUT_INTERVAL: u32 = 20;

/// Form of the output.
#[derive(Debug)]
enum Output {
    /// Each view replaces the one before.
    Screen(Terminal),
    /// Some views, one after the other.
    Text,
    /// The last view only.
    Json,
}

/// Display of views.
#[derive(Debug)]
pub(super) struct Display {
    output: Output,
    history: History,
    context: Context,
    messages: Messages,
    views: u32,
}

impl Display {
    /// Display on standard output. `messages` are log lines that must not disturb a screen.
    ///
    /// # Errors
    /// If the terminal cannot be prepared.
    pub(super) fn start(is_json: bool, context: Context, messages: Messages) -> io::Result<Self> {
        let output = match (is_json, super::terminal::is_usable()) {
            (true, _) => Output::Json,
            (false, true) => Output::Screen(Terminal::enter(&messages)?),
            (false, false) => Output::Text,
        };
        Ok(Self {
            output,
            history: History::new(None),
            context,
            messages,
            views: 0,
        })
    }

    /// Shows a view. `planned` is the planned drop, if its time is known.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub(super) fn update(&mut self, view: &View, planned: Option<PlannedDrop>) -> io::Result<()> {
        self.history.plan(planned);
        self.history.add(view);
        self.views += 1;
        match &mut self.output {
            Output::Screen(terminal) => {
                self.context.messages = self.messages.last();
                let size = Terminal::size();
                let lines = frame(view, &self.history, &self.context, size, self.views);
                terminal.draw(lines, size)
            }
            Output::Text if self.views.is_multiple_of(PLAIN_OUTPUT_INTERVAL) => {
                print(&table::text(view, &self.history, &self.context))
            }
            Output::Text | Output::Json => Ok(()),
        }
    }

    /// Leaves the screen and prints the last view.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub(super) fn finish(self, view: &View) -> io::Result<()> {
        let Self {
            output,
            mut history,
            context,
            ..
        } = self;
        history.add(view);
        let is_json = matches!(output, Output::Json);
        drop(output);
        if is_json {
            print_data(&(serde_json::to_string_pretty(view)? + "\n"))
        } else {
            print(&table::summary(view, &history, &context))
        }
    }
}
