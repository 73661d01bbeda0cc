//! In-memory gold sets: relevance judgements, and the lookup of the gold query of a search.
//!
//! There is one loader and one model. The formats parse a file into drafts (`formats`). The drafts
//! are checked against each other and become a [`GoldSet`] (`validate`); downstream code does not
//! check again. A set is immutable: a reload builds a new one. This module must not know searches,
//! measures or metrics, and only [`load`] and [`Sources::read`] read files.

pub mod adoption;
mod details;
mod documents;
pub mod expansion;
mod formats;
mod graph;
mod judgements;
mod problem;
mod query;
mod validate;

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator as _, ParallelIterator as _};
use rayon::slice::ParallelSliceMut as _;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use twox_hash::XxHash3_128;
use unicode_normalization::UnicodeNormalization;

pub use details::{Details, FacetColumn};
pub use documents::hash_document;
pub use formats::{
    Format, RANK_EVAL_INDEX, SHEET_COLUMNS, UnknownFormat, escape_cell, parse_relations,
    parse_sheet,
};
use formats::{PartReader, SourceFile};
pub use graph::{Edge, Graph, hash_edge};
pub use judgements::{Grade, Judgements, RepeatedDocument};
use problem::Problems;
pub use problem::{GoldError, Place, Problem};
pub use query::{GoldQuery, JudgementDetail};

/// Options for reading gold files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Lowest grade that counts as relevant. Default: the level that the files state, else 1.
    pub relevance_level: Option<Grade>,
    /// Format of every file. Default: each format is detected from the content.
    pub format: Option<Format>,
}

/// Index of a gold query in its set. It is valid for that set only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryIndex(u32);

impl QueryIndex {
    /// Position in [`GoldSet::queries`].
    pub fn position(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Hash of a key or text. At 128 bits, an accidental collision is negligible. A deliberate one gives its
/// author nothing that sending the text of the gold query would not.
type TextHash = u128;

/// Returns the hash of a key or text.
fn hash_text(text: &str) -> TextHash {
    XxHash3_128::oneshot(text.as_bytes())
}

/// All gold queries of one or more files, validated and indexed.
#[derive(Clone, Debug)]
pub struct GoldSet {
    queries: Vec<GoldQuery>,
    by_key: FxHashMap<TextHash, QueryIndex>,
    /// Queries by their texts and aliases, as written.
    by_text: FxHashMap<TextHash, QueryIndex>,
    /// Queries by their normalised texts and aliases. A normalised text belongs to one query only.
    by_normalised: FxHashMap<TextHash, QueryIndex>,
    version: String,
    sha256: String,
    relevance_level: Grade,
    scale_max: Option<Grade>,
    /// Location of each query in the files.
    places: Vec<Place>,
    stated: SetMetadata,
}

/// Set-level metadata that the files state, where they agree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetMetadata {
    /// Version.
    pub version: Option<String>,
    /// Creation time, as written.
    pub created_at: Option<String>,
    /// Lowest grade that counts as relevant.
    pub relevance_level: Option<Grade>,
    /// Highest grade of the scale.
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
    /// Returns a set without queries: every search is unjudged.
    pub fn empty() -> Self {
        // Without drafts there can be no problems.
        validate::assemble(
            Vec::new(),
            &Options::default(),
            digest(&[]),
            &mut Problems::default(),
        )
    }

    /// Returns the gold query of a search. The first match wins: the key, the exact text, the
    /// normalised text. Aliases count as texts. The first two lookups do not allocate.
    pub fn find(&self, query_key: Option<&str>, query: Option<&str>) -> Option<QueryIndex> {
        let by_key = query_key.and_then(|key| self.by_key.get(&hash_text(key)));
        let found = by_key.or_else(|| {
            let text = query?;
            self.by_text
                .get(&hash_text(text))
                .or_else(|| self.by_normalised.get(&hash_text(&normalise(text))))
        });
        found.copied()
    }

    /// Returns a gold query of this set.
    ///
    /// # Panics
    /// Never for an index that this set returned. An index of another set returns a different
    /// query, or panics when it is out of range, as with any slice.
    pub fn query(&self, index: QueryIndex) -> &GoldQuery {
        &self.queries[index.position()]
    }

    /// All gold queries, in the order of their files.
    pub fn queries(&self) -> &[GoldQuery] {
        &self.queries
    }

    /// Location in the files of the query at this position in [`GoldSet::queries`].
    pub fn place(&self, position: usize) -> Option<&Place> {
        self.places.get(position)
    }

    /// Metadata that the files state, without defaults.
    pub fn metadata(&self) -> &SetMetadata {
        &self.stated
    }

    /// Returns true if the results of any query are judged by their texts.
    pub fn has_texts(&self) -> bool {
        self.queries.iter().any(|query| query.by_text)
    }

    /// Returns true if any query states the domain that answers it.
    pub fn has_domains(&self) -> bool {
        self.queries.iter().any(|query| query.domain().is_some())
    }

    /// Number of judged (query, document) pairs.
    pub fn judgement_count(&self) -> usize {
        self.queries
            .iter()
            .map(|query| query.judgements.len())
            .sum()
    }

    /// Version that a file states, else the first 12 digits of the SHA-256.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// SHA-256 over the names and contents of all files, in order; 64 hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Lowest grade that counts as relevant.
    pub fn relevance_level(&self) -> Grade {
        self.relevance_level
    }

    /// Highest grade of the scale: as stated by a file, else the highest grade of a judgement.
    /// `None` without judgements.
    pub fn scale_max(&self) -> Option<Grade> {
        self.scale_max
    }
}

/// Maximum size of a gold file: 256 MiB, more than ten million judgements. A larger file is not a
/// gold file and would exhaust the memory.
pub const MAX_FILE_BYTES: usize = 256 << 20;

/// Reads gold files and folders into one set. The files of a folder are read in the order of their
/// names. Names that begin with a dot are skipped and symbolic links are followed, which reads a
/// mounted ConfigMap exactly once, despite its `..data` link. Topics for TREC qrels in `NAME.EXT`
/// are read from `NAME.tsv` in the same folder, if it exists. Query texts for BEIR judgements are
/// read from `queries.jsonl` in the same folder, else in the parent folder. Without paths the set
/// is empty.
///
/// # Errors
/// All problems of the files.
pub fn load(paths: &[PathBuf], options: &Options) -> Result<GoldSet, GoldError> {
    match load_in_parts(paths, options) {
        Some(set) => Ok(set),
        None => into_result(examine(paths, options)),
    }
}

/// Loads one large file in parts, so that its text is never in memory as a whole. `None` if this is
/// not possible, and for a file with problems.
fn load_in_parts(paths: &[PathBuf], options: &Options) -> Option<GoldSet> {
    let [path] = paths else { return None };
    if path == Path::new(STANDARD_INPUT) {
        return None;
    }
    // A pipe must not be opened here: its content can be read only once.
    let metadata = fs::metadata(path).ok()?;
    let size = usize::try_from(metadata.len()).ok()?;
    if !metadata.is_file() || !(LARGE_BYTES..=MAX_FILE_BYTES).contains(&size) {
        return None;
    }
    let mut file = fs::File::open(path).ok()?;
    let mut bytes = Vec::with_capacity(HEAD_BYTES);
    let mut start = (&mut file).take(u64::try_from(HEAD_BYTES).ok()?);
    start.read_to_end(&mut bytes).ok()?;
    bytes.truncate(memchr::memrchr(b'\n', &bytes)? + 1);
    if texts_of(path, &bytes, options).is_some() {
        return None;
    }
    let name = file_name(path);
    let mut hash = Sha256::new();
    add_part(&mut hash, name.as_bytes());
    add_length(&mut hash, size);
    file.rewind().ok()?;
    let reader = PartReader::new(file, metadata.len(), hash);
    let head = SourceFile { name, bytes };
    let (draft, hash) = formats::read_parts(&head, reader, options.format)?;
    let mut problems = Problems::default();
    let set = validate::assemble(vec![draft], options, hex(hash), &mut problems);
    problems.is_empty().then_some(set)
}

/// Reads gold files and folders like [`load`], and returns the readable part together with the
/// problems, for reports that show both.
pub fn examine(paths: &[PathBuf], options: &Options) -> (GoldSet, Option<GoldError>) {
    let Sources { files, problems } = Sources::read(paths, options);
    build(&files, options, problems)
}

/// Content of gold files that is not parsed yet.
#[derive(Debug)]
pub struct Sources {
    files: Vec<SourceFile>,
    problems: Problems,
}

impl Sources {
    /// Reads the files that [`load`] parses.
    pub fn read(paths: &[PathBuf], options: &Options) -> Self {
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
                    let texts = texts_of(&path, &bytes, options);
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
        Self { files, problems }
    }

    /// Returns true if every file could be read.
    pub fn is_complete(&self) -> bool {
        self.problems.is_empty()
    }

    /// Hash of the set, as in [`GoldSet::sha256`].
    pub fn sha256(&self) -> String {
        digest(&self.files)
    }

    /// Parses the files.
    ///
    /// # Errors
    /// All problems of the files.
    pub fn into_set(self, options: &Options) -> Result<GoldSet, GoldError> {
        into_result(build(&self.files, options, self.problems))
    }
}

/// Parses the content of one gold file. `name` is used in messages and in the hash.
///
/// # Errors
/// All problems of the content.
pub fn parse(name: &str, bytes: &[u8], options: &Options) -> Result<GoldSet, GoldError> {
    let file = SourceFile {
        name: name.into(),
        bytes: bytes.to_vec(),
    };
    into_result(build(&[file], options, Problems::default()))
}

/// Returns the set, or the error if there is one.
fn into_result((set, error): (GoldSet, Option<GoldError>)) -> Result<GoldSet, GoldError> {
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
    let mut read = || {
        let drafts = files.iter();
        let drafts = drafts.filter_map(|file| formats::read(file, options.format, &mut problems));
        drafts.collect()
    };
    let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
    let (drafts, sha256) = if bytes < LARGE_BYTES {
        (read(), digest(files))
    } else {
        rayon::join(read, || digest(files))
    };
    let set = validate::assemble(drafts, options, sha256, &mut problems);
    (set, problems.into_error())
}

/// Path that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Size of a large file, and of its parts that are read in parallel.
const LARGE_BYTES: usize = 1 << 20;

/// Minimum number of queries that a thread converts or checks.
const MIN_QUERIES: usize = 256;

/// Number of bytes by which the format of a large file is recognised.
const HEAD_BYTES: usize = 64 << 10;

/// Reads a file, at most [`MAX_FILE_BYTES`] + 1 bytes of it.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    if path == Path::new(STANDARD_INPUT) {
        return read_limited(std::io::stdin().lock(), 0);
    }
    let mut file = fs::File::open(path)?;
    let size = file.metadata()?.len();
    let expected = usize::try_from(size).unwrap_or(0);
    if !(LARGE_BYTES..=MAX_FILE_BYTES).contains(&expected) {
        return read_limited(file, expected);
    }
    let mut bytes = vec![0; expected];
    let parts = bytes.par_chunks_mut(LARGE_BYTES).enumerate();
    let whole = parts.try_for_each(|(number, part)| {
        let offset = u64::try_from(number * LARGE_BYTES).unwrap_or(u64::MAX);
        file.read_exact_at(part, offset)
    });
    if whole.is_err() {
        // The file is shorter now, or cannot be read.
        return read_limited(file, expected);
    }
    // The file can be longer now.
    file.seek(SeekFrom::Start(size))?;
    let limit = u64::try_from(MAX_FILE_BYTES + 1 - expected).unwrap_or(u64::MAX);
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_limited(source: impl Read, expected: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(expected.min(MAX_FILE_BYTES + 1));
    let limit = u64::try_from(MAX_FILE_BYTES + 1).unwrap_or(u64::MAX);
    source.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Path of the query texts of judgements that begin with `bytes`, if they are in a file of their own.
fn texts_of(path: &Path, bytes: &[u8], options: &Options) -> Option<PathBuf> {
    match formats::format_with_separate_texts(bytes, options.format)? {
        Format::Beir => beir_queries(path),
        _ => Some(path.with_extension("tsv")).filter(|topics| topics.is_file()),
    }
}

/// Path of the `queries.jsonl` of BEIR judgements, if the file exists.
fn beir_queries(judgements: &Path) -> Option<PathBuf> {
    let folder = judgements.parent()?;
    let beside = folder.join("queries.jsonl");
    let above = match folder.parent() {
        Some(parent) if folder.file_name().is_some() => parent.join("queries.jsonl"),
        // The folder is `.` or ends in `..`: its parent cannot be derived from its name.
        _ => folder.join("..").join("queries.jsonl"),
    };
    [beside, above].into_iter().find(|path| path.is_file())
}

/// Returns the files of `paths`, with folders expanded, without duplicates.
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
        // A broken link is kept: reading it fails with an error that names it.
        if !file_name(&path).starts_with('.') && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn file_name(path: &Path) -> Arc<str> {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into()
}

/// SHA-256 over names and contents. Each is preceded by its length, which makes the boundaries
/// between them part of the hash.
fn digest(files: &[SourceFile]) -> String {
    let mut hash = Sha256::new();
    for file in files {
        add_part(&mut hash, file.name.as_bytes());
        add_part(&mut hash, &file.bytes);
    }
    hex(hash)
}

fn add_part(hash: &mut Sha256, part: &[u8]) {
    add_length(hash, part.len());
    hash.update(part);
}

fn add_length(hash: &mut Sha256, length: usize) {
    hash.update(length.to_string());
    hash.update(":");
}

/// Returns the hash in hexadecimal digits.
fn hex(hash: Sha256) -> String {
    let mut hex = String::with_capacity(64);
    for byte in hash.finalize() {
        write!(hex, "{byte:02x}").expect("invariant: writing to a string does not fail");
    }
    hex
}

/// Normalises a text for comparison: NFKC, lower case, white space trimmed and collapsed.
pub fn normalise(text: &str) -> Cow<'_, str> {
    if is_plainly_normal(text) {
        return Cow::Borrowed(text);
    }
    // Hangul syllables are composed, and can change only with letters that are not accepted here.
    let is_composed = |letter: char| letter.is_ascii() || matches!(letter, '가'..='힣');
    let folded: String = if text.chars().all(is_composed) {
        text.to_ascii_lowercase()
    } else {
        text.nfkc().flat_map(char::to_lowercase).collect()
    };
    let mut normal = String::with_capacity(folded.len());
    for word in folded.split_whitespace() {
        if !normal.is_empty() {
            normal.push(' ');
        }
        normal.push_str(word);
    }
    Cow::Owned(normal)
}

/// Returns true for most texts that are their own normal form: lower-case ASCII and Hangul syllables
/// in words that one space separates.
fn is_plainly_normal(text: &str) -> bool {
    let mut before = ' ';
    let is_plain = text.chars().all(|letter| {
        let is_plain = match letter {
            ' ' => before != ' ',
            '!'..='~' => !letter.is_ascii_uppercase(),
            '가'..='힣' => true,
            _ => false,
        };
        before = letter;
        is_plain
    });
    is_plain && before != ' '
}
