//! Nested dictionaries, `{query: {document: number}}`, read in chunks. While one chunk is read, threads
//! convert those before it.

use std::mem;
use std::ops::Range;
use std::sync::mpsc::channel;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::error::Failure;
use crate::guard::pool;
use crate::raw;

/// Number of entries of a chunk.
const CHUNK: usize = 1 << 14;

/// Consecutive queries of a dictionary.
#[derive(Default)]
pub(crate) struct Chunk {
    /// Number of entries in the chunks before, including one for each query without any.
    pub(crate) before: usize,
    queries: Vec<(String, Range<usize>)>,
    /// Concatenation of the document ids.
    text: String,
    /// End offsets of the ids in `text`.
    ends: Vec<usize>,
    values: Vec<f64>,
}

impl Chunk {
    /// Queries with their entries.
    pub(crate) fn queries(&self) -> impl Iterator<Item = (&str, Entries<'_>)> {
        self.queries.iter().map(|(key, rows)| {
            let entries = Entries {
                chunk: self,
                rows: rows.clone(),
            };
            (key.as_str(), entries)
        })
    }

    fn add(&mut self, document: &str, value: f64) {
        self.text.push_str(document);
        self.ends.push(self.text.len());
        self.values.push(value);
    }

    /// Number of entries, including one for each query.
    pub(crate) fn size(&self) -> usize {
        self.ends.len() + self.queries.len()
    }
}

/// Entries of a query.
pub(crate) struct Entries<'c> {
    chunk: &'c Chunk,
    rows: Range<usize>,
}

impl<'c> Entries<'c> {
    /// Documents with their numbers.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (f64, &'c str)> + use<'c> {
        let chunk = self.chunk;
        let end = |row: usize| chunk.ends.get(row).copied().unwrap_or_default();
        let mut start = self.rows.start.checked_sub(1).map_or(0, end);
        self.rows.clone().map(move |row| {
            let id = chunk.text.get(start..end(row)).unwrap_or_default();
            start = end(row);
            (chunk.values.get(row).copied().unwrap_or_default(), id)
        })
    }
}

/// Reads a dictionary. `convert` receives the chunks, on all threads; its results are returned in order.
/// `what` names the dictionary in messages, and `number` its numbers.
pub(crate) fn read<T: Send>(
    dictionary: &Bound<'_, PyDict>,
    what: &str,
    number: &str,
    convert: impl Fn(Chunk) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let py = dictionary.py();
    let dictionary = dictionary.clone().unbind();
    let pool = pool()?;
    let (sender, receiver) = channel();
    py.detach(|| {
        pool.in_place_scope(|scope| {
            let mut count = 0;
            let mut convert = |chunk: Chunk| {
                let (sender, convert, at) = (sender.clone(), &convert, count);
                count += 1;
                scope.spawn(move |_| {
                    // The receiver lives until all threads are done.
                    drop(sender.send((at, convert(chunk))));
                });
            };
            Python::attach(|py| chunks(dictionary.bind(py), what, number, &mut convert))
        })
    })?;
    drop(sender);
    let mut converted: Vec<(usize, Result<T, Failure>)> = receiver.into_iter().collect();
    converted.sort_by_key(|(at, _)| *at);
    converted.into_iter().map(|(_, result)| result).collect()
}

/// Reads a dictionary, and passes each chunk to `take`.
fn chunks(
    dictionary: &Bound<'_, PyDict>,
    what: &str,
    number: &str,
    take: &mut impl FnMut(Chunk),
) -> Result<(), Failure> {
    let py = dictionary.py();
    let mut chunk = Chunk::default();
    for (key, entries) in dictionary.iter() {
        let key = text(&key, what, "query")?;
        let key = key.to_str()?;
        let converted;
        let entries = if let Ok(entries) = entries.cast::<PyDict>() {
            entries
        } else {
            converted = mapping(&entries).ok_or_else(|| {
                let kind = type_name(&entries);
                wrong_type(format!(
                    "{what}: query `{key}` has a {kind}; give it a dictionary, {{document: {number}}}"
                ))
            })?;
            &converted
        };
        let (start, bytes) = (chunk.ends.len(), chunk.text.len());
        let is_usual = raw::each_entry(entries, |document, value| {
            chunk.add(document, value);
        });
        if !is_usual {
            chunk.text.truncate(bytes);
            chunk.ends.truncate(start);
            chunk.values.truncate(start);
            read_entries(&mut chunk, key, entries, what, number)?;
        }
        chunk
            .queries
            .push((key.to_owned(), start..chunk.ends.len()));
        if chunk.size() >= CHUNK {
            py.check_signals()?;
            let before = chunk.before + chunk.size();
            let next = Chunk {
                before,
                text: String::with_capacity(chunk.text.len() + chunk.text.len() / 8),
                ends: Vec::with_capacity(chunk.ends.len() + chunk.ends.len() / 8),
                values: Vec::with_capacity(chunk.ends.len() + chunk.ends.len() / 8),
                ..Chunk::default()
            };
            take(mem::replace(&mut chunk, next));
        }
    }
    if !chunk.queries.is_empty() {
        take(chunk);
    }
    Ok(())
}

/// Reads the entries of a query with keys and values of any type.
fn read_entries(
    chunk: &mut Chunk,
    key: &str,
    entries: &Bound<'_, PyDict>,
    what: &str,
    number: &str,
) -> Result<(), Failure> {
    for (document, value) in entries.iter() {
        let document = text(&document, what, "document")?;
        let document = document.to_str()?;
        let value = value.extract().map_err(|_| {
            wrong_type(format!(
                "{what}: the {number} of document `{document}` for query `{key}` is a {}; give it a \
                 number",
                type_name(&value)
            ))
        })?;
        chunk.add(document, value);
    }
    Ok(())
}

fn text<'a, 'py>(
    value: &'a Bound<'py, PyAny>,
    what: &str,
    of: &str,
) -> Result<&'a Bound<'py, PyString>, Failure> {
    value.cast::<PyString>().map_err(|_| {
        wrong_type(format!(
            "{what}: the {of} {value} is a {}; ids are texts, convert it with str()",
            type_name(value)
        ))
    })
}

/// Dictionary with the content of another mapping.
fn mapping<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    let items = value.call_method0("items").ok()?;
    let all = PyDict::new(value.py());
    for item in items.try_iter().ok()? {
        let (key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item.ok()?.extract().ok()?;
        all.set_item(key, value).ok()?;
    }
    Some(all)
}

pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name();
    name.map_or_else(|_| "value".to_owned(), |name| name.to_string())
}

pub(crate) fn wrong_type(text: String) -> Failure {
    Failure::Python(PyTypeError::new_err(text))
}
