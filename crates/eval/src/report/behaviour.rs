//! User behaviour of runs in every format.

use super::csv::Row;
use super::document::{Block, Cell, Rows, number};
use super::names::name;
use crate::behaviour::{Behaviour, BehaviourMean};

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
    vec![table, Block::List(outcomes.collect())]
}

/// Rows of CSV about user behaviour.
pub(super) fn rows(behaviour: &[Behaviour]) -> impl Iterator<Item = Row> {
    parts(behaviour).flat_map(|(run, [label, value], means)| {
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
    })
}
