//! What became evident: told in the log once, and kept for whoever asks the API.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tracing::warn;

use rankgauge_core::engine::evidence::{Crossing, Fallen, Test};
use rankgauge_core::engine::registry::{Dimension, Family, Label, OTHER, Registry};
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::time::WallTime;

/// Most regressions that are kept.
const MOST: usize = 100;

/// A regression, with everything that its numbers stand for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Regression {
    /// When it became evident.
    #[serde(skip)]
    pub at: WallTime,
    /// `target` or `drop`.
    pub test: &'static str,
    /// The measure.
    pub measure: String,
    /// The system version.
    pub variant: String,
    /// The slice, `all` for the whole.
    pub slice: String,
    /// Its value.
    pub value: String,
    /// Natural logarithm of the evidence, and what it had to reach.
    pub log_evidence: f64,
    /// See `log_evidence`.
    pub threshold: f64,
    /// What was usual, or asked for.
    pub expected: f64,
    /// A moving mean of the last searches.
    pub recent: f64,
    /// The queries that fell furthest, at most five.
    pub queries: Vec<Fallen>,
}

impl Regression {
    fn of(crossing: Crossing, settings: &Settings, registry: &Registry, at: WallTime) -> Self {
        let members = registry.members(Family::Scores);
        let labels = members.get(crossing.series.index());
        let [variant, slice, value] = labels.copied().unwrap_or([Label::OTHER; 3]);
        let named = |dimension, label: Label| {
            let values = registry.values(dimension);
            values.get(label.index()).map_or(OTHER, |it| it).to_owned()
        };
        let slice = slice.position().and_then(|place| place.checked_sub(1));
        let slice = slice.and_then(|place| settings.slices.get(place));
        let measure = settings.measures.get(crossing.measure);
        Self {
            at,
            test: crossing.test.name(),
            measure: measure.map(ToString::to_string).unwrap_or_default(),
            variant: named(Dimension::Variant, variant),
            slice: slice.map_or("all", String::as_str).to_owned(),
            value: named(Dimension::SliceValue, value),
            log_evidence: crossing.log_evidence,
            threshold: crossing.threshold,
            expected: crossing.expected,
            recent: crossing.recent,
            queries: crossing.fallen,
        }
    }

    /// A sentence for the log.
    fn sentence(&self) -> String {
        let Self {
            measure,
            variant,
            slice,
            value,
            ..
        } = self;
        let mut sentence = format!("{measure} of variant \"{variant}\"");
        // Writing to a string cannot fail.
        let written = (|| {
            if slice != "all" {
                write!(sentence, ", {slice} \"{value}\",")?;
            }
            let expected = if self.test == Test::Drop.name() {
                "became worse than usual"
            } else {
                "misses its target"
            };
            write!(
                sentence,
                " {expected}: about {:.3}, not {:.3} (evidence {:.2} of {:.2})",
                self.recent, self.expected, self.log_evidence, self.threshold
            )?;
            for (number, it) in self.queries.iter().enumerate() {
                let before = if number == 0 { "; most of all" } else { "," };
                write!(
                    sentence,
                    "{before} {:?} {:.3} -> {:.3}",
                    it.query, it.usual, it.recent
                )?;
            }
            Ok::<_, std::fmt::Error>(())
        })();
        debug_assert!(written.is_ok());
        sentence
    }
}

/// The last regressions, newest last.
#[derive(Debug, Default)]
pub struct Regressions(Mutex<VecDeque<Regression>>);

impl Regressions {
    /// The last ones, newest first.
    pub fn latest(&self) -> Vec<Regression> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().cloned().collect()
    }

    /// Tells what a worker's engine has found.
    pub(super) fn tell(
        &self,
        crossings: Vec<Crossing>,
        settings: &Settings,
        registry: &Registry,
        at: WallTime,
    ) {
        for crossing in crossings {
            let regression = Regression::of(crossing, settings, registry, at);
            warn!(
                test = regression.test,
                measure = regression.measure,
                variant = regression.variant,
                slice = regression.slice,
                value = regression.value,
                "{}",
                regression.sentence()
            );
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() >= MOST {
                kept.pop_front();
            }
            kept.push_back(regression);
        }
    }
}
