//! Deployments of variants, as operators report them: kept for the API and the exposition, and on disk
//! if there is a checkpoint folder.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use super::list_changes::Summary;
use rankgauge_core::engine::incidents::Deployed;
use rankgauge_core::engine::read_model::{ReadModel, ScoreSeries};
use rankgauge_core::engine::scores::{Cell, Tally};
use rankgauge_core::measure::{Measure, UserMeasure};
use rankgauge_core::time::{EventTime, Millis};

/// Maximum number of kept deployments.
pub const MAX_DEPLOYMENTS: usize = 100;

/// File in the checkpoint folder.
const FILE: &str = "deployments.json";

/// Deployment of a variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deployment {
    /// Name of the variant, as it appears in searches.
    pub variant: String,
    /// Version that is deployed.
    pub version: String,
    /// Time of the deployment in milliseconds since 1970.
    pub ts: i64,
    /// Remark of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// True if the baselines of the variant are kept, so that a drop which begins with the deployment is found.
    /// That is so for deployments that searches show.
    #[serde(default, skip_serializing_if = "is_false")]
    pub keeps_baselines: bool,
    /// Change of the lists of head queries since the version before, as soon as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lists: Option<Summary>,
    /// User of the API who reported it, if the listener has authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Results of the variant from the deployment to the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Box<Period>>,
    /// Version before, if searches state it and no deployment of the variant was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<VersionBefore>>,
}

/// Version of a variant before its first known deployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VersionBefore {
    /// Version.
    pub version: String,
    /// Results of the variant until the deployment, without bounds. Null if there was no sample before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Box<Period>>,
}

/// Results of a variant from a deployment to the next one, of this replica.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeploymentPeriod")]
pub struct Period {
    /// Event time after which searches count, in milliseconds since 1970: that of the first sample after
    /// the report of the deployment or the start of the process.
    pub from: i64,
    /// Event time of the last sample, in milliseconds since 1970.
    pub until: i64,
    /// Searches of the period.
    pub searches: u64,
    /// Watched measures, the primary one and `ZeroResult`. Measures without a score in the period, and user
    /// measures with fewer than `feedback.min_samples`, are left out.
    pub scores: Vec<PeriodScore>,
    /// Longest rolling window within the period; null in a period shorter than all windows.
    pub window: Option<String>,
    /// 95th percentile of the latency of searches in seconds, in the last such window; null without one.
    pub p95_seconds: Option<f64>,
    /// Searches with a latency in that window.
    pub latency_searches: u64,
    /// Cost in the last such window, by currency.
    pub costs: BTreeMap<String, PeriodCost>,
}

/// Cost of the searches in the last window of a period.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeriodCost {
    /// Mean cost of 1,000 searches in units of the currency.
    pub per_1000: f64,
    /// Searches with a cost.
    pub searches: u64,
}

/// Mean of a measure in a period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeriodScore {
    /// Measure as written in the configuration.
    pub measure: String,
    /// Searches with a score.
    pub searches: u64,
    /// Mean of their scores.
    pub mean: f64,
    /// Lower confidence bound of the mean of all searches since the deployment; null if the measure is not
    /// watched, before the first bounds, and in a period that begins later than the deployment.
    pub lower: Option<f64>,
    /// Upper bound.
    pub upper: Option<f64>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_false(it: &bool) -> bool {
    !it
}

impl Deployment {
    /// Time of the deployment.
    pub fn at(&self) -> EventTime {
        EventTime(self.ts)
    }

    /// The version before as a deployment, from the beginning of its period on.
    pub(crate) fn version_before(&self) -> Option<Self> {
        let VersionBefore { version, period } = *self.before.clone()?;
        Some(Self {
            variant: self.variant.clone(),
            version,
            ts: period.as_ref().map_or(self.ts, |it| it.from),
            period,
            ..Self::default()
        })
    }

    fn key(&self) -> DeploymentKey {
        (self.variant.clone(), self.version.clone(), self.ts)
    }
}

/// Last deployments, oldest first.
#[derive(Debug, Default)]
pub struct Deployments {
    kept: Mutex<VecDeque<Deployment>>,
    /// Sums at the beginning of the period of the last deployment, or of this process without one, by
    /// variant.
    starts: Mutex<BTreeMap<String, Start>>,
    /// Results of the variants without a deployment.
    undeployed: Mutex<BTreeMap<String, Period>>,
    /// Deployments of an earlier process, whose periods began before this one.
    loaded: Vec<DeploymentKey>,
    folder: Option<PathBuf>,
}

/// Variant, version and time of a deployment.
type DeploymentKey = (String, String, i64);

/// Sums of a variant at the beginning of a period.
#[derive(Debug)]
struct Start {
    deployment: DeploymentKey,
    /// True if the period begins with the deployment.
    is_whole: bool,
    at: EventTime,
    searches: u64,
    /// By position of the measure in the settings.
    tallies: BTreeMap<usize, Tally>,
}

impl Deployments {
    /// Deployments that were saved in the folder. Without a folder, they are kept in memory.
    pub fn load(folder: Option<&Path>) -> Self {
        let saved = folder.map_or(Ok(None), read_text);
        let saved = saved.and_then(|text| match text {
            Some(text) => serde_json::from_str(&text).map_err(io::Error::other),
            None => Ok(VecDeque::new()),
        });
        let kept = saved.unwrap_or_else(|problem| {
            warn!(file = FILE, error = %problem, "saved deployments cannot be read");
            VecDeque::new()
        });
        Self {
            loaded: kept.iter().map(Deployment::key).collect(),
            kept: Mutex::new(kept),
            starts: Mutex::default(),
            undeployed: Mutex::default(),
            folder: folder.map(Path::to_owned),
        }
    }

    /// Adds a deployment. One of the same variant and version replaces the earlier one.
    pub fn add(&self, deployment: Deployment) {
        let mut kept = self.kept();
        self.keep(&mut kept, deployment);
        self.save(&kept);
    }

    /// Adds deployments, except for those whose version of the variant was reported for a time near them. Returns
    /// those that were added. The file is written once for all of them: searches can show many versions in a second.
    pub(super) fn add_new(
        &self,
        deployments: impl IntoIterator<Item = Deployment>,
    ) -> Vec<Deployment> {
        let mut kept = self.kept();
        let mut added = Vec::new();
        for deployment in deployments {
            let is_same = |it: &Deployment| {
                (&it.variant, &it.version) == (&deployment.variant, &deployment.version)
                    && it.ts.abs_diff(deployment.ts) < Deployed::MIN_INTERVAL.0.unsigned_abs()
            };
            if !kept.iter().any(is_same) {
                self.keep(&mut kept, deployment.clone());
                added.push(deployment);
            }
        }
        if !added.is_empty() {
            self.save(&kept);
        }
        added
    }

    fn keep(&self, kept: &mut VecDeque<Deployment>, mut deployment: Deployment) {
        info!(
            variant = deployment.variant,
            version = deployment.version,
            note = deployment.note.as_deref(),
            "deployment reported"
        );
        let mut of_variant = kept.iter().filter(|it| it.variant == deployment.variant);
        if of_variant.clone().next().is_none() {
            let period = self.undeployed().remove(&deployment.variant).map(Box::new);
            if let Some(before) = &mut deployment.before {
                before.period = period;
            }
        } else {
            let replaced = of_variant.find(|it| it.version == deployment.version);
            deployment.before = replaced.and_then(|it| it.before.clone());
        }
        kept.retain(|it| (&it.variant, &it.version) != (&deployment.variant, &deployment.version));
        while kept.len() >= MAX_DEPLOYMENTS {
            kept.pop_front();
        }
        kept.push_back(deployment);
    }

    /// Notes the change of lists since a deployment.
    pub(super) fn note_lists(&self, variant: &str, version: &str, summary: Summary) {
        let mut kept = self.kept();
        let found = kept
            .iter_mut()
            .find(|it| it.variant == variant && it.version == version);
        if let Some(deployment) = found {
            deployment.lists = Some(summary);
            self.save(&kept);
        }
    }

    /// Updates the period of the last deployment of each variant, and that of a variant without one. The
    /// periods of earlier deployments stay as they were.
    pub fn sample(&self, model: &ReadModel<'_>) {
        let Some(now) = model.watermark() else {
            return;
        };
        let mut last: BTreeMap<String, DeploymentKey> = BTreeMap::new();
        for it in self.latest() {
            last.entry(it.variant.clone()).or_insert_with(|| it.key());
        }
        let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        let known: BTreeSet<&str> = model.variants().map(|it| it.variant).collect();
        starts.retain(|variant, _| last.contains_key(variant) || known.contains(&**variant));
        let (mut periods, mut undeployed) = (Vec::new(), BTreeMap::new());
        for of in model.variants() {
            let deployment = last.get(of.variant);
            let key = deployment.cloned();
            let key = key.unwrap_or_else(|| (of.variant.to_owned(), String::new(), i64::MIN));
            let mut current = Start::of(model, of, key, now);
            let known = starts.get(of.variant);
            let known = known.filter(|it| it.deployment == current.deployment);
            let is_new = known.is_none();
            current.is_whole = is_new && deployment.is_some_and(|it| !self.loaded.contains(it));
            let known = known.filter(|it| it.is_before(&current));
            let period = known.unwrap_or(&current).period(&current, model, of);
            match deployment {
                Some(deployment) => periods.push((deployment, period)),
                None => _ = undeployed.insert(of.variant.to_owned(), period),
            }
            if known.is_none() {
                starts.insert(of.variant.to_owned(), current);
            }
        }
        *self.undeployed() = undeployed;
        let mut kept = self.kept();
        for ((variant, version, ts), period) in periods {
            let mut all = kept.iter_mut();
            let found =
                all.find(|it| it.variant == *variant && it.version == *version && it.ts == *ts);
            if let Some(deployment) = found {
                deployment.period = Some(Box::new(period));
            }
        }
    }

    fn save(&self, kept: &VecDeque<Deployment>) {
        let Some(folder) = &self.folder else {
            return;
        };
        let text = serde_json::to_string(kept).map_err(io::Error::other);
        let saved = text.and_then(|text| write_text(folder, &text));
        if let Err(problem) = saved {
            warn!(file = FILE, error = %problem, "deployments cannot be saved");
        }
    }

    /// Last deployments, newest first.
    pub fn latest(&self) -> Vec<Deployment> {
        let mut deployments: Vec<Deployment> = self.kept().iter().cloned().collect();
        deployments.sort_by_key(|deployment| std::cmp::Reverse(deployment.ts));
        deployments
    }

    fn undeployed(&self) -> MutexGuard<'_, BTreeMap<String, Period>> {
        let undeployed = self.undeployed.lock();
        undeployed.unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Deployment>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Start {
    /// Sums of a variant now.
    fn of(
        model: &ReadModel<'_>,
        of: ScoreSeries<'_>,
        deployment: DeploymentKey,
        at: EventTime,
    ) -> Self {
        let settings = model.settings();
        let zero_result = Measure::User(UserMeasure::ZeroResult);
        let all = settings.measures.iter().enumerate();
        let headline = all.filter(|(index, measure)| {
            let mut watched = settings.detection.measures.iter();
            watched.any(|it| it.index == *index)
                || settings.primary_measure() == Some(*index)
                || **measure == zero_result
        });
        let tally = |index| model.tally(index, of.series).copied().unwrap_or_default();
        Self {
            deployment,
            is_whole: false,
            at,
            searches: model.searches(of.series),
            tallies: headline.map(|(index, _)| (index, tally(index))).collect(),
        }
    }

    /// Returns true if `now` continues these sums, which begin again after a variant was retired.
    fn is_before(&self, now: &Self) -> bool {
        let tallies = self.tallies.iter();
        let mut pairs = tallies.map(|(index, it)| (it, now.tallies.get(index)));
        self.searches <= now.searches
            && pairs.all(|(before, now)| now.is_some_and(|now| before.count <= now.count))
    }

    /// Results of the searches between these sums and those of `now`.
    fn period(&self, now: &Self, model: &ReadModel<'_>, of: ScoreSeries<'_>) -> Period {
        let settings = model.settings();
        let score = |(index, tally): (&usize, &Tally)| {
            let before = self.tallies.get(index).copied().unwrap_or_default();
            let within = Cell {
                count: tally.count.saturating_sub(before.count),
                sum: tally.sum.saturating_sub(before.sum),
            };
            let measure = settings.measures.get(*index)?;
            let is_few = measure.is_user_measure() && within.count < settings.min_samples;
            let mean = within.mean().filter(|_| !is_few)?;
            let watched = model.watched_series(*index, of.series);
            let bounds = watched.and_then(|it| it.bounds).filter(|_| self.is_whole);
            Some(PeriodScore {
                measure: measure.to_string(),
                searches: within.count,
                mean,
                lower: bounds.map(|[lower, _]| lower),
                upper: bounds.map(|[_, upper]| upper),
            })
        };
        let length = now.at.since(self.at);
        let windows = settings.windows.iter().enumerate();
        let within = windows.filter(|(_, it)| Millis::from(it.length) <= length);
        let window = within.max_by_key(|(_, it)| it.length);
        let latencies = window
            .into_iter()
            .flat_map(|(index, _)| model.latencies(index));
        let mut whole = latencies.filter(|it| it.is_whole() && it.variant == of.label);
        let latency = whole.next();
        let costs = window.into_iter().flat_map(|(index, _)| model.costs(index));
        let costs = costs.filter(|it| it.variant == of.label);
        let costs = costs.filter_map(|it| {
            let cost = PeriodCost {
                per_1000: it.cost.mean()? * 1e3,
                searches: it.cost.count(),
            };
            Some((it.currency.to_owned(), cost))
        });
        Period {
            from: self.at.0,
            until: now.at.0,
            searches: now.searches.saturating_sub(self.searches),
            scores: now.tallies.iter().filter_map(score).collect(),
            window: window.map(|(_, it)| it.name.clone()),
            p95_seconds: latency.and_then(|it| it.seconds(0.95)),
            latency_searches: latency.map_or(0, |it| it.searches()),
            costs: costs.collect(),
        }
    }
}

/// Text of the file in `folder`; `None` if it does not exist.
fn read_text(folder: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(folder.join(FILE)) {
        Ok(text) => Ok(Some(text)),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// Replaces the file in `folder`. After an error, the previous one is still in place.
fn write_text(folder: &Path, text: &str) -> io::Result<()> {
    let place = folder.join(FILE);
    let draft = place.with_extension("draft");
    fs::write(&draft, text)?;
    File::open(&draft)?.sync_all()?;
    fs::rename(&draft, &place)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployed(version: &str, before: &str) -> Deployment {
        Deployment {
            variant: "V5".to_owned(),
            version: version.to_owned(),
            ts: 60_000,
            before: Some(Box::new(VersionBefore {
                version: before.to_owned(),
                period: None,
            })),
            ..Deployment::default()
        }
    }

    #[test]
    fn the_first_deployment_of_a_variant_keeps_the_results_of_the_version_before() {
        let deployments = Deployments::default();
        let period = Period {
            from: 10_000,
            searches: 7,
            ..Period::default()
        };
        deployments.undeployed().insert("V5".to_owned(), period);
        assert_eq!(deployments.add_new([deployed("2.0", "1.0")]).len(), 1);
        let first = deployments.latest().remove(0).version_before();
        let first = first.expect("the version before");
        assert_eq!((&*first.version, first.ts), ("1.0", 10_000));
        assert_eq!(first.period.expect("its results").searches, 7);
        // A later deployment has one before it that is listed.
        deployments.add(deployed("3.0", "2.0"));
        let before = deployments.latest().into_iter().filter_map(|it| it.before);
        let before: Vec<String> = before.map(|it| it.version).collect();
        assert_eq!(before, ["1.0"]);
    }

    #[test]
    fn deployments_that_are_found_together_are_saved_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let deployments = Deployments::load(Some(folder.path()));
        let saved = || Deployments::load(Some(folder.path())).latest();
        deployments.keep(&mut deployments.kept(), deployed("1.0", "0.9"));
        assert!(saved().is_empty());
        let found = (0..64).map(|number| deployed(&format!("2.{number}"), "1.0"));
        assert_eq!(deployments.add_new(found).len(), 64);
        assert_eq!(saved(), deployments.latest());
        assert_eq!(saved().len(), 65);
    }

    #[test]
    fn a_second_report_of_the_first_deployment_keeps_the_version_before() {
        let deployments = Deployments::default();
        deployments.add(deployed("2.0", "1.0"));
        deployments.add(Deployment {
            before: None,
            note: Some("new reranker".to_owned()),
            ..deployed("2.0", "")
        });
        let [kept] = &deployments.latest()[..] else {
            panic!("one deployment");
        };
        let before = kept.before.as_ref().expect("the version before");
        assert_eq!(before.version, "1.0");
        assert!(kept.note.is_some());
    }
}
