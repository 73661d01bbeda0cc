//! Layers of the configuration: files, environment and flags, merged into one tree, later over
//! earlier.
//!
//! The tree records the origin of every value. This module must not know which keys exist or what
//! they mean. Every scalar is kept as written, because a value has to mean the same in a file, a
//! variable and a flag. A section merges with the one of the layer below; a list replaces it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ::config::{Map, Source, Value, ValueKind};
use marked_yaml::{LoadError, LoaderOptions, Node as Yaml};

use super::problem::{Place, Problem};
use rankgauge_core::text;

/// Prefix of the environment variables that are read as configuration.
pub(super) const PREFIX: &str = "RANKGAUGE__";

/// Beginning of variables that may be meant as configuration, with an underscore missing.
pub(super) const NEAR_PREFIX: &str = "RANKGAUGE_";

/// Section whose keys are librdkafka properties and therefore contain dots.
const PROPERTIES: &str = "kafka.properties";

/// Maximum indentation in columns. It bounds the recursion of the YAML parser, which limits flow
/// collections separately. A real configuration needs a tenth of it.
const MAX_INDENTATION: usize = 64;

/// Maximum size of a configuration file in bytes.
const MAX_FILE_BYTES: usize = 1 << 20;

/// A value of the merged tree. Children are found by their own path.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// Keys with values below them, sorted.
    Section(Vec<String>),
    /// Number of elements, which are at `path[0]`, `path[1]`, …
    List(usize),
    /// A scalar, as written.
    Text(String),
    /// A key without a value.
    Nothing,
    /// A value that is not of the shape of its key. The problem has been reported.
    Invalid,
}

/// All layers merged: every value under its dotted path, with the place where it was last written.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Every section, list and scalar under its path; the root has an empty one.
    pub(super) nodes: BTreeMap<String, Node>,
    /// Place where each of them was written.
    pub(super) places: BTreeMap<String, Place>,
    /// Names of variables that begin with `RANKGAUGE_` and are not read.
    pub(super) ignored_variables: BTreeSet<String>,
}

impl Tree {
    /// Place of `path`, or else of the nearest section or list around it.
    pub(super) fn place(&self, path: &str) -> Place {
        let mut path = path;
        loop {
            if let Some(place) = self.places.get(path) {
                return place.clone();
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return Place::BuiltIn,
            }
        }
    }
}

/// Values from one origin: a file, a variable or a flag.
#[derive(Clone, Debug, Default)]
struct Layer {
    values: Map<String, Value>,
    /// Path, place, and true if it is a section; parents before children.
    written: Vec<(String, Place, bool)>,
    problems: Vec<Problem>,
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, ::config::ConfigError> {
        Ok(self.values.clone())
    }
}

/// Reads and merges all layers, beginning with the text of `defaults`. Unreadable parts are skipped
/// and reported as problems.
pub(super) fn merge(
    defaults: &str,
    files: &[PathBuf],
    environment: impl Iterator<Item = (String, String)>,
    overrides: &[(String, String)],
) -> (Tree, Vec<Problem>) {
    let from_files = files
        .iter()
        .enumerate()
        .map(|(order, path)| Layer::file(order, path));
    // The order of the environment is arbitrary; the result of two spellings of one key must not
    // depend on it.
    let (variables, others): (BTreeMap<String, String>, BTreeMap<String, String>) =
        environment.partition(|(name, _)| name.starts_with(PREFIX));
    let from_environment = variables
        .into_iter()
        .map(|(name, text)| Layer::variable(name, text));
    let from_flags = overrides.iter().map(|(key, text)| Layer::flag(key, text));

    let mut tree = Tree {
        ignored_variables: others
            .into_keys()
            .filter(|name| name.starts_with(NEAR_PREFIX))
            .collect(),
        ..Tree::default()
    };
    let mut problems = Vec::new();
    let mut builder = ::config::Config::builder();
    let from_defaults = std::iter::once(Layer::built_in(defaults));
    let layers = from_defaults.chain(from_files);
    for mut layer in layers.chain(from_environment).chain(from_flags) {
        problems.append(&mut layer.problems);
        for (path, place, is_section) in layer.written.drain(..) {
            if !is_section {
                remove_below(&mut tree.places, &path);
            }
            tree.places.insert(path, place);
        }
        builder = builder.add_source(layer);
    }
    match builder.build() {
        Ok(merged) => flatten("", &merged.cache, &mut tree.nodes),
        Err(error) => problems.push(Problem {
            place: Place::BuiltIn,
            key: String::new(),
            text: format!("the layers cannot be merged: {error}"),
        }),
    }
    (tree, problems)
}

/// Returns true if `path` is inside the section or list at `ancestor`.
pub(super) fn is_below(path: &str, ancestor: &str) -> bool {
    path.strip_prefix(ancestor)
        .is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// Removes everything inside the section or list at `ancestor`.
fn remove_below<T>(map: &mut BTreeMap<String, T>, ancestor: &str) {
    for (first, after) in [('.', '/'), ('[', '\\')] {
        let range = format!("{ancestor}{first}")..format!("{ancestor}{after}");
        let inside: Vec<String> = map.range(range).map(|(path, _)| path.clone()).collect();
        for path in inside {
            map.remove(&path);
        }
    }
}

/// Path of `key` inside the section at `parent`.
pub(super) fn child_path(parent: &str, key: &str) -> String {
    if parent.is_empty() {
        key.to_owned()
    } else {
        format!("{parent}.{key}")
    }
}

fn flatten(path: &str, value: &Value, nodes: &mut BTreeMap<String, Node>) {
    let node = match &value.kind {
        ValueKind::Table(table) => {
            let sorted: BTreeMap<&String, &Value> = table.iter().collect();
            for (key, child) in &sorted {
                flatten(&child_path(path, key), child, nodes);
            }
            Node::Section(sorted.into_keys().cloned().collect())
        }
        ValueKind::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                flatten(&format!("{path}[{index}]"), element, nodes);
            }
            Node::List(elements.len())
        }
        ValueKind::Nil => Node::Nothing,
        ValueKind::String(text) => Node::Text(text.clone()),
        // Layers hold no other scalars, although the type allows them.
        other => Node::Text(other.to_string()),
    };
    nodes.insert(path.to_owned(), node);
}

impl Layer {
    /// The built-in defaults, written as a file.
    fn built_in(text: &str) -> Self {
        let file = File {
            order: 0,
            name: "defaults".to_owned(),
        };
        let mut layer = Self::of(&file, file.parse(text));
        for (_, place, _) in &mut layer.written {
            *place = Place::BuiltIn;
        }
        layer
    }

    fn file(order: usize, path: &Path) -> Self {
        let file = File {
            order,
            name: path.display().to_string(),
        };
        let parsed = file.read(path).and_then(|text| file.parse(&text));
        Self::of(&file, parsed)
    }

    /// The layer of a parsed file.
    fn of(file: &File, parsed: Result<Yaml, Problem>) -> Self {
        let mut layer = Self::default();
        match parsed {
            Ok(Yaml::Mapping(mapping)) => {
                layer.values = layer.section(file, "", &mapping);
            }
            Ok(_) => layer.problems.push(file.problem(Some(1), NOT_A_MAPPING)),
            Err(problem) => layer.problems.push(problem),
        }
        layer
    }

    fn variable(name: String, text: String) -> Self {
        let segments = name
            .strip_prefix(PREFIX)
            .unwrap_or(&name)
            .to_ascii_lowercase();
        let mut path: Vec<String> = segments.split("__").map(str::to_owned).collect();
        if path.len() > 2 && path[..2].join(".") == PROPERTIES {
            // Shell variable names cannot contain dots; librdkafka properties have no underscores.
            let property = path.split_off(2).join(".").replace('_', ".");
            path.push(property);
        }
        Self::single(&path, text, &Place::Environment(name))
    }

    fn flag(key: &str, text: &str) -> Self {
        let path: Vec<String> = match key
            .strip_prefix(PROPERTIES)
            .and_then(|k| k.strip_prefix('.'))
        {
            Some(property) => PROPERTIES
                .split('.')
                .chain([property])
                .map(str::to_owned)
                .collect(),
            None => key.split('.').map(str::to_owned).collect(),
        };
        Self::single(&path, text.to_owned(), &Place::CommandLine(key.to_owned()))
    }

    /// A layer of one scalar at `path`.
    fn single(path: &[String], text: String, place: &Place) -> Self {
        let mut layer = Self::default();
        let mut parent = String::new();
        for (index, key) in path.iter().enumerate() {
            if !layer.accepts(&parent, key, place) {
                return layer;
            }
            parent = child_path(&parent, key);
            layer
                .written
                .push((parent.clone(), place.clone(), index + 1 < path.len()));
        }
        let mut keys = path.iter().rev();
        if let Some(last) = keys.next() {
            let mut table = Map::from_iter([(last.clone(), Value::new(None, text))]);
            for key in keys {
                table = Map::from_iter([(key.clone(), Value::new(None, table))]);
            }
            layer.values = table;
        }
        layer
    }

    fn section(
        &mut self,
        file: &File,
        path: &str,
        mapping: &marked_yaml::types::MarkedMappingNode,
    ) -> Map<String, Value> {
        let mut table = Map::new();
        for (key, node) in mapping.iter() {
            let place = file.place(key.span().start().map(marked_yaml::Marker::line));
            if self.accepts(path, key.as_str(), &place) {
                let value = self.value(file, &child_path(path, key.as_str()), place, node);
                table.insert(key.as_str().to_owned(), value);
            }
        }
        table
    }

    fn value(&mut self, file: &File, path: &str, place: Place, node: &Yaml) -> Value {
        self.written
            .push((path.to_owned(), place, matches!(node, Yaml::Mapping(_))));
        match node {
            Yaml::Mapping(mapping) => Value::new(None, self.section(file, path, mapping)),
            Yaml::Sequence(sequence) => {
                let elements = sequence.iter().enumerate().map(|(index, element)| {
                    let line = element.span().start().map(marked_yaml::Marker::line);
                    self.value(file, &format!("{path}[{index}]"), file.place(line), element)
                });
                Value::new(None, elements.collect::<Vec<_>>())
            }
            Yaml::Scalar(scalar) => {
                // Only an unquoted null is a null.
                let is_null = scalar.may_coerce() && matches!(scalar.as_str(), "" | "~" | "null");
                let kind = if is_null {
                    ValueKind::Nil
                } else {
                    ValueKind::from(scalar.as_str())
                };
                Value::new(None, kind)
            }
        }
    }

    /// Returns true if `key` is allowed below `parent`, and reports a problem otherwise. The merge of
    /// layers parses brackets and dots as a path, and such a key could hide another value.
    fn accepts(&mut self, parent: &str, key: &str, place: &Place) -> bool {
        let text = if key.is_empty() {
            "a key cannot be empty; remove the line"
        } else if key.contains(['[', ']']) {
            "one element of a list cannot be set; give the whole list"
        } else if key.contains('.') && parent.is_empty() {
            DOTTED_KEY
        } else {
            return true;
        };
        let problem = Problem {
            place: place.clone(),
            key: child_path(parent, key),
            text: text.to_owned(),
        };
        self.problems.push(problem);
        false
    }
}

/// Problem of a key that contains a dot.
pub(super) const DOTTED_KEY: &str =
    "unknown key; keys nest as sections, `kafka: {brokers: …}`, not `kafka.brokers: …`";

const NOT_A_MAPPING: &str = "the file must be a mapping of keys to values";

/// A file being read.
struct File {
    order: usize,
    name: String,
}

/// First line from `line` on that is indented with a tab.
fn tab_from(content: &str, line: usize) -> Option<usize> {
    let is_tab = |line: &str| {
        let indentation = line.len() - line.trim_start_matches([' ', '\t']).len();
        line[..indentation].contains('\t')
    };
    let mut lines = (1..).zip(content.lines()).skip(line.saturating_sub(1));
    lines.find(|(_, text)| is_tab(text)).map(|(line, _)| line)
}

impl File {
    fn place(&self, line: Option<usize>) -> Place {
        Place::File {
            order: self.order,
            line,
            name: self.name.clone(),
        }
    }

    fn problem(&self, line: Option<usize>, text: impl Into<String>) -> Problem {
        Problem {
            place: self.place(line),
            key: String::new(),
            text: text.into(),
        }
    }

    fn read(&self, path: &Path) -> Result<String, Problem> {
        let bytes = std::fs::read(path)
            .map_err(|error| self.problem(None, format!("cannot be read: {error}")))?;
        if bytes.len() > MAX_FILE_BYTES {
            let text = format!(
                "is {} bytes long; a configuration has at most {MAX_FILE_BYTES}",
                bytes.len()
            );
            return Err(self.problem(None, text));
        }
        let text = text::decode(&bytes)
            .map_err(|error| self.problem(Some(error.line), error.to_string()))?;
        Ok(text.to_owned())
    }

    fn parse(&self, text: &str) -> Result<Yaml, Problem> {
        self.check_indentation(text)?;
        self.check_single_document(text)?;
        let options = LoaderOptions::default()
            .error_on_duplicate_keys(true)
            .prevent_coercion(true);
        marked_yaml::parse_yaml_with_options(self.order, text, options)
            .map_err(|error| self.yaml_problem(&error, text))
    }

    fn yaml_problem(&self, error: &LoadError, content: &str) -> Problem {
        let (marker, text) = match error {
            LoadError::TopLevelMustBeMapping(marker)
            | LoadError::TopLevelMustBeSequence(marker) => (marker, NOT_A_MAPPING.to_owned()),
            LoadError::UnexpectedAnchor(marker) => (
                marker,
                "anchors and aliases are not supported; write the value out".to_owned(),
            ),
            LoadError::MappingKeyMustBeScalar(marker) => (
                marker,
                "a key must be a word, not a list or a section".to_owned(),
            ),
            LoadError::UnexpectedTag(marker) => (
                marker,
                "YAML tags (`!…`) are not supported; remove it".to_owned(),
            ),
            LoadError::ScanError(marker, scan) => {
                // The parser states the line before, whose value it takes the tab for.
                if scan.info().contains("tab")
                    && let Some(line) = tab_from(content, marker.line())
                {
                    let text =
                        "is not YAML: the line is indented with a tab; indent it with blanks";
                    return self.problem(Some(line), text);
                }
                (marker, format!("is not YAML: {}", scan.info()))
            }
            LoadError::DuplicateKey(pair) => {
                let line = pair.key.span().start().map(marked_yaml::Marker::line);
                let first = pair
                    .prev_key
                    .span()
                    .start()
                    .map_or(0, marked_yaml::Marker::line);
                let mut problem = self.problem(line, format!("already given in line {first}"));
                pair.key.as_str().clone_into(&mut problem.key);
                return problem;
            }
        };
        self.problem(Some(marker.line()), text)
    }

    fn check_indentation(&self, text: &str) -> Result<(), Problem> {
        let is_deep = |line: &str| {
            line.chars()
                .take_while(|c| matches!(c, ' ' | '\t' | '-' | '?' | ':'))
                .count()
                > MAX_INDENTATION
        };
        match text
            .lines()
            .position(|line| !line.trim().is_empty() && is_deep(line))
        {
            None => Ok(()),
            Some(index) => {
                let text = format!("is indented by more than {MAX_INDENTATION} columns");
                Err(self.problem(Some(index + 1), text))
            }
        }
    }

    /// Rejects a second document: the parser stops after the first one and ignores the rest.
    fn check_single_document(&self, text: &str) -> Result<(), Problem> {
        let mut content_seen = false;
        let mut ended = false;
        for (index, line) in text.lines().enumerate() {
            let marker = ["---", "..."].into_iter().find(|marker| {
                line.strip_prefix(marker)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
            });
            let is_blank = line.trim_start().is_empty() || line.trim_start().starts_with('#');
            if is_blank {
                continue;
            }
            if ended || (content_seen && marker == Some("---")) {
                return Err(self.problem(
                    Some(index + 1),
                    "a second YAML document begins here; give each its own file and --config",
                ));
            }
            ended = marker == Some("...");
            content_seen |= !line.starts_with('%');
        }
        Ok(())
    }
}
