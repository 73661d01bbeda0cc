//! Tables by series: dense, additive vectors that grow when a series is first used.

use crate::engine::series::Series;

/// Returns the entry of `series`. The table grows if necessary.
pub(super) fn entry<T: Clone + Default>(table: &mut Vec<T>, series: Series) -> &mut T {
    let index = series.index();
    grow(table, index + 1);
    &mut table[index]
}

/// Returns the row of `series` in a table with `columns` entries for each series. The table grows
/// if necessary.
pub(super) fn row<T: Clone + Default>(
    table: &mut Vec<T>,
    series: Series,
    columns: usize,
) -> &mut [T] {
    let start = series.index() * columns;
    grow(table, start + columns);
    &mut table[start..start + columns]
}

/// Clears the row of `series` in a table with `columns` entries for each series.
pub(super) fn clear<T: Clone + Default>(table: &mut [T], series: Series, columns: usize) {
    let start = series.index() * columns;
    if let Some(row) = table.get_mut(start..start + columns) {
        row.fill(T::default());
    }
}

/// Merges `theirs` into `mine`, entry by entry.
pub(super) fn merge<T: Clone + Default>(
    mine: &mut Vec<T>,
    theirs: &[T],
    merge: impl Fn(&mut T, &T),
) {
    grow(mine, theirs.len());
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        merge(mine, theirs);
    }
}

/// Adds `theirs` to `mine`, entry by entry.
pub(super) fn add(mine: &mut Vec<u64>, theirs: &[u64]) {
    merge(mine, theirs, |mine, theirs| *mine += theirs);
}

/// Adds `theirs` to `mine`, entry by entry.
pub(super) fn add_array<const N: usize>(mine: &mut [u64; N], theirs: &[u64; N]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine += theirs;
    }
}

fn grow<T: Clone + Default>(table: &mut Vec<T>, length: usize) {
    if table.len() < length {
        table.resize(length, T::default());
    }
}
