//! Parts of a mapping that a sample does not show: a constant in the place of each, and the comment for it.

use std::iter;

/// Source in the place of a missing one. The mapping is valid with it.
pub const SOURCE: &str = "=MISSING";

/// Part of a mapping that a sample does not show.
#[derive(Debug, PartialEq, Eq)]
pub struct Missing {
    /// Key of its line.
    key: &'static str,
    /// Statement about the sample.
    pub what: &'static str,
    /// Effect until the line is replaced.
    pub effect: &'static str,
    /// Comment about the replacement.
    comment: &'static [&'static str],
}

/// All parts that are marked.
const PARTS: &[Missing] = &[
    Missing {
        key: "query_key",
        what: "no text of a query was found in the searches",
        effect: "no search is judged",
        comment: &[
            "  query: /POINTER      the text, as the user entered it",
            "  query_key: /POINTER  the query_id of the gold query: judging works with it, without texts",
            "Until then, no search is judged, and all searches count as one query: Reformulated, the query",
            "statistics and drops of single queries are wrong. Clicks, latency, errors and cost are right.",
        ],
    },
    Missing {
        key: "ts",
        what: "no time was found",
        effect: "no record is an event",
        comment: &[
            "  ts: /POINTER   ISO 8601 with an offset, or milliseconds since 1970; for numbers of another unit,",
            "                 add `time: seconds`, `micros` or `nanos` before `fields`",
            "  ts: timestamp  the time that Kafka states, which records in files do not have",
            "Until then, no record is an event.",
        ],
    },
    Missing {
        key: "query_id",
        what: "no id of a search was found",
        effect: "no feedback joins its search",
        comment: &[
            "  query_id: /POINTER  the id of the search: another one for each search, the same in its feedback",
            "Until then, all searches have one id, and no feedback joins its search.",
        ],
    },
    Missing {
        key: "id",
        what: "no id of a result was found",
        effect: "no result is relevant",
        comment: &[
            "  id: /POINTER  the id of the document, as in the gold set; the pointer begins at the result",
            "Until then, no result is relevant, and no click finds its result.",
        ],
    },
];

/// Replaces the time that Kafka states, which the records of a sample do not have.
pub(super) fn without_time_of_kafka(mapping: &str) -> String {
    mapping.replace("ts: timestamp\n", &format!("ts: \"{SOURCE}\"\n"))
}

/// Marks the lines of a mapping that lack a source, and returns the missing parts.
pub(super) fn marked(mapping: &str) -> (String, Vec<&'static Missing>) {
    let source = format!(": \"{SOURCE}\"");
    let (mut marked, mut missing) = (String::new(), Vec::new());
    for line in mapping.split_inclusive('\n') {
        let key = line.trim_end().strip_suffix(&source).map(str::trim_start);
        if let Some(part) = PARTS.iter().find(|part| Some(part.key) == key) {
            let indent = " ".repeat(line.len() - line.trim_start().len());
            let begin = format!("MISSING: {}. Replace the next line:", part.what);
            for text in iter::once(begin.as_str()).chain(part.comment.iter().copied()) {
                marked.extend([indent.as_str(), "# ", text, "\n"]);
            }
            if !missing.contains(&part) {
                missing.push(part);
            }
        }
        marked.push_str(line);
    }
    (marked, missing)
}
