//! Terminal emulator: a program runs on a pseudo-terminal, and its output is interpreted as a
//! terminal would.
//!
//! `setsid` of util-linux gives the program a controlling terminal, so that a typed Ctrl-C becomes a
//! signal. This module must not know the meaning of the screen.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::wait_until;

/// End of a frame: the end of a synchronized update.
const FRAME_END: &[u8] = b"\x1b[?2026l";

/// Number of columns and rows.
pub(crate) type Size = (u16, u16);

/// State of the emulated terminal.
struct State {
    parser: vt100::Parser,
    /// Everything that the program wrote.
    bytes: Vec<u8>,
    /// Number of complete frames.
    frames: usize,
    /// Wrapped lines of frames.
    wrapped: Vec<String>,
}

impl State {
    fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.bytes.push(*byte);
            self.parser.process(&[*byte]);
            if self.bytes.ends_with(FRAME_END) {
                self.frames += 1;
                self.wrapped.extend(wrapped(self.parser.screen()));
            }
        }
    }
}

/// Lines of a screen that continue on the next row.
pub(crate) fn wrapped(screen: &vt100::Screen) -> Vec<String> {
    let (_, columns) = screen.size();
    let rows = (0..).zip(screen.rows(0, columns.get()));
    let rows = rows.filter(|(row, _)| screen.row_wrapped(*row));
    rows.map(|(_, text)| text).collect()
}

/// Emulator without a program.
pub(crate) fn emulator((columns, rows): Size) -> vt100::Parser {
    let cells = |count| NonZeroU16::new(count).expect("a size above 0");
    vt100::Parser::new(cells(rows), cells(columns), 500)
}

/// Running program on a terminal; dropping it kills the program.
pub(crate) struct Terminal {
    child: Child,
    master: File,
    slave: OwnedFd,
    state: Arc<Mutex<State>>,
}

impl Terminal {
    /// Starts a program on a terminal of a size.
    pub(crate) fn start(program: &str, arguments: &[&str], size: Size, colour: bool) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&master).expect("a pseudo-terminal");
        unlockpt(&master).expect("a pseudo-terminal");
        let name = ptsname(&master, Vec::new()).expect("a pseudo-terminal");
        let slave = rustix::fs::open(
            std::ffi::OsStr::from_bytes(name.as_bytes()),
            OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .expect("the terminal side");
        resize(&slave, size);
        let copy = || slave.try_clone().expect("a copy of a descriptor");
        let mut command = Command::new("setsid");
        command.args(["--ctty", program]).args(arguments);
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        if !colour {
            command.env("NO_COLOR", "1");
        }
        let child = command.stdin(copy()).stdout(copy()).stderr(copy()).spawn();
        let child = child.unwrap_or_else(|error| panic!("setsid (util-linux): {error}"));
        let state = Arc::new(Mutex::new(State {
            parser: emulator(size),
            bytes: Vec::new(),
            frames: 0,
            wrapped: Vec::new(),
        }));
        let master = File::from(master);
        let mut output = master.try_clone().expect("a copy of a descriptor");
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                shared.lock().unwrap().read(&buffer[..length]);
            }
        });
        Self {
            child,
            master,
            slave,
            state,
        }
    }

    /// Waits until the screen fulfils a condition, and returns the result of it.
    pub(crate) fn wait<T>(
        &mut self,
        limit: Duration,
        what: &str,
        mut condition: impl FnMut(&vt100::Screen) -> Option<T>,
    ) -> T {
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until(limit, what, || {
                condition(self.state.lock().unwrap().parser.screen())
            })
        }));
        found.unwrap_or_else(|_| panic!("{what}; the screen:\n{}", self.text()))
    }

    /// Waits until another frame is complete.
    pub(crate) fn next_frame(&mut self, limit: Duration) {
        let frames = self.state.lock().unwrap().frames;
        wait_until(limit, "another frame", || {
            (self.state.lock().unwrap().frames > frames).then_some(())
        });
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&self, size: Size) {
        let cells = |count| NonZeroU16::new(count).expect("a size above 0");
        let mut state = self.state.lock().unwrap();
        state.parser.set_size(cells(size.1), cells(size.0));
        resize(&self.slave, size);
    }

    /// Types characters.
    pub(crate) fn type_in(&mut self, bytes: &[u8]) {
        self.master.write_all(bytes).expect("the terminal is open");
    }

    /// Waits for the end of the program.
    pub(crate) fn wait_for_end(&mut self, limit: Duration) -> ExitStatus {
        wait_until(limit, "the program ends", || {
            self.child.try_wait().expect("a child")
        })
    }

    /// Text of the screen.
    pub(crate) fn text(&self) -> String {
        self.state.lock().unwrap().parser.screen().contents()
    }

    /// Everything that the program wrote.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.state.lock().unwrap().bytes.clone()
    }

    /// Forgets the wrapped lines so far.
    pub(crate) fn forget_wrapped(&self) {
        self.state.lock().unwrap().wrapped.clear();
    }

    /// Wrapped lines of all frames so far, since they were forgotten.
    pub(crate) fn wrapped(&self) -> Vec<String> {
        self.state.lock().unwrap().wrapped.clone()
    }

    /// True if typed characters are shown and lines are edited, as a shell expects.
    pub(crate) fn has_echo(&self) -> bool {
        let modes = tcgetattr(&self.slave).expect("a terminal").local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn resize(terminal: &OwnedFd, (columns, rows): Size) {
    let size = Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).expect("a size");
}
