//! Registry of series: dense numbers for label values and for their combinations.
//!
//! All workers of a process share the numbers, so their tables can be added index by index. Names
//! are looked up only at exposition. The registry also limits cardinality: beyond the limits a
//! value becomes `__other__`. Text from events becomes a metric label only through this module.

use std::cmp;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use dashmap::DashMap;
use rustc_hash::FxBuildHasher;

use crate::engine::family::{self, Family, Source, Table};
use crate::engine::retirement::{Retired, Retirements};
use crate::engine::series::{Dimension, Label, Labels, MAX_KEYS, Series, key};
use crate::engine::settings::Settings;
use crate::event::Kind;
use crate::time::{EventTime, WallTime};

/// Series assigned to a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Series that counts the sample.
    pub series: Series,
    /// True if the series is an overflow series (`__other__`), because the table is full or a label
    /// has too many values.
    pub is_overflow: bool,
}

/// Dense numbering of keys, up to a limit. The limit also bounds the cost of hash
/// collisions.
struct Numbering<K> {
    numbers: DashMap<K, u32, FxBuildHasher>,
    keys: RwLock<Vec<K>>,
    /// Numbers of retired keys, to be given out again.
    free: Mutex<Vec<u32>>,
    /// Number of keys.
    used: AtomicUsize,
    limit: usize,
}

impl<K: Clone + Eq + std::hash::Hash> Numbering<K> {
    fn new(limit: usize, reserved: impl IntoIterator<Item = K>) -> Self {
        let numbering = Self {
            numbers: DashMap::default(),
            keys: RwLock::new(Vec::new()),
            free: Mutex::default(),
            used: AtomicUsize::new(0),
            limit: usize::MAX,
        };
        for key in reserved {
            numbering.admit(&key, 0);
        }
        Self { limit, ..numbering }
    }

    /// Returns the number of `key`. A new key gets the next number, or `None` if at most
    /// `keep_free` numbers are left.
    fn admit(&self, key: &K, keep_free: usize) -> Option<u32> {
        // Without a lock, because a full table is asked for every event beyond its limit.
        if !self.has_room(keep_free) {
            return self.numbers.get(key).map(|number| *number);
        }
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = self.numbers.get(key) {
            return Some(*number);
        }
        if !self.has_room(keep_free) {
            return None;
        }
        let free = self
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let number = if let Some(number) = free {
            keys[number as usize] = key.clone();
            number
        } else {
            let number = u32::try_from(keys.len()).ok()?;
            keys.push(key.clone());
            number
        };
        self.numbers.insert(key.clone(), number);
        self.used.fetch_add(1, Ordering::Relaxed);
        Some(number)
    }

    /// Removes the keys for which `is_retired` returns true. Until they are [freed](Self::free),
    /// their numbers stand for `placeholder`, which keeps its own number. Returns the numbers.
    fn retire(&self, is_retired: impl Fn(u32, &K) -> bool, placeholder: &K) -> Vec<u32> {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        let mut retired = Vec::new();
        for (number, key) in (0..).zip(keys.iter_mut()) {
            let is_own = |_: &K, known: &u32| *known == number;
            if is_retired(number, key) && self.numbers.remove_if(key, is_own).is_some() {
                key.clone_from(placeholder);
                retired.push(number);
            }
        }
        self.used.fetch_sub(retired.len(), Ordering::Relaxed);
        retired
    }

    /// Gives out retired numbers again.
    fn free(&self, numbers: impl IntoIterator<Item = u32>) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(numbers);
    }

    fn has_room(&self, keep_free: usize) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        used.saturating_add(keep_free) < self.limit
    }

    fn len(&self) -> usize {
        self.keys
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    fn keys(&self) -> Vec<K> {
        self.keys
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Label values and series of a process.
pub struct Registry {
    labels: [Numbering<Box<str>>; Dimension::ALL.len()],
    /// By position of the family in the catalogue. Only owners of a table have entries.
    series: [Option<Numbering<Labels>>; family::ALL.len()],
    pub(super) retirements: Retirements,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Registry").finish_non_exhaustive()
    }
}

/// Returns true if `value` is [`Label::OTHER_NAME`], with any number of further underscores at its beginning.
fn is_overflow_name(value: &str) -> bool {
    let rest = value.strip_suffix(Label::OTHER_NAME);
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte == b'_'))
}

impl Registry {
    /// Creates an empty registry with the limits of `settings`. A series that exposes several
    /// samples in a family, for example one for each window or bucket, counts that many times
    /// towards the limit of the family.
    pub fn new(settings: &Settings) -> Self {
        let values = settings.values_per_label.saturating_add(2);
        let named = || [Label::OTHER_NAME, ""].map(Box::from);
        let numbering = |table: Table| {
            let room = settings.series_per_family / table.samples(settings);
            let reserved = reserved_series(table, settings.slices.len());
            Numbering::new(room.max(1), reserved)
        };
        Self {
            labels: std::array::from_fn(|_| Numbering::new(values, named())),
            series: std::array::from_fn(|index| {
                let table = Table::all().find(|table| table.index() == index);
                table.map(numbering)
            }),
            // Numbers in quarantine are used beyond the limit.
            retirements: Retirements::new(4 * values.min(1_000_000)),
        }
    }

    /// Returns the label for `value`, or [`Label::OTHER`] if the dimension is full or the value is
    /// longer than 256 bytes. A value that is called [`Label::OTHER_NAME`] gets one more underscore at its
    /// beginning, and so does every value that looks like the result.
    pub fn label(&self, dimension: Dimension, value: &str) -> Label {
        if is_overflow_name(value) {
            return self.exposed_label(dimension, &format!("_{value}"));
        }
        self.exposed_label(dimension, value)
    }

    /// Returns the label with the name `value` in an exposition or a checkpoint, as [`Self::label`]
    /// does for the value of an event.
    pub(super) fn exposed_label(&self, dimension: Dimension, value: &str) -> Label {
        let values = &self.labels[dimension as usize];
        if let Some(number) = values.numbers.get(value) {
            return Label(*number);
        }
        // Every scrape exposes every label value, so long values are replaced.
        if value.len() > 256 {
            return Label::OTHER;
        }
        values
            .admit(&Box::from(value), 0)
            .map_or(Label::OTHER, Label)
    }

    /// Returns the series of `table` with these `labels`.
    ///
    /// The last quarter of the limit is reserved for series of the whole, so that the slices of the
    /// first variants leave room for later variants. When only the reserve is left, the value of a
    /// slice becomes `__other__`; half of the reserve is for such series. When there is no room at
    /// all, and in tables without slices, every label becomes `__other__`.
    pub fn series(&self, table: Table, labels: Labels) -> Admission {
        let overflow = Admission {
            series: Series(0),
            is_overflow: true,
        };
        let Some(numbering) = &self.series[table.index()] else {
            return overflow;
        };
        let [variant, slice, ..] = labels;
        let is_slice = has_slices(table) && slice != Label::from_position(0);
        let reserve = if is_slice { numbering.limit / 4 } else { 0 };
        let known = numbering.numbers.get(&labels).map(|number| *number);
        if let Some(number) = known.or_else(|| numbering.admit(&labels, reserve)) {
            return Admission {
                series: Series(number),
                // A label of a full dimension.
                is_overflow: labels.contains(&Label::OTHER),
            };
        }
        if !is_slice {
            return overflow;
        }
        let number = numbering
            .admit(&key([variant, slice, Label::OTHER]), reserve / 2)
            .or_else(|| numbering.admit(&key([Label::OTHER, slice, Label::OTHER]), 0));
        Admission {
            series: Series(number.unwrap_or(0)),
            ..overflow
        }
    }

    /// Retires the variants without a search since `before`, with all their series. `now` is the
    /// event time.
    pub(super) fn retire_idle(&self, before: EventTime, now: EventTime) {
        for variant in self.retirements.idle(before, now) {
            let values = &self.labels[Dimension::Variant as usize];
            let retired = values.retire(|number, _| number == variant.0, &Box::from(""));
            if retired.is_empty() {
                // A number that is not in use.
                continue;
            }
            let mut series = Vec::new();
            for table in Table::all() {
                let place = table
                    .keys()
                    .position(|key| key.source == Source::Event(Dimension::Variant));
                if let Some(place) = place
                    && let Some(numbering) = &self.series[table.index()]
                {
                    let placeholder = [Label::OTHER; MAX_KEYS];
                    let retired = numbering.retire(|_, key| key[place] == variant, &placeholder);
                    series.extend(retired.into_iter().map(|number| (table, Series(number))));
                }
            }
            self.retirements.add(Retired { variant, series });
        }
    }

    /// Gives out the numbers of retired variants again whose quarantine is over.
    pub(super) fn free_retired(&self, now: WallTime) {
        for Retired { variant, series } in self.retirements.released(now) {
            self.labels[Dimension::Variant as usize].free([variant.0]);
            for (table, Series(number)) in series {
                if let Some(numbering) = &self.series[table.index()] {
                    numbering.free([number]);
                }
            }
        }
    }

    /// Order of two label values by their texts. It is the same in every process, unlike that of their
    /// numbers.
    pub(super) fn compare(&self, dimension: Dimension, one: Label, other: Label) -> cmp::Ordering {
        let keys = self.labels[dimension as usize].keys.read();
        let keys = keys.unwrap_or_else(PoisonError::into_inner);
        keys.get(one.index()).cmp(&keys.get(other.index()))
    }

    /// Values of `dimension`, by number.
    pub fn values(&self, dimension: Dimension) -> Vec<Box<str>> {
        self.labels[dimension as usize].keys()
    }

    /// Number of series of each table, by position of its owner in the catalogue.
    pub(super) fn series_counts(&self) -> Vec<usize> {
        let tables = self.series.iter();
        tables
            .map(|table| table.as_ref().map_or(0, Numbering::len))
            .collect()
    }

    /// Labels of all series of `family`, by number.
    pub fn series_labels(&self, family: &Family) -> Vec<Labels> {
        let numbering = family
            .table()
            .and_then(|table| self.series[table.index()].as_ref());
        numbering.map(Numbering::keys).unwrap_or_default()
    }
}

/// Returns true if a part of the key is a slice: variant, slice, value.
fn has_slices(table: Table) -> bool {
    table.keys().any(|label| label.source == Source::Slice)
}

/// Series that exist from the start. A table whose labels have fixed values has all its series. In
/// any other table, the first series counts the samples beyond the limit.
fn reserved_series(table: Table, slices: usize) -> Vec<Labels> {
    if has_slices(table) {
        // One for each slice, so that no search is counted twice in a slice.
        let all = [Label::OTHER, Label::from_position(0), Label::EMPTY];
        let of_slice = |slice| [Label::OTHER, Label::from_position(slice), Label::OTHER];
        let of_slices = (1..=slices).map(of_slice);
        return std::iter::once(all).chain(of_slices).map(key).collect();
    }
    if table.can_overflow() {
        return vec![[Label::OTHER; MAX_KEYS]];
    }
    let mut keys = vec![[Label::EMPTY; MAX_KEYS]];
    for (index, label) in table.keys().enumerate() {
        let values = match label.source {
            Source::OneOf(values) => values.len(),
            Source::Topic => Kind::ALL.len(),
            Source::Event(_) | Source::Slice | Source::Component | Source::Exposition => 1,
        };
        let with_values = keys.iter().flat_map(|key| {
            (0..values).map(move |value| {
                let mut key = *key;
                key[index] = Label::from_position(value);
                key
            })
        });
        keys = with_values.collect();
    }
    keys
}
