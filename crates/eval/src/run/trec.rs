//! TREC runs: `query Q0 document rank score name`, separated by white space.

use std::borrow::Cow;
use std::cmp::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};

use super::answer::{Answer, Order, Results, as_compared, by_score};
use super::error::{RunProblem, Wrong};
use rankgauge_core::text;

/// Lines of one query, in one or more places of the file.
pub(super) struct Group<'t> {
    query: &'t str,
    blocks: Vec<Block<'t>>,
}

/// Consecutive lines of one query, including blank lines.
struct Block<'t> {
    /// 1-based number of the first line.
    first: usize,
    text: &'t str,
}

/// Used fields of one line.
#[derive(Clone, Copy)]
struct Line<'t> {
    document: &'t str,
    key: Key,
    score: f64,
}

/// Sort key of a line.
#[derive(Clone, Copy)]
enum Key {
    /// Score as trec_eval compares it.
    Score(f64),
    Rank(i64),
    Place,
}

/// Returns true for a line without content: blank, or a comment, as in trec_eval since version 10.
pub(super) fn is_skipped(line: &str) -> bool {
    let line = line.trim_ascii_start();
    line.is_empty() || line.starts_with('#')
}

/// Returns the tag of a run: the sixth column of its last line with content, as in trec_eval.
pub(super) fn tag(lines: &[u8]) -> Option<String> {
    let mut lines = lines.rsplit(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let line = std::str::from_utf8(line).ok()?;
        let tag = line.split_ascii_whitespace().nth(5);
        tag.filter(|_| !is_skipped(line)).map(ToOwned::to_owned)
    })
}

/// Passes the answers in `text` to `take`, with the lines where they begin, and their queries to
/// `begin`. Returns the number of lines. A query whose lines are in several places has several
/// answers.
pub(super) fn each_answer<'t>(
    text: &'t str,
    order: Order,
    keeps_scores: bool,
    mut begin: impl FnMut(usize, &str),
    mut take: impl FnMut(usize, &Answer<'t>),
) -> Result<usize, Wrong> {
    let mut reader = Reader::new(order, keeps_scores);
    let (mut query, mut first) = ("", 1);
    let lines = reader.each_line(text, 1, |reader, columns, number| {
        if columns.query != query {
            if !query.is_empty() {
                take(first, &reader.finish(query));
            }
            (query, first) = (columns.query, number);
            begin(number, query);
        }
        reader.read(&columns, number)
    })?;
    if !query.is_empty() {
        take(first, &reader.finish(query));
    }
    Ok(lines)
}

/// Maximum number of lines that are examined for swapped columns.
const EXAMINED_LINES: usize = 1000;

/// Returns a warning if rank and score seem to be swapped: in the first queries, the scores count 1,
/// 2, 3 … as ranks do, and the ranks fall as scores do.
pub(super) fn swapped_columns(text: &str) -> Option<String> {
    let mut previous: Option<(&str, f64, f64)> = None;
    let mut followed = false;
    for line in text.lines().take(EXAMINED_LINES) {
        if is_skipped(line) {
            continue;
        }
        let mut columns = line.split_ascii_whitespace();
        let query = columns.next()?;
        let rank: f64 = columns.nth(2)?.parse().ok()?;
        let score: f64 = columns.next()?.parse().ok()?;
        match previous {
            Some((same, last_rank, last_score)) if same == query => {
                let counts = (score - last_score - 1.0).abs() < 1e-9;
                if !counts || rank > last_rank {
                    return None;
                }
                followed = true;
            }
            _ if !(0.0..=1.0).contains(&score) || score.fract() != 0.0 => return None,
            _ => {}
        }
        previous = Some((query, rank, score));
    }
    followed.then(|| {
        "the scores count up like ranks and the ranks fall like scores, so that the last result is \
         judged first; if the columns are swapped, write `query Q0 document rank score name`"
            .to_owned()
    })
}

/// Returns a warning if ranks and scores order the results differently, according to the first lines.
pub(super) fn disagreement(text: &str) -> Option<String> {
    let lines = text
        .lines()
        .take(EXAMINED_LINES)
        .filter(|line| !is_skipped(line));
    let results = lines.filter_map(|line| {
        let mut columns = text::columns(line);
        let query = columns.next()?;
        let rank: f64 = columns.nth(2)?.parse().ok()?;
        Some((query, rank, columns.next()?.parse().ok()?))
    });
    order_disagreement(Order::Score, results)
}

/// Returns a warning if a higher rank has a better number among consecutive results of a query, given as query,
/// rank and number: a score, or with [`Order::Ascending`] a distance. None in other orders.
pub fn order_disagreement<'t>(
    order: Order,
    results: impl Iterator<Item = (&'t str, f64, f64)>,
) -> Option<String> {
    let name = match order {
        Order::Score => "score",
        Order::Ascending => "distance",
        Order::Score64 | Order::Rank | Order::Served => return None,
    };
    let mut before: Option<(&str, f64, f64)> = None;
    let (mut ordered, mut opposed, mut query_of_first) = (0_usize, 0_usize, None);
    for (query, rank, score) in results {
        if let Some((same, last_rank, last_score)) = before
            && same == query
            && as_compared(last_score)
                .total_cmp(&as_compared(score))
                .is_ne()
            && last_rank.total_cmp(&rank).is_ne()
        {
            ordered += 1;
            if (last_rank < rank) == (order.key(last_score) < order.key(score)) {
                opposed += 1;
                query_of_first.get_or_insert(query);
            }
        }
        before = Some((query, rank, score));
    }
    let query = query_of_first?;
    let share = format!(
        "ranks and {name}s order {opposed} of {ordered} consecutive results differently, first of query `{query}`"
    );
    Some(if opposed == ordered && order == Order::Score {
        format!(
            "{share}: the scores rise with the ranks. If lower is better, as for distances, judge with --order \
             ascending; --order rank judges by the ranks"
        )
    } else {
        format!("{share}; results are judged by {name}, --order rank judges by the ranks")
    })
}

/// Groups lines by query, in the order of the first lines.
pub(super) fn groups(text: &str) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut by_query: FxHashMap<&str, usize> = FxHashMap::default();
    let mut position = usize::MAX;
    let mut current = "";
    let (mut first, mut from) = (1, 0);
    for (number, start, line) in lines(text, 1) {
        if !begins_with(line, current) {
            let query = line.split_ascii_whitespace().next();
            let query = query.filter(|query| *query != current && !is_skipped(line));
            if let Some(query) = query {
                add(&mut groups, position, first, text.get(from..start));
                position = *by_query.entry(query).or_insert_with(|| {
                    let blocks = Vec::new();
                    groups.push(Group { query, blocks });
                    groups.len() - 1
                });
                (current, first, from) = (query, number, start);
            }
        }
    }
    add(&mut groups, position, first, text.get(from..));
    groups
}

/// Returns lines with their numbers, counted from `first`, and their start offsets.
fn lines(text: &str, first: usize) -> impl Iterator<Item = (usize, usize, &str)> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1);
    let mut next = 0;
    let lines = ends.chain([text.len()]).map(move |end| {
        let start = std::mem::replace(&mut next, end);
        (start, text.get(start..end).unwrap_or_default())
    });
    (first..)
        .zip(lines)
        .map(|(number, (start, line))| (number, start, line))
}

/// Returns true if the line starts with `query` as its first column. A line with leading white
/// space can have this first column without starting with it.
fn begins_with(line: &str, query: &str) -> bool {
    let rest = line.as_bytes().strip_prefix(query.as_bytes());
    rest.and_then(<[u8]>::first)
        .is_some_and(|next| next.is_ascii_whitespace() && !query.is_empty())
}

fn add<'t>(groups: &mut [Group<'t>], position: usize, first: usize, text: Option<&'t str>) {
    if let (Some(group), Some(text)) = (groups.get_mut(position), text) {
        group.blocks.push(Block { first, text });
    }
}

/// Reads the queries of a run, in reused buffers.
pub(super) struct Reader<'t> {
    order: Order,
    keeps_scores: bool,
    layout: Layout<'t>,
    lines: Vec<Line<'t>>,
    seen: FxHashSet<&'t str>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(order: Order, keeps_scores: bool) -> Self {
        Self {
            order,
            keeps_scores,
            layout: Layout::default(),
            lines: Vec::new(),
            seen: FxHashSet::default(),
        }
    }

    /// Reads the answer to one query, and returns its first line.
    pub(super) fn answer(&mut self, group: &Group<'t>) -> Result<(usize, Answer<'t>), Wrong> {
        self.clear();
        for block in &group.blocks {
            self.each_line(block.text, block.first, |reader, columns, number| {
                reader.read(&columns, number)
            })?;
        }
        let first = group.blocks.first().map_or(0, |block| block.first);
        Ok((first, self.finish(group.query)))
    }

    /// Passes the columns of each line with content to `take`, with its number, counted from
    /// `first`. Returns the number of lines.
    fn each_line(
        &mut self,
        text: &'t str,
        first: usize,
        mut take: impl FnMut(&mut Self, Columns<'t>, usize) -> Result<(), Wrong>,
    ) -> Result<usize, Wrong> {
        let (mut rest, mut number) = (text, first);
        while !rest.is_empty() {
            let (columns, after) = self.layout.next(rest);
            match columns {
                Ok(Some(columns)) => take(self, columns, number)?,
                Ok(None) => {}
                Err(found) => return Err(RunProblem::Columns { found }.at(number)),
            }
            (rest, number) = (after, number + 1);
        }
        Ok(number - first)
    }

    /// Reads one line of an answer.
    fn read(&mut self, columns: &Columns<'t>, number: usize) -> Result<(), Wrong> {
        let line = read_line(columns, self.order).map_err(|problem| problem.at(number))?;
        if !self.seen.insert(line.document) {
            let problem = RunProblem::RepeatedDocument {
                query: columns.query.to_owned(),
                document: line.document.to_owned(),
            };
            return Err(problem.at(number));
        }
        self.lines.push(line);
        Ok(())
    }

    /// Returns the answer of the lines that are read, and removes them.
    fn finish(&mut self, query: &'t str) -> Answer<'t> {
        sort(&mut self.lines);
        let documents = self.lines.iter().map(|line| Cow::Borrowed(line.document));
        let scores = self.lines.iter().filter(|_| self.keeps_scores);
        let answer = Answer {
            query: Cow::Borrowed(query),
            results: Results::Documents(documents.collect()),
            scores: scores.map(|line| line.score).collect(),
        };
        self.clear();
        answer
    }

    fn clear(&mut self) {
        self.lines.clear();
        self.seen.clear();
    }
}

/// Used columns of one line.
struct Columns<'t> {
    query: &'t str,
    document: &'t str,
    rank: &'t str,
    score: &'t str,
}

/// Parts of the last line that most of the next lines repeat, so that they need not be split.
#[derive(Default)]
struct Layout<'t> {
    query: &'t str,
    /// Start of the line, up to the white space after the second column.
    start: &'t str,
    /// End of the line, from the white space before the sixth column to the line end.
    end: &'t str,
}

impl<'t> Layout<'t> {
    /// Splits the first line of a text, and returns the rest of the text. No columns for a line
    /// without content; the number of columns as an error, unless there are six.
    fn next(&mut self, text: &'t str) -> (Result<Option<Columns<'t>>, usize>, &'t str) {
        if let Some((columns, after)) = self.repeated(text) {
            return (Ok(Some(columns)), after);
        }
        let end = memchr::memchr(b'\n', text.as_bytes()).map_or(text.len(), |end| end + 1);
        let (line, after) = text.split_at(end);
        if is_skipped(line) {
            return (Ok(None), after);
        }
        let columns = self.split(line).map(Some);
        let columns = columns.ok_or_else(|| line.split_ascii_whitespace().count());
        (columns, after)
    }

    /// Splits a line that repeats the parts of the last line, with one space between columns.
    fn repeated(&self, text: &'t str) -> Option<(Columns<'t>, &'t str)> {
        let rest = text.strip_prefix(self.start)?;
        let (document, rest) = column_before_blank(rest)?;
        let (rank, rest) = column_before_blank(rest)?;
        let (score, rest) = first_column_of(rest)?;
        let after = rest.strip_prefix(self.end)?;
        let columns = Columns {
            query: self.query,
            document,
            rank,
            score,
        };
        (!self.end.is_empty()).then_some((columns, after))
    }

    /// Splits any line of six columns, which may be followed by text, and stores its parts.
    fn split(&mut self, line: &'t str) -> Option<Columns<'t>> {
        let (query, rest) = text::split_column(line)?;
        let (_, rest) = text::split_column(rest)?;
        let start = line.len() - rest.len() + 1;
        let (document, rest) = text::split_column(rest)?;
        let (rank, rest) = text::split_column(rest)?;
        let (score, end) = text::split_column(rest)?;
        let (_, rest) = text::split_column(end)?;
        // Text may follow the tag. A blank in a document id shifts the columns, and the rank is none then.
        if text::split_column(rest).is_some() && rank.parse::<f64>().is_err() {
            return None;
        }
        (self.query, self.start) = (query, line.get(..start)?);
        // A text that ends here could continue in another line.
        self.end = if end.ends_with('\n') { end } else { "" };
        Some(Columns {
            query,
            document,
            rank,
            score,
        })
    }
}

/// Splits a text after its first column; `None` if the text begins with white space.
#[inline]
fn first_column_of(text: &str) -> Option<(&str, &str)> {
    let columns = text::split_column(text);
    columns.filter(|(column, rest)| column.len() + rest.len() == text.len())
}

/// Splits a text at the blank or tab after its first column; `None` if the text begins with white
/// space, or if other white space or nothing follows.
#[inline]
fn column_before_blank(text: &str) -> Option<(&str, &str)> {
    let (column, rest) = first_column_of(text)?;
    Some((column, rest.strip_prefix([' ', '\t'])?))
}

/// Parses the columns of a line.
fn read_line<'t>(columns: &Columns<'t>, order: Order) -> Result<Line<'t>, RunProblem> {
    let Columns {
        document,
        rank,
        score,
        ..
    } = *columns;
    let not_a_number = |what, value: &str| RunProblem::NotANumber {
        what,
        value: value.to_owned(),
        columns: "columns are `query Q0 document rank score name`".to_owned(),
    };
    let parsed = decimal(score)
        .or_else(|| score.parse().ok())
        .filter(|score: &f64| !score.is_nan())
        .ok_or_else(|| not_a_number("score", score))?;
    let key = match order {
        Order::Score | Order::Score64 | Order::Ascending => Key::Score(order.key(parsed)),
        Order::Rank => Key::Rank(rank.parse().map_err(|_| not_a_number("rank", rank))?),
        Order::Served => Key::Place,
    };
    Ok(Line {
        document,
        key,
        score: parsed,
    })
}

/// Parses a decimal of few digits, as most scores are, with the result of [`str::parse`]: both the
/// digits and the power of ten are exact numbers, so that their quotient is rounded once.
fn decimal(text: &str) -> Option<f64> {
    const POWERS: [f64; 16] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ];
    let (mut digits, mut count, mut point) = (0_i64, 0, None);
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' if count < POWERS.len() - 1 => {
                digits = 10 * digits + i64::from(byte - b'0');
                count += 1;
            }
            b'.' if point.is_none() => point = Some(count),
            _ => return None,
        }
    }
    if count == 0 {
        return None;
    }
    #[allow(
        clippy::cast_precision_loss,
        reason = "fewer than 16 digits are below 2^53"
    )]
    let digits = digits as f64;
    Some(digits / POWERS.get(count - point.unwrap_or(count))?)
}

/// Sorts lines by their keys, which are all of one kind. Lines with equal keys keep the order of
/// the file.
fn sort(lines: &mut [Line<'_>]) {
    lines.sort_by(|a, b| match (a.key, b.key) {
        (Key::Score(first), Key::Score(second)) => {
            by_score((first, a.document), (second, b.document))
        }
        (Key::Rank(first), Key::Rank(second)) => first.cmp(&second),
        _ => Ordering::Equal,
    });
}

/// Start of the last query in `bytes`, whose lines may continue; `None` if there is only one query,
/// or no whole line.
pub(super) fn last_query(bytes: &[u8]) -> Option<usize> {
    let end = memchr::memrchr(b'\n', bytes)?;
    let mut start = line_start(bytes, end);
    let key = first_column(bytes.get(start..end)?)?;
    while let Some(before) = start.checked_sub(1) {
        let line = line_start(bytes, before);
        if first_column(bytes.get(line..before)?) != Some(key) {
            return Some(start);
        }
        start = line;
    }
    None
}

/// Start of the line that ends before `end`.
fn line_start(bytes: &[u8], end: usize) -> usize {
    let before = bytes.get(..end).unwrap_or_default();
    memchr::memrchr(b'\n', before).map_or(0, |at| at + 1)
}

fn first_column(line: &[u8]) -> Option<&[u8]> {
    let mut columns = line.split(u8::is_ascii_whitespace);
    columns.find(|column| !column.is_empty())
}
