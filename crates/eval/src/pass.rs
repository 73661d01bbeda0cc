//! One pass over a run: each answer is judged, and everything else that a report shows of it is
//! collected, while the run is read.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::compare::{AnalysedErrors, AnswerErrors, SearchLabel};
use crate::evaluate::{
    AnsweredTwice, JudgedAnswers, Options, Plan, RunEvaluation, label_of, query_of,
};
use crate::operations::{self, Operations};
use crate::run::{Answer, Place, Places, RankedQuery, ReadRun, Results, RunError, RunReader};
use crate::sweep::{self, Sweep, WithoutScore};
use crate::text_layout::escape_controls;
use rankgauge_core::engine::money::PriceTable;
use rankgauge_core::gold::{GoldQuery, GoldSet, QueryIndex};
use rankgauge_core::ranking::Eligibility;
use rankgauge_core::time::EventTime;

/// Contents of a pass in addition to the evaluation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents<'a> {
    /// Analysed errors.
    pub errors: Option<AnalysedErrors>,
    /// Operations, broken down by the labels of the evaluation.
    pub operations: Option<RequestedOperations<'a>>,
    /// True to sweep the score threshold.
    pub sweep: bool,
    /// Labels whose values are collected from search events.
    pub labels: &'a [String],
}

/// Operations to collect.
#[derive(Clone, Copy, Debug)]
pub struct RequestedOperations<'a> {
    /// Prices of model calls.
    pub prices: &'a PriceTable,
    /// True to keep the operations of each query.
    pub per_query: bool,
}

/// Result of a pass.
pub struct JudgedRun {
    /// Evaluation of the run.
    pub evaluation: RunEvaluation,
    /// Errors in the answers, to be analysed with the scores of the run. `None` unless requested, and
    /// for a measure without a preferred direction.
    pub errors: Option<AnswerErrors>,
    /// Operations; `None` unless requested, and for a run that states none.
    pub operations: Option<Operations>,
    /// Sweep; `None` unless requested, and for a run without a result of a counted query.
    pub sweep: Option<Sweep>,
    /// Values of the requested labels.
    pub labels: Vec<SearchLabel>,
    /// Sign of a mistake in a valid file, as a sentence.
    pub warning: Option<String>,
}

/// Reason why a run cannot be judged.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum JudgeError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    AnsweredTwice(#[from] AnsweredTwice),
    #[error(transparent)]
    WithoutScore(#[from] WithoutScore),
    #[error(
        "{}: none of its queries is in the gold set (the run's first is `{in_run}`, the gold set's \
         `{in_gold}`); check that they belong together",
        path.display()
    )]
    NoGoldQuery {
        path: PathBuf,
        in_run: String,
        in_gold: String,
    },
}

/// Results whose ids differ from judged ids only in Unicode normalisation.
#[derive(Default)]
struct OtherForms {
    /// Numbers of answers, and of ids beyond ASCII, that were examined. A run with other ids throughout shows it
    /// in the first of them.
    answers: usize,
    examined: usize,
    found: usize,
    /// Query and id of the first result found.
    first: Option<(String, String)>,
}

/// Maximum number of answers, and of ids beyond ASCII, that a thread examines.
const MAX_EXAMINED_ANSWERS: usize = 500;
const MAX_EXAMINED_IDS: usize = 2_000;

impl OtherForms {
    fn add(&mut self, query: &GoldQuery, answer: &Answer<'_>) {
        if self.answers == MAX_EXAMINED_ANSWERS {
            return;
        }
        self.answers += 1;
        match &answer.results {
            Results::Documents(documents) => {
                for document in documents {
                    self.examine(query, document);
                }
            }
            Results::Search(search) => {
                for hit in &search.results {
                    self.examine(query, &hit.id);
                }
            }
        }
    }

    fn examine(&mut self, query: &GoldQuery, document: &str) {
        if document.is_ascii() || self.examined == MAX_EXAMINED_IDS {
            return;
        }
        self.examined += 1;
        if query.judgements.has_other_form(document) {
            self.found += 1;
            let found = || (query.key.clone(), document.to_owned());
            self.first.get_or_insert_with(found);
        }
    }

    fn merge(self, other: Self) -> Self {
        Self {
            answers: self.answers + other.answers,
            examined: self.examined + other.examined,
            found: self.found + other.found,
            first: self.first.or(other.first),
        }
    }

    fn warning(&self, run: &str) -> Option<String> {
        let (query, document) = self.first.as_ref()?;
        Some(format!(
            "{}: ids that differ from those of judged documents only in Unicode normalisation: {}, such as `{}` of \
             query `{}`; they count as other documents, unless --normalise-ids nfc is given",
            escape_controls(run),
            self.found,
            escape_controls(document),
            escape_controls(query)
        ))
    }
}

/// State of one thread.
struct Thread<'a> {
    eligibility: &'a Eligibility,
    judged_only: bool,
    answers: JudgedAnswers<'a>,
    errors: Option<AnswerErrors>,
    operations: Option<operations::Collector<'a>>,
    sweep: Option<sweep::Collector>,
    labels: Vec<SearchLabel>,
    forms: OtherForms,
}

impl<'a> Thread<'a> {
    fn new(plan: &'a Plan<'a>, contents: &Contents<'a>) -> Self {
        let options = plan.options;
        let errors = contents.errors.and_then(|errors| {
            let measure = options.measures.get(errors.measure)?;
            AnswerErrors::new(&options.rules, &measure.to_string(), errors)
        });
        Self {
            eligibility: &options.rules.eligibility,
            judged_only: options.judged_only,
            answers: JudgedAnswers::new(plan),
            errors,
            operations: contents.operations.map(|requested| {
                operations::Collector::new(&options.by, requested.prices, requested.per_query)
            }),
            sweep: contents.sweep.then(|| sweep::Collector::new(options)),
            labels: Vec::new(),
            forms: OtherForms::default(),
        }
    }

    fn add(&mut self, gold: &GoldSet, labels: &[String], place: Place, answer: &Answer<'_>) {
        if let Results::Search(search) = &answer.results
            && self.eligibility.check(search).is_err()
        {
            self.answers.add_not_eligible();
            return;
        }
        let Some(index) = query_of(gold, answer) else {
            self.answers.add_unknown(place, answer);
            return;
        };
        let query = gold.query(index);
        self.forms.add(query, answer);
        let judged = self.judged_only.then(|| judged_results(query, answer));
        let answer = judged.as_ref().unwrap_or(answer);
        if let Results::Search(search) = &answer.results {
            if let Some(operations) = &mut self.operations {
                operations.add(query, search);
            }
            for (label, name) in labels.iter().enumerate() {
                let value = label_of(name, query, Some(search));
                self.labels.extend(value.map(|value| SearchLabel {
                    query: index,
                    label,
                    value,
                }));
            }
        }
        if let Some(sweep) = &mut self.sweep {
            sweep.add(place, query, answer);
        }
        let judged = self.answers.add(place, index, query, answer);
        if let (Some(errors), Some(judged)) = (&mut self.errors, judged) {
            errors.add(query, answer, &judged.scores);
        }
    }
}

/// Returns the answer with its judged results alone. A negative grade is that of a document that was not
/// judged, as in trec_eval.
fn judged_results<'t>(query: &GoldQuery, answer: &Answer<'t>) -> Answer<'t> {
    let is_judged = |document: &str| {
        let found = query.judgements.find(document);
        query.by_text || found.is_some_and(|(_, grade)| grade.get() >= 0.0)
    };
    let (results, scores) = match &answer.results {
        Results::Documents(documents) => {
            let scores = documents.iter().zip(&answer.scores);
            let scores = scores.filter(|(document, _)| is_judged(document));
            let scores = scores.map(|(_, score)| *score).collect();
            let kept = documents.iter().filter(|document| is_judged(document));
            (Results::Documents(kept.cloned().collect()), scores)
        }
        Results::Search(search) => {
            let mut search = search.clone();
            search.results.retain(|hit| is_judged(&hit.id));
            (Results::Search(search), Vec::new())
        }
    };
    Answer {
        query: answer.query.clone(),
        results,
        scores,
    }
}

/// Last search of each query in a run of search events.
#[derive(Debug, Default)]
pub struct LastSearches {
    /// Places and ids of these searches, and of those that are not eligible.
    pub searches: BTreeSet<PlacedId>,
    /// Number of all other searches.
    pub others: usize,
}

/// Place and id of a search.
type PlacedId = (Place, String);

/// Last searches so far, by the gold query, else by its name.
#[derive(Default)]
struct Latest {
    by_query: BTreeMap<Result<QueryIndex, String>, (EventTime, PlacedId)>,
    found: LastSearches,
}

impl Latest {
    fn add(&mut self, query: Result<QueryIndex, String>, search: (EventTime, PlacedId)) {
        match self.by_query.entry(query) {
            Entry::Vacant(entry) => {
                entry.insert(search);
            }
            Entry::Occupied(mut entry) => {
                self.found.others += 1;
                if search > *entry.get() {
                    entry.insert(search);
                }
            }
        }
    }
}

/// Finds the last search of each query in a run, whose reader has [`Searches::All`](crate::run::Searches). Times
/// decide; of equal ones, the later place.
///
/// # Errors
/// The run is wrong.
pub fn last_searches(
    gold: &GoldSet,
    run: RunReader,
    eligibility: &Eligibility,
) -> Result<LastSearches, RunError> {
    let read = run.each_answer(Latest::default, |latest, place, answer| {
        let Results::Search(search) = &answer.results else {
            return;
        };
        let placed = (place, search.query_id.to_string());
        if eligibility.check(search).is_err() {
            latest.found.searches.insert(placed);
            return;
        }
        let query = query_of(gold, answer).ok_or_else(|| answer.query.to_string());
        latest.add(query, (search.ts, placed));
    })?;
    let mut all = Latest::default();
    for mut latest in read.states {
        all.found.others += latest.found.others;
        all.found.searches.append(&mut latest.found.searches);
        for (query, search) in latest.by_query {
            all.add(query, search);
        }
    }
    let last = all.by_query.into_values().map(|(_, placed)| placed);
    all.found.searches.extend(last);
    Ok(all.found)
}

/// Judges the run `name` against `gold`, and collects `contents`.
///
/// # Errors
/// The run is wrong, answers a gold query twice or none at all, or lacks a score for a sweep.
pub fn judge(
    gold: &GoldSet,
    name: &str,
    run: RunReader,
    options: &Options,
    contents: &Contents<'_>,
) -> Result<JudgedRun, JudgeError> {
    let plan = Plan::new(options);
    let path = run.path().to_owned();
    let warning = run.warning().map(ToOwned::to_owned);
    let replay = run.replay_command();
    let read = run.each_answer(
        || Thread::new(&plan, contents),
        |thread, place, answer| thread.add(gold, contents.labels, place, answer),
    )?;
    let judged = finish(gold, name, path, warning, &plan, read);
    judged.map_err(|error| match error {
        JudgeError::AnsweredTwice(twice) => AnsweredTwice { replay, ..twice }.into(),
        error => error,
    })
}

/// Judges the run `name`, whose answers are in memory, against `gold`. Each thread takes the next
/// answers; those of few queries need one thread.
///
/// # Errors
/// The run answers a gold query twice or none at all.
pub fn judge_in_memory(
    gold: &GoldSet,
    name: &str,
    run: &[RankedQuery],
    options: &Options,
) -> Result<JudgedRun, JudgeError> {
    let plan = Plan::new(options);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut thread = Thread::new(&plan, &Contents::default());
        loop {
            let first = next.fetch_add(ANSWERS_AT_ONCE, Ordering::Relaxed);
            let Some(queries) = run.get(first..) else {
                break;
            };
            if queries.is_empty() {
                break;
            }
            for (position, query) in queries.iter().take(ANSWERS_AT_ONCE).enumerate() {
                let place = Place::in_memory(first + position);
                thread.add(gold, &[], place, &query.answer());
            }
        }
        thread
    };
    let states = if run.len() <= ANSWERS_AT_ONCE {
        vec![work()]
    } else {
        rayon::broadcast(|_| work())
    };
    let read = ReadRun {
        states,
        places: Places::default(),
        tag: None,
        warning: None,
    };
    finish(gold, name, PathBuf::from(name), None, &plan, read)
}

/// Number of answers that a thread takes at once from a run in memory.
const ANSWERS_AT_ONCE: usize = 32;

/// Merges what the threads have judged.
fn finish(
    gold: &GoldSet,
    name: &str,
    path: PathBuf,
    warning: Option<String>,
    plan: &Plan<'_>,
    read: ReadRun<Thread<'_>>,
) -> Result<JudgedRun, JudgeError> {
    let (mut answers, mut errors, mut operations) = (Vec::new(), Vec::new(), Vec::new());
    let (mut sweeps, mut labels) = (Vec::new(), Vec::new());
    let mut forms = OtherForms::default();
    for thread in read.states {
        answers.push(thread.answers);
        errors.extend(thread.errors);
        operations.extend(thread.operations);
        sweeps.extend(thread.sweep);
        labels.extend(thread.labels);
        forms = forms.merge(thread.forms);
    }
    let is_known = answers.iter().any(JudgedAnswers::has_known);
    let evaluation = JudgedAnswers::finish(answers, name, gold, plan, &read.places)?;
    if !is_known {
        return Err(JudgeError::NoGoldQuery {
            path,
            in_run: escape_controls(evaluation.unknown.first().map_or("", String::as_str)),
            in_gold: escape_controls(gold.queries().first().map_or("", |query| &query.key)),
        });
    }
    let sweep = match sweeps.into_iter().reduce(sweep::Collector::merge) {
        Some(sweep) => sweep.finish(name, gold, &read.places)?,
        None => None,
    };
    Ok(JudgedRun {
        evaluation: RunEvaluation {
            tag: read.tag,
            ..evaluation
        },
        errors: errors.into_iter().reduce(AnswerErrors::merge),
        operations: operations
            .into_iter()
            .reduce(operations::Collector::merge)
            .and_then(|operations| operations.finish(name)),
        sweep,
        labels,
        warning: warning.or(read.warning).or_else(|| forms.warning(name)),
    })
}
