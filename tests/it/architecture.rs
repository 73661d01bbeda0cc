//! Dependencies between modules that Cargo cannot express.
//!
//! Crates are separated by their manifests: `rankgauge-core` cannot use a runtime or a client,
//! because it does not depend on one. The rest is stated here: the order of the modules within a
//! crate ([`RULES`]), pure modules ([`PURE`]), and the modules that may use a library
//! ([`CONFINED`]). An import that breaks a rule fails with a sentence. Imports between files of
//! different folders do not run in a circle.

mod sources;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use sources::{Imports, Segments, Source, segments, sources, within_workspace};

/// Modules of its crate that a module may use, apart from those below itself: (module, others,
/// reason as the end of a sentence). If several rules name a module, the longest name applies.
/// From the inside out.
const RULES: &[(&str, &[&str], &str)] = &[
    (
        "core::number",
        &[],
        "the conversion of a count does not depend on what is counted",
    ),
    ("core::time", &[], "times are numbers"),
    (
        "core::compression",
        &[],
        "content is decompressed independent of its meaning",
    ),
    (
        "core::columns",
        &[],
        "columns are found by names, whatever the rows are",
    ),
    (
        "core::text",
        &[],
        "bytes become text independent of their source and meaning",
    ),
    (
        "core::overlap",
        &["core::number"],
        "a text is compared with a text, whatever it is about",
    ),
    (
        "core::event",
        &["core::time"],
        "an event does not depend on its wire format or its use",
    ),
    (
        "core::decode",
        &["core::event", "core::text", "core::time"],
        "a wire format converts bytes to events, independent of their source and use",
    ),
    (
        "core::labelling",
        &["core::measure", "core::number"],
        "draws and requests of labels are functions of ids and numbers",
    ),
    (
        "core::gold",
        &["core::columns", "core::compression", "core::text"],
        "judgements depend on nothing, and only gold::load reads files",
    ),
    (
        "core::ranking",
        &["core::event", "core::gold", "core::overlap"],
        "a ranking is the served list of a search with the grades of its judgements",
    ),
    (
        "core::measure",
        &[
            "core::gold",
            "core::number",
            "core::overlap",
            "core::ranking",
            "core::text",
        ],
        "a measure is a function of a ranking and its judgements, so that files and live streams \
         are judged by the same code",
    ),
    (
        "core::statistics",
        &["core::number"],
        "statistics are functions of numbers and a seed",
    ),
    (
        "core::detection",
        &["core::number"],
        "evidence is a function of numbers in their order",
    ),
    (
        "core::engine",
        &[
            "core::detection",
            "core::event",
            "core::gold",
            "core::labelling",
            "core::measure",
            "core::number",
            "core::ranking",
            "core::time",
        ],
        "the engine is a pure state machine: equal inputs give equal states",
    ),
    (
        "core::engine::read_model",
        &[
            "core::detection",
            "core::engine",
            "core::event",
            "core::measure",
            "core::number",
            "core::statistics",
            "core::time",
        ],
        "a reading is a function of a snapshot, and the engine does not depend on its readers",
    ),
    (
        "core::records",
        &["core::decode", "core::engine", "core::event"],
        "records are decoded, then applied, independent of their source",
    ),
    (
        "eval::run",
        &[],
        "a run does not depend on the gold set that judges it",
    ),
    (
        "eval::evaluate",
        &["eval::run"],
        "an evaluation is data: files are read before, and reports are written after",
    ),
    (
        "eval::compare",
        &["eval::evaluate", "eval::run", "eval::text_layout::count_of"],
        "a comparison is a function of scores, independent of their source and of reports",
    ),
    (
        "eval::operations",
        &["eval::evaluate"],
        "operations are a function of the events of a run and a price table",
    ),
    (
        "eval::preferences",
        &[
            "eval::evaluate",
            "eval::run",
            "eval::text_layout::escape_controls",
        ],
        "preferences are judged apart from grades, and have the evaluation in common",
    ),
    (
        "eval::pass",
        &[
            "eval::compare",
            "eval::evaluate",
            "eval::operations",
            "eval::run",
            "eval::sweep",
            "eval::text_layout::escape_controls",
        ],
        "a pass joins the reader of runs with everything that is computed of a run",
    ),
    (
        "eval::behaviour",
        &[],
        "user behaviour is data: the engine computes it",
    ),
    (
        "eval::sweep",
        &["eval::evaluate::Options", "eval::run"],
        "a sweep is a function of a run and its judgements",
    ),
    (
        "eval::template",
        &[],
        "queries are a function of templates, documents and edges",
    ),
    (
        "eval::gate",
        &[
            "eval::behaviour",
            "eval::operations",
            "eval::compare",
            "eval::evaluate",
            "eval::text_layout::count_of",
            "eval::text_layout::probability",
        ],
        "a gate reads results, and does not depend on the format of its report",
    ),
    (
        "eval::report",
        &[
            "eval::behaviour",
            "eval::compare",
            "eval::evaluate",
            "eval::gate",
            "eval::operations",
            "eval::preferences::is_count",
            "eval::sweep",
            "eval::text_layout",
        ],
        "a report is a function of an evaluation or a comparison",
    ),
    (
        "eval::text_layout",
        &[],
        "the layout of text does not depend on its content",
    ),
    (
        "eval::gold",
        &["eval::text_layout::count_of"],
        "the tools of gold sets read sets, and only gold::load reads files",
    ),
    (
        "eval::clicks",
        &[],
        "grades from clicks are a function of events, independent of their source",
    ),
    (
        "eval::labelling",
        &["eval::text_layout"],
        "an estimate is a function of a frame and of labels, independent of their source",
    ),
    (
        "eval::proposal",
        &["eval::gold"],
        "a proposal is a function of judgements and events, independent of their source",
    ),
    (
        "lab",
        &["lab", "core::event::Kind", "core::time"],
        "generated traffic must not share code with the engine, which would agree with it by \
         construction",
    ),
    (
        "lab::simulation",
        &["core::detection", "core::number"],
        "a simulation is a function of its settings and a seed",
    ),
    (
        "kafka",
        &[],
        "clients of Kafka depend on events and positions, not on the engine",
    ),
    (
        "gateway",
        &["gateway"],
        "the gateway writes events and does not depend on their use",
    ),
    (
        "lab::broker",
        &["lab", "core"],
        "the embedded broker takes any record",
    ),
    (
        "lab::produce",
        &["lab", "core", "kafka"],
        "the producer paces traffic by the clock and writes files",
    ),
    (
        "probe",
        &["probe"],
        "the probe produces events and does not depend on their use",
    ),
    (
        "serve",
        &["serve"],
        "exposition reads what workers publish and changes nothing",
    ),
    (
        "serve::live",
        &["serve::clock", "serve::latencies"],
        "workers publish snapshots and do not depend on their readers",
    ),
    (
        "serve::log_level",
        &[],
        "a command starts the log and provides the change of its level",
    ),
    (
        "serve::collect",
        &["serve::text"],
        "an exposition is a function of a snapshot",
    ),
    (
        "serve::json",
        &["serve::collect", "serve::text"],
        "an exposition is a function of a snapshot",
    ),
    (
        "serve::text",
        &["serve::collect"],
        "an exposition is a function of a snapshot",
    ),
    ("sidecar::https", &[], "a client follows from its settings"),
    (
        "sidecar::registry",
        &["sidecar::https"],
        "a schema is received independent of its use",
    ),
    (
        "sidecar::config",
        &[
            "sidecar::registry::Credentials",
            "sidecar::registry::Settings",
        ],
        "configuration states settings and does not depend on their use",
    ),
    (
        "sidecar::log",
        &[],
        "a log line is written without knowledge of its content",
    ),
    (
        "sidecar::reach",
        &["sidecar::config"],
        "the highest value of a measure is a function of a gold set",
    ),
    ("sidecar::checkpoint", &[], "a checkpoint is a value"),
    (
        "sidecar::fleet",
        &["sidecar::config"],
        "the thread of the fleet exchanges values and does not depend on the workers",
    ),
    (
        "sidecar::ingest",
        &[
            "sidecar::checkpoint",
            "sidecar::config",
            "sidecar::fleet",
            "sidecar::registry",
        ],
        "workers publish snapshots and do not depend on their readers",
    ),
    (
        "sidecar::capacity",
        &["sidecar::config"],
        "a prediction is a function of settings and a load",
    ),
    (
        "sidecar::advice",
        &["sidecar::capacity", "sidecar::config"],
        "advice is a function of settings and a load",
    ),
    (
        "sidecar::live_check",
        &[
            "sidecar::advice",
            "sidecar::capacity",
            "sidecar::config",
            "sidecar::ingest",
            "sidecar::registry",
        ],
        "findings are functions of a sample, and only ingest talks to the brokers",
    ),
    (
        "sidecar::tail",
        &[],
        "a description is a function of a record",
    ),
    (
        "sidecar::init",
        &[],
        "a proposal is a function of a sample, and the command reads and writes files",
    ),
    (
        "sidecar::app",
        &[
            "sidecar::checkpoint",
            "sidecar::config",
            "sidecar::fleet",
            "sidecar::ingest",
            "sidecar::log",
        ],
        "the sidecar is a function of its configuration and a shutdown signal",
    ),
    (
        "sidecar::demo",
        &[
            "sidecar::app",
            "sidecar::config",
            "sidecar::ingest",
            "sidecar::log",
        ],
        "the demo starts the sidecar as any other caller does",
    ),
    (
        "sidecar::cli",
        &["sidecar"],
        "a command parses arguments and calls a module",
    ),
    (
        "sidecar::table_process",
        &[],
        "a table is a function of a file",
    ),
    (
        "sidecar::main",
        &["sidecar::cli", "sidecar::table_process"],
        "the binary converts arguments to an exit code",
    ),
];

/// Crates whose modules use another crate only if their rule names it. Elsewhere the manifest is
/// the rule.
const SEPARATE: &[&str] = &["lab"];

/// Modules, with everything below them, whose only inputs are their arguments.
const PURE: &[&str] = &[
    "core",
    "eval",
    "lab",
    "probe::answer",
    "probe::event",
    "probe::header",
    "probe::preset",
    "probe::settings",
    "probe::target",
    "probe::template",
    "serve::collect",
    "serve::json",
    "serve::log_level",
    "serve::text",
    "sidecar::checkpoint",
    "sidecar::init",
    "sidecar::tail",
];

/// Other inputs than arguments: clocks, threads, files, the network, the environment, chance.
const INPUTS: &[&str] = &[
    "rand",
    "rand_chacha",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// Inputs that pure modules have nevertheless. The files that read files are named without the
/// modules below them. The only source of chance is a seed.
const EXCEPTIONS: &[(&str, &[&str])] = &[
    ("core::gold::load", &["std::fs"]),
    ("core::statistics", &["rand", "rand_chacha"]),
    ("eval::compare", &["rand", "rand_chacha"]),
    ("eval::run::input", &["std::fs"]),
    ("lab", &["rand", "rand_chacha"]),
    ("lab::broker", INPUTS),
    ("lab::produce", INPUTS),
    ("sidecar::checkpoint::folder", &["std::fs"]),
];

/// Libraries, and the only modules of a crate with such a dependency that use them.
const CONFINED: &[(&str, &[&str], &str)] = &[
    ("clap", &["sidecar::cli"], "only a command parses arguments"),
    (
        "hyper",
        &[
            "sidecar::app",
            "probe::client",
            "probe::round",
            "sidecar::cli",
            "gateway",
            "serve",
        ],
        "only listeners and the probe speak HTTP",
    ),
    (
        "rdkafka",
        &["kafka", "lab::broker"],
        "only the crate of Kafka talks to the brokers",
    ),
    (
        "tokio",
        &[
            "sidecar::app",
            "sidecar::cli",
            "sidecar::demo",
            "gateway",
            "probe",
            "serve",
        ],
        "a worker is a thread, and only listeners and the probe wait for sockets",
    ),
];

/// Crates that must not be among the dependencies of `rankgauge-core`: runtimes, clients, servers,
/// loggers, argument parsers, terminals.
const NOT_IN_CORE: [&str; 10] = [
    "clap",
    "config",
    "crossterm",
    "hyper",
    "indicatif",
    "prometheus",
    "rdkafka",
    "tokio",
    "tracing",
    "tracing-subscriber",
];

/// Returns true if `path` is `whole` or lies in it.
fn lies_in(path: &[String], whole: &str) -> bool {
    let mut parts = path.iter();
    whole
        .split("::")
        .all(|part| parts.next().is_some_and(|segment| segment == part))
}

/// Violations of the rules in a source file, one sentence each.
fn violations(source: &Source) -> BTreeSet<String> {
    let (file, module) = (source.file.display(), &source.module);
    let mut sentences = BTreeSet::new();
    let rules = RULES.iter().filter(|(name, ..)| lies_in(module, name));
    let Some((rule, may_use, because)) = rules.max_by_key(|(name, ..)| segments(name).len()) else {
        sentences.insert(format!(
            "{file}: no rule names `{}`; add one to RULES in tests/it/architecture.rs",
            module.join("::")
        ));
        return sentences;
    };
    let mut report = |path: &Segments, because: &str| {
        let (module, path) = (module.join("::"), path.join("::"));
        sentences.insert(format!(
            "{file}: `{module}` must not use `{path}`: {because}"
        ));
    };
    let is_separate = SEPARATE.contains(&module[0].as_str());
    for found in &source.uses {
        let Some(target) = within_workspace(found) else {
            // An import of all of `std::time` would hide the clock in it.
            let names =
                |name: &str| lies_in(&found.path, name) || segments(name).starts_with(&found.path);
            let is_pure = PURE.iter().any(|pure| lies_in(module, pure));
            if is_pure
                && INPUTS
                    .iter()
                    .any(|input| names(input) && !is_excepted(module, input))
            {
                report(&found.path, because);
            }
            for (library, modules, because) in CONFINED {
                let is_allowed = modules.iter().any(|name| lies_in(module, name));
                if lies_in(&found.path, library) && !is_allowed {
                    report(&found.path, because);
                }
            }
            continue;
        };
        let is_checked = is_separate || target[0] == module[0];
        let mut allowed = may_use.iter().chain([rule]);
        if is_checked && !allowed.any(|whole| lies_in(&target, whole)) {
            report(&found.path, because);
        }
    }
    sentences
}

fn is_excepted(module: &[String], input: &str) -> bool {
    EXCEPTIONS.iter().any(|(name, inputs)| {
        let is_named = match input {
            "std::fs" => module == segments(name),
            _ => lies_in(module, name),
        };
        is_named && inputs.contains(&input)
    })
}

#[test]
fn modules_use_only_what_their_rule_allows() {
    let sources = sources();
    // `lib.rs` only declares modules.
    let files = sources.iter().filter(|source| source.module.len() > 1);
    let sentences: Vec<String> = files.flat_map(violations).collect();
    assert!(sentences.is_empty(), "\n{}\n", sentences.join("\n"));
}

#[test]
fn imports_between_files_of_different_folders_run_in_no_circle() {
    let circles = Imports::of(&sources()).circles();
    let described = circles.iter().map(|circle| {
        let (within, imports) = (circle.within.join("::"), circle.imports.join("\n"));
        format!("{} files in `{within}`:\n{imports}", circle.files)
    });
    let described: Vec<String> = described.collect();
    assert!(
        described.is_empty(),
        "imports run in a circle. Move what the files share to a file of its own.\n{}",
        described.join("\n")
    );
}

/// Items of the core that other crates can name, at most.
const MAX_FACADE: usize = 250;

#[test]
fn the_core_has_a_facade() {
    let sources = sources();
    let facade = Imports::of(&sources).facade("core");
    let outside = sources.iter().filter(|source| source.module[0] != "core");
    let words = outside.flat_map(|source| source.uses.iter().flat_map(|found| &found.path));
    let words: BTreeSet<&String> = words.collect();
    let is_unnamed = |item: &&Segments| item.last().is_some_and(|name| !words.contains(name));
    let unnamed: Vec<String> = facade
        .iter()
        .filter(is_unnamed)
        .map(|item| item.join("::"))
        .collect();
    assert!(
        facade.len() <= MAX_FACADE,
        "the core has {} public items, more than {MAX_FACADE}. No import of another crate names\n  {}",
        facade.len(),
        unnamed.join("\n  ")
    );
}

#[test]
fn the_core_depends_on_no_runtime_client_server_logger_or_argument_parser() {
    let tree = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tree", "--package", "rankgauge-core", "--edges", "normal"])
        .args(["--prefix", "none", "--offline", "--locked"])
        .output()
        .expect("cargo starts");
    assert!(
        tree.status.success(),
        "{}",
        String::from_utf8_lossy(&tree.stderr)
    );
    let tree = String::from_utf8(tree.stdout).expect("UTF-8");
    let names: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(names.contains("serde"), "{tree}");
    for name in NOT_IN_CORE {
        assert!(!names.contains(name), "rankgauge-core depends on {name}");
    }
}

/// Modules that may write to a terminal: each escapes the texts of files, events and clients.
const TERMINAL: [&str; 4] = [
    "src/cli/logging.rs",
    "src/cli/output.rs",
    "src/demo/terminal.rs",
    "src/main.rs",
];

#[test]
fn only_modules_that_escape_texts_write_to_a_terminal() {
    let outputs = ["io::stdout", "io::stderr", "println!", "print!(", "dbg!("];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for source in sources() {
        let file = source.file.strip_prefix(root).unwrap_or(&source.file);
        let is_allowed = TERMINAL.iter().any(|allowed| file.ends_with(allowed));
        let text = std::fs::read_to_string(&source.file).expect("a source file");
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            let is_import = code.contains("std::io::{")
                && ["stdout", "stderr"].iter().any(|name| code.contains(name));
            let names = is_import || outputs.iter().any(|output| code.contains(output));
            if names && !is_allowed {
                found.push(format!("{}:{number}: {}", file.display(), line.trim()));
            }
        }
    }
    assert!(
        found.is_empty(),
        "write through cli::output or demo::terminal, which escape control characters:\n{}",
        found.join("\n")
    );
}

#[test]
fn rules_name_modules_that_exist() {
    let modules: BTreeSet<String> = sources()
        .iter()
        .map(|source| source.module.join("::"))
        .collect();
    let named = RULES.iter().map(|(module, ..)| module);
    let excepted = EXCEPTIONS.iter().map(|(module, _)| module);
    let confined = CONFINED.iter().flat_map(|(_, modules, _)| *modules);
    for module in named.chain(excepted).chain(confined).chain(PURE) {
        assert!(
            modules.contains(*module),
            "a rule names `{module}`, which does not exist: remove or rename it"
        );
    }
}

/// Violations of a module with this text.
fn violations_of(module: &str, text: &str) -> BTreeSet<String> {
    violations(&Source::parse(Path::new("planted.rs"), module, text))
}

#[test]
fn a_forbidden_path_is_found_wherever_it_stands() {
    let planted = [
        ("core::engine", "use crate::decode::native;"),
        ("core::engine::join", "use super::super::decode::Formats;"),
        (
            "core::engine",
            "fn f() { crate::decode::native::search(); }",
        ),
        (
            "core::engine",
            "fn f() -> Option<crate::decode::Rejection> { None }",
        ),
        (
            "core::engine",
            "fn f() { assert!(crate::statistics::ready()); }",
        ),
        ("core::engine", "mod tests { use super::super::decode; }"),
        ("core::engine", "use crate::*;"),
        ("core::event", "use crate::{time::Millis, decode::{self}};"),
        ("core::engine", "fn f() { std::time::SystemTime::now(); }"),
        ("core::engine", "use std::time::{self};"),
        ("core::gold::validate", "use std::fs;"),
        ("core::measure::ranked", "use crate::engine::Engine;"),
        ("eval::evaluate", "use crate::report::write;"),
        ("lab::traffic", "use rankgauge_core::event::Search;"),
        ("serve::json", "use super::server;"),
        ("serve::live", "use crate::collect::collect;"),
        ("sidecar::main", "use rankgauge::app::App;"),
        ("core::newcomer", "use crate::time::EventTime;"),
    ];
    for (module, source) in planted {
        let found = violations_of(module, source);
        assert_eq!(found.len(), 1, "in `{module}`, `{source}` gave {found:?}");
    }
}

#[test]
fn an_allowed_path_is_no_violation() {
    let allowed = [
        (
            "core::engine::join",
            "pub(crate) use crate::event::{Kind, Reason};",
        ),
        (
            "core::engine",
            "use std::time::Duration; mod tests { use super::*; }",
        ),
        (
            "core::gold::load",
            "use std::fs; fn f() { fs::read(\"x\"); }",
        ),
        (
            "serve::json",
            "use super::{collect::Value, text::write_value};",
        ),
        ("core::measure", "/// [`crate::engine`]\npub fn f() {}"),
        ("sidecar::main", "fn main() { rankgauge::cli::run(); }"),
    ];
    for (module, source) in allowed {
        let found = violations_of(module, source);
        assert!(found.is_empty(), "in `{module}`, `{source}` gave {found:?}");
    }
}

#[test]
fn a_violation_is_a_sentence_with_its_reason() {
    let found = violations_of("core::measure::ranked", "use crate::engine::Engine;");
    let expected = "planted.rs: `core::measure::ranked` must not use \
                    `crate::engine::Engine`: a measure is a function of a ranking and its \
                    judgements, so that files and live streams are judged by the same code";
    assert_eq!(found, BTreeSet::from([expected.to_owned()]));
}

#[test]
fn a_circle_is_found_through_parents_and_reexports() {
    let parse =
        |(file, module, text): (&str, &str, &str)| Source::parse(Path::new(file), module, text);
    let circles = |files: &[(&str, &str, &str)]| {
        let sources: Vec<Source> = files.iter().copied().map(parse).collect();
        let circles = Imports::of(&sources).circles();
        circles
            .iter()
            .map(|circle| circle.files)
            .collect::<Vec<_>>()
    };
    let root = (
        "src/a.rs",
        "core::a",
        "pub use one::One; mod one; mod two; pub struct A;",
    );
    let one = ("src/a/one.rs", "core::a::one", "pub struct One;");
    assert!(circles(&[root, one]).is_empty());
    // The import of an item of the module above, and of a re-export in it.
    let parent = ("src/a/two.rs", "core::a::two", "use super::A;");
    let reexport = ("src/a/two.rs", "core::a::two", "use crate::a::One;");
    let test = (
        "src/a/two.rs",
        "core::a::two",
        "#[cfg(test)] mod tests { use crate::a::A; }",
    );
    let from_root = (
        "src/a.rs",
        "core::a",
        "mod two; pub struct A; fn f() { two::f() }",
    );
    assert_eq!(circles(&[from_root, parent]), [2]);
    assert!(circles(&[from_root, test]).is_empty());
    assert!(circles(&[root, one, reexport]).is_empty());
    let both = (
        "src/a.rs",
        "core::a",
        "pub use one::One; mod one; use two::Two;",
    );
    assert_eq!(circles(&[both, one, reexport]), [2]);
    // Files of one folder may use each other.
    let left = ("src/a/left.rs", "core::a::left", "use super::right::Right;");
    let right = ("src/a/right.rs", "core::a::right", "use super::left::Left;");
    assert!(circles(&[left, right]).is_empty());
}

#[test]
fn toolchain_minimum_version_and_image_are_one_version_of_rust() {
    let read = |path| std::fs::read_to_string(path).expect("a file of the repository");
    let after = |path, before| {
        let text: String = read(path);
        let (_, rest) = text.split_once(before).expect("a version of Rust");
        let version = |c: char| !(c.is_ascii_digit() || c == '.');
        rest.split(version).next().map(str::to_owned)
    };
    let minimum = after("Cargo.toml", "rust-version = \"");
    assert_eq!(minimum, after("deploy/Dockerfile", "FROM rust:"));
    let toolchain = after("rust-toolchain.toml", "channel = \"");
    assert_eq!(minimum.map(|minimum| minimum + ".0"), toolchain);
}
