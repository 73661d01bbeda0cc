//! Pages of long lists: `limit` and an opaque `cursor`.
//!
//! A cursor holds the sort key of the last entry of the previous page. Entries may change between
//! two requests: the next page begins behind that key, so no entry is shown twice because another
//! one was added before it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::parameters::Parameters;
use super::problem::ApiError;

/// Sort key of an entry, as it is written in a cursor.
pub(super) trait CursorKey: Sized {
    /// Text of the key.
    fn write(&self) -> String;

    /// Parses a text of [`CursorKey::write`].
    fn read(text: &str) -> Option<Self>;
}

impl CursorKey for u64 {
    fn write(&self) -> String {
        self.to_string()
    }

    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// Sort key after which the requested page begins; `None` for the first page.
pub(super) fn cursor<K: CursorKey>(params: &Parameters) -> Result<Option<K>, ApiError> {
    let Some(text) = params.single("cursor") else {
        return Ok(None);
    };
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let key = bytes.and_then(|bytes| K::read(std::str::from_utf8(&bytes).ok()?));
    let error = "cursor: use the next_cursor of the previous page, and the same other parameters";
    key.map(Some).ok_or_else(|| ApiError::bad_request(error))
}

/// Shortens `entries` to a page of at most `limit`. Returns the cursor of the next page; `None` at
/// the end of the list.
pub(super) fn page<T, K: CursorKey>(
    entries: &mut Vec<T>,
    limit: usize,
    key: impl Fn(&T) -> K,
) -> Option<String> {
    if entries.len() <= limit {
        return None;
    }
    entries.truncate(limit);
    let last = entries.last().map(key)?;
    Some(URL_SAFE_NO_PAD.encode(last.write()))
}
