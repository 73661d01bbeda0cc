//! Proposals of gold-set candidates: unjudged documents with user feedback.
//!
//! A [`Tally`] receives all feedback, then all searches. For each query and document, it counts the
//! searches that served the document and the user actions on it. From these counts,
//! [`Tally::proposals`] selects the documents that an annotator should judge first. The module uses
//! no files, no Kafka and no clock; the caller supplies the events.
//!
//! A search counts once, regardless of the number of clicks in it. Feedback comes first because
//! then no search needs to be stored. Memory is bounded, and events beyond the limit are counted.

pub mod aliases;
mod facts;
mod selection;
mod tally;

use serde::Serialize;

use rankgauge_core::gold::Grade;
use rankgauge_core::gold::adoption::SheetRow;

pub use facts::{FeedbackFacts, SearchFacts};
pub use tally::{DEFAULT_MEMORY_LIMIT, MIN_SATISFIED_DWELL_MS, Tally};

/// Selection criteria and limits of proposals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProposalOptions {
    /// Minimum number of searches with a click, conversion or rating on a document for a proposal.
    /// One grade given in production is enough.
    pub min_clicks: u32,
    /// Minimum number of searches of a query that is not in the gold set.
    pub min_searches: u32,
    /// Maximum number of queries: of those in the gold set, and separately of those that are not.
    pub queries: usize,
    /// Maximum number of documents for each query.
    pub per_query: usize,
}

/// Proposals for annotators.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proposals {
    /// Searches by outcome.
    pub searches: SearchFacts,
    /// Feedback events by outcome.
    pub feedback: FeedbackFacts,
    /// Queries of the gold set with unjudged documents, most searched first.
    pub queries: Vec<QueryProposal>,
    /// Number of further such queries, beyond the limit.
    pub queries_more: usize,
    /// Queries that are not in the gold set, most searched first.
    pub unknown_queries: Vec<QueryProposal>,
    /// Number of further such queries, beyond the limit.
    pub unknown_queries_more: usize,
    /// Agreement of the grades given in production with the gold set.
    pub production: ProductionAgreement,
}

/// Query with the documents to judge.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueryProposal {
    /// Key in the gold set. For a query that is not in the gold set: the key in its searches, if
    /// any.
    pub query_id: Option<String>,
    /// Text in the gold set, else the text of its first search.
    pub query_text: Option<String>,
    /// Number of searches of the query.
    pub searches: u32,
    /// Documents to judge, strongest feedback first.
    pub documents: Vec<DocumentProposal>,
    /// Number of further documents, beyond the limit.
    pub documents_more: usize,
}

/// Unjudged document of a query, with its user feedback.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DocumentProposal {
    /// Document id.
    pub document_id: String,
    /// Number of searches that served the document.
    pub searches: u32,
    /// Number of searches in which the document was clicked.
    pub clicks: u32,
    /// `clicks / searches`; `None` if the document was never served.
    pub click_rate: Option<f64>,
    /// Number of searches in which the dwell time was at least [`MIN_SATISFIED_DWELL_MS`].
    pub satisfied_clicks: u32,
    /// Number of searches in which the document led to a conversion.
    pub conversions: u32,
    /// Number of ratings, including thumbs.
    pub ratings: u32,
    /// Mean of the ratings, each from 0 (lowest of its scale, thumb down) to 1.
    pub rating_mean: Option<f64>,
    /// Mean position at which the document was served, from 1.
    pub mean_position: Option<f64>,
    /// Number of grades given in production.
    pub production_judgments: u32,
    /// Median of the grades given in production. With an even number of grades, it is the lower of
    /// the two in the middle, which is a grade that was given.
    pub production_grade: Option<Grade>,
}

/// Agreement of the grades given in production with the gold set, on pairs that both judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ProductionAgreement {
    /// Number of (query, document) pairs that were judged in production.
    pub judged: usize,
    /// Number of these pairs that the gold set judges as well.
    pub n: usize,
    /// Cohen's kappa of relevant or not; `None` without pairs.
    pub kappa: Option<f64>,
    /// Share of pairs with the same judgement of relevant or not.
    pub agreement: Option<f64>,
}

impl Proposals {
    /// Rows of the proposal sheet, queries of the gold set first.
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
