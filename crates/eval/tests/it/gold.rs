//! Gold sets made, reviewed, extended and written.

mod adoption;
mod agreement;
mod review;
mod sample;
mod tally;
mod templates;
mod writing;

use std::path::PathBuf;

use rankgauge_core::gold::{self, GoldQuery, GoldSet, Options};

fn data(name: &str) -> PathBuf {
    crate::repository("tests/data/gold").join(name)
}

fn load(name: &str) -> GoldSet {
    gold::load(&[data(name)], &Options::default()).expect("a valid gold file")
}

fn parse(content: &str) -> GoldSet {
    gold::parse("gold", content.as_bytes(), &Options::default()).expect("a valid gold file")
}

/// Native gold set with these queries.
fn native(queries: &str) -> String {
    format!("{{\"queries\": [{queries}]}}")
}

fn grade_of(query: &GoldQuery, document: &str) -> Option<f64> {
    query
        .judgements
        .find(document)
        .map(|(_, grade)| grade.get())
}
