//! Thread that receives schemas for the workers, so that a slow registry delays no other partition.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use super::answer::FetchError;
use super::client::Client;
use super::settings::Settings;
use rankgauge_core::decode::schema::{Schema, SchemaCache};
use rankgauge_kafka::throttle::Throttle;
use rankgauge_serve::live::{RegistryOutcome, RegistryView};

/// Time after which an id that the registry did not have is requested again, if a record has it.
const MISSING_INTERVAL: Duration = Duration::from_mins(1);

/// First and longest wait after a failed request.
const WAITS: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(10)];

/// Handle of the thread. It ends when the handle is dropped, after the request in progress.
#[derive(Debug)]
pub struct Fetcher {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    wanted: BTreeSet<u32>,
    /// Ids that the registry did not have, with the time of the request.
    missing: BTreeMap<u32, Instant>,
    is_stopped: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change, or for `limit`.
    fn wait<'s>(&self, state: MutexGuard<'s, State>, limit: Duration) -> MutexGuard<'s, State> {
        let waited = self.changed.wait_timeout(state, limit);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Fetcher {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(
        settings: Settings,
        cache: Arc<SchemaCache>,
        view: Arc<RegistryView>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let mut worker = Worker {
            shared: Arc::clone(&shared),
            settings,
            client: None,
            cache,
            view,
            log: Throttle::default(),
            failed: BTreeMap::new(),
        };
        thread::Builder::new()
            .name("schema-registry".to_owned())
            .spawn(move || worker.run())?;
        Ok(Self { shared })
    }

    /// Requests the schema of an id.
    pub fn want(&self, id: u32) {
        if self.shared.state().wanted.insert(id) {
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        self.shared.state().is_stopped = true;
        self.shared.changed.notify_one();
    }
}

struct Worker {
    shared: Arc<Shared>,
    settings: Settings,
    /// `None` until the certificates can be read.
    client: Option<Client>,
    cache: Arc<SchemaCache>,
    view: Arc<RegistryView>,
    log: Throttle,
    /// Ids whose last request was not answered. None delays another one.
    failed: BTreeMap<u32, Failed>,
}

/// Next request of an id, and the wait before it.
#[derive(Clone, Copy, Debug)]
struct Failed {
    again: Instant,
    wait: Duration,
}

impl Worker {
    fn run(&mut self) {
        while let Some(id) = self.next() {
            self.receive(id);
        }
    }

    /// Waits for an id that is due; `None` at the end.
    fn next(&self) -> Option<u32> {
        let mut state = self.shared.state();
        loop {
            if state.is_stopped {
                return None;
            }
            let is_old = |since: &Instant| since.elapsed() >= MISSING_INTERVAL;
            for (id, _) in state.missing.extract_if(.., |_, since| is_old(since)) {
                self.cache.set_missing(id, false);
            }
            let mut limit = MISSING_INTERVAL;
            for id in &state.wanted {
                let left = self.failed.get(id).map_or(Duration::ZERO, |failed| {
                    failed.again.saturating_duration_since(Instant::now())
                });
                if left.is_zero() {
                    return Some(*id);
                }
                limit = limit.min(left);
            }
            state = self.shared.wait(state, limit);
        }
    }

    /// Requests a schema. If the registry does not answer, the id is requested again.
    fn receive(&mut self, id: u32) {
        let fetched = self.fetch(id);
        let outcome = match &fetched {
            Ok(_) => RegistryOutcome::Ok,
            Err(FetchError::Missing) => RegistryOutcome::Missing,
            Err(FetchError::Invalid(_)) => RegistryOutcome::Invalid,
            Err(FetchError::Unavailable(_)) => RegistryOutcome::Unavailable,
        };
        let url = &self.settings.url;
        match fetched {
            Ok(schema) => {
                info!(url, schema = id, "schema received");
                self.cache.set(id, Ok(schema));
            }
            Err(FetchError::Invalid(problem)) => {
                error!(
                    url,
                    schema = id,
                    error = problem,
                    "schema cannot be used; its records are invalid"
                );
                self.cache.set(id, Err(problem));
            }
            Err(FetchError::Missing) => {
                warn!(
                    url,
                    schema = id,
                    "the registry has no such schema; its records are invalid"
                );
                self.cache.set_missing(id, true);
                self.shared.state().missing.insert(id, Instant::now());
            }
            Err(FetchError::Unavailable(problem)) => {
                if let Some(suppressed) = self.log.admit() {
                    warn!(
                        url,
                        schema = id,
                        error = problem,
                        suppressed,
                        "schema registry unavailable; partitions with this schema wait"
                    );
                }
                self.view.count(outcome);
                self.view.set_problem(Some(problem));
                let wait = self.failed.get(&id).map_or(WAITS[0], |it| it.wait * 2);
                let wait = wait.min(WAITS[1]);
                let again = Instant::now() + wait;
                self.failed.insert(id, Failed { again, wait });
                return;
            }
        }
        self.view.count(outcome);
        self.failed.remove(&id);
        if self.failed.is_empty() {
            self.log.reset();
            self.view.set_problem(None);
        }
        self.shared.state().wanted.remove(&id);
    }

    fn fetch(&mut self, id: u32) -> Result<Schema, FetchError> {
        let client = match &mut self.client {
            Some(client) => client,
            none => {
                let client = Client::new(&self.settings);
                let client = client.map_err(|it| FetchError::Unavailable(format!("{it:#}")))?;
                none.insert(client)
            }
        };
        client.fetch(id)
    }
}
