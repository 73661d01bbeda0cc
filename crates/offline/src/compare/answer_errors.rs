//! Errors in the answer to a query: the ranking of a run compared with the judgements.

use std::collections::BTreeMap;

use super::patterns::{Pattern, patterns};
use super::{FalsePositive, Found, Missed, QueryErrors};
use crate::evaluate::query_of;
use crate::run::{Answer, Results, Run};
use rankgauge_core::event::{Id, Search};
use rankgauge_core::gold::{GoldQuery, GoldSet};
use rankgauge_core::ranking::{Judge, Rules};

/// Finds the errors in the answers of one run.
pub struct AnswerErrors<'a> {
    gold: &'a GoldSet,
    /// Answers by the key of the gold query.
    answers: BTreeMap<&'a str, &'a Answer<'a>>,
    judge: Judge,
    cutoff: u32,
}

impl<'a> AnswerErrors<'a> {
    /// Error finder for the first `cutoff` results of `run`, judged by `rules`.
    pub fn new(gold: &'a GoldSet, run: &'a Run<'a>, rules: &Rules, cutoff: u32) -> Self {
        let answers = run.answers.iter().filter_map(|answer| {
            let index = query_of(gold, answer)?;
            Some((gold.query(index).key.as_str(), answer))
        });
        Self {
            gold,
            answers: answers.collect(),
            judge: Judge::new(rules.clone()),
            cutoff,
        }
    }

    /// Returns the errors for one gold query, given by its key. A query that the run does not
    /// answer misses every relevant document.
    pub fn of(&mut self, key: &str) -> QueryErrors {
        let Some(index) = self.gold.find(Some(key), None) else {
            return QueryErrors::default();
        };
        let query = self.gold.query(index);
        match self.answers.get(key).map(|answer| &answer.results) {
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
            .filter(|missed| missed.rank.is_none_or(|rank| rank > self.cutoff))
            .collect();
        missed.sort_by(|one, other| other.grade.total_cmp(&one.grade));
        let mut errors = QueryErrors {
            text: query.text.clone(),
            retrieved: search.results.len(),
            patterns: Vec::new(),
            found,
            false_positives,
            missed,
        };
        errors.patterns = patterns(&judged, judge_by, &errors, cutoff);
        errors
    }
}
