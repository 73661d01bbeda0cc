//! User behaviour on the searches of a run: means of user measures, over all searches and by slice.
//!
//! The module has the data only. The numbers come from the engine, so that a file gives the same
//! ones as live operation.

use serde::Serialize;

/// User behaviour on one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Behaviour {
    /// Name of the run.
    pub run: String,
    /// Number of searches of the run.
    pub searches: u64,
    /// Number of feedback events by outcome: `joined`, `orphaned`, `late`, `duplicate`, `invalid`.
    pub feedback: Vec<(&'static str, u64)>,
    /// Means of the user measures over all searches.
    pub measures: Vec<BehaviourMean>,
    /// Means by slice.
    pub by: Vec<BehaviourSlice>,
    /// Pairs of teams of interleaved rankings.
    pub interleaving: Vec<TeamPreference>,
}

/// Preference of the users between two teams of interleaved rankings. A session is one observation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TeamPreference {
    /// Id of the experiment; empty without one.
    pub experiment: String,
    /// First team, in the order of the names.
    pub team: String,
    /// Other team.
    pub against: String,
    /// Sessions with more distinct clicked results of the first team.
    pub wins: u64,
    /// Sessions with more of the other team.
    pub losses: u64,
    /// Sessions with as many of both.
    pub ties: u64,
    /// (wins + ties / 2) / sessions - 1/2.
    pub delta: f64,
    /// Log evidence (ln) that users prefer one of them; ln 1000 is the threshold of the alert.
    pub log_evidence: f64,
}

/// Mean of a user measure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BehaviourMean {
    /// Name of the measure.
    pub measure: String,
    /// Mean; `None` if no search has a score.
    pub mean: Option<f64>,
    /// Number of searches with a score.
    pub n: u64,
}

/// Means of the searches that share a label's value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BehaviourSlice {
    /// Name of the label.
    pub label: String,
    /// Value of the label.
    pub value: String,
    /// Means of the user measures.
    pub measures: Vec<BehaviourMean>,
}
