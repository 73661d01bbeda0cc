//! Libraries of the demo, and scenarios that change their traffic.
//!
//! This module only describes: it must not know how traffic is generated or shown.

use std::time::Duration;

use rankgauge_lab::traffic::Fault;

/// Documents, queries and systems of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Web shop with three systems in an A/B test.
    Shop,
    /// Korean law library with five system versions.
    Law,
}

impl Library {
    /// Title of the demo.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Shop => "product search of a web shop by three systems",
            Self::Law => "Korean law search by five system versions",
        }
    }

    /// System that a fault changes, and the version that repairs nothing and the one that repairs it.
    pub fn changing(self) -> &'static str {
        match self {
            Self::Shop => "rerank",
            Self::Law => "V5",
        }
    }

    pub(super) fn versions(self) -> [&'static str; 2] {
        match self {
            Self::Shop => ["2.4.1", "2.4.2"],
            Self::Law => ["5.1", "5.2"],
        }
    }

    /// Columns of the table of components, with their measures.
    pub(super) fn components(self) -> &'static [(&'static str, &'static str)] {
        match self {
            // Precision of what vector search found; citations and content of the answers of the
            // assistant, and how often it refused; products by brand.
            Self::Shop => &[
                ("vector P", "ComponentP(vector)"),
                ("brands", "Entropy(brand)@10"),
                ("cited", "CitationF1"),
                ("served", "CitedServed"),
                ("contains", "Contains"),
                ("refused", "Refusal"),
                ("judged", "Judged@10"),
            ],
            // Discovery by expansion (RNE) and agents (A2A) alone and the precision of their results,
            // accuracy of the A2A trigger, recall of decrees and rules, and routing to the correct domain.
            Self::Law => &[
                ("RNE new", "Discovery(rne)"),
                ("RNE P", "ComponentP(rne)"),
                ("A2A new", "Discovery(a2a,when=fired)"),
                ("A2A P", "ComponentP(a2a,when=fired)"),
                ("A2A trig.", "Trigger(a2a)"),
                ("cross-law", "FacetR(law_type!=법률)"),
                ("routed", "Routing@1"),
            ],
        }
    }
}

/// Course of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// One system ranks worse.
    Drop,
    /// Searches of every system fail for two minutes.
    Outage,
    /// One system is worse than the control from the start.
    Experiment,
    /// One system returns documents that are not judged.
    Unjudged,
    /// A bot repeats a query with bad results.
    Bots,
    /// Answers of one system cite wrong documents.
    Answers,
}

impl Scenario {
    pub(super) fn fault(self) -> Fault {
        match self {
            Self::Drop | Self::Experiment => Fault::Ranking,
            Self::Outage => Fault::Outage,
            Self::Unjudged => Fault::Unjudged,
            Self::Bots => Fault::Bots,
            Self::Answers => Fault::Citations,
        }
    }

    /// Time after its beginning at which the change ends, unless an option states it.
    pub(super) fn lasts(self) -> Option<Duration> {
        match self {
            Self::Outage => Some(Duration::from_mins(2)),
            Self::Drop | Self::Answers => Some(Duration::from_mins(3)),
            Self::Experiment | Self::Unjudged | Self::Bots => None,
        }
    }

    /// Returns true if the end of the change is a deployment.
    pub(super) fn ends_by_deployment(self) -> bool {
        matches!(self, Self::Drop | Self::Answers | Self::Unjudged)
    }

    /// Returns true if an alarm is expected.
    pub fn expects_alarm(self) -> bool {
        !matches!(self, Self::Experiment | Self::Bots)
    }

    /// The change as a sentence about the future and about the past, and what to watch.
    pub(super) fn change(self, system: &str) -> [String; 3] {
        let [before, after, watch] = match self {
            Self::Drop => [
                "{} gets worse",
                "{} got worse",
                "watch its nDCG@10 and its p95",
            ],
            Self::Outage => [
                "the index fails",
                "the index failed",
                "watch the nDCG@10 of every system",
            ],
            Self::Experiment => ["{} is worse", "{} was worse", "compare it with the control"],
            Self::Unjudged => [
                "{} returns new documents",
                "{} returned new documents",
                "watch its share of judged results",
            ],
            Self::Bots => [
                "a bot repeats one query to {}",
                "a bot began to repeat one query to {}",
                "the mean falls, and no alarm may follow",
            ],
            Self::Answers => [
                "answers of {} cite wrong documents",
                "answers of {} began to cite wrong documents",
                "watch CitationF1, and nDCG@10, which stays",
            ],
        };
        [before, after, watch].map(|text| text.replace("{}", system))
    }

    /// Expected results of the demo.
    pub fn expectation(self, system: &str) -> String {
        let text = match self {
            Self::Drop => "one incident, on {}; no alarm on another system",
            Self::Outage => {
                "an incident on every system; each ends after the outage; the objective of errors burns"
            }
            Self::Experiment => {
                "{} is worse than the control on the page /experiments; no incident: nothing changed"
            }
            Self::Unjudged => {
                "an incident on {} of class more_unjudged, a warning: judge the new documents first"
            }
            Self::Bots => "no alarm, although the mean of {} falls: a query counts once a minute",
            Self::Answers => "an incident of the answers of {}; none of a ranking",
        };
        text.replace("{}", system)
    }
}
