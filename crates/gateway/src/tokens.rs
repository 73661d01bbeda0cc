//! Tokens of applications, and their rate limits.
//!
//! A request is taken if its application is not in debt, and then costs what it holds. A request of any size
//! therefore passes, and on average no application exceeds its limits.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use rankgauge_core::number::real_length;
use rankgauge_serve::gateway::GatewayMetrics;
use rankgauge_serve::web::{TokenHash, WebError, bearer_token};

use crate::answer::Refusal;

/// Application with its tokens and its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Application {
    /// Name, which is the value of a label.
    pub name: String,
    /// Tokens, of which any grants access.
    pub tokens: Vec<TokenHash>,
    /// Maximum number of events a second; `None` for any number.
    pub events_per_second: Option<f64>,
    /// Maximum number of bytes a second of bodies without compression; `None` for any number.
    pub bytes_per_second: Option<f64>,
}

/// Reader of a file with applications. The error names all its problems, and no token.
pub type ReadApplications = fn(&Path) -> Result<Vec<Application>, Box<dyn Error + Send + Sync>>;

/// Applications that can send events. [`Tokens::default`] lets every client send them.
#[derive(Debug, Default)]
pub struct Tokens {
    source: Option<(PathBuf, ReadApplications)>,
    clients: RwLock<Vec<Arc<Client>>>,
    /// Content of the file at the last attempt to read it; `None` if it could not be read.
    attempted: Mutex<Option<Vec<u8>>>,
    metrics: OnceLock<GatewayMetrics>,
}

impl Tokens {
    /// Reads the file at `path` with `read`.
    ///
    /// # Errors
    /// The problem of the file.
    pub fn load(path: Option<&Path>, read: ReadApplications) -> Result<Self, WebError> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        // A file that changes while it is read has another content at the next check.
        let content = content(path)?;
        let applications = read(path).map_err(WebError::Config)?;
        Ok(Self {
            clients: RwLock::new(clients(applications, &[])),
            source: Some((path.to_owned(), read)),
            attempted: Mutex::new(Some(content)),
            metrics: OnceLock::new(),
        })
    }

    /// The file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        Some(&self.source.as_ref()?.0)
    }

    /// Reads the file again if it has changed since the last attempt. Returns true if the new content is in
    /// use. An application keeps what it has used of unchanged limits.
    ///
    /// # Errors
    /// The problem of the new content; the previous one stays in use. It is returned once for each change.
    pub fn reload(&self) -> Result<bool, WebError> {
        let Some((path, read)) = &self.source else {
            return Ok(false);
        };
        let mut attempted = self
            .attempted
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let found = content(path);
        let content = found.as_ref().ok();
        if attempted.as_ref() == content {
            return Ok(false);
        }
        *attempted = content.cloned();
        found?;
        let applications = read(path).map_err(WebError::Config)?;
        let before = self.clients();
        let now = clients(applications, &before);
        let mut current = self.clients.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(metrics) = self.metrics.get() {
            metrics.applications(&names(&before), &names(&now));
        }
        *current = now;
        Ok(true)
    }

    /// Exposes the applications in `metrics`.
    pub(crate) fn expose(&self, metrics: &GatewayMetrics) {
        if self.source.is_some() && self.metrics.set(metrics.clone()).is_ok() {
            metrics.applications(&[], &names(&self.clients()));
        }
    }

    /// Lets `count` count for an application, unless it was removed while its request was answered: it would have
    /// its series again.
    pub(crate) fn count(&self, client: &Client, count: impl FnOnce(&GatewayMetrics, &str)) {
        let clients = self.clients.read().unwrap_or_else(PoisonError::into_inner);
        let is_known = clients.iter().any(|it| it.name() == client.name());
        if let Some(metrics) = self.metrics.get().filter(|_| is_known) {
            count(metrics, client.name());
        }
    }

    fn clients(&self) -> Vec<Arc<Client>> {
        let clients = self.clients.read().unwrap_or_else(PoisonError::into_inner);
        clients.clone()
    }

    /// Application of a request; `None` if every client can send events.
    pub(crate) fn client(&self, headers: &HeaderMap) -> Result<Option<Arc<Client>>, Refusal> {
        if self.source.is_none() {
            return Ok(None);
        }
        let token = bearer_token(headers).ok_or(Refusal::Unauthorised)?;
        let clients = self.clients.read().unwrap_or_else(PoisonError::into_inner);
        let tokens = clients.iter().flat_map(|client| {
            let tokens = client.application.tokens.iter();
            tokens.map(move |token| (client, token))
        });
        let position = TokenHash::of(token).position(tokens.clone().map(|(_, token)| token));
        let found = position.and_then(|position| tokens.clone().nth(position));
        let (client, _) = found.ok_or(Refusal::Unauthorised)?;
        Ok(Some(Arc::clone(client)))
    }
}

fn content(path: &Path) -> Result<Vec<u8>, WebError> {
    fs::read(path).map_err(|source| WebError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

fn names(clients: &[Arc<Client>]) -> Vec<&str> {
    clients.iter().map(|client| client.name()).collect()
}

/// The `applications` with what is used of their limits; that of `before` where they are unchanged.
fn clients(applications: Vec<Application>, before: &[Arc<Client>]) -> Vec<Arc<Client>> {
    let now = Instant::now();
    let clients = applications.into_iter().map(|application| {
        let mut before = before.iter();
        let same = before.find(|client| client.has_limits_of(&application));
        let used = same.map(|client| *client.used());
        let used = used.unwrap_or_else(|| Used {
            events: application.events_per_second.map(|it| Bucket::new(it, now)),
            bytes: application.bytes_per_second.map(|it| Bucket::new(it, now)),
        });
        Arc::new(Client {
            application,
            used: Mutex::new(used),
        })
    });
    clients.collect()
}

/// Application that sends events.
#[derive(Debug)]
pub(crate) struct Client {
    application: Application,
    used: Mutex<Used>,
}

/// Use of both limits.
#[derive(Clone, Copy, Debug)]
struct Used {
    events: Option<Bucket>,
    bytes: Option<Bucket>,
}

impl Client {
    pub(crate) fn name(&self) -> &str {
        &self.application.name
    }

    fn used(&self) -> std::sync::MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_limits_of(&self, other: &Application) -> bool {
        let limits = |it: &Application| {
            let limits = [it.events_per_second, it.bytes_per_second];
            limits.map(|limit| limit.map(f64::to_bits))
        };
        self.application.name == other.name && limits(&self.application) == limits(other)
    }

    /// Checks that the application is not in debt.
    pub(crate) fn check(&self, now: Instant) -> Result<(), Refusal> {
        let mut used = self.used();
        let Used { events, bytes } = &mut *used;
        let waits = [events, bytes].map(|bucket| bucket.as_mut()?.wait(now));
        match waits.into_iter().flatten().max() {
            Some(wait) => Err(Refusal::Limited(wait)),
            None => Ok(()),
        }
    }

    /// Takes what a request holds.
    pub(crate) fn take(&self, events: usize, bytes: usize) {
        let mut used = self.used();
        if let Some(bucket) = &mut used.events {
            bucket.level -= real_length(events);
        }
        if let Some(bucket) = &mut used.bytes {
            bucket.level -= real_length(bytes);
        }
    }
}

/// Remainder of a limit. It fills up to the amount of one second.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Amount a second.
    rate: f64,
    /// Remainder; a debt if it is negative.
    level: f64,
    at: Instant,
}

impl Bucket {
    fn new(rate: f64, now: Instant) -> Self {
        Self {
            rate,
            level: rate,
            at: now,
        }
    }

    /// Time until something is left; `None` if something is.
    fn wait(&mut self, now: Instant) -> Option<Duration> {
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        self.level = (self.level + elapsed * self.rate).min(self.rate);
        self.at = now;
        (self.level <= 0.0).then(|| {
            let seconds = -self.level / self.rate;
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Bucket, Duration, Instant};

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the start of the test's time")]
    fn a_limit_holds_on_average_and_passes_a_request_of_any_size() {
        let start = Instant::now();
        let mut bucket = Bucket::new(10.0, start);
        let mut taken = 0.0;
        for tenth in 0..1_000_u32 {
            let now = start + Duration::from_millis(100) * tenth;
            if bucket.wait(now).is_none() {
                bucket.level -= 25.0;
                taken += 25.0;
            }
        }
        // 100 seconds, and at most one request more.
        assert!((950.0..=1_035.0).contains(&taken), "{taken}");
        let mut unused = Bucket::new(10.0, start);
        let later = start + Duration::from_hours(1);
        assert_eq!(unused.wait(later), None);
        unused.level -= 40.0;
        assert_eq!(unused.wait(later), Some(Duration::from_secs(3)));
        assert_eq!(unused.wait(later + Duration::from_secs(4)), None);
    }
}
