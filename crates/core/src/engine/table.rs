//! Tables by series: dense, additive vectors that grow when a series is first used.

use crate::engine::registry::Series;

/// Serialisation of an array with one entry for each family (or dimension). The array is written
/// with its length, because later versions have more families. Missing entries are read as empty.
pub mod by_family {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes an array as a list.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<S: Serializer, T: Serialize, const N: usize>(
        array: &[T; N],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        array.as_slice().serialize(serializer)
    }

    /// Reads an array from a list of at most its length.
    ///
    /// # Errors
    /// Errors of the deserializer, and a list longer than the array.
    pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default, const N: usize>(
        deserializer: D,
    ) -> Result<[T; N], D::Error> {
        let list = Vec::<T>::deserialize(deserializer)?;
        if list.len() > N {
            return Err(D::Error::invalid_length(list.len(), &"fewer families"));
        }
        let mut rest = list.into_iter();
        Ok(std::array::from_fn(|_| rest.next().unwrap_or_default()))
    }
}

/// Returns the entry of `series`. The table grows if necessary.
pub fn entry<T: Clone + Default>(table: &mut Vec<T>, series: Series) -> &mut T {
    let index = series.index();
    grow(table, index + 1);
    &mut table[index]
}

/// Returns the row of `series` in a table with `columns` entries for each series. The table grows
/// if necessary.
pub fn row<T: Clone + Default>(table: &mut Vec<T>, series: Series, columns: usize) -> &mut [T] {
    let start = series.index() * columns;
    grow(table, start + columns);
    &mut table[start..start + columns]
}

/// Merges `theirs` into `mine`, entry by entry.
pub fn merge<T: Clone + Default>(mine: &mut Vec<T>, theirs: &[T], merge: impl Fn(&mut T, &T)) {
    grow(mine, theirs.len());
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        merge(mine, theirs);
    }
}

/// Adds `theirs` to `mine`, entry by entry.
pub fn add(mine: &mut Vec<u64>, theirs: &[u64]) {
    merge(mine, theirs, |mine, theirs| *mine += theirs);
}

/// Adds `theirs` to `mine`, entry by entry.
pub fn add_array<const N: usize>(mine: &mut [u64; N], theirs: &[u64; N]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine += theirs;
    }
}

fn grow<T: Clone + Default>(table: &mut Vec<T>, length: usize) {
    if table.len() < length {
        table.resize(length, T::default());
    }
}
