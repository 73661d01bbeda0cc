//! Rows of tables: CSV and TSV files, separated by commas, semicolons or tabs, and their line numbers.
//!
//! The line count of the CSV reader is one too low for lines that end with CR LF, as spreadsheets
//! write them.

use super::draft::SourceFile;
use crate::columns::{delimiter, header_of};
use crate::gold::problem::{Problem, Problems};

/// Calls `each` with every row below the header and its 1-based line in `text`, the input of
/// `reader`. Errors of the reader, and rows with more fields than the header, become problems of
/// `file`.
pub(super) fn for_each_row(
    file: &SourceFile,
    text: &str,
    reader: &mut csv::Reader<&[u8]>,
    problems: &mut Problems,
    mut each: impl FnMut(usize, &csv::StringRecord, &mut Problems),
) {
    let mut lines = Lines {
        bytes: text.as_bytes(),
        counted: 0,
        line: 1,
    };
    let columns = reader.headers().map_or(usize::MAX, csv::StringRecord::len);
    // A row of a table that tabs separate is one line: a quote there is mostly text.
    let has_tabs = delimiter(header_of(text)) == b'\t';
    let is_long = |record: &csv::StringRecord| {
        has_tabs && record.iter().any(|field| field.contains(['\n', '\r']))
    };
    for record in reader.records() {
        match record {
            Ok(record) => {
                let line = lines.of(record.position());
                if is_long(&record) || is_unclosed(text, record.position(), record.len() < columns)
                {
                    problems.push(file.row_problem(
                        line,
                        "a quote is opened and not closed; close it, or write \"\" for a quote in a field",
                    ));
                    continue;
                }
                let mut surplus = record.iter().skip(columns);
                if surplus.any(|field| !field.trim().is_empty()) {
                    let reason = format!(
                        "{} fields where the header has {columns}; quote a field that contains the separator",
                        record.len()
                    );
                    problems.push(file.row_problem(line, reason));
                } else {
                    each(line, &record, problems);
                }
            }
            Err(error) => {
                let line = error.position().map(|position| lines.of(Some(position)));
                problems.push(Problem::Row {
                    place: file.place(line),
                    reason: error.to_string(),
                });
            }
        }
    }
}

/// Returns true if the record at `position`, the last one, has a quote that is not closed. It then has too
/// few fields.
fn is_unclosed(text: &str, position: Option<&csv::Position>, has_too_few: bool) -> bool {
    let start = position.and_then(|position| usize::try_from(position.byte()).ok());
    let rest = start.and_then(|start| text.get(start..));
    has_too_few && rest.is_some_and(|rest| rest.matches('"').count() % 2 == 1)
}

/// Line numbers of records.
struct Lines<'a> {
    bytes: &'a [u8],
    /// Number of scanned bytes, and the line on which they end.
    counted: usize,
    line: usize,
}

impl Lines<'_> {
    /// Returns the 1-based line of the record whose reader position is `position`. The reader
    /// position can precede line ends before the record. Calls must be in the order of the records.
    fn of(&mut self, position: Option<&csv::Position>) -> usize {
        let start = position.map_or(0, csv::Position::byte);
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        while let Some(byte) = self.bytes.get(self.counted)
            && (self.counted < start || matches!(byte, b'\r' | b'\n'))
        {
            self.line += usize::from(*byte == b'\n');
            self.counted += 1;
        }
        self.line
    }
}
