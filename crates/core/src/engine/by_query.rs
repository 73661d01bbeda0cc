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

    /// Reads the value of a query. Returns a number that depends on it.
    pub(super) fn touch(&self, query: QueryIndex) -> usize {
        let value = self.0.get(query.position());
        usize::from(value.is_some_and(Option::is_some))
    }

    /// Returns the value of a query. `look_up` is called the first time.
    pub(super) fn get_or(&mut self, query: QueryIndex, look_up: impl FnOnce() -> T) -> T {
        let position = query.position();
        if let Some(Some(value)) = self.0.get(position) {
            return value.clone();
        }
        let value = look_up();
        if self.0.len() <= position {
            self.0.resize(position + 1, None);
        }
        self.0[position] = Some(value.clone());
        value
    }
}
