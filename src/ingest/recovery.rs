//! Values for the recovery of counters and positions: the checkpoint folder, the durable positions
//! and the origin of the restored counters. Only workers use them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::checkpoint::Checkpoint;
use crate::checkpoint::folder::Folder;
use rankgauge_core::engine::position::Join;
use rankgauge_core::time::WallTime;
use rankgauge_kafka::positions::Positions;

/// Recovery state of a process.
#[derive(Debug)]
pub(super) struct Recovery {
    /// Checkpoint folder; `None` without checkpoints.
    pub(super) folder: Option<Arc<Folder>>,
    /// Durable positions of the partitions.
    pub(super) positions: Arc<Positions>,
    /// For each worker, the workers of an earlier process whose checkpoints it absorbed.
    pub(super) absorbed: Vec<BTreeMap<usize, WallTime>>,
}

impl Recovery {
    /// Recovery state of `workers` workers that were restored from `checkpoints`. The positions of
    /// partitions that are joined with each other are from the same moment.
    pub(super) fn new(
        workers: usize,
        join: Join,
        folder: Option<Folder>,
        checkpoints: &[Checkpoint],
    ) -> Self {
        let positions = Positions::new(workers, join);
        let mut absorbed = vec![BTreeMap::new(); workers];
        for checkpoint in checkpoints {
            let worker = checkpoint.worker % workers;
            let cluster = checkpoint.source.cluster.clone();
            positions.found(worker, &checkpoint.points, cluster);
            absorbed[worker].extend(checkpoint.absorbed.clone());
            if checkpoint.worker != worker {
                absorbed[worker].insert(checkpoint.worker, checkpoint.written);
            }
        }
        Self {
            folder: folder.map(Arc::new),
            positions: Arc::new(positions),
            absorbed,
        }
    }
}
