//! Native part of the Python package `rankgauge`.
//!
//! It converts Python's objects to those of the core and eval crates, and back. It has no measure, no
//! test and no reader of its own. Every function that Python calls turns a panic into an exception
//! (`guard`), long work releases the interpreter, and only `arrow` and
//! `raw` have `unsafe` code.

mod arrow;
mod columns;
mod comparison;
mod dictionary;
mod error;
mod events;
mod frame;
mod gold;
mod guard;
mod raw;
mod results;
mod scores;

use pyo3::prelude::*;

/// Native part of the package.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::columns::{gold_columns, run_columns};
    #[pymodule_export]
    use super::comparison::{Comparison, compare, compare_scores};
    #[pymodule_export]
    use super::error::{
        CompareError, EventError, GoldError, InternalError, MeasureError, RankgaugeError, RunError,
    };
    #[pymodule_export]
    use super::events::{check_feedback, check_search};
    #[pymodule_export]
    use super::gold::{Gold, from_dicts};
    #[pymodule_export]
    use super::results::Results;
    #[pymodule_export]
    use super::scores::{Scores, evaluate, measure_name, measures};

    use super::{Bound, PyModule, PyModuleMethods as _, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
