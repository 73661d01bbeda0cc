//! User behaviour on the searches of a run, from a file of feedback events: both are passed through
//! the engine, and the scores are read from its snapshot.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;

use crate::cli::failure::Failure;
use crate::config::Config;
use crate::ingest::replay::replay;
use rankgauge_core::engine::family::{self, Family};
use rankgauge_core::engine::fixed::{count_to_f64, units_to_f64};
use rankgauge_core::engine::settings::Detection;
use rankgauge_core::engine::settings::Rolling;
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::GoldSet;
use rankgauge_core::measure::Measure;
use rankgauge_eval::behaviour::{Behaviour, BehaviourMean, BehaviourSlice};
use rankgauge_eval::run::STANDARD_INPUT;
use rankgauge_serve::clock::wall_now;
use rankgauge_serve::collect::{ALL_SEARCHES, Labels, Names, Sink, Value, collect};

/// User measures if neither the arguments nor the configuration have one.
const DEFAULT_MEASURES: &str =
    "CTR ClickRR Abandoned SAT Converted Reformulated ZeroResult ThumbsUp Rating";

/// Files of feedback events: none, one for all runs, or one for each run.
pub(super) struct FeedbackFiles<'a>(pub(super) &'a [PathBuf]);

impl FeedbackFiles<'_> {
    /// Returns the file of the run at `position`.
    fn of(&self, position: usize) -> Option<&PathBuf> {
        match self.0 {
            [all] => Some(all),
            files => files.get(position),
        }
    }

    /// Rejects another number of files, and runs that cannot be read twice.
    pub(super) fn check(&self, runs: &[PathBuf]) -> Result<(), Failure> {
        let files = self.0.len();
        if files > 1 && files != runs.len() {
            return Err(Failure::Usage(anyhow!(
                "{files} feedback files and {} runs: give one file for all runs, or one for each",
                runs.len()
            )));
        }
        let stdin = Path::new(STANDARD_INPUT);
        if files > 0 && runs.iter().chain(self.0).any(|path| path == stdin) {
            return Err(Failure::Usage(anyhow!(
                "--feedback needs files; write the standard input to one"
            )));
        }
        Ok(())
    }
}

/// User behaviour on the runs at `paths`, whose names are `names`.
pub(super) fn behaviour(
    config: &Config,
    gold: &Arc<GoldSet>,
    measures: &[Measure],
    by: &[String],
    runs: &[(PathBuf, String)],
    files: &FeedbackFiles<'_>,
) -> Result<Vec<Behaviour>, Failure> {
    let mut settings = config.engine.clone();
    settings.measures = measures.to_vec();
    settings.slices = by.to_vec();
    settings.experiments = Vec::new();
    settings.detection = Detection::default();
    let settings = Arc::new(settings);
    let mut behaviour = Vec::new();
    for (position, (path, name)) in runs.iter().enumerate() {
        let Some(feedback) = files.of(position) else {
            continue;
        };
        let registry = Arc::new(Engine::registry(&settings));
        let mut engine = Engine::new(Arc::clone(&settings), Arc::clone(&registry), wall_now());
        engine.apply(Input::Gold(Arc::clone(gold)));
        let paths = [path.clone()];
        let feedback = [feedback.clone()];
        replay(&mut engine, &config.formats, &paths, &feedback)
            .map_err(|error| Failure::Usage(error.into()))?;
        engine.drain();
        let snapshot = engine.snapshot();
        let names = Names {
            settings: Arc::clone(&settings),
            registry,
            topics: [String::new(), String::new()],
            rolling: Rolling::All,
        };
        let mut scores = Scores::default();
        collect(&snapshot, &names, wall_now(), &mut scores);
        let events = &snapshot.totals.events;
        let searches = events.outcomes(Kind::Search).into_iter();
        let searches = searches.filter(|(outcome, _)| matches!(*outcome, "judged" | "unjudged"));
        behaviour.push(scores.finish(
            name.clone(),
            searches.map(|(_, count)| count).sum(),
            events.outcomes(Kind::Feedback).to_vec(),
            measures,
            by,
        ));
    }
    Ok(behaviour)
}

/// User measures: of the arguments, else of the configuration, else the default ones.
pub(super) fn measures(requested: &[Measure], config: &Config) -> Result<Vec<Measure>, Failure> {
    let of_users = |measures: &[Measure]| -> Vec<Measure> {
        let measures = measures.iter().filter(|measure| measure.is_user_measure());
        measures.cloned().collect()
    };
    for measures in [of_users(requested), of_users(&config.engine.measures)] {
        if !measures.is_empty() {
            return Ok(measures);
        }
    }
    Measure::parse_list(DEFAULT_MEASURES).map_err(|error| Failure::Usage(error.into()))
}

/// Sums and counts of scores by measure, slice and value, over all variants.
#[derive(Default)]
struct Scores {
    family: String,
    cells: BTreeMap<[String; 3], (f64, u64)>,
}

impl Sink for Scores {
    fn family(&mut self, family: &Family) {
        self.family = family.full_name();
    }

    fn write(&mut self, _suffix: &'static str, labels: &[&Labels<'_>], value: Value) {
        let is_sum = self.family == family::SCORE_SUM.full_name();
        if !is_sum && self.family != family::SCORE_COUNT.full_name() {
            return;
        }
        let label = |name: &str| {
            let mut pairs = labels.iter().flat_map(|labels| labels.pairs());
            let found = pairs.find(|(label, _)| *label == name);
            found.map_or_else(String::new, |(_, value)| (*value).to_owned())
        };
        let key = [label("measure"), label("slice"), label("value")];
        let (sum, count) = self.cells.entry(key).or_default();
        match value {
            Value::Count(added) => *count += added,
            Value::Decimal { units, decimals } => *sum += units_to_f64(units, decimals),
            Value::Float(added) => *sum += added,
        }
    }
}

impl Scores {
    fn finish(
        self,
        run: String,
        searches: u64,
        feedback: Vec<(&'static str, u64)>,
        measures: &[Measure],
        by: &[String],
    ) -> Behaviour {
        let mean = |measure: &Measure, slice: &str, value: Option<&str>| {
            let measure = measure.to_string();
            let cells = self.cells.iter().filter(|([name, label, of], _)| {
                *name == measure && label == slice && value.is_none_or(|value| of == value)
            });
            let (sum, n) = cells.fold((0.0, 0), |(sum, n), (_, cell)| (sum + cell.0, n + cell.1));
            BehaviourMean {
                mean: (n > 0).then(|| sum / count_to_f64(n)),
                measure,
                n,
            }
        };
        let means = |slice: &str, value: Option<&str>| -> Vec<BehaviourMean> {
            let measures = measures.iter();
            measures.map(|it| mean(it, slice, value)).collect()
        };
        let slices = by.iter().flat_map(|label| {
            let of_label = self.cells.keys().filter(|[_, slice, _]| slice == label);
            let mut values: Vec<&String> = of_label.map(|[_, _, value]| value).collect();
            values.sort();
            values.dedup();
            let slices = values.into_iter().map(|value| BehaviourSlice {
                label: label.clone(),
                value: value.clone(),
                measures: means(label, Some(value)),
            });
            slices.collect::<Vec<_>>()
        });
        Behaviour {
            run,
            searches,
            feedback,
            measures: means(ALL_SEARCHES, None),
            by: slices.collect(),
        }
    }
}
