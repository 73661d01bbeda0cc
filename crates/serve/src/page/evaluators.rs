//! Evaluators: agreement with people, bias by variant, and its drift.

use maud::{Markup, html};

use super::format::{count, moment, score, signed, text, variant_name};
use crate::api::evaluators::{self, Drift, EvaluatorEntry, Evaluators};
use crate::http::Exposition;

/// Alarms about evaluators: they are read before those about systems. Nothing without one.
pub(super) fn alarms(exposition: &Exposition) -> Markup {
    let found = evaluators::of(exposition);
    let has_alarm = |it: &&EvaluatorEntry| it.drift.as_ref().is_some_and(|it| it.has_alarm);
    html! {
        @for it in found.evaluators.iter().filter(has_alarm) {
            p.incident-line { a href="/gold#evaluators" {
                span.bad { "▼" } " Evaluator " (name(it)) " changed" @if let Some(of) = &it.drift { (size(of)) }
                ": its values are not comparable with those before"
            } }
        }
    }
}

fn name(it: &EvaluatorEntry) -> Markup {
    html! { (text(&it.evaluator)) @if !it.version.is_empty() { " version " (text(&it.version)) } }
}

fn size(of: &Drift) -> Markup {
    html! { @if let Some(change) = &of.change {
        " by " (signed(change.estimate)) " since about " (moment(change.since))
    } }
}

/// Table of the evaluators; nothing without one.
pub(super) fn section(exposition: &Exposition) -> Markup {
    let Evaluators { evaluators } = evaluators::of(exposition);
    if evaluators.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="evaluators" {
            h2 #evaluators { "Evaluators" }
            div.scroll tabindex="0" role="group" aria-labelledby="evaluators" { table {
                thead { tr {
                    th.words scope="col" { "Evaluator" } th scope="col" { "Judged by people as well" } th scope="col" { "Kappa" }
                    th.words scope="col" { "Bias by system" } th.words scope="col" { "Drift" } th scope="col" { "Cost" }
                } }
                tbody { @for it in &evaluators { tr {
                    th.words scope="row" { (name(it)) }
                    td data-label="Judged by people as well" { (count(it.pairs)) }
                    td data-label="Kappa" { @if let Some(kappa) = it.kappa { (score(kappa)) } @else { span.name { "–" } } }
                    td.words data-label="Bias by system" { @for (place, of) in it.variants.iter().enumerate() {
                        @if place > 0 { " · " } (variant_name(&of.variant)) " " (signed(of.error))
                    } }
                    td.words data-label="Drift" { (drift(it.drift.as_ref())) }
                    td data-label="Cost" { (cost(it)) }
                } } }
            } }
            p.name { a href="/api/v1/evaluators" { "JSON" } }
        }
    }
}

fn cost(it: &EvaluatorEntry) -> Markup {
    html! {
        @if it.cost.is_empty() { span.name { "–" } }
        @for (place, of) in it.cost.iter().enumerate() {
            @if place > 0 { " · " } (format!("{:.2}", of.amount)) " " (of.currency)
        }
    }
}

fn drift(of: Option<&Drift>) -> Markup {
    html! {
        @match of {
            None => { span.name { "not compared with people" } }
            Some(of) if of.has_alarm => { strong.bad { "changed" } (size(of)) }
            Some(_) => { span.good { "✓" } " no change shown" }
        }
    }
}
