//! A search that waits for feedback, what has been said about it, and what that amounts to.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::correlation::Level;
use crate::engine::join::hash;
use crate::engine::registry::{Label, Series};
use crate::event::Action;
use crate::gold::{GoldSet, QueryIndex};
use crate::measure::people::{Click, InSession, Rating, Reaction};
use crate::time::{EventTime, Millis};

/// A search that waits until its feedback window has passed.
#[derive(Clone, Debug)]
pub struct Pending {
    /// When its results were served.
    pub ts: EventTime,
    /// Its gold query, in the gold set of that time.
    pub gold: Option<(Arc<GoldSet>, QueryIndex)>,
    /// The system version that served it.
    pub variant: Label,
    /// The series that its scores belong to.
    pub series: Arc<[Series]>,
    /// How many of them, the first ones, are watched for regressions.
    pub watched: u16,
    /// Whether it was counted here; `false` for one that an earlier owner of the partition counted.
    pub fresh: bool,
    /// The session it belongs to, and what was searched, both hashed.
    pub in_session: Option<(u64, u64)>,
    /// Hashes of the served ids, in served order.
    pub documents: Box<[u64]>,
    /// Which team placed each result, where rankings were interleaved.
    pub teams: Option<Box<Teams>>,
    /// What each measure of the ranking scored, for the correlation with satisfaction.
    pub levels: Box<[Level]>,
    /// Its feedback, by the hash of the event's id. Most searches that wait have none.
    #[allow(
        clippy::box_collection,
        reason = "a million searches wait: an empty map would take three times the room of nothing"
    )]
    said: Option<Box<BTreeMap<u64, Said>>>,
}

/// Two or more rankings in one, as team-draft interleaving makes them.
#[derive(Clone, Debug)]
pub struct Teams {
    /// The experiment.
    pub experiment: Label,
    /// The team of each result, in served order; empty where it has none.
    pub of_results: Box<[Label]>,
}

/// What the join keeps of a feedback event.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    /// What happened.
    pub action: Action,
    /// The hash of the id of the result that it is about.
    pub object: Option<u64>,
    /// The position that the event states, from 1 on.
    pub(super) position: Option<u32>,
    /// When.
    pub(super) ts: EventTime,
    /// Whether it was received here for the first time.
    pub(super) fresh: bool,
    /// Whether an earlier owner of the partition has counted it for certain.
    pub(super) settled: bool,
}

impl Said {
    /// The rating that it is, if it is one.
    pub fn rating(&self) -> Option<Rating> {
        match self.action {
            Action::Rating { value, min, max } => Some(Rating { value, min, max }),
            _ => None,
        }
    }

    /// Whether it is a positive thumb or rating.
    pub(super) fn is_praise(&self) -> bool {
        matches!(self.action, Action::Thumbs { up: true })
            || self.rating().is_some_and(|rating| rating.is_positive())
    }

    /// Whether it says that people did something at its time. A dwell event is about the time
    /// before it, and comes whenever a page is left.
    pub(super) fn is_act(&self) -> bool {
        !matches!(self.action, Action::Dwell { .. })
    }
}

/// Everything that people did with a search: what [`Reaction`] borrows from.
#[derive(Clone, Debug, Default)]
pub struct Reacted {
    clicks: Vec<Click>,
    ratings: Vec<Rating>,
    thumbs: [u32; 2],
    conversions: u32,
    session: Option<InSession>,
    /// Clicks on results that were not served.
    pub unserved_clicks: u64,
    /// Grades given in production, with the hashes of the documents they were given to.
    pub judgements: Vec<(u64, f64)>,
}

impl Reacted {
    /// What measures look at: that of a search with `results` results, where clicks weigh as much as
    /// `click_weights` says.
    pub fn reaction<'a>(&'a self, results: usize, click_weights: &'a [f64]) -> Reaction<'a> {
        Reaction {
            results,
            clicks: &self.clicks,
            conversions: self.conversions,
            thumbs_up: self.thumbs[1],
            thumbs_down: self.thumbs[0],
            ratings: &self.ratings,
            session: self.session,
            click_weights,
        }
    }

    /// What was said of a session as a whole: nothing but an opinion.
    pub fn opinion(said: &Said) -> Self {
        let mut reacted = Self::default();
        reacted.opine(said);
        reacted
    }

    fn opine(&mut self, said: &Said) {
        if let Action::Thumbs { up } = said.action {
            self.thumbs[usize::from(up)] += 1;
        }
        self.ratings.extend(said.rating());
    }
}

impl Pending {
    /// A search that nobody has reacted to yet.
    pub fn new<'a>(
        ts: EventTime,
        variant: Label,
        series: &[Series],
        fresh: bool,
        in_session: Option<(u64, u64)>,
        served: impl Iterator<Item = &'a str>,
    ) -> Self {
        Self {
            ts,
            gold: None,
            variant,
            series: series.into(),
            watched: 0,
            fresh,
            in_session,
            documents: served.map(hash).collect(),
            teams: None,
            levels: Box::default(),
            said: None,
        }
    }

    /// What was said about it, in no particular order.
    pub(super) fn said(&self) -> impl Iterator<Item = &Said> {
        self.said.iter().flat_map(|said| said.values())
    }

    /// How many events were taken in.
    pub(super) fn heard(&self) -> usize {
        self.said.as_ref().map_or(0, |said| said.len())
    }

    /// Takes feedback in; `false` when it was taken in before.
    pub(super) fn hear(&mut self, event: u64, said: &Said) -> bool {
        let heard = self.said.get_or_insert_default();
        if heard.contains_key(&event) {
            return false;
        }
        heard.insert(event, *said);
        true
    }

    /// The place among the results, from 0 on, of the one that feedback is about; `None` when it
    /// was not served, or when the event does not tell.
    fn place_of(&self, said: &Said) -> Option<usize> {
        let stated = said.position.and_then(|it| usize::try_from(it).ok());
        let stated = stated.and_then(|position| position.checked_sub(1));
        let stated = stated.filter(|place| *place < self.documents.len());
        let Some(object) = said.object else {
            return stated;
        };
        // A document may stand at several places: only the event knows at which it was clicked.
        stated
            .filter(|place| self.documents[*place] == object)
            .or_else(|| self.documents.iter().position(|served| *served == object))
    }

    /// Hashes of the documents that were clicked until `end`.
    pub(super) fn clicked_until(&self, end: EventTime) -> impl Iterator<Item = u64> {
        self.said()
            .filter(move |said| matches!(said.action, Action::Click) && said.ts <= end)
            .filter_map(|said| self.documents.get(self.place_of(said)?).copied())
    }

    /// Whether it is a search of a session for this, by its hash.
    pub(super) fn asks(&self, query: u64) -> bool {
        self.in_session.is_some_and(|(_, asked)| asked == query)
    }

    /// Whether users said that they searched again in other words.
    pub(super) fn is_said_to_be_reformulated(&self) -> bool {
        self.said()
            .any(|said| matches!(said.action, Action::Reformulation))
    }

    /// Adds up what was said. `session` is what its session tells, and `next` the first thing that
    /// people did in it after a given time.
    pub(super) fn react(
        &self,
        end: EventTime,
        session: Option<InSession>,
        next: impl Fn(EventTime) -> Option<EventTime>,
    ) -> Reacted {
        let mut reacted = Reacted {
            session,
            ..Reacted::default()
        };
        // Clocks differ: what comes after a search cannot have been before it.
        let mut clicks: Vec<(EventTime, usize)> = Vec::new();
        for said in self.said() {
            match said.action {
                Action::Click => match self.place_of(said) {
                    Some(place) => clicks.push((said.ts.max(self.ts), place)),
                    None => reacted.unserved_clicks += 1,
                },
                Action::Conversion => reacted.conversions += 1,
                Action::Thumbs { .. } | Action::Rating { .. } => reacted.opine(said),
                Action::Judgment { grade } => {
                    reacted
                        .judgements
                        .extend(said.object.map(|object| (object, grade)));
                }
                Action::Impression
                | Action::Dwell { .. }
                | Action::Reformulation
                | Action::Comment
                | Action::Custom => {}
            }
        }
        clicks.sort_unstable();
        let stated = self.stated_dwells(&clicks);
        for &(at, place) in &clicks {
            // Where nothing followed, the page was looked at for as long as anybody watched.
            let watched = || {
                session.map(|_| {
                    let left = next(at).filter(|next| *next <= end).unwrap_or(end);
                    seconds(left.since(at))
                })
            };
            reacted.clicks.push(Click {
                position: u32::try_from(place + 1).unwrap_or(u32::MAX),
                after: seconds(at.since(self.ts)),
                dwell: stated.get(&place).copied().or_else(watched),
            });
        }
        reacted
    }

    /// By place, the longest dwell time in seconds that an event states. One that does not say
    /// which result it is about is about the last one clicked before it.
    fn stated_dwells(&self, clicks: &[(EventTime, usize)]) -> BTreeMap<usize, f64> {
        let mut dwells = BTreeMap::new();
        for said in self.said() {
            let Action::Dwell { dwell_ms } = said.action else {
                continue;
            };
            let place = if said.object.is_none() && said.position.is_none() {
                let before = clicks.partition_point(|(at, _)| *at <= said.ts);
                before.checked_sub(1).map(|last| clicks[last].1)
            } else {
                self.place_of(said)
            };
            if let Some(place) = place {
                let longest = dwells.entry(place).or_insert(0.0_f64);
                *longest = longest.max(dwell_ms / 1e3);
            }
        }
        dwells
    }
}

/// A span in seconds; 0 for a negative one.
pub(super) fn seconds(span: Millis) -> f64 {
    std::time::Duration::from_millis(u64::try_from(span.0).unwrap_or(0)).as_secs_f64()
}
