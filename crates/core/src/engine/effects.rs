//! Effects of inputs beyond the state of the engine. The state does not depend on their readers.
//!
//! The buffers belong to the engine and are reused: effects without a reader cost no allocation.

use std::sync::Arc;

use super::preparation::Prepared;
use crate::engine::evidence::Alarm;
use crate::engine::fixed::Nano;
use crate::engine::incidents::{Deployed, Incident};
use crate::engine::input::RecordInput;
use crate::engine::series::Label;
use crate::event::Rejection;
use crate::gold::{GoldSet, QueryIndex};
use crate::ranking::Judged;

/// Effects of a group of inputs, by input.
#[derive(Clone, Copy, Debug)]
pub struct GroupEffects<'e> {
    pub(super) inputs: &'e [RecordInput<'e>],
    pub(super) outcomes: &'e [Outcome],
    pub(super) gold: &'e Arc<GoldSet>,
}

impl<'e> GroupEffects<'e> {
    /// Iterates over the inputs in their order, each with its effect.
    pub fn iter(self) -> impl Iterator<Item = (&'e RecordInput<'e>, RecordEffect<'e>)> {
        let outcomes = self.inputs.iter().zip(self.outcomes);
        outcomes.map(move |(input, outcome)| (input, self.effect(input, outcome)))
    }

    fn effect(self, input: &'e RecordInput<'e>, outcome: &'e Outcome) -> RecordEffect<'e> {
        match (input, outcome) {
            (RecordInput::Search { event, .. }, Outcome::Judged(variant, prepared)) => {
                let judged = prepared.judged(event, self.gold);
                judged.map_or(RecordEffect::None, |(query, judged)| {
                    RecordEffect::Judged(JudgedSearch {
                        judged,
                        variant: *variant,
                        gold: self.gold,
                        query,
                        scores: &prepared.scores,
                    })
                })
            }
            (RecordInput::Rejected { rejection, .. }, Outcome::Rejected { is_read_again }) => {
                RecordEffect::Rejected {
                    rejection,
                    is_read_again: *is_read_again,
                }
            }
            (_, Outcome::FromTheFuture(rejection)) => RecordEffect::Rejected {
                rejection,
                is_read_again: false,
            },
            _ => RecordEffect::None,
        }
    }
}

/// Effect of one input.
#[derive(Clone, Copy, Debug)]
pub enum RecordEffect<'e> {
    /// No effect beyond the state of the engine.
    None,
    /// A search is judged, and counted for the first time.
    Judged(JudgedSearch<'e>),
    /// An event, or a record, is rejected.
    Rejected {
        /// Reason and detail.
        rejection: &'e Rejection,
        /// True if the record was read before, by this engine or a previous owner of its partition.
        is_read_again: bool,
    },
}

/// A judged search with its gold query and its scores.
#[derive(Clone, Copy, Debug)]
pub struct JudgedSearch<'a> {
    /// The search, its ranking by the grades of the gold set, and the parts of the components.
    pub judged: Judged<'a>,
    /// System version that served the search.
    pub variant: Label,
    /// Gold set that judged the search.
    pub gold: &'a Arc<GoldSet>,
    /// Index of its query in the gold set.
    pub query: QueryIndex,
    /// Scores, by [column](crate::engine::score_column::column_of).
    pub scores: &'a [(usize, Nano)],
}

/// Outcome of one input, as far as an effect follows from it.
#[derive(Debug)]
pub(super) enum Outcome {
    None,
    /// Search of a variant that was judged and counted.
    Judged(Label, Box<Prepared>),
    /// Rejected input.
    Rejected {
        is_read_again: bool,
    },
    /// Event that the engine rejects as too far in the future.
    FromTheFuture(Rejection),
}

/// Maximum number of alarms that wait to be taken.
const MAX_PENDING_ALARMS: usize = 256;

/// Deployment that searches show.
#[derive(Debug)]
pub struct SeenDeployment {
    /// Name of the variant.
    pub variant: Box<str>,
    /// Version before.
    pub before: Box<str>,
    /// The deployment.
    pub deployed: Deployed,
}

/// Effects that belong to no single record, until they are taken.
#[derive(Debug, Default)]
pub struct PendingEffects {
    /// Alarms since the effects were taken last, at most 256.
    pub alarms: Vec<Alarm>,
    /// Incidents that were opened or ended since the effects were taken last, with the searches of this
    /// engine.
    pub incidents: Vec<Incident>,
    /// Deployments that searches showed since the effects were taken last.
    pub deployments: Vec<SeenDeployment>,
    /// Variants that the last tick retired: their numbers will stand for others.
    pub retired: Vec<Label>,
}

impl PendingEffects {
    /// Adds alarms, and drops those beyond the maximum.
    pub(super) fn add_alarms(&mut self, alarms: Vec<Alarm>) {
        let room = MAX_PENDING_ALARMS.saturating_sub(self.alarms.len());
        self.alarms.extend(alarms.into_iter().take(room));
    }
}
