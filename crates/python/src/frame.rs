//! Rows of a data frame: a query and a document each, mostly a number, a subtopic if judgements state one, and a rank
//! if a run has one beside the score. Rows of a query are adjacent, or apart.

use std::ops::Range;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, LargeStringArray, RecordBatch, StringArray, StringViewArray,
    downcast_dictionary_array,
};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use rankgauge_core::number::real_length;
use rustc_hash::FxHashMap;

/// Names of the columns of a query, a document, a number, a subtopic, and a rank beside the score.
pub(crate) type Names = (
    String,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
);

/// Rows of a data frame, in batches.
pub(crate) struct Frame {
    pub(crate) batches: Vec<Batch>,
}

/// Consecutive rows.
pub(crate) struct Batch {
    /// Number of rows before these.
    pub(crate) before: usize,
    length: usize,
    queries: Texts,
    documents: Texts,
    /// `None` without such a column.
    numbers: Option<Vec<f64>>,
    subtopics: Option<Subtopics>,
    /// Ranks beside the numbers; NaN for a row without one.
    ranks: Option<Vec<f64>>,
}

/// Columns of equal length, as lists.
pub(crate) struct Lists {
    pub(crate) queries: Vec<Id>,
    pub(crate) documents: Vec<Id>,
    pub(crate) numbers: Option<Vec<f64>>,
    pub(crate) subtopics: Option<Vec<Option<String>>>,
    pub(crate) ranks: Option<Vec<f64>>,
}

/// Rows of a query in a batch.
pub(crate) struct Segment {
    pub(crate) batch: usize,
    pub(crate) rows: Range<usize>,
}

/// Column of texts.
enum Texts {
    Small(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
    Owned(Vec<String>),
    /// Texts by the position in another column.
    Indexed(Vec<usize>, Box<Texts>),
}

impl Texts {
    fn get(&self, row: usize) -> &str {
        match self {
            Self::Small(texts) => texts.value(row),
            Self::Large(texts) => texts.value(row),
            Self::View(texts) => texts.value(row),
            Self::Owned(texts) => texts.get(row).map_or("", String::as_str),
            Self::Indexed(keys, texts) => keys.get(row).map_or("", |key| texts.get(*key)),
        }
    }

    /// Returns true if two rows have the same text.
    fn equal(&self, one: usize, other: usize) -> bool {
        match self {
            Self::Indexed(keys, _) if keys.get(one) == keys.get(other) => true,
            _ => self.get(one) == self.get(other),
        }
    }

    /// Column of an array without nulls. `None` for other types.
    fn of(array: &ArrayRef) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Utf8 => Self::Small(array.as_string::<i32>().clone()),
            DataType::LargeUtf8 => Self::Large(array.as_string::<i64>().clone()),
            DataType::Utf8View => Self::View(array.as_string_view().clone()),
            DataType::Dictionary(_, _) => {
                let (keys, values) = dictionary(array)?;
                Self::Indexed(keys, Box::new(Self::of(&values)?))
            }
            DataType::Int8 => integers::<Int8Type>(array),
            DataType::Int16 => integers::<Int16Type>(array),
            DataType::Int32 => integers::<Int32Type>(array),
            DataType::Int64 => integers::<Int64Type>(array),
            DataType::UInt8 => integers::<UInt8Type>(array),
            DataType::UInt16 => integers::<UInt16Type>(array),
            DataType::UInt32 => integers::<UInt32Type>(array),
            DataType::UInt64 => integers::<UInt64Type>(array),
            _ => return None,
        })
    }
}

/// Column of subtopics. A row without a text has none.
struct Subtopics {
    texts: Texts,
    /// Rows that are null; empty without one.
    missing: Vec<bool>,
}

impl Subtopics {
    fn get(&self, row: usize) -> Option<&str> {
        let is_missing = self.missing.get(row).copied().unwrap_or(false);
        let text = (!is_missing).then(|| self.texts.get(row).trim());
        text.filter(|text| !text.is_empty())
    }

    /// Column of an array. `None` for a type that is no name.
    fn of(array: &ArrayRef) -> Option<Self> {
        let texts = match array.data_type() {
            DataType::Null => Texts::Owned(Vec::new()),
            // Whole numbers with missing values are floats in pandas.
            DataType::Float16 | DataType::Float32 | DataType::Float64 => {
                let names = numbers(array)?.into_iter();
                let name = |number: f64| (!number.is_nan()).then(|| number.to_string());
                Texts::Owned(names.map(|it| name(it).unwrap_or_default()).collect())
            }
            _ => Texts::of(array)?,
        };
        let nulls = array.logical_nulls();
        let missing = nulls.map(|nulls| nulls.iter().map(|is_valid| !is_valid).collect());
        Some(Self {
            texts,
            missing: missing.unwrap_or_default(),
        })
    }
}

fn integers<T: ArrowPrimitiveType<Native: ToString>>(array: &ArrayRef) -> Texts {
    let values = array.as_primitive::<T>().values();
    Texts::Owned(values.iter().map(ToString::to_string).collect())
}

/// Keys and values of an array of a dictionary type.
fn dictionary(array: &ArrayRef) -> Option<(Vec<usize>, ArrayRef)> {
    let array: &dyn Array = array;
    downcast_dictionary_array!(
        array => {
            let keys = array.keys_iter().map(Option::unwrap_or_default).collect();
            Some((keys, array.values().clone()))
        },
        _ => None,
    )
}

fn numbers(array: &ArrayRef) -> Option<Vec<f64>> {
    fn all<T: ArrowPrimitiveType<Native: Into<f64>>>(array: &ArrayRef) -> Vec<f64> {
        let values = array.as_primitive::<T>().values();
        values.iter().map(|value| (*value).into()).collect()
    }
    #[allow(
        clippy::cast_precision_loss,
        reason = "a grade or score beyond 2^53 is a float everywhere"
    )]
    Some(match array.data_type() {
        DataType::Int8 => all::<Int8Type>(array),
        DataType::Int16 => all::<Int16Type>(array),
        DataType::Int32 => all::<Int32Type>(array),
        DataType::Int64 => {
            let values = array.as_primitive::<Int64Type>().values();
            values.iter().map(|value| *value as f64).collect()
        }
        DataType::UInt8 => all::<UInt8Type>(array),
        DataType::UInt16 => all::<UInt16Type>(array),
        DataType::UInt32 => all::<UInt32Type>(array),
        DataType::UInt64 => {
            let values = array.as_primitive::<UInt64Type>().values();
            values.iter().map(|value| *value as f64).collect()
        }
        DataType::Float16 => {
            let values = array.as_primitive::<Float16Type>().values();
            values.iter().map(|value| value.to_f64()).collect()
        }
        DataType::Float32 => all::<Float32Type>(array),
        DataType::Float64 => array.as_primitive::<Float64Type>().values().to_vec(),
        DataType::Boolean => {
            let values = array.as_boolean().values().iter();
            values.map(|value| f64::from(u8::from(value))).collect()
        }
        _ => return None,
    })
}

/// Ranks of rows; NaN for null. `None` for a type that is no number: ranks beside scores are only compared with them.
fn ranks(array: &ArrayRef) -> Option<Vec<f64>> {
    let mut ranks = numbers(array)?;
    if let Some(nulls) = array.logical_nulls() {
        for (rank, is_valid) in ranks.iter_mut().zip(nulls.iter()) {
            if !is_valid {
                *rank = f64::NAN;
            }
        }
    }
    Some(ranks)
}

impl Frame {
    /// Rows of a table of Arrow. `what` names it in messages.
    pub(crate) fn of_arrow(
        what: &str,
        schema: &SchemaRef,
        batches: &[RecordBatch],
        names: &Names,
    ) -> Result<Self, String> {
        let (query, document, number, subtopic, rank) = names;
        let find = |name: &String| schema.index_of(name);
        let found = || {
            let number = number.as_ref().map(find).transpose()?;
            let subtopic = subtopic.as_ref().map(find).transpose()?;
            let rank = rank.as_ref().map(find).transpose()?;
            Ok((find(query)?, find(document)?, number, subtopic, rank))
        };
        let (query, document, number, subtopic, rank) =
            found().map_err(|error: ArrowError| format!("{what}: {error}"))?;
        let name = |at: usize| schema.field(at).name();
        let mut before = 0;
        let batches = batches.iter().map(|batch| {
            let column = |at: usize| {
                let array = batch.column(at);
                let nulls = array.logical_nulls();
                match nulls.and_then(|nulls| nulls.iter().position(|is_valid| !is_valid)) {
                    Some(row) => Err(format!(
                        "{what}:{}: `{}` is null; fill it, or leave the row out",
                        before + row + 1,
                        name(at)
                    )),
                    None => Ok(array),
                }
            };
            let kind = |at: usize, needs: &str| {
                let (name, kind) = (name(at), batch.column(at).data_type());
                format!("{what}: the column `{name}` is of type {kind}; it needs {needs}")
            };
            let texts = |at: usize| {
                Texts::of(column(at)?).ok_or_else(|| kind(at, "texts or whole numbers"))
            };
            let numbers = |at: usize| numbers(column(at)?).ok_or_else(|| kind(at, "numbers"));
            let subtopics = |at: usize| {
                Subtopics::of(batch.column(at)).ok_or_else(|| kind(at, "texts or numbers"))
            };
            let batch = Batch {
                before,
                length: batch.num_rows(),
                queries: texts(query)?,
                documents: texts(document)?,
                numbers: number.map(numbers).transpose()?,
                subtopics: subtopic.map(subtopics).transpose()?,
                ranks: rank.and_then(|at| ranks(batch.column(at))),
            };
            before += batch.length;
            Ok(batch)
        });
        let batches: Result<Vec<Batch>, String> = batches.collect();
        Ok(Self { batches: batches? })
    }

    /// Rows of lists.
    pub(crate) fn of_lists(lists: Lists) -> Self {
        let ids = |ids: Vec<Id>| Texts::Owned(ids.into_iter().map(id_text).collect());
        let subtopics = lists.subtopics.map(|names| {
            let names = names.into_iter().map(Option::unwrap_or_default);
            Subtopics {
                texts: Texts::Owned(names.collect()),
                missing: Vec::new(),
            }
        });
        Self {
            batches: vec![Batch {
                before: 0,
                length: lists.queries.len(),
                queries: ids(lists.queries),
                documents: ids(lists.documents),
                numbers: lists.numbers,
                subtopics,
                ranks: lists.ranks,
            }],
        }
    }

    /// Returns true if the rows have different subtopics. Otherwise each query has one, as without a column.
    pub(crate) fn has_subtopics(&self) -> bool {
        let batches = self.batches.iter();
        let mut all = batches.flat_map(|batch| (0..batch.length).map(|row| batch.subtopic(row)));
        let first = all.next();
        first.is_some_and(|first| all.any(|other| other != first))
    }

    /// Queries in the order of their first rows, with all their rows.
    pub(crate) fn queries(&self) -> Vec<(&str, Vec<Segment>)> {
        let mut queries: Vec<(&str, Vec<Segment>)> = Vec::new();
        let mut positions: FxHashMap<&str, usize> = FxHashMap::default();
        for (number, batch) in self.batches.iter().enumerate() {
            for rows in batch.segments() {
                let key = batch.queries.get(rows.start);
                let position = *positions.entry(key).or_insert_with(|| {
                    queries.push((key, Vec::with_capacity(1)));
                    queries.len() - 1
                });
                if let Some((_, segments)) = queries.get_mut(position) {
                    segments.push(Segment {
                        batch: number,
                        rows,
                    });
                }
            }
        }
        queries
    }

    /// Documents of segments with their numbers. Without a column of numbers, they are numbered in their order.
    pub(crate) fn rows<'f>(&'f self, segments: &[Segment]) -> Vec<(f64, &'f str)> {
        let mut rows = Vec::with_capacity(segments.iter().map(|it| it.rows.len()).sum());
        for segment in segments {
            let Some(batch) = self.batches.get(segment.batch) else {
                continue;
            };
            for row in segment.rows.clone() {
                let number = batch.number(row).unwrap_or_else(|| real_length(rows.len()));
                rows.push((number, batch.documents.get(row)));
            }
        }
        rows
    }

    /// Query, rank and score of each row that has a rank beside its score.
    pub(crate) fn ranked_scores(&self) -> impl Iterator<Item = (&str, f64, f64)> {
        let batches = self.batches.iter();
        batches.flat_map(|batch| (0..batch.length).filter_map(|row| batch.ranked_score(row)))
    }

    /// Returns true if the rows have numbers.
    pub(crate) fn has_numbers(&self) -> bool {
        self.batches.iter().all(|batch| batch.numbers.is_some())
    }
}

impl Batch {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Query and document of a row.
    pub(crate) fn ids(&self, row: usize) -> (&str, &str) {
        (self.queries.get(row), self.documents.get(row))
    }

    /// Number of a row. `None` without a column of numbers.
    pub(crate) fn number(&self, row: usize) -> Option<f64> {
        self.numbers.as_ref()?.get(row).copied()
    }

    /// Query, rank and score of a row. `None` without a rank beside the score.
    fn ranked_score(&self, row: usize) -> Option<(&str, f64, f64)> {
        let rank = self.ranks.as_ref()?.get(row).copied();
        let rank = rank.filter(|rank| !rank.is_nan())?;
        Some((self.queries.get(row), rank, self.number(row)?))
    }

    /// Subtopic of a row.
    pub(crate) fn subtopic(&self, row: usize) -> Option<&str> {
        self.subtopics.as_ref()?.get(row)
    }

    /// Adjacent rows of equal queries.
    fn segments(&self) -> Vec<Range<usize>> {
        let mut segments = Vec::new();
        let mut start = 0;
        for row in 1..=self.len() {
            if row == self.len() || !self.queries.equal(row - 1, row) {
                segments.push(start..row);
                start = row;
            }
        }
        segments
    }
}

/// Text of an id of a list: of a text, or of a whole number.
fn id_text(value: Id) -> String {
    match value {
        Id::Text(text) => text,
        Id::Whole(number) => number.to_string(),
    }
}

/// Id of a list.
#[derive(pyo3::FromPyObject)]
pub(crate) enum Id {
    Text(String),
    Whole(i64),
}
