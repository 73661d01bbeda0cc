//! Runs in tables (CSV, TSV, three columns) and in records of JSON: one result in each row.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Number, Value};

use super::answer::{Answer, Order, Results, by_score};
use super::error::{RunProblem, Wrong};
use super::positions::Positions;
use super::trec::{is_skipped, order_disagreement};
use rankgauge_core::columns::{Columns, reader};
use rankgauge_core::text;

/// Layout of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Byte between columns; `None` for white space.
    separator: Option<u8>,
    /// Number of columns of the header, the first line; `None` without a header.
    header: Option<usize>,
    positions: Positions,
}

/// Result of a run.
#[derive(Debug)]
pub(super) struct Row<'t> {
    pub(super) line: usize,
    pub(super) query: Cow<'t, str>,
    pub(super) document: Cow<'t, str>,
    pub(super) rank: Option<i64>,
    pub(super) score: Option<f64>,
}

/// Separator of the columns of a line; `None` for white space.
fn separator(line: &str) -> Option<u8> {
    let mut separators = [b'\t', b',', b';'].into_iter();
    separators.find(|separator| line.as_bytes().contains(separator))
}

/// Fields of a line without quotes.
fn cells(line: &str, separator: Option<u8>) -> impl Iterator<Item = &str> {
    let (split, columns) = match separator {
        Some(separator) => (Some(line.split(char::from(separator)).map(str::trim)), None),
        None => (None, Some(text::columns(line))),
    };
    split
        .into_iter()
        .flatten()
        .chain(columns.into_iter().flatten())
}

impl Table {
    /// Recognises a table by its first lines with content; `None` for other content.
    ///
    /// # Errors
    /// The header does not contain the stated columns, or the last of three columns can be both a rank and a
    /// score.
    pub(super) fn of(
        lines: &[(usize, &str)],
        stated: Option<&Columns>,
    ) -> Result<Option<Self>, Wrong> {
        let Some((number, first)) = lines.first().copied() else {
            return Ok(None);
        };
        let separator = separator(first);
        let names: Vec<&str> = cells(first, separator).collect();
        let table = |positions, has_header: bool| Self {
            separator,
            header: has_header.then_some(names.len()),
            positions,
        };
        if let Some(text) = stated.and_then(|stated| stated.missing(&names)) {
            return Err(RunProblem::Row(text).at(number));
        }
        let found = Positions::of(&names, stated);
        match (stated, found) {
            (Some(stated), Some(positions)) => {
                let is_text = |at: usize| {
                    let cell = names.get(at).map(|cell| unquoted(cell).parse::<f64>());
                    cell.is_some_and(|number| number.is_err())
                };
                let numbers = positions.rank.or(positions.score);
                let has_header = stated.need_header() || numbers.is_some_and(is_text);
                Ok(Some(table(positions, has_header)))
            }
            (None, Some(positions)) => Ok(Some(table(positions, true))),
            (_, None) => {
                let positions = of_three_columns(lines, separator)?;
                Ok(positions.map(|positions| table(positions, false)))
            }
        }
    }

    /// Order that the columns imply.
    pub(super) fn order(self) -> Order {
        match self.positions {
            Positions {
                score: Some(_),
                is_distance: true,
                ..
            } => Order::Ascending,
            Positions { score: Some(_), .. } => Order::Score,
            Positions { rank: Some(_), .. } => Order::Rank,
            _ => Order::Served,
        }
    }

    /// Reads the rows of a whole text.
    pub(super) fn rows(self, text: &str) -> Result<Vec<Row<'_>>, Wrong> {
        let mut rows = Vec::new();
        let header = text.lines().find(|line| !is_skipped(line)).map(str::trim);
        let header = header.filter(|_| self.header.is_some());
        let mut lines = Lines {
            text,
            at: 0,
            line: 1,
        };
        if let Some(separator) = self.separator.filter(|_| text.contains('"')) {
            let mut reader = reader(text)
                .has_headers(false)
                .delimiter(separator)
                .comment(Some(b'#'))
                .from_reader(text.as_bytes());
            let mut is_header = self.header.is_some();
            let mut last = None;
            for record in reader.records() {
                let record =
                    record.map_err(|error| RunProblem::Row(error.to_string()).at(lines.line))?;
                let line = lines.of(record.position().map_or(0, csv::Position::byte));
                if std::mem::take(&mut is_header) {
                    continue;
                }
                let cells = record.iter().map(|cell| Cow::Owned(cell.to_owned()));
                let cells: Vec<Cow<'_, str>> = cells.collect();
                // A row of a table that tabs separate is one line: a quote there is mostly text.
                if separator == b'\t' && cells.iter().any(|cell| cell.contains(['\n', '\r'])) {
                    return Err(RunProblem::Row(OPEN_QUOTE.to_owned()).at(line));
                }
                last = Some((line, cells.len()));
                rows.push(
                    self.row(line, &cells, header)
                        .map_err(|wrong| lines.open_quote().unwrap_or(wrong))?,
                );
            }
            if last.is_some_and(|(_, cells)| self.header.is_some_and(|header| cells < header))
                && let Some(wrong) = lines.open_quote()
            {
                return Err(wrong);
            }
            return Ok(rows);
        }
        let lines = (1..)
            .zip(text.lines())
            .filter(|(_, line)| !is_skipped(line));
        let mut found = Vec::new();
        for (line, content) in lines.skip(usize::from(self.header.is_some())) {
            found.clear();
            found.extend(cells(content, self.separator).map(Cow::Borrowed));
            rows.push(self.row(line, &found, header)?);
        }
        Ok(rows)
    }

    /// Reads a row. `header` is the line of the header, for messages.
    fn row<'t>(
        self,
        line: usize,
        cells: &[Cow<'t, str>],
        header: Option<&str>,
    ) -> Result<Row<'t>, Wrong> {
        let problem = |text: String| RunProblem::Row(text).at(line);
        if let Some(header) = self.header
            && cells.iter().skip(header).any(|cell| !cell.is_empty())
        {
            return Err(problem(format!(
                "{} fields where the header has {header}; quote a field that contains the separator",
                cells.len()
            )));
        }
        let Positions {
            query,
            document,
            rank,
            score,
            ..
        } = self.positions;
        let cell = |at: usize, what: &str| {
            let cell = cells.get(at).filter(|cell| !cell.is_empty());
            cell.cloned().ok_or_else(|| {
                problem(format!(
                    "column {}, the {what}, is missing or empty",
                    at + 1
                ))
            })
        };
        let not_a_number = |what, value: &str| {
            let value = value.to_owned();
            let columns = match header {
                Some(header) => format!("columns are `{header}`"),
                None => self.positions.named(),
            };
            RunProblem::NotANumber {
                what,
                value,
                columns,
            }
            .at(line)
        };
        let rank = match rank {
            None => None,
            Some(at) => {
                let text = cell(at, "rank")?;
                Some(read_rank(&text).ok_or_else(|| not_a_number("rank", &text))?)
            }
        };
        let score = match score {
            None => None,
            Some(at) => {
                let text = cell(at, "score")?;
                let score = text.parse().ok().filter(|score: &f64| !score.is_nan());
                Some(score.ok_or_else(|| not_a_number("score", &text))?)
            }
        };
        Ok(Row {
            line,
            query: cell(query, "query")?,
            document: cell(document, "document")?,
            rank,
            score,
        })
    }
}

fn unquoted(cell: &str) -> &str {
    cell.trim_matches('"')
}

/// Reads a rank, which some tools write as a decimal: `3.0`.
fn read_rank(text: &str) -> Option<i64> {
    let whole = text
        .split_once('.')
        .filter(|(_, rest)| rest.bytes().all(|digit| digit == b'0'));
    whole.map_or(text, |(whole, _)| whole).parse().ok()
}

/// Columns of a table of three columns without a header: query, document and rank as in MS MARCO, or query,
/// document and score. `None` for other content.
fn of_three_columns(
    lines: &[(usize, &str)],
    separator: Option<u8>,
) -> Result<Option<Positions>, Wrong> {
    let mut numbers = Vec::new();
    for (_, line) in lines {
        let found: Vec<&str> = cells(line, separator).collect();
        let [query, _, number] = *found else {
            return Ok(None);
        };
        if number.parse::<f64>().is_err() {
            return Ok(None);
        }
        numbers.push((query, number));
    }
    let Some(((line, _), (_, first))) = lines.first().zip(numbers.first()) else {
        return Ok(None);
    };
    if numbers
        .iter()
        .any(|(_, number)| number.parse::<i64>().is_err())
    {
        return Ok(Some(Positions::of_three(false)));
    }
    let counts = numbers.windows(2).all(|pair| {
        let [(before, rank), (query, next)] = pair else {
            return true;
        };
        let ranks = rank.parse::<i64>().ok().zip(next.parse::<i64>().ok());
        before != query || ranks.is_some_and(|(rank, next)| next == rank + 1)
    });
    if counts && matches!(*first, "0" | "1") {
        return Ok(Some(Positions::of_three(true)));
    }
    Err(RunProblem::Row(
        "three columns, of which the last can be a rank or a score; name them with --columns \
         query,document,rank or --columns query,document,score"
            .to_owned(),
    )
    .at(*line))
}

/// Problem of a field that begins with a quote and has no other.
const OPEN_QUOTE: &str =
    "a quote is opened and not closed; close it, or write \"\" for a quote in a field";

/// Line numbers of the records of a text, in their order.
struct Lines<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    /// Line of the record at or after a position of the reader, which can precede line ends.
    fn of(&mut self, position: u64) -> usize {
        let start = usize::try_from(position).unwrap_or(usize::MAX);
        while let Some(byte) = self.text.as_bytes().get(self.at)
            && (self.at < start || matches!(byte, b'\r' | b'\n'))
        {
            self.line += usize::from(*byte == b'\n');
            self.at += 1;
        }
        self.line
    }

    /// Error if the last record has a quote that is not closed.
    fn open_quote(&self) -> Option<Wrong> {
        let rest = self.text.get(self.at..)?;
        let is_open = rest.matches('"').count() % 2 == 1;
        is_open.then(|| RunProblem::Row(OPEN_QUOTE.to_owned()).at(self.line))
    }
}

/// Returns a warning if ranks and scores, or ranks and distances, order the results differently, and the ranks are
/// not judged.
pub(super) fn disagreement(rows: &[Row<'_>], order: Order) -> Option<String> {
    #[allow(clippy::cast_precision_loss, reason = "a rank is far below 2^53")]
    order_disagreement(
        order,
        rows.iter()
            .filter_map(|row| Some((&*row.query, row.rank? as f64, row.score?))),
    )
}

/// Returns the answers of rows, in the order of their queries, with the lines where they begin.
pub(super) fn answers<'t>(
    rows: Vec<Row<'t>>,
    order: Order,
    keeps_scores: bool,
) -> Result<Vec<(usize, Answer<'t>)>, Wrong> {
    let mut queries: Vec<(Cow<'t, str>, Vec<Row<'t>>)> = Vec::new();
    let mut positions: FxHashMap<Cow<'t, str>, usize> = FxHashMap::default();
    let mut last = usize::MAX;
    for row in rows {
        let is_last = queries
            .get(last)
            .is_some_and(|(query, _)| *query == row.query);
        if !is_last {
            last = *positions.entry(row.query.clone()).or_insert_with(|| {
                queries.push((row.query.clone(), Vec::new()));
                queries.len() - 1
            });
        }
        if let Some((_, rows)) = queries.get_mut(last) {
            rows.push(row);
        }
    }
    if queries.is_empty() {
        return Err(RunProblem::Empty.into());
    }
    let answers = queries.into_iter().map(|(query, rows)| {
        let line = rows.first().map_or(1, |row| row.line);
        Ok((line, answer(query, rows, order, keeps_scores)?))
    });
    answers.collect()
}

/// Answer of the rows of one query.
pub(super) fn answer<'t>(
    query: Cow<'t, str>,
    mut rows: Vec<Row<'t>>,
    order: Order,
    keeps_scores: bool,
) -> Result<Answer<'t>, Wrong> {
    if let Some(row) = rows.iter().find(|row| row.document.trim().is_empty()) {
        return Err(RunProblem::EmptyId { what: "document" }.at(row.line));
    }
    if let Some(row) = rows.first().filter(|_| query.trim().is_empty()) {
        return Err(RunProblem::EmptyId { what: "query" }.at(row.line));
    }
    let mut seen = FxHashSet::default();
    if let Some(again) = rows.iter().find(|row| !seen.insert(&*row.document)) {
        let problem = RunProblem::RepeatedDocument {
            query: query.into_owned(),
            document: again.document.clone().into_owned(),
        };
        return Err(problem.at(again.line));
    }
    let lacking = |what| match what {
        "rank" => rows.iter().find(|row| row.rank.is_none()),
        _ => rows.iter().find(|row| row.score.is_none()),
    };
    let what = match order {
        Order::Score | Order::Score64 | Order::Ascending => "score",
        Order::Rank => "rank",
        Order::Served => "",
    };
    if let Some(row) = lacking(what).filter(|_| !what.is_empty()) {
        return Err(RunProblem::NoOrder { what }.at(row.line));
    }
    match order {
        Order::Served => {}
        Order::Rank => rows.sort_by_key(|row| row.rank),
        Order::Score | Order::Score64 | Order::Ascending => {
            let key = |row: &Row<'_>| order.key(row.score.unwrap_or_default());
            rows.sort_by(|a, b| by_score((key(a), &a.document), (key(b), &b.document)));
        }
    }
    // Without a score, an earlier result has the higher one.
    let scores = rows.iter().zip(0_u32..);
    let scores = scores.map(|(row, at)| row.score.unwrap_or(-f64::from(at)));
    let scores = scores.filter(|_| keeps_scores).collect();
    Ok(Answer {
        query,
        scores,
        results: Results::Documents(rows.into_iter().map(|row| row.document).collect()),
    })
}

/// Returns true if a line is a whole record of JSON with one result.
pub(super) fn is_record(line: &str, stated: Option<&Columns>) -> bool {
    let Ok(record) = serde_json::from_str::<Map<String, Value>>(line) else {
        return false;
    };
    let names: Vec<&str> = record.keys().map(String::as_str).collect();
    let Some(positions) = Positions::of(&names, stated) else {
        return false;
    };
    let is_id = |at: usize| {
        let value = names.get(at).and_then(|name| record.get(*name));
        value.is_some_and(|value| value.is_string() || value.is_number())
    };
    is_id(positions.query) && is_id(positions.document) && !record.contains_key("results")
}

/// Reads records of JSON, one a line or in one list.
pub(super) fn records<'t>(
    text: &str,
    stated: Option<&Columns>,
) -> Result<(Vec<Row<'t>>, Order), Wrong> {
    let mut all = Records::default();
    let json = |error: serde_json::Error, line: usize| {
        RunProblem::Json(format!("not a record of a result in JSON: {error}")).at(line)
    };
    if text.trim_start().starts_with('[') {
        let records: Vec<Map<String, Value>> = serde_json::from_str(text).map_err(|error| {
            let line = error.line();
            json(error, line)
        })?;
        return rows_of(&records, stated);
    }
    for (line, content) in (1..).zip(text.lines()) {
        if content.trim().is_empty() {
            continue;
        }
        let record = serde_json::from_str(content).map_err(|error| json(error, line))?;
        all.add(line, &record, stated)?;
    }
    Ok((all.rows, all.order))
}

/// Rows of records on one line, with the order that they imply.
pub(super) fn rows_of<'t>(
    records: &[Map<String, Value>],
    stated: Option<&Columns>,
) -> Result<(Vec<Row<'t>>, Order), Wrong> {
    let mut all = Records::default();
    for record in records {
        all.add(1, record, stated)?;
    }
    Ok((all.rows, all.order))
}

/// Rows of records, and the order that the first one implies.
struct Records<'t> {
    rows: Vec<Row<'t>>,
    order: Order,
}

impl Default for Records<'_> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            order: Order::Served,
        }
    }
}

impl Records<'_> {
    fn add(
        &mut self,
        line: usize,
        record: &Map<String, Value>,
        stated: Option<&Columns>,
    ) -> Result<(), Wrong> {
        let (row, implied) = record_row(line, record, stated, None)?;
        if self.rows.is_empty() {
            self.order = implied;
        }
        self.rows.push(row);
        Ok(())
    }
}

/// Id that is a whole number. The text of another number is lost when JSON is parsed: `1e3` and 1000.0 are the same.
pub(super) fn id_of<'t>(number: &Number, what: &str) -> Result<Cow<'t, str>, RunProblem> {
    if number.is_u64() || number.is_i64() {
        return Ok(Cow::Owned(number.to_string()));
    }
    Err(RunProblem::Row(format!(
        "the {what} of a record is the number {number}, which is no whole number of 64 bits; write the id as a text, in \
         quotes"
    )))
}

/// Row of a record, with the order that its members imply. `query` is the query of the list that the record is
/// in, if it is in one.
pub(super) fn record_row<'t>(
    line: usize,
    record: &Map<String, Value>,
    stated: Option<&Columns>,
    query: Option<&str>,
) -> Result<(Row<'t>, Order), Wrong> {
    let mut names: Vec<&str> = record.keys().map(String::as_str).collect();
    if query.is_some() {
        // Within a list of a query, `id` is the document.
        let is_id = |name: &&str| *name == "id" || *name == "_id";
        names = names
            .into_iter()
            .map(|name| if is_id(&name) { "document_id" } else { name })
            .collect();
        names.push("query_id");
    }
    let Some(positions) = Positions::of(&names, stated) else {
        let names: Vec<&str> = record.keys().map(String::as_str).collect();
        return Err(RunProblem::Row(format!(
            "a record without a query and a document; its members are {}. Name them with --columns \
             query=NAME,document=NAME,score=NAME",
            names.join(", ")
        ))
        .at(line));
    };
    let values: Vec<Option<&Value>> = record.values().map(Some).chain([None]).collect();
    let value = |at: usize| values.get(at).copied().flatten();
    let id = |at: usize, what: &str| match value(at) {
        Some(Value::String(text)) if !text.is_empty() => Ok(Cow::Owned(text.clone())),
        Some(Value::Number(number)) => id_of(number, what).map_err(|problem| problem.at(line)),
        _ => Err(RunProblem::Row(format!(
            "the {what} of a record is no id: a text or a number"
        ))
        .at(line)),
    };
    let number = |at: Option<usize>, what: &'static str| {
        let Some(value) = at.and_then(value) else {
            return Ok(None);
        };
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok().filter(|it: &f64| !it.is_nan()),
            _ => None,
        };
        number.map(Some).ok_or_else(|| {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), ToOwned::to_owned);
            let names: Vec<&str> = record.keys().map(String::as_str).collect();
            let columns = format!("members are {}", names.join(", "));
            RunProblem::NotANumber {
                what,
                value,
                columns,
            }
            .at(line)
        })
    };
    let rank = number(positions.rank, "rank")?;
    #[allow(clippy::cast_possible_truncation, reason = "a rank is far below 2^53")]
    let rank = rank.map(|rank| rank as i64);
    let score = number(positions.score, "score")?;
    let order = match (score, rank) {
        (Some(_), _) if positions.is_distance => Order::Ascending,
        (Some(_), _) => Order::Score,
        (None, Some(_)) => Order::Rank,
        (None, None) => Order::Served,
    };
    let row = Row {
        line,
        query: match query {
            Some(query) => Cow::Owned(query.to_owned()),
            None => id(positions.query, "query")?,
        },
        document: id(positions.document, "document")?,
        rank,
        score,
    };
    Ok((row, order))
}
