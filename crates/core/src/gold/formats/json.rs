//! Shared parsing of the JSON formats: ids that are strings or numbers, objects with repeated
//! names, lists that are parsed one element at a time, and errors with locations.
//!
//! This module must not know queries or judgements, except for grades and judgement details.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer as _, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::draft::SourceFile;
use crate::gold::judgements::Grade;
use crate::gold::problem::{Problem, Problems, excerpt};
use crate::gold::query::JudgementDetail;

/// Returns the strings of words.
pub(super) fn words(words: Vec<StringOrInteger>) -> Vec<String> {
    words.into_iter().map(|word| word.0).collect()
}

/// Returns the strings of named words.
pub(super) fn into_strings_by_name(
    words: Option<BTreeMap<String, StringOrInteger>>,
) -> BTreeMap<String, String> {
    words
        .unwrap_or_default()
        .into_iter()
        .map(|(name, word)| (name, word.0))
        .collect()
}

/// String, or integer as written. Ids, versions and labels occur as both.
#[derive(Debug)]
pub(super) struct StringOrInteger(pub(super) String);

impl<'de> Deserialize<'de> for StringOrInteger {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = StringOrInteger;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a whole number")
            }

            fn visit_str<E>(self, text: &str) -> Result<StringOrInteger, E> {
                Ok(StringOrInteger(text.to_owned()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<StringOrInteger, E> {
                Ok(StringOrInteger(number.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<StringOrInteger, E> {
                Ok(StringOrInteger(number.to_string()))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// Explanation of a line with a number that Python writes and JSON does not have.
fn not_a_number(file: &SourceFile, line: usize) -> String {
    let mut lines = file.bytes.split(|byte| *byte == b'\n');
    let text = line.checked_sub(1).and_then(|at| lines.nth(at));
    let text = String::from_utf8_lossy(text.unwrap_or_default());
    let mut words = text.split(|c: char| !c.is_ascii_alphabetic());
    let found = words.find(|word| matches!(*word, "NaN" | "Infinity"));
    found.map_or_else(String::new, |name| {
        format!("; {name} is no number in JSON: write a grade, or leave the document out")
    })
}

/// Entries of an object in their order, including repeated names.
#[derive(Debug)]
pub(super) struct Pairs<T>(pub(super) Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of document ids and grades")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<T>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// Maximum number of characters of a reason in a message.
const MAX_REASON_CHARS: usize = 300;

/// Error in a JSON fragment.
#[derive(Debug)]
pub(super) struct JsonError {
    /// True if the text is not valid JSON; false if it is JSON of the wrong type or shape.
    pub(super) malformed: bool,
    /// 1-based line within the fragment.
    pub(super) line: usize,
    /// Path to the value; empty for the whole fragment.
    pub(super) path: String,
    pub(super) reason: String,
}

impl JsonError {
    /// Returns the error for a missing required field.
    pub(super) fn missing(field: &str) -> Self {
        Self {
            malformed: false,
            line: 1,
            path: String::new(),
            reason: format!("missing field `{field}`"),
        }
    }

    /// Converts the error to a problem of a fragment at `path` that begins on `first_line`.
    pub(super) fn problem(self, file: &SourceFile, first_line: usize, path: &str) -> Problem {
        let line = first_line + self.line.saturating_sub(1);
        let place = file.place(Some(line));
        if self.malformed {
            // Malformed JSON has no meaningful path.
            let reason = format!(
                "not valid JSON: {}{}",
                self.reason,
                not_a_number(file, line)
            );
            return Problem::Json { place, reason };
        }
        let path = match (path, self.path.as_str()) {
            (path, "") => path.to_owned(),
            ("", within) => within.to_owned(),
            (path, within) if within.starts_with('[') => format!("{path}{within}"),
            (path, within) => format!("{path}.{within}"),
        };
        Problem::JsonValue {
            place,
            path,
            reason: self.reason,
        }
    }
}

/// Parses a JSON fragment to its end.
pub(super) fn parse<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, JsonError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        fault(
            &error.into_inner(),
            if path == "." { String::new() } else { path },
        )
    })?;
    deserializer
        .end()
        .map_err(|error| fault(&error, String::new()))?;
    Ok(value)
}

fn fault(error: &serde_json::Error, path: String) -> JsonError {
    // The line is a field of its own, because this one is relative to the fragment.
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = error.to_string();
    let reason = message.strip_suffix(&position).unwrap_or(&message);
    // A message quotes the wrong value, which may be of any length.
    let reason = excerpt(reason, MAX_REASON_CHARS).to_string();
    JsonError {
        malformed: !error.is_data(),
        line: error.line(),
        path,
        reason,
    }
}

/// Line numbers of fragments of a text, for lookups in the order of the text.
#[derive(Debug)]
pub(super) struct LineCounter<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
}

impl<'a> LineCounter<'a> {
    /// Returns a counter at the beginning of `text`.
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            offset: 0,
            line: 1,
        }
    }

    /// Returns true if no fragment was looked up, other than one at offset 0.
    pub(super) fn is_at_start(&self) -> bool {
        self.offset == 0
    }

    /// Returns the line on which `piece`, a part of the text, begins.
    pub(super) fn line_of(&mut self, piece: &str) -> usize {
        let offset = piece
            .as_ptr()
            .addr()
            .saturating_sub(self.text.as_ptr().addr());
        if let Some(passed) = self.text.get(self.offset..offset) {
            self.line += passed.matches('\n').count();
            self.offset = offset;
        }
        self.line
    }
}

/// Grade as a number, or as a string that is a number: some tools write strings.
#[derive(Debug)]
pub(super) struct Rating(pub(super) Grade);

impl<'de> Deserialize<'de> for Rating {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a grade: a number, or a string that is one")]
        enum Written {
            Number(f64),
            Text(String),
        }
        let (number, text) = match Written::deserialize(deserializer)? {
            Written::Number(number) => (Some(number), number.to_string()),
            Written::Text(text) => (text.trim().parse().ok(), text),
        };
        number.and_then(Grade::new).map(Rating).ok_or_else(|| {
            D::Error::custom(format_args!(
                "the grade `{text}` is not a number from {} to {}",
                Grade::MIN,
                Grade::MAX
            ))
        })
    }
}

/// Converts the further fields of a judgement. `annotator…` fields are grades of annotators, other
/// scalars are facets, and lists and objects are ignored.
pub(super) fn detail(notes: Option<String>, fields: BTreeMap<String, Value>) -> JudgementDetail {
    let mut detail = JudgementDetail {
        notes,
        ..JudgementDetail::default()
    };
    for (name, value) in fields {
        if name.starts_with("annotator") {
            if let Some(grade) = value.as_f64().and_then(Grade::new) {
                detail.annotations.insert(name, grade);
            }
        } else if let Some(value) = scalar(value) {
            if name == "notes" {
                detail.notes.get_or_insert(value);
            } else {
                detail.facets.insert(name, value);
            }
        }
    }
    detail
}

/// Converts a string, number or boolean to text; `None` for other values.
pub(super) fn scalar(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Parses a file that is a list of queries, or a single query. `what` describes a query in
/// messages. `read` receives the line and the text of a query.
pub(super) fn each_query<'a>(
    source: &Source<'a>,
    what: &str,
    problems: &mut Problems,
    mut read: impl FnMut(usize, &'a str) -> Result<(), JsonError>,
) {
    let mut lines = LineCounter::new(source.text);
    let text = source.text.trim();
    if text.starts_with('{') {
        let line = lines.line_of(text);
        if let Err(fault) = read(line, text) {
            problems.push(fault.problem(source.file, line, ""));
        }
    } else if each_object(source, &mut lines, text, "", what, problems, read) == 0
        && text.starts_with('[')
    {
        problems.push(Problem::Empty {
            file: source.file.name.clone(),
        });
    }
}

/// Parses the list `list` at `path` one object at a time: an error in one does not hide errors in
/// the next. `what` describes an element in messages. `read` receives the line and the text of an
/// element. Returns the number of elements.
pub(super) fn each_object<'a>(
    source: &Source<'a>,
    lines: &mut LineCounter<'a>,
    list: &'a str,
    path: &str,
    what: &str,
    problems: &mut Problems,
    mut read: impl FnMut(usize, &'a str) -> Result<(), JsonError>,
) -> usize {
    let first_line = lines.line_of(list);
    let mut count = 0;
    let elements = Elements(|element: &'a str| {
        let line = lines.line_of(element);
        let path = format!("{path}[{count}]");
        count += 1;
        if element.starts_with('{') {
            if let Err(fault) = read(line, element) {
                problems.push(fault.problem(source.file, line, &path));
            }
        } else {
            problems.push(Problem::JsonValue {
                place: source.file.place(Some(line)),
                path,
                reason: format!("not {what}"),
            });
        }
    });
    let mut deserializer = serde_json::Deserializer::from_str(list);
    let done = deserializer
        .deserialize_seq(elements)
        .and_then(|()| deserializer.end());
    if let Err(error) = done {
        problems.push(fault(&error, String::new()).problem(source.file, first_line, path));
    }
    count
}

/// File and its text without the byte order mark.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) file: &'a SourceFile,
    pub(super) text: &'a str,
}

/// Visitor that passes on the unparsed elements of a list.
struct Elements<F>(F);

impl<'de, F: FnMut(&'de str)> Visitor<'de> for Elements<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element::<&'de RawValue>()? {
            (self.0)(element.get());
        }
        Ok(())
    }
}

/// Visitor that passes on the entries of an object with unparsed values.
struct Entries<F>(F);

impl<'de, F: FnMut(String, &'de str)> Visitor<'de> for Entries<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut object: A) -> Result<(), A::Error> {
        while let Some((name, value)) = object.next_entry::<String, &'de RawValue>()? {
            (self.0)(name, value.get());
        }
        Ok(())
    }
}

/// Calls `take` with each entry of the object `text`, with unparsed values.
pub(super) fn each_entry<'a>(
    text: &'a str,
    take: impl FnMut(String, &'a str),
) -> Result<(), JsonError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer
        .deserialize_map(Entries(take))
        .and_then(|()| deserializer.end())
        .map_err(|error| fault(&error, String::new()))
}

/// Calls `take` with each unparsed element of the list `text`.
pub(super) fn each_element<'a>(text: &'a str, take: impl FnMut(&'a str)) -> Result<(), JsonError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer
        .deserialize_seq(Elements(take))
        .and_then(|()| deserializer.end())
        .map_err(|error| fault(&error, String::new()))
}
