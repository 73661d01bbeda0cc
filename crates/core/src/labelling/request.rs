//! Circumstances under which a label was requested. They travel to the label service and back as a signed
//! token, so that a judgement can be counted without other state, and the service cannot change them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Maximum length of a token in bytes.
const MAX_TOKEN: usize = 4_096;

/// Size of a block of SHA-256 in bytes.
const BLOCK: usize = 64;

/// Key of signatures (HMAC-SHA-256).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SigningKey(Box<[u8]>);

impl SigningKey {
    /// Key of these bytes. Without any, a signature shows damage, but anybody can make it.
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// HMAC-SHA-256 of a message (RFC 2104).
    fn sign(&self, message: &[u8]) -> [u8; 32] {
        let mut key = [0_u8; BLOCK];
        if self.0.len() > BLOCK {
            key[..32].copy_from_slice(&Sha256::digest(&self.0));
        } else {
            key[..self.0.len()].copy_from_slice(&self.0);
        }
        let hash = |pad: u8, parts: &[&[u8]]| {
            let mut hash = Sha256::new_with_prefix(key.map(|byte| byte ^ pad));
            for part in parts {
                hash.update(part);
            }
            hash.finalize()
        };
        let inner = hash(0x36, &[message]);
        hash(0x5c, &[&inner]).into()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningKey(..)")
    }
}

/// Circumstances of a request. Numbers are in units of 10⁻⁹.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sampling {
    /// Id of the request: it depends on the search and the document.
    pub id: u64,
    /// Beginning of the window of the search, in milliseconds since 1970.
    pub window: i64,
    /// Time of the last judgement that counts, in milliseconds since 1970.
    pub deadline: i64,
    /// Variant of the search.
    pub variant: String,
    /// Probability of the request.
    pub pi: i64,
    /// Measures in which the result counts.
    pub measures: Vec<Part>,
}

/// Part of a result in a measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// Name of the measure.
    pub measure: String,
    /// Weight of the rank.
    pub c: i64,
    /// Prediction of the gain.
    pub f: i64,
    /// Index of the rank.
    pub rank: u32,
}

/// Token that is no unchanged request of this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidToken;

impl Sampling {
    /// Token of the request.
    pub(crate) fn token(&self, key: &SigningKey) -> String {
        // A structure of numbers and texts has a JSON form.
        let payload = serde_json::to_vec(self).unwrap_or_default();
        let signature = key.sign(&payload);
        let [payload, signature] =
            [&payload[..], &signature].map(|part| URL_SAFE_NO_PAD.encode(part));
        format!("{payload}.{signature}")
    }

    /// Reads a token.
    ///
    /// # Errors
    /// If it was not signed with the key, or was changed.
    pub(crate) fn read(token: &str, key: &SigningKey) -> Result<Self, InvalidToken> {
        let (payload, signature) = token
            .split_once('.')
            .filter(|_| token.len() <= MAX_TOKEN)
            .ok_or(InvalidToken)?;
        let [payload, signature] =
            [payload, signature].map(|part| URL_SAFE_NO_PAD.decode(part).map_err(|_| InvalidToken));
        let (payload, signature) = (payload?, signature?);
        let expected = key.sign(&payload);
        let differences = expected.iter().zip(&signature);
        let differences = differences.fold(0, |sum, (a, b)| sum | (a ^ b));
        if signature.len() != expected.len() || differences != 0 {
            return Err(InvalidToken);
        }
        serde_json::from_slice(&payload).map_err(|_| InvalidToken)
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Sampling, SigningKey};

    #[test]
    fn a_changed_token_is_no_request() {
        let key = SigningKey::new(b"a key of sixteen bytes");
        let sampling = Sampling {
            id: 7,
            window: 1_750_000_000_000,
            deadline: 1_750_000_100_000,
            variant: "V5".to_owned(),
            pi: 500_000_000,
            measures: vec![Part {
                measure: "P@5".to_owned(),
                c: 200_000_000,
                f: 400_000_000,
                rank: 0,
            }],
        };
        let request = sampling.token(&key);
        assert_eq!(Sampling::read(&request, &key).as_ref(), Ok(&sampling));
        // Another probability, signed with another key.
        let changed = Sampling {
            pi: 250_000_000,
            ..sampling
        };
        let forged = changed.token(&SigningKey::new(b"another key"));
        assert!(Sampling::read(&forged, &key).is_err());
        let (payload, signature) = request.split_once('.').unwrap();
        for token in [
            "",
            ".",
            payload,
            signature,
            &format!("{payload}."),
            &format!("{signature}.{signature}"),
            &format!("A{payload}.{signature}"),
            &"x".repeat(9_000),
        ] {
            assert!(Sampling::read(token, &key).is_err(), "{token}");
        }
    }
}
