//! Counts of searches and of session feedback, from all records of their partition. This module is
//! independent of the rule by which records become late.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::opinion::{is_praise, opinion_of, scores_of_opinions};
use super::sums::Sums;
use super::{Click, Fate, Feedback, Log, Search, bit, count, real, text};
use crate::engine::brute_force::{EXPECTED_CLICKS, PROPENSITY_WEIGHTS};

impl Log {
    pub(super) fn count(&self, sums: &mut Sums) {
        for search in self.searches.iter().filter(|it| !it.is_late) {
            self.count_search(search, sums);
        }
        for opinion in self.feedback.iter().filter(|it| it.fate == Fate::OfSession) {
            self.count_opinion(opinion, sums);
        }
        self.count_interleaving(sums);
    }

    /// Counts sessions with interleaved rankings. A session ends with the second of a search that no other
    /// one of it follows within the window; a search without a session is one.
    fn count_interleaving(&self, sums: &mut Sums) {
        let mut open: BTreeMap<(&String, &str), BTreeMap<String, usize>> = BTreeMap::new();
        let mut searches: Vec<&Search> = self.searches.iter().filter(|it| !it.is_late).collect();
        searches.sort_by_key(|it| it.ts);
        for second in
            searches.chunk_by(|one, other| one.ts.div_euclid(1_000) == other.ts.div_euclid(1_000))
        {
            for search in second {
                let credit = self.credit(search);
                if credit.is_empty() {
                    continue;
                }
                let Some(session) = &search.session else {
                    sums.interleaving(&search.experiment, &credit);
                    continue;
                };
                let sum = open.entry((session, &search.experiment)).or_default();
                for (team, number) in credit {
                    *sum.entry(team).or_default() += number;
                }
            }
            let is_last = |it: &&&Search| it.session.is_some() && self.following(it).is_empty();
            for last in second.iter().filter(is_last) {
                let ended = open.extract_if(.., |(session, _), _| {
                    Some(*session) == last.session.as_ref()
                });
                for ((_, experiment), credit) in ended {
                    sums.interleaving(experiment, &credit);
                }
            }
        }
    }

    /// Number of distinct clicked results of each team of a search.
    fn credit(&self, search: &Search) -> BTreeMap<String, usize> {
        let teams = search.teams.iter().flatten();
        let mut credit: BTreeMap<String, usize> = teams.map(|team| (team.clone(), 0)).collect();
        let clicked: BTreeSet<&String> = self
            .clicks(search)
            .iter()
            .map(|click| &search.results[click.position - 1])
            .collect();
        for document in clicked {
            let last = search.results.iter().rposition(|it| it == document);
            if let Some(team) = last.and_then(|place| search.teams[place].as_ref()) {
                *credit.entry(team.clone()).or_default() += 1;
            }
        }
        credit
    }

    /// Feedback that belongs to a search, as far as it was known when the search was closed.
    fn reactions<'a>(&'a self, search: &'a Search) -> impl Iterator<Item = &'a Feedback> {
        self.feedback.iter().filter(|it| match it.fate {
            Fate::Joined { search: number, .. } => {
                std::ptr::eq(&raw const self.searches[number], search)
            }
            _ => false,
        })
    }

    /// Served clicks of a search, in order of time.
    fn clicks(&self, search: &Search) -> Vec<Click> {
        let of_type = |name| {
            self.reactions(search)
                .filter(move |it| it.event["type"] == name)
        };
        let mut clicks: Vec<Click> = of_type("click")
            .filter_map(|it| {
                Some(Click {
                    t: it.ts.max(search.ts),
                    position: search.position(&it.event)?,
                    dwell_ms: None,
                })
            })
            .collect();
        clicks.sort_by_key(|click| (click.t, click.position));
        // A dwell event refers to a result, and so to every click on it.
        let stated: Vec<(usize, f64)> = of_type("dwell")
            .filter_map(|it| {
                let names_result = ["position", "object_id"]
                    .iter()
                    .any(|name| it.event.get(name).is_some());
                let position = if names_result {
                    search.position(&it.event)?
                } else {
                    clicks.iter().rfind(|click| click.t <= it.ts)?.position
                };
                Some((position, it.event["dwell_ms"].as_f64()?))
            })
            .collect();
        for click in &mut clicks {
            let about_it = stated
                .iter()
                .filter(|(position, _)| *position == click.position);
            let longest = about_it
                .map(|(_, dwell_ms)| *dwell_ms)
                .max_by(f64::total_cmp);
            click.dwell_ms = longest.or_else(|| self.dwell_in_session(search, click.t));
        }
        clicks
    }

    /// Milliseconds until another act in the session of a search.
    fn dwell_in_session(&self, search: &Search, t: i64) -> Option<f64> {
        let session = search.session.as_ref()?;
        let end = search.ts + self.window;
        let closing = self.closing(search.ts);
        let next = self.acts(session, closing).into_iter();
        let next = next.filter(|act| *act > t).min().unwrap_or(end);
        Some(real(next.min(end) - t))
    }

    /// Times of user acts in a session, as known before the end of record `until`.
    fn acts(&self, session: &str, until: usize) -> Vec<i64> {
        let is_of = |search: &Search| search.session.as_deref() == Some(session);
        let searched = self.searches.iter().filter(|it| is_of(it) && !it.is_late);
        let searched = searched.map(|it| (it.ts, it.arrived));
        let done = self.feedback.iter().filter_map(|it| {
            let (number, known) = match it.fate {
                Fate::Joined { search, known } => (search, known),
                Fate::Late { search } => search?,
                Fate::Orphaned | Fate::OfSession => return None,
            };
            let search = &self.searches[number];
            let is_act = it.event["type"] != "dwell" && is_of(search);
            // An act dated before its search counts as simultaneous with it, and the search is an
            // act already.
            let is_seen = self.is_open(it.ts, known) && it.ts >= search.ts;
            (is_act && is_seen).then_some((it.ts, known))
        });
        let acts = searched.chain(done);
        acts.filter(|(_, known)| *known <= until)
            .map(|(ts, _)| ts)
            .collect()
    }

    /// Searches of the session that follow a search within its window.
    fn following<'a>(&'a self, search: &'a Search) -> Vec<&'a Search> {
        let closing = self.closing(search.ts);
        let order = |it: &Search| (it.ts, it.id.clone());
        let mut following: Vec<&Search> = self
            .searches
            .iter()
            .filter(|it| {
                it.session == search.session
                    && order(it) > order(search)
                    && it.ts <= search.ts + self.window
                    && it.arrived <= closing
            })
            .collect();
        following.sort_by_key(|it| order(it));
        following
    }

    /// Documents clicked in a search until `end`, as known before the end of record `until`.
    fn clicked(&self, search: &Search, end: i64, until: usize) -> BTreeSet<String> {
        let known = |it: &&Feedback| match it.fate {
            Fate::Joined { known, .. } => {
                it.event["type"] == "click" && it.ts <= end && known <= until
            }
            _ => false,
        };
        let clicks = self.reactions(search).filter(known);
        let positions = clicks.filter_map(|it| search.position(&it.event));
        positions
            .map(|position| search.results[position - 1].clone())
            .collect()
    }

    /// Milliseconds until the session moved on to another query without a click in common.
    fn reformulated_after(&self, search: &Search) -> Option<i64> {
        let end = search.ts + self.window;
        let closing = self.closing(search.ts);
        let clicked = self.clicked(search, end, closing);
        let following = self.following(search);
        let next = following.iter().find(|it| {
            it.question != search.question && clicked.is_disjoint(&self.clicked(it, end, closing))
        });
        next.map(|next| next.ts - search.ts)
    }

    /// True if the session as a whole was praised while the window of a search was open.
    fn is_praised(&self, search: &Search) -> bool {
        let closing = self.closing(search.ts);
        let mut opinions = self.feedback.iter().filter(|it| it.fate == Fate::OfSession);
        opinions.any(|it| {
            Some(text(&it.event["session_id"])) == search.session
                && (search.ts..=search.ts + self.window).contains(&it.ts)
                && it.arrived <= closing
                && is_praise(&it.event)
        })
    }

    fn count_search(&self, search: &Search, sums: &mut Sums) {
        let clicks = self.clicks(search);
        let reactions: Vec<&Feedback> = self.reactions(search).collect();
        let of_type = |name: &str| -> Vec<&Value> {
            let events = reactions.iter().map(|it| &it.event);
            events.filter(|event| event["type"] == name).collect()
        };
        let shown = search.results.len();
        let served_well = |seconds: i64| {
            let enough = |dwell_ms: f64| dwell_ms >= real(seconds * 1_000);
            clicks
                .iter()
                .any(|click| click.dwell_ms.is_some_and(enough))
        };
        let positions: BTreeSet<usize> = clicks.iter().map(|click| click.position).collect();
        let is_converted = !of_type("conversion").is_empty();
        let is_liked = reactions.iter().any(|it| is_praise(&it.event));

        let mut scores: Vec<(&str, f64)> = Vec::new();
        if shown > 0 {
            let best = positions.first().copied();
            scores.push(("CTR", bit(best.is_some())));
            scores.push(("CTR@1", bit(positions.contains(&1))));
            scores.push(("CTR@3", bit(positions.range(..=3).next().is_some())));
            scores.push(("ClickRR", best.map_or(0.0, |best| 1.0 / count(best))));
            let reciprocals = clicks.iter().map(|click| 1.0 / count(click.position));
            let sum: f64 = reciprocals.sum();
            scores.push((
                "MeanClickRR",
                if clicks.is_empty() {
                    0.0
                } else {
                    sum / count(clicks.len())
                },
            ));
            let weights = positions.iter().map(|position| {
                let last = PROPENSITY_WEIGHTS.len() - 1;
                PROPENSITY_WEIGHTS[(position - 1).min(last)]
            });
            scores.push(("IPWClicks", weights.sum()));
            let is_abandoned = clicks.is_empty() && !is_converted && !is_liked;
            scores.push(("Abandoned", bit(is_abandoned)));
            scores.push(("SAT(dwell=2)", bit(served_well(2))));
            scores.push(("SAT", bit(served_well(30))));
        }
        scores.push(("ZeroResult", bit(shown == 0)));
        scores.push(("Converted", bit(is_converted)));
        if search.session.is_some() {
            let is_said = !of_type("reformulation").is_empty();
            let after = self.reformulated_after(search);
            for (name, within) in [("Reformulated(within=5)", 5_000), ("Reformulated", 60_000)] {
                let is_soon = after.is_some_and(|after| after <= within);
                scores.push((name, bit(is_said || is_soon)));
            }
            if self.following(search).is_empty() {
                let is_success =
                    served_well(30) || is_converted || is_liked || self.is_praised(search);
                scores.push(("SessionSuccess", bit(is_success)));
            }
        }
        let opinions: Vec<Value> = reactions.iter().map(|it| it.event.clone()).collect();
        scores.extend(scores_of_opinions(&opinions));
        let judged = search.judge();
        for (name, score) in scores.iter().chain(&judged) {
            sums.score(search, name, *score);
        }
        sums.search(search);

        let variant = [("variant", search.variant.as_str())];
        let expected = positions.range(..=EXPECTED_CLICKS.len()).count();
        sums.add("clicks_total", &variant, count(expected));
        let unserved = of_type("click").len() - clicks.len();
        sums.add("unserved_clicks_total", &variant, count(unserved));
        let expected = EXPECTED_CLICKS.iter().take(shown).sum();
        sums.add("expected_clicks_total", &variant, expected);
        if let Some(first) = clicks.first() {
            sums.first_click(&search.variant, real(first.t - search.ts) / 1e3);
        }
        for judgement in of_type("judgment") {
            sums.judgement(search, judgement);
        }

        // User satisfaction, compared with the gold set.
        let said: Vec<f64> = opinions.iter().filter_map(opinion_of).collect();
        let satisfaction = if !said.is_empty() {
            Some(said.iter().sum::<f64>() / count(said.len()))
        } else if is_converted || served_well(30) {
            Some(1.0)
        } else {
            (!clicks.is_empty()).then_some(0.0)
        };
        if let Some(satisfaction) = satisfaction {
            for (name, score) in judged {
                let pairs = sums.pairs.entry(name).or_default();
                pairs.push((thousandths(score), thousandths(satisfaction)));
            }
        }
    }

    fn count_opinion(&self, opinion: &Feedback, sums: &mut Sums) {
        let session = text(&opinion.event["session_id"]);
        let closing = self.closing(opinion.ts);
        let before = self.searches.iter().filter(|it| {
            it.session.as_ref() == Some(&session)
                && it.ts <= opinion.ts
                && self.belong(it.ts, opinion.ts)
                && it.arrived <= closing
        });
        let Some(search) = before.max_by_key(|it| (it.ts, &it.id)) else {
            sums.outcome("feedback", "orphaned");
            return;
        };
        sums.outcome("feedback", "joined");
        sums.joined(&opinion.event, &search.variant);
        for (name, score) in scores_of_opinions(std::slice::from_ref(&opinion.event)) {
            sums.score(search, name, score);
        }
    }
}

/// Rounded value. An empty sum is -0, which must equal 0.
fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() + 0.0
}
