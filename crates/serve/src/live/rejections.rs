//! Last rejected record of each kind and reason, for the API. At most one for each pair is kept, and
//! the detail of a [`Rejection`](rankgauge_core::event::Rejection) is short.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rankgauge_core::event::{Kind, Reason};
use rankgauge_core::records::RejectedRecord;
use rankgauge_core::time::WallTime;

/// Last rejected records by the index of their kind and of their reason.
#[derive(Debug, Default)]
pub struct Rejections(Mutex<BTreeMap<(usize, usize), (WallTime, RejectedRecord)>>);

impl Rejections {
    /// Keeps a record that was rejected at `at` instead of the previous one of its kind and reason.
    pub fn keep(&self, record: RejectedRecord, at: WallTime) {
        let key = (record.kind.index(), record.rejection.reason.index());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(key, (at, record));
    }

    /// Last rejected record of a kind and reason, with the wall time of its rejection; `None` since
    /// the start.
    pub fn last(&self, kind: Kind, reason: Reason) -> Option<(WallTime, RejectedRecord)> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&(kind.index(), reason.index())).cloned()
    }
}
