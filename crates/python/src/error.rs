//! Exceptions, with the texts of the command line.

#![allow(
    missing_docs,
    reason = "the macro writes the documentation of an exception for Python"
)]

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};

create_exception!(
    rankgauge,
    RankgaugeError,
    PyValueError,
    "Base of the errors in inputs."
);
create_exception!(
    rankgauge,
    GoldError,
    RankgaugeError,
    "Judgements that cannot be used."
);
create_exception!(
    rankgauge,
    RunError,
    RankgaugeError,
    "Run that cannot be judged."
);
create_exception!(
    rankgauge,
    MeasureError,
    RankgaugeError,
    "Name that is no measure."
);
create_exception!(
    rankgauge,
    CompareError,
    RankgaugeError,
    "Runs that cannot be compared."
);
create_exception!(
    rankgauge,
    EventError,
    RankgaugeError,
    "Event that a reader would reject."
);
create_exception!(
    rankgauge,
    InternalError,
    PyRuntimeError,
    "Defect of rankgauge."
);

/// Reason why a call fails.
#[derive(Debug)]
pub(crate) enum Failure {
    Gold(String),
    Run(String),
    Measure(String),
    Compare(String),
    Event(String),
    Internal(String),
    Python(PyErr),
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Gold(text) => GoldError::new_err(text),
            Failure::Run(text) => RunError::new_err(text),
            Failure::Measure(text) => MeasureError::new_err(text),
            Failure::Compare(text) => CompareError::new_err(text),
            Failure::Event(text) => EventError::new_err(text),
            Failure::Internal(text) => InternalError::new_err(text),
            Failure::Python(error) => error,
        }
    }
}
