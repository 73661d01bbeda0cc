//! Gold sets and runs with difficult cases: our code and the other tools read the same bytes.
//!
//! Korean ids that differ only in bytes, equal scores, scores that are equal only as 32-bit floats,
//! short and empty lists, queries that one side does not have, negative and fractional grades. A
//! seed makes the same files everywhere. This module contains no measure.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Queries of a gold set.
pub(super) const GOLD_QUERIES: usize = 300;
/// Queries of a run that are not in its gold set.
pub(super) const UNKNOWN_QUERIES: usize = 12;
/// The highest grade: the top of gdeval's scale.
const HIGHEST_GRADE: i32 = 4;

/// Gold set and run, as the contents of two files.
pub(super) struct Fixture {
    pub(super) gold: String,
    pub(super) run: String,
}

/// One query in both files. A list is in no order; scores are as they stand in the file.
struct Query {
    key: String,
    judgements: Vec<(String, f64)>,
    results: Option<Vec<(String, String)>>,
}

/// Format of the files, which limits their content.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// No white space in ids, whole grades, no empty lists.
    Trec,
    /// Any id, grades in quarters, empty lists.
    Json,
}

/// TREC qrels and a TREC run, lines in any order, columns between any white space.
pub(super) fn trec(seed: u64) -> Fixture {
    let (mut rng, queries) = generate(seed, Form::Trec);
    let (mut gold, mut run) = (Vec::new(), Vec::new());
    for query in &queries {
        let key = &query.key;
        for (document, grade) in &query.judgements {
            let gap = gap(&mut rng);
            gold.push(format!("{key}{gap}0{gap}{document}{gap}{grade}\n"));
        }
        // The column of ranks is wrong on purpose: trec_eval does not read it.
        for (rank, (document, score)) in query.results.iter().flatten().enumerate() {
            let gap = gap(&mut rng);
            let columns = [key, "Q0", document, &rank.to_string(), score, "조합"];
            run.push(columns.join(gap) + "\n");
        }
    }
    gold.shuffle(&mut rng);
    run.shuffle(&mut rng);
    Fixture {
        gold: gold.concat(),
        run: run.concat(),
    }
}

fn gap(rng: &mut ChaCha8Rng) -> &'static str {
    ["\t", " ", "  "]
        .choose(rng)
        .copied()
        .expect("there are gaps to choose from")
}

/// `{query: {document: number}}`, twice.
pub(super) fn json(seed: u64) -> Fixture {
    let (_, queries) = generate(seed, Form::Json);
    let gold = queries
        .iter()
        .filter(|query| !query.judgements.is_empty())
        .map(|query| (&query.key, object(&query.judgements)));
    let run = queries.iter().filter_map(|query| {
        let results = query.results.as_ref()?;
        Some((&query.key, object(results)))
    });
    Fixture {
        gold: object_of(gold),
        run: object_of(run),
    }
}

fn object<N: ToString>(members: &[(String, N)]) -> String {
    object_of(members.iter().map(|(key, value)| (key, value.to_string())))
}

fn object_of<'a>(members: impl Iterator<Item = (&'a String, String)>) -> String {
    let mut text = String::from("{");
    for (number, (key, value)) in members.enumerate() {
        let comma = if number > 0 { "," } else { "" };
        write!(text, "{comma}\n{}: {value}", serde_json::json!(key)).expect("text takes text");
    }
    text + "}\n"
}

fn generate(seed: u64, form: Form) -> (ChaCha8Rng, Vec<Query>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let queries = (0..GOLD_QUERIES + UNKNOWN_QUERIES)
        .map(|number| query(&mut rng, form, number))
        .collect();
    (rng, queries)
}

fn query(rng: &mut ChaCha8Rng, form: Form, number: usize) -> Query {
    let key = match (number % 10, form) {
        // Numbers of equal value are different ids.
        (0, _) => number.to_string(),
        (1, _) => format!("00{}", number - 1),
        (2, Form::Json) => format!("해고 예고 수당 {number}"),
        (3, Form::Json) => format!(" \"질의\" {number}\t"),
        _ => format!("질의-{number:03}"),
    };
    let known = number < GOLD_QUERIES;
    let judged = rng.random_range(1..=60);
    let judged = documents(rng, form, judged, &BTreeSet::new());
    let others = rng.random_range(0..=60);
    let others = documents(rng, form, others, &judged.iter().cloned().collect());
    let style = rng.random_range(0..10);
    let judgements = judged
        .iter()
        .filter(|_| known)
        .enumerate()
        .map(|(place, document)| (document.clone(), grade(rng, form, style, place)))
        .collect();
    // One gold query in twenty is missing from the run.
    let answered = !known || number % 20 != 7;
    let results = answered.then(|| {
        let mut pool: Vec<String> = judged.into_iter().chain(others).collect();
        pool.shuffle(rng);
        let length = match rng.random_range(0..8) {
            0 if form == Form::Json => 0,
            0 | 1 => rng.random_range(1..=3),
            2 | 3 => rng.random_range(4..=20),
            _ => pool.len(),
        };
        pool.truncate(length);
        let style = rng.random_range(0..8);
        pool.into_iter()
            .map(|document| (document, score(rng, style)))
            .collect()
    });
    Query {
        key,
        judgements,
        results,
    }
}

/// Different ids, none of them among `taken`.
fn documents(
    rng: &mut ChaCha8Rng,
    form: Form,
    count: usize,
    taken: &BTreeSet<String>,
) -> Vec<String> {
    let mut documents = BTreeSet::new();
    while documents.len() < count {
        let n = rng.random_range(1..=150);
        let document = match rng.random_range(0..10) {
            0 => format!("민법::제{n}조::chunk{}", n % 7),
            1 => format!("민법::제{n}조"),
            2 => format!("형법_제{n}조의2"),
            // The same syllable, composed and decomposed: two ids.
            3 => format!("\u{ac00}{n}"),
            4 => format!("\u{1100}\u{1161}{n}"),
            // In UTF-8 the ligature comes first, in UTF-16 the building.
            5 => format!("\u{fb00}{n}"),
            6 => format!("\u{1f3db}{n}"),
            7 => format!("doc{n}"),
            8 => format!("DOC{n}"),
            _ if form == Form::Json => format!("근로기준법 제{n}조, \"{n}\""),
            _ => format!("근로기준법/제{n}조,\"{n}\""),
        };
        if !taken.contains(&document) {
            documents.insert(document);
        }
    }
    let mut documents: Vec<String> = documents.into_iter().collect();
    documents.shuffle(rng);
    documents
}

fn grade(rng: &mut ChaCha8Rng, form: Form, style: u8, place: usize) -> f64 {
    let whole = match style {
        // No document is relevant.
        0 => rng.random_range(-2..=0),
        // One document is relevant, and most are judged not relevant.
        1 => i32::from(place == 0),
        2 => rng.random_range(0..=1),
        3 => 1,
        _ => rng.random_range(-2..=HIGHEST_GRADE),
    };
    let quarters = match form {
        Form::Trec => 0,
        // At most three quarters: a document that is not relevant stays below 1.
        Form::Json => rng.random_range(0..=3),
    };
    if whole == HIGHEST_GRADE {
        f64::from(whole)
    } else {
        f64::from(whole) + f64::from(quarters) / 4.0
    }
}

/// Score in a notation that both JSON and C read.
fn score(rng: &mut ChaCha8Rng, style: u8) -> String {
    let step: i32 = rng.random_range(0..=40);
    match style {
        0 => rng.random::<f64>().to_string(),
        1 => (step % 4).to_string(),
        2 => "0.5".to_owned(),
        // Different, but not as 32-bit floats.
        3 => format!("{}", 12.0 + f64::from(step) * 1e-9),
        4 => format!("{:e}", -f64::from(step) / 7.0),
        // Denormal as 32-bit floats.
        5 => format!("{:e}", f64::from(step) * 1e-42),
        // The second rounds up when it is read directly as a 32-bit float, and equals the first
        // when it is read as a 64-bit float before that, as trec_eval does.
        6 => ["1", "1.00000005960464477540", "1.0000001", "0.99999999"]
            .choose(rng)
            .map(|&text| text.to_owned())
            .expect("there are scores to choose from"),
        _ => format!("{:.3}", f64::from(step) / 10.0),
    }
}
