//! Dependencies between modules that Cargo cannot express.
//!
//! Crates are separated by their manifests: `rankgauge-core` cannot use a runtime or a client,
//! because it does not depend on one. [`RULES`] states the rest: the order of the modules within a
//! crate, and the parts of the standard library that only some of them may use. An import that
//! breaks a rule fails with a sentence.
//!
//! The test reads every path in every source file: in `use` trees, in types, in expressions and
//! within the arguments of macros.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use syn::visit::{self, Visit};

/// Dependencies that some modules may have.
struct Rule {
    /// Modules with everything below them, beginning with their crate. They may use each other. If
    /// several rules name a module, the longest name applies.
    modules: &'static [&'static str],
    /// Other modules of this workspace that they may use, or single items.
    may_use: &'static [&'static str],
    /// Paths outside the workspace that they must not use.
    never: &'static [&'static str],
    /// Reason, as the end of a sentence.
    because: &'static str,
}

/// Crates of the workspace: name in paths, name in the rules, folder of the sources.
const CRATES: [(&str, &str, &str); 4] = [
    ("rankgauge_core", "core", "crates/core/src"),
    ("rankgauge_eval", "eval", "crates/eval/src"),
    ("rankgauge_lab", "lab", "crates/lab/src"),
    ("rankgauge", "sidecar", "src"),
];

/// Inputs other than the arguments: clocks, threads, files, the network, the environment, chance.
const OUTSIDE: &[&str] = &[
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

/// The same without chance, whose only source is a seed.
const OUTSIDE_BUT_CHANCE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// From the inside out.
const RULES: &[Rule] = &[
    Rule {
        modules: &["core::time"],
        may_use: &[],
        never: OUTSIDE,
        because: "times are numbers, and only the sidecar reads a clock",
    },
    Rule {
        modules: &["core::text"],
        may_use: &[],
        never: OUTSIDE,
        because: "bytes become text independent of their source and meaning",
    },
    Rule {
        modules: &["core::event"],
        may_use: &["core::time"],
        never: OUTSIDE,
        because: "an event does not depend on its wire format or its use",
    },
    Rule {
        modules: &["core::decode"],
        may_use: &["core::event", "core::text", "core::time"],
        never: OUTSIDE,
        because: "a wire format converts bytes to events, independent of their source and use",
    },
    Rule {
        modules: &["core::gold"],
        may_use: &["core::text"],
        never: OUTSIDE,
        because: "judgements depend on nothing, and only gold::load reads files",
    },
    Rule {
        modules: &["core::ranking"],
        may_use: &["core::event", "core::gold"],
        never: OUTSIDE,
        because: "a ranking is the served list of a search with the grades of its judgements",
    },
    Rule {
        modules: &["core::measure"],
        may_use: &["core::gold", "core::ranking"],
        never: OUTSIDE,
        because: "a measure is a function of a ranking and its judgements, so that files and live \
                  streams are judged by the same code",
    },
    Rule {
        modules: &["core::statistics"],
        may_use: &[],
        never: OUTSIDE_BUT_CHANCE,
        because: "statistics are functions of numbers and a seed",
    },
    Rule {
        modules: &["core::detection"],
        may_use: &[],
        never: OUTSIDE,
        because: "evidence is a function of numbers in their order",
    },
    Rule {
        modules: &["lab::simulation"],
        may_use: &["core::detection"],
        never: OUTSIDE_BUT_CHANCE,
        because: "a simulation is a function of its settings and a seed",
    },
    Rule {
        modules: &["core::engine"],
        may_use: &[
            "core::detection",
            "core::event",
            "core::gold",
            "core::measure",
            "core::ranking",
            "core::time",
        ],
        never: OUTSIDE,
        because: "the engine is a pure state machine: equal inputs give equal states",
    },
    Rule {
        modules: &["eval::run"],
        may_use: &["core::decode", "core::event", "core::text"],
        never: OUTSIDE,
        because: "a run does not depend on the gold set that judges it, and only run::source and run::stream read \
                  files",
    },
    Rule {
        modules: &["eval::evaluate"],
        may_use: &[
            "core::event",
            "core::gold",
            "core::measure",
            "core::ranking",
            "eval::run",
        ],
        never: OUTSIDE,
        because: "an evaluation is data: files are read before, and reports are written after",
    },
    Rule {
        modules: &["eval::compare"],
        may_use: &[
            "core::measure::Direction",
            "core::measure::direction",
            "core::statistics",
            "core::text",
            "eval::evaluate::GoldFacts",
            "eval::evaluate::GoldSummary",
            "eval::evaluate::RunEvaluation",
            "eval::text_layout::count_of",
        ],
        never: OUTSIDE_BUT_CHANCE,
        because: "a comparison is a function of scores, independent of their source and of reports",
    },
    Rule {
        modules: &["eval::compare::answer_errors", "eval::compare::patterns"],
        may_use: &[
            "core::event",
            "core::gold",
            "core::ranking",
            "eval::compare",
            "eval::evaluate::query_of",
            "eval::run",
        ],
        never: OUTSIDE,
        because: "the errors of an answer are a function of its answer and its judgements",
    },
    Rule {
        modules: &["eval::compare::labels"],
        may_use: &[
            "core::gold",
            "eval::compare",
            "eval::evaluate::label_of",
            "eval::evaluate::query_of",
            "eval::run",
        ],
        never: OUTSIDE,
        because: "queries have the same slices in a comparison and in an evaluation",
    },
    Rule {
        modules: &["eval::operations"],
        may_use: &[
            "core::engine::fixed::count_to_f64",
            "core::engine::money",
            "core::event",
            "core::gold",
            "eval::evaluate::label_of",
            "eval::evaluate::query_of",
            "eval::run",
        ],
        never: OUTSIDE,
        because: "operations are a function of the events of a run and a price table",
    },
    Rule {
        modules: &["eval::behaviour"],
        may_use: &[],
        never: OUTSIDE,
        because: "user behaviour is data: the engine computes it",
    },
    Rule {
        modules: &["eval::sweep"],
        may_use: &[
            "core::gold",
            "core::ranking",
            "eval::evaluate::query_of",
            "eval::run",
        ],
        never: OUTSIDE,
        because: "a sweep is a function of a run and its judgements",
    },
    Rule {
        modules: &["eval::template"],
        may_use: &["core::gold"],
        never: OUTSIDE,
        because: "queries are a function of templates, documents and edges",
    },
    Rule {
        modules: &["eval::gate"],
        may_use: &[
            "core::measure::Relation",
            "eval::operations",
            "eval::compare",
            "eval::evaluate",
            "eval::text_layout::count_of",
        ],
        never: OUTSIDE,
        because: "a gate reads results, and does not depend on the format of its report",
    },
    Rule {
        modules: &["eval::report"],
        may_use: &[
            "core::measure",
            "core::statistics",
            "eval::behaviour",
            "eval::compare",
            "eval::evaluate",
            "eval::gate",
            "eval::operations",
            "eval::sweep",
            "eval::text_layout",
        ],
        never: OUTSIDE,
        because: "a report is a function of an evaluation or a comparison",
    },
    Rule {
        modules: &["eval::text_layout"],
        may_use: &[],
        never: OUTSIDE,
        because: "the layout of text does not depend on its content",
    },
    Rule {
        modules: &["eval::proposal"],
        may_use: &[
            "core::event",
            "core::gold",
            "core::ranking::JudgeBy",
            "core::statistics",
            "eval::gold",
        ],
        never: OUTSIDE,
        because: "a proposal is a function of judgements and events, independent of their source",
    },
    Rule {
        modules: &["eval::gold"],
        may_use: &[
            "core::gold",
            "core::statistics",
            "eval::text_layout::count_of",
        ],
        never: OUTSIDE,
        because: "the tools of gold sets read sets, and only gold::load reads files",
    },
    Rule {
        modules: &["lab::broker", "lab::produce"],
        may_use: &["core", "lab"],
        never: &[],
        because: "the producer paces traffic by the clock and writes files",
    },
    Rule {
        modules: &["lab"],
        may_use: &["core::time"],
        never: OUTSIDE_BUT_CHANCE,
        because: "generated traffic must not share code with the engine, which would agree with it \
                  by construction, and equal seeds give equal events",
    },
    Rule {
        modules: &["sidecar::checkpoint"],
        may_use: &["core::engine", "core::event", "core::time"],
        never: OUTSIDE,
        because: "a checkpoint is a value, and only checkpoint::folder uses files",
    },
    Rule {
        modules: &["sidecar::config"],
        may_use: &["core"],
        never: &["hyper", "rdkafka", "tokio"],
        because: "configuration states settings and does not depend on their use",
    },
    Rule {
        modules: &["sidecar::log"],
        may_use: &[],
        never: &["hyper", "prometheus", "rdkafka", "std::fs", "tokio"],
        because: "a log line is written without knowledge of its content",
    },
    Rule {
        modules: &["sidecar::ingest"],
        may_use: &[
            "core",
            "lab::produce",
            "sidecar::checkpoint",
            "sidecar::config",
        ],
        never: &["hyper", "hyper_util", "tokio"],
        because: "workers publish snapshots and do not depend on their readers",
    },
    Rule {
        modules: &[
            "sidecar::expose::collect",
            "sidecar::expose::json",
            "sidecar::expose::text",
        ],
        may_use: &["core"],
        never: &[
            "hyper",
            "prometheus",
            "rdkafka",
            "std::env",
            "std::fs",
            "std::net",
            "std::time::Instant",
            "std::time::SystemTime",
            "tokio",
            "tracing",
        ],
        because: "an exposition is a function of a snapshot",
    },
    Rule {
        modules: &["sidecar::log_level"],
        may_use: &[],
        never: OUTSIDE,
        because: "a command starts the log and provides the change of its level",
    },
    Rule {
        modules: &["sidecar::reach"],
        may_use: &["core", "sidecar::config"],
        never: &["hyper", "rdkafka", "std::net", "tokio"],
        because: "the highest value of a measure is a function of a gold set",
    },
    Rule {
        modules: &["sidecar::capacity"],
        may_use: &[
            "core",
            "sidecar::config",
            "sidecar::expose::collect",
            "sidecar::expose::text",
            "eval::text_layout",
        ],
        never: &["hyper", "rdkafka", "std::net", "tokio"],
        because: "a prediction is a function of settings and a load",
    },
    Rule {
        modules: &["sidecar::live_check"],
        may_use: &[
            "core",
            "sidecar::capacity",
            "sidecar::config",
            "sidecar::ingest",
            "eval::text_layout",
        ],
        never: &["hyper", "rdkafka", "std::fs", "tokio"],
        because: "findings are functions of a sample, and only ingest talks to the brokers",
    },
    Rule {
        modules: &["sidecar::expose"],
        may_use: &[
            "core",
            "sidecar::config",
            "sidecar::ingest",
            "sidecar::log",
            "sidecar::log_level",
        ],
        never: &["rdkafka"],
        because: "exposition reads what workers publish and changes nothing",
    },
    Rule {
        modules: &["sidecar::app"],
        may_use: &[
            "core::engine::Engine",
            "core::gold",
            "sidecar::checkpoint",
            "sidecar::config",
            "sidecar::expose",
            "sidecar::ingest",
            "sidecar::log",
            "sidecar::log_level",
        ],
        never: &["clap", "rdkafka"],
        because: "the sidecar is a function of its configuration and a shutdown signal",
    },
    Rule {
        modules: &["sidecar::probe"],
        may_use: &["core", "sidecar::config"],
        never: &["clap", "std::net", "std::thread"],
        because: "the probe produces events and does not depend on their use",
    },
    Rule {
        modules: &["sidecar::probe::answer", "sidecar::probe::event"],
        may_use: &["core", "sidecar::config", "sidecar::probe"],
        never: &[
            "hyper", "rdkafka", "std::env", "std::fs", "std::net", "tokio",
        ],
        because: "an event is a function of an answer",
    },
    Rule {
        modules: &["sidecar::tail"],
        may_use: &["core"],
        never: OUTSIDE,
        because: "a description is a function of a record",
    },
    Rule {
        modules: &["sidecar::init"],
        may_use: &["core"],
        never: OUTSIDE,
        because: "a proposal is a function of a sample, and the command reads and writes files",
    },
    Rule {
        modules: &["sidecar::demo"],
        may_use: &[
            "core",
            "lab",
            "eval::text_layout",
            "sidecar::app",
            "sidecar::config",
            "sidecar::expose",
            "sidecar::ingest",
            "sidecar::log",
        ],
        never: &["rdkafka"],
        because: "the demo starts the sidecar as any other caller does",
    },
    Rule {
        modules: &["sidecar::cli"],
        may_use: &["core", "lab", "eval", "sidecar"],
        never: &["rdkafka"],
        because: "a command parses arguments and calls a module",
    },
    Rule {
        modules: &["sidecar::main"],
        may_use: &["sidecar::cli"],
        never: &["rdkafka", "tokio"],
        because: "the binary converts arguments to an exit code",
    },
];

/// Exceptions for single modules, without those below them.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("core::gold", "std::fs"),
    ("eval::run::source", "std::fs"),
    ("eval::run::stream", "std::fs"),
    ("sidecar::checkpoint::folder", "std::fs"),
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

/// A path in a source file: the module that contains it, and its segments.
type Found = (Vec<String>, Vec<String>);

/// Collects the paths of one file.
struct Paths {
    module: Vec<String>,
    found: Vec<Found>,
}

impl Paths {
    fn of(module: &str, source: &str) -> Vec<Found> {
        let file = syn::parse_file(source)
            .unwrap_or_else(|problem| panic!("{module} cannot be parsed: {problem}"));
        let mut paths = Self {
            module: segments(module),
            found: Vec::new(),
        };
        paths.visit_file(&file);
        paths.found
    }

    fn note(&mut self, path: Vec<String>) {
        self.found.push((self.module.clone(), path));
    }

    fn tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) if name.ident == "self" => self.note(before.to_vec()),
            syn::UseTree::Name(name) => self.note(with(&name.ident)),
            syn::UseTree::Rename(name) => self.note(with(&name.ident)),
            syn::UseTree::Glob(_) => self.note(before.to_vec()),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(before, tree);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.module.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        // A single segment is an imported name, and its import is checked.
        if path.segments.len() > 1 {
            let segments = path.segments.iter();
            self.note(segments.map(|part| part.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        // The tokens of a macro are not parsed, but a path in them is a path.
        let text = call.tokens.to_string().replace(" :: ", "::");
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        for word in words.map(segments).filter(|word| word.len() > 1) {
            self.note(word);
        }
        visit::visit_macro(self, call);
    }

    /// `pub(crate)` is no use of the crate.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

fn segments(path: &str) -> Vec<String> {
    let parts = path.split("::").filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// Target of a path within the workspace, beginning with its crate. `None` for a path out of the
/// workspace or of an imported name.
fn within_workspace(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    let mut at = match first.as_str() {
        "crate" => module[..1].to_vec(),
        "self" => module.to_vec(),
        "super" => module.split_last()?.1.to_vec(),
        name => {
            let known = CRATES.iter().find(|(known, ..)| *known == name)?;
            vec![known.1.to_owned()]
        }
    };
    for part in rest {
        if part == "super" {
            at.pop();
        } else {
            at.push(part.clone());
        }
    }
    Some(at)
}

/// Returns true if `path` is `whole` or lies in it.
fn lies_in(path: &[String], whole: &str) -> bool {
    path.starts_with(&segments(whole))
}

/// The rule with the longest name of `module`.
fn rule_of(module: &[String]) -> Option<&'static Rule> {
    let named = RULES.iter().flat_map(|rule| {
        let names = rule.modules.iter().map(move |name| (rule, segments(name)));
        names.filter(|(_, name)| module.starts_with(name))
    });
    named
        .max_by_key(|(_, name)| name.len())
        .map(|(rule, _)| rule)
}

/// Violations of a module in `file`, one sentence each.
fn violations(file: &str, module: &str, source: &str) -> BTreeSet<String> {
    let mut sentences = BTreeSet::new();
    let Some(rule) = rule_of(&segments(module)) else {
        sentences.insert(format!(
            "{file}: no rule names `{module}`; add one to RULES in tests/it/architecture.rs"
        ));
        return sentences;
    };
    for (within, path) in Paths::of(module, source) {
        let is_violation = match within_workspace(&within, &path) {
            Some(target) => {
                let allowed = rule.modules.iter().chain(rule.may_use);
                !allowed.into_iter().any(|whole| lies_in(&target, whole))
            }
            // An import of all of `std::time` would hide the clock in it.
            None => rule.never.iter().any(|never| {
                let excepted = EXCEPTIONS.contains(&(module, never));
                !excepted && (lies_in(&path, never) || segments(never).starts_with(&path))
            }),
        };
        if is_violation {
            sentences.insert(format!(
                "{file}: `{module}` must not use `{}`: {}",
                path.join("::"),
                rule.because
            ));
        }
    }
    sentences
}

/// Source files of all crates with their modules, without `lib.rs`, which only declares modules.
fn modules() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut modules = Vec::new();
    for (_, name, sources) in CRATES {
        let sources = root.join(sources);
        let mut folders = vec![sources.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder of sources can be listed") {
                let path = entry.expect("a folder of sources can be listed").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    let inside = path.strip_prefix(&sources).expect("it was found there");
                    let parts = inside.with_extension("");
                    let parts = parts.iter().map(|part| part.to_string_lossy().into_owned());
                    let module: Vec<String> =
                        std::iter::once(name.to_owned()).chain(parts).collect();
                    modules.push((path, module.join("::")));
                }
            }
        }
    }
    modules.retain(|(_, module)| !module.ends_with("::lib"));
    modules.sort();
    modules
}

#[test]
fn modules_use_only_what_their_rule_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sentences: Vec<String> = modules()
        .iter()
        .flat_map(|(path, module)| {
            let source = fs::read_to_string(path).expect("a source file is UTF-8 text");
            let file = path.strip_prefix(root).expect("it was found there");
            violations(&file.display().to_string(), module, &source)
        })
        .collect();
    assert!(sentences.is_empty(), "\n{}\n", sentences.join("\n"));
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

#[test]
fn rules_name_modules_that_exist() {
    let modules: BTreeSet<String> = modules().into_iter().map(|(_, module)| module).collect();
    let crates = CRATES.map(|(_, name, _)| name);
    let named = RULES.iter().flat_map(|rule| rule.modules);
    let excepted = EXCEPTIONS.iter().map(|(module, _)| module);
    for module in named.chain(excepted) {
        assert!(
            modules.contains(*module) || crates.contains(module),
            "a rule names `{module}`, which does not exist: remove or rename it"
        );
    }
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
        ("eval::report", "use rankgauge_core::engine::Engine;"),
        ("eval::evaluate", "use crate::report::write;"),
        ("lab::traffic", "use rankgauge_core::event::Search;"),
        ("sidecar::expose::json", "use super::server;"),
        ("sidecar::ingest", "use crate::expose::collect::collect;"),
        ("sidecar::config", "use rankgauge_eval::run::Run;"),
        ("sidecar::main", "use rankgauge::app::App;"),
        ("core::newcomer", "use crate::time::EventTime;"),
    ];
    for (module, source) in planted {
        let found = violations("planted.rs", module, source);
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
        ("core::gold", "use std::fs; fn f() { fs::read(\"x\"); }"),
        (
            "sidecar::expose::json",
            "use super::{collect::Value, text::write_value};",
        ),
        ("core::measure", "/// [`crate::engine`]\npub fn f() {}"),
        ("sidecar::main", "fn main() { rankgauge::cli::run(); }"),
    ];
    for (module, source) in allowed {
        let found = violations("allowed.rs", module, source);
        assert!(found.is_empty(), "in `{module}`, `{source}` gave {found:?}");
    }
}

#[test]
fn a_violation_is_a_sentence_with_its_reason() {
    let found = violations(
        "crates/core/src/measure/ranked.rs",
        "core::measure::ranked",
        "use crate::engine::Engine;",
    );
    let expected = "crates/core/src/measure/ranked.rs: `core::measure::ranked` must not use \
                    `crate::engine::Engine`: a measure is a function of a ranking and its \
                    judgements, so that files and live streams are judged by the same code";
    assert_eq!(found, BTreeSet::from([expected.to_owned()]));
}
