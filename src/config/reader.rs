//! Reader of the merged tree: returns typed values and collects problems.
//!
//! Reading never stops: an invalid value is reported as a problem and replaced by its default, so
//! one run reports all problems. A key that is never requested is unknown. This module must not
//! know what keys mean.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use super::duration;
use super::layers::{NEAR_PREFIX, Node, PREFIX, Tree, is_below};
use super::problem::{Place, Problem};
use super::size;

/// Minimum similarity of two keys, from 0 to 1, for one to be suggested for the other.
const NEAR: f64 = 0.7;

/// An element of a list: its path, for messages, and its text.
pub(super) type Element = (String, String);

/// Reader of one merged tree.
pub(super) struct Reader {
    tree: Tree,
    asked: BTreeSet<String>,
    problems: Vec<Problem>,
}

impl Reader {
    /// A reader of `tree` that starts with `problems`.
    pub(super) fn new(tree: Tree, problems: Vec<Problem>) -> Self {
        Self {
            tree,
            asked: BTreeSet::new(),
            problems,
        }
    }

    /// Reports that the value at `path` cannot be used.
    pub(super) fn problem(&mut self, path: &str, text: impl Into<String>) {
        let problem = Problem {
            place: self.place(path),
            key: path.to_owned(),
            text: text.into(),
        };
        self.problems.push(problem);
    }

    /// Reports that values contradict each other. The problem is placed at the first of `paths`
    /// that is written in a layer, because a user cannot correct a default.
    pub(super) fn conflict(&mut self, paths: &[&str], text: impl Into<String>) {
        let written = paths
            .iter()
            .find(|path| self.tree.places.contains_key(**path));
        if let Some(path) = written.or(paths.first()) {
            self.problem(path, text);
        }
    }

    /// Returns true if any layer has the key `path`.
    pub(super) fn is_written(&self, path: &str) -> bool {
        self.tree.nodes.contains_key(path)
    }

    /// Folder of the file in which the value at `path` is written; `None` if it is not in a file.
    pub(super) fn folder(&self, path: &str) -> Option<PathBuf> {
        match self.place(path) {
            Place::File { name, .. } => Path::new(&name).parent().map(Path::to_owned),
            Place::BuiltIn | Place::Environment(_) | Place::CommandLine(_) => None,
        }
    }

    /// Returns true if `path` is a section of keys.
    pub(super) fn is_section(&self, path: &str) -> bool {
        matches!(self.tree.nodes.get(path), Some(Node::Section(_)))
    }

    /// Place of `path`, or else of the nearest section or list around it.
    fn place(&self, path: &str) -> Place {
        self.tree.place(path)
    }

    /// The scalar at `path`; `None` if there is none. Any other kind of value is a problem.
    pub(super) fn scalar(&mut self, path: &str) -> Option<String> {
        self.asked.insert(path.to_owned());
        let text = match self.tree.nodes.get(path) {
            None => return None,
            Some(Node::Text(text)) => return Some(text.clone()),
            Some(Node::Nothing) => NO_VALUE,
            Some(Node::Section(_)) => "is a section of keys; one value is expected",
            Some(Node::List(_)) => "is a list; one value is expected",
        };
        self.refuse(path, text);
        None
    }

    /// The scalar at `path`, parsed by `parse`. Its error describes the problem and follows the
    /// quoted text (`is not …`).
    pub(super) fn parsed<T, E: Display>(
        &mut self,
        path: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.scalar(path)?;
        match parse(&text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.problem(path, format!("\"{text}\" {error}"));
                None
            }
        }
    }

    /// The text at `path`, which `check` accepts or rejects with a description (`is not …`).
    pub(super) fn text(
        &mut self,
        path: &str,
        default: &str,
        check: impl FnOnce(&str) -> Result<(), String>,
    ) -> String {
        self.parsed(path, |text| check(text).map(|()| text.to_owned()))
            .unwrap_or_else(|| default.to_owned())
    }

    /// The required text at `path`.
    pub(super) fn required(&mut self, path: &str) -> Option<String> {
        if !self.is_written(path) {
            self.asked.insert(path.to_owned());
            self.problem(path, "is missing");
        }
        self.scalar(path)
    }

    /// The value of one of several words.
    pub(super) fn choice<T: Clone>(&mut self, path: &str, default: T, words: &[(&str, T)]) -> T {
        self.parsed(path, |text| {
            let found = words.iter().find(|(word, _)| *word == text);
            found.map(|(_, value)| value.clone()).ok_or_else(|| {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                format!("is none of {}", words.join(", "))
            })
        })
        .unwrap_or(default)
    }

    /// A whole number within `range`.
    pub(super) fn whole(
        &mut self,
        path: &str,
        default: usize,
        range: RangeInclusive<usize>,
    ) -> usize {
        self.parsed(path, |text| match text.parse::<usize>() {
            Ok(number) if range.contains(&number) => Ok(number),
            Ok(_) => Err(format!(
                "is not between {} and {}",
                range.start(),
                range.end()
            )),
            Err(_) if is_number(text) => Err(format!(
                "is not a whole number between {} and {}",
                range.start(),
                range.end()
            )),
            Err(_) => Err("is not a whole number".to_owned()),
        })
        .unwrap_or(default)
    }

    /// An amount of memory within `range`, in bytes.
    pub(super) fn bytes(
        &mut self,
        path: &str,
        default: usize,
        range: RangeInclusive<usize>,
    ) -> usize {
        self.parsed(path, |text| match size::parse(text) {
            Some(bytes) if range.contains(&bytes) => Ok(bytes),
            Some(_) => Err(format!(
                "is not between {} and {}",
                size::format(*range.start()),
                size::format(*range.end())
            )),
            None => Err(size::EXPECTED.to_owned()),
        })
        .unwrap_or(default)
    }

    /// A duration within `range`.
    pub(super) fn duration(
        &mut self,
        path: &str,
        default: Duration,
        range: &RangeInclusive<Duration>,
    ) -> Duration {
        self.parsed(path, |text| match duration::parse(text) {
            Some(value) if range.contains(&value) => Ok(value),
            Some(_) => Err(format!(
                "is not between {} and {}",
                duration::format(*range.start()),
                duration::format(*range.end())
            )),
            None => Err(duration::EXPECTED.to_owned()),
        })
        .unwrap_or(default)
    }

    /// The list at `path`, or the elements of a text separated by commas outside of parentheses
    /// (`P@5,RBP(graded=true,p=0.8)`). An empty text is an empty list. White space around an
    /// element is ignored.
    pub(super) fn list(&mut self, path: &str, default: &[&str]) -> Vec<Element> {
        self.asked.insert(path.to_owned());
        let texts: Vec<String> = match self.tree.nodes.get(path) {
            None => default.iter().map(|text| (*text).to_owned()).collect(),
            Some(Node::Text(text)) => split(text),
            Some(Node::List(length)) => {
                return (0..*length)
                    .map(|index| format!("{path}[{index}]"))
                    .filter_map(|element| self.scalar(&element).map(|text| (element, text)))
                    .collect();
            }
            Some(Node::Section(_)) => {
                self.refuse(path, "is a section of keys; a list is expected");
                Vec::new()
            }
            Some(Node::Nothing) => {
                self.refuse(
                    path,
                    "has no value; write [] for an empty list, or remove the key",
                );
                Vec::new()
            }
        };
        let elements = texts.into_iter().enumerate();
        elements
            .map(|(index, text)| (format!("{path}[{index}]"), text))
            .collect()
    }

    /// The elements, parsed by `FromStr`, with their paths. The error of an invalid element is
    /// reported as it is, so it has to name the element.
    pub(super) fn parse_all<T: FromStr<Err: ToString>>(
        &mut self,
        elements: Vec<Element>,
    ) -> Vec<(String, T)> {
        let mut values = Vec::with_capacity(elements.len());
        for (path, text) in elements {
            match text.parse::<T>() {
                Ok(value) => values.push((path, value)),
                Err(error) => self.problem(&path, error.to_string()),
            }
        }
        values
    }

    /// Paths of the sections in the list at `path`.
    pub(super) fn sections(&mut self, path: &str) -> Vec<String> {
        self.asked.insert(path.to_owned());
        match self.tree.nodes.get(path) {
            None => return Vec::new(),
            Some(Node::List(length)) => {
                let elements = (0..*length).map(|index| format!("{path}[{index}]"));
                let (sections, others): (Vec<_>, Vec<_>) = elements.partition(|element| {
                    matches!(self.tree.nodes.get(element), Some(Node::Section(_)))
                });
                for other in others {
                    self.refuse(&other, "is not a section of keys");
                }
                return sections;
            }
            // A shell passes an empty text for an empty list.
            Some(Node::Text(text)) if text.is_empty() => return Vec::new(),
            Some(Node::Text(_) | Node::Section(_) | Node::Nothing) => {}
        }
        self.refuse(
            path,
            "a list of sections is expected; it can only be written in a file",
        );
        Vec::new()
    }

    /// Names of the keys of the section at `path`, whose keys are user-defined.
    pub(super) fn names(&mut self, path: &str) -> Vec<String> {
        self.asked.insert(path.to_owned());
        match self.tree.nodes.get(path) {
            None => Vec::new(),
            Some(Node::Section(names)) => names.clone(),
            Some(Node::Text(_) | Node::List(_) | Node::Nothing) => {
                self.refuse(path, "a section of keys with values is expected");
                Vec::new()
            }
        }
    }

    /// Reports a problem of `path` as a whole. Its content is not checked further.
    fn refuse(&mut self, path: &str, text: &str) {
        let below: Vec<String> = self
            .tree
            .nodes
            .keys()
            .filter(|known| is_below(known, path))
            .cloned()
            .collect();
        self.asked.insert(path.to_owned());
        self.asked.extend(below);
        self.problem(path, text);
    }

    /// Keys that were requested.
    pub(super) fn asked(&self) -> &BTreeSet<String> {
        &self.asked
    }

    /// All problems, including unknown keys, in the order of their places.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        self.find_unknown();
        self.find_misnamed_variables();
        self.problems.sort_by(|a, b| a.place.cmp(&b.place));
        self.problems
    }

    fn find_unknown(&mut self) {
        let mut reported: Vec<String> = Vec::new();
        let nodes: Vec<(String, bool)> = self
            .tree
            .nodes
            .iter()
            .filter(|(path, _)| !self.asked.contains(*path))
            .map(|(path, node)| (path.clone(), matches!(node, Node::Section(_))))
            .collect();
        for (path, is_section) in nodes {
            if reported.iter().any(|outer| is_below(&path, outer)) {
                continue;
            }
            let holds_known_keys = self.asked.iter().any(|known| is_below(known, &path));
            if holds_known_keys && is_section {
                continue;
            }
            let text = if holds_known_keys {
                "is a section of keys; give them, indented below it, or remove the key".to_owned()
            } else {
                self.unknown(&path)
            };
            self.problem(&path, text);
            reported.push(path);
        }
    }

    /// Reports variables that would be a key if each of their separators had two underscores.
    fn find_misnamed_variables(&mut self) {
        let flat = |key: &str| key.replace('.', "_");
        for name in &self.tree.ignored_variables {
            let words = name.strip_prefix(NEAR_PREFIX).unwrap_or(name);
            let words = words.to_ascii_lowercase().replace("__", "_");
            let property = words
                .strip_prefix("kafka_properties_")
                .filter(|property| !property.is_empty());
            let known = match property {
                Some(property) => Some(format!("kafka.properties.{}", property.replace('_', "."))),
                None => self.asked.iter().find(|key| flat(key) == words).cloned(),
            };
            self.problems.extend(known.map(|key| Problem {
                place: Place::Environment(name.clone()),
                text: format!(
                    "is not read, because levels are separated by two underscores; write {}",
                    variable(&key)
                ),
                key,
            }));
        }
    }

    /// Keys that were requested, and their sections.
    fn candidates(&self) -> BTreeSet<&str> {
        let sections = self.asked.iter().filter_map(|known| known.split_once('.'));
        let sections = sections.map(|(section, _)| section);
        self.asked
            .iter()
            .map(String::as_str)
            .chain(sections)
            .collect()
    }

    fn unknown(&self, path: &str) -> String {
        let nearest = self
            .candidates()
            .into_iter()
            .map(|known| (similarity(path, known), known))
            .filter(|(similarity, _)| *similarity >= NEAR)
            .max_by(|(a, _), (b, _)| a.total_cmp(b));
        match nearest {
            None => "unknown key".to_owned(),
            Some((_, known)) => match self.place(path) {
                Place::Environment(_) => {
                    format!("unknown key; did you mean {}?", variable(known))
                }
                Place::BuiltIn | Place::File { .. } | Place::CommandLine(_) => {
                    format!("unknown key; did you mean {known}?")
                }
            },
        }
    }
}

/// Name of the environment variable of `key`. In the name of a librdkafka property, an underscore
/// stands for a dot.
fn variable(key: &str) -> String {
    let name = match key.strip_prefix("kafka.properties.") {
        Some(property) => format!("kafka__properties__{}", property.replace('.', "_")),
        None => key.replace('.', "__"),
    };
    format!("{PREFIX}{}", name.to_ascii_uppercase())
}

const NO_VALUE: &str = "has no value; give one, or remove the key to get its default";

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

fn split(text: &str) -> Vec<String> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut depth = 0_usize;
    text.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(|element| element.trim().to_owned())
    .collect()
}

/// Similarity of two dotted keys, from 0 to 1: of the whole keys, or of their last words, for a key
/// in the wrong section.
fn similarity(path: &str, known: &str) -> f64 {
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let whole = strsim::normalized_damerau_levenshtein(path, known);
    let moved = strsim::normalized_damerau_levenshtein(&last(path), &last(known)) - 0.1;
    whole.max(moved)
}
