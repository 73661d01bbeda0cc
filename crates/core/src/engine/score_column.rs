//! Columns of tables of scores.

/// Column that counts searches.
pub const SEARCHES: usize = 0;

/// Column that counts searches that are not eligible. Others have no score in it.
pub(crate) const NOT_ELIGIBLE: usize = 1;

/// Returns the column of measure `index` of the settings.
pub fn column_of(index: usize) -> usize {
    index + 2
}
