//! Values that an engine looks up once for each gold query.

use crate::gold::QueryIndex;

/// Values by gold query, as far as they were looked up.
#[derive(Debug)]
pub(super) struct ByQuery<T>(Vec<Option<T>>);

impl<T> Default for ByQuery<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> ByQuery<T> {
    /// Forgets all values, because the gold set is another one.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the value of a query, if it was looked up.
    pub(super) fn get(&self, query: QueryIndex) -> Option<&T> {
        self.0.get(query.position())?.as_ref()
    }

    /// Returns the value of a query. `look_up` is called the first time.
    pub(super) fn get_or(&mut self, query: QueryIndex, look_up: impl FnOnce() -> T) -> T {
        if let Some(value) = self.get(query) {
            return value.clone();
        }
        let (position, value) = (query.position(), look_up());
        if self.0.len() <= position {
            self.0.resize(position + 1, None);
        }
        self.0[position] = Some(value.clone());
        value
    }
}
