//! Files of preference judgements: lines of `query group subgroup document level` (prefs), or of `query group document
//! level` (qrels_prefs).

use std::collections::{BTreeMap, HashSet};

use sha2::{Digest as _, Sha256};

use super::counts::{Bits, Group, Relation};
use crate::text_layout::escape_controls;
use rankgauge_core::text::{self, TextError};

/// Maximum number of documents with preferences for a query: the work grows with its square.
pub(super) const MAX_DOCUMENTS: usize = 5_000;

/// Maximum number of documents of a query with subgroups: the work grows with its third power.
pub(super) const MAX_PARTIAL: usize = 1_500;

/// Error in a file of preferences, with its place.
#[derive(Debug, thiserror::Error)]
#[error("{file}{}: {problem}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct PreferenceFileError {
    /// Name of the file.
    pub file: String,
    /// Line number, from 1; `None` if the error concerns a query.
    pub line: Option<usize>,
    /// Description of the error.
    pub problem: Box<PreferenceProblem>,
}

/// Kinds of errors in a file of preferences.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum PreferenceProblem {
    #[error("{0}")]
    NotUtf8(TextError),
    #[error("the file is empty; give it lines of `query group subgroup document level`")]
    Empty,
    #[error(
        "{found} columns where {expected} are expected; preferences have five, `query group subgroup document level`, \
         or four, `query group document level`"
    )]
    Columns { found: usize, expected: usize },
    #[error("the level `{}` is not a number", escape_controls(.0))]
    Level(String),
    #[error("document `{}` has another level in the same group; keep one line", escape_controls(.0))]
    Repeated(String),
    #[error(
        "query `{}` has {found} documents with preferences, and at most {most} are supported; leave some out",
        escape_controls(.query)
    )]
    TooMany {
        query: String,
        found: usize,
        most: usize,
    },
    #[error(
        "query `{}`, group `{}`: the subgroups contradict each other about the documents `{}` and `{}`; write the \
         preferences of each user as a group",
        escape_controls(.query), escape_controls(.group), escape_controls(.one), escape_controls(.other)
    )]
    Contradiction {
        query: String,
        group: String,
        one: String,
        other: String,
    },
    #[error(
        "query `{}`, group `{}`: document `{}` has the level 0 and another one; a document is relevant or not",
        escape_controls(.query), escape_controls(.group), escape_controls(.document)
    )]
    BothLevels {
        query: String,
        group: String,
        document: String,
    },
}

/// Preferences of queries.
#[derive(Debug)]
pub struct Preferences {
    queries: BTreeMap<String, OfQuery>,
    judgements: usize,
    sha256: String,
}

/// Preferences of one query.
#[derive(Debug)]
pub(super) struct OfQuery {
    /// Documents, ascending.
    pub(super) documents: Vec<String>,
    /// Groups, in the order of their names.
    pub(super) groups: Vec<Group>,
}

/// Levels of documents by subgroup.
type Subgroups<'t> = BTreeMap<&'t str, Vec<(&'t str, f64)>>;

/// Groups of a query by name.
type Groups<'t> = BTreeMap<&'t str, Subgroups<'t>>;

impl Preferences {
    /// Parses a file. `name` is used in messages.
    ///
    /// # Errors
    /// The first wrong line, or a query whose preferences contradict each other.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, PreferenceFileError> {
        let failed = |line: Option<usize>, problem: PreferenceProblem| PreferenceFileError {
            file: escape_controls(name),
            line,
            problem: Box::new(problem),
        };
        let text = text::decode(bytes)
            .map_err(|error| failed(Some(error.line), PreferenceProblem::NotUtf8(error)))?;
        let mut queries: BTreeMap<&str, Groups<'_>> = BTreeMap::new();
        let (mut expected, mut judgements) = (None, 0);
        let mut seen: HashSet<(&str, &str, &str, &str), rustc_hash::FxBuildHasher> =
            HashSet::default();
        for (line, content) in (1..).zip(text.lines()) {
            if matches!(content.trim_start().as_bytes(), [] | [b'#', ..]) {
                continue;
            }
            let columns: Vec<&str> = text::columns(content).take(7).collect();
            let expected = *expected.get_or_insert(if columns.len() == 4 { 4 } else { 5 });
            let (query, group, subgroup, document, level) = match columns[..] {
                [query, group, document, level] if expected == 4 => {
                    (query, group, "0", document, level)
                }
                [query, group, subgroup, document, level] if expected == 5 => {
                    (query, group, subgroup, document, level)
                }
                _ => {
                    let found = columns.len();
                    return Err(failed(
                        Some(line),
                        PreferenceProblem::Columns { found, expected },
                    ));
                }
            };
            let number: Option<f64> = level.parse().ok().filter(|level: &f64| level.is_finite());
            let Some(number) = number.map(|level| level + 0.0) else {
                return Err(failed(
                    Some(line),
                    PreferenceProblem::Level(level.to_owned()),
                ));
            };
            if !seen.insert((query, group, subgroup, document)) {
                return Err(failed(
                    Some(line),
                    PreferenceProblem::Repeated(document.to_owned()),
                ));
            }
            let groups = queries.entry(query).or_default();
            let subgroups = groups.entry(group).or_default();
            subgroups
                .entry(subgroup)
                .or_default()
                .push((document, number));
            judgements += 1;
        }
        if queries.is_empty() {
            return Err(failed(None, PreferenceProblem::Empty));
        }
        let queries = queries.into_iter().map(|(query, groups)| {
            let of_query = OfQuery::of(query, &groups).map_err(|problem| failed(None, problem))?;
            Ok((query.to_owned(), of_query))
        });
        Ok(Self {
            queries: queries.collect::<Result<_, PreferenceFileError>>()?,
            judgements,
            sha256: hex(&Sha256::digest(bytes)),
        })
    }

    /// Ids of the queries, ascending by bytes.
    pub fn queries(&self) -> impl Iterator<Item = &str> {
        self.queries.keys().map(String::as_str)
    }

    /// Number of lines.
    pub fn judgements(&self) -> usize {
        self.judgements
    }

    /// SHA-256 of the file.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    pub(super) fn query(&self, query: &str) -> Option<&OfQuery> {
        self.queries.get(query)
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

impl OfQuery {
    fn of(query: &str, groups: &Groups<'_>) -> Result<Self, PreferenceProblem> {
        let all = groups.values().flat_map(BTreeMap::values).flatten();
        let mut documents: Vec<&str> = all.map(|(document, _)| *document).collect();
        documents.sort_unstable();
        documents.dedup();
        let has_subgroups = groups.values().any(|subgroups| subgroups.len() > 1);
        let most = if has_subgroups {
            MAX_PARTIAL
        } else {
            MAX_DOCUMENTS
        };
        if documents.len() > most {
            let (query, found) = (query.to_owned(), documents.len());
            return Err(PreferenceProblem::TooMany { query, found, most });
        }
        let number = |document: &str| documents.binary_search(&document).unwrap_or_default();
        let groups = groups.iter().map(|(group, subgroups)| {
            let numbered = subgroups.values().map(|levels| {
                let levels = levels.iter();
                levels
                    .map(|(document, level)| (number(document), *level))
                    .collect()
            });
            let numbered: Vec<Vec<(usize, f64)>> = numbered.collect();
            match <[Vec<(usize, f64)>; 1]>::try_from(numbered) {
                Ok([levels]) => Ok(Group {
                    levels,
                    relation: Relation::Complete,
                }),
                Err(subgroups) => partial(&documents, &subgroups).map_err(|found| match found {
                    Inconsistent::Pair(one, other) => PreferenceProblem::Contradiction {
                        query: query.to_owned(),
                        group: (*group).to_owned(),
                        one,
                        other,
                    },
                    Inconsistent::Level(document) => PreferenceProblem::BothLevels {
                        query: query.to_owned(),
                        group: (*group).to_owned(),
                        document,
                    },
                }),
            }
        });
        Ok(Self {
            groups: groups.collect::<Result<_, _>>()?,
            documents: documents.iter().map(|id| (*id).to_owned()).collect(),
        })
    }
}

/// Contradiction within a group.
enum Inconsistent {
    Pair(String, String),
    Level(String),
}

/// Group of several subgroups: the preferences of all of them, and those that follow.
fn partial(documents: &[&str], subgroups: &[Vec<(usize, f64)>]) -> Result<Group, Inconsistent> {
    let name = |number: usize| {
        documents
            .get(number)
            .copied()
            .unwrap_or_default()
            .to_owned()
    };
    let mut levels: BTreeMap<usize, f64> = BTreeMap::new();
    let mut preferred = Bits::new(documents.len());
    for subgroup in subgroups {
        // In the order of trec_eval, of which the last level stays.
        let mut subgroup = subgroup.clone();
        subgroup.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (position, (document, level)) in subgroup.iter().enumerate() {
            let before = levels.insert(*document, *level);
            let is_zero = |level: f64| level.abs() < f64::MIN_POSITIVE;
            if before.is_some_and(|before| {
                before > 0.0 && is_zero(*level) || is_zero(before) && *level > 0.0
            }) {
                return Err(Inconsistent::Level(name(*document)));
            }
            let lower = subgroup
                .iter()
                .skip(position + 1)
                .filter(|(_, other)| other < level);
            for (other, _) in lower {
                preferred.set(*document, *other);
            }
        }
    }
    preferred.close();
    if let Some((one, other)) = preferred.first_cycle() {
        return Err(Inconsistent::Pair(name(one), name(other)));
    }
    Ok(Group {
        levels: levels.into_iter().collect(),
        relation: Relation::Partial(preferred),
    })
}
