//! A mapping as the text of a configuration.

use rankgauge_core::decode::mapped::Term;
use serde_json::Value;

/// The mapping as YAML, indented by `depth` levels.
pub(super) fn yaml(sections: &[(String, Term)], depth: usize) -> String {
    let mut text = String::new();
    append(sections, depth, &mut text);
    text
}

fn quoted(text: &str) -> String {
    let is_plain = text.starts_with(|it: char| it.is_ascii_alphanumeric() || it == '/')
        && text
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"/_.-".contains(&it))
        && (text.parse::<f64>().is_err() || matches!(text, "0" | "1"))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&&*text.to_lowercase());
    if is_plain {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}

fn append(sections: &[(String, Term)], depth: usize, text: &mut String) {
    for (key, value) in sections {
        text.push_str(&"  ".repeat(depth));
        text.push_str(&quoted(key));
        text.push(':');
        match value {
            Term::Section(inner) => {
                text.push('\n');
                append(inner, depth + 1, text);
                continue;
            }
            Term::Text(value) => {
                text.push(' ');
                text.push_str(&quoted(value));
            }
            Term::List(elements) => {
                let elements: Vec<String> = elements
                    .iter()
                    .filter_map(|element| match element {
                        Term::Text(element) => Some(quoted(element)),
                        _ => None,
                    })
                    .collect();
                text.extend([" [", &elements.join(", "), "]"]);
            }
            Term::Nothing => {}
        }
        text.push('\n');
    }
}
