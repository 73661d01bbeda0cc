//! One connection of a listener: its phase, the time limit of the phase, and its stream.
//!
//! The phase follows from the bytes that pass and from the calls of the request handler. This module
//! must not know requests, responses or the number of connections.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;

use super::limits::Limits;

/// Phase of a connection. The order is the order of eviction: earlier phases are evicted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Between two requests.
    Idle,
    /// Before the first complete request: TLS handshake or request head.
    Opening,
    /// A part of the head of a later request was received.
    Request,
    /// The response is written.
    Response,
    /// The handler computes the response.
    Handling,
}

impl Phase {
    /// Time limit of the phase. A handler has none: its own operations have limits.
    fn limit(self, limits: &Limits) -> Option<Duration> {
        match self {
            Self::Idle => Some(limits.idle),
            Self::Opening | Self::Request => Some(limits.request),
            Self::Response => Some(limits.response),
            Self::Handling => None,
        }
    }
}

/// Current phase, its start, and the request slot that the connection holds.
#[derive(Debug)]
struct State {
    phase: Phase,
    since: Instant,
    slot: Option<OwnedSemaphorePermit>,
}

/// State of a connection, shared by its task and the listener.
#[derive(Clone, Debug)]
pub(super) struct Connection(Arc<Mutex<State>>);

impl Connection {
    /// A connection that was just accepted.
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            phase: Phase::Opening,
            since: Instant::now(),
            slot: None,
        })))
    }

    fn with<T>(&self, use_state: impl FnOnce(&mut State) -> T) -> T {
        // The state is valid after every statement of the code that holds the lock.
        use_state(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the phase if `change` maps the current phase to another one.
    fn advance(&self, change: impl FnOnce(Phase) -> Option<Phase>) {
        self.with(|state| {
            if let Some(phase) = change(state.phase) {
                state.phase = phase;
                state.since = Instant::now();
                if phase == Phase::Idle {
                    state.slot = None;
                }
            }
        });
    }

    /// Enters the handler of a request.
    pub(super) fn handling(&self) {
        self.advance(|_| Some(Phase::Handling));
    }

    /// Leaves the handler with a response.
    pub(super) fn responding(&self) {
        self.advance(|_| Some(Phase::Response));
    }

    /// Returns true if the connection holds a request slot, of this request or of a pipelined one
    /// before it.
    pub(super) fn has_slot(&self) -> bool {
        self.with(|state| state.slot.is_some())
    }

    /// Keeps `slot` until the response is sent.
    pub(super) fn hold(&self, slot: OwnedSemaphorePermit) {
        self.with(|state| state.slot = Some(slot));
    }

    /// Phase and its start: the connection with the lowest value is evicted first.
    pub(super) fn order(&self) -> (Phase, Instant) {
        self.with(|state| (state.phase, state.since))
    }

    /// The phase, if it has exceeded its time limit.
    pub(super) fn expired(&self, limits: &Limits, now: Instant) -> Option<Phase> {
        let (phase, since) = self.order();
        let limit = phase.limit(limits)?;
        (now.saturating_duration_since(since) > limit).then_some(phase)
    }
}

/// Stream of a connection. Reports to the connection when bytes arrive and when all are sent.
#[derive(Debug)]
pub(super) struct Tracked<S> {
    stream: S,
    connection: Connection,
}

impl<S> Tracked<S> {
    pub(super) fn new(stream: S, connection: Connection) -> Self {
        Self { stream, connection }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Tracked<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.connection
                .advance(|phase| (phase == Phase::Idle).then_some(Phase::Request));
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tracked<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper flushes when it has written all bytes of a response.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        if matches!(polled, Poll::Ready(Ok(()))) {
            self.connection
                .advance(|phase| (phase == Phase::Response).then_some(Phase::Idle));
        }
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
