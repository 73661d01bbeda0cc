//! Errors in the answer to a query: the ranking of a run compared with the judgements.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::errors::{ErrorAnalysis, FalsePositive, Found, Missed, Preference, QueryErrors};
use super::labels::Labels;
use super::patterns::{Pattern, patterns};
use super::scores::RunScores;
use crate::evaluate::QueryAnswer;
use crate::run::{Answer, Results};
use rankgauge_core::event::{Id, Search};
use rankgauge_core::gold::{GoldQuery, GoldSet};
use rankgauge_core::ranking::{Judge, Rules};

/// Errors to analyse.
#[derive(Clone, Copy, Debug)]
pub struct AnalysedErrors {
    /// Measure that determines the worst queries, by position.
    pub measure: usize,
    /// Number of worst queries.
    pub worst: usize,
}

/// Errors in the answers of one run to queries without a perfect score.
pub struct AnswerErrors {
    /// Measure that determines the worst queries, by position and by name.
    position: usize,
    measure: String,
    preference: Preference,
    /// Number of worst queries.
    worst: usize,
    finder: Finder,
    found: Vec<FoundErrors>,
}

/// Errors in the answer to one query.
struct FoundErrors {
    query: String,
    score: f64,
    errors: QueryErrors,
}

impl AnswerErrors {
    /// No errors so far. `measure` is the name of the measure. `None` if it has no preferred
    /// direction.
    pub(crate) fn new(rules: &Rules, measure: &str, analysed: AnalysedErrors) -> Option<Self> {
        Some(Self {
            position: analysed.measure,
            preference: Preference::of(measure)?,
            worst: analysed.worst,
            finder: Finder {
                judge: Judge::new(rules.clone()),
                cutoff: ErrorAnalysis::cutoff_of(measure),
            },
            measure: measure.to_owned(),
            found: Vec::new(),
        })
    }

    /// Adds the answer to a query with these scores.
    pub(crate) fn add(&mut self, query: &GoldQuery, answer: &Answer<'_>, scores: &[Option<f64>]) {
        let score = scores.get(self.position).copied().flatten();
        let score = score.filter(|score| !self.preference.is_perfect(*score));
        if let Some(score) = score {
            self.found.push(FoundErrors {
                query: query.key.clone(),
                score,
                errors: self.finder.of_answer(query, Some(answer)),
            });
            if self.found.len().is_multiple_of(DETAILED_ERRORS) {
                self.reduce();
            }
        }
    }

    /// Keeps only the patterns of queries that are not among the worst, so that memory does not grow
    /// with the results.
    fn reduce(&mut self) {
        self.found.sort_by(|one, other| {
            let order = self.preference.compare(one.score, other.score);
            order.then_with(|| one.query.cmp(&other.query))
        });
        for found in self.found.iter_mut().skip(self.worst) {
            found.errors = QueryErrors {
                patterns: std::mem::take(&mut found.errors.patterns),
                ..QueryErrors::default()
            };
        }
    }

    /// Errors of both.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.found.extend(other.found);
        self
    }

    /// Analyses the errors of a run with these scores, judged against `gold`. A query that the run
    /// does not answer misses every relevant document.
    pub fn analysis(
        mut self,
        gold: &GoldSet,
        scores: &RunScores,
        labels: &Labels,
    ) -> Option<ErrorAnalysis> {
        let found = self.found.drain(..).map(|it| (it.query, it.errors));
        let mut found: FxHashMap<String, QueryErrors> = found.collect();
        let (cutoff, worst) = (self.finder.cutoff, self.worst);
        ErrorAnalysis::of(scores, &self.measure, cutoff, worst, labels, |key| {
            found
                .remove(key)
                .or_else(|| {
                    let index = gold.find(Some(key), None)?;
                    Some(self.finder.of_answer(gold.query(index), None))
                })
                .unwrap_or_default()
        })
    }
}

/// Number of queries after which details are dropped.
const DETAILED_ERRORS: usize = 1024;

/// Finder of the errors in single answers.
struct Finder {
    judge: Judge,
    cutoff: u32,
}

impl Finder {
    fn of_answer(&mut self, query: &GoldQuery, answer: Option<&Answer<'_>>) -> QueryErrors {
        match answer.map(|answer| &answer.results) {
            Some(Results::Search(search)) => self.of_search(query, search),
            Some(Results::Documents(documents)) => {
                let ids = documents.iter().map(|document| Id((&**document).into()));
                self.of_search(query, &Search::of_documents(Id("".into()), ids))
            }
            None => {
                let nothing = Search::of_documents(Id("".into()), std::iter::empty());
                let errors = self.of_search(query, &nothing);
                QueryErrors {
                    patterns: vec![Pattern::NotAnswered],
                    ..errors
                }
            }
        }
    }

    fn of_search(&mut self, query: &GoldQuery, search: &Search<'_>) -> QueryErrors {
        let cutoff = usize::try_from(self.cutoff).unwrap_or(usize::MAX);
        let judge_by = self.judge.rules().judge_by;
        let judged = self.judge.judge(search, query);
        let level = query.judgements.level();
        let grades = judged.ranking.grades();
        let mut found = Vec::new();
        let mut false_positives = Vec::new();
        let hits = (1_u32..).zip(&search.results).zip(grades).take(cutoff);
        for ((rank, hit), grade) in hits {
            let document = judge_by.document(hit).to_owned();
            match grade.filter(|grade| grade.is_relevant_at(level)) {
                Some(grade) => found.push(Found {
                    rank,
                    document,
                    grade: grade.get(),
                }),
                None => false_positives.push(FalsePositive {
                    rank,
                    document,
                    grade: grade.map(rankgauge_core::gold::Grade::get),
                }),
            }
        }
        // First rank of each judged document that was retrieved.
        let mut ranks: BTreeMap<usize, u32> = BTreeMap::new();
        for (rank, document) in (1_u32..).zip(judged.ranking.documents()) {
            if let Some(document) = document {
                ranks.entry(*document).or_insert(rank);
            }
        }
        let documents = query.judgements.documents();
        // The place of a document in a perfect ranking follows the documents of higher grades.
        let mut ideal: Vec<f64> = documents.iter().map(|(_, grade)| grade.get()).collect();
        ideal.sort_by(|one, other| other.total_cmp(one));
        let expected_rank = |grade: f64| {
            let higher = ideal.partition_point(|other| *other > grade);
            u32::try_from(higher + 1).unwrap_or(u32::MAX)
        };
        let relevant = documents.into_iter().enumerate();
        let mut missed: Vec<Missed> = relevant
            .filter(|(_, (_, grade))| grade.is_relevant_at(level))
            .map(|(number, (document, grade))| Missed {
                document: document.to_owned(),
                grade: grade.get(),
                rank: ranks.get(&number).copied(),
                expected_rank: expected_rank(grade.get()),
            })
            // A document at its place in a perfect ranking is not missed.
            .filter(|missed| {
                let worst = self.cutoff.max(missed.expected_rank);
                missed.rank.is_none_or(|rank| rank > worst)
            })
            .collect();
        missed.sort_by(|one, other| other.grade.total_cmp(&one.grade));
        let mut errors = QueryErrors {
            text: query.text.clone(),
            retrieved: search.results.len(),
            patterns: Vec::new(),
            found,
            false_positives,
            missed,
            answer: QueryAnswer::of(&judged),
        };
        errors.patterns = patterns(&judged, judge_by, &errors, cutoff);
        errors
    }
}
