//! Names of the files in which the query texts of judgements can be.
//!
//! Any of them can be compressed: its name then has a further ending. This module reads no file.

use std::path::{Path, PathBuf};

/// Endings of the names of compressed files.
const COMPRESSED: [&str; 4] = ["gz", "zst", "zstd", "lz4"];

/// Ending of the name of a file of topics.
const TOPICS: &str = "tsv";

/// Name of the query texts of a BEIR dataset.
const QUERIES: &str = "queries.jsonl";

/// Path without the ending of a compression.
pub(super) fn uncompressed(path: &Path) -> PathBuf {
    if is_compressed(path) {
        path.with_extension("")
    } else {
        path.to_owned()
    }
}

fn is_compressed(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| COMPRESSED.contains(&ending))
}

/// Returns true for the name of a file of topics.
pub(super) fn are_topics(path: &Path) -> bool {
    uncompressed(path)
        .extension()
        .is_some_and(|ending| ending == TOPICS)
}

/// The path, and those of its compressed forms.
fn forms(path: PathBuf) -> impl Iterator<Item = PathBuf> {
    let compressed = COMPRESSED.map(|ending| {
        let mut name = path.clone().into_os_string();
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    });
    std::iter::once(path).chain(compressed)
}

/// Paths of the topics of TREC qrels, the preferred one first: `NAME.tsv` for `NAME.EXT` and for `NAME.EXT.gz`.
pub(super) fn topics_of(judgements: &Path) -> Vec<PathBuf> {
    if are_topics(judgements) {
        return Vec::new();
    }
    let mut names = vec![uncompressed(judgements)];
    if is_compressed(judgements) {
        names.push(judgements.to_owned());
    }
    let names = names.iter().map(|name| name.with_extension(TOPICS));
    names.flat_map(forms).collect()
}

/// Paths of the query texts of BEIR judgements, the preferred one first: beside them, and in the folder above.
pub(super) fn queries_of(judgements: &Path) -> Vec<PathBuf> {
    let Some(folder) = judgements.parent() else {
        return Vec::new();
    };
    let above = match folder.parent() {
        Some(parent) if folder.file_name().is_some() => parent.join(QUERIES),
        // The folder is `.` or ends in `..`: its parent cannot be derived from its name.
        _ => folder.join("..").join(QUERIES),
    };
    let paths = [folder.join(QUERIES), above].into_iter();
    paths.flat_map(forms).collect()
}
