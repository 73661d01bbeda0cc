//! The `gold` commands.

mod commands;
mod demo_labels;
mod from_clicks;
mod label_serve;
mod propose;
mod sample;
mod suggest_aliases;
mod templates;

use std::path::PathBuf;

fn data(name: &str) -> PathBuf {
    crate::repository("tests/data/gold").join(name)
}
