//! Source files of the workspace with the paths in them, and the files to which the paths lead.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// Crates of the workspace: name in paths, name in the rules, folder of the sources.
pub(super) const CRATES: &[(&str, &str, &str)] = &[
    ("rankgauge_core", "core", "crates/core/src"),
    ("rankgauge_eval", "eval", "crates/eval/src"),
    ("rankgauge_gateway", "gateway", "crates/gateway/src"),
    ("rankgauge_kafka", "kafka", "crates/kafka/src"),
    ("rankgauge_lab", "lab", "crates/lab/src"),
    ("rankgauge_probe", "probe", "crates/probe/src"),
    ("rankgauge_serve", "serve", "crates/serve/src"),
    ("rankgauge", "sidecar", "src"),
];

/// Segments of a path or of a module. A module begins with its crate's name in the rules.
pub(super) type Segments = Vec<String>;

/// A path in a source file.
pub(super) struct Use {
    /// Module that contains it: the file's, or one within the file.
    pub(super) within: Segments,
    pub(super) path: Segments,
}

/// A source file without its `#[cfg(test)]` items.
pub(super) struct Source {
    /// Path from the root of the repository.
    pub(super) file: PathBuf,
    pub(super) module: Segments,
    /// Paths in `use` trees, types, expressions and the arguments of macros.
    pub(super) uses: Vec<Use>,
    /// Names that `use` brings into a module, re-exports included.
    imported: BTreeMap<Segments, Segments>,
    /// Modules that all names of another are brought into.
    globs: Vec<Use>,
    /// Items by full path, modules within the file included.
    items: BTreeSet<Segments>,
    /// Items, modules and imported names that are `pub`.
    public: BTreeSet<Segments>,
}

impl Source {
    pub(super) fn parse(file: &Path, module: &str, text: &str) -> Self {
        let parsed = syn::parse_file(text)
            .unwrap_or_else(|problem| panic!("{} cannot be parsed: {problem}", file.display()));
        let module = segments(module);
        let mut reader = Reader {
            at: module.clone(),
            is_public: false,
            source: Self {
                file: file.to_owned(),
                module,
                uses: Vec::new(),
                imported: BTreeMap::new(),
                globs: Vec::new(),
                items: BTreeSet::new(),
                public: BTreeSet::new(),
            },
        };
        reader.visit_file(&parsed);
        reader.source
    }
}

/// Sources of all crates. `lib.rs` has the crate's name as its module.
pub(super) fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    for (_, name, folder) in CRATES {
        let mut folders = vec![root.join(folder)];
        while let Some(folder_of_files) = folders.pop() {
            for entry in fs::read_dir(folder_of_files).expect("a folder of sources can be listed") {
                let path = entry.expect("a folder of sources can be listed").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    let file = path.strip_prefix(root).expect("it was found there");
                    let inside = file.strip_prefix(folder).expect("it was found there");
                    let inside = inside.with_extension("");
                    let parts = inside.iter().map(|part| part.to_string_lossy());
                    let parts = parts.filter(|part| part != "lib");
                    let module: Vec<_> = std::iter::once((*name).into()).chain(parts).collect();
                    let text = fs::read_to_string(&path).expect("a source file is UTF-8 text");
                    sources.push(Source::parse(file, &module.join("::"), &text));
                }
            }
        }
    }
    sources.sort_by(|a, b| a.file.cmp(&b.file));
    sources
}

struct Reader {
    at: Segments,
    /// True within a `pub use`.
    is_public: bool,
    source: Source,
}

impl Reader {
    fn note(&mut self, path: Segments) {
        let within = self.at.clone();
        self.source.uses.push(Use { within, path });
    }

    fn import(&mut self, name: &str, path: Segments) {
        let at = with(&self.at, name);
        self.source
            .public
            .extend(self.is_public.then(|| at.clone()));
        self.source.imported.insert(at, path.clone());
        self.note(path);
    }

    fn tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let path_of = |name: &syn::Ident| match name.to_string().as_str() {
            "self" => before.to_vec(),
            name => with(before, name),
        };
        match tree {
            syn::UseTree::Path(path) => {
                self.tree(&with(before, &path.ident.to_string()), &path.tree);
            }
            syn::UseTree::Name(name) => {
                let path = path_of(&name.ident);
                self.import(&path.last().cloned().unwrap_or_default(), path);
            }
            syn::UseTree::Rename(name) => {
                self.import(&name.rename.to_string(), path_of(&name.ident));
            }
            syn::UseTree::Glob(_) => {
                let (within, path) = (self.at.clone(), before.to_vec());
                self.source.globs.push(Use { within, path });
                self.note(before.to_vec());
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(before, tree);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let hidden = &syn::Visibility::Inherited;
        let (attributes, name, visibility) = match item {
            syn::Item::Const(item) => (&item.attrs, Some(&item.ident), &item.vis),
            syn::Item::Enum(item) => (&item.attrs, Some(&item.ident), &item.vis),
            syn::Item::Fn(item) => (&item.attrs, Some(&item.sig.ident), &item.vis),
            syn::Item::Impl(item) => (&item.attrs, None, hidden),
            syn::Item::Macro(item) => (&item.attrs, item.ident.as_ref(), hidden),
            syn::Item::Mod(item) => (&item.attrs, Some(&item.ident), &item.vis),
            syn::Item::Static(item) => (&item.attrs, Some(&item.ident), &item.vis),
            syn::Item::Struct(item) => (&item.attrs, Some(&item.ident), &item.vis),
            syn::Item::Trait(item) => (&item.attrs, Some(&item.ident), &item.vis),
            syn::Item::Type(item) => (&item.attrs, Some(&item.ident), &item.vis),
            syn::Item::Use(item) => (&item.attrs, None, &item.vis),
            _ => return visit::visit_item(self, item),
        };
        // The declaration of a file is no item: the file is.
        let is_file = matches!(item, syn::Item::Mod(item) if item.content.is_none());
        let is_test = attributes.iter().any(|attribute| {
            let list = attribute.meta.require_list();
            attribute.path().is_ident("cfg")
                && list.is_ok_and(|list| list.tokens.to_string() == "test")
        });
        if !is_test {
            self.is_public = matches!(visibility, syn::Visibility::Public(_));
            if let Some(name) = name.map(|name| with(&self.at, &name.to_string())) {
                self.source
                    .public
                    .extend(self.is_public.then(|| name.clone()));
                self.source.items.extend((!is_file).then_some(name));
            }
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.at.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.at.pop();
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

pub(super) fn segments(path: &str) -> Segments {
    let parts = path.split("::").filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

fn with(before: &[String], name: &str) -> Segments {
    [before, &[name.to_owned()]].concat()
}

/// Target of a path within the workspace, beginning with its crate. `None` for a path out of the
/// workspace or of an imported name.
pub(super) fn within_workspace(found: &Use) -> Option<Segments> {
    let (first, rest) = found.path.split_first()?;
    let mut at = match first.as_str() {
        "crate" => found.within[..1].to_vec(),
        "self" => found.within.clone(),
        "super" => found.within.split_last()?.1.to_vec(),
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

/// Imports between the files of the workspace.
pub(super) struct Imports<'a> {
    sources: &'a [Source],
    files: BTreeMap<&'a [String], usize>,
    /// Files that each file imports from, with the paths.
    of: Vec<BTreeMap<usize, BTreeSet<String>>>,
}

impl<'a> Imports<'a> {
    pub(super) fn of(sources: &'a [Source]) -> Self {
        let files = sources.iter().map(|source| source.module.as_slice());
        let mut imports = Self {
            sources,
            files: files.zip(0..).collect(),
            of: Vec::new(),
        };
        for (number, source) in sources.iter().enumerate() {
            let mut of_file: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
            for found in &source.uses {
                let mut targets = BTreeSet::new();
                imports.follow(found, 0, &mut targets);
                for target in targets.into_iter().filter(|target| *target != number) {
                    let paths = of_file.entry(target).or_default();
                    paths.insert(found.path.join("::"));
                }
            }
            imports.of.push(of_file);
        }
        imports
    }

    /// File of a module, which stands in the file above if it has none of its own.
    fn file_of(&self, module: &[String]) -> Option<usize> {
        let mut above = (1..=module.len()).rev().map(|length| &module[..length]);
        above.find_map(|module| self.files.get(module).copied())
    }

    /// Source of a module that has a file or stands within one.
    fn source_of(&self, module: &[String]) -> Option<&'a Source> {
        let source = &self.sources[self.file_of(module)?];
        let is_module = source.module == module || source.items.contains(module);
        is_module.then_some(source)
    }

    /// Adds the files that a path leads through: that of the module it names, and if the name is a
    /// re-export, those behind it.
    fn follow(&self, found: &Use, depth: usize, files: &mut BTreeSet<usize>) {
        const MAX_REEXPORTS: usize = 10;
        let (Some(first), Some(source)) = (found.path.first(), self.source_of(&found.within))
        else {
            return;
        };
        let child = with(&found.within, first);
        let target = match within_workspace(found) {
            Some(target) => target,
            None if self.files.contains_key(child.as_slice()) => {
                [&child, &found.path[1..]].concat()
            }
            None => match source.imported.get(&child) {
                Some(path) if depth < MAX_REEXPORTS && path.first() != Some(first) => {
                    let path = [path, &found.path[1..]].concat();
                    let within = found.within.clone();
                    return self.follow(&Use { within, path }, depth + 1, files);
                }
                _ => return,
            },
        };
        let lengths = (1..=target.len()).rev();
        let Some(length) = { lengths }.find(|length| self.is_module(&target[..*length])) else {
            return;
        };
        let (module, rest) = target.split_at(length);
        files.extend(self.file_of(module));
        let (Some(name), Some(source)) = (rest.first(), self.source_of(module)) else {
            return;
        };
        let name = with(module, name);
        if depth == MAX_REEXPORTS || source.items.contains(&name) {
            return;
        }
        let behind = |path: &Segments, rest: &[String]| Use {
            within: module.to_vec(),
            path: [path, rest].concat(),
        };
        if let Some(path) = source.imported.get(&name) {
            self.follow(&behind(path, &rest[1..]), depth + 1, files);
        } else {
            for glob in source.globs.iter().filter(|glob| glob.within == module) {
                self.follow(&behind(&glob.path, rest), depth + 1, files);
            }
        }
    }

    fn is_module(&self, module: &[String]) -> bool {
        let is_inline = |source: &Source| {
            let mut below = source.items.range(module.to_vec()..).skip(1);
            below.next().is_some_and(|item| item.starts_with(module))
        };
        self.files.contains_key(module) || self.source_of(module).is_some_and(is_inline)
    }

    /// Items that other crates can name, by the path of their definition.
    pub(super) fn facade(&self, of_crate: &str) -> BTreeSet<Segments> {
        let mut facade = BTreeSet::new();
        let mut open = vec![segments(of_crate)];
        while let Some(at) = open.pop() {
            if !self.is_module(&at) {
                facade.insert(at);
                continue;
            }
            let Some(source) = self.source_of(&at) else {
                continue;
            };
            let here = source.public.iter();
            for name in here.filter(|name| name.len() == at.len() + 1 && name.starts_with(&at)) {
                let behind = |path: &Segments| {
                    let (within, path) = (at.clone(), path.clone());
                    let child = with(&within, path.first()?);
                    let target = within_workspace(&Use {
                        within,
                        path: path.clone(),
                    });
                    target.or_else(|| Some([&child, &path[1..]].concat()))
                };
                let path = source.imported.get(name);
                open.push(path.and_then(behind).unwrap_or_else(|| name.clone()));
            }
        }
        facade
    }

    /// Circles of imports within one crate that contain files of different folders.
    pub(super) fn circles(&self) -> Vec<Circle> {
        let reached: Vec<BTreeSet<usize>> = (0..self.of.len())
            .map(|from| {
                let mut reached = BTreeSet::new();
                let mut open = vec![from];
                while let Some(file) = open.pop() {
                    open.extend(self.of[file].keys().filter(|to| reached.insert(**to)));
                }
                reached
            })
            .collect();
        let mut circles = Vec::new();
        let mut closed = BTreeSet::new();
        for file in 0..self.of.len() {
            let mutual = reached[file]
                .iter()
                .filter(|to| reached[**to].contains(&file));
            let members: BTreeSet<usize> = mutual.copied().collect();
            let folders = members
                .iter()
                .map(|member| self.sources[*member].file.parent());
            let folders: BTreeSet<_> = folders.collect();
            if folders.len() > 1 && closed.insert(members.clone()) {
                circles.push(self.circle(&members));
            }
        }
        circles
    }

    fn circle(&self, members: &BTreeSet<usize>) -> Circle {
        let mut modules = members.iter().map(|member| &self.sources[*member].module);
        let first = modules.next().cloned().unwrap_or_default();
        let within = modules.fold(first, |common, module| {
            let same = common.into_iter().zip(module).take_while(|(a, b)| a == *b);
            same.map(|(part, _)| part).collect()
        });
        let name = |file: usize| self.sources[file].file.display();
        let imports = members.iter().flat_map(|from| {
            let to = self.of[*from]
                .iter()
                .filter(|(to, _)| members.contains(*to));
            to.map(move |(to, paths)| {
                let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
                format!("  {} -> {}: {}", name(*from), name(*to), paths.join(", "))
            })
        });
        Circle {
            within,
            files: members.len(),
            imports: imports.collect(),
        }
    }
}

/// Files that import from each other, directly or through others.
pub(super) struct Circle {
    /// Innermost module that contains all of them.
    pub(super) within: Segments,
    pub(super) files: usize,
    /// The imports between them, a line each.
    pub(super) imports: Vec<String>,
}
