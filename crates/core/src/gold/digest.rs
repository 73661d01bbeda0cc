//! Hash of the content of a gold set.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::formats::draft::SourceFile;

/// SHA-256 of the content of a file after decompression, as `sha256sum` prints it. Of several files, it is that of
/// these hashes in ascending order, one on a line. Names, folders and the order of the files are no part of it.
pub(super) fn digest(files: &[SourceFile]) -> String {
    let hash = |file: &SourceFile| hex(Sha256::new_with_prefix(&file.bytes));
    let mut hashes: Vec<String> = files.iter().map(hash).collect();
    if hashes.len() == 1
        && let Some(only) = hashes.pop()
    {
        return only;
    }
    hashes.sort_unstable();
    let mut all = Sha256::new();
    for hash in hashes {
        all.update(hash);
        all.update("\n");
    }
    hex(all)
}

/// Adds a text after its length, so that the boundaries between texts are part of the hash.
pub(super) fn add_part(hash: &mut Sha256, part: &[u8]) {
    hash.update(part.len().to_string());
    hash.update(":");
    hash.update(part);
}

/// Returns the hash in hexadecimal digits.
pub(super) fn hex(hash: Sha256) -> String {
    let mut hex = String::with_capacity(64);
    for byte in hash.finalize() {
        write!(hex, "{byte:02x}").expect("invariant: writing to a string does not fail");
    }
    hex
}
