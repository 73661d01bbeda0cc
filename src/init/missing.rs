//! Text of a query that a sample does not show: a constant in its place, and the comment for it.

/// Source in place of the query. The mapping is valid with it.
pub(super) const QUERY: &str = "=MISSING";

/// Comment before the line with the source.
const COMMENT: [&str; 5] = [
    "MISSING: no text of a query was found in the searches. Replace the next line by one of these:",
    "  query: /POINTER      the text, as the user entered it",
    "  query_key: /POINTER  the query_id of the gold query: judging works with it, without texts",
    "Until then, no search is judged, and all searches count as one query: Reformulated, the query",
    "statistics and drops of single queries are wrong. Clicks, latency, errors and cost are right.",
];

/// Marks the line of a mapping that lacks the query. `None` if no line does.
pub(super) fn marked(mapping: &str) -> Option<String> {
    let quoted = format!("\"{QUERY}\"");
    let at = mapping.find(&quoted)?;
    let start = mapping.get(..at)?.rfind('\n').map_or(0, |it| it + 1);
    let (before, line) = mapping.split_at_checked(start)?;
    let indent: String = line.chars().take_while(|it| *it == ' ').collect();
    let comment = COMMENT.map(|text| format!("{indent}# {text}\n"));
    Some([before, &comment.concat(), line].concat())
}
