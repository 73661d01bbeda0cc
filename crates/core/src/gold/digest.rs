//! Hash of the files of a gold set.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::formats::draft::SourceFile;

/// SHA-256 over names and contents. Each is preceded by its length, which makes the boundaries
/// between them part of the hash.
pub(super) fn digest(files: &[SourceFile]) -> String {
    let mut hash = Sha256::new();
    for file in files {
        add_part(&mut hash, file.name.as_bytes());
        add_part(&mut hash, &file.bytes);
    }
    hex(hash)
}

pub(super) fn add_part(hash: &mut Sha256, part: &[u8]) {
    add_length(hash, part.len());
    hash.update(part);
}

pub(super) fn add_length(hash: &mut Sha256, length: usize) {
    hash.update(length.to_string());
    hash.update(":");
}

/// Returns the hash in hexadecimal digits.
pub(super) fn hex(hash: Sha256) -> String {
    let mut hex = String::with_capacity(64);
    for byte in hash.finalize() {
        write!(hex, "{byte:02x}").expect("invariant: writing to a string does not fail");
    }
    hex
}
