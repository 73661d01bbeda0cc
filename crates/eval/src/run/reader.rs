//! Reader of runs: one answer after the other, on all threads.
//!
//! Lines are read in parts of whole queries, so that memory does not grow with the file. The lines of
//! a TREC query can be in several places, which shows only at the end. Such a run is read once more,
//! as a whole; so is one with a wrong line, because only the whole run shows which line is the first.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::answer::{Answer, Order, ReadOptions, Results, Searches};
use super::error::{MAX_WHOLE_BYTES, RunError, RunProblem, Wrong, replay};
use super::events::{self, LineFormat};
use super::frame::Frame;
use super::input::{self, Input, PART_BYTES, Part};
use super::table::{self, Table};
use super::{score_map, trec};
use rankgauge_core::text;

/// Format of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Trec,
    /// Search events.
    Events(LineFormat),
    /// Formats that are read as a whole.
    Whole(Whole),
}

/// Format of a run that is read as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    /// JSON `{query: {document: score}}` or `{query: [document, …]}`.
    ScoreMap,
    /// JSON records with one result each.
    Records,
    /// Data frame in JSON.
    Frame(Frame),
    /// Records of User Behavior Insights.
    Ubi,
    Table(Table),
}

/// Run whose format is known, before its answers are read.
pub struct RunReader {
    input: Input,
    /// Bytes that are read already.
    head: Vec<u8>,
    format: Format,
    options: ReadOptions,
    warning: Option<String>,
}

/// Run that is read.
#[derive(Debug)]
pub struct ReadRun<S> {
    /// States of the threads.
    pub states: Vec<S>,
    /// Lines of the places.
    pub places: Places,
    /// Tag of the run: the sixth column of a TREC run's last line.
    pub tag: Option<String>,
    /// Records that are skipped, or a sign of a mistake that the whole run shows, as a sentence.
    pub warning: Option<String>,
}

/// Place of an answer. Places are in the order of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    part: usize,
    line: usize,
}

impl Place {
    /// Place of the answer at this position, from 0, of a run in memory.
    pub(crate) fn in_memory(position: usize) -> Self {
        Self {
            part: 0,
            line: position + 1,
        }
    }
}

/// Lines of the places in a run.
#[derive(Debug, Default)]
pub struct Places {
    /// Parts with their numbers of lines; empty if the lines of places are those of the whole run.
    lines: Vec<(usize, usize)>,
}

impl Places {
    /// Returns the 1-based line of a place.
    pub fn line(&self, place: Place) -> usize {
        let before = self.lines.iter().filter(|(part, _)| *part < place.part);
        place.line + before.map(|(_, lines)| lines).sum::<usize>()
    }
}

/// State of one thread.
struct Thread<S> {
    state: S,
    /// Queries with the places of their first lines.
    queries: Vec<(Place, String)>,
    /// Number of lines of each part.
    lines: Vec<(usize, usize)>,
    wrong: Option<(Place, Wrong)>,
}

impl<S> Thread<S> {
    fn new(state: S) -> Self {
        Self {
            state,
            queries: Vec::new(),
            lines: Vec::new(),
            wrong: None,
        }
    }
}

impl RunReader {
    /// Opens a run; its content determines the format. `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, is empty or not a run.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, RunError> {
        let input = Input::open(path).map_err(|error| located(path, error.into()))?;
        Self::of_input(input, options)
    }

    /// Run in memory. `path` is used in messages.
    ///
    /// # Errors
    /// The bytes are empty or not a run.
    pub fn of_bytes(
        path: PathBuf,
        bytes: Vec<u8>,
        options: &ReadOptions,
    ) -> Result<Self, RunError> {
        Self::of_input(Input::of_bytes(path, bytes), options)
    }

    fn of_input(mut input: Input, options: &ReadOptions) -> Result<Self, RunError> {
        let head = input::head(&mut input).map_err(|wrong| located(input.path(), wrong))?;
        let bytes = head.bytes();
        // A character at the end of the head may be incomplete, unless it is the whole run.
        let is_whole = bytes.len() < PART_BYTES;
        let end = memchr::memrchr(b'\n', bytes).filter(|_| !is_whole);
        let lines = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        let text = text::decode(lines).map_err(|error| located(input.path(), error.into()))?;
        let format = recognise(text, options).map_err(|wrong| located(input.path(), wrong))?;
        let is_trec = format == Format::Trec;
        let warning = if is_trec && options.order.is_none() {
            trec::swapped_columns(text).or_else(|| trec::disagreement(text))
        } else {
            None
        };
        Ok(Self {
            warning: warning.map(|warning| format!("{}: {warning}", input.path().display())),
            head: bytes.to_vec(),
            input,
            format,
            options: options.clone(),
        })
    }

    /// Path of the run.
    pub fn path(&self) -> &Path {
        self.input.path()
    }

    /// Command for the run if it is of search events: it can be a log of users' searches.
    pub(crate) fn replay_command(&self) -> Option<String> {
        matches!(self.format, Format::Events(_)).then(|| replay(self.path()))
    }

    /// Sign of a mistake in a valid file, as a sentence.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Passes each answer to `take`, with its place, on all threads. Each thread has a state of its
    /// own; these are returned. A run can be read twice: then the states of the second reading are
    /// returned.
    ///
    /// # Errors
    /// The first wrong line.
    pub fn each_answer<S: Send>(
        self,
        state: impl Fn() -> S + Sync,
        take: impl Fn(&mut S, Place, &Answer<'_>) + Sync,
    ) -> Result<ReadRun<S>, RunError> {
        let path = self.path().to_owned();
        let options = self.options.clone();
        let take = |state: &mut S, place: Place, answer: &Answer<'_>| {
            if let Results::Search(search) = &answer.results
                && !options.searches.has(place, &search.query_id)
            {
                return;
            }
            match options.changed(answer) {
                None => take(state, place, answer),
                Some(answer) => take(state, place, &answer),
            }
        };
        let answers = match self.format {
            Format::Trec => self.in_parts(Order::Score, &state, &take),
            Format::Events(_) => self.in_parts(Order::Served, &state, &take),
            Format::Whole(format) => self.whole(format, &state, &take),
        };
        answers.map_err(|wrong| located(&path, wrong))
    }

    /// Reads parts of whole lines. `default` is the order unless the options state one.
    fn in_parts<S: Send>(
        self,
        default: Order,
        state: &(impl Fn() -> S + Sync),
        take: &(impl Fn(&mut S, Place, &Answer<'_>) + Sync),
    ) -> Result<ReadRun<S>, Wrong> {
        let (format, options) = (self.format, self.options.clone());
        let order = options.chosen().or(default);
        let parts = Parts {
            rest: self.head,
            input: self.input,
            format,
            number: 0,
            tag: None,
            is_ended: false,
        };
        let parts = Mutex::new(parts);
        let next = |part: &mut Part| {
            let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
            parts.next(part)
        };
        let threads = rayon::broadcast(|_| {
            let (mut thread, mut part) = (Thread::new(state()), Part::default());
            while let Some(number) = next(&mut part) {
                let read = number.and_then(|number| {
                    let at = |line| Place { part: number, line };
                    let Thread { state, queries, .. } = &mut thread;
                    let take = |line, answer: &Answer<'_>| take(state, at(line), answer);
                    let lines = text::decode(part.bytes())
                        .map_err(Wrong::from)
                        .and_then(|text| match format {
                            Format::Events(format) => {
                                let begin = |line, id: &str, query: &str| {
                                    if options.searches.has(at(line), id) {
                                        queries.push((at(line), query.to_owned()));
                                    }
                                };
                                events::each_answer(text, format, order, &options, begin, take)
                            }
                            Format::Trec | Format::Whole(_) => {
                                let begin = |line, query: &str| {
                                    queries.push((at(line), query.to_owned()));
                                };
                                trec::each_answer(text, order, options.scores, begin, take)
                            }
                        })
                        .map_err(|wrong| (number, wrong))?;
                    Ok((number, lines))
                });
                match read {
                    Ok(lines) => thread.lines.push(lines),
                    Err((part, wrong)) => {
                        let line = wrong.line.unwrap_or(0);
                        thread.wrong = Some((Place { part, line }, wrong));
                        parts
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .is_ended = true;
                        break;
                    }
                }
            }
            thread
        });
        let parts = parts.into_inner();
        let Parts { input, tag, .. } = parts.unwrap_or_else(PoisonError::into_inner);
        let (mut states, mut places, mut queries) = (Vec::new(), Places::default(), Vec::new());
        let mut wrong: Option<(Place, Wrong)> = None;
        for thread in threads {
            states.push(thread.state);
            places.lines.extend(thread.lines);
            queries.extend(thread.queries);
            let both = wrong.into_iter().chain(thread.wrong);
            wrong = both.min_by_key(|(place, _)| *place);
        }
        let may_repeat = format != Format::Trec && matches!(options.searches, Searches::All);
        let repeated = first_repeated(&mut queries).filter(|_| !may_repeat);
        let is_unreadable = wrong.as_ref().is_some_and(|(_, it)| it.is_unreadable());
        if format == Format::Trec && !is_unreadable && (wrong.is_some() || repeated.is_some()) {
            drop(states);
            let bytes = input.read_again()?;
            return in_groups(&bytes, order, options.scores, state, take);
        }
        let repeated = repeated.map(|(first, place, query)| {
            let first = places.line(first);
            let path = input.path().to_owned();
            let problem = RunProblem::RepeatedSearch { query, first, path };
            (place, problem.at(place.line))
        });
        let first = wrong.into_iter().chain(repeated);
        match first.min_by_key(|(place, _)| *place) {
            Some((place, mut wrong)) => {
                wrong.line = wrong.line.map(|_| places.line(place));
                if let (RunProblem::NotUtf8(error), Some(line)) = (&mut wrong.problem, wrong.line) {
                    error.line = line;
                }
                Err(wrong)
            }
            None => Ok(ReadRun {
                states,
                places,
                tag,
                warning: None,
            }),
        }
    }

    fn whole<S: Send>(
        mut self,
        format: Whole,
        state: &(impl Fn() -> S + Sync),
        take: &(impl Fn(&mut S, Place, &Answer<'_>) + Sync),
    ) -> Result<ReadRun<S>, Wrong> {
        let mut bytes = self.head;
        std::io::Read::read_to_end(&mut self.input, &mut bytes)?;
        if bytes.len() > MAX_WHOLE_BYTES {
            return Err(RunProblem::TooLarge.into());
        }
        let text = text::decode(&bytes)?;
        let (chosen, scores) = (self.options.chosen(), self.options.scores);
        let columns = self.options.columns.as_ref();
        let mut warning = None;
        let place = self.input.path().display().to_string();
        let located = |sentence: String| format!("{place}: {sentence}");
        let is_undecided = self.options.order.is_none();
        let answers = match format {
            Whole::ScoreMap => score_map::parse(text, chosen, scores, columns),
            Whole::Records | Whole::Frame(_) => {
                let (rows, implied) = match format {
                    Whole::Frame(frame) => table::rows_of(&frame.records(text)?, columns)?,
                    _ => table::records(text, columns)?,
                };
                warning = table::disagreement(&rows, implied)
                    .filter(|_| is_undecided)
                    .map(located);
                table::answers(rows, chosen.or(implied), scores)
            }
            Whole::Ubi => events::of_queries(text, chosen.or(Order::Served), &self.options).map(
                |(answers, sentence)| {
                    warning = sentence.map(located);
                    answers
                },
            ),
            Whole::Table(table) => {
                let rows = table.rows(text)?;
                let implied = table.order();
                warning = table::disagreement(&rows, implied)
                    .filter(|_| is_undecided)
                    .map(located);
                table::answers(rows, chosen.or(implied), scores)
            }
        };
        let answers: Vec<(usize, (usize, Answer<'_>))> = answers?.into_iter().enumerate().collect();
        let states = each_of(&answers, state, |state, (part, (line, answer))| {
            let place = Place {
                part: *part,
                line: *line,
            };
            take(state, place, answer);
            Ok(())
        });
        Ok(ReadRun {
            states: states?,
            places: Places::default(),
            tag: None,
            warning,
        })
    }
}

/// Passes the items to `take` on all threads, and returns the states of the threads, or the first
/// wrong line.
fn each_of<S: Send, T: Sync>(
    items: &[T],
    state: impl Fn() -> S + Sync,
    take: impl Fn(&mut S, &T) -> Result<(), Wrong> + Sync,
) -> Result<Vec<S>, Wrong> {
    let next = AtomicUsize::new(0);
    let threads = rayon::broadcast(|_| {
        let mut thread = Thread::new(state());
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(wrong) = take(&mut thread.state, item) {
                let line = wrong.line.unwrap_or(0);
                let wrong = (Place { part: 0, line }, wrong);
                let both = thread.wrong.take().into_iter().chain([wrong]);
                thread.wrong = both.min_by_key(|(place, _)| *place);
            }
        }
        thread
    });
    let (mut states, mut wrong) = (Vec::new(), Vec::new());
    for thread in threads {
        states.push(thread.state);
        wrong.extend(thread.wrong);
    }
    match wrong.into_iter().min_by_key(|(place, _)| *place) {
        Some((_, wrong)) => Err(wrong),
        None => Ok(states),
    }
}

/// Reads a TREC run as a whole: lines of a query can be apart.
fn in_groups<S: Send>(
    bytes: &[u8],
    order: Order,
    keeps_scores: bool,
    state: &(impl Fn() -> S + Sync),
    take: &(impl Fn(&mut S, Place, &Answer<'_>) + Sync),
) -> Result<ReadRun<S>, Wrong> {
    let groups = trec::groups(text::decode(bytes)?);
    let new = || (trec::Reader::new(order, keeps_scores), state());
    let states = each_of(&groups, new, |(reader, state), group| {
        let (line, answer) = reader.answer(group)?;
        take(state, Place { part: 0, line }, &answer);
        Ok(())
    });
    let states = states?.into_iter().map(|(_, state)| state);
    Ok(ReadRun {
        states: states.collect(),
        places: Places::default(),
        tag: trec::tag(bytes),
        warning: None,
    })
}

/// Returns the first query that is answered before, with the places of its first and second answer.
fn first_repeated(queries: &mut [(Place, String)]) -> Option<(Place, Place, String)> {
    queries.sort_by_key(|(place, _)| *place);
    let mut first: HashMap<&str, Place, rustc_hash::FxBuildHasher> = HashMap::default();
    queries.iter().find_map(|(place, query)| {
        let before = first.insert(query, *place)?;
        Some((before, *place, query.clone()))
    })
}

/// Parts of a run.
struct Parts {
    input: Input,
    /// Bytes that are read and not part of the parts so far.
    rest: Vec<u8>,
    format: Format,
    /// Number of parts so far.
    number: usize,
    /// Tag of a TREC run so far.
    tag: Option<String>,
    is_ended: bool,
}

impl Parts {
    /// Reads the next part and returns its number; `None` at the end.
    fn next(&mut self, part: &mut Part) -> Option<Result<usize, (usize, Wrong)>> {
        if self.is_ended {
            return None;
        }
        self.number += 1;
        match self.read(part) {
            Ok(()) if part.bytes().is_empty() => None,
            Ok(()) => {
                if self.format == Format::Trec {
                    self.tag = trec::tag(part.bytes()).or_else(|| self.tag.take());
                }
                Some(Ok(self.number))
            }
            Err(wrong) => Some(Err((self.number, wrong))),
        }
    }

    fn read(&mut self, part: &mut Part) -> Result<(), Wrong> {
        part.clear();
        part.append(&self.rest);
        self.rest.clear();
        loop {
            let bytes = part.bytes();
            let end = match self.format {
                _ if bytes.len() < PART_BYTES => None,
                Format::Trec => trec::last_query(bytes),
                Format::Events(_) | Format::Whole(_) => {
                    memchr::memrchr(b'\n', bytes).map(|end| end + 1)
                }
            };
            if let Some(end) = end {
                let rest = bytes.get(end..).unwrap_or_default();
                self.rest.extend_from_slice(rest);
                part.truncate(end);
                return Ok(());
            }
            part.check_line()?;
            if part.read_from(&mut self.input)? == 0 {
                return Ok(());
            }
        }
    }
}

/// Error in the file at `path`.
fn located(path: &Path, wrong: Wrong) -> RunError {
    RunError {
        path: path.to_owned(),
        line: wrong.line,
        problem: wrong.problem,
    }
}

/// Number of lines by which a table is recognised.
const EXAMINED_LINES: usize = 100;

/// Recognises the format of a run by its first lines with content, by the stated columns, or by a configured
/// mapping.
fn recognise(text: &str, options: &ReadOptions) -> Result<Format, Wrong> {
    let columns = options.columns.as_ref();
    let lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !trec::is_skipped(line));
    let lines = lines.filter(|(_, line)| !events::is_bulk_action(line));
    let lines: Vec<(usize, &str)> = lines.take(EXAMINED_LINES).collect();
    let Some((line, first)) = lines.first().map(|(line, first)| (*line, first.trim())) else {
        return Err(RunProblem::Empty.into());
    };
    if first.starts_with('[') {
        return Ok(Format::Whole(Whole::Records));
    }
    if first.starts_with('{') {
        if events::is_mapped(lines.iter().map(|(_, line)| *line), options) {
            return Ok(Format::Events(LineFormat::Mapped));
        }
        if table::is_record(first, columns) {
            return Ok(Format::Whole(Whole::Records));
        }
        if let Some(frame) = Frame::of(text, columns) {
            return Ok(Format::Whole(Whole::Frame(frame)));
        }
        // An event is complete on its line and has a query id or results.
        let event: Result<Probe, _> = serde_json::from_str(first);
        return Ok(match event {
            Ok(Probe {
                query_id: None,
                results: None,
            })
            | Err(_)
                if !first.contains("\"query_id\"") =>
            {
                Format::Whole(Whole::ScoreMap)
            }
            _ if events::is_ubi(first) => Format::Whole(Whole::Ubi),
            _ => Format::Events(LineFormat::Native),
        });
    }
    if let Some(separator) = first.trim_matches('"').strip_prefix("sep=")
        && separator.chars().count() <= 1
    {
        let text =
            format!("the first line `{first}` is Excel's note of the separator; remove the line");
        return Err(RunProblem::Row(text).at(line));
    }
    if first.contains('\0') {
        return Err(RunProblem::UnrecognisedFormat.at(line));
    }
    if let Some(table) = Table::of(&lines, columns)? {
        return Ok(Format::Whole(Whole::Table(table)));
    }
    if first.split_ascii_whitespace().count() >= 4 {
        return Ok(Format::Trec);
    }
    Err(RunProblem::UnrecognisedFormat.at(line))
}

/// Fields that distinguish an event from a map of queries.
#[derive(serde::Deserialize)]
struct Probe {
    query_id: Option<serde::de::IgnoredAny>,
    results: Option<serde::de::IgnoredAny>,
}
