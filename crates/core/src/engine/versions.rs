//! Versions of the variants that searches state. A version that was not seen before is a deployment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::{EventTime, Millis};

/// Event time after which a version that returns is deployed again. Until then, two versions serve side
/// by side.
const RETURNS_AFTER: Millis = Millis(10 * 60_000);

/// Event time without a search of the current version, and number of searches of others meanwhile, after which a known
/// version is deployed again: a roll-back. Rare searches of a canary are no roll-back.
const ROLLED_BACK_AFTER: Millis = Millis(2 * 60_000);
const ROLLED_BACK_SEARCHES: u32 = 20;

/// Maximum number of variants, of versions of one, and of bytes of a version. Others are ignored.
const MAX_VARIANTS: usize = 256;
const MAX_VERSIONS: usize = 8;
const MAX_VERSION_BYTES: usize = 256;

/// Versions by name of the variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Versions(BTreeMap<Box<str>, OfVariant>);

/// Versions of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct OfVariant {
    /// Version that was deployed last.
    current: Box<str>,
    /// Event time of the last search, by version.
    last: BTreeMap<Box<str>, EventTime>,
    /// Searches of other versions since the last one of the current version.
    others: u32,
}

impl OfVariant {
    /// Removes the versions whose last search is the oldest, except for the current one.
    fn make_room(&mut self) {
        while self.last.len() > MAX_VERSIONS {
            let others = self.last.iter().filter(|(it, _)| **it != self.current);
            let oldest = others.min_by_key(|(_, last)| **last);
            let Some(oldest) = oldest.map(|(it, _)| it.clone()) else {
                break;
            };
            self.last.remove(&oldest);
        }
    }
}

impl Versions {
    /// Notes the version of a search. Returns the version before if the search shows a deployment: its
    /// version is neither the first one of the variant, nor in use, nor that of searches long before.
    pub(super) fn observe(
        &mut self,
        variant: &str,
        version: &str,
        ts: EventTime,
    ) -> Option<Box<str>> {
        if version.is_empty() || version.len() > MAX_VERSION_BYTES {
            return None;
        }
        let Some(known) = self.0.get_mut(variant) else {
            if self.0.len() < MAX_VARIANTS {
                let first = OfVariant {
                    current: version.into(),
                    last: [(version.into(), ts)].into(),
                    others: 0,
                };
                self.0.insert(variant.into(), first);
            }
            return None;
        };
        let is_current = *known.current == *version;
        known.others = if is_current {
            0
        } else {
            known.others.saturating_add(1)
        };
        let of_current = known.last.get(&known.current).copied();
        let is_gone = of_current.is_none_or(|last| ts.since(last) >= ROLLED_BACK_AFTER)
            && known.others >= ROLLED_BACK_SEARCHES;
        // A partition that is read later than others shows the versions of before.
        let is_long_before = of_current.is_some_and(|last| last.since(ts) >= RETURNS_AFTER);
        if let Some(last) = known.last.get_mut(version) {
            let passed = ts.since(*last);
            *last = ts.max(*last);
            if is_current || is_long_before || passed < RETURNS_AFTER && !is_gone {
                return None;
            }
        } else {
            known.last.insert(version.into(), ts);
            if is_long_before {
                known.make_room();
                return None;
            }
        }
        let before = std::mem::replace(&mut known.current, version.into());
        known.others = 0;
        known.make_room();
        Some(before)
    }

    /// Adds the versions that another engine saw.
    pub(super) fn merge(&mut self, other: &Self) {
        for (variant, theirs) in &other.0 {
            let Some(mine) = self.0.get_mut(variant) else {
                self.0.insert(variant.clone(), theirs.clone());
                continue;
            };
            if mine.last.get(&mine.current) < theirs.last.get(&theirs.current) {
                mine.current.clone_from(&theirs.current);
            }
            for (version, last) in &theirs.last {
                let known = mine.last.entry(version.clone()).or_insert(*last);
                *known = (*known).max(*last);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_searches_long_before_is_no_deployment() {
        let mut versions = Versions::default();
        let mut observe = |minute: i64, version: &str| {
            let before = versions.observe("V1", version, EventTime(minute * 60_000));
            before.map(String::from)
        };
        // Of two partitions with a backlog, one is read later than the other.
        assert_eq!(observe(60, "2"), None);
        assert_eq!(observe(5, "1"), None);
        assert_eq!(observe(30, "1"), None, "after a pause");
        for build in 0..20 {
            assert_eq!(observe(40, &format!("1.{build}")), None);
        }
        assert_eq!(observe(61, "2"), None);
        assert_eq!(observe(62, "3").as_deref(), Some("2"));
        let known = &versions.0["V1"];
        assert!(known.last.len() <= MAX_VERSIONS);
    }
}
