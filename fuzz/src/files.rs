//! Readers of files and texts: gold sets, runs, checkpoints, configurations and measures.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use rankgauge::checkpoint::{Checkpoint, VERSION};
use rankgauge_core::decode::Formats;
use rankgauge_core::event::Limits;
use rankgauge_core::gold::adoption::FilledRow;
use rankgauge_core::gold::expansion::Relation;
use rankgauge_core::gold::{self, Format, Options};
use rankgauge_core::measure::Measure;
use rankgauge_eval::run::{Order, ReadOptions, RunReader};

use super::{assert_explained, choice};

/// Longest explanation of a rejected file in bytes. It lists several problems with their places.
const MAX_EXPLANATION: usize = 1 << 20;

pub(super) fn gold(input: &[u8]) {
    let formats = Format::ALL.map(Some);
    let options = Options {
        // Half of the files are recognised by their content.
        format: choice(input, &[true, false])
            .then(|| choice(&input[input.len() / 2..], &formats))
            .flatten(),
        ..Options::default()
    };
    let name = choice(input, &["gold.json", "gold.tsv", "gold.csv"]);
    if let Err(error) = gold::parse(name, input, &options) {
        assert_explained(&error.to_string(), MAX_EXPLANATION);
    }
    if let Err(error) = FilledRow::parse_sheet("sheet.csv", input) {
        assert_explained(&error.to_string(), MAX_EXPLANATION);
    }
    if let Err(error) = Relation::parse_all("edges.csv", input) {
        assert_explained(&error.to_string(), MAX_EXPLANATION);
    }
}

pub(super) fn run(input: &[u8]) {
    let order = choice(
        input,
        &[
            None,
            Some(Order::Served),
            Some(Order::Score),
            Some(Order::Ascending),
            Some(Order::Rank),
        ],
    );
    let limits = Limits {
        record_bytes: 1 << 16,
        results_per_search: 100,
    };
    let options = ReadOptions {
        order,
        scores: choice(input, &[true, false]),
        formats: choice(input, &[true, false]).then(|| {
            Arc::new(Formats {
                is_shared: true,
                ..Formats::NATIVE
            })
        }),
        ignore_identical_ids: choice(input, &[true, false]),
        ..ReadOptions::new(limits)
    };
    let run = RunReader::of_bytes(PathBuf::from("a.run"), input.to_vec(), &options);
    if let Err(error) = run.and_then(|run| run.each_answer(|| (), |(), _, _| ())) {
        assert_explained(&error.to_string(), MAX_EXPLANATION);
    }
}

/// Reads the input as a file, and as the content of a valid frame: a checksum protects the file.
pub(super) fn checkpoint(input: &[u8]) {
    let mut framed = format!("rankgauge checkpoint {VERSION}\n").into_bytes();
    if input.starts_with(&framed) {
        drop(Checkpoint::read(input));
        return;
    }
    framed.extend(zstd::encode_all(input, 1).expect("memory"));
    if let Ok(checkpoint) = Checkpoint::read(&*framed) {
        let mut written = Vec::new();
        checkpoint.write(&mut written).expect("memory");
        assert!(Checkpoint::read(&*written).is_ok());
    }
}

pub(super) fn config(input: &[u8]) {
    let mut file = tempfile::Builder::new()
        .suffix(".yaml")
        .tempfile()
        .expect("a file");
    file.write_all(input).expect("a file can be written");
    match rankgauge::config::load(&[file.path().to_owned()], std::iter::empty(), &[]) {
        Ok(config) => assert!(!config.summary().is_empty()),
        Err(error) => assert_explained(&error.to_string(), MAX_EXPLANATION),
    }
}

pub(super) fn measure(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Err(error) = Measure::parse_list(text) {
        assert_explained(&error.to_string(), MAX_EXPLANATION);
    }
    let Ok(measure) = text.parse::<Measure>() else {
        return;
    };
    // The canonical name is a name of the same measure.
    let again: Result<Measure, _> = measure.to_string().parse();
    assert_eq!(again.ok().as_ref(), Some(&measure));
}
