//! Tokens of applications that send events to the gateway, in a file of its own.
//!
//! No problem of this file repeats a token.

use std::collections::BTreeSet;
use std::error::Error;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::key::{Bytes, Checked, Group, List, Number, Shape, TEXT, keys, named};
use super::layers;
use super::problem::ConfigError;
use super::reader::Reader;
use rankgauge_core::number::real_length;
use rankgauge_gateway::Application;
use rankgauge_serve::web::{TOKEN, TokenHash};

/// Maximum number of applications: each is the value of a label.
const MAX_APPLICATIONS: usize = 1_000;

/// Maximum length of a name.
const MAX_NAME: usize = 64;

/// Reads the applications of a file.
///
/// # Errors
/// All problems of the file, without any of its tokens.
pub fn applications(path: &Path) -> Result<Vec<Application>, Box<dyn Error + Send + Sync>> {
    let files: [PathBuf; 1] = [path.to_owned()];
    let (tree, problems) = layers::merge("", &files, std::iter::empty(), &[]);
    let mut reader = Reader::new(tree, problems, all());
    let applications = read(&mut reader);
    let problems = reader.finish();
    if problems.is_empty() {
        Ok(applications)
    } else {
        Err(ConfigError { problems }.into())
    }
}

keys! {
    /// Keys of a file with tokens.
    fn all;

    /// Applications that can send events.
    APPLICATIONS: Group = "applications", Group(Shape::Sections);
    /// Name, the value of the label `application`.
    NAME: Checked<String> = "applications[].name", named(name);
    /// Tokens, of which any grants access: two while one replaces the other.
    TOKENS: List<Checked<String>> = "applications[].tokens", List(TEXT, 1, 10);
    /// Maximum number of events a second.
    EVENTS: Number = "applications[].events_per_second",
        Number(Bound::Excluded(0.0), Bound::Included(1e9), "a number above 0");
    /// Maximum number of bytes a second.
    BYTES: Bytes = "applications[].bytes_per_second", Bytes(1, 1 << 40);
}

fn name(text: &str) -> Result<String, String> {
    let is_name = (1..=MAX_NAME).contains(&text.len())
        && text
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it));
    if is_name {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "is not a name; use up to {MAX_NAME} of A-Z, a-z, 0-9, -, _ and ."
        ))
    }
}

fn read(reader: &mut Reader) -> Vec<Application> {
    let mut applications: Vec<Application> = Vec::new();
    let mut tokens = BTreeSet::new();
    let sections = reader.sections(&APPLICATIONS);
    if sections.is_empty() || sections.len() > MAX_APPLICATIONS {
        let text = format!("has to have 1 to {MAX_APPLICATIONS} applications");
        reader.problem(&APPLICATIONS.path, text);
        return applications;
    }
    for path in sections {
        let key = TOKENS.of(&path);
        let mut hashes = Vec::new();
        for element in reader.list(&key) {
            match TokenHash::parse(&element.value) {
                None => reader.problem(&element.path, format!("is no token; {TOKEN}")),
                Some(_) if !tokens.insert(element.value) => {
                    reader.problem(
                        &element.path,
                        "is a token twice; give each application its own",
                    );
                }
                Some(hash) => hashes.push(hash),
            }
        }
        if !reader.is_written(&key.path) {
            reader.problem(&key.path, format!("is missing; {TOKEN}"));
        }
        let name_key = NAME.of(&path);
        let Some(name) = reader.required(&name_key) else {
            continue;
        };
        if applications.iter().any(|other| other.name == name) {
            reader.problem(&name_key.path, format!("two applications are \"{name}\""));
        }
        applications.push(Application {
            name,
            tokens: hashes,
            events_per_second: reader.find(&EVENTS.of(&path)),
            bytes_per_second: reader.find(&BYTES.of(&path)).map(real_length),
        });
    }
    applications
}
