//! Every example in docs/gold.md is a loadable gold set.

use rankgauge_core::gold::expansion::Relation;
use rankgauge_core::gold::{self, Format, Options};

/// Code blocks after a comment `<!-- gold: NAME -->`, with their names.
fn examples(text: &str) -> Vec<(String, String)> {
    let mut examples = Vec::new();
    let mut name = None;
    let mut block: Option<String> = None;
    for line in text.lines() {
        let comment = line.strip_prefix("<!-- gold: ");
        if let Some(named) = comment.and_then(|rest| rest.strip_suffix(" -->")) {
            name = Some(named.to_owned());
        } else if line.starts_with("```") {
            match (block.take(), name.clone()) {
                (Some(content), Some(_)) => {
                    examples.extend(name.take().map(|name| (name, content)));
                }
                (None, Some(_)) => block = Some(String::new()),
                (_, None) => {}
            }
        } else if let Some(block) = &mut block {
            block.push_str(line);
            block.push('\n');
        }
    }
    examples
}

#[test]
fn every_documented_format_loads_under_its_name() {
    let path = crate::repository("docs/gold.md");
    let text = std::fs::read_to_string(path).expect("docs/gold.md");
    let mut seen = Vec::new();
    for (name, content) in examples(&text) {
        if name == "edges" {
            let edges =
                Relation::parse_all("docs/gold.md", content.as_bytes()).expect("valid edges");
            assert!(!edges.is_empty());
            continue;
        }
        let format: Format = name.parse().expect("an example is named for its format");
        let recognised = gold::parse("docs/gold.md", content.as_bytes(), &Options::default())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let options = Options {
            format: Some(format),
            ..Options::default()
        };
        let stated = gold::parse("docs/gold.md", content.as_bytes(), &options).expect("stated");
        assert_eq!(recognised.queries(), stated.queries(), "{name}");
        assert!(recognised.judgement_count() > 0, "{name}");
        seen.push(format);
    }
    assert_eq!(seen, Format::ALL);
}
