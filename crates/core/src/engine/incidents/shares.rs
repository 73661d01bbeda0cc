//! Shares of several workers in their incidents: adoption, sharing and merging.

use super::measure::IncidentMeasure;
use super::record::Incident;
use super::reference::QueryReferences;
use super::tracked::Tracked;
use super::{Incidents, MAX_OPEN, is_near};
use crate::detection::{Losses, Season, minute_of};
use crate::engine::fleet::SharedIncident;
use crate::engine::series::{Label, Series};

/// Maximum number of ended incidents that a worker shares.
const MAX_SHARED_ENDED: usize = 20;

impl Incidents {
    /// Open incidents of other workers that this one has no share in, and the identity of those that
    /// both opened: the one with the earlier alarm. Returns the drops to open.
    pub(in crate::engine) fn adopt(&mut self, others: &[&Incident]) -> Vec<Incident> {
        let mut missing: Vec<Incident> = Vec::new();
        // The earliest alarm gives its identity to all.
        let mut open: Vec<&&Incident> = others.iter().filter(|it| it.ended.is_none()).collect();
        open.sort_by_key(|it| (it.alarmed_at, it.id));
        for theirs in open {
            if self.ended.iter().any(|it| it.id == theirs.id) {
                continue;
            }
            let same = self
                .open
                .iter_mut()
                .find(|it| is_same(&it.incident, theirs));
            match same {
                Some(mine) => {
                    mine.incident.take_identity(theirs);
                    let lacks = theirs
                        .measures
                        .iter()
                        .any(|it| !mine.incident.has(it.name()));
                    // Otherwise the other worker takes this identity first, and there would be two incidents.
                    if lacks && mine.incident.id == theirs.id {
                        missing.push((*theirs).clone());
                    }
                }
                // Two workers that opened it at once have not agreed on an identity yet.
                None if missing
                    .iter()
                    .any(|it| it.id != theirs.id && is_same(it, theirs)) => {}
                None => missing.push((*theirs).clone()),
            }
        }
        missing
    }

    /// Notes the incidents of other workers that this one does not follow yet.
    pub(in crate::engine) fn keep_awaited(&mut self, missing: Vec<Incident>) {
        let open = &self.open;
        let is_followed = |it: &Incident| open.iter().any(|open| open.incident.id == it.id);
        self.awaited = missing.into_iter().filter(|it| !is_followed(it)).collect();
    }

    /// Adds a measure and a slice of another worker's incident.
    pub(in crate::engine) fn follow(
        &mut self,
        theirs: &Incident,
        (member, series): (&IncidentMeasure, Series),
        (label, column, gold): (Label, usize, &str),
        (tolerance, before, season): (f64, Losses, Option<&Season>),
        references: impl FnOnce(i64) -> QueryReferences,
    ) {
        let known = self.open.iter().position(|it| it.incident.id == theirs.id);
        let place = match known {
            Some(place) => place,
            None if self.open.len() >= MAX_OPEN => return,
            None => {
                self.open.push(Tracked {
                    incident: theirs.without_sums(),
                    variant: label,
                    gold: Box::default(),
                    columns: Vec::new(),
                });
                self.open.len() - 1
            }
        };
        let tracked = &mut self.open[place];
        if tracked.incident.has(member.name()) {
            return;
        }
        if tracked.gold.is_empty() {
            tracked.gold = gold.into();
        }
        let member = IncidentMeasure {
            tolerance: member.tolerance.max(tolerance),
            before,
            ..member.without_sums()
        };
        let begin = minute_of(theirs.started.at);
        tracked.add(member, (series, column), (begin, season), references);
    }

    /// Incidents to share: the open ones with their references, and the last that ended. `measure` has the
    /// name of a column.
    pub(in crate::engine) fn to_share(
        &self,
        measure: impl Fn(usize) -> Option<Box<str>>,
    ) -> Vec<SharedIncident> {
        let open = self.open.iter().map(|it| SharedIncident {
            gold: it.gold.clone(),
            incident: it.summed(),
            references: (it.columns.iter())
                .filter_map(|of| Some((measure(of.column)?, of.queries.to_share())))
                .collect(),
        });
        let ended = self.ended.iter().rev().take(MAX_SHARED_ENDED);
        let ended = ended.map(|it| SharedIncident {
            gold: Box::default(),
            incident: it.clone(),
            references: Vec::new(),
        });
        open.chain(ended).collect()
    }

    /// Adds the shares of workers of other processes, for exposition.
    pub(in crate::engine) fn add_shares<'a>(&mut self, shares: impl Iterator<Item = &'a Incident>) {
        let mut others = Self::default();
        for theirs in shares {
            if theirs.ended.is_some() {
                others.keep(theirs.clone());
                continue;
            }
            match others
                .open
                .iter_mut()
                .find(|it| it.incident.id == theirs.id)
            {
                Some(known) => known.incident.merge(theirs),
                None => others.open.push(Tracked {
                    incident: theirs.clone(),
                    variant: Label::OTHER,
                    gold: Box::default(),
                    columns: Vec::new(),
                }),
            }
        }
        // The end that one worker has published holds for all.
        let ended = &others.ended;
        let (open, over): (Vec<Tracked>, Vec<Tracked>) = std::mem::take(&mut others.open)
            .into_iter()
            .partition(|it| !ended.iter().any(|ended| ended.id == it.incident.id));
        others.open = open;
        for it in over {
            others.keep(it.incident);
        }
        self.merge(&others);
    }

    /// Adds the shares of another worker. An incident that one of them has ended is ended.
    pub(in crate::engine) fn merge(&mut self, other: &Self) {
        for theirs in &other.open {
            let id = theirs.incident.id;
            if let Some(ended) = self.ended.iter_mut().find(|it| it.id == id) {
                ended.merge(&theirs.incident);
            } else if let Some(mine) = self.open.iter_mut().find(|it| it.incident.id == id) {
                mine.merge(theirs);
            } else {
                self.open.push(theirs.clone());
            }
        }
        for theirs in &other.ended {
            let open = self.open.iter().position(|it| it.incident.id == theirs.id);
            let mut ended = theirs.clone();
            if let Some(place) = open {
                ended.merge(&self.open.remove(place).incident);
            }
            self.keep(ended);
        }
        self.open
            .sort_by_key(|it| (it.incident.started.at, it.incident.id));
        let ended = self.ended.make_contiguous();
        ended.sort_by_key(|it| (it.ended.as_ref().map(|it| it.at), it.id));
        for (variant, theirs) in &other.ended_total {
            let mine = self.ended_total.entry(variant.clone()).or_default();
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine = (*mine).max(*theirs);
            }
        }
        for (variant, theirs) in &other.deployments {
            for it in theirs {
                self.deployed(variant, it.clone());
            }
        }
    }
}

/// Returns true if two records are of one incident. Two workers can estimate different beginnings of one
/// drop.
fn is_same(mine: &Incident, theirs: &Incident) -> bool {
    let is_near = || is_near(&mine.started, &theirs.started);
    let has_same = || theirs.measures.iter().any(|it| mine.has(it.name()));
    mine.id == theirs.id || mine.variant == theirs.variant && (is_near() || has_same())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detection::{DropClass, Part};
    use crate::engine::incidents::EndReason;
    use crate::engine::incidents::record::tests::incident_of;
    use crate::time::EventTime;

    #[test]
    fn an_incident_of_clicks_and_rankings_has_the_gold_set_of_the_rankings() {
        let theirs = incident_of("CTR", true, (Part::All, DropClass::Worse));
        let follow = |members: &[(usize, &str, &str)]| {
            let mut incidents = Incidents::default();
            for (column, measure, gold) in members {
                let member = IncidentMeasure {
                    measure: (*measure).into(),
                    ..IncidentMeasure::default()
                };
                incidents.follow(
                    &theirs,
                    (&member, Series::at(0)),
                    (Label::EMPTY, *column, *gold),
                    (0.03, Losses::default(), None),
                    |_| QueryReferences::default(),
                );
            }
            incidents
        };
        let (clicks, ranking) = ((0, "CTR", ""), (1, "P@1", "one"));
        let mut merged = follow(&[clicks]);
        merged.merge(&follow(&[ranking]));
        for mut incidents in [follow(&[clicks, ranking]), merged] {
            incidents.end_of_gold_sets(|gold| gold == "one", EventTime(1));
            let ended = incidents.iter().filter_map(|it| it.ended.as_ref());
            let reasons: Vec<EndReason> = ended.map(|it| it.by).collect();
            assert_eq!(reasons, [EndReason::Reset]);
        }
    }
}
