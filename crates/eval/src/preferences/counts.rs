//! Preferences of a group, and their counts in a ranking.

/// Judgements of a group.
#[derive(Debug)]
pub(super) struct Group {
    /// Documents, by their numbers in the query, with their levels.
    pub(super) levels: Vec<(usize, f64)>,
    pub(super) relation: Relation,
}

/// Pairs of documents between which a group has a preference.
#[derive(Debug)]
pub(super) enum Relation {
    /// All pairs with different levels.
    Complete,
    /// Stated pairs, and those that follow from them.
    Partial(Bits),
}

/// Square matrix of bits.
#[derive(Debug)]
pub(super) struct Bits {
    size: usize,
    /// Words of a row.
    words: usize,
    cells: Vec<u64>,
}

impl Bits {
    pub(super) fn new(size: usize) -> Self {
        let words = size.div_ceil(64);
        Self {
            size,
            words,
            cells: vec![0; size * words],
        }
    }

    pub(super) fn set(&mut self, row: usize, column: usize) {
        if let Some(word) = self.cells.get_mut(row * self.words + column / 64) {
            *word |= 1 << (column % 64);
        }
    }

    pub(super) fn get(&self, row: usize, column: usize) -> bool {
        let word = self.cells.get(row * self.words + column / 64);
        word.is_some_and(|word| word >> (column % 64) & 1 == 1)
    }

    /// Adds the pairs that follow: if a row has a column, it has the columns of that row.
    pub(super) fn close(&mut self) {
        for through in 0..self.size {
            let start = through * self.words;
            let added = self
                .cells
                .get(start..start + self.words)
                .unwrap_or_default()
                .to_vec();
            for row in 0..self.size {
                if self.get(row, through) {
                    let start = row * self.words;
                    let words = self.cells.get_mut(start..start + self.words);
                    for (word, added) in words.into_iter().flatten().zip(&added) {
                        *word |= added;
                    }
                }
            }
        }
    }

    /// Returns two documents that are preferred to each other.
    pub(super) fn first_cycle(&self) -> Option<(usize, usize)> {
        let rows = 0..self.size;
        let mut pairs = rows.flat_map(|row| (0..self.size).map(move |column| (row, column)));
        pairs.find(|(row, column)| {
            row != column && self.get(*row, *column) && self.get(*column, *row)
        })
    }
}

/// Group seen through a ranking. Documents are their ranks among the judged ones of the query, from 0; the first
/// `retrieved` ones are results.
pub(super) struct RankedGroup<'g> {
    pub(super) retrieved: usize,
    /// Ranks of the documents of equal levels, highest level first. Empty with a partial relation.
    pub(super) classes: Vec<Vec<usize>>,
    /// Preferences of a partial relation, by the numbers of documents.
    pub(super) partial: Option<&'g Bits>,
    /// Number of each document, by rank.
    pub(super) numbers: &'g [usize],
    /// Level of each document, by rank; `None` for those of other groups.
    pub(super) levels: Vec<Option<f64>>,
}

/// Numbers of preferences and documents.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Both documents are retrieved.
    pub(super) fulfilled_retrieved: u64,
    pub(super) possible_retrieved: u64,
    /// One document is retrieved.
    pub(super) fulfilled_implied: u64,
    pub(super) possible_implied: u64,
    /// None is retrieved.
    pub(super) absent: u64,
    pub(super) relevant: u64,
    pub(super) relevant_retrieved: u64,
    pub(super) nonrelevant: u64,
    pub(super) nonrelevant_retrieved: u64,
}

impl<'g> RankedGroup<'g> {
    /// `ranks` are the ranks of the documents by number.
    pub(super) fn of(
        group: &'g Group,
        retrieved: usize,
        ranks: &[usize],
        numbers: &'g [usize],
    ) -> Self {
        let rank = |number: usize| ranks.get(number).copied().unwrap_or_default();
        let mut levels = vec![None; numbers.len()];
        for (number, level) in &group.levels {
            if let Some(of_rank) = levels.get_mut(rank(*number)) {
                *of_rank = Some(*level);
            }
        }
        let (mut classes, mut partial) = (Vec::new(), None);
        match &group.relation {
            Relation::Partial(preferred) => partial = Some(preferred),
            Relation::Complete => {
                let ranked = group
                    .levels
                    .iter()
                    .map(|(number, level)| (*level, rank(*number)));
                let mut ranked: Vec<(f64, usize)> = ranked.collect();
                ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                let equal = ranked.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq());
                classes.extend(equal.map(|class| class.iter().map(|(_, rank)| *rank).collect()));
            }
        }
        Self {
            retrieved,
            classes,
            partial,
            numbers,
            levels,
        }
    }

    /// Returns true if the document at a rank is preferred to another one by a partial relation.
    pub(super) fn prefers(&self, one: usize, other: usize) -> bool {
        let number = |rank: usize| self.numbers.get(rank).copied().unwrap_or_default();
        self.partial
            .is_some_and(|partial| partial.get(number(one), number(other)))
    }

    /// Calls `each` with the ranks of the documents of every preference, the preferred one first.
    pub(super) fn each_preference(&self, mut each: impl FnMut(usize, usize)) {
        for (position, class) in self.classes.iter().enumerate() {
            for lower in self.classes.iter().skip(position + 1) {
                for one in class {
                    for other in lower {
                        each(*one, *other);
                    }
                }
            }
        }
        if self.partial.is_some() {
            for one in 0..self.numbers.len() {
                for other in 0..self.numbers.len() {
                    if self.prefers(one, other) {
                        each(one, other);
                    }
                }
            }
        }
    }

    /// Counts the preferences, and passes them to `each`.
    pub(super) fn counts(&self, mut each: impl FnMut(usize, usize)) -> Counts {
        let mut counts = self.documents();
        let retrieved = self.retrieved;
        self.each_preference(|one, other| {
            each(one, other);
            match (one < retrieved, other < retrieved) {
                (true, true) => {
                    counts.possible_retrieved += 1;
                    counts.fulfilled_retrieved += u64::from(one < other);
                }
                (true, false) => {
                    counts.possible_implied += 1;
                    counts.fulfilled_implied += 1;
                }
                (false, true) => counts.possible_implied += 1,
                (false, false) => counts.absent += 1,
            }
        });
        counts
    }

    /// Counts of documents. In a complete relation, a document with a negative level is not relevant; in a partial
    /// one it is not counted, as in trec_eval.
    fn documents(&self) -> Counts {
        let mut counts = Counts::default();
        for (rank, level) in self.levels.iter().enumerate() {
            let Some(level) = level else { continue };
            let is_retrieved = u64::from(rank < self.retrieved);
            if *level > 0.0 {
                counts.relevant += 1;
                counts.relevant_retrieved += is_retrieved;
            } else if self.partial.is_none() || *level >= 0.0 {
                counts.nonrelevant += 1;
                counts.nonrelevant_retrieved += is_retrieved;
            }
        }
        counts
    }
}
