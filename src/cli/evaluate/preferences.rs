//! Runs judged by preferences instead of grades.

use std::path::Path;

use super::judging::JudgingArguments;
use crate::cli::failure::Failure;
use crate::cli::output::ReportFormat;
use crate::cli::{input, output};
use rankgauge_eval::preferences::{self, Preferences};
use rankgauge_eval::report;

/// Maximum size of a file of preferences.
const MAX_BYTES: u64 = 256 << 20;

/// Form and place of the result.
pub(super) struct Output<'a> {
    pub(super) format: ReportFormat,
    pub(super) is_trec: bool,
    pub(super) per_query: bool,
    pub(super) file: Option<&'a Path>,
}

/// Judges the runs by the preferences of a file.
pub(super) fn run(
    path: &Path,
    judging: &JudgingArguments,
    output: &Output<'_>,
) -> Result<(), Failure> {
    let measures = preferences::measures(judging.names_of_measures());
    let measures =
        measures.map_err(|text| Failure::Usage(anyhow::anyhow!("--measures: {text}")))?;
    let bytes = input::read(path, MAX_BYTES)?;
    let preferences = Preferences::parse(&path.display().to_string(), &bytes);
    let preferences = preferences.map_err(Failure::usage)?;
    let options = preferences::Options {
        measures,
        complete: judging.is_complete(),
    };
    let mut runs = Vec::new();
    judging.each_run(path, |name, run, reading| {
        let warning = run.warning().map(str::to_owned);
        let judged = preferences::evaluate(&preferences, name, run, reading, &options);
        runs.push(judged.map_err(Failure::usage)?);
        if let Some(warning) = warning {
            output::warn(&warning);
        }
        Ok(())
    })?;
    let evaluation = preferences::evaluation(&preferences, &options, runs);
    let options = report::Options {
        per_query: output.per_query,
        ..report::Options::default()
    };
    let text = if output.is_trec {
        report::write_trec(&evaluation, &options)
    } else {
        report::write(&evaluation, output.format.into(), &options)
    };
    let is_data = output.is_trec || output.format.is_data();
    output::print_or_write(&text, is_data, output.file).map_err(Failure::Running)
}
