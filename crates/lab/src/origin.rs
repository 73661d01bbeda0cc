//! Origins of search results: the stages that found them, including expansion and agents.
//!
//! Rates follow the evaluation plan: RNE-only discovery (5.3.1), and the agents' share of the
//! results (5.4.2) as far as the methodology's targets for contribution and precision (4.2) permit.
//! The module is independent of events, time and the construction of rankings.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::corpus::Category;
use super::graph::MAX_HOPS;
use super::quality::Variant;

/// Share of relevant results that only graph expansion finds: discovery rate of categories A to D
/// (5.3.1) over V4's recall.
const RNE_FINDS: [f64; 4] = [0.21, 0.36, 0.47, 0.63];
/// Share of the relevant results of its seed searches that expansion finds again.
const RNE_CONFIRMS: f64 = 0.82;
/// Probability that a wrong result comes from expansion alone, by category.
const RNE_ERRS: [f64; 4] = [0.7, 0.75, 0.8, 0.85];
/// Probability that a result of another domain came from that domain's agent, if agents ran: for a
/// relevant result and for a wrong one.
const A2A_BRINGS: f64 = 0.72;
const A2A_ERRS: f64 = 0.95;
/// Probability that the agent found a result by its own expansion.
const A2A_EXPANDS: f64 = 0.45;
/// Factor on the probability that expansion alone finds a result that no agent contributed, in
/// searches with agents.
const RNE_BESIDE_A2A: f64 = 1.55;
/// Probability that a wrong result of a regressed version comes from expansion, and from an agent.
const REGRESSED_RNE: f64 = 0.5;
const REGRESSED_A2A: f64 = 0.8;

/// Stages by distance in the graph: for results found by expansion alone, together with an agent,
/// and together with vector search.
type StagesByHops = [&'static [&'static str]; MAX_HOPS];
const RNE_ALONE: StagesByHops = [&["rne_1hop"], &["rne_2hop"], &["rne_3hop"]];
const RNE_AND_A2A: StagesByHops = [
    &["rne_1hop", "a2a"],
    &["rne_2hop", "a2a"],
    &["rne_3hop", "a2a"],
];
const RNE_AND_VECTOR: StagesByHops = [
    &["vector", "rne_1hop"],
    &["vector", "rne_2hop"],
    &["vector", "rne_3hop"],
];

fn by_hops(stages: &StagesByHops, hops: usize) -> &'static [&'static str] {
    stages[hops.clamp(1, MAX_HOPS) - 1]
}

/// Properties of a search that determine the origins of its results.
pub(super) struct Origins {
    pub(super) variant: Variant,
    pub(super) regressed: bool,
    pub(super) category: Category,
    pub(super) rne: bool,
    pub(super) a2a: bool,
    pub(super) domain: Option<&'static str>,
}

/// Origin of one result.
pub(super) struct Origin {
    pub(super) stages: &'static [&'static str],
    /// True if expansion was among the stages that found it.
    pub(super) expanded: bool,
    pub(super) a2a: bool,
}

impl Origins {
    /// Returns true if the version has an answering model after expansion.
    pub(super) fn expands(&self) -> bool {
        matches!(self.variant, Variant::V4 | Variant::V5)
    }

    /// Draws the origin of a result with this grade and domain at a graph distance of `hops`.
    pub(super) fn draw(
        &self,
        grade: u8,
        domain: &str,
        hops: usize,
        rng: &mut ChaCha8Rng,
    ) -> Origin {
        let relevant = grade > 0;
        let foreign = self.domain.is_some_and(|chosen| chosen != domain);
        let a2a = self.a2a && chance(rng, self.agent_probability(relevant, foreign));
        let reachable = self.rne && hops > 0;
        if reachable && chance(rng, self.expansion_probability(relevant, a2a)) {
            let stages = if a2a { &RNE_AND_A2A } else { &RNE_ALONE };
            return Origin {
                stages: by_hops(stages, hops),
                expanded: true,
                a2a,
            };
        }
        let confirmable = reachable && !a2a && relevant && !self.regressed;
        let expanded = confirmable && chance(rng, RNE_CONFIRMS);
        let stages = if a2a {
            &["a2a"]
        } else if expanded {
            by_hops(&RNE_AND_VECTOR, hops)
        } else {
            self.hybrid(grade, rng)
        };
        Origin {
            stages,
            expanded,
            a2a,
        }
    }

    /// Probability that an agent contributed a result, if agents ran.
    fn agent_probability(&self, relevant: bool, foreign: bool) -> f64 {
        match (self.regressed, relevant) {
            (true, true) => 0.0,
            (true, false) => REGRESSED_A2A,
            (false, _) if !foreign => 0.0,
            (false, true) => A2A_BRINGS,
            (false, false) => A2A_ERRS,
        }
    }

    /// Probability that expansion found a result alone, or together with only the agent that
    /// contributed it.
    fn expansion_probability(&self, relevant: bool, brought: bool) -> f64 {
        let alone = match (self.regressed, relevant) {
            (true, true) => 0.0,
            (true, false) => REGRESSED_RNE,
            (false, true) => RNE_FINDS[self.category.index()],
            (false, false) => RNE_ERRS[self.category.index()],
        };
        match (self.a2a, brought) {
            (false, _) => alone,
            (true, false) => alone * RNE_BESIDE_A2A,
            (true, true) => A2A_EXPANDS,
        }
    }

    /// Stages of a result that neither expansion nor an agent contributed.
    fn hybrid(&self, grade: u8, rng: &mut ChaCha8Rng) -> &'static [&'static str] {
        match self.variant {
            Variant::V1 => &["bm25"],
            Variant::V2 => &["vector"],
            Variant::V3 | Variant::V4 | Variant::V5 => {
                let draw = rng.random::<f64>();
                if self.category == Category::Article && grade == 3 && draw < 0.7 {
                    &["exact", "vector"]
                } else if draw < 0.5 {
                    &["vector"]
                } else if draw < 0.75 {
                    &["vector", "relationship"]
                } else {
                    &["relationship"]
                }
            }
        }
    }
}

fn chance(rng: &mut ChaCha8Rng, probability: f64) -> bool {
    rng.random::<f64>() < probability
}
