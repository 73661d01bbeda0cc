//! Basic and bearer authentication.
//!
//! Secrets are compared in constant time. Passwords are verified by bcrypt, which is slow on
//! purpose: in other threads, a few at a time, and once for each password of a user.
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: the verification of a password must not block the listeners"
)]

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderMap, HeaderValue};
use tokio::sync::Semaphore;

use super::config::PasswordHash;
use super::files::sha256;
use super::token::{TokenHash, credentials, position};

/// Maximum number of verified passwords that are remembered.
const MAX_VERIFIED: usize = 64;

/// Maximum number of passwords that are verified at the same time.
const MAX_VERIFICATIONS: usize = 2;

/// Salt and hash of no known password.
const NO_PASSWORD: &str = "abcdefghijklmnopqrstuuPYp3bPhMJQKPbMYZ5Bc7zlwQHXlWjDi";

/// Verifies `password` by `hash`, of this cost, in the time of a verification of the cost `highest`.
/// The time of a response must not show which users exist.
fn verify(password: &str, hash: Option<&PasswordHash>, highest: u32) -> bool {
    let is_valid = |hash: &str| bcrypt::verify(password, hash).unwrap_or(false);
    let by_none = |cost: u32| is_valid(&format!("$2b${cost:02}${NO_PASSWORD}"));
    let Some(hash) = hash else {
        by_none(highest);
        return false;
    };
    let is_granted = is_valid(hash.as_str());
    // Each cost doubles the time: those from the lower to the higher one add up to the difference.
    for cost in hash.cost()..highest {
        by_none(cost);
    }
    is_granted
}

/// User in the headers of a request; `token` for a bearer token.
pub(super) fn user(headers: &HeaderMap) -> Option<String> {
    let (scheme, credentials) = credentials(headers)?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some("token".to_owned());
    }
    let decoded = String::from_utf8(STANDARD.decode(credentials).ok()?).ok()?;
    let (user, _) = decoded.split_once(':')?;
    Some(user.to_owned())
}

/// Result of an authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The credentials are valid.
    Granted,
    /// The credentials are missing or wrong.
    Denied,
    /// Too many passwords are being verified.
    Busy,
}

/// Credentials that a listener accepts.
pub(crate) struct Authentication {
    users: BTreeMap<String, PasswordHash>,
    /// Highest cost of their hashes.
    highest_cost: u32,
    tokens: Vec<TokenHash>,
    /// Hashes of verified credentials, oldest first.
    verified: Arc<Mutex<VecDeque<[u8; 32]>>>,
    verifications: Arc<Semaphore>,
}

impl std::fmt::Debug for Authentication {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authentication")
            .field("users", &self.users.len())
            .field("tokens", &self.tokens.len())
            .finish_non_exhaustive()
    }
}

impl Authentication {
    pub(super) fn new(users: BTreeMap<String, PasswordHash>, tokens: Vec<TokenHash>) -> Self {
        Self {
            highest_cost: users.values().map(PasswordHash::cost).max().unwrap_or(0),
            users,
            tokens,
            verified: Arc::default(),
            verifications: Arc::new(Semaphore::new(MAX_VERIFICATIONS)),
        }
    }

    /// Values of `WWW-Authenticate` in a response to a request without valid credentials.
    pub(crate) fn challenges(&self) -> impl Iterator<Item = HeaderValue> {
        let basic = (!self.users.is_empty()).then_some("Basic realm=\"rankgauge\"");
        let bearer = (!self.tokens.is_empty()).then_some("Bearer realm=\"rankgauge\"");
        let challenges = basic.into_iter().chain(bearer);
        challenges.map(HeaderValue::from_static)
    }

    /// Checks the credentials in the headers of a request.
    pub(crate) async fn check(&self, headers: &HeaderMap) -> Verdict {
        let Some((scheme, credentials)) = credentials(headers) else {
            return Verdict::Denied;
        };
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.check_token(credentials);
        }
        let decoded = scheme
            .eq_ignore_ascii_case("basic")
            .then(|| STANDARD.decode(credentials).ok())
            .flatten();
        match decoded.and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(credentials) => match credentials.split_once(':') {
                Some((user, password)) => self.check_password(user, password).await,
                None => Verdict::Denied,
            },
            None => Verdict::Denied,
        }
    }

    fn check_token(&self, token: &str) -> Verdict {
        match TokenHash::of(token).position(self.tokens.iter()) {
            Some(_) => Verdict::Granted,
            None => Verdict::Denied,
        }
    }

    async fn check_password(&self, user: &str, password: &str) -> Verdict {
        if self.users.is_empty() {
            return Verdict::Denied;
        }
        let known = self.users.get(user).cloned();
        let hash = known.as_ref().map_or(NO_PASSWORD, PasswordHash::as_str);
        // No part contains a line feed followed by the next part by accident: a hash has none.
        let credentials = sha256(format!("{hash}\n{}\n{user}\n{password}", user.len()).as_bytes());
        let lock = |verified: &Mutex<VecDeque<[u8; 32]>>| {
            let verified = verified.lock().unwrap_or_else(PoisonError::into_inner);
            position(&credentials, verified.iter()).is_some()
        };
        if known.is_some() && lock(&self.verified) {
            return Verdict::Granted;
        }
        let Ok(permit) = Arc::clone(&self.verifications).try_acquire_owned() else {
            return Verdict::Busy;
        };
        let password = password.to_owned();
        let highest_cost = self.highest_cost;
        let verification = tokio::task::spawn_blocking(move || {
            // The permit is held until the thread is free, also if the client has disconnected.
            let _permit = permit;
            verify(&password, known.as_ref(), highest_cost)
        });
        if !verification.await.unwrap_or(false) {
            return Verdict::Denied;
        }
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if verified.len() == MAX_VERIFIED {
            verified.pop_front();
        }
        verified.push_back(credentials);
        Verdict::Granted
    }
}

#[cfg(test)]
mod tests {
    use rustix::time::{ClockId, clock_gettime};

    use super::{PasswordHash, verify};

    /// Processor time of the thread, in milliseconds: on a busy machine, the time of a clock contains the turns of
    /// other processes.
    fn processor_time() -> i64 {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
    }

    #[test]
    fn known_and_unknown_users_take_the_same_time() {
        let cheap = bcrypt::hash("right", 5).unwrap();
        let dear = bcrypt::hash("right", 11).unwrap();
        let [cheap, dear] = [cheap, dear].map(|hash| PasswordHash::parse(&hash).unwrap());
        assert_eq!((cheap.cost(), dear.cost()), (5, 11));
        let time = |hash: Option<&PasswordHash>| {
            let measure = || {
                let start = processor_time();
                assert!(!verify("wrong", hash, 11));
                processor_time() - start
            };
            // The shortest of three is the least disturbed by other processes.
            (0..3).map(|_| measure()).min().unwrap()
        };
        let unknown = time(None);
        for (name, known) in [("cheap", &cheap), ("dear", &dear)] {
            let known_time = time(Some(known));
            assert!(
                known_time > unknown / 2 && known_time < unknown * 2,
                "{name}: {known_time} ms, unknown: {unknown} ms"
            );
            assert!(verify("right", Some(known), 11));
        }
    }
}
