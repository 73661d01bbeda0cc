//! Running gateway: its thread, its listener and its producer.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rankgauge_core::event::Acceptance;
use rankgauge_kafka::Settings as Kafka;
use rankgauge_kafka::publisher::{self, Publisher};
use rankgauge_serve::gateway::GatewayMetrics;
use rankgauge_serve::process::ListenerMetrics;
use rankgauge_serve::server::{Limits, serve};
use rankgauge_serve::web::Web;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::info;

use crate::cors::Origins;
use crate::handler::Events;
use crate::memory::Memory;
use crate::routes::KnownFormats;
use crate::settings::Settings;
use crate::tokens::Tokens;

/// Time for answers after the last delivery at shutdown.
const DRAIN_DELAY: Duration = Duration::from_secs(3);

/// Failure to start a gateway.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Failure to listen on the configured address.
    #[error("cannot listen on {0} (gateway.listen): {1}")]
    Listen(SocketAddr, io::Error),
    /// Failure to start a thread or the runtime.
    #[error("cannot start the gateway: {0}")]
    Start(#[from] io::Error),
    /// librdkafka refuses the configuration.
    #[error(transparent)]
    Kafka(#[from] rankgauge_kafka::Error),
}

/// Running gateway, in a thread of its own.
pub struct Gateway {
    address: SocketAddr,
    events: Arc<Events>,
    stop: watch::Sender<bool>,
    is_stopping: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Gateway {
    /// Listens on `address` and starts to serve. No broker has to be available.
    ///
    /// # Errors
    /// If the address cannot be bound, or librdkafka refuses the configuration.
    pub fn start(
        address: SocketAddr,
        settings: &Settings,
        kafka: &Kafka,
        (acceptance, formats): (Acceptance, KnownFormats),
        (web, tokens): (Arc<Web>, Arc<Tokens>),
        (metrics, listener_metrics): (GatewayMetrics, ListenerMetrics),
    ) -> Result<Self, StartError> {
        let limits = publisher::Limits {
            bytes: settings.memory,
            delivery: settings.timeout,
        };
        let publisher = Arc::new(Publisher::new(kafka, limits)?);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind(address));
        let listener = listener.map_err(|source| StartError::Listen(address, source))?;
        let address = listener.local_addr()?;
        let scheme = web.scheme();
        info!(
            url = format!("{scheme}://{address}/v1/searches"),
            "serving gateway"
        );
        tokens.expose(&metrics);
        let events = Arc::new(Events {
            tokens,
            settings: settings.clone(),
            topics: [kafka.search_topic.clone(), kafka.feedback_topic.clone()],
            has_feedback: kafka.has_feedback(),
            acceptance,
            formats,
            origins: Origins::new(&settings.cors_origins),
            publisher: Arc::clone(&publisher),
            memory: Memory::new(settings.memory),
            metrics,
        });
        let is_stopping = Arc::new(AtomicBool::new(false));
        let should_stop = Arc::clone(&is_stopping);
        thread::Builder::new()
            .name("gateway-topics".to_owned())
            .spawn(move || publisher.watch(|| should_stop.load(Ordering::Relaxed)))?;
        let (stop, stopping) = watch::channel(false);
        let limits = Limits {
            // Memory limits the requests.
            requests: settings.max_connections,
            connections: settings.max_connections,
            drain: settings.timeout + DRAIN_DELAY,
            ..Limits::default()
        };
        let handler = Arc::clone(&events);
        let thread = thread::Builder::new()
            .name("gateway".to_owned())
            .spawn(move || {
                let served = serve(listener, handler, web, limits, listener_metrics, stopping);
                runtime.block_on(served);
            })?;
        Ok(Self {
            address,
            events,
            stop,
            is_stopping,
            thread,
        })
    }

    /// Address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reason for a failed readiness check; `None` if the gateway is ready.
    pub fn readiness(&self) -> Arc<dyn Fn() -> Option<String> + Send + Sync> {
        let events = Arc::clone(&self.events);
        Arc::new(move || events.readiness_problem())
    }

    /// Accepts no more connections, and answers the requests that it has taken.
    pub fn stop(self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.stop.send_replace(true);
        // Its panic is a defect that the log shows.
        drop(self.thread.join());
    }
}
