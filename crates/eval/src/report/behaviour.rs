//! User behaviour of runs in every format.

use super::csv::Row;
use super::document::{Block, Cell, Rows, number};
use super::names::name;
use crate::behaviour::{Behaviour, BehaviourMean};
use rankgauge_core::detection::SplitTest;

/// All means of the runs, then those of their slices: the run, the label, its value and the means.
fn parts(behaviour: &[Behaviour]) -> impl Iterator<Item = (&str, [&str; 2], &[BehaviourMean])> {
    behaviour.iter().flat_map(|of| {
        let slices = of.by.iter().map(|slice| {
            let part = [slice.label.as_str(), slice.value.as_str()];
            (of.run.as_str(), part, slice.measures.as_slice())
        });
        [(of.run.as_str(), ["", ""], of.measures.as_slice())]
            .into_iter()
            .chain(slices)
    })
}

/// Blocks of the section about user behaviour; empty without data.
pub(super) fn blocks(behaviour: &[Behaviour]) -> Vec<Block> {
    let Some(first) = behaviour.first() else {
        return Vec::new();
    };
    let means = Rows::of(parts(behaviour))
        .column("run", |(run, ..)| name(run))
        .column("part", |(_, [label, value], _)| {
            if label.is_empty() {
                "all".to_owned()
            } else {
                format!("{}={}", name(label), name(value))
            }
        })
        .columns(
            first.measures.iter().enumerate(),
            |(_, of)| of.measure.clone(),
            |(.., means), (at, _)| {
                let n = means[*at].n;
                Cell::optional(means[*at].mean, |mean| format!("{} ({n})", number(mean)))
            },
        );
    let caption = "Means of user measures, with the number of searches behind each";
    let table = Block::Table(means.table(caption, 2));
    let outcomes = behaviour.iter().map(|of| {
        let feedback = of.feedback.iter();
        let feedback = feedback.filter(|(_, count)| *count > 0);
        let feedback: Vec<String> = feedback
            .map(|(outcome, count)| format!("{count} {outcome}"))
            .collect();
        format!(
            "{}: {} searches; feedback events: {}",
            name(&of.run),
            of.searches,
            if feedback.is_empty() {
                "none".to_owned()
            } else {
                feedback.join(", ")
            }
        )
    });
    let mut blocks = vec![table, Block::List(outcomes.collect())];
    blocks.extend(interleaving(behaviour));
    blocks
}

/// Table of the teams of interleaved rankings. `None` without any.
fn interleaving(behaviour: &[Behaviour]) -> Option<Block> {
    let pairs = behaviour
        .iter()
        .flat_map(|of| of.interleaving.iter().map(|pair| (of.run.as_str(), pair)));
    let rows = Rows::of(pairs)
        .column("run", |(run, _)| name(run))
        .column("experiment", |(_, pair)| name(&pair.experiment))
        .column("team", |(_, pair)| name(&pair.team))
        .column("against", |(_, pair)| name(&pair.against))
        .column("wins", |(_, pair)| pair.wins.to_string())
        .column("losses", |(_, pair)| pair.losses.to_string())
        .column("ties", |(_, pair)| pair.ties.to_string())
        .column("delta", |(_, pair)| number(pair.delta))
        .column("evidence", |(_, pair)| number(pair.log_evidence))
        .column("verdict", |(_, pair)| {
            if pair.log_evidence < SplitTest::threshold() {
                "not decided".to_owned()
            } else if pair.delta > 0.0 {
                format!("users prefer {}", name(&pair.team))
            } else {
                format!("users prefer {}", name(&pair.against))
            }
        });
    let caption = "Interleaved rankings: sessions by the team with more distinct clicked results. The \
                   evidence is a log e-value, and 6.91 decides";
    rows.block(caption, 4)
}

/// Rows of CSV about user behaviour.
pub(super) fn rows(behaviour: &[Behaviour]) -> impl Iterator<Item = Row> {
    let preferences = behaviour.iter().flat_map(|of| {
        of.interleaving.iter().map(|pair| Row {
            table: "interleaving",
            run: of.run.clone(),
            slice: pair.team.clone(),
            value: pair.against.clone(),
            measure: "delta".to_owned(),
            score: Some(pair.delta),
            n: usize::try_from(pair.wins + pair.losses + pair.ties).ok(),
            text: format!(
                "{} wins, {} losses, {} ties, evidence {}",
                pair.wins, pair.losses, pair.ties, pair.log_evidence
            ),
        })
    });
    let means = parts(behaviour).flat_map(|(run, [label, value], means)| {
        means.iter().map(move |of| Row {
            table: "behaviour",
            run: run.to_owned(),
            slice: label.to_owned(),
            value: value.to_owned(),
            measure: of.measure.clone(),
            score: of.mean,
            n: usize::try_from(of.n).ok(),
            ..Row::default()
        })
    });
    means.chain(preferences)
}
