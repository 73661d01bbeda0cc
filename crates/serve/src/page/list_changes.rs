//! Change of the result lists of a system since its version before.

use maud::{Markup, html};

use super::format::{count, encoded, share, text};
use crate::api::list_changes::{Comparison, Estimate};
use crate::http::Exposition;
use crate::live::list_changes::ListChanges;

/// Maximum number of shown queries.
const MAX_SHOWN: usize = 10;

/// Change of the lists of a variant; nothing while it has had one version.
pub(super) fn section(exposition: &Exposition, variant: &str) -> Markup {
    let latest = exposition.published.list_changes.as_ref();
    let latest = latest.map(ListChanges::latest).unwrap_or_default();
    let found = latest.iter().find(|it| *it.version.variant == *variant);
    let Some(it) = found.map(Comparison::from) else {
        return html! {};
    };
    html! {
        h2 #lists { "Result lists" }
        p { "Version " strong { (version(&it.version)) } " against " strong { (version(&it.with_version)) } ", as of now: "
            @if let Some(words) = &it.text { (words) "." } @else { "no query has two lists by each of them yet." } }
        @if it.queries > 0 {
            dl.facts {
                div { dt { "Compared queries" } dd { (count(u64::try_from(it.queries).unwrap_or(u64::MAX))) } }
                (fact("Changed", it.changed))
                (fact("Overlap", it.overlap))
                (fact("Rank-biased overlap", it.rbo))
            }
        }
        @if it.is_change && !it.most_changed.is_empty() {
            div.scroll tabindex="0" role="group" aria-labelledby="lists" { table {
                thead { tr { th.words scope="col" { "Most changed query" } th scope="col" { "Overlap" } th scope="col" { "RBO" } th scope="col" { "Searches" } } }
                tbody { @for of in it.most_changed.iter().take(MAX_SHOWN) { tr {
                    th.words scope="row" { (text(&of.query)) }
                    td data-label="Overlap" { (share(of.overlap)) }
                    td data-label="RBO" { (share(of.rbo)) }
                    td data-label="Searches" { (count(of.searches)) }
                } } }
            } }
        }
        p.name { "A change has no direction: lists can be better or worse. "
            code { "rankgauge label draw" } " draws results whose judgements decide. "
            a href={ "/api/v1/list-changes?variant=" (encoded(variant)) } { "JSON" } }
    }
}

fn version(of: &str) -> &str {
    if of.is_empty() { "before" } else { of }
}

fn fact(name: &str, of: Option<Estimate>) -> Markup {
    html! {
        @if let Some(of) = of {
            div { dt { (name) } dd { (share(of.mean)) " " span.name { "(" (share(of.lower)) " to " (share(of.upper)) ")" } } }
        }
    }
}
