//! Reader of run files with size limits, and the errors of run files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::Format;
use rankgauge_core::text::{self, TextError};

/// Maximum length of a line of a TREC run in bytes.
pub(super) const MAX_LINE_BYTES: usize = 1 << 20;

/// Maximum size of a JSON file in bytes. A JSON file can be a single line.
const LARGEST_JSON: usize = 256 << 20;

/// Error in a run file.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum RunError {
    #[error("{}: cannot be read: {source}; check the path and its permissions", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: the run is empty; give it at least one result", path.display())]
    Empty { path: PathBuf },
    #[error("{}:{}: {error}", path.display(), error.line)]
    NotUtf8 { path: PathBuf, error: TextError },
    #[error(
        "{}:{line}: the line is longer than {MAX_LINE_BYTES} bytes; check that the file is a run",
        path.display()
    )]
    LongLine { path: PathBuf, line: usize },
    #[error(
        "{}: the JSON is larger than {LARGEST_JSON} bytes; write it as a TREC run",
        path.display()
    )]
    TooLarge { path: PathBuf },
    #[error(
        "{}:{line}: unknown run format; expected a TREC run (`query Q0 document rank score \
         name`), search events (one JSON object per line) or JSON \
         (`{{query: {{document: score}}}}`)",
        path.display()
    )]
    UnrecognisedFormat { path: PathBuf, line: usize },
    #[error(
        "{}:{line}: {found} columns where a TREC run has six, `query Q0 document rank score name`",
        path.display()
    )]
    Columns {
        path: PathBuf,
        line: usize,
        found: usize,
    },
    #[error(
        "{}:{line}: the {what} `{value}` is not a number; the columns are `query Q0 document rank \
         score name`",
        path.display()
    )]
    NotANumber {
        path: PathBuf,
        line: usize,
        what: &'static str,
        value: String,
    },
    #[error(
        "{}:{line}: document `{document}` is returned again for query `{query}`; keep one",
        path.display()
    )]
    RepeatedDocument {
        path: PathBuf,
        line: usize,
        query: String,
        document: String,
    },
    #[error(
        "{}:{line}: query `{query}` is answered again, first on line {first}; keep one answer",
        path.display()
    )]
    RepeatedQuery {
        path: PathBuf,
        line: usize,
        query: String,
        first: usize,
    },
    #[error("{}:{line}: {reason}", path.display())]
    Json {
        path: PathBuf,
        line: usize,
        reason: String,
    },
    #[error(
        "{}:{line}: a result has no {what}, which the order by {what} requires; add it, or \
         choose another --order",
        path.display()
    )]
    NoOrder {
        path: PathBuf,
        line: usize,
        what: &'static str,
    },
}

/// Reads a file, up to the maximum size of a run.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, RunError> {
    let unreadable = |source| RunError::Unreadable {
        path: path.to_owned(),
        source,
    };
    if path == Path::new(super::STANDARD_INPUT) {
        return read_from(path, &mut std::io::stdin().lock(), MAX_LINE_BYTES);
    }
    let mut file = File::open(path).map_err(unreadable)?;
    let expected = file.metadata().map_err(unreadable)?.len();
    let expected = usize::try_from(expected).map_or(MAX_LINE_BYTES, |size| size.min(LARGEST_JSON));
    read_from(path, &mut file, expected)
}

fn read_from(path: &Path, source: &mut impl Read, expected: usize) -> Result<Vec<u8>, RunError> {
    let mut bytes = Vec::with_capacity(expected + 1);
    // The beginning of the file determines whether the line limit applies.
    let mut bounds = Bounds::default();
    loop {
        let read = source.by_ref().take(1 << 18).read_to_end(&mut bytes);
        let read = read.map_err(|source| RunError::Unreadable {
            path: path.to_owned(),
            source,
        });
        if read? == 0 {
            break;
        }
        bounds.check(path, &bytes)?;
    }
    Ok(bytes)
}

/// Checks the size limits of a complete run.
pub(super) fn check(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    Bounds::default().check(path, bytes)
}

/// Returns the bytes of a file as text, without a byte order mark.
pub(super) fn text<'t>(path: &Path, bytes: &'t [u8]) -> Result<&'t str, RunError> {
    text::decode(bytes).map_err(|error| RunError::NotUtf8 {
        path: path.to_owned(),
        error,
    })
}

fn newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

/// Progress of the size checks.
#[derive(Default)]
struct Bounds {
    seen: usize,
    /// Start of the last, incomplete line.
    line_start: usize,
}

impl Bounds {
    fn check(&mut self, path: &Path, bytes: &[u8]) -> Result<(), RunError> {
        let path = || path.to_owned();
        let begins = text::without_mark(bytes).iter();
        let begins = begins.copied().find(|byte| !byte.is_ascii_whitespace());
        if matches!(begins, Some(b'{' | b'[')) {
            return if bytes.len() > LARGEST_JSON {
                Err(RunError::TooLarge { path: path() })
            } else {
                Ok(())
            };
        }
        let fresh = bytes.get(self.seen..).unwrap_or_default();
        if let Some(position) = memchr::memrchr(b'\n', fresh) {
            self.line_start = self.seen + position + 1;
        }
        self.seen = bytes.len();
        if self.seen - self.line_start > MAX_LINE_BYTES {
            return Err(RunError::LongLine {
                path: path(),
                line: 1 + newlines(bytes.get(..self.line_start).unwrap_or_default()),
            });
        }
        Ok(())
    }
}

/// Recognises the format of a run by its first line that is not blank.
pub(super) fn recognise(path: &Path, text: &str) -> Result<Format, RunError> {
    let mut lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    let Some((line, first)) = lines.next() else {
        return Err(RunError::Empty {
            path: path.to_owned(),
        });
    };
    let first = first.trim();
    if first.starts_with('{') {
        // An event is complete on its line and has a query id or results.
        let event: Result<Probe, _> = serde_json::from_str(first);
        return Ok(match event {
            Ok(Probe {
                query_id: None,
                results: None,
            })
            | Err(_)
                if !first.contains("\"query_id\"") =>
            {
                Format::Json
            }
            _ => Format::Events,
        });
    }
    if first.split_ascii_whitespace().count() >= 4 && !first.contains('\0') {
        return Ok(Format::Trec);
    }
    Err(RunError::UnrecognisedFormat {
        path: path.to_owned(),
        line,
    })
}

/// Fields that distinguish an event from a map of queries.
#[derive(serde::Deserialize)]
struct Probe {
    query_id: Option<serde::de::IgnoredAny>,
    results: Option<serde::de::IgnoredAny>,
}
