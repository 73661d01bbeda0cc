//! Baselines and detectors of a worker.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::columns::Columns;
use super::detector::Detector;
use crate::detection::{Baselines, LearnedVariation};
use crate::engine::fleet::{Resets, SeriesName, SharedLearned};
use crate::engine::incidents::Incidents;
use crate::engine::series::{Label, Series};
use crate::gold::JudgementHashes;

/// Keys of the mean scores of sessions without a gold query: the hour of the day (UTC). They are for
/// display; the season of the drop test has the expected scores. No query has such a key, because ids contain no control characters.
pub(super) const HOURS: [&str; 24] = [
    "\u{0}00", "\u{0}01", "\u{0}02", "\u{0}03", "\u{0}04", "\u{0}05", "\u{0}06", "\u{0}07",
    "\u{0}08", "\u{0}09", "\u{0}10", "\u{0}11", "\u{0}12", "\u{0}13", "\u{0}14", "\u{0}15",
    "\u{0}16", "\u{0}17", "\u{0}18", "\u{0}19", "\u{0}20", "\u{0}21", "\u{0}22", "\u{0}23",
];

/// Score column of a variant.
pub(super) type VariantColumn = (Label, usize);

/// Score column of a series.
pub(super) type SeriesColumn = (Series, usize);

/// Baselines of the queries of a variant, by key of the query.
pub(crate) type QueryBaselines = Baselines<Box<str>>;

/// Baselines and detectors of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Gold set that judges the searches of this worker. Empty before the first one.
    pub(super) gold: Box<str>,
    /// Number of workers by gold set. Only in a snapshot.
    pub(super) workers: BTreeMap<Box<str>, u32>,
    /// Evidence of measures of user behaviour, which no gold set judges.
    pub(super) users: Judged,
    /// Evidence of ranking measures, by gold set. A worker has that of its gold set only. Scores by
    /// different gold sets are not comparable.
    pub(super) rankings: BTreeMap<Box<str>, Judged>,
    pub(super) incidents: Incidents,
    pub(super) resets: Resets,
    /// Ids under which the worker shares its baselines: its own, and those of workers whose saved state
    /// it continues.
    pub(super) ids: Vec<u64>,
    /// Learned values of other workers, for series that this one may read later.
    #[serde(skip)]
    pub(super) inherited: BTreeMap<SeriesName, SharedLearned>,
}

/// Baselines and detectors of measures that one gold set judges, or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Judged {
    /// Baselines, by variant and score column.
    pub(super) baselines: Columns<Label, QueryBaselines>,
    /// Detectors, by series of [`SCORE`](crate::engine::family::SCORE) and score column.
    pub(super) detectors: Columns<Series, Detector>,
    /// Variation of the hours of series whose detectors were reset.
    pub(super) variations: BTreeMap<SeriesColumn, LearnedVariation>,
    /// Hashes of the judgements of the queries. Empty for measures that no gold set judges, and in a snapshot.
    pub(super) judgements: JudgementHashes,
}
