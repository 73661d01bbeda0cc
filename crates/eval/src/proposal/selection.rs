//! Selection and order of proposals.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::tally::{DocumentTally, QueryTally, Tally};
use super::{DocumentProposal, ProductionAgreement, ProposalOptions, Proposals, QueryProposal};
use crate::gold::agreement::Kappa;
use crate::gold::wilson::wilson;
use rankgauge_core::gold::{GoldSet, Grade};

/// Median of the grades. With an even number of grades, the lower of the two in the middle. `None`
/// without grades.
fn median(tally: &DocumentTally) -> Option<Grade> {
    let all: u64 = tally.grades.values().map(|count| u64::from(*count)).sum();
    let mut before = 0;
    let middle = tally.grades.iter().find(|(_, count)| {
        before += u64::from(**count);
        before * 2 >= all
    });
    middle.map(|(grade, _)| *grade)
}

fn mean(sum: f64, count: u32) -> Option<f64> {
    (count > 0).then(|| sum / f64::from(count))
}

impl DocumentProposal {
    fn of(document: &str, tally: &DocumentTally) -> Self {
        let judgments = tally.grades.values().copied();
        Self {
            document_id: document.to_owned(),
            searches: tally.searches,
            clicks: tally.clicks,
            click_rate: mean(f64::from(tally.clicks), tally.searches),
            satisfied_clicks: tally.satisfied,
            conversions: tally.conversions,
            ratings: tally.ratings,
            rating_mean: mean(tally.rating_sum, tally.ratings),
            mean_position: mean(tally.positions, tally.searches),
            production_judgments: judgments.fold(0, u32::saturating_add),
            production_grade: median(tally),
        }
    }
}

impl Tally<'_> {
    /// Selects the documents that an annotator should judge first.
    pub fn proposals(&self, options: &ProposalOptions) -> Proposals {
        let (searches, feedback) = self.facts();
        let (known, mut unknown): (Vec<&QueryTally>, Vec<&QueryTally>) =
            self.queries.iter().partition(|query| query.gold.is_some());
        unknown.retain(|query| query.searches >= options.min_searches);
        let (queries, queries_more) = chosen(known, options, self.gold);
        let (mut unknown_queries, unknown_queries_more) = chosen(unknown, options, self.gold);
        // A key that occurs with several query texts does not identify a query.
        let mut keys: BTreeMap<&str, usize> = BTreeMap::new();
        for key in self.queries.iter().filter_map(|query| query.key.as_deref()) {
            *keys.entry(key).or_default() += 1;
        }
        for query in unknown_queries
            .iter_mut()
            .filter(|it| it.query_text.is_some())
        {
            let is_key = |key: &String| keys.get(key.as_str()) == Some(&1);
            query.query_id = query.query_id.take().filter(is_key);
        }
        Proposals {
            searches,
            feedback,
            queries,
            queries_more,
            unknown_queries,
            unknown_queries_more,
            production: self.production(),
        }
    }

    /// Agreement of the grades given in production with the gold set.
    fn production(&self) -> ProductionAgreement {
        let level = self.gold.relevance_level();
        let relevant = |grade: Grade| {
            if grade.is_relevant_at(level) {
                Grade::ONE
            } else {
                Grade::ZERO
            }
        };
        let mut judged = 0;
        let mut pairs = Vec::new();
        for query in &self.queries {
            let gold = query.gold.map(|index| self.gold.query(index));
            // Counts do not depend on the order.
            #[allow(clippy::iter_over_hash_type, reason = "pairs are only counted")]
            for (document, tally) in &query.documents {
                let Some(given) = median(tally) else { continue };
                judged += 1;
                let found = gold.and_then(|query| query.judgements.find(document));
                pairs.extend(found.map(|(_, grade)| (relevant(grade), relevant(given))));
            }
        }
        let kappa = Kappa::of(&pairs);
        ProductionAgreement {
            judged,
            n: pairs.len(),
            kappa: kappa.map(|kappa| kappa.kappa),
            agreement: kappa.map(|kappa| kappa.agreement),
        }
    }
}

/// Returns the most searched of these queries with their documents to judge, and the number of
/// further queries.
fn chosen(
    queries: Vec<&QueryTally>,
    options: &ProposalOptions,
    gold: &GoldSet,
) -> (Vec<QueryProposal>, usize) {
    let mut proposed: Vec<QueryProposal> = queries
        .into_iter()
        .filter(|query| query.key.is_some() || query.text.is_some())
        .map(|query| proposal(query, options, gold))
        // A query that is not in the gold set is a proposal even without documents.
        .filter(|query| query.is_new || !query.proposal.documents.is_empty())
        .map(|query| query.proposal)
        .collect();
    proposed.sort_by(|a, b| {
        let names = |query: &QueryProposal| (query.query_text.clone(), query.query_id.clone());
        let by_searches = b.searches.cmp(&a.searches);
        by_searches.then_with(|| names(a).cmp(&names(b)))
    });
    let more = proposed.len().saturating_sub(options.queries);
    proposed.truncate(options.queries);
    (proposed, more)
}

struct Query {
    is_new: bool,
    proposal: QueryProposal,
}

fn proposal(query: &QueryTally, options: &ProposalOptions, gold: &GoldSet) -> Query {
    let known = query.gold.map(|index| gold.query(index));
    let mut documents: Vec<(&str, &DocumentTally)> = query
        .documents
        .iter()
        .map(|(document, tally)| (&**document, tally))
        .filter(|(document, tally)| match known {
            Some(query) => {
                let is_convincing =
                    tally.searches_with_actions >= options.min_clicks || !tally.grades.is_empty();
                is_convincing && query.judgements.find(document).is_none()
            }
            // A new gold query also needs documents that are not relevant.
            None => true,
        })
        .collect();
    documents.sort_by(|(a, first), (b, second)| {
        let graded = |tally: &DocumentTally| Reverse(!tally.grades.is_empty());
        let lower_bound =
            |tally: &DocumentTally| wilson(tally.searches_with_actions, tally.searches)[0];
        let place = |tally: &DocumentTally| {
            let mean = DocumentProposal::of("", tally).mean_position;
            mean.unwrap_or(f64::INFINITY)
        };
        let by_grade = graded(first).cmp(&graded(second));
        by_grade
            .then_with(|| lower_bound(second).total_cmp(&lower_bound(first)))
            .then_with(|| place(first).total_cmp(&place(second)))
            .then_with(|| a.cmp(b))
    });
    let shown = documents.iter().take(options.per_query);
    let shown = shown.map(|(document, tally)| DocumentProposal::of(document, tally));
    Query {
        is_new: known.is_none(),
        proposal: QueryProposal {
            query_id: query.key.clone(),
            query_text: query.text.clone(),
            searches: query.searches,
            documents: shown.collect(),
            documents_more: documents.len().saturating_sub(options.per_query),
        },
    }
}
