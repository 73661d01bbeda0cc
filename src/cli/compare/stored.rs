//! Files with the scores of queries: stored evaluations and lines as `trec_eval -q` prints them.

use std::io::BufRead;
use std::path::Path;

use anyhow::anyhow;

use crate::cli::failure::Failure;
use crate::cli::input;
use rankgauge_eval::compare::{RunScores, StoredEvaluation};
use rankgauge_eval::evaluate::{GoldFacts, StatedSettings};
use rankgauge_eval::run::name_of;

pub(super) struct ScoreFile {
    /// Gold set, if the file states it.
    pub(super) gold: Option<GoldFacts>,
    pub(super) judging: Option<StatedSettings>,
    pub(super) runs: Vec<RunScores>,
}

/// Reads a file of scores. Its content determines the format.
pub(super) fn scores(path: &Path) -> Result<ScoreFile, Failure> {
    let file = path.display().to_string();
    let mut source = input::open(path)?;
    if input::is_json(path, &mut source)? && !is_json_line(&mut source) {
        let stored = evaluation(&file, &input::read_json(path, source)?)?;
        return Ok(ScoreFile {
            gold: Some(stored.gold),
            judging: stored.judging,
            runs: stored.runs,
        });
    }
    let run = RunScores::read(&name_of(path), &file, source);
    Ok(ScoreFile {
        gold: None,
        judging: None,
        runs: vec![run.map_err(Failure::usage)?],
    })
}

/// Returns true if the content begins with a line of `ir_measures --output_format jsonl`.
fn is_json_line(source: &mut impl BufRead) -> bool {
    let starts: [&[u8]; 2] = [b"{\"query_id\"", b"{\"measure\""];
    source.fill_buf().is_ok_and(|beginning| {
        let beginning = beginning.trim_ascii_start();
        starts.iter().any(|start| beginning.starts_with(start))
    })
}

/// Reads the stored evaluation to compare with, and keeps the run `name`, or its only run.
pub(super) fn baseline(path: &Path, name: Option<&str>) -> Result<StoredEvaluation, Failure> {
    let file = path.display().to_string();
    let mut stored = evaluation(&file, &input::read_json(path, input::open(path)?)?)?;
    let known: Vec<String> = stored.runs.iter().map(|run| run.name.clone()).collect();
    if let Some(name) = name {
        stored.runs.retain(|run| run.name == name);
    }
    match (stored.runs.as_mut_slice(), name) {
        ([run], _) => run.name = format!("{} (baseline)", run.name),
        ([], Some(name)) => {
            return Err(Failure::Usage(anyhow!(
                "{file}: there is no run `{name}`; the runs are {}",
                known.join(", ")
            )));
        }
        _ => {
            return Err(Failure::Usage(anyhow!(
                "{file}: has {} runs; name one with --baseline-run: {}",
                known.len(),
                known.join(", ")
            )));
        }
    }
    Ok(stored)
}

/// Rejects scores against different gold sets.
pub(super) fn check_gold(one: &GoldFacts, other: &GoldFacts) -> Result<(), Failure> {
    if one.sha256 == other.sha256 {
        return Ok(());
    }
    let name = |gold: &GoldFacts| {
        let hash = gold.sha256.get(..12).unwrap_or(&gold.sha256);
        format!("{} (SHA-256 {hash}…)", gold.version)
    };
    Err(Failure::Usage(anyhow!(
        "the runs were judged against different gold sets, {} and {}, and their scores are not \
         comparable; judge all runs against one gold set",
        name(one),
        name(other)
    )))
}

/// Rejects scores of different settings of the judgement, as far as both are known.
pub(super) fn check_judging(
    one: Option<&StatedSettings>,
    other: Option<&StatedSettings>,
) -> Result<(), Failure> {
    let Some((one, other)) = one.zip(other).filter(|(one, other)| one != other) else {
        return Ok(());
    };
    let listed = |settings: &StatedSettings| {
        let settings = settings
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let settings: Vec<String> = settings.collect();
        if settings.is_empty() {
            "the usual ones".to_owned()
        } else {
            settings.join(", ")
        }
    };
    Err(Failure::Usage(anyhow!(
        "the runs were judged with different settings, {} and {}, and their scores are not comparable; judge all \
         runs with the same options and configuration",
        listed(one),
        listed(other)
    )))
}

fn evaluation(file: &str, bytes: &[u8]) -> Result<StoredEvaluation, Failure> {
    StoredEvaluation::read(file, bytes).map_err(Failure::usage)
}
