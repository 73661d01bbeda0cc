//! Readable document of a comparison, by section. The text, Markdown and HTML outputs render it.

use crate::compare::{BestOfSlice, Comparison, Interaction, MeasureComparison, Pair, Verdict};
use crate::gate::Check;
use crate::report::chart::{Chart, Estimate, Intervals};
use crate::report::document::{Block, Cell, Document, Figure, Section, Table};
use crate::report::names::name;
use crate::report::{checks, errors};
use crate::text_layout::{count_of, escape_controls};
use rankgauge_core::statistics::{Interval, MAX_EXACT_DIFFERENCES};

/// Maximum number of measures in a chart, taken from the first. The table beside the chart has all.
const MAX_DRAWN_MEASURES: usize = 12;

/// Builds the document of a comparison.
pub(super) fn document(comparison: &Comparison, gate: &[Check]) -> Document {
    let mut sections = Vec::new();
    if !gate.is_empty() {
        sections.push(Section {
            is_action: true,
            heading: "Gate".to_owned(),
            blocks: checks::blocks(gate),
        });
    }
    sections.extend(comparison.comparisons.iter().map(of_pair));
    sections.push(Section {
        is_action: false,
        heading: "What was tested".to_owned(),
        blocks: vec![Block::Paragraph(test_description(comparison))],
    });
    sections.extend(of_ablation(comparison));
    sections.extend(comparison.interaction.as_ref().map(of_interaction));
    sections.extend(of_best(comparison));
    sections.extend(comparison.errors.as_ref().map(errors::section));
    if !comparison.warnings.is_empty() {
        let warnings = comparison.warnings.iter().map(|it| escape_controls(it));
        sections.push(Section {
            is_action: false,
            heading: "Notes".to_owned(),
            blocks: vec![Block::List(warnings.collect())],
        });
    }
    let gold = comparison.gold.as_ref().map(|gold| {
        format!(
            "Gold set {}: {}, {}, sha256 {}",
            escape_controls(&gold.version),
            count_of(gold.queries, "query", "queries"),
            count_of(gold.judgements, "judgement", "judgements"),
            gold.sha256
        )
    });
    let names: Vec<String> = comparison.runs.iter().map(|run| name(run)).collect();
    Document {
        title: format!("Comparison of {}", names.join(", ")),
        verdict: verdict(comparison),
        cards: Vec::new(),
        lead: gold.into_iter().collect(),
        sections,
    }
}

/// Verdict about every run against the first.
fn verdict(comparison: &Comparison) -> Vec<String> {
    let pairs = comparison.comparisons.iter();
    pairs
        .map(|pair| {
            let text = summary(&pair.measures);
            format!(
                "{} (B) against {} (A): {}",
                name(&pair.b),
                name(&pair.a),
                escape_controls(&text)
            )
        })
        .collect()
}

/// Table with a header and no rows.
fn table<const N: usize>(caption: String, columns: [&str; N], heads: usize) -> Table {
    Table {
        caption,
        columns: columns.map(str::to_owned).to_vec(),
        heads,
        rows: Vec::new(),
    }
}

/// Interval chart of the measures, with one series for each list in `tests`.
fn interval_chart<'a>(
    measures: &[String],
    tests: impl Iterator<Item = (String, Vec<&'a MeasureComparison>)>,
) -> Chart {
    let estimate = |of: &MeasureComparison| Estimate {
        value: of.paired.difference,
        ends: of.paired.ci95,
    };
    let drawn = |(name, of): (String, Vec<&MeasureComparison>)| {
        let estimates = of.into_iter().take(MAX_DRAWN_MEASURES).map(estimate);
        (name, estimates.collect())
    };
    Chart::Intervals(Intervals {
        x_label: "mean difference per query".to_owned(),
        rows: measures
            .iter()
            .take(MAX_DRAWN_MEASURES)
            .map(|it| escape_controls(it))
            .collect(),
        series: tests.map(drawn).collect(),
    })
}

/// Sentence about the measures that the chart leaves out; empty if it shows all.
fn left_out(measures: &[String]) -> String {
    if measures.len() > MAX_DRAWN_MEASURES {
        format!(
            " The first {MAX_DRAWN_MEASURES} of {} measures are drawn.",
            measures.len()
        )
    } else {
        String::new()
    }
}

/// Description of the tests that the verdicts are based on.
fn test_description(comparison: &Comparison) -> String {
    let over = match comparison.measures.len() {
        1 => "one measure".to_owned(),
        measures => format!("{measures} measures"),
    };
    format!(
        "Tested: the mean difference per query, B minus A, over the queries that both runs have; \
         two-sided paired t-test, corrected after Holm for {over}. A difference is shown where Holm \
         p < {}. BCa: bootstrap of {} resamples. Permutation p: exact where at most {MAX_EXACT_DIFFERENCES} \
         queries differ, else of {} sign flips.",
        comparison.alpha, comparison.statistics.bootstraps, comparison.statistics.permutations
    )
}

fn of_pair(pair: &Pair) -> Section {
    let queries = count_of(pair.common, "query", "queries");
    let heading = format!("{} (A) against {} (B)", name(&pair.a), name(&pair.b));
    let mut tests = table(
        format!("Differences, {} minus {}", name(&pair.b), name(&pair.a)),
        [
            "measure",
            "mean A",
            "mean B",
            "difference",
            "relative",
            "95 % interval",
            "p",
            "Holm p",
            "verdict",
        ],
        1,
    );
    let mut sizes = table(
        format!("Sizes and resampling, {heading}"),
        [
            "measure",
            "n",
            "t",
            "d_z",
            "d_av",
            "permutation p",
            "BCa 95 % interval",
        ],
        1,
    );
    for of in &pair.measures {
        let paired = &of.paired;
        tests.rows.push(vec![
            Cell::of(escape_controls(&of.measure)),
            Cell::of(mean(paired.a)),
            Cell::of(mean(paired.b)),
            Cell::of(signed(paired.difference)),
            Cell::of(percentage(of.relative())),
            Cell::of(interval(paired.ci95)),
            Cell::of(probability(paired.p)),
            Cell::of(probability(of.p_holm)),
            Cell::words(of.verdict.words()),
        ]);
        sizes.rows.push(vec![
            Cell::of(escape_controls(&of.measure)),
            Cell::count(paired.n),
            Cell::of(short(paired.t)),
            Cell::of(short(paired.d_z)),
            Cell::of(short(paired.d_av)),
            Cell::of(probability(paired.p_permutation)),
            Cell::of(interval(paired.bca95)),
        ]);
    }
    let measures: Vec<String> = pair.measures.iter().map(|of| of.measure.clone()).collect();
    let series = (name(&pair.b), pair.measures.iter().collect());
    let figure = Figure {
        description: format!(
            "Each measure's mean difference per query, B minus A, with its 95 % interval.{}",
            left_out(&measures)
        ),
        chart: interval_chart(&measures, [series].into_iter()),
        table: tests,
    };
    Section {
        is_action: false,
        heading,
        blocks: vec![
            Block::Paragraph(format!(
                "{queries} in both. {}",
                escape_controls(&summary(&pair.measures))
            )),
            Block::Figure(figure),
            Block::Table(sizes),
        ],
    }
}

/// Summary of the verdicts in one sentence.
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
    let sentences: Vec<String> = verdicts
        .into_iter()
        .filter_map(|(verdict, words)| {
            let named = measures.iter().filter(|of| of.verdict == verdict);
            let named: Vec<&str> = named.map(|of| of.measure.as_str()).collect();
            (!named.is_empty()).then(|| format!("{words} {}", named.join(", ")))
        })
        .collect();
    if sentences.is_empty() {
        "No difference is shown.".to_owned()
    } else {
        format!("{}.", sentences.join("; "))
    }
}

fn of_ablation(comparison: &Comparison) -> Option<Section> {
    let steps = || {
        let steps = comparison.ablation.iter();
        steps.map(|step| (format!("{} → {}", name(&step.a), name(&step.b)), step))
    };
    steps().next()?;
    let mut gains = table(
        "Difference of each step by measure".to_owned(),
        [
            "measure",
            "step",
            "difference",
            "95 % interval",
            "Holm p",
            "verdict",
        ],
        2,
    );
    for (position, measure) in comparison.measures.iter().enumerate() {
        gains.rows.extend(steps().map(|(between, step)| {
            let of = &step.measures[position];
            vec![
                Cell::of(escape_controls(measure)),
                Cell::of(between),
                Cell::of(signed(of.paired.difference)),
                Cell::of(interval(of.paired.ci95)),
                Cell::of(probability(of.p_holm)),
                Cell::words(of.verdict.words()),
            ]
        }));
    }
    let series = steps().map(|(between, step)| (between, step.measures.iter().collect()));
    let figure = Figure {
        description: format!(
            "Each run against the one before it: the mean difference per query with its 95 % \
             interval, Holm p over the measures of the step.{}",
            left_out(&comparison.measures)
        ),
        chart: interval_chart(&comparison.measures, series),
        table: gains,
    };
    Some(Section {
        is_action: false,
        heading: "Gain of each step".to_owned(),
        blocks: vec![Block::Figure(figure)],
    })
}

fn of_interaction(interaction: &Interaction) -> Section {
    let [base, a, b, both] = interaction.runs.each_ref().map(|run| name(run));
    let mut effects = table(
        "Combined effect against the sum of the single ones".to_owned(),
        [
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
        1,
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
        effects.rows.push(vec![
            Cell::of(escape_controls(&of.test.measure)),
            Cell::of(signed(of.effect_a)),
            Cell::of(signed(of.effect_b)),
            Cell::of(signed(of.sum)),
            Cell::of(signed(of.combined)),
            Cell::of(signed(paired.difference)),
            Cell::of(interval(paired.ci95)),
            Cell::of(probability(of.test.p_holm)),
            Cell::words(verdict),
        ]);
    }
    let mut text = format!(
        "Effects over {base}: {a} (A), {b} (B), and {both} (combined), over {} that all four runs \
         have. Tested: the combined effect minus the sum of the single ones, per query.",
        count_of(interaction.common, "query", "queries")
    );
    if interaction.has_few_queries() {
        text.push_str(" With so few queries little can be shown.");
    }
    Section {
        is_action: false,
        heading: "Interaction".to_owned(),
        blocks: vec![Block::Paragraph(text), Block::Table(effects)],
    }
}

fn of_best(comparison: &Comparison) -> Option<Section> {
    let runs = &comparison.runs;
    let mut best = table(
        "Best run over all queries and by slice".to_owned(),
        ["slice", "measure", "best", "mean", "n"],
        2,
    );
    for slice in &comparison.best {
        for (measure, of) in comparison.measures.iter().zip(&slice.measures) {
            let Some(first) = of.best.first() else {
                continue;
            };
            let named: Vec<String> = of.best.iter().map(|run| name(&runs[*run])).collect();
            let named = if named.len() == runs.len() {
                "all the same".to_owned()
            } else {
                named.join(", ")
            };
            best.rows.push(vec![
                Cell::of(name_of(slice)),
                Cell::of(escape_controls(measure)),
                Cell::words(named),
                Cell::of(mean(of.means[*first])),
                Cell::count(of.n),
            ]);
        }
    }
    // If no measure has a preferred direction, no run is best.
    (!best.rows.is_empty()).then(|| Section {
        is_action: false,
        heading: "Best run".to_owned(),
        blocks: vec![
            Block::Table(best),
            Block::Paragraph(
                "By mean over the queries that all runs have a score for; runs that tie are named \
                 together. A higher mean alone is no difference shown."
                    .to_owned(),
            ),
        ],
    })
}

fn name_of(slice: &BestOfSlice) -> String {
    if slice.value.is_empty() {
        name(&slice.slice)
    } else {
        format!("{}={}", name(&slice.slice), name(&slice.value))
    }
}

/// Placeholder for an undefined number.
const UNDEFINED: &str = "-";

fn mean(number: Option<f64>) -> String {
    number.map_or_else(|| UNDEFINED.to_owned(), |number| format!("{number:.4}"))
}

fn signed(number: Option<f64>) -> String {
    number.map_or_else(|| UNDEFINED.to_owned(), with_sign)
}

/// Number with its sign, or without a sign if it prints as 0.
fn with_sign(number: f64) -> String {
    let printed = format!("{number:+.4}");
    if printed.trim_start_matches(['+', '-']) == "0.0000" {
        "0.0000".to_owned()
    } else {
        printed
    }
}

/// Signed percentage with one decimal.
fn percentage(share: Option<f64>) -> String {
    share.map_or_else(
        || UNDEFINED.to_owned(),
        |share| {
            let printed = format!("{:+.1} %", 100.0 * share);
            if printed == "-0.0 %" || printed == "+0.0 %" {
                "0.0 %".to_owned()
            } else {
                printed
            }
        },
    )
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

/// Probability with four digits. A value below 0.0001 is written as `<0.0001`.
fn probability(p: Option<f64>) -> String {
    match p {
        None => UNDEFINED.to_owned(),
        Some(p) if p < 0.0001 => "<0.0001".to_owned(),
        Some(p) => format!("{p:.4}"),
    }
}
