//! Preference judgements, and the measures that trec_eval computes of them (`-R prefs` and `-R qrels_prefs`).
//!
//! A judgement states that a document has a level in a group, which is usually a user, and in a subgroup. Of two
//! documents of a subgroup, the one with the higher level is preferred. A preference is fulfilled if a run ranks the
//! preferred document above the other one. The values are those of trec_eval, also where its counts are unusual:
//! the measures `Rnonrel` compare documents without relevance with each other.

mod counts;
mod file;
mod scores;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::evaluate::{
    AnsweredTwice, Evaluation, GoldFacts, QueryEvaluation, RunEvaluation, StatedSettings,
};
use crate::run::{Answer, Order, Place, ReadOptions, Results, RunError, RunReader};
use crate::text_layout::escape_controls;
pub use file::{PreferenceFileError, PreferenceProblem, Preferences};
use rankgauge_core::measure::Mean;
pub use scores::MEASURES;
use scores::Scores;

/// Reason why a run cannot be compared with preferences.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum PreferenceError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    AnsweredTwice(#[from] AnsweredTwice),
    #[error(
        "{}: none of its queries has preferences (the run's first is `{in_run}`, the first with preferences is \
         `{in_file}`); check that they belong together",
        path.display()
    )]
    NoQuery {
        path: PathBuf,
        in_run: String,
        in_file: String,
    },
}

/// Options of the evaluation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Measures by their positions in [`MEASURES`].
    pub measures: Vec<usize>,
    /// True if queries with preferences that the run does not answer count without results (trec_eval -c).
    pub complete: bool,
}

/// Measures by name; `all_prefs` is all of them, and `prefs` the first six. Names are separated by blanks and commas.
///
/// # Errors
/// A name is unknown.
pub fn measures(lists: &[String]) -> Result<Vec<usize>, String> {
    let names = lists.iter().flat_map(|list| list.split([' ', ',']));
    let mut found: Vec<usize> = Vec::new();
    for name in names.filter(|name| !name.is_empty()) {
        let positions: Vec<usize> = match MEASURES.iter().position(|known| *known == name) {
            Some(position) => vec![position],
            None if name == "all_prefs" => (0..MEASURES.len()).collect(),
            None if name == "prefs" => (0..OFFICIAL).collect(),
            None => {
                return Err(format!(
                    "`{}` is no measure of preferences; they are all_prefs, {}",
                    escape_controls(name),
                    MEASURES.join(", ")
                ));
            }
        };
        for position in positions {
            if !found.contains(&position) {
                found.push(position);
            }
        }
    }
    if found.is_empty() {
        found = (0..MEASURES.len()).collect();
    }
    Ok(found)
}

/// Number of the first measures, which trec_eval calls `prefs`.
const OFFICIAL: usize = 6;

/// Answers of a run to queries with preferences, as a thread reads them.
#[derive(Default)]
struct Answers {
    known: Vec<(String, Place, Vec<String>)>,
    unknown: Vec<(Place, String)>,
}

/// Evaluates the run `name`. `reading` are the options it is read with, which keep scores: of equal scores, the
/// document with the lower id is first, as trec_eval orders them for preferences.
///
/// # Errors
/// The run is wrong, answers a query twice, or no query with preferences.
pub fn evaluate(
    preferences: &Preferences,
    name: &str,
    run: RunReader,
    reading: &ReadOptions,
    options: &Options,
) -> Result<RunEvaluation, PreferenceError> {
    let path = run.path().to_owned();
    let read = run.each_answer(Answers::default, |answers, place, answer| {
        if preferences.query(&answer.query).is_some() {
            let documents = ordered(answer, reading);
            let query = answer.query.clone().into_owned();
            answers.known.push((query, place, documents));
        } else {
            answers
                .unknown
                .push((place, answer.query.clone().into_owned()));
        }
    })?;
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for answers in read.states {
        known.extend(answers.known);
        unknown.extend(answers.unknown);
    }
    unknown.sort();
    let unknown: Vec<String> = unknown.into_iter().map(|(_, query)| query).collect();
    if known.is_empty() {
        let first = unknown.first().map_or("", String::as_str);
        return Err(PreferenceError::NoQuery {
            path,
            in_run: escape_controls(first),
            in_file: escape_controls(preferences.queries().next().unwrap_or_default()),
        });
    }
    known.sort_by_key(|(_, place, _)| *place);
    let mut by_query: BTreeMap<String, (Place, Vec<String>)> = BTreeMap::new();
    for (query, place, documents) in known {
        if let Some((first, _)) = by_query.get(&query) {
            return Err(AnsweredTwice {
                run: name.to_owned(),
                query,
                line: read.places.line(place),
                first: read.places.line(*first),
                replay: None,
            }
            .into());
        }
        by_query.insert(query, (place, documents));
    }
    let (mut queries, mut missing) = (Vec::new(), Vec::new());
    for query in preferences.queries() {
        let answer = by_query.get(query);
        if answer.is_none() {
            missing.push(query.to_owned());
        }
        if answer.is_none() && !options.complete {
            continue;
        }
        let documents = answer.map_or(&[][..], |(_, documents)| documents.as_slice());
        queries.extend(preferences.query(query).map(|of_query| {
            let Scores {
                values,
                relevant,
                relevant_retrieved,
            } = of_query.scores(documents);
            QueryEvaluation {
                key: query.to_owned(),
                answered: answer.is_some(),
                retrieved: count(documents.len()),
                relevant: count(relevant),
                relevant_retrieved: count(relevant_retrieved),
                scores: options
                    .measures
                    .iter()
                    .map(|at| values.get(*at).copied())
                    .collect(),
                ..QueryEvaluation::default()
            }
        }));
    }
    Ok(RunEvaluation {
        tag: read.tag,
        ..summary(name, queries, missing, unknown, options)
    })
}

/// Evaluation of runs against preferences.
pub fn evaluation(
    preferences: &Preferences,
    options: &Options,
    runs: Vec<RunEvaluation>,
) -> Evaluation {
    let measures = options.measures.iter().filter_map(|at| MEASURES.get(*at));
    Evaluation {
        gold: GoldFacts {
            version: preferences
                .sha256()
                .get(..12)
                .unwrap_or_default()
                .to_owned(),
            sha256: preferences.sha256().to_owned(),
            queries: preferences.queries().count(),
            judgements: preferences.judgements(),
        },
        measures: measures.map(|name| (*name).to_owned()).collect(),
        headline: None,
        targets: Vec::new(),
        tier_measures: Vec::new(),
        goals: Vec::new(),
        runs,
        judging: StatedSettings::new(),
    }
}

/// Documents of an answer in the order in which preferences are judged.
fn ordered(answer: &Answer<'_>, reading: &ReadOptions) -> Vec<String> {
    match &answer.results {
        Results::Search(search) => search
            .results
            .iter()
            .map(|hit| (*hit.id).to_owned())
            .collect(),
        Results::Documents(documents) => {
            let mut ordered: Vec<String> = documents.iter().map(ToString::to_string).collect();
            let is_by_score = matches!(reading.order, None | Some(Order::Score));
            if is_by_score && answer.scores.len() == ordered.len() {
                let mut rest = ordered.as_mut_slice();
                for equal in answer
                    .scores
                    .chunk_by(|a, b| is_equal(*a, *b, reading.doubles))
                {
                    let (these, others) = rest.split_at_mut(equal.len());
                    these.sort();
                    rest = others;
                }
            }
            ordered
        }
    }
}

/// Returns true if trec_eval compares two scores as equal.
fn is_equal(a: f64, b: f64, doubles: bool) -> bool {
    if doubles {
        return (a + 0.0).total_cmp(&(b + 0.0)).is_eq();
    }
    crate::run::as_compared(a)
        .total_cmp(&crate::run::as_compared(b))
        .is_eq()
}

fn summary(
    name: &str,
    queries: Vec<QueryEvaluation>,
    missing: Vec<String>,
    unknown: Vec<String>,
    options: &Options,
) -> RunEvaluation {
    let mean = |position: usize, measure: usize| {
        let scores = queries
            .iter()
            .filter_map(|query| query.scores.get(position).copied()?);
        let (sum, number) = scores.fold((0.0, 0.0), |(sum, number), score| {
            (sum + score, number + 1.0)
        });
        let is_sum = MEASURES
            .get(measure)
            .is_some_and(|name| Mean::of(name) == Mean::Sum);
        (number > 0.0).then(|| if is_sum { sum } else { sum / number })
    };
    let measures = options.measures.iter().copied().enumerate();
    let total = |of: fn(&QueryEvaluation) -> u64| queries.iter().map(of).sum();
    RunEvaluation {
        name: name.to_owned(),
        tag: None,
        missing,
        unknown,
        not_eligible: 0,
        retrieved: total(|query| query.retrieved),
        relevant: total(|query| query.relevant),
        relevant_retrieved: total(|query| query.relevant_retrieved),
        means: measures
            .map(|(position, measure)| mean(position, measure))
            .collect(),
        scored: vec![queries.len(); options.measures.len()],
        bounds: vec![None; options.measures.len()],
        perfect: Vec::new(),
        micro: Vec::new(),
        by: Vec::new(),
        curve: None,
        ndcg: Vec::new(),
        points: Vec::new(),
        components: Vec::new(),
        routing: BTreeMap::new(),
        collaboration: BTreeMap::new(),
        queries,
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
