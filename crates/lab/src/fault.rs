//! Faults of simulated search services.

/// Fault of a search service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// The last system ranks worse, and takes 40 % longer. V5 of the law library then ranks about like V2:
    /// results of graph expansion and agents are irrelevant.
    #[default]
    Ranking,
    /// Searches of every system fail.
    Outage,
    /// The last system returns documents that are as good and not judged.
    Unjudged,
    /// Answers of the last system cite wrong documents. The ranking is as before.
    Citations,
    /// A bot repeats a query with bad results to the last system.
    Bots,
}
