//! Record of an incident: its identity, its state and the sum of its shares.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::acknowledgement::Acknowledged;
use super::deployment::{Deployed, DeploymentMark};
use super::drop::Drop;
use super::ending::{EndReason, Ending};
use super::level::Level;
use super::measure::{BLOCK_SEARCHES, ComparedQueries, IncidentMeasure};
use super::note::Note;
use super::query::{IncidentQuery, MAX_QUERIES};
use super::search_loss::SearchLoss;
use super::severity::Severity;
use crate::detection::{Beginning, DropClass, Losses, Part, Recovery, minute_of};
use crate::engine::settings::Settings;
use crate::measure::Subject;
use crate::time::{EventTime, Millis};

/// Maximum number of measures and slices of an incident, at most the bits of `Places`. Further alarms are not added.
pub(super) const MAX_MEASURES: usize = 32;

/// Time without a compared search after which an incident ends.
pub(super) const EXPIRED_AFTER: Millis = Millis(24 * 3_600_000);

/// Maximum number of deployments that are marked on an incident.
const MAX_MARKS: usize = 16;

/// Minimum number of searches of a query in the list of those that lost most.
const MIN_SEARCHES: u64 = 3;

/// Incident, or the share of one worker in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// Hash of variant, primary measure and minute of the beginning.
    pub id: u64,
    /// Name of the variant.
    pub variant: Box<str>,
    /// Measures and slices, the primary one first.
    pub measures: Vec<IncidentMeasure>,
    /// Estimated beginning.
    pub started: Beginning,
    /// Event time of the first alarm.
    pub alarmed_at: EventTime,
    /// End. `None` while the incident is open.
    pub ended: Option<Ending>,
    /// Class of the drop: in all searches, if the incident contains a drop in these. A proof of one measure that
    /// they are worse holds for the incident.
    pub class: DropClass,
    /// Part of the queries that dropped: in all searches, if the incident contains a drop in these, else in the
    /// slice of the first drop.
    pub part: Part,
    /// Queries that lost most in the primary measure. Empty in a record of a worker that is not
    /// published.
    pub queries: Vec<IncidentQuery>,
    /// Last deployment before the beginning, and those during the incident.
    pub deployments: Vec<DeploymentMark>,
    /// Event time in milliseconds of the last compared search.
    pub last: i64,
    /// First acknowledgement by an operator.
    pub acknowledged: Option<Acknowledged>,
    /// Notes of operators, oldest first.
    #[serde(default)]
    pub notes: Vec<Note>,
}

impl Incident {
    pub(super) fn new(variant: Box<str>, drop: &Drop<'_>, primary: &str) -> Self {
        Self {
            id: id_of(&variant, primary, minute_of(drop.beginning.at)),
            variant,
            measures: Vec::new(),
            started: drop.beginning,
            alarmed_at: drop.alarmed_at,
            ended: None,
            class: drop.class,
            part: drop.part,
            queries: Vec::new(),
            deployments: Vec::new(),
            last: drop.alarmed_at.0,
            acknowledged: None,
            notes: Vec::new(),
        }
    }

    /// Id as text: 16 hexadecimal digits.
    pub fn name(&self) -> String {
        format!("{:016x}", self.id)
    }

    /// Last deployment of the variant before the beginning.
    pub fn deployment_before(&self) -> Option<&Deployed> {
        let mut before = self.deployments.iter().filter(|mark| !mark.is_during);
        before.next().map(|mark| &mark.deployed)
    }

    /// Mean loss of the current searches in a measure: those of the last minutes, at least 30. Until there
    /// are as many, those up to the alarm are added. After a recovery, of the last searches before its
    /// estimated start.
    pub fn loss_now(&self, of: &IncidentMeasure) -> Option<Level> {
        let ended_by = self.ended.as_ref().map(|it| it.by);
        if ended_by == Some(EndReason::Recovered) {
            of.loss_of_blocks(of.blocks_until_recovery())
        } else {
            of.loss_of_blocks(of.blocks)
        }
    }

    /// Estimated start of the recovery of the primary measure in milliseconds of event time. `None` while
    /// the drop lasts.
    pub(super) fn recovering_since(&self) -> Option<i64> {
        self.measures.first().and_then(|it| it.recovery.since())
    }

    /// Urgency: critical if all searches of the variant are affected and the cause is not that more
    /// results are unjudged.
    pub fn severity(&self) -> Severity {
        if self.is_in_all_searches()
            && self.part == Part::All
            && self.class != DropClass::MoreUnjudged
        {
            Severity::Critical
        } else {
            Severity::Warning
        }
    }

    /// Returns true if the incident contains a drop in all searches.
    pub(super) fn is_in_all_searches(&self) -> bool {
        (self.measures.iter()).any(|it| *it.slice == *Settings::ALL_SEARCHES)
    }

    /// Adds part and class of another drop, or of the share of another worker. Those of a drop in all searches
    /// hold.
    pub(super) fn add_drop(&mut self, part: Part, class: DropClass, is_in_all_searches: bool) {
        let (part, class) = match (self.is_in_all_searches(), is_in_all_searches) {
            (true, false) => return,
            (false, true) => (part, class),
            (true, true) | (false, false) => (self.part.min(part), self.class.min(class)),
        };
        (self.part, self.class) = (part, class);
    }

    /// Title by subject and class, without the size: `V5 got worse`.
    pub fn title(&self) -> String {
        let affected = self.affected();
        match (self.subject(), self.class) {
            (Subject::Ranking | Subject::Users, DropClass::MoreUnjudged) => {
                let shows = if self.variant.is_empty() {
                    "show"
                } else {
                    "shows"
                };
                format!("{affected} {shows} more results that are not judged")
            }
            (Subject::Answer, _) | (_, DropClass::Worse | DropClass::Undecided) => {
                format!("{affected} got worse")
            }
        }
    }

    /// Affected system: the variant, or its answers.
    pub fn affected(&self) -> String {
        let variant = match &*self.variant {
            "" => "Searches without a variant",
            variant => variant,
        };
        match self.subject() {
            Subject::Answer => format!("Answers of {variant}"),
            Subject::Ranking | Subject::Users => variant.to_owned(),
        }
    }

    /// Subject: the ranking, if one of its measures fell, else the answers, else the behaviour of
    /// users.
    pub fn subject(&self) -> Subject {
        let subjects = self
            .measures
            .iter()
            .filter_map(|it| Subject::of(&it.measure));
        let has = |subject| subjects.clone().any(|it| it == subject);
        let of_answers = [Subject::Ranking, Subject::Answer];
        of_answers
            .into_iter()
            .find(|it| has(*it))
            .unwrap_or(Subject::Users)
    }

    /// Queries that lost most now, by the lower bound of the loss. A query has at least three
    /// searches.
    pub fn largest_losses(&self) -> Vec<&IncidentQuery> {
        let lost = self
            .queries
            .iter()
            .filter(|it| it.losses.searches >= MIN_SEARCHES);
        let lost = lost.filter_map(|it| Some((it.loss()?.lower, it)));
        let mut lost: Vec<(f64, &IncidentQuery)> = lost
            .filter(|(_, it)| it.losses.mean() > Some(0.0))
            .collect();
        lost.sort_by(|(a, one), (b, other)| {
            b.total_cmp(a).then_with(|| one.query.cmp(&other.query))
        });
        lost.into_iter().map(|(_, it)| it).collect()
    }

    /// Returns true if the searches after a marked deployment are worse than the reference: the
    /// deployment repaired nothing. `None` below 30 searches.
    pub fn continues_after(&self, mark: &DeploymentMark) -> Option<bool> {
        if mark.losses.searches < BLOCK_SEARCHES {
            return None;
        }
        let tolerance = self.measures.first().map_or(0.0, |it| it.tolerance);
        let loss = mark.losses.interval()?;
        Some(loss.lower > tolerance)
    }

    /// Returns true if numbers and lengths of a record of another worker are possible.
    pub(in crate::engine) fn is_possible(&self, max_name: usize, max_query: usize) -> bool {
        let is_version = |it: &Option<Box<str>>| it.as_ref().is_none_or(|it| it.len() <= max_name);
        let is_measure = |it: &IncidentMeasure| {
            let names = [&it.measure, &it.slice, &it.value];
            let sums = [it.before, it.at_alarm];
            let blocks = it.blocks.iter().chain(it.until_recovery.iter().flatten());
            names.into_iter().all(|it| it.len() <= max_name)
                && sums.iter().chain(blocks).all(Losses::is_possible)
                && it.recovery.is_possible()
                && (0.0..=1.0).contains(&it.tolerance)
                && (-1.0..=1.0).contains(&it.loss_at_alarm)
                && it.last <= self.last
        };
        let is_query = |it: &IncidentQuery| {
            it.query.len() <= max_query
                && it.losses.is_possible()
                && (0.0..=f64::from(it.before_scores) + 1.0).contains(&it.before_sum)
        };
        self.variant.len() <= max_name
            && !self.measures.is_empty()
            && self.measures.len() <= MAX_MEASURES
            && self.queries.len() <= MAX_QUERIES
            && self.deployments.len() <= MAX_MARKS
            && self.measures.iter().all(is_measure)
            && self.queries.iter().all(is_query)
            && (self.deployments.iter())
                .all(|it| is_version(&it.deployed.version) && it.losses.is_possible())
            && self.ended.as_ref().is_none_or(|it| is_version(&it.after))
            && (self.acknowledged.as_ref()).is_none_or(|it| is_version(&it.by))
            && self.notes.len() <= Note::MAX_NUMBER
            && self.notes.is_sorted()
            && (self.notes.iter()).all(|it| is_version(&it.by) && it.text.len() <= Note::MAX_BYTES)
    }

    /// Returns true if the incident contains a measure, a slice and its value.
    pub fn has(&self, name: (&str, &str, &str)) -> bool {
        self.measures.iter().any(|it| it.name() == name)
    }

    /// Position of a measure; the number of all without it.
    pub(super) fn place_of(&self, name: (&str, &str, &str)) -> usize {
        let known = self.measures.iter().position(|it| it.name() == name);
        known.unwrap_or(self.measures.len())
    }

    /// Marks a deployment by its time: one during the incident, or the last one before the beginning. It can be
    /// reported after searches that are later than it.
    pub(super) fn deployed(&mut self, deployed: Deployed) {
        if deployed.at.0 > self.started.at {
            return self.mark(DeploymentMark::during(deployed));
        }
        let known = self.deployment_before().map(|it| it.at);
        if known <= Some(deployed.at) {
            self.deployments.retain(|it| it.is_during);
            self.mark(DeploymentMark::before(deployed));
        }
    }

    fn mark(&mut self, mark: DeploymentMark) {
        let is_known = |it: &DeploymentMark| it.deployed == mark.deployed;
        if self.deployments.iter().any(is_known) || self.deployments.len() >= MAX_MARKS {
            return;
        }
        self.deployments.push(mark);
        self.deployments.sort_by_key(|it| it.deployed.at);
    }

    pub(super) fn observe(&mut self, ts: EventTime, losses: &[SearchLoss]) {
        self.last = self.last.max(ts.0);
        for of in losses {
            if let Some(measure) = self.measures.get_mut(of.place) {
                measure.add_to_recovery(ts, of.loss, of.expected);
            }
        }
        let is_recovering = self.recovering_since().is_some();
        for measure in &mut self.measures {
            let frozen = measure.blocks_until_recovery();
            measure.until_recovery = is_recovering.then_some(frozen);
        }
        for of in losses {
            if let Some(measure) = self.measures.get_mut(of.place) {
                measure.add_to_blocks(ts, of.loss);
                measure.compared = ComparedQueries::Known;
                measure.last = measure.last.max(ts.0);
            }
        }
        if let Some(primary) = losses.iter().find(|it| it.place == 0) {
            let mut marks = self.deployments.iter_mut().rev();
            if let Some(mark) = marks.find(|it| it.deployed.at <= ts && it.is_during) {
                mark.losses.add(primary.loss);
            }
        }
    }

    /// Keeps an acknowledgement. The first one stays.
    pub(super) fn acknowledge(&mut self, given: Option<&Acknowledged>) {
        let all = self.acknowledged.take().into_iter().chain(given.cloned());
        self.acknowledged = all.min();
    }

    /// Adds notes that are not known, in the order of their times.
    pub(super) fn add_notes(&mut self, notes: &[Note]) {
        for note in notes {
            if let Err(place) = self.notes.binary_search(note)
                && place < Note::MAX_NUMBER
            {
                self.notes.insert(place, note.clone());
                self.notes.truncate(Note::MAX_NUMBER);
            }
        }
    }

    pub(super) fn end(&mut self, mut ending: Ending) {
        if ending.by == EndReason::Recovered && ending.after.is_none() {
            let marks = self.deployments.iter().rev();
            let mut during = marks.filter(|it| it.is_during && it.deployed.at <= ending.at);
            ending.after = during.next().and_then(|it| it.deployed.version.clone());
        }
        self.ended = Some(ending);
    }

    /// Recovery of the primary measure, if no other measure shows a loss that a recovery excludes. A measure
    /// without new searches for a day, such as one of a slice that is no longer searched, shows none, nor does one
    /// whose queries are judged differently: the first of the others stands for a primary one. `parts` is the number
    /// of shares that were merged.
    pub(super) fn recovery(&self, parts: u64) -> Option<Ending> {
        let is_searched = |it: &&IncidentMeasure| {
            let last = it.last.max(self.alarmed_at.0);
            it.compared != ComparedQueries::Rejudged
                && self.last.saturating_sub(last) <= EXPIRED_AFTER.0
        };
        let mut searched = self.measures.iter().filter(is_searched);
        let primary = searched.next()?;
        let since = primary.recovery.recovered_since(primary.tolerance, parts)?;
        let shows_loss = |it: &IncidentMeasure| {
            let excluded = Recovery::excluded_loss(it.tolerance, it.loss_at_alarm);
            let loss = it.loss_of_blocks(it.blocks);
            loss.is_some_and(|loss| loss.lower > excluded)
        };
        if searched.any(shows_loss) {
            return None;
        }
        Some(Ending::new(EndReason::Recovered, EventTime(since)))
    }

    /// Returns true if any compared query of the primary measure is judged as before.
    pub(in crate::engine) fn is_known(&self) -> bool {
        (self.measures.first()).is_some_and(|it| it.compared == ComparedQueries::Known)
    }

    /// Returns true if a new gold set judges all compared queries of the primary measure differently.
    pub(super) fn is_rejudged(&self) -> bool {
        (self.measures.first()).is_some_and(|it| it.compared == ComparedQueries::Rejudged)
    }

    /// Takes the identity of another worker's record of the same incident, if its alarm was earlier.
    pub(super) fn take_identity(&mut self, other: &Self) {
        self.add_drop(other.part, other.class, other.is_in_all_searches());
        if (other.alarmed_at, other.id) < (self.alarmed_at, self.id) {
            self.id = other.id;
            self.started = other.started;
            self.alarmed_at = other.alarmed_at;
        }
        self.acknowledge(other.acknowledged.as_ref());
        self.add_notes(&other.notes);
        for mark in &other.deployments {
            self.mark(DeploymentMark {
                losses: Losses::default(),
                ..mark.clone()
            });
        }
    }

    /// Removes what is about current searches: the share of a worker that has ended.
    pub fn remove_current(&mut self) {
        self.queries.clear();
        for measure in &mut self.measures {
            measure.blocks = Default::default();
            measure.block = None;
            measure.recovery = Recovery::default();
            measure.until_recovery = None;
            measure.compared = ComparedQueries::None;
            measure.last = 0;
        }
    }

    pub(super) fn without_sums(&self) -> Self {
        let marks = self.deployments.iter().map(|it| DeploymentMark {
            losses: Losses::default(),
            ..it.clone()
        });
        Self {
            measures: Vec::new(),
            queries: Vec::new(),
            deployments: marks.collect(),
            ..self.clone()
        }
    }

    /// Adds the share of another worker. Of two alarms and of two ends, the earlier one holds, so the
    /// order of merging does not matter.
    pub fn merge(&mut self, other: &Self) {
        let ended = self.ended.take().into_iter().chain(other.ended.clone());
        self.ended = ended.min();
        let alarm = |it: &Self| {
            (
                it.alarmed_at,
                it.started.at,
                it.started.lower,
                it.started.upper,
            )
        };
        if alarm(other) < alarm(self) {
            self.started = other.started;
            self.alarmed_at = other.alarmed_at;
        }
        self.add_drop(other.part, other.class, other.is_in_all_searches());
        self.last = self.last.max(other.last);
        self.acknowledge(other.acknowledged.as_ref());
        self.add_notes(&other.notes);
        for theirs in &other.measures {
            match self
                .measures
                .iter_mut()
                .find(|it| it.name() == theirs.name())
            {
                Some(mine) => mine.merge(theirs),
                None => self.measures.push(theirs.clone()),
            }
        }
        for theirs in &other.queries {
            match self.queries.iter_mut().find(|it| it.query == theirs.query) {
                Some(mine) => mine.merge(theirs),
                None => self.queries.push(theirs.clone()),
            }
        }
        for theirs in &other.deployments {
            let mut marks = self.deployments.iter_mut();
            match marks.find(|it| it.deployed == theirs.deployed) {
                Some(mine) => {
                    mine.is_during |= theirs.is_during;
                    mine.losses.merge(&theirs.losses);
                }
                None => self.mark(theirs.clone()),
            }
        }
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.measures.len() * (size_of::<IncidentMeasure>() + 48)
            + self.queries.len() * (size_of::<IncidentQuery>() + 32)
            + self.deployments.len() * size_of::<DeploymentMark>()
            + (self
                .notes
                .iter()
                .map(|it| size_of::<Note>() + it.text.len()))
            .sum::<usize>()
    }
}

/// First eight bytes of the hash of variant, primary measure and minute of the beginning.
fn id_of(variant: &str, primary: &str, minute: i64) -> u64 {
    let hash = Sha256::digest(format!("{variant}\0{primary}\0{minute}"));
    let first = hash.iter().take(8);
    first.fold(0, |id, byte| id << 8 | u64::from(*byte))
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Deployed, Drop, EndReason, Incident, IncidentMeasure, SearchLoss, Severity};
    use crate::detection::{Beginning, DropClass, Losses, Part};
    use crate::engine::series::Series;
    use crate::engine::settings::MonitoredMeasure;
    use crate::time::EventTime;

    const MINUTE: i64 = 60_000;

    /// Losses of 60 searches.
    fn losses(loss: f64) -> Losses {
        let mut losses = Losses::default();
        (0..60).for_each(|_| losses.add(loss));
        losses
    }

    #[test]
    fn a_series_that_is_no_longer_searched_keeps_an_incident_open_for_a_day() {
        // The other series, or the primary one.
        for searched in [0, 1] {
            let mut incident = incident(&[
                ("all", Part::All, DropClass::Worse),
                ("topic", Part::All, DropClass::Worse),
            ]);
            for it in &mut incident.measures {
                (it.tolerance, it.loss_at_alarm, it.at_alarm) = (0.03, 0.4, losses(0.4));
            }
            let day = 24 * 60;
            let healthy = SearchLoss {
                place: searched,
                expected: 0.9,
                loss: 0.0,
            };
            for minute in 0..=day {
                incident.observe(EventTime(minute * MINUTE), &[healthy]);
                assert_eq!(incident.recovery(1), None, "minute {minute}");
            }
            incident.observe(EventTime((day + 1) * MINUTE), &[healthy]);
            let ended = incident.recovery(1).expect("it has recovered");
            assert_eq!((ended.by, ended.at), (EndReason::Recovered, EventTime(0)));
        }
    }

    #[test]
    fn a_deployment_that_is_reported_late_is_marked_by_its_time() {
        let mut incident = incident(&[("all", Part::All, DropClass::Worse)]);
        incident.started.at = 60 * MINUTE;
        let deployed = |minute: i64, version: &str| Deployed {
            at: EventTime(minute * MINUTE),
            version: Some(version.into()),
        };
        for (minute, version) in [(70, "3"), (50, "2"), (40, "1"), (60, "2.1")] {
            incident.deployed(deployed(minute, version));
        }
        let marks = incident.deployments.iter();
        let marks: Vec<_> = marks.map(|it| (&it.deployed, it.is_during)).collect();
        assert_eq!(
            marks,
            [(&deployed(60, "2.1"), false), (&deployed(70, "3"), true)]
        );
    }

    type Found = (&'static str, Part, DropClass);

    /// Incident of a drop of all searches at the time 0, without measures.
    pub(in crate::engine::incidents) fn incident_of(
        primary: &str,
        is_user_measure: bool,
        (part, class): (Part, DropClass),
    ) -> Incident {
        let drop = Drop {
            series: Series::at(0),
            watched: &MonitoredMeasure {
                index: 0,
                target: None,
                is_lower_better: false,
                is_user_measure,
                is_seasonal: is_user_measure,
            },
            beginning: Beginning {
                at: 0,
                lower: 0,
                upper: 0,
            },
            alarmed_at: EventTime(0),
            before: Losses::default(),
            at_alarm: Losses::default(),
            tolerance: 0.03,
            class,
            part,
            season: None,
        };
        Incident::new("V1".into(), &drop, primary)
    }

    /// Incident of a drop, to which others are added: slice, part and class.
    fn incident(drops: &[Found]) -> Incident {
        let mut made: Option<Incident> = None;
        for (slice, part, class) in drops {
            let incident = made.get_or_insert_with(|| incident_of("RR", false, (*part, *class)));
            if !incident.measures.is_empty() {
                incident.add_drop(*part, *class, *slice == "all");
            }
            incident.measures.push(IncidentMeasure {
                slice: (*slice).into(),
                ..IncidentMeasure::default()
            });
        }
        made.expect("a drop")
    }

    #[test]
    fn the_urgency_is_that_of_the_drop_in_all_searches() {
        use DropClass::{MoreUnjudged, Worse};
        let some = ("all", Part::Some, MoreUnjudged);
        let cases: [(&[Found], Severity); 5] = [
            // Clicks in all searches prove that they are worse.
            (&[some, ("all", Part::All, Worse)], Severity::Critical),
            (&[some, ("topic", Part::All, Worse)], Severity::Warning),
            (&[("topic", Part::All, Worse), some], Severity::Warning),
            (&[("topic", Part::All, Worse)], Severity::Warning),
            (&[("all", Part::All, Worse), some], Severity::Critical),
        ];
        for (drops, severity) in cases {
            assert_eq!(incident(drops).severity(), severity, "{drops:?}");
            // Two workers with one drop each agree.
            if let [one, other] = drops {
                let (one, other) = (incident(&[*one]), incident(&[*other]));
                for (mut mine, theirs) in [(one.clone(), &other), (other.clone(), &one)] {
                    mine.merge(theirs);
                    assert_eq!(mine.severity(), severity, "{drops:?}");
                }
            }
        }
    }
}
