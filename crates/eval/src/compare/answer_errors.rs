//! Errors in the answer to a query: the ranking of a run compared with the judgements.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::patterns::{Pattern, patterns};
use super::{FalsePositive, Found, Missed, QueryErrors};
use crate::evaluate::query_of;
use crate::run::{Answer, Results, Run, RunStream};
use rankgauge_core::event::{Id, Search};
use rankgauge_core::gold::{GoldQuery, GoldSet, QueryIndex};
use rankgauge_core::ranking::{Judge, Rules};

/// Errors in the answers of one run.
pub struct AnswerErrors<'a> {
    gold: &'a GoldSet,
    /// Answers by the key of the gold query.
    answers: BTreeMap<&'a str, &'a Answer<'a>>,
    /// Errors that are found already, by the key of the gold query.
    found: BTreeMap<&'a str, QueryErrors>,
    finder: Finder,
}

impl<'a> AnswerErrors<'a> {
    /// Errors among the first `cutoff` results of `run`, judged by `rules`.
    pub fn new(gold: &'a GoldSet, run: &'a Run<'a>, rules: &Rules, cutoff: u32) -> Self {
        let answers = run.answers.iter().filter_map(|answer| {
            let index = query_of(gold, answer)?;
            Some((gold.query(index).key.as_str(), answer))
        });
        Self {
            gold,
            answers: answers.collect(),
            found: BTreeMap::new(),
            finder: Finder::new(rules, cutoff),
        }
    }

    /// Errors of the queries `keys`, found while reading `run`; of those after the first `detailed`
    /// only the patterns, so that memory does not grow with the run. `None` if the run cannot be
    /// read in parts.
    pub fn read(
        gold: &'a GoldSet,
        run: RunStream,
        rules: &Rules,
        cutoff: u32,
        keys: &[&str],
        detailed: usize,
    ) -> Option<Self> {
        let places = keys.iter().enumerate();
        let places: FxHashMap<QueryIndex, usize> = places
            .filter_map(|(place, key)| Some((gold.find(Some(key), None)?, place)))
            .collect();
        let threads = run.each_answer(
            || (Finder::new(rules, cutoff), Vec::new()),
            |(finder, found), _, answer| {
                if let Some(index) = query_of(gold, answer)
                    && let Some(place) = places.get(&index)
                {
                    let query = gold.query(index);
                    let mut errors = finder.of_answer(query, Some(answer));
                    if *place >= detailed {
                        errors = QueryErrors {
                            patterns: errors.patterns,
                            ..QueryErrors::default()
                        };
                    }
                    found.push((query.key.as_str(), errors));
                }
                Some(())
            },
        );
        Some(Self {
            gold,
            answers: BTreeMap::new(),
            found: threads?.into_iter().flat_map(|(_, found)| found).collect(),
            finder: Finder::new(rules, cutoff),
        })
    }

    /// Returns the errors for one gold query, given by its key. A query that the run does not
    /// answer misses every relevant document.
    pub fn of(&mut self, key: &str) -> QueryErrors {
        if let Some(errors) = self.found.remove(key) {
            return errors;
        }
        let Some(index) = self.gold.find(Some(key), None) else {
            return QueryErrors::default();
        };
        let answer = self.answers.get(key).copied();
        self.finder.of_answer(self.gold.query(index), answer)
    }
}

/// Finder of the errors in single answers.
struct Finder {
    judge: Judge,
    cutoff: u32,
}

impl Finder {
    fn new(rules: &Rules, cutoff: u32) -> Self {
        Self {
            judge: Judge::new(rules.clone()),
            cutoff,
        }
    }

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
