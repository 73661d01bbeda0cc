//! Entries of a dictionary, read by borrowed references: counting references would write to the memory of
//! every key and number.

#![allow(unsafe_code, reason = "borrowed references are pointers")]

use std::ptr::null_mut;
use std::slice;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Passes the entries of a dictionary to `take`, as long as the keys are exactly `str` and the values exactly
/// `float` or `int`. Returns false at another entry.
pub(crate) fn each_entry(dictionary: &Bound<'_, PyDict>, mut take: impl FnMut(&str, f64)) -> bool {
    let (mut position, mut key, mut value) = (0, null_mut(), null_mut());
    // SAFETY: `dictionary` proves that the thread is attached to the interpreter. Nothing in the loop runs code of
    // Python, since the types are exact, so that the dictionary and its entries stay as they are. The text of a
    // key is UTF-8, and lives as long as the key; `take` does not keep it.
    unsafe {
        while ffi::PyDict_Next(
            dictionary.as_ptr(),
            &raw mut position,
            &raw mut key,
            &raw mut value,
        ) != 0
        {
            if ffi::PyUnicode_CheckExact(key) == 0 {
                return false;
            }
            let number = if ffi::PyFloat_CheckExact(value) != 0 {
                ffi::PyFloat_AsDouble(value)
            } else if ffi::PyLong_CheckExact(value) != 0 {
                ffi::PyLong_AsDouble(value)
            } else {
                return false;
            };
            let mut size = 0;
            let text = ffi::PyUnicode_AsUTF8AndSize(key, &raw mut size);
            let Ok(size) = usize::try_from(size) else {
                return false;
            };
            // An integer beyond all floats, or half a character: the error belongs to the caller's own reading.
            if text.is_null() || !ffi::PyErr_Occurred().is_null() {
                ffi::PyErr_Clear();
                return false;
            }
            let bytes = slice::from_raw_parts(text.cast::<u8>(), size);
            take(std::str::from_utf8_unchecked(bytes), number);
        }
    }
    true
}
