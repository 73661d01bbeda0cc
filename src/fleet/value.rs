//! Values of the records of the state topic: compressed JSON with a version.
//!
//! Values hold keys of queries, never their texts. A writer of the topic can write anything: a record is
//! bounded and checked before it is used.

use std::io::Read as _;

use serde::{Deserialize, Serialize};

use super::key::Key;
use rankgauge_core::engine::fleet::{
    SharedBaselines, SharedEvidence, SharedIncident, SharedLearned,
};
use rankgauge_core::engine::incidents::Note;
use rankgauge_core::time::{Millis, WallTime};
use rankgauge_kafka::state_topic::MAX_VALUE_BYTES;
use rankgauge_serve::history::{MAX_SKEW, SharedHistory};
use rankgauge_serve::live::{Order, ReportedCommand};

/// First bytes of every value: name and version of the format.
const MAGIC: &[u8] = b"rankgauge state 1\n";

/// First bytes of a value of any version.
const ANY_VERSION: &[u8] = b"rankgauge state ";

/// Zstandard compression level.
const LEVEL: i32 = 3;

/// Maximum decompressed size of a value.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// Maximum length of a name, and of the key of a query, in bytes.
const MAX_NAME_BYTES: usize = 256;
const MAX_QUERY_BYTES: usize = 1 << 10;

/// Maximum number of queries of a record. A query takes about 120 bytes before the compression.
const MAX_QUERIES: usize = 8_192;

/// Time after which an unchanged record is written again: the worker lives.
const RENEWAL: Millis = Millis(24 * 3_600_000);

/// Interval at which changed seasons are written.
const LEARNED_INTERVAL: Millis = Millis(3_600_000);

/// Maximum number of series of a record, and of records of a worker. A series takes 10 kB before the
/// compression.
pub(super) const MAX_LEARNED: usize = 128;
pub(super) const MAX_LEARNED_PARTS: usize = 32;

/// Maximum number of workers that are folded at once.
pub(super) const MAX_FOLDED: usize = 256;

/// Value of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Value {
    /// Part of the baselines of a worker, with the time at which it was written.
    Baselines(WallTime, SharedBaselines),
    /// Share of a worker in an incident, with the time at which it was written.
    Incident(WallTime, SharedIncident),
    /// Part of what a worker learned of its series, with the time at which it was written.
    Learned(WallTime, Vec<SharedLearned>),
    /// Part of the evidence of a process, with the time at which it was written.
    Evidence(WallTime, SharedEvidence),
    /// Part of the score history of a process, with the time at which it was written.
    History(WallTime, SharedHistory),
    /// Command of an operator.
    Command(ReportedCommand),
}

/// Reason for which a record cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    #[error("its key is none of rankgauge")]
    Key,
    #[error("another version of rankgauge wrote it")]
    Version,
    #[error("its value is damaged or too large")]
    Damaged,
    #[error(
        "its value is not possible: a name is too long, a sum too large, or a time in the future"
    )]
    Impossible,
}

impl Value {
    /// Bytes of the value. `None` if they exceed what a topic accepts.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let plain = serde_json::to_vec(self).ok()?;
        let compressed = zstd::encode_all(plain.as_slice(), LEVEL).ok()?;
        let bytes = [MAGIC, &compressed].concat();
        (plain.len() <= MAX_BYTES && bytes.len() <= MAX_VALUE_BYTES).then_some(bytes)
    }

    /// Reads and checks the value of `key`. Returns it with its decompressed size.
    pub(super) fn read(key: &Key, bytes: &[u8], now: WallTime) -> Result<(Self, usize), Unusable> {
        if bytes.len() > MAX_VALUE_BYTES {
            return Err(Unusable::Damaged);
        }
        let Some(compressed) = bytes.strip_prefix(MAGIC) else {
            return Err(if bytes.starts_with(ANY_VERSION) {
                Unusable::Version
            } else {
                Unusable::Damaged
            });
        };
        let mut plain = Vec::new();
        let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX) + 1;
        let decoder = zstd::Decoder::with_buffer(compressed).map_err(|_| Unusable::Damaged)?;
        let read = decoder.single_frame().take(limit).read_to_end(&mut plain);
        if read.is_err() || plain.len() > MAX_BYTES {
            return Err(Unusable::Damaged);
        }
        let value: Self = serde_json::from_slice(&plain).map_err(|_| Unusable::Damaged)?;
        if !value.belongs_to(key) || !value.is_possible(now) {
            return Err(Unusable::Impossible);
        }
        Ok((value, plain.len()))
    }

    /// Time at which a worker wrote the record.
    pub(super) fn written(&self) -> Option<WallTime> {
        match self {
            Self::Baselines(written, _)
            | Self::Incident(written, _)
            | Self::Learned(written, _)
            | Self::Evidence(written, _)
            | Self::History(written, _) => Some(*written),
            Self::Command(_) => None,
        }
    }

    /// Returns true if both differ at most in the time of writing, and by less than the renewal in it.
    pub(super) fn is_current(&self, other: &Self) -> bool {
        let renewal = match self {
            Self::Evidence(..) => SharedEvidence::RENEWAL,
            // Seasons change with each search, and a lost hour of them is little.
            Self::Learned(..) => LEARNED_INTERVAL,
            Self::Baselines(..) | Self::Incident(..) | Self::History(..) | Self::Command(_) => {
                RENEWAL
            }
        };
        let written = self.written().zip(other.written());
        let is_old = written.is_some_and(|(mine, theirs)| theirs.since(mine) >= renewal);
        !is_old && self.has_equal_content(other)
    }

    /// Returns true if both differ at most in the time of writing, and in seasons.
    fn has_equal_content(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Baselines(_, mine), Self::Baselines(_, theirs)) => mine == theirs,
            (Self::Incident(_, mine), Self::Incident(_, theirs)) => mine == theirs,
            (Self::Learned(_, mine), Self::Learned(_, theirs)) => {
                let mut pairs = mine.iter().zip(theirs);
                mine.len() == theirs.len()
                    && pairs.all(|(one, other)| one.has_equal_variation(other))
            }
            (Self::Evidence(_, mine), Self::Evidence(_, theirs)) => mine == theirs,
            (Self::History(_, mine), Self::History(_, theirs)) => mine == theirs,
            (Self::Command(mine), Self::Command(theirs)) => mine == theirs,
            (
                Self::Baselines(..)
                | Self::Incident(..)
                | Self::Learned(..)
                | Self::Evidence(..)
                | Self::History(..)
                | Self::Command(_),
                _,
            ) => false,
        }
    }

    fn belongs_to(&self, key: &Key) -> bool {
        match (self, key) {
            (Self::Baselines(_, shared), Key::Baselines { id, part, .. }) => {
                Key::of_baselines(*id, shared, *part) == *key
            }
            (Self::Incident(_, shared), Key::Incident { incident, .. }) => {
                shared.incident.id == *incident
            }
            (Self::Learned(..), Key::Learned { .. })
            | (Self::Evidence(..), Key::Evidence { .. })
            | (Self::History(..), Key::History { .. }) => true,
            (Self::Command(command), Key::Command { .. }) => Key::of_command(command) == *key,
            (
                Self::Baselines(..)
                | Self::Incident(..)
                | Self::Learned(..)
                | Self::Evidence(..)
                | Self::History(..)
                | Self::Command(_),
                _,
            ) => false,
        }
    }

    fn is_possible(&self, now: WallTime) -> bool {
        let is_past = |at: WallTime| at.0 >= 0 && at.since(now) <= MAX_SKEW;
        let is_name = |text: &str| text.len() <= MAX_NAME_BYTES;
        match self {
            Self::Baselines(written, shared) => {
                let SharedBaselines {
                    gold,
                    variant,
                    measure,
                    reset_at,
                    newest,
                    queries,
                    folded,
                } = shared;
                let newest = WallTime(newest.saturating_mul(60_000));
                is_past(*written)
                    && is_past(*reset_at)
                    && is_past(newest)
                    && [gold, variant, measure].into_iter().all(|it| is_name(it))
                    && queries.len() <= MAX_QUERIES
                    && folded.len() <= MAX_FOLDED
                    && (queries.iter())
                        .all(|(query, sums)| query.len() <= MAX_QUERY_BYTES && sums.is_possible())
            }
            Self::Incident(written, shared) => {
                let incident = &shared.incident;
                let times = [incident.last, incident.started.at, incident.alarmed_at.0];
                is_past(*written)
                    && times.into_iter().all(|at| is_past(WallTime(at)))
                    && shared.is_possible(MAX_NAME_BYTES, MAX_QUERY_BYTES)
            }
            Self::Learned(written, learned) => {
                let newest = WallTime(now.0.saturating_add(MAX_SKEW.0));
                is_past(*written)
                    && learned.len() <= MAX_LEARNED
                    && (learned.iter())
                        .all(|it| is_past(it.reset_at) && it.is_possible(MAX_NAME_BYTES, newest))
            }
            Self::Evidence(written, shared) => {
                is_past(*written) && is_past(shared.latest()) && shared.is_possible(MAX_NAME_BYTES)
            }
            Self::History(written, shared) => {
                is_past(*written) && shared.is_possible(MAX_NAME_BYTES, now)
            }
            Self::Command(ReportedCommand {
                reported,
                by,
                order,
            }) => {
                let is_text = |text: &Option<String>| text.as_deref().is_none_or(is_name);
                let is_possible = match order {
                    Order::ResetBaselines | Order::Acknowledge(_) => true,
                    Order::Note { text, .. } => text.len() <= Note::MAX_BYTES,
                    Order::Deploy(it) => {
                        is_name(&it.variant)
                            && is_name(&it.version)
                            && is_text(&it.note)
                            && is_text(&it.by)
                            && it.lists.is_none()
                            && it
                                .before
                                .as_ref()
                                .is_none_or(|it| is_name(&it.version) && it.period.is_none())
                    }
                };
                is_past(*reported) && is_text(by) && is_possible
            }
        }
    }
}

/// Baselines in parts that fit into records.
pub(super) fn parts(shared: &SharedBaselines) -> impl Iterator<Item = SharedBaselines> {
    (shared.queries.chunks(MAX_QUERIES / 2)).map(|queries| SharedBaselines {
        queries: queries.to_vec(),
        gold: shared.gold.clone(),
        variant: shared.variant.clone(),
        measure: shared.measure.clone(),
        folded: shared.folded.clone(),
        ..*shared
    })
}
