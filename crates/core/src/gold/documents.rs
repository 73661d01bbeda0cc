//! Judged documents of queries, in columns that several queries share.
//!
//! A set of half a million judgements needs a few large allocations and one small one per query, and
//! a lookup touches little memory. Document ids of a query have consecutive numbers.

use std::fmt;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use twox_hash::XxHash3_64;

use super::judgements::Grade;

/// Hash of the id of a document. It is never 0.
///
/// Different ids of the documents of a query and of a search have different hashes: in 10¹² searches,
/// an accidental exception has a probability of less than one in 10,000. A deliberate one gives its
/// author nothing that serving the judged document would not.
pub(crate) fn hash_document(id: &str) -> u64 {
    XxHash3_64::oneshot(id.as_bytes()).max(1)
}

/// Maximum number of documents whose tags are compared one by one. Reading the tags of all of them at
/// once takes less time than the steps of a lookup in the index, each of which waits for memory.
const MAX_COMPARED: usize = 64;

/// Part of a hash. A processor compares eight of them with one instruction.
type Tag = u16;

#[allow(
    clippy::cast_possible_truncation,
    reason = "a tag is a part of the hash"
)]
const fn tag(hash: u64) -> Tag {
    hash as Tag
}

/// Judged documents of several queries, query by query.
#[derive(Default)]
pub(super) struct Columns {
    /// Concatenation of all ids.
    text: String,
    /// End offsets of the ids in `text`.
    ends: Vec<u32>,
    /// Hash of each id.
    hashes: Vec<u64>,
    /// Tag of each hash.
    tags: Vec<Tag>,
    /// Grade of each document.
    grades: Vec<Grade>,
    /// Grades of each query in descending order.
    descending: Vec<Grade>,
}

/// Unique documents of one query, in the order of insertion; the first has the number 0.
#[derive(Clone, Default)]
pub(super) struct Documents {
    columns: Arc<Columns>,
    span: Span,
}

/// Span of the documents of one query in columns, with their index.
#[derive(Clone, Default)]
pub(super) struct Span {
    /// Position of the first document.
    first: usize,
    /// Numbers by the hash of the id.
    numbers: HashTable<u32>,
}

impl Columns {
    /// Reserves capacity for `count` documents with ids of `bytes` bytes in total.
    pub(super) fn reserve(&mut self, count: usize, bytes: usize) {
        self.text.reserve(bytes);
        self.ends.reserve(count);
        self.hashes.reserve(count);
        self.tags.reserve(count);
        self.grades.reserve(count);
        self.descending.reserve(count);
    }

    /// Begins the next query, of about `count` documents.
    pub(super) fn begin(&self, count: usize) -> Span {
        Span {
            first: self.ends.len(),
            numbers: HashTable::with_capacity(count),
        }
    }

    /// Adds a document to the last query.
    ///
    /// # Errors
    /// The number of the document, if it is already present.
    pub(super) fn insert(&mut self, span: &mut Span, id: &str, grade: Grade) -> Result<(), usize> {
        let hash = hash_document(id);
        // The ids of a file have far less than four billion bytes. Any id beyond that would not be
        // found.
        let next = u32::try_from(span.numbers.len()).unwrap_or(u32::MAX);
        let at = |number: &u32| span.first + position(*number);
        let entry = span.numbers.entry(
            hash,
            |number| self.is_at(at(number), hash, id),
            |number| self.hashes.get(at(number)).copied().unwrap_or_default(),
        );
        match entry {
            Entry::Occupied(entry) => return Err(position(*entry.get())),
            Entry::Vacant(entry) => entry.insert(next),
        };
        self.text.push_str(id);
        self.ends
            .push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        self.hashes.push(hash);
        self.tags.push(tag(hash));
        self.grades.push(grade);
        Ok(())
    }

    /// Ends the last query.
    pub(super) fn end(&mut self, span: &Span) {
        let grades = self.grades.get(span.first..).unwrap_or_default();
        if let Some(counts) = counts(grades) {
            let runs = (0_u8..8).zip(counts).rev();
            let descending =
                runs.flat_map(|(grade, count)| iter::repeat_n(Grade::from(grade), count));
            self.descending.extend(descending);
        } else {
            self.descending.extend_from_slice(grades);
            if let Some(grades) = self.descending.get_mut(span.first..) {
                grades.sort_unstable_by(|a, b| b.cmp(a));
            }
        }
    }

    /// Returns true if the document at a position has this id.
    fn is_at(&self, at: usize, hash: u64, id: &str) -> bool {
        // Comparing bytes does not check where characters begin.
        let bytes = || self.text.as_bytes().get(self.range(at)?);
        self.hashes.get(at) == Some(&hash) && bytes() == Some(id.as_bytes())
    }

    fn id(&self, at: usize) -> Option<&str> {
        self.text.get(self.range(at)?)
    }

    /// Range of an id in the text.
    fn range(&self, at: usize) -> Option<Range<usize>> {
        let start = match at.checked_sub(1) {
            Some(before) => position(*self.ends.get(before)?),
            None => 0,
        };
        Some(start..position(*self.ends.get(at)?))
    }
}

/// Number of each whole grade from 0 to 7; `None` if there are other grades. Most scales have no
/// others, and counting is faster than sorting.
fn counts(grades: &[Grade]) -> Option<[usize; 8]> {
    let mut counts = [0; 8];
    for grade in grades {
        let grade = usize::try_from(grade.whole()?).ok()?;
        *counts.get_mut(grade)? += 1;
    }
    Some(counts)
}

impl Span {
    /// Number of documents.
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }
}

impl Documents {
    /// Returns the documents of `span` in `columns`.
    pub(super) fn new(columns: Arc<Columns>, span: Span) -> Self {
        Self { columns, span }
    }

    /// Returns the number of an id.
    pub(super) fn number(&self, id: &str) -> Option<usize> {
        let hash = hash_document(id);
        let is_it = |at: usize| self.columns.is_at(at, hash, id);
        self.find(hash, is_it)
    }

    /// Returns the number of the id with a [hash](hash_document).
    pub(super) fn number_of(&self, hash: u64) -> Option<usize> {
        let has_hash = |at: usize| self.columns.hashes.get(at) == Some(&hash);
        let tags = self.of(&self.columns.tags);
        if tags.len() > MAX_COMPARED {
            return self.find(hash, has_hash);
        }
        // Without a branch that depends on a tag, the processor waits for none of them.
        let (wanted, mut found) = (tag(hash), 0);
        for (number, known) in (1_u16..).zip(tags) {
            found |= if *known == wanted { number } else { 0 };
        }
        let number = usize::from(found).checked_sub(1)?;
        if has_hash(self.span.first + number) {
            return Some(number);
        }
        // Another document has this tag.
        self.find(hash, has_hash)
    }

    fn find(&self, hash: u64, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let is_it = |number: &u32| is_it(self.span.first + position(*number));
        let number = self.span.numbers.find(hash, is_it)?;
        Some(position(*number))
    }

    /// Reads the tags, hashes and grades of the first documents. Returns a number that depends on them.
    pub(super) fn touch(&self) -> usize {
        let tags = self.of(&self.columns.tags).iter().take(MAX_COMPARED);
        // A cache line holds 32 tags, or eight hashes.
        let tags = tags.step_by(32).filter(|tag| **tag == 0).count();
        let hashes = self.of(&self.columns.hashes).iter().take(MAX_COMPARED);
        let hashes = hashes.step_by(8).filter(|hash| **hash == 0).count();
        let grades = self.grades().iter().take(MAX_COMPARED).step_by(8);
        let grades = grades.filter(|grade| **grade == Grade::ZERO).count();
        tags + hashes + grades
    }

    /// Number of documents.
    pub(super) fn len(&self) -> usize {
        self.span.len()
    }

    /// Returns the id of a document by its number.
    pub(super) fn id(&self, number: usize) -> Option<&str> {
        (number < self.len()).then(|| self.columns.id(self.span.first + number))?
    }

    /// Iterates over the ids in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|number| self.id(number))
    }

    /// Grades by number.
    pub(super) fn grades(&self) -> &[Grade] {
        self.of(&self.columns.grades)
    }

    /// Grades in descending order.
    pub(super) fn descending(&self) -> &[Grade] {
        self.of(&self.columns.descending)
    }

    /// Returns the part of a column that belongs to the query. Values that follow the columns, such
    /// as lines, have the same positions.
    pub(super) fn of<'c, T>(&self, column: &'c [T]) -> &'c [T] {
        let first = self.span.first;
        column.get(first..first + self.len()).unwrap_or_default()
    }
}

impl PartialEq for Documents {
    /// Equal if the same ids have the same numbers and grades.
    fn eq(&self, other: &Self) -> bool {
        self.grades() == other.grades() && self.iter().eq(other.iter())
    }
}

impl Eq for Documents {}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.iter().zip(self.grades()))
            .finish()
    }
}

fn position(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
