//! Compatibility with release 0.1.0: the files in `tests/data/release-0.1.0` keep their meaning in every
//! later 0.x version (docs/upgrade.md).
//!
//! They are written once, for the release, by `RELEASE=1 cargo test --test it release::`. A later version
//! never writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rankgauge::checkpoint::{Checkpoint, VERSION};
use rankgauge::config::{self, SettingValue};
use rankgauge_core::engine::family;
use serde_json::Value;

use crate::faults;
use crate::harness::command::{assert_exit, json, rankgauge, stderr, stdout};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn kept(name: &str) -> PathBuf {
    root("tests/data/release-0.1.0").join(name)
}

/// Whether the files of the release are written.
fn is_release() -> bool {
    std::env::var_os("RELEASE").is_some_and(|value| value == "1")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
    fs::write(path, content).expect("the file can be written");
}

/// The reference configuration with its examples enabled, so that it sets every key.
fn every_key() -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in read(&root("config/rankgauge.yaml")).lines() {
        let text = line.trim_start();
        let example = text.strip_prefix('#');
        let Some(example) = example.filter(|it| !it.is_empty() && !it.starts_with(' ')) else {
            lines.push(line.to_owned());
            continue;
        };
        let indent = &line[..line.len() - text.len()];
        // The {} or [] of the section that the example replaces, above its comment.
        let section = lines
            .iter_mut()
            .rfind(|it| !it.trim_start().starts_with('#'));
        if let Some(before) = section
            && before.len() - before.trim_start().len() < indent.len()
        {
            for empty in [": {}", ": []"] {
                if let Some(key) = before.strip_suffix(empty) {
                    *before = format!("{key}:");
                }
            }
        }
        lines.push(format!("{indent}{example}"));
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_reference_with_its_examples_is_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rankgauge.yaml");
    write(&file, every_key().as_bytes());
    let settings = config::settings(&[file], std::iter::empty(), &[]);
    settings.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn every_configuration_key_of_the_release_is_accepted() {
    let file = kept("rankgauge.yaml");
    if is_release() {
        write(&file, every_key().as_bytes());
    }
    let settings = config::settings(std::slice::from_ref(&file), std::iter::empty(), &[]);
    let settings = settings.unwrap_or_else(|error| panic!("{error}"));
    let set = settings
        .iter()
        .filter(|setting| setting.place.to_string().contains("rankgauge.yaml"));
    assert!(set.count() > 80, "{} sets few keys", file.display());
}

#[test]
fn every_default_of_the_release_is_unchanged() {
    let file = kept("defaults.json");
    let settings = config::settings(&[], std::iter::empty(), &[]).expect("defaults are valid");
    let defaults: BTreeMap<String, String> = settings
        .iter()
        .map(|setting| (setting.key.clone(), setting.value.to_string()))
        .collect();
    if is_release() {
        let text = serde_json::to_string_pretty(&defaults).expect("JSON");
        write(&file, (text + "\n").as_bytes());
    }
    let kept: BTreeMap<String, String> = serde_json::from_str(&read(&file)).expect("JSON");
    for (key, value) in kept {
        assert_eq!(defaults.get(&key), Some(&value), "default of {key}");
    }
}

#[test]
fn every_metric_of_the_release_has_its_type_and_labels() {
    let file = kept("metrics.txt");
    let current: BTreeSet<String> = family::ALL
        .iter()
        .map(|family| {
            let labels = family.label_names().join(",");
            format!("{} {} {labels}", family.full_name(), family.kind.name())
        })
        .collect();
    if is_release() {
        let lines: Vec<&str> = current.iter().map(String::as_str).collect();
        write(&file, (lines.join("\n") + "\n").as_bytes());
    }
    for family in read(&file).lines() {
        assert!(
            current.contains(family),
            "release 0.1.0 has the family \"{family}\": dashboards and alerts of users need it"
        );
    }
}

/// Counters after the events of the release, by series.
fn counters() -> BTreeMap<String, f64> {
    let replay =
        "replay --set gold.paths=gold.json --search search-0.jsonl --feedback feedback-0.jsonl";
    let state = json(&rankgauge(&kept(""), replay));
    let samples = state["metrics"].as_array().expect("samples");
    samples
        .iter()
        .filter_map(|sample| {
            let name = sample["name"].as_str().expect("a name");
            let counts = name.ends_with("_total");
            let value = sample["value"].as_f64();
            counts.then(|| {
                (
                    format!("{name}{}", sample["labels"]),
                    value.unwrap_or(f64::NAN),
                )
            })
        })
        .collect()
}

#[test]
fn events_of_the_release_are_counted_in_the_same_way() {
    let file = kept("counters.json");
    if is_release() {
        let folder = kept("");
        fs::create_dir_all(&folder).expect("a folder");
        let produce = "produce --searches 60 --queries 20 --output . --gold gold.json";
        assert_exit(&rankgauge(&folder, produce), 0);
        let text = serde_json::to_string_pretty(&counters()).expect("JSON");
        write(&file, (text + "\n").as_bytes());
    }
    let current = counters();
    let kept: BTreeMap<String, f64> = serde_json::from_str(&read(&file)).expect("JSON");
    assert!(kept.len() > 100, "{} counters", kept.len());
    for (series, value) in kept {
        let found = current.get(&series).copied().unwrap_or(f64::NAN);
        assert!(
            (found - value).abs() <= 1e-9,
            "{series} is {found}, was {value}"
        );
    }
}

/// The name contains "golden", like the other tests of checkpoints.
#[test]
fn golden_checkpoint_of_the_release_restores_the_same_samples() {
    let [checkpoint, says] =
        ["checkpoint", "json"].map(|suffix| kept(&format!("version-{VERSION}.{suffix}")));
    if is_release() {
        for file in [&checkpoint, &says] {
            let name = file.file_name().expect("a name");
            let current = root("tests/data/checkpoints").join(name);
            write(file, &fs::read(current).expect("the golden checkpoint"));
        }
    }
    let bytes = fs::read(&checkpoint).expect("the checkpoint of the release");
    let read_back = Checkpoint::read(&*bytes);
    let read_back = read_back.unwrap_or_else(|error| {
        panic!(
            "the checkpoint of release 0.1.0 cannot be read: {error:?}. Before the release, \
             `RELEASE=1 cargo test --test it release::` writes it anew"
        )
    });
    let says: Value = serde_json::from_str(&read(&says)).expect("JSON");
    faults::assert_contains(&faults::described(&read_back), &says);
}

/// Files that git tracks.
fn tracked() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root(""))
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{output:?}");
    let names = stdout(&output);
    names.split_terminator('\0').map(str::to_owned).collect()
}

/// Caches of tools and notes do not stay in the repository.
#[test]
fn root_of_the_repository_contains_only_known_names() {
    let known = ".ci .clippy.toml .github .gitignore ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md Cargo.lock \
                 Cargo.toml LICENSE Makefile README.md SECURITY.md action.yml benches build.rs config crates \
                 deny.toml deploy docs examples fuzz grafana rust-toolchain.toml schemas src tests";
    let tracked = tracked();
    let found: BTreeSet<&str> = tracked
        .iter()
        .filter_map(|path| path.split('/').next())
        .collect();
    assert_eq!(
        found,
        known.split(' ').collect::<BTreeSet<&str>>(),
        "list what belongs to the root; ignore what a tool leaves there"
    );
}

/// Value of a key in a section of the manifest.
pub(crate) fn manifest(section: &str, key: &str) -> String {
    let manifest = read(&root("Cargo.toml"));
    let (_, section) = manifest.split_once(section).expect(section);
    let line = section.lines().find_map(|line| line.strip_prefix(key));
    let value = line.and_then(|line| line.trim_start().strip_prefix("= \""));
    let value = value.and_then(|value| value.strip_suffix('"'));
    value.expect(key).to_owned()
}

/// Owner and name behind each mention of a place of repositories in a line: an address on GitHub, or an action.
fn repositories(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let places = ["github.com/", "githubusercontent.com/", "uses: ", "--repo "];
    let mentions = places
        .into_iter()
        .flat_map(|place| line.split(place).skip(1));
    mentions.filter_map(|rest| {
        let is_in_name = |it: char| it.is_ascii_alphanumeric() || "-_./".contains(it);
        let path = rest.split(|it| !is_in_name(it)).next()?;
        let (owner, rest) = path.split_once('/')?;
        Some((owner, rest.split('/').next()?))
    })
}

#[test]
fn every_file_names_the_repository_and_the_registry_of_the_manifest() {
    let repository = manifest("[workspace.package]", "repository");
    let registry = manifest("[workspace.metadata.release]", "registry");
    let owner = registry.split('/').nth(1).expect("an owner");
    assert_eq!(repository, format!("https://github.com/{owner}/rankgauge"));
    for path in tracked() {
        let Ok(text) = fs::read_to_string(root(&path)) else {
            continue;
        };
        for (line, text) in text.lines().enumerate() {
            for (_, rest) in text
                .match_indices("ghcr.io/")
                .map(|(at, _)| text.split_at(at))
            {
                let is_ours = rest.starts_with(&registry) || path == "tests/it/release.rs";
                assert!(is_ours, "{path}:{}: {rest}", line + 1);
            }
            for (found, name) in repositories(text) {
                assert!(
                    name != "rankgauge" || found == owner,
                    "{path}:{}: {found}/{name} is not {repository}",
                    line + 1
                );
            }
        }
    }
}

#[test]
fn pages_download_and_verify_this_version_from_the_places_of_the_manifest() {
    let version = env!("CARGO_PKG_VERSION");
    let repository = manifest("[workspace.package]", "repository");
    let registry = manifest("[workspace.metadata.release]", "registry");
    let name = repository
        .strip_prefix("https://github.com/")
        .expect("a repository on GitHub");
    assert!(root(".github/workflows/release.yml").is_file());
    let lines = [
        format!("[releases]({repository}/releases)"),
        format!("gh release download v{version} --repo {name} "),
        format!("gh attestation verify rankgauge_{version}_amd64.deb --repo {name}`"),
        format!("podman pull {registry}/rankgauge:{version}`"),
        format!("cosign verify {registry}/rankgauge:{version} "),
        format!(
            "--certificate-identity {repository}/.github/workflows/release.yml@refs/tags/v{version} "
        ),
        format!("`{registry}/charts/rankgauge:{version}`"),
        format!(" {registry}/rankgauge:{version} run --config "),
        format!("`helm install rankgauge oci://{registry}/charts/rankgauge --version {version} "),
    ];
    let page = read(&root("docs/install.md"));
    for line in lines {
        assert!(page.contains(&line), "docs/install.md lacks: {line}");
    }
    let readme = read(&root("README.md"));
    for line in [
        format!("[releases]({repository}/releases)"),
        format!("`podman pull {registry}/rankgauge:{version}`"),
        format!("`apt install ./rankgauge_{version}_amd64.deb`"),
    ] {
        assert!(readme.contains(&line), "README.md lacks: {line}");
    }
    for file in ["docs/gate.md", "examples/ci/search-quality.yaml"] {
        let action = format!("uses: {name}@v{version}\n");
        assert!(
            read(&root(file)).contains(&action),
            "{file} lacks: {action}"
        );
    }
}

/// Notes of a release, for a changelog and a tag.
fn notes(changelog: &str, tag: &str) -> std::process::Output {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["notes.sh", "project.sh"] {
        let to = folder.path().join("deploy/release").join(name);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(root("deploy/release").join(name), to).expect("a copy");
    }
    fs::copy(root("Cargo.toml"), folder.path().join("Cargo.toml")).expect("a copy");
    write(&folder.path().join("CHANGELOG.md"), changelog.as_bytes());
    let script = folder.path().join("deploy/release/notes.sh");
    Command::new(script)
        .arg(tag)
        .output()
        .expect("the script runs")
}

#[test]
fn notes_of_a_release_need_the_tag_of_its_version_with_a_date() {
    let version = env!("CARGO_PKG_VERSION");
    let dated = format!(
        "# Changelog\n\n## {version} (2027-01-31)\n\n- new\n\n## 0.0.1 (2020-01-01)\n\n- old\n"
    );
    let output = notes(&dated, &format!("v{version}"));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(stdout(&output), "\n- new\n\n");
    let undated = dated.replace("(2027-01-31)", "(unreleased)");
    for (changelog, tag, problem) in [
        (&dated, "v9.9.9".to_owned(), "the tag is 'v9.9.9'"),
        (
            &undated,
            format!("v{version}"),
            "CHANGELOG.md needs the line",
        ),
    ] {
        let output = notes(changelog, &tag);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = stderr(&output);
        assert!(said.contains(problem), "{said}");
    }
}

/// Names of variables in a text.
fn variables(text: &str) -> BTreeSet<String> {
    text.split(|it: char| !it.is_ascii_uppercase() && !it.is_ascii_digit() && it != '_')
        .filter(|word| word.starts_with("RANKGAUGE__"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_environment_variable_in_the_documents_sets_its_key() {
    let folders = ["docs", "config", "deploy/helm/rankgauge"];
    let pages = folders
        .iter()
        .flat_map(|folder| fs::read_dir(root(folder)).expect("a folder"));
    let mut names: BTreeSet<String> = pages
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .flat_map(|path| variables(&read(&path)))
        .collect();
    names.extend(variables(&read(&root("README.md"))));
    assert!(names.len() >= 3, "{names:?}");
    for name in names {
        let (_, key) = name.split_once("__").expect("the prefix");
        let key = key.to_lowercase().replace("__", ".");
        let key = match key.strip_prefix("kafka.properties.") {
            Some(property) => format!("kafka.properties.{}", property.replace('_', ".")),
            None => key,
        };
        // The default is a valid value.
        let defaults = config::settings(&[], std::iter::empty(), &[]).expect("defaults");
        let default = defaults.iter().find(|setting| setting.key == key);
        let value = match default.map(|setting| &setting.value) {
            Some(SettingValue::Text(text)) => text.clone(),
            Some(SettingValue::List(elements)) => elements.join(","),
            Some(SettingValue::EmptySection) | None => "text".to_owned(),
        };
        let environment = std::iter::once((name.clone(), value));
        let settings = config::settings(&[], environment, &[]);
        let settings = settings.unwrap_or_else(|error| panic!("{name}: {error}"));
        let set = settings.iter().find(|setting| setting.key == key);
        let place = set.map(|setting| setting.place.to_string());
        assert!(
            place.as_ref().is_some_and(|place| place.contains(&name)),
            "{name} does not set {key}: {place:?}"
        );
    }
}
