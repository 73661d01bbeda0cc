//! A stretch of network between two programs that a test can cut: bytes stop, and nobody is told.
//!
//! Connections stay open while it is cut, as they do when a cable is pulled: only time-outs notice.
//! What was under way when it is mended is lost, and both ends see those connections closed.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How often a connection at rest looks whether it was cut or mended.
const LOOK: Duration = Duration::from_millis(20);

/// A port of the loopback whose connections end at another one, while the way is open.
pub(crate) struct Gate {
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    cut: AtomicBool,
    /// How often it was mended: connections of before are dead.
    age: AtomicU64,
    over: AtomicBool,
}

impl Gate {
    /// Connections to `port` end at `target`.
    ///
    /// # Panics
    /// When the port is taken.
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
                    Err(_) => thread::sleep(LOOK),
                }
            }
        });
        Self { state }
    }

    /// Nothing goes through any more, in either direction.
    pub(crate) fn cut(&self) {
        self.state.cut.store(true, Ordering::Relaxed);
    }

    /// The way is open again for connections made from now on.
    pub(crate) fn mend(&self) {
        self.state.age.fetch_add(1, Ordering::Relaxed);
        self.state.cut.store(false, Ordering::Relaxed);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
    }
}

/// Starts to carry what comes and goes. A target that is away ends the connection.
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

/// Carries bytes one way until either end closes or the connection is dead.
fn pump(mut from: TcpStream, mut to: TcpStream, state: &State) {
    let age = state.age.load(Ordering::Relaxed);
    let mut buffer = vec![0; 1 << 16];
    // Some systems hand the listener's mode on.
    let ready = from
        .set_nonblocking(false)
        .and_then(|()| from.set_read_timeout(Some(LOOK)));
    while ready.is_ok() && !state.over.load(Ordering::Relaxed) {
        if state.age.load(Ordering::Relaxed) != age {
            break;
        }
        if state.cut.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
            continue;
        }
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                if state.cut.load(Ordering::Relaxed) {
                    continue;
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
    // Whichever end is still there sees that it is over.
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}
