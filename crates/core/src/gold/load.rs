//! Reading of gold files and folders.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator as _, ParallelIterator as _};
use rayon::slice::ParallelSliceMut as _;

use super::companions::{are_topics, queries_of, topics_of, uncompressed};
use super::digest::{digest, hex};
use super::formats;
use super::formats::draft::{Draft, SourceFile};
use super::formats::format::Format;
use super::formats::parts::PartReader;
use super::problem::{GoldError, Place, Problem, Problems};
use super::set::{GoldSet, Options};
use super::validate;
use crate::{compression, text};

/// Reads gold files and folders into one set. The files of a folder are read in the order of their
/// names. Names that begin with a dot are skipped and symbolic links are followed, which reads a
/// mounted ConfigMap exactly once, despite its `..data` link. Topics for TREC qrels in `NAME.EXT`
/// are read from `NAME.tsv` in the same folder, if it exists. Query texts for BEIR judgements are
/// read from `queries.jsonl` in the same folder, else in the parent folder. Both may be compressed
/// (`NAME.tsv.gz`). Without paths the set is empty.
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
    if !metadata.is_file() || !(LARGE_BYTES..=Format::MAX_FILE_BYTES).contains(&size) {
        return None;
    }
    let mut file = fs::File::open(path).ok()?;
    let mut bytes = Vec::with_capacity(HEAD_BYTES);
    let mut start = (&mut file).take(u64::try_from(HEAD_BYTES).ok()?);
    start.read_to_end(&mut bytes).ok()?;
    if compression::is_encoded(&bytes) {
        return None;
    }
    bytes.truncate(memchr::memrchr(b'\n', &bytes)? + 1);
    if texts_of(path, &bytes, options).is_some() {
        return None;
    }
    file.rewind().ok()?;
    let reader = PartReader::new(file, metadata.len());
    let head = SourceFile {
        name: name_of(path),
        bytes,
    };
    let (draft, hash) = formats::read_parts(&head, reader, options)?;
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
    /// Paths of all files from which the query texts of judgements can be read. Most do not exist.
    pub fn companions(judgements: &Path) -> Vec<PathBuf> {
        let mut paths = topics_of(judgements);
        paths.extend(queries_of(judgements));
        paths
    }

    /// Reads the files that [`load`] parses.
    pub fn read(paths: &[PathBuf], options: &Options) -> Self {
        let mut problems = Problems::default();
        let mut files = Vec::new();
        let mut paths = expand(paths, &mut problems);
        // Files of texts beside judgements, with the names of these.
        let mut companions: BTreeMap<PathBuf, Arc<str>> = BTreeMap::new();
        let mut next = 0;
        while let Some(path) = paths.get(next).cloned() {
            next += 1;
            match read_file(&path) {
                Ok(bytes) if bytes.len() > Format::MAX_FILE_BYTES => {
                    let line = bytes.split(|byte| *byte == b'\n').count();
                    problems.push(Problem::TooLarge {
                        place: Place {
                            file: name_of(&path),
                            line: Some(line),
                        },
                    });
                }
                Ok(bytes) => {
                    let texts = texts_of(&path, &bytes, options);
                    if let Some(texts) = texts.filter(|texts| !paths.contains(texts)) {
                        companions.insert(texts.clone(), name_of(&path));
                        paths.insert(next, texts);
                    }
                    if is_corpus(&path) {
                        let file = name_of(&path);
                        problems.push(Problem::Corpus { file });
                        continue;
                    }
                    if let Some(problem) = companions
                        .get(&path)
                        .and_then(|judgements| not_topics(&path, &bytes, judgements))
                    {
                        problems.push(problem);
                        continue;
                    }
                    files.push(SourceFile {
                        name: name_of(&path),
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

/// Parses the content of one gold file. `name` is used in messages.
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
pub(super) fn into_result(
    (set, error): (GoldSet, Option<GoldError>),
) -> Result<GoldSet, GoldError> {
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
        let drafts = drafts.filter_map(|file| formats::read(file, options, &mut problems));
        drafts.collect::<Vec<_>>()
    };
    let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
    let (drafts, sha256) = if bytes < LARGE_BYTES {
        (read(), digest(files))
    } else {
        rayon::join(read, || digest(files))
    };
    let topics = drafts.iter().map(|draft: &Draft| draft.topics.len()).sum();
    let with_queries = drafts.iter().filter(|draft| !draft.queries.is_empty());
    let grades: BTreeSet<&str> = with_queries.map(|draft| draft.grades).collect();
    let set = validate::assemble(drafts, options, sha256, &mut problems);
    if problems.is_empty() && !files.is_empty() {
        let files = files.iter().map(|file| file.name.to_string()).collect();
        if set.queries().is_empty() {
            problems.push(Problem::NoJudgements { files, topics });
        } else if set.lacks_judgements(options.unjudged) {
            problems.push(Problem::Unjudged {
                files,
                queries: set.queries().len(),
                grades: grades.into_iter().collect::<Vec<_>>().join(" or "),
            });
        }
    }
    (set, problems.into_error())
}

/// Path that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Size of a large file, and of its parts that are read in parallel.
const LARGE_BYTES: usize = 1 << 20;

/// Number of bytes by which the format of a large file is recognised.
const HEAD_BYTES: usize = 64 << 10;

/// Reads a file, at most [`Format::MAX_FILE_BYTES`] + 1 bytes of its content, which may be compressed.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let bytes = read_bytes(path)?;
    if compression::is_encoded(&bytes) {
        let expected = bytes.len();
        return read_limited(
            compression::decompressed(std::io::Cursor::new(bytes))?,
            expected,
        );
    }
    Ok(bytes)
}

fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    if path == Path::new(STANDARD_INPUT) {
        return read_limited(std::io::stdin().lock(), 0);
    }
    let mut file = fs::File::open(path)?;
    let size = file.metadata()?.len();
    let expected = usize::try_from(size).unwrap_or(0);
    if !(LARGE_BYTES..=Format::MAX_FILE_BYTES).contains(&expected) {
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
    let limit = u64::try_from(Format::MAX_FILE_BYTES + 1 - expected).unwrap_or(u64::MAX);
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_limited(source: impl Read, expected: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(expected.min(Format::MAX_FILE_BYTES + 1));
    let limit = u64::try_from(Format::MAX_FILE_BYTES + 1).unwrap_or(u64::MAX);
    source.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Path of the query texts of judgements that begin with `bytes`, if they are in a file of their own.
fn texts_of(path: &Path, bytes: &[u8], options: &Options) -> Option<PathBuf> {
    match formats::format_with_separate_texts(bytes, options)? {
        Format::Beir => queries_of(path),
        _ => topics_of(path),
    }
    .into_iter()
    .find(|texts| texts.is_file())
}

/// Problem of a file beside judgements that has their name and no topics.
fn not_topics(path: &Path, bytes: &[u8], judgements: &Arc<str>) -> Option<Problem> {
    if !are_topics(path) {
        return None;
    }
    let text = text::decode(bytes).ok()?;
    let lines = (1..).zip(text.lines());
    let (line, first) = lines
        .into_iter()
        .find(|(_, line)| !line.trim().is_empty())?;
    let found = first.split('\t').count();
    (found != 2).then(|| Problem::NotTopics {
        place: Place {
            file: name_of(path),
            line: Some(line),
        },
        judgements: Arc::clone(judgements),
        found: if found == 1 {
            first.split_ascii_whitespace().count()
        } else {
            found
        },
    })
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
                Ok(_) if path.join("qrels").is_dir() => {
                    split_of(path, problems).into_iter().for_each(&mut add);
                }
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

/// Returns the judgements of a dataset in the layout of BEIR, with the folder `qrels`: those of the
/// test split, else the only ones.
fn split_of(dataset: &Path, problems: &mut Problems) -> Option<PathBuf> {
    let folder = dataset.join("qrels");
    let found = match files_of(&folder) {
        Ok(found) => found,
        Err(source) => {
            let path = folder;
            problems.push(Problem::Unreadable { path, source });
            return None;
        }
    };
    let is_test = |path: &&PathBuf| {
        let path = uncompressed(path);
        path.file_stem().is_some_and(|stem| stem == "test")
    };
    match (found.iter().find(is_test), found.as_slice()) {
        (Some(test), _) | (None, [test]) => return Some(test.clone()),
        (None, []) => problems.push(Problem::NoFiles { path: folder }),
        (None, several) => {
            let names = several.iter().map(|path| file_name(path).to_string());
            problems.push(Problem::SeveralSplits {
                path: dataset.to_owned(),
                names: names.collect(),
            });
        }
    }
    None
}

/// Name of the documents of a BEIR dataset, which are no part of a gold set.
const CORPUS: &str = "corpus.jsonl";

fn is_corpus(path: &Path) -> bool {
    let path = uncompressed(path);
    path.file_name().is_some_and(|name| name == CORPUS)
}

fn files_of(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // A broken link is kept: reading it fails with an error that names it.
        let name = file_name(&path);
        if !name.starts_with('.') && !is_corpus(&path) && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Name of a file in messages: its path, because several folders may have files of one name.
fn name_of(path: &Path) -> Arc<str> {
    path.to_string_lossy().into()
}

fn file_name(path: &Path) -> Cow<'_, str> {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy()
}
