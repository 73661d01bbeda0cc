//! JSON object whose members keep their order.

use serde::{Serialize, Serializer};

/// Members of a JSON object, in order.
pub(super) struct Members<K, V>(pub(super) Vec<(K, V)>);

impl<K, V> Members<K, V> {
    /// Returns true if the object has no member.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Serialize, V: Serialize> Serialize for Members<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
