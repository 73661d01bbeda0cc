//! Rows of a data frame: a query, a document and a number each. Rows of a query are adjacent, or apart.

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
use arrow_schema::{DataType, SchemaRef};
use rustc_hash::FxHashMap;

/// Names of the columns of a query, a document and a number.
pub(crate) type Names = [String; 3];

/// Rows of a data frame, in batches.
pub(crate) struct Frame {
    pub(crate) batches: Vec<Batch>,
}

/// Consecutive rows.
pub(crate) struct Batch {
    /// Number of rows before these.
    pub(crate) before: usize,
    queries: Texts,
    documents: Texts,
    numbers: Vec<f64>,
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

impl Frame {
    /// Rows of a table of Arrow. `what` names it in messages.
    pub(crate) fn of_arrow(
        what: &str,
        schema: &SchemaRef,
        batches: &[RecordBatch],
        names: &Names,
    ) -> Result<Self, String> {
        let columns: Vec<usize> = names
            .iter()
            .map(|name| schema.index_of(name))
            .collect::<Result<_, _>>()
            .map_err(|error| format!("{what}: {error}"))?;
        let mut before = 0;
        let batches = batches.iter().map(|batch| {
            let column = |at: usize| {
                let array = batch.column(columns[at]);
                match (0..array.len()).find(|row| array.is_null(*row)) {
                    Some(row) if array.null_count() > 0 => Err(format!(
                        "{what}:{}: `{}` is null; fill it, or leave the row out",
                        before + row + 1,
                        names[at]
                    )),
                    _ => Ok(array),
                }
            };
            let kind = |at: usize, array: &ArrayRef, needs: &str| {
                let (name, kind) = (&names[at], array.data_type());
                format!("{what}: the column `{name}` is of type {kind}; it needs {needs}")
            };
            let texts = |at: usize| {
                let array = column(at)?;
                Texts::of(array).ok_or_else(|| kind(at, array, "texts or whole numbers"))
            };
            let (queries, documents) = (texts(0)?, texts(1)?);
            let array = column(2)?;
            let numbers = numbers(array).ok_or_else(|| kind(2, array, "numbers"))?;
            let batch = Batch {
                before,
                queries,
                documents,
                numbers,
            };
            before += batch.numbers.len();
            Ok(batch)
        });
        let batches: Result<Vec<Batch>, String> = batches.collect();
        Ok(Self { batches: batches? })
    }

    /// Rows of lists of equal length.
    pub(crate) fn of_lists(
        queries: Vec<String>,
        documents: Vec<String>,
        numbers: Vec<f64>,
    ) -> Self {
        let (queries, documents) = (Texts::Owned(queries), Texts::Owned(documents));
        Self {
            batches: vec![Batch {
                before: 0,
                queries,
                documents,
                numbers,
            }],
        }
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

    /// Documents of segments with their numbers.
    pub(crate) fn rows<'f>(&'f self, segments: &[Segment]) -> Vec<(f64, &'f str)> {
        let mut rows = Vec::with_capacity(segments.iter().map(|it| it.rows.len()).sum());
        for segment in segments {
            let batch = self.batches.get(segment.batch);
            rows.extend(batch.into_iter().flat_map(|batch| {
                let rows = segment.rows.clone();
                rows.map(|row| {
                    let (_, document, number) = batch.row(row);
                    (number, document)
                })
            }));
        }
        rows
    }
}

impl Batch {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Query, document and number of a row.
    pub(crate) fn row(&self, row: usize) -> (&str, &str, f64) {
        let number = self.numbers.get(row).copied().unwrap_or_default();
        (self.queries.get(row), self.documents.get(row), number)
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
pub(crate) fn id_text(value: Id) -> String {
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
