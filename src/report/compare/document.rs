//! What a comparison says to people, block by block, before it becomes text, Markdown or a page.

use crate::compare::{
    BestOfSlice, Comparison, ErrorAnalysis, Interaction, MeasureComparison, Pair, Verdict,
    WorstQuery,
};
use crate::statistics::{EXACT_UP_TO, Interval};

/// A part of the document. Texts are plain: they hold no markup, and may hold anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// What follows is about this.
    Heading(String),
    /// A sentence or more.
    Paragraph(String),
    /// Short sentences.
    List(Vec<String>),
    /// Numbers.
    Table(Table),
}

/// A table with a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The columns' names.
    pub header: Vec<String>,
    /// As many cells a row.
    pub rows: Vec<Vec<String>>,
    /// Which columns hold words; the others hold numbers.
    pub text: Vec<usize>,
}

impl Table {
    fn new(header: &[&str], text: &[usize]) -> Self {
        Self {
            header: header.iter().map(|&name| name.to_owned()).collect(),
            rows: Vec::new(),
            text: text.to_vec(),
        }
    }

    /// Whether a column holds words and not numbers.
    pub fn is_text(&self, column: usize) -> bool {
        self.text.contains(&column)
    }
}

/// How many documents of a query the error analysis lists; the other formats have all.
const LISTED: usize = 10;

/// The document of a comparison.
pub fn document(comparison: &Comparison) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(gold) = &comparison.gold {
        blocks.push(Block::Paragraph(format!(
            "Gold set {}: {} queries, {} judgements, sha256 {}",
            gold.version, gold.queries, gold.judgements, gold.sha256
        )));
    }
    for pair in &comparison.comparisons {
        blocks.extend(of_pair(pair));
    }
    blocks.push(Block::Paragraph(what_was_tested(comparison)));
    blocks.extend(of_ablation(comparison));
    if let Some(interaction) = &comparison.interaction {
        blocks.extend(of_interaction(interaction));
    }
    blocks.extend(of_best(comparison));
    if let Some(errors) = &comparison.errors {
        blocks.extend(of_errors(errors));
    }
    if !comparison.warnings.is_empty() {
        blocks.push(Block::Heading("To be kept in mind".to_owned()));
        blocks.push(Block::List(comparison.warnings.clone()));
    }
    blocks
}

/// What the verdicts rest on.
fn what_was_tested(comparison: &Comparison) -> String {
    let over = match comparison.measures.len() {
        1 => "one measure".to_owned(),
        measures => format!("{measures} measures"),
    };
    format!(
        "Tested: the mean difference per query, B minus A, over the queries that both runs have; \
         two-sided paired t-test, corrected after Holm for {over}. A difference is shown where Holm \
         p < {}. BCa: bootstrap of {} resamples. Permutation p: exact where at most {EXACT_UP_TO} \
         queries differ, else of {} sign flips.",
        comparison.alpha, comparison.statistics.bootstraps, comparison.statistics.permutations
    )
}

fn of_pair(pair: &Pair) -> Vec<Block> {
    let queries = match pair.common {
        1 => "1 query".to_owned(),
        common => format!("{common} queries"),
    };
    let mut tests = Table::new(
        &[
            "measure",
            "mean A",
            "mean B",
            "difference",
            "95 % interval",
            "p",
            "Holm p",
            "verdict",
        ],
        &[0, 7],
    );
    let mut sizes = Table::new(
        &[
            "measure",
            "n",
            "t",
            "d_z",
            "d_av",
            "permutation p",
            "BCa 95 % interval",
        ],
        &[0],
    );
    for of in &pair.measures {
        let paired = &of.paired;
        tests.rows.push(vec![
            of.measure.clone(),
            mean(paired.a),
            mean(paired.b),
            signed(paired.difference),
            interval(paired.ci95),
            probability(paired.p),
            probability(of.p_holm),
            of.verdict.words().to_owned(),
        ]);
        sizes.rows.push(vec![
            of.measure.clone(),
            paired.n.to_string(),
            short(paired.t),
            short(paired.d_z),
            short(paired.d_av),
            probability(paired.p_permutation),
            interval(paired.bca95),
        ]);
    }
    let heading = format!("{} (A) against {} (B)", pair.a, pair.b);
    vec![
        Block::Heading(heading),
        Block::Paragraph(format!("{queries} in both. {}", summary(&pair.measures))),
        Block::Table(tests),
        Block::Table(sizes),
    ]
}

/// The verdicts in a sentence.
fn summary(measures: &[MeasureComparison]) -> String {
    if measures.iter().all(|of| of.verdict == Verdict::Identical) {
        return "The runs are identical: every query has the same score in both.".to_owned();
    }
    let verdicts = [
        (Verdict::Better, "B is better by"),
        (Verdict::Worse, "B is worse by"),
        (Verdict::Higher, "B is higher by"),
        (Verdict::Lower, "B is lower by"),
    ];
    let said: Vec<String> = verdicts
        .into_iter()
        .filter_map(|(verdict, words)| {
            let named = measures.iter().filter(|of| of.verdict == verdict);
            let named: Vec<&str> = named.map(|of| of.measure.as_str()).collect();
            (!named.is_empty()).then(|| format!("{words} {}", named.join(", ")))
        })
        .collect();
    if said.is_empty() {
        "No difference is shown.".to_owned()
    } else {
        format!("{}.", said.join("; "))
    }
}

fn of_ablation(comparison: &Comparison) -> Vec<Block> {
    if comparison.ablation.is_empty() {
        return Vec::new();
    }
    let mut header = vec!["measure".to_owned()];
    let steps = comparison.ablation.iter();
    header.extend(steps.map(|step| format!("{} -> {}", step.a, step.b)));
    let rows = comparison.measures.iter().enumerate();
    let rows = rows.map(|(position, measure)| {
        let mut row = vec![measure.clone()];
        row.extend(comparison.ablation.iter().map(|step| {
            let of = &step.measures[position];
            format!("{}{}", signed(of.paired.difference), mark(of.verdict))
        }));
        row
    });
    let table = Table {
        header,
        rows: rows.collect(),
        text: vec![0],
    };
    vec![
        Block::Heading("Gain of each step".to_owned()),
        Block::Table(table),
        Block::Paragraph(format!(
            "Each run against the one before it; * where Holm p < {} over the measures of the step.",
            comparison.alpha
        )),
    ]
}

/// The sign behind a difference that is shown.
fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better | Verdict::Worse | Verdict::Higher | Verdict::Lower => " *",
        Verdict::Identical | Verdict::NotShown | Verdict::NotTested => "  ",
    }
}

fn of_interaction(interaction: &Interaction) -> Vec<Block> {
    let [base, a, b, both] = &interaction.runs;
    let mut table = Table::new(
        &[
            "measure",
            "effect A",
            "effect B",
            "sum",
            "combined",
            "interaction",
            "95 % interval",
            "Holm p",
            "verdict",
        ],
        &[0, 8],
    );
    for of in &interaction.measures {
        let paired = &of.test.paired;
        let verdict = match (of.test.verdict, paired.difference) {
            (Verdict::Identical, _) => "equals the sum",
            (Verdict::NotShown, _) => "no interaction shown",
            (Verdict::NotTested, _) | (_, None) => "not tested",
            (_, Some(difference)) if difference > 0.0 => "above the sum",
            (_, Some(_)) => "below the sum",
        };
        table.rows.push(vec![
            of.test.measure.clone(),
            signed(of.effect_a),
            signed(of.effect_b),
            signed(of.sum),
            signed(of.combined),
            signed(paired.difference),
            interval(paired.ci95),
            probability(of.test.p_holm),
            verdict.to_owned(),
        ]);
    }
    let mut text = format!(
        "Effects over {base}: {a} (A), {b} (B), and {both} (combined), over {} queries that all four \
         runs have. Tested: the combined effect minus the sum of the single ones, per query.",
        interaction.common
    );
    if interaction.few() {
        text.push_str(" With so few queries little can be shown.");
    }
    vec![
        Block::Heading("Interaction".to_owned()),
        Block::Paragraph(text),
        Block::Table(table),
    ]
}

fn of_best(comparison: &Comparison) -> Vec<Block> {
    let runs = &comparison.runs;
    let mut table = Table::new(&["slice", "n", "measure", "best", "mean"], &[0, 2, 3]);
    for slice in &comparison.best {
        for (measure, of) in comparison.measures.iter().zip(&slice.measures) {
            let Some(first) = of.best.first() else {
                continue;
            };
            let best: Vec<&str> = of.best.iter().map(|run| runs[*run].as_str()).collect();
            let best = if best.len() == runs.len() {
                "all the same".to_owned()
            } else {
                best.join(", ")
            };
            table.rows.push(vec![
                name_of(slice),
                of.n.to_string(),
                measure.clone(),
                best,
                mean(of.means[*first]),
            ]);
        }
    }
    vec![
        Block::Heading("Best run".to_owned()),
        Block::Table(table),
        Block::Paragraph(
            "By mean over the queries that all runs have a score for; runs that tie are named \
             together. A higher mean alone is no difference shown."
                .to_owned(),
        ),
    ]
}

fn name_of(slice: &BestOfSlice) -> String {
    if slice.value.is_empty() {
        slice.slice.clone()
    } else {
        format!("{}={}", slice.slice, slice.value)
    }
}

fn of_errors(errors: &ErrorAnalysis) -> Vec<Block> {
    let mut blocks = vec![
        Block::Heading(format!(
            "Worst queries of {} by {}",
            errors.run, errors.measure
        )),
        Block::Paragraph(format!(
            "Of the first {} results: which are not relevant, and which relevant documents are not \
             among them.",
            errors.cutoff
        )),
    ];
    for worst in &errors.queries {
        blocks.push(Block::Paragraph(title(worst, &errors.measure)));
        let false_positives = worst.errors.false_positives.iter().map(|of| {
            let grade = of
                .grade
                .map_or_else(|| "not judged".to_owned(), |it| format!("grade {it}"));
            format!("{}. {} ({grade})", of.rank, of.document)
        });
        let missed = worst.errors.missed.iter().map(|of| {
            let rank = of
                .rank
                .map_or_else(|| "not found".to_owned(), |it| format!("rank {it}"));
            format!("{} (grade {}, {rank})", of.document, of.grade)
        });
        blocks.push(Block::List(vec![
            format!("not relevant: {}", listed(false_positives)),
            format!("missed: {}", listed(missed)),
        ]));
    }
    blocks
}

fn title(worst: &WorstQuery, measure: &str) -> String {
    let score = mean(Some(worst.score));
    match &worst.errors.text {
        Some(text) if *text != worst.query => {
            format!("{} \"{text}\": {measure} {score}", worst.query)
        }
        _ => format!("{}: {measure} {score}", worst.query),
    }
}

/// The first of many.
fn listed(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(LISTED);
    let shown: Vec<String> = items.take(LISTED).collect();
    match (shown.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Where a number is undefined.
const UNDEFINED: &str = "-";

fn mean(number: Option<f64>) -> String {
    number.map_or_else(|| UNDEFINED.to_owned(), |number| format!("{number:.4}"))
}

fn signed(number: Option<f64>) -> String {
    number.map_or_else(|| UNDEFINED.to_owned(), with_sign)
}

/// With its sign, unless it is 0 as printed.
fn with_sign(number: f64) -> String {
    let printed = format!("{number:+.4}");
    if printed.trim_start_matches(['+', '-']) == "0.0000" {
        "0.0000".to_owned()
    } else {
        printed
    }
}

fn short(number: Option<f64>) -> String {
    number.map_or_else(|| UNDEFINED.to_owned(), |number| format!("{number:.3}"))
}

fn interval(interval: Option<Interval>) -> String {
    interval.map_or_else(
        || UNDEFINED.to_owned(),
        |[low, high]| format!("[{}, {}]", with_sign(low), with_sign(high)),
    )
}

/// Four digits; what would print as 0 and is not is said to be less.
fn probability(p: Option<f64>) -> String {
    match p {
        None => UNDEFINED.to_owned(),
        Some(p) if p < 0.0001 => "<0.0001".to_owned(),
        Some(p) => format!("{p:.4}"),
    }
}
