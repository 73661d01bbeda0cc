//! Lines of a text file with their numbers.

/// Iterates over the lines of a text that have content, with their 1-based numbers. Blank lines
/// and, as in trec_eval since version 10, comments that begin with `#` are skipped.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let has_content = |line: &str| match line.as_bytes() {
        // Fast path: most lines begin with a graphic character.
        [first, ..] if first.is_ascii_graphic() => *first != b'#',
        _ => !matches!(line.trim_start().as_bytes(), [] | [b'#', ..]),
    };
    numbered(text).filter(move |(_, line)| has_content(line))
}

/// Iterates over all lines of a text, as [`str::lines`] does, with their 1-based numbers.
pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1);
    let mut start = 0;
    let lines = ends.chain([text.len()]).filter_map(move |end| {
        let line = text.get(start..end).filter(|line| !line.is_empty())?;
        start = end;
        let ended = line.strip_suffix('\n');
        Some(ended.map_or(line, |line| line.strip_suffix('\r').unwrap_or(line)))
    });
    (1..).zip(lines)
}
