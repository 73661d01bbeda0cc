//! Leaves of unknown records: their sources, as a mapping names them, and what their values look like.

use std::collections::{BTreeMap, BTreeSet};

use rankgauge_core::time::EventTime;
use serde_json::Value;

/// Maximum depth of objects that are entered.
const MAX_DEPTH: usize = 8;

/// Maximum number of leaves and lists of an event.
const MAX_LEAVES: usize = 400;

/// Maximum number of different values of a leaf that are counted.
const MAX_DISTINCT: usize = 5_000;

/// Event of an unknown record: its scalars and lists, by source.
#[derive(Debug, Default)]
pub(super) struct Unit {
    /// Number of its file or topic in the sample.
    pub(super) file: usize,
    /// Scalars as text.
    pub(super) leaves: BTreeMap<String, Leaf>,
    /// Lists that are not empty, and empty ones.
    pub(super) lists: BTreeMap<String, Vec<Value>>,
}

/// Scalar.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leaf {
    /// Text of the value.
    pub(super) text: String,
    /// Value, if it is a number, or a text that is one.
    pub(super) number: Option<f64>,
    /// True for a JSON text.
    pub(super) is_text: bool,
}

impl Leaf {
    fn new(value: &Value) -> Option<Self> {
        let (text, is_text) = match value {
            Value::String(text) if !text.is_empty() => (text.clone(), true),
            Value::Number(number) => (number.to_string(), false),
            Value::Bool(flag) => (flag.to_string(), false),
            _ => return None,
        };
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        Some(Self {
            text,
            number,
            is_text,
        })
    }
}

impl Unit {
    /// Adds the scalars and lists of a value below `prefix`. The first element of a list is entered, too.
    pub(super) fn add(&mut self, prefix: &str, value: &Value) {
        self.add_at(prefix, value, MAX_DEPTH, "");
    }

    /// Adds as [`Unit::add`], but not the list at `except`.
    pub(super) fn add_except(&mut self, prefix: &str, value: &Value, except: &str) {
        self.add_at(prefix, value, MAX_DEPTH, except);
    }

    fn add_at(&mut self, prefix: &str, value: &Value, depth: usize, except: &str) {
        if depth == 0 || self.leaves.len() + self.lists.len() >= MAX_LEAVES {
            return;
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    self.add_at(&format!("{prefix}/{name}"), member, depth - 1, except);
                }
            }
            Value::Array(elements) => {
                if prefix == except {
                    return;
                }
                if let Some(first) = elements.first() {
                    self.add_at(&format!("{prefix}/0"), first, depth - 1, except);
                }
                self.lists.insert(prefix.to_owned(), elements.clone());
            }
            scalar => {
                if let Some(leaf) = Leaf::new(scalar) {
                    self.leaves.insert(prefix.to_owned(), leaf);
                }
            }
        }
    }

    /// Adds a text of the envelope: the key or a header.
    pub(super) fn add_text(&mut self, source: &str, text: &str) {
        if let Some(leaf) = Leaf::new(&Value::from(text)) {
            self.leaves.insert(source.to_owned(), leaf);
        }
    }
}

/// Unit of a time, as a mapping names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    Seconds,
    Millis,
    Micros,
    Nanos,
    Rfc3339,
}

impl Time {
    /// Word of the mapping.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Millis => "millis",
            Self::Micros => "micros",
            Self::Nanos => "nanos",
            Self::Rfc3339 => "rfc3339",
        }
    }

    /// Time that a value looks like: a text with an offset, or a number of the years 2000 to 2100.
    fn of(leaf: &Leaf) -> Option<Self> {
        if let Some(number) = leaf.number {
            let seconds = 946_684_800.0..4_133_980_800.0;
            let units = [
                (Self::Seconds, 1.0),
                (Self::Millis, 1e3),
                (Self::Micros, 1e6),
                (Self::Nanos, 1e9),
            ];
            return units
                .into_iter()
                .find(|(_, parts)| seconds.contains(&(number / parts)))
                .map(|(unit, _)| unit);
        }
        let time: Result<EventTime, _> = leaf.text.parse();
        time.ok().map(|_| Self::Rfc3339)
    }
}

/// Values of a leaf in many events.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// Events with the leaf.
    pub(super) present: usize,
    /// Different texts, up to [`MAX_DISTINCT`].
    pub(super) distinct: BTreeSet<String>,
    /// Values until the different texts reached their maximum.
    compared: usize,
    /// Values that are JSON texts.
    pub(super) texts: usize,
    /// Values that are numbers, as such or in a text.
    pub(super) numbers: usize,
    /// Numbers with a fraction.
    fractions: usize,
    /// Smallest number.
    pub(super) least: Option<f64>,
    pub(super) largest: Option<f64>,
    /// Number of values by the time they look like.
    times: Vec<(Time, usize)>,
}

impl Values {
    /// Adds a value.
    pub(super) fn add(&mut self, leaf: &Leaf) {
        self.present += 1;
        if self.distinct.len() < MAX_DISTINCT {
            self.distinct.insert(leaf.text.clone());
            self.compared += 1;
        }
        self.texts += usize::from(leaf.is_text);
        if let Some(number) = leaf.number {
            self.numbers += 1;
            self.fractions += usize::from(number.fract() != 0.0);
            self.least = Some(self.least.map_or(number, |least| least.min(number)));
            self.largest = Some(self.largest.map_or(number, |largest| largest.max(number)));
        }
        if let Some(time) = Time::of(leaf) {
            match self.times.iter_mut().find(|(known, _)| *known == time) {
                Some((_, number)) => *number += 1,
                None => self.times.push((time, 1)),
            }
        }
    }

    /// Unit, if nearly all values look like times of one unit.
    pub(super) fn time(&self) -> Option<Time> {
        let most = self.times.iter().max_by_key(|(_, number)| *number);
        most.filter(|(_, number)| is_nearly_all(*number, self.present))
            .map(|(time, _)| *time)
    }

    /// True if nearly every value occurs once.
    pub(super) fn is_unique(&self) -> bool {
        is_nearly_all(self.distinct.len(), self.compared)
    }

    /// True if nearly all values are numbers.
    pub(super) fn is_number(&self) -> bool {
        self.present > 0 && is_nearly_all(self.numbers, self.present)
    }

    /// True if the numbers look like a duration in seconds: each has a fraction, and none reaches 10.
    pub(super) fn is_seconds(&self) -> bool {
        self.fractions > 0 && self.fractions == self.numbers && self.largest < Some(10.0)
    }

    /// True if the numbers look like places of the first results of pages: 0, and multiples of the least other.
    pub(super) fn is_offset(&self) -> bool {
        let numbers = self.distinct.iter().map(|text| text.parse::<u32>());
        let Ok(numbers) = numbers.collect::<Result<Vec<u32>, _>>() else {
            return false;
        };
        let least = numbers.iter().filter(|it| **it > 0).min();
        self.least == Some(0.0)
            && least.is_some_and(|least| numbers.iter().all(|it| it.is_multiple_of(*least)))
    }

    /// True if nearly all values are texts.
    pub(super) fn is_text(&self) -> bool {
        is_nearly_all(self.texts, self.present)
    }

    /// True if nearly all of `total` events have the leaf.
    pub(super) fn is_in_nearly_all(&self, total: usize) -> bool {
        is_nearly_all(self.present, total)
    }

    /// True if all values are texts that are no numbers.
    pub(super) fn is_word(&self) -> bool {
        self.present > 0 && self.texts == self.present && self.numbers == 0
    }
}

/// Returns true for at least 95 % of `total`: single events of a sample can be damaged.
fn is_nearly_all(number: usize, total: usize) -> bool {
    number * 100 >= total * 95
}

/// Values of every leaf of the events.
pub(super) fn values<'a>(units: impl Iterator<Item = &'a Unit>) -> BTreeMap<String, Values> {
    let mut all: BTreeMap<String, Values> = BTreeMap::new();
    for unit in units {
        for (source, leaf) in &unit.leaves {
            all.entry(source.clone()).or_default().add(leaf);
        }
    }
    all
}

/// Names of a source to compare with known names: its last segment, and that with the one before.
/// Without case and punctuation; numbers of lists are skipped.
pub(super) fn names(source: &str) -> [String; 2] {
    let plain = |segment: &str| -> String {
        let letters = segment.chars().filter(|it| it.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let source = source.strip_prefix("header:").unwrap_or(source);
    let segments: Vec<String> = source
        .split('/')
        .filter(|segment| !segment.is_empty() && !segment.bytes().all(|b| b.is_ascii_digit()))
        .map(plain)
        .collect();
    let last = segments.last().cloned().unwrap_or_default();
    let parent = segments.len().checked_sub(2).map(|at| segments[at].clone());
    let both = parent.unwrap_or_default() + &last;
    [last, both]
}

/// Lower-case words of a text: `ProductClicked` and `product.clicked` are `product`, `clicked`.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in text.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if letter.is_alphanumeric() {
            words.last_mut().expect("one").extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}
