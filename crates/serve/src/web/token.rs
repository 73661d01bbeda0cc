//! Bearer tokens. They are kept as hashes, and compared in constant time.

use hyper::header::{AUTHORIZATION, HeaderMap};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use super::files::sha256;

/// Minimum length of a bearer token.
const MIN_LENGTH: usize = 16;

/// Description of a token, as the end of a sentence. It repeats nothing of a wrong one.
pub const TOKEN: &str =
    "use at least 16 visible ASCII characters, for example of openssl rand -hex 32";

/// Hash of a bearer token. A token has so much chance in it that its hash needs no salt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

impl std::fmt::Debug for TokenHash {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("***")
    }
}

impl TokenHash {
    /// Hash of a configured token; `None` if the text is not a [`TOKEN`].
    pub fn parse(token: &str) -> Option<Self> {
        let is_token = token.len() >= MIN_LENGTH && token.bytes().all(|it| it.is_ascii_graphic());
        is_token.then(|| Self::of(token))
    }

    /// Hash of the token of a request.
    pub fn of(token: &str) -> Self {
        Self(sha256(token.as_bytes()))
    }

    /// Position of this hash among `known`. The time depends on their number alone.
    pub fn position<'k>(self, known: impl Iterator<Item = &'k Self>) -> Option<usize> {
        position(&self.0, known.map(|hash| &hash.0))
    }
}

/// Position of `hash` among `known`, in a time that depends on their number alone.
pub(super) fn position<'k>(
    hash: &[u8; 32],
    known: impl Iterator<Item = &'k [u8; 32]>,
) -> Option<usize> {
    let mut found = 0_u64;
    for (number, known) in (1..).zip(known) {
        found.conditional_assign(&number, known.ct_eq(hash));
    }
    usize::try_from(found).ok()?.checked_sub(1)
}

/// Credentials of a request with their scheme; `None` without exactly one header for them.
pub(super) fn credentials(headers: &HeaderMap) -> Option<(&str, &str)> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, credentials) = value.to_str().ok()?.split_once(' ')?;
    Some((scheme, credentials.trim()))
}

/// Bearer token of a request.
pub fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = credentials(headers)?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

#[cfg(test)]
mod tests {
    use super::TokenHash;

    #[test]
    fn a_token_is_found_by_its_hash() {
        let known: Vec<TokenHash> = ["a", "b", "b"].map(TokenHash::of).to_vec();
        assert_eq!(TokenHash::of("a").position(known.iter()), Some(0));
        assert!(TokenHash::of("b").position(known.iter()).is_some());
        assert_eq!(TokenHash::of("c").position(known.iter()), None);
        assert_eq!(TokenHash::of("c").position([].iter()), None);
    }

    #[test]
    fn a_short_or_invisible_token_is_none() {
        assert!(TokenHash::parse("0123456789abcdef").is_some());
        assert!(TokenHash::parse("0123456789abcde").is_none());
        assert!(TokenHash::parse("0123456789abcde ").is_none());
        assert!(TokenHash::parse("0123456789abcdeé").is_none());
    }
}
