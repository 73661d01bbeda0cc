//! Entries of a dictionary, read by borrowed references: counting references would write to the memory of
//! every key and number.

#![allow(unsafe_code, reason = "borrowed references are pointers")]

use std::ptr::null_mut;
use std::slice;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Number of entries that are requested from memory at once. A dictionary has only pointers to them.
const BLOCK: usize = 64;

/// Passes the entries of a dictionary to `take`, as long as the keys are exactly `str` and the values exactly
/// `float` or `int`. Returns false at another entry.
pub(crate) fn each_entry(dictionary: &Bound<'_, PyDict>, mut take: impl FnMut(&str, f64)) -> bool {
    let mut block = [(null_mut(), null_mut()); BLOCK];
    let mut position = 0;
    loop {
        let mut length = 0;
        for (key, value) in &mut block {
            // SAFETY: `dictionary` proves that the thread is attached to the interpreter.
            let is_entry = unsafe {
                ffi::PyDict_Next(dictionary.as_ptr(), &raw mut position, key, value) != 0
            };
            if !is_entry {
                break;
            }
            prefetch(*key);
            prefetch(*value);
            length += 1;
        }
        for (key, value) in block.iter().take(length) {
            // SAFETY: the thread is attached, and between the two loops nothing runs code of Python, since the
            // types are exact, so that the dictionary and its entries stay as they are. `take` does not keep
            // the text.
            let entry = unsafe { text(*key).zip(number(*value)) };
            let Some((key, number)) = entry else {
                return false;
            };
            take(key, number);
        }
        if length < BLOCK {
            return true;
        }
    }
}

/// Number of a `float` or an `int`. `None` for another type, or an integer beyond all floats: the error belongs
/// to the caller's own reading.
///
/// # Safety
/// The thread is attached to the interpreter, and the object exists.
unsafe fn number(value: *mut PyObject) -> Option<f64> {
    unsafe {
        if ffi::PyFloat_CheckExact(value) != 0 {
            return Some(ffi::PyFloat_AsDouble(value));
        }
        if ffi::PyLong_CheckExact(value) == 0 {
            return None;
        }
        let number = ffi::PyLong_AsDouble(value);
        if number < 0.0 && !ffi::PyErr_Occurred().is_null() {
            ffi::PyErr_Clear();
            return None;
        }
        Some(number)
    }
}

/// Text of a `str`, which is UTF-8. `None` for another type, or half a character.
///
/// # Safety
/// The thread is attached to the interpreter, and the object exists as long as the text is used.
unsafe fn text<'a>(key: *mut PyObject) -> Option<&'a str> {
    unsafe {
        if ffi::PyUnicode_CheckExact(key) == 0 {
            return None;
        }
        let mut size = 0;
        let text = ffi::PyUnicode_AsUTF8AndSize(key, &raw mut size);
        if text.is_null() {
            ffi::PyErr_Clear();
            return None;
        }
        let bytes = slice::from_raw_parts(text.cast::<u8>(), usize::try_from(size).ok()?);
        Some(std::str::from_utf8_unchecked(bytes))
    }
}

/// Requests an object from memory.
fn prefetch(object: *mut PyObject) {
    // SAFETY: a request has no effect on the program, for any address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(object.cast_const().cast());
    }
    // Other processors have no stable request.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = object;
}
