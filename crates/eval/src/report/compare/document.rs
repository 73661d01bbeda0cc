//! Readable document of a comparison, by section. The text, Markdown and HTML outputs render it.

use crate::compare::{BestOfSlice, Comparison, Interaction, MeasureComparison, Pair, Verdict};
use crate::gate::Check;
use crate::report::chart::{Chart, Estimate, Intervals};
use crate::report::document::{
    Block, Cell, Document, Figure, Place, Rows, Section, interval, percentage, signed,
};
use crate::report::names::name;
use crate::report::{checks, errors};
use crate::text_layout::{count_of, escape_controls, probability};
use rankgauge_core::statistics::Settings;

/// Maximum number of measures in a chart, taken from the first. The table beside the chart has all.
const MAX_DRAWN_MEASURES: usize = 12;

/// Builds the document of a comparison.
pub(super) fn document(comparison: &Comparison, gate: &[Check]) -> Document {
    let mut sections = Vec::new();
    if !gate.is_empty() {
        sections.push(Section::new("Gate", checks::blocks(gate)).at(Place::Action));
    }
    let pairs = comparison.comparisons.iter().map(of_pair);
    // One comparison supports the verdict; of many, each has a sentence in it.
    sections.extend(pairs.map(|section| match comparison.comparisons.len() {
        1 => section.at(Place::Main),
        _ => section,
    }));
    sections.extend(forest(comparison));
    let tested = Block::Paragraph(test_description(comparison));
    sections.push(Section::new("What was tested", vec![tested]));
    sections.extend(of_ablation(comparison));
    sections.extend(of_several(comparison));
    sections.extend(comparison.interaction.as_ref().map(of_interaction));
    sections.extend(of_best(comparison));
    sections.extend(of_overlaps(comparison));
    sections.extend(comparison.errors.as_ref().map(errors::section));
    if !comparison.warnings.is_empty() {
        let warnings = comparison.warnings.iter().map(|it| escape_controls(it));
        let warnings = Block::List(warnings.collect());
        sections.push(Section::new("Notes", vec![warnings]));
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
    .in_order()
}

/// Differences of all runs from the first in the first measure, on one axis.
fn forest(comparison: &Comparison) -> Option<Section> {
    let first = comparison.measures.first()?;
    if comparison.comparisons.len() < 2 {
        return None;
    }
    let pairs = comparison.comparisons.iter();
    let found: Vec<(&Pair, &MeasureComparison)> = pairs
        .filter_map(|pair| Some((pair, pair.measures.first()?)))
        .collect();
    let measure = escape_controls(first);
    let base = name(comparison.runs.first()?);
    let table = Rows::of(&found)
        .column("run", |(pair, _)| name(&pair.b))
        .column("difference", |(_, of)| {
            defined(of.paired.difference, signed)
        })
        .column("interval", |(_, of)| defined(of.simultaneous, interval))
        .column("verdict", |(_, of)| Cell::words(of.verdict.words()))
        .table(format!("{measure} of each run against {base}"), 1);
    let estimates = found.iter().map(|(_, of)| Estimate {
        value: of.paired.difference,
        ends: of.simultaneous,
    });
    let figure = Figure {
        description: format!(
            "Mean difference in {measure} per query of each run from {base}, with the interval of its test."
        ),
        chart: Chart::Intervals(Intervals {
            x_label: format!("{measure}, minus {base}"),
            rows: found.iter().map(|(pair, _)| name(&pair.b)).collect(),
            series: vec![(measure.clone(), estimates.collect())],
        }),
        table,
    };
    let blocks = vec![Block::Figure(figure)];
    Some(Section::new(format!("All runs against {base}"), blocks).at(Place::Main))
}

/// Verdict about every run against the first.
fn verdict(comparison: &Comparison) -> Vec<String> {
    let pairs = comparison.comparisons.iter();
    pairs
        .map(|pair| {
            let text = summary(&pair.b, &pair.measures);
            format!(
                "{} (B) against {} (A): {}",
                name(&pair.b),
                name(&pair.a),
                escape_controls(&text)
            )
        })
        .collect()
}

/// Interval chart of the measures, with one series for each list in `tests`.
fn interval_chart<'a>(
    measures: &[String],
    tests: impl Iterator<Item = (String, Vec<&'a MeasureComparison>)>,
) -> Chart {
    let estimate = |of: &MeasureComparison| Estimate {
        value: of.paired.difference,
        ends: of.simultaneous,
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
         p < {}, and the interval, with the same correction, excludes 0. Where the differences of fewer than 30 queries are skewed, or all differences are equal, the permutation test decides. BCa: bootstrap of {} resamples. Permutation p: exact where at most {most} \
         queries differ, or all by the same amount, else of {} sign flips.",
        comparison.alpha,
        comparison.statistics.bootstraps,
        comparison.statistics.permutations,
        most = Settings::MAX_EXACT_DIFFERENCES,
    )
}

fn of_pair(pair: &Pair) -> Section {
    let queries = count_of(pair.common, "query", "queries");
    let heading = format!("{} (A) against {} (B)", name(&pair.a), name(&pair.b));
    let tests = Rows::of(&pair.measures)
        .column("measure", |of| escape_controls(&of.measure))
        .column("mean A", |of| defined(of.paired.a, mean))
        .column("mean B", |of| defined(of.paired.b, mean))
        .column("difference", |of| defined(of.paired.difference, signed))
        .column("relative", |of| defined(of.relative(), percentage))
        .column("interval", |of| defined(of.simultaneous, interval))
        .column("p", |of| defined(of.paired.p, probability))
        .column("Holm p", |of| defined(of.p_holm, probability))
        .column("verdict", |of| Cell::words(of.verdict.words()))
        .table(
            format!("Differences, {} minus {}", name(&pair.b), name(&pair.a)),
            1,
        );
    let sizes = Rows::of(&pair.measures)
        .column("measure", |of| escape_controls(&of.measure))
        .column("n", |of| of.paired.n)
        .column("t", |of| defined(of.paired.t, short))
        .column("d_z", |of| defined(of.paired.d_z, short))
        .column("d_av", |of| defined(of.paired.d_av, short))
        .column("95 % interval alone", |of| {
            defined(of.paired.ci95, interval)
        })
        .column("permutation p", |of| {
            defined(of.paired.p_permutation, probability)
        })
        .column("BCa 95 % interval", |of| defined(of.paired.bca95, interval))
        .table(format!("Sizes and resampling, {heading}"), 1);
    let measures: Vec<String> = pair.measures.iter().map(|of| of.measure.clone()).collect();
    let series = (name(&pair.b), pair.measures.iter().collect());
    let figure = Figure {
        description: format!(
            "Each measure's mean difference per query, B minus A, with its interval, corrected as the test is.{}",
            left_out(&measures)
        ),
        chart: interval_chart(&measures, [series].into_iter()),
        table: tests,
    };
    let summary = escape_controls(&summary(&pair.b, &pair.measures));
    let blocks = vec![
        Block::Paragraph(format!("{queries} in both. {summary}")),
        Block::Figure(figure),
        Block::Table(sizes),
    ];
    Section::new(heading, blocks)
}

/// Summary of the verdicts in one sentence.
fn summary(run: &str, measures: &[MeasureComparison]) -> String {
    if measures.iter().all(|of| of.verdict == Verdict::Identical) {
        return "The runs are identical: every query has the same score in both.".to_owned();
    }
    let verdicts = [
        (Verdict::Better, "better"),
        (Verdict::Worse, "worse"),
        (Verdict::Higher, "higher"),
        (Verdict::Lower, "lower"),
    ];
    let sentences: Vec<String> = verdicts
        .into_iter()
        .filter_map(|(verdict, words)| {
            let named = measures.iter().filter(|of| of.verdict == verdict);
            let named: Vec<&str> = named.map(|of| of.measure.as_str()).collect();
            (!named.is_empty()).then(|| format!("{} is {words} by {}", name(run), named.join(", ")))
        })
        .collect();
    if sentences.is_empty() {
        "No difference is shown.".to_owned()
    } else {
        format!("{}.", sentences.join("; "))
    }
}

/// Overlap of the results, independent of their relevance.
fn of_overlaps(comparison: &Comparison) -> Option<Section> {
    let first = comparison.overlaps.first()?;
    let table = Rows::of(&comparison.overlaps)
        .column("A", |of| name(&of.a))
        .column("B", |of| name(&of.b))
        .column("mean RBO", |of| defined(of.mean, mean))
        .column("queries", |of| of.queries.len())
        .table("Rank-biased overlap".to_owned(), 2);
    let about = format!(
        "Rank-biased overlap of the results per query, with p = {}: 1 if both runs return the same documents in the \
         same order, 0 if they share none.",
        first.p
    );
    let blocks = vec![Block::Paragraph(about), Block::Table(table)];
    Some(Section::new("Overlap of the results", blocks))
}

fn of_ablation(comparison: &Comparison) -> Option<Section> {
    let steps = || {
        let steps = comparison.ablation.iter();
        steps.map(|step| (format!("{} → {}", name(&step.a), name(&step.b)), step))
    };
    steps().next()?;
    let measures = comparison.measures.iter().enumerate();
    let rows = measures.flat_map(|(position, measure)| {
        steps().map(move |(between, step)| (measure, between, &step.measures[position]))
    });
    let gains = Rows::of(rows)
        .column("measure", |(measure, ..)| escape_controls(measure))
        .column("step", |(_, between, _)| between.clone())
        .column("difference", |(.., of)| {
            defined(of.paired.difference, signed)
        })
        .column("interval", |(.., of)| defined(of.simultaneous, interval))
        .column("Holm p", |(.., of)| defined(of.p_holm, probability))
        .column("verdict", |(.., of)| Cell::words(of.verdict.words()))
        .table("Difference of each step by measure", 2);
    let series = steps().map(|(between, step)| (between, step.measures.iter().collect()));
    let figure = Figure {
        description: format!(
            "Each run against the one before it: the mean difference per query with its \
             interval, corrected as the test is, Holm p over the measures of the step.{}",
            left_out(&comparison.measures)
        ),
        chart: interval_chart(&comparison.measures, series),
        table: gains,
    };
    let blocks = vec![Block::Figure(figure)];
    Some(Section::new("Gain of each step", blocks))
}

fn of_several(comparison: &Comparison) -> Option<Section> {
    let runs = &comparison.runs;
    let run = |at: usize| runs.get(at).map_or_else(String::new, |run| name(run));
    let rows = comparison.several.iter().flat_map(|several| {
        let pairs = several.tested.pairs.iter();
        pairs.map(move |pair| (several, pair))
    });
    let table = Rows::of(rows)
        .column("measure", |(several, _)| escape_controls(&several.measure))
        .column("A", |(_, pair)| run(pair.a))
        .column("B", |(_, pair)| run(pair.b))
        .column("difference", |(_, pair)| signed(pair.difference))
        .column("Tukey p", |(_, pair)| defined(pair.p_tukey, probability))
        .column("randomised p", |(_, pair)| probability(pair.p_randomised))
        .column("n", |(several, _)| several.n)
        .block("All pairs of runs", 3)?;
    let trials = comparison.several.iter().map(|it| it.tested.trials).min();
    let note = format!(
        "Both p hold for all pairs of runs together: Tukey's honestly significant difference, and the \
         same with the scores of each query shuffled among the runs, of {} trials. They are over the \
         queries that all runs have a score for.",
        trials.unwrap_or(0)
    );
    let blocks = vec![table, Block::Paragraph(note)];
    Some(Section::new("All pairs", blocks))
}

fn of_interaction(interaction: &Interaction) -> Section {
    let [base, a, b, both] = interaction.runs.each_ref().map(|run| name(run));
    let verdict = |of: &MeasureComparison| match (of.verdict, of.paired.difference) {
        (Verdict::Identical, _) => "equals the sum",
        (Verdict::NotShown, _) => "no interaction shown",
        (Verdict::NotTested, _) | (_, None) => "not tested",
        (_, Some(difference)) if difference > 0.0 => "above the sum",
        (_, Some(_)) => "below the sum",
    };
    let effects = Rows::of(&interaction.measures)
        .column("measure", |of| escape_controls(&of.test.measure))
        .column("effect A", |of| defined(of.effect_a, signed))
        .column("effect B", |of| defined(of.effect_b, signed))
        .column("sum", |of| defined(of.sum, signed))
        .column("combined", |of| defined(of.combined, signed))
        .column("interaction", |of| {
            defined(of.test.paired.difference, signed)
        })
        .column("interval", |of| defined(of.test.simultaneous, interval))
        .column("Holm p", |of| defined(of.test.p_holm, probability))
        .column("verdict", |of| Cell::words(verdict(&of.test)))
        .table("Combined effect against the sum of the single ones", 1);
    let mut text = format!(
        "Effects over {base}: {a} (A), {b} (B), and {both} (combined), over {} that all four runs \
         have. Tested: the combined effect minus the sum of the single ones, per query.",
        count_of(interaction.common, "query", "queries")
    );
    if interaction.has_few_queries() {
        text.push_str(" With so few queries little can be shown.");
    }
    let blocks = vec![Block::Paragraph(text), Block::Table(effects)];
    Section::new("Interaction", blocks)
}

fn of_best(comparison: &Comparison) -> Option<Section> {
    let runs = &comparison.runs;
    let named = |best: &[usize]| {
        let named: Vec<String> = best.iter().map(|run| name(&runs[*run])).collect();
        if named.len() == runs.len() {
            "all the same".to_owned()
        } else {
            named.join(", ")
        }
    };
    let rows = comparison.best.iter().flat_map(|slice| {
        let measures = comparison.measures.iter().zip(&slice.measures);
        measures
            .filter_map(move |(measure, of)| Some((slice, measure, of, of.best.first().copied()?)))
    });
    // If no measure has a preferred direction, no run is best.
    let best = Rows::of(rows)
        .column("slice", |(slice, ..)| name_of(slice))
        .column("measure", |(_, measure, ..)| escape_controls(measure))
        .column("best", |(_, _, of, _)| Cell::words(named(&of.best)))
        .column("mean", |(_, _, of, first)| defined(of.means[*first], mean))
        .column("n", |(_, _, of, _)| of.n)
        .block("Best run over all queries and by slice", 2)?;
    let note = "By mean over the queries that all runs have a score for; runs that tie are named \
                together. A higher mean alone is no difference shown.";
    let blocks = vec![best, Block::Paragraph(note.to_owned())];
    Some(Section::new("Best run", blocks))
}

fn name_of(slice: &BestOfSlice) -> String {
    if slice.value.is_empty() {
        name(&slice.slice)
    } else {
        format!("{}={}", name(&slice.slice), name(&slice.value))
    }
}

/// Cell of a number, as `text` formats it, or a hyphen if it is undefined.
fn defined<N>(number: Option<N>, text: impl Fn(N) -> String) -> Cell {
    Cell::of(number.map_or_else(|| "-".to_owned(), text))
}

fn mean(number: f64) -> String {
    format!("{number:.4}")
}

fn short(number: f64) -> String {
    format!("{number:.3}")
}
