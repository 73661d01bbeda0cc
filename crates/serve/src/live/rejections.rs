//! Last rejected record of each kind and reason, for the API. At most one for each pair is kept, and
//! the detail of a [`Rejection`] is short.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rankgauge_core::event::{Kind, Reason, Rejection};
use rankgauge_core::time::WallTime;

/// Rejected record.
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedRecord {
    /// Wall time of the rejection.
    pub at: WallTime,
    /// Partition of the record.
    pub partition: i32,
    /// Offset of the record.
    pub offset: i64,
    /// Field and cause. It may quote the record.
    pub detail: String,
}

/// Last rejected records by the index of their kind and of their reason.
#[derive(Debug, Default)]
pub struct Rejections(Mutex<BTreeMap<(usize, usize), RejectedRecord>>);

impl Rejections {
    /// Keeps a rejected record instead of the previous one of its kind and reason.
    pub fn note(&self, kind: Kind, (partition, offset): (i32, i64), why: &Rejection, at: WallTime) {
        let record = RejectedRecord {
            at,
            partition,
            offset,
            detail: why.detail.clone(),
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert((kind.index(), why.reason.index()), record);
    }

    /// Last rejected record of a kind and reason; `None` since the start.
    pub fn last(&self, kind: Kind, reason: Reason) -> Option<RejectedRecord> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&(kind.index(), reason.index())).cloned()
    }
}
