//! Gold sets: what people judged, in memory, and how a search finds its gold query.
//!
//! One loader, one model. Formats turn a file into drafts (`formats`), drafts are checked against
//! each other and become a [`GoldSet`] (`validate`); nothing downstream checks again. A set is
//! immutable: who reloads it builds another. Nothing here knows searches, measures or metrics, and
//! only [`load`] touches files.

pub mod adoption;
mod documents;
pub mod expansion;
mod formats;
mod judgements;
mod problem;
mod query;
mod validate;

use std::fmt;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use formats::SourceFile;
pub use formats::{
    Format, RANK_EVAL_INDEX, SHEET_COLUMNS, UnknownFormat, guarded, parse_relations, parse_sheet,
};
pub use judgements::{Grade, Judgements, RepeatedDocument};
use problem::Problems;
pub use problem::{GoldError, Place, Problem};
pub use query::{Edge, GoldQuery, Graph, JudgementDetail};

/// How to read gold files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// The lowest grade that counts as relevant; without it the files', without theirs 1.
    pub relevance_level: Option<Grade>,
    /// The format of every file; without it each is recognised by its content.
    pub format: Option<Format>,
}

/// Which gold query of a set: a number that only that set can resolve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryIndex(u32);

impl QueryIndex {
    /// Its position in [`GoldSet::queries`].
    pub fn position(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// All gold queries of one or more files, checked and ready to be joined.
#[derive(Clone, Debug)]
pub struct GoldSet {
    queries: Vec<GoldQuery>,
    by_key: FxHashMap<Box<str>, QueryIndex>,
    /// Texts and aliases as they are written.
    by_text: FxHashMap<Box<str>, QueryIndex>,
    /// Texts and aliases, normalised. No two queries share one.
    by_normalised: FxHashMap<Box<str>, QueryIndex>,
    version: String,
    sha256: String,
    relevance_level: Grade,
    scale_max: Option<Grade>,
    /// Where each query stands.
    places: Vec<Place>,
    stated: Stated,
}

/// What the files of a set say about it as a whole, as far as they agree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stated {
    /// Their version.
    pub version: Option<String>,
    /// When they were made, as they write it.
    pub created_at: Option<String>,
    /// The lowest grade that counts as relevant.
    pub relevance_level: Option<Grade>,
    /// The highest grade of the scale.
    pub scale_max: Option<Grade>,
}

impl fmt::Display for GoldSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "gold set {}: {} queries, {} judgements, sha256 {}",
            self.version(),
            self.queries().len(),
            self.judgement_count(),
            self.sha256()
        )
    }
}

impl GoldSet {
    /// A set without queries: every search is unjudged.
    pub fn empty() -> Self {
        // Without drafts there is nothing that could be wrong.
        validate::assemble(
            Vec::new(),
            &Options::default(),
            digest(&[]),
            &mut Problems::default(),
        )
    }

    /// The gold query of a search, by the first of these that matches: its key, its exact text,
    /// its normalised text; a query's aliases count as its texts. Neither of the first two
    /// allocates.
    pub fn find(&self, query_key: Option<&str>, query: Option<&str>) -> Option<QueryIndex> {
        let by_key = query_key.and_then(|key| self.by_key.get(key));
        let found = by_key.or_else(|| {
            let text = query?;
            self.by_text
                .get(text)
                .or_else(|| self.by_normalised.get(normalised(text).as_str()))
        });
        found.copied()
    }

    /// A gold query of this set.
    ///
    /// # Panics
    /// Never for an index that this set gave out. An index of another set gives another query, or
    /// panics when it is out of range, as with any slice.
    pub fn query(&self, index: QueryIndex) -> &GoldQuery {
        &self.queries[index.position()]
    }

    /// All gold queries, in the order of their files.
    pub fn queries(&self) -> &[GoldQuery] {
        &self.queries
    }

    /// Where a query of this set stands, by its position in [`GoldSet::queries`].
    pub fn place(&self, position: usize) -> Option<&Place> {
        self.places.get(position)
    }

    /// What the files say about the set, rather than what holds for want of it.
    pub fn stated(&self) -> &Stated {
        &self.stated
    }

    /// How many (query, document) pairs are judged.
    pub fn judgement_count(&self) -> usize {
        self.queries
            .iter()
            .map(|query| query.judgements.len())
            .sum()
    }

    /// The version that a file states, else the first 12 digits of the SHA-256.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// SHA-256 over the names and contents of all files, in order; 64 hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The lowest grade that counts as relevant.
    pub fn relevance_level(&self) -> Grade {
        self.relevance_level
    }

    /// The highest grade of the scale: as a file states it, else the highest that was given; `None`
    /// without any judgement.
    pub fn scale_max(&self) -> Option<Grade> {
        self.scale_max
    }
}

/// The most that is read of a file: 256 MiB, more than ten million judgements. What goes on beyond
/// is no gold file, and would fill the memory.
pub const MAX_FILE_BYTES: usize = 256 << 20;

/// Reads gold files and folders into one set. Of a folder, its files in the order of their names;
/// names that begin with a dot are skipped and symbolic links followed, so that a mounted
/// ConfigMap is read through its `..data` link exactly once. Topics for `NAME.EXT` in TREC qrels
/// are read from `NAME.tsv` beside it, if that exists; texts for BEIR's judgements from
/// `queries.jsonl` beside them, else one folder up. No paths at all make an empty set.
///
/// # Errors
/// Everything that is wrong with the files, at once.
pub fn load(paths: &[PathBuf], options: &Options) -> Result<GoldSet, GoldError> {
    sound(examine(paths, options))
}

/// Reads gold files and folders like [`load`], and gives what could be read even where something
/// is wrong: for a person who is told both.
pub fn examine(paths: &[PathBuf], options: &Options) -> (GoldSet, Option<GoldError>) {
    let mut problems = Problems::default();
    let mut files = Vec::new();
    let mut paths = expand(paths, &mut problems);
    let mut next = 0;
    while let Some(path) = paths.get(next).cloned() {
        next += 1;
        match read_file(&path) {
            Ok(bytes) if bytes.len() > MAX_FILE_BYTES => {
                let line = bytes.split(|byte| *byte == b'\n').count();
                problems.push(Problem::TooLarge {
                    place: Place {
                        file: file_name(&path),
                        line: Some(line),
                    },
                });
            }
            Ok(bytes) => {
                let texts = match formats::with_texts_elsewhere(&bytes, options.format) {
                    Some(Format::Beir) => beir_queries(&path),
                    Some(_) => Some(path.with_extension("tsv")).filter(|topics| topics.is_file()),
                    None => None,
                };
                if let Some(texts) = texts.filter(|texts| !paths.contains(texts)) {
                    paths.insert(next, texts);
                }
                files.push(SourceFile {
                    name: file_name(&path),
                    bytes,
                });
            }
            Err(source) => problems.push(Problem::Unreadable { path, source }),
        }
    }
    build(&files, options, problems)
}

/// Reads the content of one gold file; `name` stands in messages and in the hash.
///
/// # Errors
/// Everything that is wrong with it, at once.
pub fn parse(name: &str, bytes: &[u8], options: &Options) -> Result<GoldSet, GoldError> {
    let file = SourceFile {
        name: name.to_owned(),
        bytes: bytes.to_vec(),
    };
    sound(build(&[file], options, Problems::default()))
}

/// A set with which nothing is wrong.
fn sound((set, error): (GoldSet, Option<GoldError>)) -> Result<GoldSet, GoldError> {
    match error {
        None => Ok(set),
        Some(error) => Err(error),
    }
}

fn build(
    files: &[SourceFile],
    options: &Options,
    mut problems: Problems,
) -> (GoldSet, Option<GoldError>) {
    let drafts = files
        .iter()
        .filter_map(|file| formats::read(file, options.format, &mut problems))
        .collect();
    let set = validate::assemble(drafts, options, digest(files), &mut problems);
    (set, problems.into_error())
}

/// The content of a file, as far as it is taken.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).min(MAX_FILE_BYTES + 1));
    let limit = u64::try_from(MAX_FILE_BYTES + 1).unwrap_or(u64::MAX);
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Where the texts of BEIR's judgements stand, if they do.
fn beir_queries(judgements: &Path) -> Option<PathBuf> {
    let folder = judgements.parent()?;
    let beside = folder.join("queries.jsonl");
    let above = match folder.parent() {
        Some(parent) if folder.file_name().is_some() => parent.join("queries.jsonl"),
        // The folder is `.` or ends in `..`: its name does not say where it lies.
        _ => folder.join("..").join("queries.jsonl"),
    };
    [beside, above].into_iter().find(|path| path.is_file())
}

/// The files behind `paths`, each once.
fn expand(paths: &[PathBuf], problems: &mut Problems) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut add = |path: PathBuf| {
        if !files.contains(&path) {
            files.push(path);
        }
    };
    for path in paths {
        if path.is_dir() {
            match files_of(path) {
                Ok(found) if found.is_empty() => {
                    problems.push(Problem::NoFiles { path: path.clone() });
                }
                Ok(found) => found.into_iter().for_each(&mut add),
                Err(source) => problems.push(Problem::Unreadable {
                    path: path.clone(),
                    source,
                }),
            }
        } else {
            add(path.clone());
        }
    }
    files
}

fn files_of(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // A link that leads nowhere is kept, for reading it to fail with its name.
        if !file_name(&path).starts_with('.') && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// SHA-256 over names and contents, each preceded by its length so that nothing can pass from one
/// to the other unnoticed.
fn digest(files: &[SourceFile]) -> String {
    let mut hash = Sha256::new();
    for part in files
        .iter()
        .flat_map(|file| [file.name.as_bytes(), file.bytes.as_slice()])
    {
        hash.update(part.len().to_string());
        hash.update(":");
        hash.update(part);
    }
    let mut hex = String::with_capacity(64);
    for byte in hash.finalize() {
        write!(hex, "{byte:02x}").expect("invariant: writing to a string does not fail");
    }
    hex
}

/// A text as texts are compared: NFKC, lower case, white space trimmed and collapsed.
pub fn normalised(text: &str) -> String {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}
