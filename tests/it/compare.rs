//! The command `rankgauge compare`.

mod differences;
mod formats;
mod mistakes;
mod scores;
mod slices;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::harness::command::{self, Arguments};

fn data(name: &str) -> PathBuf {
    crate::repository("tests/data/compare").join(name)
}

/// Writes files into a folder. Returns their paths.
fn written<C: AsRef<[u8]>, const N: usize>(folder: &Path, files: [(&str, C); N]) -> [String; N] {
    files.map(|(name, content)| {
        let path = folder.join(name);
        fs::write(&path, content).expect("a file");
        path.to_str().expect("a path").to_owned()
    })
}

/// Runs `rankgauge compare`.
fn rankgauge<A: Arguments + ?Sized>(arguments: &A) -> Output {
    let arguments = [&["compare"][..], &arguments.words()[..]].concat();
    command::rankgauge(Path::new("."), &arguments)
}

/// Runs the command on the four files, with more arguments.
fn four(arguments: &[&str]) -> Output {
    let files = ["V1", "V2", "V3", "V4"].map(|name| data(&format!("{name}.eval")));
    let mut all: Vec<&str> = Vec::new();
    for file in &files {
        all.extend(["--scores", file.to_str().expect("a path of ASCII")]);
    }
    all.extend(["--interaction", "V1,V2,V3,V4"]);
    all.extend(arguments);
    rankgauge(&all)
}
