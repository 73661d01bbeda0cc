//! Tables of Parquet and Arrow as CSV with a header, which the readers of tables read.
//!
//! A number has as many digits as are needed to parse the same number. A missing value is an empty cell. Columns of
//! lists, structures and times are empty, and their names contain their types.

use std::io::{self, Cursor, ErrorKind, Write as _};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Decimal256Type, DecimalType, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{DataType, Schema};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::layout::Layout;

/// Maximum size of the CSV in bytes. Readers of tables accept no larger files.
const MAX_CSV_BYTES: usize = (256 << 20) + 1;

/// Number of rows that are decoded together.
const ROWS_AT_ONCE: usize = 8 << 10;

/// Returns the table of a file as CSV.
///
/// # Errors
/// The file is damaged, or uses a feature of its format that is not read. The error names the format.
pub(super) fn as_csv(layout: Layout, file: Vec<u8>) -> io::Result<Vec<u8>> {
    let named = |error: &dyn std::fmt::Display| {
        let text = format!("in {}: {error}", layout.name());
        io::Error::new(ErrorKind::InvalidData, text)
    };
    match layout {
        Layout::Parquet => {
            let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file))
                .map_err(|error| named(&error))?;
            let schema = builder.schema().clone();
            let batches = builder.with_batch_size(ROWS_AT_ONCE).build();
            let batches = batches.map_err(|error| named(&error))?;
            csv(&schema, batches, &named)
        }
        Layout::ArrowFile => {
            let reader = FileReader::try_new(Cursor::new(file), None);
            let reader = reader.map_err(|error| named(&error))?;
            csv(&reader.schema(), reader, &named)
        }
        Layout::ArrowStream => {
            let reader = StreamReader::try_new(Cursor::new(file), None);
            let reader = reader.map_err(|error| named(&error))?;
            csv(&reader.schema(), reader, &named)
        }
    }
}

fn csv<E: std::fmt::Display>(
    schema: &Schema,
    batches: impl Iterator<Item = Result<RecordBatch, E>>,
    named: &impl Fn(&dyn std::fmt::Display) -> io::Error,
) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    for (position, field) in schema.fields().iter().enumerate() {
        let name = if is_readable(field.data_type()) {
            field.name().clone()
        } else {
            format!("{} ({})", field.name(), field.data_type())
        };
        // Separators in a name would hide the header.
        let name = name.replace(['\t', ',', ';', '"', '\r', '\n'], " ");
        separate(position, &mut out);
        write_text(&name, &mut out);
    }
    out.push(b'\n');
    for batch in batches {
        let batch = batch.map_err(|error| named(&error))?;
        let columns = batch.columns().iter().map(|column| cells(column));
        let columns: Vec<Option<Cells<'_>>> = columns.collect();
        for row in 0..batch.num_rows() {
            for (position, write) in columns.iter().enumerate() {
                separate(position, &mut out);
                if let Some(write) = write {
                    write(row, &mut out)?;
                }
            }
            out.push(b'\n');
            if out.len() > MAX_CSV_BYTES {
                return Ok(out);
            }
        }
    }
    Ok(out)
}

fn separate(position: usize, out: &mut Vec<u8>) {
    if position > 0 {
        out.push(b',');
    }
}

/// Writes a cell, with quotes if a reader would read it otherwise without them.
fn write_text(text: &str, out: &mut Vec<u8>) {
    let is_special = |byte: u8| matches!(byte, b',' | b'"' | b'\r' | b'\n');
    if text.bytes().any(is_special) || text.starts_with('#') {
        out.push(b'"');
        out.extend(text.replace('"', "\"\"").bytes());
        out.push(b'"');
    } else {
        out.extend(text.bytes());
    }
}

/// Returns true if the values of a type are written.
fn is_readable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_readable(values),
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::Boolean
        | DataType::Decimal128(_, _)
        | DataType::Decimal256(_, _)
        | DataType::Null => true,
        other => other.is_integer() || other.is_floating(),
    }
}

/// Writer of the cell of a row.
type Cells<'a> = Box<dyn Fn(usize, &mut Vec<u8>) -> io::Result<()> + 'a>;

/// Returns the writer of the cells of a column. `None` for types that are not read.
fn cells(array: &dyn Array) -> Option<Cells<'_>> {
    macro_rules! texts {
        ($values:expr) => {{
            let values = $values?;
            Box::new(move |row: usize, out: &mut Vec<u8>| {
                if values.is_valid(row) {
                    write_text(values.value(row), out);
                }
                Ok(())
            })
        }};
    }
    macro_rules! binary {
        ($values:expr) => {{
            let values = $values?;
            Box::new(move |row: usize, out: &mut Vec<u8>| {
                if values.is_valid(row) {
                    write_text(&String::from_utf8_lossy(values.value(row)), out);
                }
                Ok(())
            })
        }};
    }
    Some(match array.data_type() {
        DataType::Utf8 => texts!(array.as_string_opt::<i32>()),
        DataType::LargeUtf8 => texts!(array.as_string_opt::<i64>()),
        DataType::Utf8View => texts!(array.as_string_view_opt()),
        DataType::Binary => binary!(array.as_binary_opt::<i32>()),
        DataType::LargeBinary => binary!(array.as_binary_opt::<i64>()),
        DataType::BinaryView => binary!(array.as_binary_view_opt()),
        DataType::Boolean => {
            let values = array.as_boolean_opt()?;
            Box::new(move |row: usize, out: &mut Vec<u8>| {
                if values.is_valid(row) {
                    write!(out, "{}", values.value(row))?;
                }
                Ok(())
            })
        }
        DataType::Int8 => numbers::<Int8Type>(array)?,
        DataType::Int16 => numbers::<Int16Type>(array)?,
        DataType::Int32 => numbers::<Int32Type>(array)?,
        DataType::Int64 => numbers::<Int64Type>(array)?,
        DataType::UInt8 => numbers::<UInt8Type>(array)?,
        DataType::UInt16 => numbers::<UInt16Type>(array)?,
        DataType::UInt32 => numbers::<UInt32Type>(array)?,
        DataType::UInt64 => numbers::<UInt64Type>(array)?,
        DataType::Float16 => numbers::<Float16Type>(array)?,
        DataType::Float32 => numbers::<Float32Type>(array)?,
        DataType::Float64 => numbers::<Float64Type>(array)?,
        DataType::Decimal128(_, _) => decimals::<Decimal128Type>(array)?,
        DataType::Decimal256(_, _) => decimals::<Decimal256Type>(array)?,
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary_opt()?;
            let values = dictionary.values();
            let (write, count) = (cells(values)?, values.len());
            let positions = positions(dictionary.keys())?;
            Box::new(move |row: usize, out: &mut Vec<u8>| match positions(row) {
                Some(position) if position < count => write(position, out),
                _ => Ok(()),
            })
        }
        _ => return None,
    })
}

fn numbers<T: ArrowPrimitiveType<Native: std::fmt::Display>>(
    array: &dyn Array,
) -> Option<Cells<'_>> {
    let values = array.as_primitive_opt::<T>()?;
    Some(Box::new(move |row: usize, out: &mut Vec<u8>| {
        if values.is_valid(row) {
            write!(out, "{}", values.value(row))?;
        }
        Ok(())
    }))
}

fn decimals<T: DecimalType + ArrowPrimitiveType>(array: &dyn Array) -> Option<Cells<'_>> {
    let values = array.as_primitive_opt::<T>()?;
    Some(Box::new(move |row: usize, out: &mut Vec<u8>| {
        if values.is_valid(row) {
            out.extend(values.value_as_string(row).bytes());
        }
        Ok(())
    }))
}

/// Positions of values in a dictionary by row.
fn positions(keys: &dyn Array) -> Option<Box<dyn Fn(usize) -> Option<usize> + '_>> {
    fn of<T: ArrowPrimitiveType<Native: TryInto<usize>>>(
        keys: &dyn Array,
    ) -> Option<Box<dyn Fn(usize) -> Option<usize> + '_>> {
        let keys = keys.as_primitive_opt::<T>()?;
        Some(Box::new(move |row: usize| {
            let key = keys.is_valid(row).then(|| keys.value(row))?;
            key.try_into().ok()
        }))
    }
    match keys.data_type() {
        DataType::Int8 => of::<Int8Type>(keys),
        DataType::Int16 => of::<Int16Type>(keys),
        DataType::Int32 => of::<Int32Type>(keys),
        DataType::Int64 => of::<Int64Type>(keys),
        DataType::UInt8 => of::<UInt8Type>(keys),
        DataType::UInt16 => of::<UInt16Type>(keys),
        DataType::UInt32 => of::<UInt32Type>(keys),
        DataType::UInt64 => of::<UInt64Type>(keys),
        _ => None,
    }
}
