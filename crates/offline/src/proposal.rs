//! What people's reactions say about documents that nobody has judged: candidates for the gold set.
//!
//! A [`Tally`] is told all feedback, then all searches, and counts for each query and document in how
//! many searches it was shown and what people did with it; [`Tally::proposals`] chooses from that
//! what an annotator should look at first. It knows no files, no Kafka and no clock, and where the
//! events are from is for others to say.
//!
//! A search counts once, however often somebody clicked in it. Feedback comes first so that no
//! search has to be kept: what is kept is bounded, and what finds no room is counted.

mod choice;
mod tally;

use serde::Serialize;

use rankgauge_core::gold::Grade;
use rankgauge_core::gold::adoption::SheetRow;

pub use tally::{ROOM, Tally};

/// From this dwell time on, in milliseconds, a click counts as satisfied, as for the measure `SAT`.
pub const SATISFIED_MS: f64 = 30_000.0;

/// What is proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// In how many searches people must have clicked, converted or rated a document for it to be
    /// proposed. One grade given in production is enough.
    pub min_clicks: u32,
    /// How often a query that the gold set does not know must have been searched.
    pub min_searches: u32,
    /// Most queries: of those that the gold set knows, and as many of those that it does not.
    pub queries: usize,
    /// Most documents of a query.
    pub per_query: usize,
}

/// What an annotator should look at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proposals {
    /// What became of the searches.
    pub searches: SearchFacts,
    /// What became of the feedback.
    pub feedback: FeedbackFacts,
    /// Queries of the gold set with documents that nobody has judged, the most searched first.
    pub queries: Vec<QueryProposal>,
    /// Such queries beyond those.
    pub queries_more: usize,
    /// Queries that the gold set does not know, the most searched first.
    pub unknown_queries: Vec<QueryProposal>,
    /// Such queries beyond those.
    pub unknown_queries_more: usize,
    /// How far grades given in production agree with the gold set.
    pub production: ProductionAgreement,
}

/// A query with what to judge of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueryProposal {
    /// Its key in the gold set; of a query that the set does not know what searches said, if they
    /// did.
    pub query_id: Option<String>,
    /// Its text in the gold set, else as it was first searched.
    pub query_text: Option<String>,
    /// How often it was searched.
    pub searches: u32,
    /// What to judge, most convincing first.
    pub documents: Vec<DocumentProposal>,
    /// Documents beyond those.
    pub documents_more: usize,
}

/// A document that nobody has judged for a query, and what people did with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DocumentProposal {
    /// Its id.
    pub document_id: String,
    /// Searches that served it.
    pub searches: u32,
    /// Searches in which it was clicked.
    pub clicks: u32,
    /// `clicks / searches`; `None` when it was never served.
    pub click_rate: Option<f64>,
    /// Searches in which it was looked at for at least [`SATISFIED_MS`].
    pub satisfied_clicks: u32,
    /// Searches in which it led to a conversion.
    pub conversions: u32,
    /// Its ratings, thumbs included.
    pub ratings: u32,
    /// Their mean, each from 0 (lowest of its scale, thumb down) to 1.
    pub rating_mean: Option<f64>,
    /// Mean position at which it was served, 1-based.
    pub mean_position: Option<f64>,
    /// Grades that it was given in production.
    pub production_judgments: u32,
    /// The median of them; of two in the middle the lower, which somebody gave.
    pub production_grade: Option<Grade>,
}

/// How far grades given in production agree with the gold set, on what both judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ProductionAgreement {
    /// (query, document) pairs that were judged in production.
    pub judged: usize,
    /// Those among them that the gold set judges as well.
    pub n: usize,
    /// Cohen's kappa of relevant or not; `None` without any.
    pub kappa: Option<f64>,
    /// The share on which they agree whether it is relevant.
    pub agreement: Option<f64>,
}

/// Searches by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SearchFacts {
    /// All, the invalid ones left out.
    pub read: u64,
    /// Of queries that the gold set knows.
    pub known: u64,
    /// Of queries that it does not.
    pub unknown: u64,
    /// Read before, under the same id.
    pub duplicate: u64,
    /// Not looked at for want of room.
    pub left_out: u64,
    /// (query, document) pairs that were not counted for want of room.
    pub documents_left_out: u64,
}

/// Feedback events by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FeedbackFacts {
    /// All, the invalid ones left out.
    pub read: u64,
    /// Reactions to a result, or grades given to a document.
    pub used: u64,
    /// Of no use here: about no single result, or of a kind that says nothing about it.
    pub no_use: u64,
    /// About a document or a position that their search did not serve.
    pub not_served: u64,
    /// Of no search that was read.
    pub orphaned: u64,
    /// Read before, under the same id.
    pub duplicate: u64,
    /// Not kept for want of room.
    pub left_out: u64,
}

impl Proposals {
    /// The proposals as rows of a sheet, queries of the gold set first.
    pub fn rows(&self) -> Vec<SheetRow> {
        let queries = self.queries.iter().chain(&self.unknown_queries);
        let rows = queries.flat_map(|query| {
            query.documents.iter().map(|document| SheetRow {
                query_id: query.query_id.clone().unwrap_or_default(),
                query_text: query.query_text.clone().unwrap_or_default(),
                document_id: document.document_id.clone(),
                clicks: document.clicks,
                searches: document.searches,
                satisfied_clicks: document.satisfied_clicks,
                conversions: document.conversions,
                rating_mean: document.rating_mean,
                mean_position: document.mean_position,
                production_judgments: document.production_judgments,
                production_grade: document.production_grade,
            })
        });
        rows.collect()
    }
}
