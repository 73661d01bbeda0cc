//! Engine without Kafka, fed with encoded records as a worker feeds it.

use std::sync::Arc;

use rankgauge_core::decode::Formats;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::{Engine, Input, Position, Registry};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::{self, GoldSet, Options};
use rankgauge_core::records;
use rankgauge_core::time::WallTime;

/// Wall time of all ticks: a day after the start of the traffic, so that no event is from the
/// future.
pub(crate) const WALL: WallTime = WallTime(1_763_337_600_000 + 86_400_000);

/// Records between two ticks. A worker ticks at least once a second.
const RECORDS_PER_TICK: u64 = 50_000;

/// Memory budget that no benchmark without pressure reaches, in bytes.
pub(crate) const AMPLE: usize = 8 << 30;

/// Engine of one worker.
pub(crate) struct Feed {
    pub(crate) engine: Engine,
    pub(crate) registry: Arc<Registry>,
    /// Next offset by kind and partition.
    next: [Vec<i64>; 2],
    records: u64,
}

impl Feed {
    pub(crate) fn new(settings: &Arc<Settings>, gold: Arc<GoldSet>, partitions: usize) -> Self {
        let registry = Arc::new(Engine::registry(settings));
        let mut engine = Engine::new(Arc::clone(settings), Arc::clone(&registry), WALL);
        engine.apply(Input::Gold(gold));
        Self {
            engine,
            registry,
            next: [vec![0; partitions], vec![0; partitions]],
            records: 0,
        }
    }

    /// Decodes records and applies them in groups, as a worker does. The key of a record decides its
    /// partition.
    pub(crate) fn take_all(&mut self, records: &[(Kind, String, Vec<u8>)]) -> anyhow::Result<()> {
        for group in records.chunks(Engine::MAX_GROUP) {
            let group = group.iter().map(|(kind, key, payload)| {
                let at = position(&mut self.next, *kind, key);
                (*kind, at, payload.as_slice())
            });
            let rejected = records::apply(&mut self.engine, &Formats::NATIVE, group, |_, _, _| ());
            anyhow::ensure!(rejected.is_empty(), "{rejected:?}");
            self.records += Engine::MAX_GROUP as u64;
            if self.records.is_multiple_of(RECORDS_PER_TICK) {
                self.tick();
            }
        }
        Ok(())
    }

    /// Decodes one record and applies it. Its key decides the partition.
    pub(crate) fn take(&mut self, kind: Kind, key: &str, payload: &[u8]) -> anyhow::Result<()> {
        let at = position(&mut self.next, kind, key);
        let record = (kind, at, payload);
        let rejected = records::apply(&mut self.engine, &Formats::NATIVE, [record], |_, _, _| ());
        anyhow::ensure!(rejected.is_empty(), "{rejected:?}");
        self.records += 1;
        if self.records.is_multiple_of(RECORDS_PER_TICK) {
            self.tick();
        }
        Ok(())
    }

    pub(crate) fn tick(&mut self) {
        self.engine.apply(Input::Tick {
            wall: WALL,
            others: None,
        });
    }
}

/// Parses a gold set in the native format.
pub(crate) fn gold(json: &str) -> anyhow::Result<Arc<GoldSet>> {
    let gold = gold::parse("gold.json", json.as_bytes(), &Options::default())?;
    Ok(Arc::new(gold))
}

/// Position of the next record with a key, which decides its partition.
fn position(next: &mut [Vec<i64>; 2], kind: Kind, key: &str) -> Position {
    let offsets = &mut next[kind.index()];
    let chance = key.bytes().fold(0_usize, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(usize::from(byte))
    });
    let partition = chance % offsets.len();
    let offset = offsets[partition];
    offsets[partition] += 1;
    Position {
        partition: i32::try_from(partition).unwrap_or(i32::MAX),
        offset,
    }
}
