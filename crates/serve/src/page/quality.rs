//! Quality of all traffic of a system, estimated from labels.

use maud::{Markup, html};

use super::format::{ABSENT, count, encoded, interval, moment, quantity, score, share};
use crate::api::parameters::Parameters;
use crate::api::quality;
use crate::http::Exposition;

/// Estimates of a variant; nothing without labels.
pub(super) fn section(exposition: &Exposition, variant: &str) -> Markup {
    let params = Parameters::from_pairs(&quality::PARAMETERS, [("variant", variant)]);
    let estimates = quality::of(exposition, &params).estimates;
    let Some(first) = estimates.first() else {
        return html! {};
    };
    html! {
        h2 #quality { "Quality of all traffic" }
        p { (count(first.labels)) " of " (count(first.requests)) " requested labels, " (count(first.searches)) " searches since " (moment(first.window))
            "; " (share(first.known_share)) " of the results needed no label." }
        div.scroll tabindex="0" role="group" aria-labelledby="quality" { table {
            thead { tr { th.words scope="col" { "Measure" } th scope="col" { "Mean" } th scope="col" { "95 % at any time" } th scope="col" { "Evidence of a drop" } } }
            tbody { @for it in &estimates { tr {
                th.words scope="row" { (it.measure) }
                td data-label="Mean" { (score(it.mean)) }
                td data-label="95 % at any time" { @match interval(it.lower, it.upper, " to ") { Some(bounds) => (bounds), None => (ABSENT) } }
                td data-label="Evidence of a drop" { @if let Some(evidence) = it.drop_log_evidence { (quantity(evidence)) } @else { span.name { "–" } } }
            } } }
        } }
        p.name { a href={ "/api/v1/quality?variant=" (encoded(variant)) } { "JSON" } }
    }
}
