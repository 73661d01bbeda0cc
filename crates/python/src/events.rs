//! Checks of events, as the sidecar reads them.

use pyo3::prelude::*;
use rankgauge_core::decode::native;

use crate::error::Failure;
use crate::guard::catch;
use crate::results::LIMITS;

/// Checks a search in JSON.
#[pyfunction]
pub(crate) fn check_search(record: &[u8]) -> PyResult<()> {
    Ok(catch(|| match native::search(record, &LIMITS) {
        Ok(_) => Ok(()),
        Err(rejection) => Err(Failure::Event(rejection.to_string())),
    })?)
}

/// Checks feedback in JSON.
#[pyfunction]
pub(crate) fn check_feedback(record: &[u8]) -> PyResult<()> {
    Ok(catch(|| match native::feedback(record, &LIMITS) {
        Ok(_) => Ok(()),
        Err(rejection) => Err(Failure::Event(rejection.to_string())),
    })?)
}
