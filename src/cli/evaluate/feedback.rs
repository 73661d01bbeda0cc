//! User behaviour on the searches of a run, from a file of feedback events: both are passed through
//! the engine, and the scores are read from its snapshot.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;

use crate::cli::failure::Failure;
use crate::cli::gate::Required;
use crate::config::Config;
use crate::ingest::replay::replay;
use rankgauge_core::engine::position::Join;
use rankgauge_core::engine::read_model::{ReadModel, ScoreSeries};
use rankgauge_core::engine::scores::Tally;
use rankgauge_core::engine::settings::{Detection, Settings};
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::GoldSet;
use rankgauge_core::measure::Measure;
use rankgauge_eval::behaviour::{Behaviour, BehaviourMean, BehaviourSlice, TeamPreference};
use rankgauge_eval::run::STANDARD_INPUT;
use rankgauge_serve::clock::wall_now;

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

    /// User behaviour on the runs that have feedback, at their paths and with their names.
    pub(super) fn behaviour(
        &self,
        config: &Config,
        gold: &Arc<GoldSet>,
        measures: &[Measure],
        by: &[String],
        runs: &[(PathBuf, String)],
    ) -> Result<Vec<Behaviour>, Failure> {
        let mut settings = config.engine.clone();
        settings.measures = measures.to_vec();
        settings.slices = by.to_vec();
        settings.experiments = Vec::new();
        settings.detection = Detection::default();
        if config.formats.is_shared {
            // The feedback on a run lies in any file.
            settings.topics.join = Join::All;
        }
        let settings = Arc::new(settings);
        let mut behaviour = Vec::new();
        for (position, (path, name)) in runs.iter().enumerate() {
            let Some(feedback) = self.of(position) else {
                continue;
            };
            let registry = Arc::new(Engine::registry(&settings));
            let mut engine = Engine::new(Arc::clone(&settings), Arc::clone(&registry), wall_now());
            engine.apply(Input::Gold(Arc::clone(gold)));
            let mut searches = vec![path.clone()];
            let mut feedback = vec![feedback.clone()];
            if config.formats.is_shared {
                // All files have both kinds.
                feedback.retain(|feedback| feedback != path);
                searches.append(&mut feedback);
            }
            replay(&mut engine, &config.formats, &searches, &feedback).map_err(Failure::usage)?;
            engine.drain();
            let snapshot = engine.snapshot();
            let model = ReadModel::new(&snapshot, &settings, &registry);
            behaviour.push(read(name.clone(), &model, by));
        }
        Ok(behaviour)
    }

    /// User measures: of the arguments, else of the configuration, else the default ones; then those of the
    /// conditions. Empty without feedback.
    pub(super) fn measures(
        &self,
        requested: &[Measure],
        required: &[Required],
        config: &Config,
    ) -> Result<Vec<Measure>, Failure> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let of_users = |measures: &[Measure]| -> Vec<Measure> {
            let measures = measures.iter().filter(|measure| measure.is_user_measure());
            measures.cloned().collect()
        };
        let stated = [of_users(requested), of_users(&config.engine.measures)];
        let mut measures = match stated.into_iter().find(|measures| !measures.is_empty()) {
            Some(measures) => measures,
            None => Measure::parse_list(DEFAULT_MEASURES).map_err(Failure::usage)?,
        };
        let required = required.iter().flat_map(Required::measures);
        for measure in required.filter(|measure| measure.is_user_measure()) {
            if !measures.contains(measure) {
                measures.push(measure.clone());
            }
        }
        Ok(measures)
    }
}

/// Reads the behaviour on a run from the snapshot of its engine: means over all variants.
fn read(run: String, model: &ReadModel<'_>, by: &[String]) -> Behaviour {
    let measures = 0..model.measures().len();
    let scored = |it: &ScoreSeries<'_>| {
        let mut measures = measures.clone();
        measures.any(|measure| model.tally(measure, it.series).is_some())
    };
    let series: Vec<ScoreSeries<'_>> = model.series().filter(scored).collect();
    let means = |slice: &str, value: &str| -> Vec<BehaviourMean> {
        let of_slice = series.iter();
        let of_slice = of_slice.filter(|it| (it.slice, it.value) == (slice, value));
        let mean = |(measure, name): (usize, &String)| {
            let mut total = Tally::default();
            let tallies = of_slice.clone();
            for tally in tallies.filter_map(|it| model.tally(measure, it.series)) {
                total.merge(tally);
            }
            BehaviourMean {
                measure: name.clone(),
                mean: total.mean(),
                n: total.count,
            }
        };
        model.measures().iter().enumerate().map(mean).collect()
    };
    let slices = by.iter().flat_map(|label| {
        let of_label = series.iter().filter(|it| it.slice == label);
        let values: BTreeSet<&str> = of_label.map(|it| it.value).collect();
        let slices = values.into_iter().map(|value| BehaviourSlice {
            label: label.clone(),
            value: value.to_owned(),
            measures: means(label, value),
        });
        slices.collect::<Vec<_>>()
    });
    let preferences = model.team_pairs().into_iter().map(|pair| {
        let [team, against] = pair.teams.map(str::to_owned);
        let sessions = pair.preference;
        TeamPreference {
            experiment: pair.experiment.to_owned(),
            team,
            against,
            wins: sessions.wins,
            losses: sessions.losses,
            ties: sessions.ties,
            delta: sessions.delta(),
            log_evidence: sessions.log_evidence(),
        }
    });
    Behaviour {
        run,
        searches: model.eligible_searches(),
        feedback: model.outcomes(Kind::Feedback),
        measures: means(Settings::ALL_SEARCHES, ""),
        by: slices.collect(),
        interleaving: preferences.collect(),
    }
}
