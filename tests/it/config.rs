//! Configuration: layers, validation, and the shipped files.

mod broken;
mod derived;
mod eligibility;
mod formats;
mod layers;
mod objectives;
mod shipped;
mod show;
mod values;

pub(crate) use derived::json;

use std::path::PathBuf;

use rankgauge::config::{self, Config};

/// Files of one test, in a separate folder.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Loads files with these contents, named `0.yaml`, `1.yaml`, …
    fn load(
        &self,
        contents: &[&str],
        environment: &[(&str, &str)],
        overrides: &[(&str, &str)],
    ) -> Result<Config, Vec<String>> {
        let write =
            |(index, content): (usize, &&str)| self.write(&format!("{index}.yaml"), content);
        let files: Vec<PathBuf> = contents.iter().enumerate().map(write).collect();
        self.load_files(&files, environment, overrides)
    }

    /// Returns the configuration, or its problems without the folder name.
    fn load_files(
        &self,
        files: &[PathBuf],
        environment: &[(&str, &str)],
        overrides: &[(&str, &str)],
    ) -> Result<Config, Vec<String>> {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let overrides: Vec<_> = overrides.iter().map(owned).collect();
        config::load(files, environment.iter().map(owned), &overrides).map_err(|error| {
            let folder = format!("{}/", self.0.path().display());
            let problems = error.problems.iter();
            problems
                .map(|problem| problem.to_string().replace(&folder, ""))
                .collect()
        })
    }
}

fn load(
    contents: &[&str],
    environment: &[(&str, &str)],
    overrides: &[(&str, &str)],
) -> Result<Config, Vec<String>> {
    Files::new().load(contents, environment, overrides)
}

fn problems(content: &str) -> Vec<String> {
    load(&[content], &[], &[]).expect_err(content)
}

#[track_caller]
fn assert_problem(content: &str, expected: &str) {
    assert_eq!(problems(content), [expected], "{content}");
}
