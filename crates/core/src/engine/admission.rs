//! Processing of a search when it is read: counting it and adding it to the join.

use std::sync::Arc;

use smallvec::SmallVec;

use super::machine::Engine;
use crate::engine::effects::{Outcome, SeenDeployment};
use crate::engine::events::SearchOutcome;
use crate::engine::evidence::Observation;
use crate::engine::family::{self, HOPS};
use crate::engine::id::{self, Id, SearchIds};
use crate::engine::incidents::Deployed;
use crate::engine::join::{GoldReference, NewSearch, Place, Reading, Served, Teams, Trial};
use crate::engine::objective::{Observed, TestedQuantity};
use crate::engine::position::Position;
use crate::engine::preparation::Prepared;
use crate::engine::quality::Drawn;
use crate::engine::segment::{Segment, SegmentKey, SliceValues};
use crate::engine::series::{Dimension, Label};
use crate::engine::settings::{Experiment, Ranges, Settings};
use crate::engine::units::CountedBucket;
use crate::event::{Kind, RecordOutcome, Search};
use crate::gold::{GoldSet, QueryIndex, normalise};
use crate::ranking::Judged;
use crate::time::EventTime;

/// Maximum number of requests for labels that wait to be taken.
const MAX_PENDING_REQUESTS: usize = 10_000;

/// Maximum number of deployments that wait to be taken.
const MAX_PENDING_DEPLOYMENTS: usize = 64;

impl Engine {
    /// Applies a search, which may be prepared.
    pub(super) fn search(
        &mut self,
        at: Position,
        search: &Search<'_>,
        ids: SearchIds,
        prepared: Option<Box<Prepared>>,
    ) -> Outcome {
        let (partition, fresh) = self.receive(Kind::Search, at, RecordOutcome::Used);
        if let Some(outcome) = self.reject_future(partition, Kind::Search, at, search.ts, fresh) {
            self.preparation.put_back(prepared);
            return outcome;
        }
        let state = &mut self.partitions[partition];
        let place = Place::new(&search.query_id, ids.search, search.ts);
        state.observe(Kind::Search, at.partition, search.ts);
        if state.join.is_closed(search.ts) {
            let prepared = self.prepared(search, prepared);
            self.retain_closed(partition, at, search, (place, ids.session), prepared, fresh);
            if fresh {
                self.totals.events.search(SearchOutcome::Late);
            }
        } else if state.join.contains(place.id(), search.ts) {
            self.preparation.put_back(prepared);
            if fresh {
                self.totals.events.search(SearchOutcome::Duplicate);
            }
        } else {
            let prepared = self.prepared(search, prepared);
            return self.admit(partition, at, search, (place, ids.session), prepared, fresh);
        }
        Outcome::None
    }

    /// Returns a search that is prepared, or prepares it.
    fn prepared(&mut self, search: &Search<'_>, prepared: Option<Box<Prepared>>) -> Box<Prepared> {
        prepared.unwrap_or_else(|| {
            let query = self.gold_query(search);
            self.prepare_search(search, query)
        })
    }

    /// Retains a search whose feedback window has passed. Feedback on it is late, and later
    /// feedback on its session may be attributed to it.
    fn retain_closed(
        &mut self,
        partition: usize,
        at: Position,
        search: &Search<'_>,
        (place, session): (Place, Option<Id>),
        prepared: Box<Prepared>,
        fresh: bool,
    ) {
        let session = session.filter(|_| prepared.ineligible.is_none());
        let segment = match search.user_session() {
            Some(_) => self.segment(search, &prepared),
            None => Arc::default(),
        };
        self.preparation.put_back(Some(prepared));
        let search = NewSearch {
            session,
            ..self.new_search(place, search, segment, fresh)
        };
        let join = &mut self.partitions[partition].join;
        join.add_closed_search(search, at, &mut self.scratch.effects);
    }

    /// Counts a judged search and adds it to the join.
    fn admit(
        &mut self,
        partition: usize,
        at: Position,
        search: &Search<'_>,
        (place, session): (Place, Option<Id>),
        mut prepared: Box<Prepared>,
        fresh: bool,
    ) -> Outcome {
        let gold = Arc::clone(&self.gold);
        // Behaviour on a page that is not judged says nothing about the searches of its session.
        let session = session.filter(|_| prepared.ineligible.is_none());
        let segment = self.segment(search, &prepared);
        let variant = segment.variant;
        if fresh {
            self.count_search(search, &segment, &prepared, &gold);
        }
        let trial = self.trial(search, &prepared, fresh);
        let admitted = NewSearch {
            session,
            gold: prepared
                .query
                .map(|query| GoldReference { set: gold, query }),
            served: std::mem::take(&mut prepared.served),
            trial,
            ..self.new_search(place, search, segment, fresh)
        };
        let join = &mut self.partitions[partition].join;
        join.add_search(admitted, at, &mut self.scratch.effects);
        if fresh && prepared.query.is_some() {
            return Outcome::Judged(variant, prepared);
        }
        self.preparation.put_back(Some(prepared));
        Outcome::None
    }

    /// Counts what is known of a search when it is read.
    fn count_search(
        &mut self,
        search: &Search<'_>,
        segment: &Segment,
        prepared: &Prepared,
        gold: &Arc<GoldSet>,
    ) {
        let variant = segment.variant;
        if let Some((query, judged)) = prepared.judged(search, gold) {
            self.totals
                .scores
                .record_documents(&segment.series, &prepared.documents);
            self.count_components(&judged, variant);
            self.count_domains(&judged, query, variant);
        }
        self.totals
            .scores
            .record(search.ts, &segment.series, &prepared.scores);
        // Watched measures are bounded for their tests, also if no range is exposed.
        if self.settings.ranges != Ranges::None {
            self.totals.scores.record_unjudged(
                search.ts,
                segment.exposed(self.settings.rolling),
                &prepared.unjudged,
            );
        }
        self.totals
            .count_overflow_by(&family::SCORE, segment.overflow);
        if let Some(reason) = prepared.ineligible {
            let reason = Label::from_position(reason as usize);
            self.count(&family::SEARCHES_NOT_ELIGIBLE, [variant, reason], 1);
        }
        self.draw_labels(search, variant, prepared, gold);
        if let Some(query) = prepared.query {
            self.observe(Observation {
                ts: search.ts,
                variant,
                series: segment.watched(),
                scores: &prepared.scores,
                unjudged: &prepared.watched_unjudged,
                query: Some(gold.query(query)),
                is_of_users: false,
            });
        }
        self.record_latency(search, variant);
        self.count_cost(search, variant);
        if !segment.is_synthetic {
            let of = Observed::Error(search.error_type.is_some());
            self.test_objectives(search.ts, variant, of);
            self.test_traffic(search.ts, variant);
        }
        if let Some(error_type) = &search.error_type {
            let error_type = self.names.label(Dimension::ErrorType, error_type);
            self.count(&family::SEARCH_ERRORS, [variant, error_type], 1);
        }
    }

    /// Counts a search of a user for the estimate of quality, and draws the results to label.
    pub(super) fn draw_labels(
        &mut self,
        search: &Search<'_>,
        variant: Label,
        prepared: &Prepared,
        gold: &GoldSet,
    ) {
        let Some(labelling) = &self.settings.labelling else {
            return;
        };
        if search.is_synthetic() || prepared.ineligible.is_some() {
            return;
        }
        let judged = prepared.judged(search, gold);
        // Clicks are no judgements of people.
        let judged = judged.filter(|_| gold.kind().is_none());
        let drawn = Drawn {
            search,
            variant,
            grades: judged.map_or(&[], |(_, judged)| judged.ranking.grades()),
            judge_by: self.settings.judging.judge_by,
            stratum: usize::from(judged.is_none()),
        };
        let requests = self.totals.quality.draw(labelling, &drawn);
        let stratum = Label::from_position(drawn.stratum);
        let number = u64::try_from(requests.len()).unwrap_or(u64::MAX);
        let room = MAX_PENDING_REQUESTS.saturating_sub(self.label_requests.len());
        self.label_requests.extend(requests.into_iter().take(room));
        if number > 0 {
            self.count(&family::LABEL_REQUESTS, [variant, stratum], number);
        }
    }

    /// Creates what the join keeps of every search.
    fn new_search(
        &self,
        place: Place,
        search: &Search<'_>,
        segment: Arc<Segment>,
        fresh: bool,
    ) -> NewSearch {
        let is_compared = self.compares_queries && search.user_session().is_some();
        NewSearch {
            place,
            reading: if fresh { Reading::New } else { Reading::Again },
            session: None,
            query: if is_compared { query_of(search) } else { 0 },
            segment,
            gold: None,
            served: Served::default(),
            trial: None,
        }
    }

    /// Returns the part of a search in experiments, and counts its unit and its scores if the search is
    /// `fresh`; `None` for a search in none.
    fn trial(
        &mut self,
        search: &Search<'_>,
        prepared: &Prepared,
        fresh: bool,
    ) -> Option<Box<Trial>> {
        let teams = self.teams(search);
        let bucket = self.bucket(search, prepared, fresh);
        (bucket.is_some() || teams.is_some()).then(|| Box::new(Trial { bucket, teams }))
    }

    /// Returns the bucket that counts the scores of a search.
    fn bucket(
        &mut self,
        search: &Search<'_>,
        prepared: &Prepared,
        fresh: bool,
    ) -> Option<CountedBucket> {
        if self.settings.experiments.is_empty() || prepared.ineligible.is_some() {
            return None;
        }
        let units = &mut self.totals.units;
        if !fresh {
            return units.bucket(search, &self.settings);
        }
        let bucket = units.add(search, &self.settings)?;
        units.add_scores(bucket, &prepared.scores);
        Some(bucket)
    }

    /// Returns the team that placed each result; `None` for a search without teams.
    fn teams(&mut self, search: &Search<'_>) -> Option<Teams> {
        if search.is_synthetic() {
            return None;
        }
        search
            .results
            .iter()
            .find(|hit| hit.details().team.is_some())?;
        let experiment = search.experiment.as_ref();
        let experiment = experiment.and_then(|it| it.id.as_deref()).unwrap_or("");
        let experiment = self.names.label(Dimension::Experiment, experiment);
        let mut team = |team: &str| self.names.label(Dimension::Team, team);
        let of_results = search.results.iter().map(|hit| {
            hit.details()
                .team
                .as_deref()
                .map_or(Label::EMPTY, &mut team)
        });
        Some(Teams {
            experiment,
            of_results: of_results.collect(),
        })
    }

    /// Counts the components of a judged search: the trigger outcome of each, and the hop distances
    /// of its results.
    fn count_components(&mut self, judged: &Judged<'_>, variant: Label) {
        for (index, part) in judged.parts().enumerate() {
            let component = Label::from_position(index);
            if let Some(needed) = part.needed {
                let [needed, fired] = [needed, part.fired].map(flag_label);
                let labels = [component, needed, fired, variant];
                self.count(&family::COMPONENT_TRIGGER, labels, 1);
            }
            for hops in part.hops(&judged.search.results).filter_map(hops_label) {
                self.count(&family::COMPONENT_HOPS, [component, hops, variant], 1);
            }
        }
    }

    /// Counts the expected and the selected domain of a judged search, and the domains that
    /// contributed to it.
    fn count_domains(&mut self, judged: &Judged<'_>, query: QueryIndex, variant: Label) {
        let selected = judged.selected_domain();
        // Most searches outside of a profile with domains have none.
        if selected.is_none() && !self.has_gold_domains {
            return;
        }
        let contributors = judged.contributing_domains();
        if contributors.is_empty() && selected.is_none() {
            return;
        }
        let names = &mut self.names;
        let mut label = |domain: &str| names.label(Dimension::Domain, domain);
        let expected = self
            .domains_of_gold
            .get_or(query, || judged.expected_domain().map(&mut label));
        if contributors.is_empty() && expected.is_none() {
            return;
        }
        let selected = selected.map(label);
        if let (Some(expected), Some(selected)) = (expected, selected) {
            self.count(&family::ROUTING, [expected, selected, variant], 1);
        }
        let Some(primary) = selected.or(expected) else {
            return;
        };
        for contributor in contributors {
            let contributor = self.names.label(Dimension::Domain, &contributor);
            self.count(&family::COLLABORATION, [primary, contributor, variant], 1);
        }
    }

    /// Returns the segment of a search. The value of a slice is taken from the gold query, else
    /// from the search.
    fn segment(&mut self, search: &Search<'_>, prepared: &Prepared) -> Arc<Segment> {
        self.note_version(search);
        let variant = self.names.label(Dimension::Variant, search.variant());
        let mut values = match prepared.query {
            Some(index) => self.slices_of_gold(index),
            None => SliceValues::from_elem(None, self.settings.slices.len()),
        };
        let settings = &*self.settings;
        let has_experiments = !settings.experiments.is_empty();
        for (slice, value) in settings.slices.iter().zip(&mut values) {
            if slice == Settings::SYNTHETIC {
                let label = |()| self.names.label(Dimension::SliceValue, "true");
                *value = search.is_synthetic().then_some(()).map(label);
            } else if has_experiments && slice == Experiment::SLICE {
                let experiment = settings.experiment_of(search);
                *value = experiment.map(|it| self.names.label(Dimension::SliceValue, it));
            } else if value.is_none()
                && let Some(stated) = search.labels.as_ref().and_then(|it| it.label(slice))
            {
                *value = Some(self.names.label(Dimension::SliceValue, &stated));
            }
        }
        self.names.shared().retirements.note(variant, search.ts);
        let key = SegmentKey {
            variant,
            is_synthetic: search.is_synthetic(),
            is_eligible: prepared.ineligible.is_none(),
            values,
        };
        self.names.segment(key, settings)
    }

    /// Notes the version that a search states, and the deployment that it shows.
    fn note_version(&mut self, search: &Search<'_>) {
        let mut names = self.settings.version_labels.iter();
        let Some(version) = names.find_map(|name| search.labels.as_ref()?.label(name)) else {
            return;
        };
        let (variant, ts) = (search.variant(), search.ts);
        let has_room = self.effects.deployments.len() < MAX_PENDING_DEPLOYMENTS;
        if has_room && let Some(before) = self.versions.observe(variant, &version, ts) {
            let deployed = Deployed {
                at: ts,
                version: Some(version.into()),
            };
            self.effects.deployments.push(SeenDeployment {
                variant: variant.into(),
                before,
                deployed,
            });
        }
    }

    /// Returns the slice values of a gold query.
    fn slices_of_gold(&mut self, index: QueryIndex) -> SliceValues {
        self.slices_of_gold.get_or(index, || {
            let labels = &self.gold.query(index).labels;
            let slices = self.settings.slices.iter();
            let values = slices.map(|slice| {
                let value = labels.get(slice)?;
                Some(self.names.label(Dimension::SliceValue, value))
            });
            values.collect()
        })
    }

    /// Adds the value of a search to the objectives of its quantity.
    pub(super) fn test_objectives(&mut self, ts: EventTime, variant: Label, of: Observed<'_>) {
        let means = &mut self.totals.means;
        means.observe(ts, variant, of, &self.settings.detection);
    }

    /// Adds a search to the objectives of the shares of variants.
    fn test_traffic(&mut self, ts: EventTime, variant: Label) {
        let settings = &self.settings.detection;
        for objective in &settings.means {
            let (of, own) = match &objective.quantity {
                TestedQuantity::OfVariant(of) => (of, 1.0),
                TestedQuantity::OfOthers(of) => (of, 0.0),
                _ => continue,
            };
            let of = self.names.label(Dimension::Variant, of);
            let value = if of == variant { own } else { 1.0 - own };
            let means = &mut self.totals.means;
            means.add(objective, ts, of, value, settings);
        }
    }

    fn record_latency(&mut self, search: &Search<'_>, variant: Label) {
        let whole = search
            .latency_ms
            .map(|latency| (Settings::WHOLE_SEARCH, latency));
        let synthetic = search.latency_ms.filter(|_| search.is_synthetic());
        let synthetic = synthetic.map(|latency| (Settings::SYNTHETIC, latency));
        let stages = search.stages.iter().flatten();
        // Stages of these names would be counted among the whole searches.
        let stages = stages
            .filter(|stage| ![Settings::WHOLE_SEARCH, Settings::SYNTHETIC].contains(&&*stage.name));
        let stages = stages.filter_map(|stage| Some((&*stage.name, stage.latency_ms?)));
        let mut samples: SmallVec<[_; 8]> = SmallVec::new();
        for (stage, latency) in whole.into_iter().chain(synthetic).chain(stages) {
            let label = self.names.label(Dimension::Stage, stage);
            samples.push((
                self.series(&family::SEARCH_LATENCY, [label, variant]),
                latency,
            ));
            self.test_objectives(search.ts, variant, Observed::Latency(stage, latency / 1e3));
        }
        if !samples.is_empty() {
            self.totals.latency.record(search.ts, &samples);
        }
    }
}

/// Returns what the join compares of the queries of a session.
fn query_of(search: &Search<'_>) -> u64 {
    match (&search.query, &search.query_key) {
        (Some(text), _) => id::short(&normalise(text)),
        (None, Some(key)) => id::short(key),
        (None, None) => 0,
    }
}

/// Label of a flag: `false` or `true`.
fn flag_label(flag: bool) -> Label {
    Label::from_position(usize::from(flag))
}

/// Label of a distance in hops. Longer distances share the last label. `None` for distance 0.
fn hops_label(hops: u32) -> Option<Label> {
    let hops = usize::try_from(hops).unwrap_or(HOPS.len()).min(HOPS.len());
    hops.checked_sub(1).map(Label::from_position)
}
