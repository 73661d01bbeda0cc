//! Which way modules may depend, written once: [`RULES`] says what each module may use of the crate
//! and of the world outside, and an import against it fails with a sentence.
//!
//! Every path in every file of `src/` is looked at: in `use` trees, in types, in expressions and
//! within the arguments of macros.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// What some modules may use.
struct Rule {
    /// The modules the rule is about, each with everything below it. They may use each other. For a
    /// module that several rules speak of, the one that names it most closely holds.
    modules: &'static [&'static str],
    /// What else of the crate they may use: modules with everything in them, or single items.
    may_use: &'static [&'static str],
    /// What they may not use of the world outside.
    never: &'static [&'static str],
    /// Why, as the end of a sentence.
    because: &'static str,
}

/// Whatever makes a result depend on more than the arguments: clocks, threads, files, the network,
/// the environment, chance and the log.
const OUTSIDE: &[&str] = &[
    "clap",
    "hyper",
    "hyper_util",
    "prometheus",
    "rand",
    "rand_chacha",
    "rdkafka",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "tokio",
    "tracing",
];

/// The same, but for chance, of which a seed is the only source.
const OUTSIDE_BUT_CHANCE: &[&str] = &[
    "clap",
    "hyper",
    "hyper_util",
    "prometheus",
    "rdkafka",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "tokio",
    "tracing",
];

/// From the inside out.
const RULES: &[Rule] = &[
    Rule {
        modules: &["time"],
        may_use: &[],
        never: OUTSIDE,
        because: "times are numbers, and a clock is read by whoever has one",
    },
    Rule {
        modules: &["gold"],
        may_use: &[],
        never: OUTSIDE,
        because: "judgements stand on their own, and only gold::load touches files",
    },
    Rule {
        modules: &["ranking"],
        may_use: &["event", "gold"],
        never: OUTSIDE,
        because: "a ranking is what a search served, seen through judgements",
    },
    Rule {
        modules: &["measure"],
        may_use: &["gold", "ranking"],
        never: OUTSIDE,
        because: "a measure is a function of a ranking and its judgements, so that a file and a \
                  live stream are judged by the same code",
    },
    Rule {
        modules: &["evaluate"],
        may_use: &["event", "gold", "measure", "ranking", "run"],
        never: OUTSIDE,
        because: "an evaluation is data: reports show it, and files are read before",
    },
    Rule {
        modules: &["run"],
        may_use: &["decode", "engine::settings", "event"],
        never: OUTSIDE,
        because: "a run is what a system answered, whatever it is judged by, and only \
                  run::RunFile touches files",
    },
    Rule {
        modules: &["statistics"],
        may_use: &[],
        never: OUTSIDE_BUT_CHANCE,
        because: "statistics are functions of numbers and of a seed, whatever the numbers mean",
    },
    Rule {
        modules: &["detection"],
        may_use: &[],
        never: OUTSIDE,
        because: "evidence is a function of numbers in their order: what a score is and when a \
                  minute has passed, others say",
    },
    Rule {
        modules: &["detection::simulation"],
        may_use: &["detection"],
        never: OUTSIDE_BUT_CHANCE,
        because: "what a test would do is a function of its settings and of a seed",
    },
    Rule {
        modules: &["compare::mistakes"],
        may_use: &["compare", "event", "gold", "ranking", "run"],
        never: OUTSIDE,
        because: "what a query got wrong is a function of its answer and its judgements",
    },
    Rule {
        modules: &["compare::labels"],
        may_use: &["compare", "evaluate::label_of", "gold", "run"],
        never: OUTSIDE,
        because: "queries are sliced as `evaluate` slices them",
    },
    Rule {
        modules: &["compare"],
        may_use: &[
            "evaluate::GoldFacts",
            "evaluate::RunEvaluation",
            "measure::direction",
            "statistics",
        ],
        never: OUTSIDE_BUT_CHANCE,
        because: "a comparison is a function of scores, wherever they are from and however it is \
                  shown",
    },
    Rule {
        modules: &["report::compare"],
        may_use: &[
            "compare",
            "evaluate::GoldFacts",
            "report::chart",
            "report::document",
            "report::html",
            "report::markdown",
            "statistics",
        ],
        never: OUTSIDE,
        because: "a report writes down what was found, and whoever asked for it says where it goes",
    },
    Rule {
        modules: &["report"],
        may_use: &["evaluate", "measure"],
        never: OUTSIDE,
        because: "a report is a function of an evaluation, wherever it goes",
    },
    Rule {
        modules: &["proposal"],
        may_use: &["event", "gold", "ranking::JudgeBy"],
        never: OUTSIDE,
        because: "a proposal is a function of judgements and of what people did, wherever that is \
                  recorded",
    },
    Rule {
        modules: &["event"],
        may_use: &["time"],
        never: OUTSIDE,
        because: "an event is what happened, however it was written and whatever is made of it",
    },
    Rule {
        modules: &["decode"],
        may_use: &["engine::settings", "event", "time"],
        never: OUTSIDE,
        because: "a wire format turns bytes into events, wherever the bytes are from",
    },
    Rule {
        modules: &["engine"],
        may_use: &[
            "decode::Reason",
            "detection",
            "event",
            "gold",
            "measure",
            "ranking",
            "time",
        ],
        never: OUTSIDE,
        because: "the engine is a pure state machine: the same inputs give the same state, and what \
                  comes from outside enters as an input",
    },
    Rule {
        modules: &["checkpoint"],
        may_use: &["engine", "time"],
        never: OUTSIDE,
        because: "a checkpoint is a value, and only checkpoint::folder touches files",
    },
    Rule {
        modules: &["config"],
        may_use: &[
            "decode",
            "detection",
            "engine::money",
            "engine::settings",
            "gold",
            "measure",
            "ranking",
            "time",
        ],
        never: &["hyper", "rdkafka", "tokio"],
        because: "configuration says what was chosen and must not know what it leads to",
    },
    Rule {
        modules: &["ingest"],
        may_use: &[
            "checkpoint",
            "config",
            "decode",
            "engine",
            "event",
            "gold",
            "time",
        ],
        never: &["hyper", "hyper_util", "tokio"],
        because: "workers publish snapshots and must not know who looks at them",
    },
    Rule {
        modules: &["expose::collect", "expose::json", "expose::text"],
        may_use: &[
            "decode::Reason",
            "detection",
            "engine",
            "event",
            "expose::Family",
            "expose::Type",
            "expose::family",
            "statistics",
            "time",
        ],
        never: OUTSIDE,
        because: "what is exposed is a function of a snapshot, wherever the snapshot is from",
    },
    Rule {
        modules: &["expose::api"],
        may_use: &[
            "engine", "event", "expose", "gold", "ingest", "measure", "time",
        ],
        never: &["rdkafka", "std::fs"],
        because: "the API shows what workers published, and leaves commands for whoever does them",
    },
    Rule {
        modules: &["expose"],
        may_use: &["config", "engine", "event::Kind", "gold", "ingest", "time"],
        never: &["rdkafka"],
        because: "exposition reads what workers published and changes nothing",
    },
    Rule {
        modules: &["app"],
        may_use: &[
            "checkpoint",
            "config",
            "engine::Engine",
            "expose",
            "gold",
            "ingest",
        ],
        never: &["clap", "rdkafka"],
        because: "the sidecar is a function of its configuration and of the moment when to stop",
    },
    Rule {
        modules: &[
            "demo::corpus",
            "demo::document",
            "demo::gold_file",
            "demo::graph",
            "demo::origin",
            "demo::quality",
            "demo::serving",
            "demo::traffic",
            "demo::users",
            "demo::vocabulary",
            "demo::wire",
        ],
        may_use: &["time"],
        never: OUTSIDE_BUT_CHANCE,
        because: "traffic that shared code with the sidecar would agree with it by construction, \
                  and a seed has to give the same events everywhere",
    },
    Rule {
        modules: &["demo"],
        may_use: &[
            "app", "config", "engine", "event", "expose", "ingest", "time",
        ],
        never: &[],
        because: "the demo runs the sidecar as anybody else does",
    },
    Rule {
        modules: &["cli"],
        may_use: &[
            "app",
            "checkpoint",
            "compare",
            "config",
            "demo",
            "detection",
            "engine",
            "evaluate",
            "event::Kind",
            "expose",
            "gold",
            "ingest",
            "measure",
            "proposal",
            "ranking",
            "report",
            "run",
            "statistics",
        ],
        never: &["rdkafka"],
        because: "a command is a few lines here and a module elsewhere",
    },
    Rule {
        modules: &["main"],
        may_use: &["cli"],
        never: &["rdkafka", "tokio"],
        because: "the binary turns arguments into an exit code and leaves the rest to the library",
    },
];

/// What single modules, without those below them, may use all the same.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("checkpoint::folder", "std::fs"),
    ("gold", "std::fs"),
    ("run::source", "std::fs"),
];

/// A path as somebody wrote it: the module it stands in, and its segments.
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
        // A single word is a name that was imported, and looked at there.
        if path.segments.len() > 1 {
            let segments = path.segments.iter();
            self.note(segments.map(|part| part.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        // What stands in a macro is for the macro to understand; a path is a path all the same.
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

/// Where a path leads within the crate; `None` where it leaves it, or names what was imported.
fn within_crate(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    let mut at = match first.as_str() {
        // The binary sees the library from outside.
        "crate" | "rankgauge" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module.split_last()?.1.to_vec(),
        _ => return None,
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

/// Whether `path` is `whole` or something in it.
fn lies_in(path: &[String], whole: &str) -> bool {
    path.starts_with(&segments(whole))
}

/// The rule that names `module` most closely.
fn rule_of(module: &[String]) -> Option<&'static Rule> {
    let named = RULES.iter().flat_map(|rule| {
        let names = rule.modules.iter().map(move |name| (rule, segments(name)));
        names.filter(|(_, name)| module.starts_with(name))
    });
    named
        .max_by_key(|(_, name)| name.len())
        .map(|(rule, _)| rule)
}

/// What is wrong with a module that stands in `file`, a sentence each.
fn violations(file: &str, module: &str, source: &str) -> BTreeSet<String> {
    let mut sentences = BTreeSet::new();
    let Some(rule) = rule_of(&segments(module)) else {
        sentences.insert(format!(
            "{file}: no rule says what `{module}` may use; add one to RULES in \
             tests/it/architecture.rs"
        ));
        return sentences;
    };
    for (within, path) in Paths::of(module, source) {
        let wrong = match within_crate(&within, &path) {
            Some(target) => {
                let allowed = rule.modules.iter().chain(rule.may_use);
                !allowed.into_iter().any(|whole| lies_in(&target, whole))
            }
            // Importing all of `std::time` would hide the clock in it.
            None => rule.never.iter().any(|never| {
                let excepted = EXCEPTIONS.contains(&(module, never));
                !excepted && (lies_in(&path, never) || segments(never).starts_with(&path))
            }),
        };
        if wrong {
            sentences.insert(format!(
                "{file}: `{module}` must not use `{}`: {}",
                path.join("::"),
                rule.because
            ));
        }
    }
    sentences
}

/// The files of `src/` with the modules they hold, but for `lib.rs`, which only names them.
fn modules() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut modules = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources can be listed") {
            let path = entry.expect("a folder of sources can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let inside = path.strip_prefix(&root).expect("it was found there");
                let parts = inside.with_extension("");
                let parts = parts.iter().map(|part| part.to_string_lossy());
                modules.push((inside.to_owned(), parts.collect::<Vec<_>>().join("::")));
            }
        }
    }
    modules.retain(|(_, module)| module != "lib");
    modules.sort();
    modules
}

#[test]
fn modules_use_only_what_their_rule_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let sentences: Vec<String> = modules()
        .iter()
        .flat_map(|(file, module)| {
            let source = fs::read_to_string(root.join(file)).expect("a source file is UTF-8 text");
            violations(&format!("src/{}", file.display()), module, &source)
        })
        .collect();
    assert!(sentences.is_empty(), "\n{}\n", sentences.join("\n"));
}

#[test]
fn rules_speak_of_modules_that_exist() {
    let modules: BTreeSet<String> = modules().into_iter().map(|(_, module)| module).collect();
    let named = RULES.iter().flat_map(|rule| rule.modules);
    let excepted = EXCEPTIONS.iter().map(|(module, _)| module);
    for module in named.chain(excepted) {
        assert!(
            modules.contains(*module),
            "a rule speaks of `{module}`, and there is no such module: remove or rename it"
        );
    }
}

#[test]
fn a_forbidden_path_is_found_wherever_it_stands() {
    let planted = [
        ("engine", "use crate::ingest;"),
        ("engine::join", "use crate::{event::Kind, config::{self}};"),
        ("engine::join", "use super::super::expose::text as writer;"),
        ("engine", "fn f() { crate::app::start(); }"),
        ("engine", "fn f() -> Option<crate::config::Config> { None }"),
        ("engine", "fn f() { assert!(crate::ingest::ready()); }"),
        ("engine", "mod tests { use super::super::demo::corpus; }"),
        ("engine", "use crate::*;"),
        ("engine", "use crate::decode::native;"),
        ("engine", "fn f() { std::time::SystemTime::now(); }"),
        ("engine", "use std::time::{self};"),
        ("engine::join", "use tracing::info;"),
        ("gold::validate", "use std::fs;"),
        ("measure::ranked", "use crate::engine::Engine;"),
        ("expose::json", "use super::wall_now;"),
        ("demo::traffic", "use crate::event::Search;"),
        ("ingest", "use crate::expose::collect::collect;"),
        ("config", "use crate::engine::Engine;"),
        ("main", "use rankgauge::app::App;"),
        ("newcomer", "use crate::time::EventTime;"),
    ];
    for (module, source) in planted {
        let found = violations("planted.rs", module, source);
        assert_eq!(found.len(), 1, "in `{module}`, `{source}` gave {found:?}");
    }
}

#[test]
fn what_a_rule_allows_is_not_complained_of() {
    let allowed = [
        (
            "engine::join",
            "pub(crate) use crate::{event::Kind, decode::Reason};",
        ),
        (
            "engine",
            "use std::time::Duration; mod tests { use super::*; }",
        ),
        ("gold", "use std::fs; fn f() { fs::read(\"x\"); }"),
        (
            "expose::json",
            "use super::{Family, collect::Value, text::write_value};",
        ),
        ("measure", "/// [`crate::engine`]\npub fn f() {}"),
        ("main", "fn main() { rankgauge::cli::run(); }"),
    ];
    for (module, source) in allowed {
        let found = violations("allowed.rs", module, source);
        assert!(found.is_empty(), "in `{module}`, `{source}` gave {found:?}");
    }
}

#[test]
fn a_complaint_is_a_sentence_with_its_reason() {
    let found = violations(
        "src/measure/ranked.rs",
        "measure::ranked",
        "use crate::engine::Engine;",
    );
    let expected = "src/measure/ranked.rs: `measure::ranked` must not use `crate::engine::Engine`: a \
                    measure is a function of a ranking and its judgements, so that a file and a \
                    live stream are judged by the same code";
    assert_eq!(found, BTreeSet::from([expected.to_owned()]));
}
