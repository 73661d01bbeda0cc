//! Records that are read again after a restart, or after a change of the owner.

/// Relation of a record to what was counted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// First read: it is counted here.
    New,
    /// Read again after a change of the owner or a restart. It rebuilds the join.
    Again,
    /// Read again, and an earlier owner is known to have counted it: its own second is closed. For
    /// feedback, the search determines whether it was joined or late.
    AlreadyCounted,
}
