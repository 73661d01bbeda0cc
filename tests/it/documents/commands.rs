//! Blocks of the pages. Each command block runs here or is listed with the reason; every command line of
//! rankgauge has arguments that the program accepts; every target of make exists; configurations are valid by
//! the schema.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::{copy_of, pages as pages_of, read};
use crate::live::pages;

const CONNECT: &str = "make test-connect runs the program of the page";
const KAFKA: &str = "a cluster with topics of yours; tests/it/live runs the command";

/// Reasons of blocks that run neither here nor in `live::pages`: the page, the beginning of the block, and what it needs.
const NOT_RUN: [(&str, &str, &str); 41] = [
    (
        "README.md",
        "make demo      ",
        "a loop that waits for Ctrl-C; the next test reads its arguments",
    ),
    (
        "README.md",
        "make demo\n",
        "a loop that waits for Ctrl-C; tests/it/terminal runs the demo",
    ),
    (
        "deploy/helm/rankgauge/README.md",
        "helm install",
        "an API server; make deploy-test installs the chart",
    ),
    (
        "deploy/strimzi/README.md",
        "kubectl",
        "a cluster of Strimzi; tests/it/deploy.rs checks the files",
    ),
    (
        "docs/configuration.md",
        "RANKGAUGE__",
        "an assignment; tests/it/release.rs reads it",
    ),
    ("docs/configuration.md", "for topic in", KAFKA),
    (
        "docs/incident.md",
        "rankgauge demo",
        "a loop that waits for Ctrl-C; tests/it/scenarios.rs plays it",
    ),
    (
        "docs/no-kafka.md",
        "rankgauge demo",
        "a loop that waits for Ctrl-C; tests/it/terminal runs the demo",
    ),
    (
        "docs/operations.md",
        "kubectl port-forward",
        "a cluster; tests/it/live asks a running process",
    ),
    (
        "docs/operations.md",
        "rankgauge check",
        "a configuration of yours; tests/it/capacity.rs predicts",
    ),
    ("docs/operations.md", "kafka-configs.sh", KAFKA),
    (
        "docs/guarantees.md",
        "make chaos",
        "takes many minutes; .github/workflows/scheduled.yml starts it",
    ),
    (
        "docs/guarantees.md",
        "make fuzz",
        "takes many minutes; .github/workflows/scheduled.yml starts it",
    ),
    (
        "docs/guarantees.md",
        "make soak",
        "takes ten minutes; .github/workflows/scheduled.yml starts it",
    ),
    (
        "docs/install.md",
        "sudo editor",
        "root, systemd and an editor; make release-test installs the packages",
    ),
    ("docs/install.md", "make image", "make image-test runs it"),
    (
        "docs/install.md",
        "podman run",
        "an image in a registry; make image-test runs the image",
    ),
    (
        "docs/install.md",
        "rankgauge completions",
        "writes below /usr; tests/it/packaging.rs runs both commands",
    ),
    ("docs/scaling.md", "cargo bench", "a benchmark of an hour"),
    (
        "docs/probe.md",
        "rankgauge probe",
        "a search service; tests/it/probe starts some",
    ),
    ("docs/performance.md", "make bench", "a benchmark"),
    (
        "docs/performance.md",
        "callgrind_annotate",
        "reads what make instructions wrote",
    ),
    (
        "docs/performance.md",
        "cargo bench --no-run",
        "a profiler and its rights",
    ),
    ("docs/gold-guide.md", "cypher-shell", "a graph database"),
    (
        "docs/gold-guide.md",
        "rankgauge gold sample",
        "people fill in the sheet between both commands; tests/it/gold/sample.rs does",
    ),
    (
        "docs/no-gold-set.md",
        "rankgauge gold from-clicks --config",
        KAFKA,
    ),
    (
        "docs/no-gold-set.md",
        "rankgauge label draw",
        "people label between the commands; crates/eval and tests/it test each",
    ),
    (
        "docs/python.md",
        "pip install",
        "a package index; make python builds and tests the package",
    ),
    (
        "docs/connect/own-records.md",
        "rankgauge init",
        "topics of yours; make first-run-test runs it on those of an invented shop",
    ),
    ("docs/connect/access-log.md", "pip", CONNECT),
    ("docs/connect/evaluators.md", "pip", CONNECT),
    ("docs/connect/go.md", "go get", CONNECT),
    ("docs/connect/java.md", "java", CONNECT),
    ("docs/connect/javascript.md", "npm", CONNECT),
    ("docs/connect/python.md", "pip", CONNECT),
    ("docs/connect/rust.md", "cargo add", CONNECT),
    ("docs/connect/ubi.md", "pip", CONNECT),
    ("docs/connect/http.md", "rankgauge gateway", CONNECT),
    ("docs/connect/http.md", "#!/bin/sh", CONNECT),
    ("docs/connect/opentelemetry.md", "export OTEL", CONNECT),
    ("docs/connect/kafka-connect.md", "bin/connect", CONNECT),
];

pub(crate) struct Block {
    pub(crate) page: String,
    /// Folder in which it runs, if it does.
    folder: Option<String>,
    pub(crate) text: String,
}

/// Pages with commands: those of the site, of the root and of the chart.
fn documents() -> Vec<String> {
    let further = [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "deploy/helm/rankgauge/README.md",
        "deploy/strimzi/README.md",
    ];
    let of_site = pages_of("").into_iter().map(|page| format!("docs/{page}"));
    further
        .map(str::to_owned)
        .into_iter()
        .chain(of_site)
        .collect()
}

/// The blocks of a language of all pages, without the indentation of lists.
pub(crate) fn blocks(language: &str) -> Vec<Block> {
    let fence = format!("```{language}");
    let mut blocks = Vec::new();
    for page in documents() {
        let text = read(&page);
        let mut before = "";
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.trim_start() == fence {
                let indentation = &line[..line.len() - fence.len()];
                let folder = before.trim().strip_prefix("<!-- run in: ");
                let folder = folder.and_then(|rest| rest.strip_suffix(" -->"));
                let body = lines.by_ref().take_while(|line| line.trim_start() != "```");
                let body: Vec<&str> = body
                    .map(|line| line.strip_prefix(indentation).unwrap_or(line))
                    .collect();
                blocks.push(Block {
                    page: page.clone(),
                    folder: folder.map(str::to_owned),
                    text: body.join("\n") + "\n",
                });
            }
            before = line;
        }
    }
    blocks
}

/// Lines of a block: continued lines joined, comments removed.
pub(crate) fn lines(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(|line| {
        let command = line.split(" #").next().unwrap_or_default();
        command.trim().to_owned()
    });
    lines.filter(|it| !it.is_empty()).collect()
}

/// Command lines of a block, one for each part of a pipe.
fn commands(text: &str) -> Vec<String> {
    let lines = lines(text);
    let parts = lines.iter().flat_map(|line| line.split(['|', ';']));
    parts.map(|part| part.trim().to_owned()).collect()
}

/// Shell for commands of a page, in a folder. It finds the built program.
pub(crate) fn shell(commands: &str, folder: &Path) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_rankgauge"));
    let programs = program.parent().expect("a folder").display();
    let tools = std::env::var("PATH").expect("a path");
    let mut shell = Command::new("sh");
    shell.args(["-euc", commands]).current_dir(folder);
    shell.env("PATH", format!("{programs}:{tools}"));
    shell
}

#[test]
fn every_command_block_runs_or_has_a_reason() {
    let mut used = BTreeSet::new();
    let mut number = 0;
    for block in blocks("sh") {
        let reason = NOT_RUN
            .iter()
            .position(|(page, begin, _)| block.page == *page && block.text.starts_with(begin));
        used.extend(reason);
        let is_live = pages::position(&block).is_some();
        let Some(folder) = &block.folder else {
            assert!(
                reason.is_some() != is_live,
                "{}: the block\n{}is neither run (`<!-- run in: FOLDER -->` before it, or live::pages) nor in the \
                 list of reasons, or both",
                block.page,
                block.text
            );
            continue;
        };
        assert!(
            reason.is_none() && !is_live,
            "{}: a block that runs needs no reason",
            block.page
        );
        let copy = copy_of(folder);
        let done = shell(&block.text, copy.path()).output().expect("a shell");
        assert!(
            done.status.success(),
            "{}: the block\n{}ends with {}: {}",
            block.page,
            block.text,
            done.status,
            String::from_utf8_lossy(&done.stderr)
        );
        number += 1;
    }
    assert!(number >= 6, "only {number} blocks run");
    let unused: Vec<_> = (0..NOT_RUN.len())
        .filter(|it| !used.contains(it))
        .map(|it| NOT_RUN[it])
        .collect();
    assert!(unused.is_empty(), "no page has these blocks: {unused:?}");
}

#[test]
fn every_shown_command_of_rankgauge_has_arguments_that_it_accepts() {
    let mut number = 0;
    for block in blocks("sh") {
        for command in commands(&block.text) {
            let Some(arguments) = command.strip_prefix("rankgauge ") else {
                continue;
            };
            let arguments = arguments.split(" > ").next().unwrap_or_default();
            // With --help, every argument before it is read, and nothing runs.
            let line = format!("exec \"$0\" {arguments} --help");
            let done = Command::new("sh")
                .args(["-c", &line, env!("CARGO_BIN_EXE_rankgauge")])
                .output()
                .expect("a shell");
            assert!(
                done.status.success(),
                "{}: `{command}` is not accepted: {}",
                block.page,
                String::from_utf8_lossy(&done.stderr)
            );
            number += 1;
        }
    }
    assert!(number > 30, "only {number} commands");
}

#[test]
fn every_shown_target_of_make_exists() {
    let makefile = read("Makefile");
    let targets: BTreeSet<&str> = makefile
        .lines()
        .filter_map(|line| line.split_once(':').map(|(name, _)| name))
        .filter(|name| !name.contains([' ', '\t', '.', '$']))
        .collect();
    for block in blocks("sh") {
        for command in commands(&block.text) {
            let Some(target) = command.strip_prefix("make ") else {
                continue;
            };
            let target = target.split(' ').next().unwrap_or_default();
            assert!(targets.contains(target), "{}: `{command}`", block.page);
        }
    }
}

/// YAML blocks that are no configuration of rankgauge: the page, the beginning of the block, and what they
/// are.
const NO_CONFIGURATION: [(&str, &str, &str); 6] = [
    (
        "docs/configuration.md",
        "# yaml-language-server",
        "a line for an editor",
    ),
    (
        "docs/configuration.md",
        "tls_server_config:",
        "a web configuration",
    ),
    (
        "docs/connect/http.md",
        "applications:",
        "tokens of the gateway",
    ),
    ("docs/gate.md", "- uses:", "a workflow"),
    (
        "deploy/helm/rankgauge/README.md",
        "initContainers:",
        "a template of a chart",
    ),
    ("deploy/strimzi/README.md", "spec:", "a resource of Strimzi"),
];

#[test]
fn every_configuration_block_is_valid_by_the_schema() {
    let schema = serde_json::from_str(&read("schemas/config.schema.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a JSON schema");
    let mut used = BTreeSet::new();
    let mut number = 0;
    for block in blocks("yaml") {
        let other = NO_CONFIGURATION
            .iter()
            .position(|(page, begin, _)| block.page == *page && block.text.starts_with(begin));
        if let Some(other) = other {
            used.insert(other);
            continue;
        }
        let node = marked_yaml::parse_yaml(0, &block.text);
        let node = node.unwrap_or_else(|error| panic!("{}: {error}\n{}", block.page, block.text));
        let problems = validator
            .iter_errors(&crate::config::json(&node))
            .map(|it| it.to_string())
            .collect::<Vec<_>>();
        assert_eq!(
            problems,
            Vec::<String>::new(),
            "{}:\n{}",
            block.page,
            block.text
        );
        number += 1;
    }
    assert!(number > 10, "only {number} blocks");
    let all: BTreeSet<usize> = (0..NO_CONFIGURATION.len()).collect();
    assert_eq!(used, all, "no page has one of these blocks");
}
