//! Tables of Arrow, by the PyCapsule interface, without a copy.

#![allow(unsafe_code, reason = "the interface passes pointers")]

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader as _};
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::dictionary::{type_name, wrong_type};
use crate::error::Failure;

/// Reads all batches of an object with the method `__arrow_c_stream__`.
pub(crate) fn read(table: &Bound<'_, PyAny>) -> Result<(SchemaRef, Vec<RecordBatch>), Failure> {
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| {
        wrong_type(format!(
            "__arrow_c_stream__ of {} returns no capsule",
            type_name(table)
        ))
    })?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of this name has a pointer to an initialised stream, which its consumer moves out.
    // `from_raw` leaves a released stream behind, so that the capsule does not release it once more.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast()) };
    let wrong = |error| wrong_type(format!("the table cannot be read: {error}"));
    let reader = RecordBatchStreamReader::try_new(stream).map_err(wrong)?;
    let schema = reader.schema();
    let batches: Result<Vec<RecordBatch>, _> = reader.collect();
    Ok((schema, batches.map_err(wrong)?))
}
