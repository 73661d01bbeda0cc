//! Files of runs: their names, and their judgement as a whole or while they are read.

use std::path::{Path, PathBuf};

use crate::cli::failure::Failure;
use crate::cli::output;
use rankgauge_core::event::Limits;
use rankgauge_core::gold::GoldSet;
use rankgauge_eval::evaluate::{self, Options, RunEvaluation, Streamed};
use rankgauge_eval::run::{Order, Run, RunError, RunFile, RunStream, STANDARD_INPUT};

/// Files of runs.
pub(super) struct RunInput<'a> {
    pub(super) paths: &'a [PathBuf],
    pub(super) order: Option<Order>,
    pub(super) limits: &'a Limits,
    /// True to keep the scores of results.
    pub(super) scores: bool,
}

impl RunInput<'_> {
    /// Judges the runs: `read` if there are any, else while reading them; the answers of these are
    /// not kept. Runs that cannot be judged while they are read borrow from `files`.
    pub(super) fn judge<'f>(
        &self,
        gold: &GoldSet,
        read: Vec<Run<'f>>,
        files: &'f mut Vec<RunFile>,
        options: &Options,
    ) -> Result<Vec<JudgedRun<'f>>, Failure> {
        let usage = |error: anyhow::Error| Failure::Usage(error);
        let names = names(self.paths);
        let mut streamed: Vec<Option<Streamed>> = Vec::new();
        let mut read = if read.is_empty() {
            let runs = self.paths.iter().zip(&names);
            streamed.extend(runs.map(|(path, name)| stream(gold, path, name, self.order, options)));
            let rest = self.paths.iter().zip(&streamed);
            let rest = rest.filter(|(_, streamed)| streamed.is_none());
            let rest: Vec<PathBuf> = rest.map(|(path, _)| path.clone()).collect();
            let read = read_runs(files, &rest, self.order, self.limits, self.scores);
            read.map_err(|error| usage(error.into()))?.into_iter()
        } else {
            read.into_iter()
        };
        let mut streamed = streamed.into_iter();
        let mut runs = Vec::new();
        for (path, name) in self.paths.iter().zip(&names) {
            let (run, evaluation, answers, has_answers) =
                if let Some(streamed) = streamed.next().flatten() {
                    let run = Run {
                        name: name.clone(),
                        tag: streamed.evaluation.tag.clone(),
                        answers: Vec::new(),
                        warning: None,
                    };
                    (run, streamed.evaluation, streamed.answers, false)
                } else {
                    let Some(mut run) = read.next() else { break };
                    run.name.clone_from(name);
                    if let Some(warning) = &run.warning {
                        output::warn(warning);
                    }
                    let evaluation = evaluate::evaluate_run(gold, &run, options);
                    let evaluation = evaluation.map_err(|error| usage(error.into()))?;
                    let answers = run.answers.len();
                    (run, evaluation, answers, true)
                };
            if evaluation.unknown.len() == answers {
                let text = no_gold_query(path, &evaluation.unknown, gold);
                return Err(usage(anyhow::anyhow!(text)));
            }
            runs.push(JudgedRun {
                run,
                evaluation,
                has_answers,
            });
        }
        Ok(runs)
    }
}

/// Run with its evaluation.
pub(super) struct JudgedRun<'f> {
    pub(super) run: Run<'f>,
    pub(super) evaluation: RunEvaluation,
    /// True if the run has its answers, false if it was judged while it was read.
    pub(super) has_answers: bool,
}

/// Judges a run while reading it; `None` if it has to be read as a whole.
fn stream(
    gold: &GoldSet,
    path: &Path,
    name: &str,
    order: Option<Order>,
    options: &Options,
) -> Option<Streamed> {
    let run = RunStream::open(path, order)?;
    let warning = run.warning().map(ToOwned::to_owned);
    let streamed = evaluate::evaluate_stream(gold, name, run, options)?;
    if let Some(warning) = warning {
        output::warn(&warning);
    }
    Some(streamed)
}

/// Reads the runs at `paths`. The runs borrow from `files`.
pub(super) fn read_runs<'f>(
    files: &'f mut Vec<RunFile>,
    paths: &[PathBuf],
    order: Option<Order>,
    limits: &Limits,
    keeps_scores: bool,
) -> Result<Vec<Run<'f>>, RunError> {
    for path in paths {
        let file = RunFile::read(path)?;
        files.push(if keeps_scores {
            file.with_scores()
        } else {
            file
        });
    }
    let runs = files.iter().map(|file| file.parse(order, limits));
    runs.collect()
}

/// Returns the name of a run: its file name without folder and extension.
pub(in crate::cli) fn name_of(path: &Path) -> String {
    if path == Path::new(STANDARD_INPUT) {
        return "stdin".to_owned();
    }
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    stem.to_string_lossy().into_owned()
}

/// Returns a name for each run: the file name without folder and extension, or the path if two file
/// names are equal.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let stems: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
    let name = |(stem, path): (&String, &PathBuf)| {
        let alike = stems.iter().filter(|other| *other == stem).count();
        if alike > 1 {
            path.display().to_string()
        } else {
            stem.clone()
        }
    };
    stems.iter().zip(paths).map(name).collect()
}

/// Error message for a run none of whose queries is in the gold set.
fn no_gold_query(path: &Path, unknown: &[String], gold: &GoldSet) -> String {
    let in_run = unknown.first().map_or("", String::as_str);
    let in_gold = gold.queries().first().map_or("", |query| &query.key);
    format!(
        "{}: none of its queries is in the gold set (the run's first is `{in_run}`, the gold set's \
         `{in_gold}`); check that they belong together",
        path.display()
    )
}
