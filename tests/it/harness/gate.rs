//! Network path between two programs that a test can cut: bytes stop, without a notification.
//!
//! Connections stay open during the cut, as with a pulled cable: only time-outs detect it. After
//! the repair, bytes in flight are lost and the connections from before are closed at both ends.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Interval at which an idle connection checks for a cut or a repair.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Loopback port that forwards its connections to another port while the path is open.
pub(crate) struct Gate {
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    cut: AtomicBool,
    /// Number of repairs; connections from before the last repair are closed.
    repairs: AtomicU64,
    over: AtomicBool,
    /// Text in the requests that are held.
    held: Mutex<Option<&'static str>>,
}

impl State {
    /// Returns true if a request with these bytes is held.
    fn holds(&self, bytes: &[u8]) -> bool {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.is_some_and(|text| {
            let text = text.as_bytes();
            bytes.windows(text.len()).any(|window| window == text)
        })
    }
}

impl Gate {
    /// Forwards connections from `port` to `target`.
    ///
    /// # Panics
    /// If the port is in use.
    pub(crate) fn open(port: u16, target: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port))
            .unwrap_or_else(|error| panic!("port {port} of the gate: {error}"));
        listener
            .set_nonblocking(true)
            .unwrap_or_else(|error| panic!("port {port} of the gate: {error}"));
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            while !shared.over.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((client, _)) => carry(&client, target, &shared),
                    Err(_) => thread::sleep(POLL_INTERVAL),
                }
            }
        });
        Self { state }
    }

    /// Stops all bytes in both directions.
    pub(crate) fn cut(&self) {
        self.state.cut.store(true, Ordering::Relaxed);
    }

    /// Holds the requests that contain `text`, such as the id of a client, until [`Gate::release`].
    /// The other connections are not affected.
    pub(crate) fn hold(&self, text: &'static str) {
        let mut held = self
            .state
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *held = Some(text);
    }

    /// Forwards the held requests.
    pub(crate) fn release(&self) {
        let mut held = self
            .state
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *held = None;
    }

    /// Opens the path again, for new connections.
    pub(crate) fn repair(&self) {
        self.state.repairs.fetch_add(1, Ordering::Relaxed);
        self.state.cut.store(false, Ordering::Relaxed);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
    }
}

/// Forwards a connection in both directions. It is closed if the target is unavailable.
fn carry(client: &TcpStream, target: u16, state: &Arc<State>) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else {
        return;
    };
    for (from, to) in [(client, &server), (&server, client)] {
        if let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) {
            let state = Arc::clone(state);
            thread::spawn(move || pump(from, to, &state));
        }
    }
}

/// Copies bytes in one direction until an end closes or the path is repaired.
fn pump(mut from: TcpStream, mut to: TcpStream, state: &State) {
    let repairs = state.repairs.load(Ordering::Relaxed);
    let mut buffer = vec![0; 1 << 16];
    // On some systems the connection inherits the mode of the listener.
    let ready = from
        .set_nonblocking(false)
        .and_then(|()| from.set_read_timeout(Some(POLL_INTERVAL)));
    while ready.is_ok() && !state.over.load(Ordering::Relaxed) {
        if state.repairs.load(Ordering::Relaxed) != repairs {
            break;
        }
        if state.cut.load(Ordering::Relaxed) {
            thread::sleep(POLL_INTERVAL);
            continue;
        }
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                if state.cut.load(Ordering::Relaxed) {
                    continue;
                }
                while state.holds(&buffer[..length]) && !state.over.load(Ordering::Relaxed) {
                    thread::sleep(POLL_INTERVAL);
                }
                if to.write_all(&buffer[..length]).is_err() {
                    break;
                }
            }
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock
                        | std::io::ErrorKind::TimedOut
                        | std::io::ErrorKind::Interrupted
                ) => {}
            Err(_) => break,
        }
    }
    // An end that is still connected detects the close.
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}
