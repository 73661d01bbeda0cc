//! Correctness of the documentation: docs/measures.md lists every measure of the catalogue with its
//! properties, and commands print the output that the documents show.

pub(crate) mod commands;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use rankgauge_core::measure::direction::Direction;
use rankgauge_core::measure::{Descriptor, catalogue};

const MEASURES: &str = "docs/measures.md";
/// Markers around the generated table of measures.
const BEGIN: &str = "<!-- measures: begin -->\n";
const END: &str = "<!-- measures: end -->\n";

/// Accepted notation of a measure.
#[derive(Debug, Default, PartialEq, Eq)]
struct Spelling {
    parameters: BTreeSet<String>,
    /// Accepted suffixes of the name: none, `@k`, `@r`.
    after: BTreeSet<String>,
}

/// Measures by name.
type Spellings = BTreeMap<String, Spelling>;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(path).expect("a file of the repository")
}

fn strings<const N: usize>(texts: [&str; N]) -> BTreeSet<String> {
    texts.into_iter().map(str::to_owned).collect()
}

impl Spelling {
    /// Spelling defined by the catalogue.
    fn of(descriptor: &Descriptor) -> Self {
        let parameters = descriptor.parameters();
        let syntax = descriptor.syntax();
        let after = syntax.find(['[', '@']).map_or("", |at| &syntax[at..]);
        let optional = after.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        Self {
            parameters: parameters.map(|it| it.name.to_owned()).collect(),
            after: optional.map_or_else(|| strings([after]), |it| strings(["", it])),
        }
    }
}

/// The `code` in a cell of a table.
fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Measures in the tables of `text` whose first column is called "measure", except the generated
/// table, which has a column of aliases.
fn documented(text: &str) -> Spellings {
    let mut spellings = Spellings::new();
    let mut header: Option<Vec<&str>> = None;
    for line in text.lines() {
        let Some(row) = line.strip_prefix('|') else {
            header = None;
            continue;
        };
        let cells: Vec<&str> = row
            .trim_end_matches('|')
            .split('|')
            .map(str::trim)
            .collect();
        let Some(header) = &header else {
            header = Some(cells);
            continue;
        };
        let is_listed = header[0] == "measure" && header[1] != "aliases";
        if !is_listed || cells[0].starts_with("---") {
            continue;
        }
        let has_parameters = header[1] == "parameters";
        for measure in code(cells[0]) {
            let end = measure.find(['(', '[', '@']).unwrap_or(measure.len());
            let (name, rest) = measure.split_at(end);
            let spelling = spellings.entry(name.to_owned()).or_default();
            let after = rest.rsplit(')').next().unwrap_or(rest);
            match after {
                "[@k]" => spelling.after.extend(strings(["", "@k"])),
                after => spelling.after.extend(strings([after])),
            }
            if has_parameters {
                spelling
                    .parameters
                    .extend(code(cells[1]).map(str::to_owned));
            }
        }
    }
    spellings
}

#[test]
fn the_documentation_lists_each_measure_with_its_parameters_and_cutoff() {
    let documented = documented(&read(MEASURES));
    for descriptor in catalogue() {
        assert_eq!(
            documented.get(descriptor.name),
            Some(&Spelling::of(descriptor)),
            "{MEASURES} and the catalogue differ on {}",
            descriptor.name
        );
    }
    let names: BTreeSet<&str> = catalogue().map(|descriptor| descriptor.name).collect();
    let unknown = documented
        .keys()
        .find(|name| !names.contains(name.as_str()));
    assert_eq!(
        unknown, None,
        "{MEASURES} has a measure that the catalogue does not contain"
    );
}

#[test]
fn the_documented_families_match_the_catalogue_in_order() {
    let text = read(MEASURES);
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("| family |"))
        .take_while(|line| line.starts_with('|'));
    let documented: Vec<&str> = rows
        .filter_map(|row| row.split('|').nth(2))
        .flat_map(code)
        .collect();
    let names: Vec<&str> = catalogue().map(|descriptor| descriptor.name).collect();
    assert_eq!(documented, names);
}

/// Table of all measures, in Markdown.
fn table() -> String {
    let mut table =
        String::from("| measure | aliases | scores | better | source |\n|---|---|---|---|---|\n");
    for descriptor in catalogue() {
        let aliases: Vec<String> = descriptor
            .aliases
            .iter()
            .map(|alias| format!("`{alias}`"))
            .collect();
        let better = match descriptor.direction {
            Direction::Up => "higher",
            Direction::Down => "lower",
            Direction::Neither => "neither",
        };
        writeln!(
            table,
            "| `{}` | {} | {} | {better} | {} |",
            descriptor.syntax(),
            aliases.join(" "),
            descriptor.range,
            descriptor.source,
        )
        .expect("writing to a string does not fail");
    }
    table
}

#[test]
fn the_documentation_contains_the_measure_table_of_the_catalogue() {
    let text = read(MEASURES);
    let (before, rest) = text
        .split_once(BEGIN)
        .expect("the beginning of the table is marked");
    let (written, after) = rest
        .split_once(END)
        .expect("the end of the table is marked");
    let expected = table();
    if env::var_os("UPDATE").is_some_and(|update| update == "1") {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(MEASURES);
        fs::write(path, format!("{before}{BEGIN}{expected}{END}{after}"))
            .expect("the documentation can be written");
    } else {
        assert!(
            written == expected,
            "{MEASURES} does not list the catalogue of measures. `UPDATE=1 cargo test` writes the \
             table, which should be\n\n{expected}"
        );
    }
}

/// Anchor of a heading, as GitHub derives it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter_map(|character| match character {
        ' ' => Some('-'),
        '-' | '_' => Some(character),
        _ => character.is_alphanumeric().then_some(character),
    });
    kept.collect()
}

/// Anchors of the headings in a document.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut anchors = BTreeSet::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code && line.starts_with('#') {
            anchors.insert(anchor(line.trim_start_matches('#')));
        }
    }
    anchors
}

/// Pages of `docs` below `folder`, as the site names them.
fn pages(folder: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(folder);
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(path).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("UTF-8");
        let name = Path::new(folder).join(name).display().to_string();
        if entry.path().is_dir() && name != "site" {
            found.extend(pages(&name));
        } else if Path::new(&name).extension().is_some_and(|it| it == "md") {
            found.insert(name);
        }
    }
    found
}

#[test]
fn the_site_lists_every_page() {
    let listed = links(&read("docs/site/SUMMARY.md"));
    let mut listed: BTreeSet<String> = listed.into_iter().collect();
    assert!(listed.remove("overview.md"), "the README is the first page");
    assert_eq!(listed, pages(""));
}

/// Targets of the relative links in a document.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        for part in line.split("](").skip(1).filter(|_| !is_code) {
            let target = part.split(')').next().unwrap_or_default();
            if !target.contains("://") {
                links.push(target.to_owned());
            }
        }
    }
    links
}

#[test]
fn every_link_between_the_documents_leads_to_a_file_and_a_heading() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut checked = 0;
    for document in documents() {
        let text = read(&document);
        let folder = Path::new(&document)
            .parent()
            .expect("a file stands in a folder");
        for link in links(&text) {
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() {
                root.join(&document)
            } else {
                root.join(folder).join(path)
            };
            assert!(target.exists(), "{document}: ({link}) leads to no file");
            if !heading.is_empty() && target.extension().is_some_and(|it| it == "md") {
                let headings = anchors(&fs::read_to_string(&target).expect("a document"));
                assert!(
                    headings.contains(heading),
                    "{document}: ({link}) leads to no heading; there are {headings:?}"
                );
            }
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} links");
}

/// Commands shown in a document, with the output that it shows.
struct Shown {
    /// Folder of the repository; the commands run in a copy of it.
    folder: String,
    commands: Vec<(String, String)>,
}

/// The ```` ```console ```` blocks of a document. Each follows a comment
/// `<!-- run in: FOLDER -->`.
fn shown(document: &str) -> Vec<Shown> {
    let text = read(document);
    let mut blocks = Vec::new();
    let mut before = "";
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == "```console" {
            let folder = before
                .strip_prefix("<!-- run in: ")
                .and_then(|rest| rest.strip_suffix(" -->"))
                .unwrap_or_else(|| panic!("{document}: a console block says where it is run"));
            let mut commands: Vec<(String, String)> = Vec::new();
            for line in lines.by_ref().take_while(|line| *line != "```") {
                match (line.strip_prefix("$ "), commands.last_mut()) {
                    (Some(command), _) => commands.push((command.to_owned(), String::new())),
                    (None, Some((_, output))) => output.extend([line, "\n"]),
                    (None, None) => panic!("{document}: a console block begins with a command"),
                }
            }
            let folder = folder.to_owned();
            blocks.push(Shown { folder, commands });
        }
        before = line;
    }
    blocks
}

/// Compares `output` with the shown output, in which a line `…` stands for any lines.
fn is_shown_as(output: &str, shown: &str) -> bool {
    let mut parts = shown.split("…\n");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = output.strip_prefix(first) else {
        return false;
    };
    let mut last = first;
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
        last = part;
    }
    // Shown output that ends with `…` may continue.
    rest.is_empty() || (last.is_empty() && shown.ends_with("…\n"))
}

/// Documents of the root, everything in docs/ and its folders, and the pages of deploy/.
fn documents() -> Vec<String> {
    let in_folder = |folder: &'static str| {
        let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
        let paths = files
            .expect(folder)
            .map(|file| file.expect("a file").path());
        let markdown = paths.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
        let names = markdown.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
        names.map(move |name| format!("{folder}/{name}"))
    };
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
        .map(str::to_owned)
        .into_iter()
        .chain(in_folder("docs"))
        .chain(in_folder("docs/connect"))
        .chain(in_folder("docs/decisions"))
        .chain(in_folder("deploy/helm/rankgauge"))
        .chain(in_folder("deploy/strimzi"))
        .collect()
}

/// Copy of a folder of the repository, without the packages that npm installs there: they are thousands of files, and no
/// command reads them.
fn copy_of(folder: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a temporary folder");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    copy_into(copy.path(), &folder);
    copy
}

fn copy_into(copy: &Path, folder: &Path) {
    for file in fs::read_dir(folder).expect("the folder that a block names") {
        let (from, to) = file
            .map(|file| (file.path(), copy.join(file.file_name())))
            .expect("a file");
        if from.ends_with("node_modules") {
            continue;
        }
        if from.is_dir() {
            fs::create_dir(&to).expect("a folder");
            copy_into(&to, &from);
        } else {
            fs::copy(&from, &to).expect("a copy");
        }
    }
}

/// Output of `command`, errors included, in a shell that has the program on its path.
fn run(command: &str, folder: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_rankgauge"));
    let programs = program.parent().expect("a file stands in a folder");
    let tools = std::env::var("PATH").expect("a path to find tools on");
    let done = Command::new("sh")
        .args(["-c", &format!("{command} 2>&1")])
        .current_dir(folder)
        .env("PATH", format!("{}:{tools}", programs.display()))
        .output()
        .expect("a shell");
    String::from_utf8(done.stdout).expect("UTF-8")
}

/// Sections of the four evaluation documents that state a requirement, by the heading of their part
/// of the scope page.
const SECTIONS: [(&str, &str); 4] = [
    (
        "Law-search methodology",
        "1.1 1.2 1.3 2.1 2.2 2.3 2.4 2.5 2.6 3.1 3.2 3.3 4.1 4.2 4.3 4.4 5.1 5.2 5.3 5.4 6.1 6.2 6.3 \
         7.1 7.2 7.3 8.2 8.5 C",
    ),
    (
        "RAG measures",
        "data 1.1 1.2 1.3 1.4 1.5 1.6 2.1 2.2 3.1 3.2 4.1 4.2 phase report success",
    ),
    (
        "Notebook",
        "TP precision micro ROUGE Rate MRR mAP@k NDCG measure",
    ),
    (
        "Multi-agent plan",
        "1.2 2.2 2.3 2.3.3 2.4 3 4.1 4.2 4.3 4.4 5.1 5.2 5.3 5.4.1 5.4.2 5.4.3 6.1 6.2 7.2.2 7.2.4 \
         7.3.2 7.3.3 8.2 8.5",
    ),
];

#[test]
fn the_scope_page_has_a_row_for_every_section_of_the_evaluation_documents() {
    let page = read("docs/scope.md");
    for (heading, sections) in SECTIONS {
        let part = page.split("\n## ").find(|part| part.starts_with(heading));
        let part = part.unwrap_or_else(|| panic!("docs/scope.md has no part about {heading}"));
        let rows = part.lines().filter_map(|line| line.strip_prefix("| "));
        let mut found = BTreeSet::new();
        for row in rows {
            let mut cells = row.split(" | ");
            let (first, place) = (cells.next(), cells.next());
            let is_stated = place.is_some_and(|place| place.trim_end_matches(" |").len() > 3);
            let words = first
                .into_iter()
                .flat_map(|it| it.split([' ', ',', ':', ';', '(', ')']));
            found.extend(words.filter(|_| is_stated));
        }
        for section in sections.split_whitespace() {
            assert!(found.contains(section), "{heading}: no row about {section}");
        }
    }
}

#[test]
fn commands_print_what_the_documents_show() {
    let mut number = 0;
    for document in documents() {
        for block in shown(&document) {
            let copy = copy_of(&block.folder);
            for (command, expected) in block.commands {
                let output = run(&command, copy.path());
                assert!(
                    is_shown_as(&output, &expected),
                    "{document}: `{command}` prints\n{output}\nand is shown to print\n{expected}"
                );
                number += 1;
            }
        }
    }
    assert!(number > 5, "only {number} commands are shown");
}

#[test]
fn the_page_on_operations_states_the_numbers_of_rules() {
    let page = read("docs/operations.md");
    let mut lines = page.lines();
    let mut number = 0;
    while let Some(line) = lines.next() {
        let Some(file) = line.strip_prefix("Checking ") else {
            continue;
        };
        let rules = read(file);
        let is_rule = |line: &&str| {
            let line = line.trim_start();
            line.starts_with("- alert:") || line.starts_with("- record:")
        };
        let rules = rules.lines().filter(is_rule).count();
        assert_eq!(
            lines.next(),
            Some(&*format!("  SUCCESS: {rules} rules found")),
            "{file}"
        );
        number += 1;
    }
    assert_eq!(number, 4);
}
