//! Frame of a sample: all pairs of query and document that were served, with the coefficient of
//! their gains in each mean.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use rankgauge_core::event::Search;
use rankgauge_core::gold::normalise;
use rankgauge_core::labelling::LabelMeasure;
use rankgauge_core::number::real;
use rankgauge_core::ranking::JudgeBy;

/// Memory limit of a frame in bytes, approximate: 512 MiB.
pub const MEMORY_LIMIT: usize = 512 << 20;
/// Maximum length of the text of a document in a sheet, in characters.
const MAX_TEXT: usize = 300;
const ROW_BYTES: usize = 120;

/// Row of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameRow {
    /// Query text.
    pub query: String,
    /// Document id.
    pub document: String,
    /// Text of the document, if known.
    pub text: Option<String>,
    /// Coefficient in the mean of each variant.
    pub levels: Vec<f64>,
    /// Coefficient in the difference of the second variant to the first.
    pub difference: f64,
    /// Prediction of the gain, from 0 to 1.
    pub prediction: Option<f64>,
}

/// All rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Names of the variants: one or two.
    pub variants: Vec<String>,
    /// Rows in the order of query and document, or of their file.
    pub rows: Vec<FrameRow>,
    /// Share of the searches of both variants whose queries were seen in both.
    pub shared_traffic: Option<f64>,
    /// Effective number of queries: 1/Σ w².
    pub effective_queries: Option<f64>,
    /// Share of the queries of both variants whose lists differ: all rows of a difference are of them.
    pub changed_queries: Option<f64>,
}

/// Text that is no frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum FrameError {
    #[error(
        "line 1: the columns `query`, `document` and one or more `a_VARIANT` are expected, separated by tabs; found: {0}"
    )]
    Columns(String),
    #[error("line {line}: {fields} fields, but the header has {columns}")]
    Fields {
        line: usize,
        fields: usize,
        columns: usize,
    },
    #[error("line {line}: `{column}` is `{value}`, not a number from {range}")]
    Number {
        line: usize,
        column: String,
        value: String,
        range: &'static str,
    },
    #[error(
        "line {line}: the document `{document}` of the query `{query}` is in line {first} already; add their coefficients"
    )]
    Repeated {
        line: usize,
        first: usize,
        query: String,
        document: String,
    },
    #[error("line {line}: `{column}` is empty")]
    Empty { line: usize, column: &'static str },
    #[error("no column `a_{0}`; the frame has: {1}")]
    Variant(String, String),
    #[error("the frame has {0} variants; name one or two with --variant")]
    Variants(usize),
    #[error("no search of the variant `{0}` was read; the searches have: {1}")]
    NoSearches(String, String),
    #[error("more than 512 MiB are needed for the frame; shorten --last, or read fewer searches")]
    Memory,
}

/// Parses a frame of tab-separated values: `query`, `document`, `a_NAME` for each variant, and
/// optionally `text` and the prediction `f`. Without names in `variants`, all are used.
///
/// # Errors
/// The line that is wrong.
pub fn parse(text: &str, variants: &[String]) -> Result<Frame, FrameError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().enumerate();
    let header = lines.next().map_or("", |(_, line)| line);
    let columns: Vec<&str> = header.split('\t').map(str::trim).collect();
    let column = |name: &str| columns.iter().position(|column| *column == name);
    let named: Vec<(&str, usize)> = columns
        .iter()
        .enumerate()
        .filter_map(|(at, column)| Some((column.strip_prefix("a_")?, at)))
        .collect();
    let (Some(query), Some(document), false) =
        (column("query"), column("document"), named.is_empty())
    else {
        return Err(FrameError::Columns(columns.join(", ")));
    };
    let selected: Vec<(&str, usize)> = if variants.is_empty() {
        named
    } else {
        let find = |name: &String| {
            let found = named.iter().find(|(known, _)| known == name);
            found.copied().ok_or_else(|| {
                let known: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
                FrameError::Variant(name.clone(), known.join(", "))
            })
        };
        variants.iter().map(find).collect::<Result<_, _>>()?
    };
    if selected.len() > 2 {
        return Err(FrameError::Variants(selected.len()));
    }
    let (text_column, prediction) = (column("text"), column("f"));
    let mut frame = Frame {
        variants: selected
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect(),
        ..Frame::default()
    };
    let mut first_lines: FxHashMap<(&str, &str), usize> = FxHashMap::default();
    let mut bytes = 0;
    for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let line_number = index + 1;
        let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
        if fields.len() != columns.len() {
            return Err(FrameError::Fields {
                line: line_number,
                fields: fields.len(),
                columns: columns.len(),
            });
        }
        let number = |at: usize, highest: f64, range| {
            let value = fields[at];
            let number = value.parse::<f64>().ok();
            let number = number.filter(|number| (0.0..=highest).contains(number));
            number.ok_or_else(|| FrameError::Number {
                line: line_number,
                column: columns[at].to_owned(),
                value: value.to_owned(),
                range,
            })
        };
        let (query, document) = (fields[query], fields[document]);
        for (value, column) in [(query, "query"), (document, "document")] {
            if value.is_empty() {
                return Err(FrameError::Empty {
                    line: line_number,
                    column,
                });
            }
        }
        if let Some(first) = first_lines.insert((query, document), line_number) {
            return Err(FrameError::Repeated {
                line: line_number,
                first,
                query: query.to_owned(),
                document: document.to_owned(),
            });
        }
        let levels = selected.iter().map(|(_, at)| number(*at, f64::MAX, "0"));
        let levels: Vec<f64> = levels.collect::<Result<_, _>>()?;
        let prediction = prediction.map(|at| number(at, 1.0, "0 to 1")).transpose()?;
        bytes += ROW_BYTES + line.len();
        if bytes > MEMORY_LIMIT {
            return Err(FrameError::Memory);
        }
        frame.rows.push(FrameRow {
            query: query.to_owned(),
            document: document.to_owned(),
            text: text_column.map(|at| fields[at].to_owned()),
            difference: difference(&levels),
            levels,
            prediction,
        });
    }
    Ok(frame)
}

fn difference(levels: &[f64]) -> f64 {
    match levels {
        [first, second] => second - first,
        _ => 0.0,
    }
}

/// Weights of a document in the lists of each variant.
#[derive(Debug, Default)]
struct Served {
    weights: Vec<f64>,
    text: Option<String>,
}

#[derive(Debug, Default)]
struct ServedQuery {
    text: String,
    searches: Vec<u64>,
    documents: BTreeMap<String, Served>,
}

/// Builder of a frame from searches.
#[derive(Debug)]
pub struct FrameBuilder<'a> {
    variants: Vec<String>,
    measure: &'a LabelMeasure,
    judge_by: JudgeBy,
    version_labels: &'a [String],
    read: FxHashSet<String>,
    found: BTreeMap<String, u64>,
    queries: BTreeMap<String, ServedQuery>,
    bytes: usize,
}

impl<'a> FrameBuilder<'a> {
    /// Empty frame of one or two variants. `V5@2.4` is the version 2.4 of V5, if searches state it in
    /// one of `version_labels`.
    pub fn new(
        variants: Vec<String>,
        measure: &'a LabelMeasure,
        judge_by: JudgeBy,
        version_labels: &'a [String],
    ) -> Self {
        Self {
            variants,
            measure,
            judge_by,
            version_labels,
            read: FxHashSet::default(),
            found: BTreeMap::new(),
            queries: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Adds a search of a user. Only first pages count.
    pub fn search(&mut self, search: &Search<'_>) {
        let is_first_page = search.page.is_none_or(|page| page <= 1);
        if search.is_synthetic() || !is_first_page || self.bytes > MEMORY_LIMIT {
            return;
        }
        let (name, version) = (search.variant(), self.version_of(search));
        let variants = self.variants.iter();
        let variant = variants.clone().position(|known| known == name);
        let variant = variant.or_else(|| {
            let version = version.as_deref()?;
            let is_of = |known: &String| {
                let rest = known.strip_prefix(name);
                rest.and_then(|it| it.strip_prefix('@')) == Some(version)
            };
            variants.clone().position(is_of)
        });
        let mut found = |name: String| *self.found.entry(name).or_default() += 1;
        found(name.to_owned());
        if let Some(version) = &version {
            found(format!("{name}@{version}"));
        }
        let Some(variant) = variant else {
            return;
        };
        let text = search.query.as_deref().unwrap_or_default();
        let normal = normalise(text);
        let key = search.query_key.as_deref().unwrap_or_default();
        let identity = if normal.is_empty() { key } else { &normal };
        if identity.is_empty() || !self.read.insert(search.query_id.to_string()) {
            return;
        }
        self.bytes += 64 + search.query_id.len();
        let (judge_by, variants) = (self.judge_by, self.variants.len());
        if !self.queries.contains_key(identity) {
            self.bytes += 200 + 2 * identity.len();
        }
        let query = self.queries.entry(identity.to_owned()).or_default();
        query.searches.resize(variants, 0);
        query.searches[variant] += 1;
        if query.text.is_empty() {
            let shown = if normal.is_empty() { key } else { text };
            shown.clone_into(&mut query.text);
        }
        let mut seen = FxHashSet::default();
        for (hit, weight) in search.results.iter().zip(self.measure.weights()) {
            let document = judge_by.document(hit);
            if document.is_empty() || !seen.insert(document) {
                continue;
            }
            if !query.documents.contains_key(document) {
                let text = hit.details().text.as_deref();
                let text = text.map(|text| text.chars().take(MAX_TEXT).collect::<String>());
                self.bytes += ROW_BYTES + document.len() + text.as_ref().map_or(0, String::len);
                let served = Served {
                    weights: vec![0.0; variants],
                    text,
                };
                query.documents.insert(document.to_owned(), served);
            }
            if let Some(served) = query.documents.get_mut(document) {
                served.weights[variant] += weight;
            }
        }
    }

    /// Version that a search states.
    fn version_of<'s>(&self, search: &'s Search<'_>) -> Option<Cow<'s, str>> {
        let labels = search.labels.as_ref()?;
        let mut names = self.version_labels.iter();
        names.find_map(|name| labels.label(name))
    }

    /// Frame of all searches.
    ///
    /// # Errors
    /// No search of a variant, or too many pairs.
    pub fn finish(self) -> Result<Frame, FrameError> {
        if self.bytes > MEMORY_LIMIT {
            return Err(FrameError::Memory);
        }
        let of_variant = |variant: usize| -> u64 {
            let queries = self.queries.values();
            queries.map(|query| query.searches[variant]).sum()
        };
        let totals: Vec<u64> = (0..self.variants.len()).map(of_variant).collect();
        if let Some(missing) = totals.iter().position(|total| *total == 0) {
            let found = self.found.keys().map(|name| format!("`{name}`"));
            let found: Vec<String> = found.take(20).collect();
            let name = self.variants.get(missing).cloned().unwrap_or_default();
            return Err(FrameError::NoSearches(name, found.join(", ")));
        }
        let all: u64 = totals.iter().sum();
        let is_shared = |query: &ServedQuery| query.searches.iter().all(|searches| *searches > 0);
        let shared = self.queries.values().filter(|query| is_shared(query));
        let shared: u64 = shared.map(|query| query.searches.iter().sum::<u64>()).sum();
        let mut squares = 0.0;
        let mut rows = Vec::new();
        let (mut paired_queries, mut changed_queries) = (0_u64, 0_u64);
        for query in self.queries.into_values() {
            let searches: u64 = query.searches.iter().sum();
            squares += (real(searches) / real(all)).powi(2);
            let paired = is_shared(&query) && query.searches.len() == 2;
            let share_of_query = real(searches) / real(shared.max(1));
            paired_queries += u64::from(paired);
            let mut is_changed = false;
            for (document, served) in query.documents {
                let weights = served.weights.iter();
                let levels = weights
                    .clone()
                    .zip(&totals)
                    .map(|(w, total)| w / real(*total));
                let means = weights.zip(&query.searches);
                let means: Vec<f64> = means.map(|(w, n)| w / real((*n).max(1))).collect();
                let difference = if paired { difference(&means) } else { 0.0 };
                is_changed |= difference != 0.0;
                rows.push(FrameRow {
                    query: query.text.clone(),
                    document,
                    text: served.text,
                    levels: levels.collect(),
                    difference: share_of_query * difference,
                    prediction: None,
                });
            }
            changed_queries += u64::from(is_changed);
        }
        Ok(Frame {
            shared_traffic: (self.variants.len() == 2).then(|| real(shared) / real(all)),
            changed_queries: (paired_queries > 0)
                .then(|| real(changed_queries) / real(paired_queries)),
            effective_queries: (squares > 0.0).then(|| 1.0 / squares),
            variants: self.variants,
            rows,
        })
    }
}
