//! Reader of the merged tree: checks its shape, returns typed values and collects problems.
//!
//! Reading never stops: an invalid value is reported as a problem and replaced by its default, so
//! one run reports all problems. A node that is no key, or not of the shape of its key, is reported
//! once and not read. The number of elements is limited before their values are read. This module
//! must not know what keys mean.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::key::{Entry, Group, Key, List, NAME, NamedLists, Names, Scalar, Shape};
use super::layers::{DOTTED_KEY, NEAR_PREFIX, Node, PREFIX, Tree, child_path, is_below};
use super::problem::{Place, Problem};
use rankgauge_core::decode::mapped::Term;

/// Minimum similarity of two keys, from 0 to 1, for one to be suggested for the other.
const NEAR: f64 = 0.7;

/// Maximum number of unknown keys for which the nearest known key is looked for.
const MAX_SUGGESTIONS: usize = 100;

/// Maximum number of sections in a list, and of names that the user chooses.
const MAX_SECTIONS: usize = 1_000;

/// Element of a list.
pub(super) struct Element<T> {
    /// Path, for problems.
    pub(super) path: String,
    /// Text as written.
    pub(super) text: String,
    pub(super) value: T,
}

/// Reader of one merged tree.
pub(super) struct Reader {
    tree: Tree,
    problems: Vec<Problem>,
    entries: BTreeMap<&'static str, Shape>,
    suggestions: usize,
}

impl Reader {
    /// A reader of `tree` that starts with `problems`. Only the keys of `entries` are known.
    pub(super) fn new(tree: Tree, problems: Vec<Problem>, entries: Vec<Entry>) -> Self {
        let shapes = entries.into_iter().map(|entry| (entry.path, entry.shape));
        let mut reader = Self {
            tree,
            problems,
            entries: shapes.collect(),
            suggestions: 0,
        };
        if let Some(Node::Section(keys)) = reader.tree.nodes.get("").cloned() {
            reader.check_section("", "", &keys);
        }
        reader
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

    /// The scalar at `path` as written.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        match self.tree.nodes.get(path) {
            Some(Node::Text(text)) => Some(text.clone()),
            Some(Node::Section(_) | Node::List(_) | Node::Nothing | Node::Invalid) | None => None,
        }
    }

    /// The value of a text, if it is valid.
    fn value<K: Scalar>(&mut self, kind: &K, path: &str, text: &str) -> Option<K::Value> {
        let problem = match kind.parse(text) {
            Ok(value) => return Some(value),
            Err(problem) if kind.names_text() => problem,
            Err(problem) => format!("\"{text}\" {problem}"),
        };
        self.problem(path, problem);
        None
    }

    /// The value of `key`, if it is written and valid.
    pub(super) fn find<K: Scalar>(&mut self, key: &Key<K>) -> Option<K::Value> {
        let text = self.text(&key.path)?;
        self.value(key.kind, &key.path, &text)
    }

    /// The value of `key`, or its default.
    pub(super) fn get<K: Scalar>(&mut self, key: &Key<K>) -> K::Value {
        self.find(key).unwrap_or_else(|| {
            let value = key.kind.parse(key.default.unwrap_or_default());
            value.unwrap_or_else(|problem| {
                unreachable!(
                    "invariant: the default of {} is valid: it {problem}",
                    key.path
                )
            })
        })
    }

    /// The value of `key`, which is required.
    pub(super) fn required<K: Scalar>(&mut self, key: &Key<K>) -> Option<K::Value> {
        if !self.is_written(&key.path) {
            self.problem(&key.path, "is missing");
        }
        self.find(key)
    }

    /// The valid values of the list `key`.
    pub(super) fn values<K: Scalar>(&mut self, key: &Key<List<K>>) -> Vec<K::Value> {
        let elements = self.list(key).into_iter();
        elements.map(|element| element.value).collect()
    }

    /// The valid elements of the list `key`. A text is a list with commas outside of parentheses
    /// (`P@5,RBP(graded=true,p=0.8)`); white space around an element is ignored.
    pub(super) fn list<K: Scalar>(&mut self, key: &Key<List<K>>) -> Vec<Element<K::Value>> {
        self.elements(&key.kind.0, &key.path, key.default.unwrap_or_default())
    }

    /// The valid elements of the list at `path`.
    fn elements<K: Scalar>(
        &mut self,
        kind: &K,
        path: &str,
        default: &str,
    ) -> Vec<Element<K::Value>> {
        let texts: Vec<(usize, String)> = match self.tree.nodes.get(path) {
            Some(Node::Text(text)) => split(text).into_iter().enumerate().collect(),
            Some(Node::List(length)) => (0..*length)
                .filter_map(|index| Some((index, self.text(&format!("{path}[{index}]"))?)))
                .collect(),
            Some(Node::Section(_) | Node::Nothing | Node::Invalid) | None => {
                split(default).into_iter().enumerate().collect()
            }
        };
        let mut elements = Vec::with_capacity(texts.len());
        for (index, text) in texts {
            let path = format!("{path}[{index}]");
            if let Some(value) = self.value(kind, &path, &text) {
                elements.push(Element { path, text, value });
            }
        }
        elements
    }

    /// Returns true if the list `key` has no element.
    pub(super) fn is_empty_list<K>(&self, key: &Key<List<K>>) -> bool {
        match self.tree.nodes.get(&*key.path) {
            Some(Node::Text(text)) => split(text).is_empty(),
            Some(Node::List(length)) => *length == 0,
            Some(Node::Section(_) | Node::Nothing | Node::Invalid) => false,
            None => key.default.is_none_or(str::is_empty),
        }
    }

    /// The valid elements of a list that has each of them once. Problems call an element by `name`.
    pub(super) fn set<K: Scalar<Value: PartialEq>>(
        &mut self,
        key: &Key<List<K>>,
        name: impl Fn(&Element<K::Value>) -> String,
    ) -> Vec<Element<K::Value>> {
        let mut once: Vec<Element<K::Value>> = Vec::new();
        for element in self.list(key) {
            if once.iter().any(|other| other.value == element.value) {
                let text = format!("{} is listed twice", name(&element));
                self.problem(&element.path, text);
            } else {
                once.push(element);
            }
        }
        once
    }

    /// The valid values by the names that the user chose, in the order of the default and of the
    /// names.
    pub(super) fn names<K: Scalar>(&mut self, key: &Key<Names<K>>) -> BTreeMap<String, K::Value> {
        let default = split(key.default.unwrap_or_default());
        let default = default.into_iter().filter_map(|pair| {
            let (name, text) = pair.split_once(": ")?;
            Some((name.to_owned(), key.kind.0.parse(text).ok()?))
        });
        let mut values: BTreeMap<String, K::Value> = default.collect();
        for name in self.chosen(&key.path) {
            let path = child_path(&key.path, &name);
            let text = self.text(&path);
            let value = text.and_then(|text| self.value(&key.kind.0, &path, &text));
            values.extend(value.map(|value| (name, value)));
        }
        values
    }

    /// The lists with their names in the section `key`.
    pub(super) fn named_lists<K: Scalar>(
        &mut self,
        key: &Key<NamedLists<K>>,
    ) -> Vec<(String, Vec<K::Value>)> {
        let names = self.chosen(&key.path).into_iter();
        let lists = names.map(|name| {
            let elements = self.elements(&key.kind.0, &child_path(&key.path, &name), "");
            let values = elements.into_iter().map(|element| element.value);
            (name, values.collect())
        });
        lists.collect()
    }

    /// The section of any form at `path`; `None` if it is absent or invalid.
    pub(super) fn term(&self, path: &str) -> Option<Term> {
        Some(match self.tree.nodes.get(path)? {
            Node::Section(keys) => {
                let keys = keys.iter().filter_map(|key| {
                    let term = self.term(&child_path(path, key))?;
                    Some((key.clone(), term))
                });
                Term::Section(keys.collect())
            }
            Node::List(length) => {
                let elements = (0..*length).filter_map(|it| self.term(&format!("{path}[{it}]")));
                Term::List(elements.collect())
            }
            Node::Text(text) => Term::Text(text.clone()),
            Node::Nothing => Term::Nothing,
            Node::Invalid => return None,
        })
    }

    /// Keys of the section at `path`, sorted.
    fn chosen(&self, path: &str) -> Vec<String> {
        match self.tree.nodes.get(path) {
            Some(Node::Section(names)) => names.clone(),
            Some(Node::Text(_) | Node::List(_) | Node::Nothing | Node::Invalid) | None => {
                Vec::new()
            }
        }
    }

    /// Names that the user chose for sections, with the paths of these.
    pub(super) fn named(&self, key: &Key<Group>) -> Vec<(String, String)> {
        let names = self.chosen(&key.path).into_iter();
        let sections = names.map(|name| (child_path(&key.path, &name), name));
        let sections = sections.filter(|(path, _)| self.is_section(path));
        sections.map(|(path, name)| (name, path)).collect()
    }

    /// Paths of the sections in the list `key`.
    pub(super) fn sections(&self, key: &Key<Group>) -> Vec<String> {
        let Some(Node::List(length)) = self.tree.nodes.get(&*key.path) else {
            return Vec::new();
        };
        let elements = (0..*length).map(|index| format!("{}[{index}]", key.path));
        elements.filter(|path| self.is_section(path)).collect()
    }

    /// Checks that the nodes at and below `path` have the shape of the key `pattern`.
    fn check(&mut self, path: &str, pattern: &str) {
        let shape = self.entries.get(pattern).cloned();
        let holds_keys = self.entries.keys().any(|key| is_below(key, pattern));
        let Some(node) = self.tree.nodes.get(path).cloned() else {
            return;
        };
        let problem = match (&node, shape) {
            (Node::Section(keys), None | Some(Shape::Section)) if holds_keys => {
                return self.check_section(path, pattern, keys);
            }
            (Node::Section(keys), Some(shape)) if holds_keys && shape.is_scalar() => {
                return self.check_section(path, pattern, keys);
            }
            (_, None | Some(Shape::Section)) if holds_keys => {
                "is a section of keys; give them, indented below it, or remove the key".to_owned()
            }
            (_, None | Some(Shape::Section)) => self.unknown(path, pattern),
            (Node::Text(_), Some(shape)) if shape.is_scalar() => return,
            (Node::Text(text), Some(Shape::List(_, min, max))) => {
                let count = split(text).len();
                if (min..=max).contains(&count) {
                    return;
                }
                wrong_count(path, count, min, max)
            }
            (Node::List(count), Some(Shape::List(_, min, max))) => {
                if (min..=max).contains(count) {
                    return (0..*count)
                        .for_each(|index| self.check_scalar(&format!("{path}[{index}]")));
                }
                wrong_count(path, *count, min, max)
            }
            (Node::Section(_), Some(Shape::List(..))) => {
                "is a section of keys; a list is expected".to_owned()
            }
            (Node::Nothing, Some(Shape::List(..))) => {
                "has no value; write [] for an empty list, or remove the key".to_owned()
            }
            (Node::Section(keys), Some(Shape::Names(_) | Shape::NamedSections))
                if keys.len() > MAX_SECTIONS =>
            {
                wrong_count(path, keys.len(), 0, MAX_SECTIONS)
            }
            (Node::Section(names), Some(Shape::Names(values))) => {
                for name in names {
                    let path = child_path(path, name);
                    let length = match self.tree.nodes.get(&path) {
                        Some(Node::List(length)) if !values.is_scalar() => *length,
                        _ => {
                            self.check_scalar(&path);
                            continue;
                        }
                    };
                    if let Shape::List(_, min, max) = *values
                        && !(min..=max).contains(&length)
                    {
                        self.refuse(&path, wrong_count(&path, length, min, max));
                    } else {
                        (0..length).for_each(|at| self.check_scalar(&format!("{path}[{at}]")));
                    }
                }
                return;
            }
            (Node::Section(names), Some(Shape::NamedSections)) => {
                let pattern = child_path(pattern, NAME);
                return names
                    .iter()
                    .for_each(|name| self.check(&child_path(path, name), &pattern));
            }
            (Node::Section(_), Some(Shape::Free)) => return,
            (_, Some(Shape::Names(_) | Shape::NamedSections | Shape::Free)) => {
                "a section of keys with values is expected".to_owned()
            }
            // A shell passes an empty text for an empty list.
            (Node::Text(text), Some(Shape::Sections)) if text.is_empty() => return,
            (Node::List(count), Some(Shape::Sections)) if *count > MAX_SECTIONS => {
                wrong_count(path, *count, 0, MAX_SECTIONS)
            }
            (Node::List(count), Some(Shape::Sections)) => {
                for index in 0..*count {
                    self.check_element(&format!("{path}[{index}]"), &format!("{pattern}[]"));
                }
                return;
            }
            (_, Some(Shape::Sections)) => {
                "a list of sections is expected; it can only be written in a file".to_owned()
            }
            (_, Some(_)) => return self.check_scalar(path),
        };
        self.refuse(path, problem);
    }

    fn check_section(&mut self, path: &str, pattern: &str, keys: &[String]) {
        for key in keys {
            let child = child_path(path, key);
            if key.contains('.') {
                self.refuse(&child, DOTTED_KEY);
            } else {
                self.check(&child, &child_path(pattern, key));
            }
        }
    }

    fn check_element(&mut self, path: &str, pattern: &str) {
        if self.is_section(path) {
            self.check(path, pattern);
        } else {
            self.refuse(path, "is not a section of keys");
        }
    }

    fn check_scalar(&mut self, path: &str) {
        let problem = match self.tree.nodes.get(path) {
            None | Some(Node::Text(_) | Node::Invalid) => return,
            Some(Node::Nothing) => "has no value; give one, or remove the key to get its default",
            Some(Node::Section(_)) => "is a section of keys; one value is expected",
            Some(Node::List(_)) => "is a list; one value is expected",
        };
        self.refuse(path, problem);
    }

    /// Reports a problem of `path` as a whole. Its content is not read.
    fn refuse(&mut self, path: &str, text: impl Into<String>) {
        self.problem(path, text);
        self.tree.nodes.insert(path.to_owned(), Node::Invalid);
    }

    /// All problems, in the order of their places.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        self.find_misnamed_variables();
        self.problems.sort_by(|a, b| a.place.cmp(&b.place));
        self.problems
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
            let known = if let Some(property) = property {
                Some(format!("kafka.properties.{}", property.replace('_', ".")))
            } else {
                let mut keys = self.entries.keys();
                keys.find(|key| flat(key) == words).map(ToString::to_string)
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

    /// Problem of the unknown key at `path`, with the nearest known one: any key outside of lists, or
    /// a key beside it in an element of a list.
    fn unknown(&mut self, path: &str, pattern: &str) -> String {
        self.suggestions += 1;
        if self.suggestions > MAX_SUGGESTIONS {
            return "unknown key".to_owned();
        }
        let parent = |path: &str| path.rfind('.').map_or(0, |end| end + 1);
        let (pattern, place) = (&pattern[..parent(pattern)], &path[..parent(path)]);
        let mut candidates = BTreeSet::new();
        for key in self.entries.keys() {
            let known = match key.strip_prefix(pattern) {
                Some(rest) => format!("{place}{rest}"),
                None => (*key).to_owned(),
            };
            let sections = known
                .match_indices('.')
                .map(|(end, _)| known[..end].to_owned());
            candidates.extend(sections);
            candidates.insert(known);
        }
        candidates.retain(|known| !known.contains("[]") && !known.split('.').any(|it| it == NAME));
        // Of several equally near keys, the first one in alphabetical order.
        let nearest = candidates
            .iter()
            .rev()
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

/// Problem of a list at `path` with a wrong number of elements.
fn wrong_count(path: &str, count: usize, min: usize, max: usize) -> String {
    let noun = path.rsplit('.').next().unwrap_or(path);
    format!("has {count} {noun}; between {min} and {max} are possible")
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
/// in the wrong section. Keys of one depth are no more similar than their least similar words: a long section
/// would make all its keys similar.
fn similarity(path: &str, known: &str) -> f64 {
    let similar = strsim::normalized_damerau_levenshtein;
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let mut whole = similar(path, known);
    if path.matches('.').count() == known.matches('.').count() {
        let words = path.split('.').zip(known.split('.'));
        whole = words
            .map(|(one, other)| similar(one, other))
            .fold(whole, f64::min);
    }
    let moved = similar(&last(path), &last(known)) - 0.1;
    whole.max(moved)
}
