//! Sample with its sheet, which is written after each label.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::anyhow;

use crate::cli::failure::Failure;
use crate::cli::label::files::{read, wrong};
use crate::cli::output::replace;
use rankgauge_core::labelling::LabelMeasure;
use rankgauge_eval::labelling::draw::Draw;
use rankgauge_eval::labelling::sheet::{Agreement, Label, Sheet};

/// Sample with its sheet, which is written after each label.
#[derive(Debug)]
pub(super) struct Labels {
    pub(super) draw: Draw,
    measure: LabelMeasure,
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) sheet: Sheet,
    /// Content of the file as of the last reading or writing.
    content: String,
    /// Labels of each annotator, which are those of the first rows.
    pub(super) labelled: [usize; 2],
}

/// Label that is not accepted.
#[derive(Debug, thiserror::Error)]
pub(super) enum LabelProblem {
    #[error("row {row} is not the next one: label row {next} first")]
    Order { row: usize, next: usize },
    #[error(
        "{sheet} was changed by another program; nothing was written. Start `label serve` again"
    )]
    Changed { sheet: String },
    #[error("{sheet} cannot be written: {problem}")]
    Write { sheet: String, problem: String },
}

impl Labels {
    /// Reads the sample and its sheet.
    pub(super) fn load(draw_path: &Path, sheet_path: &Path) -> Result<Self, Failure> {
        let draw = Draw::parse(&read(draw_path)?);
        let draw = draw.map_err(|error| wrong(draw_path, &error))?;
        let measure = draw.measure.parse();
        let measure = measure.map_err(|error| wrong(draw_path, &error))?;
        let sheet = Sheet::parse(&draw, &read(sheet_path)?);
        let mut sheet = sheet.map_err(|error| wrong(sheet_path, &error))?;
        sheet.rows.sort_by_key(|row| row.row);
        if let Some(at) = (sheet.rows.iter().enumerate()).position(|(at, row)| at != row.row) {
            return Err(Failure::Usage(anyhow!(
                "{}: row {} is missing; use the complete sheet of the sample",
                sheet_path.display(),
                at + 1
            )));
        }
        let count = |annotator| {
            let labels = sheet.labels(annotator);
            labels.map(|labels| labels.len())
        };
        let count = |annotator| count(annotator).map_err(|error| wrong(sheet_path, &error));
        let labelled = [count(0)?, count(1)?];
        // As it is, for the comparison before a label is written.
        let content = std::fs::read_to_string(sheet_path);
        let content = content.map_err(|error| wrong(sheet_path, &error))?;
        Ok(Self {
            draw,
            measure,
            path: sheet_path.to_owned(),
            state: Mutex::new(State {
                sheet,
                content,
                labelled,
            }),
        })
    }

    /// Writes the label of an annotator (0 or 1) for a row (from 0) to the sheet.
    pub(super) fn set(
        &self,
        annotator: usize,
        row: usize,
        label: Label,
    ) -> Result<(), LabelProblem> {
        let mut guard = self.state();
        let state = &mut *guard;
        let next = state.labelled.get(annotator).copied().unwrap_or(0);
        let slot = (state.sheet.rows.get_mut(row)).and_then(|row| row.labels.get_mut(annotator));
        let Some(slot) = slot.filter(|_| row <= next) else {
            return Err(LabelProblem::Order {
                row: row + 1,
                next: next + 1,
            });
        };
        let before = slot.replace(label);
        let written = self.write(&state.sheet, &state.content);
        match written {
            Ok(content) => {
                state.content = content;
                if let Some(labelled) = state.labelled.get_mut(annotator) {
                    *labelled = next.max(row + 1);
                }
                Ok(())
            }
            Err(problem) => {
                if let Some(slot) =
                    (state.sheet.rows.get_mut(row)).and_then(|row| row.labels.get_mut(annotator))
                {
                    *slot = before;
                }
                Err(problem)
            }
        }
    }

    /// Replaces the file, if it has the content of the last reading or writing. Returns the new content.
    fn write(&self, sheet: &Sheet, before: &str) -> Result<String, LabelProblem> {
        let name = || self.path.display().to_string();
        let failed = |problem: String| LabelProblem::Write {
            sheet: name(),
            problem,
        };
        let content = sheet.write(&self.draw);
        let content = content.map_err(|error| failed(error.to_string()))?;
        let found = std::fs::read_to_string(&self.path);
        if found.map_err(|error| failed(error.to_string()))? != before {
            return Err(LabelProblem::Changed { sheet: name() });
        }
        replace(&self.path, content.as_bytes()).map_err(|error| failed(format!("{error:#}")))?;
        Ok(content)
    }

    pub(super) fn agreement(&self, sheet: &Sheet) -> Option<Agreement> {
        let max = self.draw.scale_max;
        sheet.agreement(|grade| self.measure.gain(grade, max) >= 0.5)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A panic within the lock leaves a sheet that was parsed or written as a whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
