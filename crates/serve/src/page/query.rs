//! One gold query: its last rankings beside its judgements, before and after a change. Links lead to the
//! previous and the next query of the list that the reader came from.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::format::{
    address, count, duration, encoded, quantity, score, size, text, time, variant_name,
};
use super::screen::{Screen, empty};
use super::{chart, deployments};
use crate::api::AdminApi;
use crate::api::parameters::{Parameter, Parameters, VARIANT};
use crate::api::problem::ApiError;
use crate::api::queries::{self, Neighbour, ORDER, QUERY};
use crate::api::query::{
    self, CUTOFF, JudgedDocument, Query, RankedDocument, Ranking, RankingAnswer, VariantStats,
    query_detail,
};
use crate::api::timestamp::Timestamp;
use crate::live::deployments::Deployment;
use rankgauge_core::gold::Grade;

/// Parameters of the screen: those of the API, and the order of the list that the reader came from.
pub(super) const PARAMETERS: [Parameter; 3] = [VARIANT, CUTOFF, ORDER];

/// Number of documents shown of a ranking.
const SHOWN: &str = "10";

pub(super) fn screen(admin: &AdminApi, params: &Parameters) -> Result<Screen, ApiError> {
    let exposition = &admin.exposition;
    let cutoff = params.single("cutoff").unwrap_or(SHOWN);
    let all = Parameters::from_pairs(&query::PARAMETERS, [("cutoff", cutoff)]);
    let found = query_detail(exposition, &params.path, &all)?;
    let wanted = params.single("variant");
    let measure = super::queries::primary(admin);
    let control = exposition.names.settings.experiments.first();
    let control = control.map(|experiment| experiment.control.as_str());
    let scale = found
        .documents
        .iter()
        .map(|it| it.grade.get())
        .fold(1.0, f64::max);
    let deployed = exposition.control.deployments.latest();
    let view = View {
        query: &found,
        deployed: &deployed,
        measure: measure.as_deref(),
        scale,
    };
    let chosen = found
        .variants
        .iter()
        .find(|it| Some(it.variant.as_str()) == wanted);
    let content = html! {
        (neighbours(admin, params, (&found.key, measure.as_deref())))
        h1 { @match &found.text { Some(it) => (text(it)), None => (found.key) } }
        dl.facts {
            div { dt { "Id" } dd { (found.key) } }
            @if !found.aliases.is_empty() { div { dt { "Also" } dd { @for alias in &found.aliases { span.label { (text(alias)) } " " } } } }
            @for (name, value) in &found.labels { div { dt { (name) } dd { (text(value)) } } }
            div { dt { "Judged" } dd { (size(found.judged)) " documents, " (size(found.relevant)) " relevant" } }
        }
        (view.summary(wanted))
        @if found.variants.is_empty() {
            (empty("No search for this query yet", &html! { "Its rankings appear here as soon as a search with this query arrives." }))
        } @else if let Some(of) = chosen {
            (view.before_and_after(of, found.variants.iter().find(|it| Some(it.variant.as_str()) == control && it.variant != of.variant)))
        } @else {
            h2 { "Last rankings" }
            div.lists { @for of in &found.variants {
                (view.list_of(of))
            } }
        }
        (view.judgements())
    };
    Ok(Screen {
        title: found.text.clone().unwrap_or_else(|| found.key.clone()),
        tab: "queries",
        json: address(
            &format!("/api/v1/queries/{}", encoded(&found.key)),
            wanted.map(|variant| ("variant", variant)),
        ),
        content,
    })
}

/// Links to the previous and the next query of the same system in the order that the reader came from;
/// without one, by id.
fn neighbours(
    admin: &AdminApi,
    params: &Parameters,
    (key, measure): (&str, Option<&str>),
) -> Markup {
    let order = params.single("order");
    let variant = params.single("variant");
    let pairs = [
        ("order", order.unwrap_or(QUERY)),
        ("evidence", queries::ANY),
    ];
    let measure = measure.map(|measure| ("measure", measure));
    let of_variant = variant.map(|variant| ("variant", variant));
    let all = pairs.into_iter().chain(measure).chain(of_variant);
    let all = Parameters::from_pairs(&queries::PARAMETERS, all);
    // Without a measure of rankings there is no list.
    let [previous, next] = queries::neighbours(&admin.exposition, &all, key).unwrap_or_default();
    let given = [("variant", variant), ("order", order)];
    let given = given.map(|(name, value)| Some((name, value?)));
    let address = |of: &Neighbour| {
        let path = format!("/queries/{}", encoded(&of.key));
        address(&path, given.into_iter().flatten())
    };
    let name = |of: &Neighbour| text(of.text.as_ref().unwrap_or(&of.key));
    html! {
        @if previous.is_some() || next.is_some() {
            nav.neighbours aria-label="Queries beside this one" {
                @if let Some(of) = &previous { a rel="prev" href=(address(of)) { "← " (name(of)) } }
                " "
                @if let Some(of) = &next { a rel="next" href=(address(of)) { (name(of)) " →" } }
            }
        }
    }
}

struct View<'a> {
    query: &'a Query,
    /// Deployments of all variants, newest first.
    deployed: &'a [Deployment],
    measure: Option<&'a str>,
    /// Highest grade of the query, at least 1.
    scale: f64,
}

impl View<'_> {
    /// Scores of all systems with this query.
    fn summary(&self, wanted: Option<&str>) -> Markup {
        if self.query.variants.is_empty() {
            return html! {};
        }
        let measure = self.measure.unwrap_or_default();
        html! {
            div.scroll tabindex="0" role="group" aria-labelledby="summary" {
                table.summary {
                    caption #summary { (measure) " of this query by system. Dots: the last searches from left to right, from 0 to 1; dashed: baseline" @if !self.deployed.is_empty() { "; vertical line: deployment" } "." }
                    thead { tr { th scope="col" { "System" } th scope="col" { "Last searches" } th scope="col" { "Baseline" } th scope="col" { "Newest" } th scope="col" { "Mean" } th scope="col" { "Searches" } } }
                    tbody { @for of in &self.query.variants {
                        @let scores = of.scores.iter().find(|score| score.measure == measure);
                        @let points = || of.trend.iter().flat_map(|trend| &trend.scores);
                        @let trend: Vec<f64> = points().map(|it| it.score).collect();
                        @let times: Vec<Timestamp> = points().map(|it| it.time).collect();
                        @let marks = deployments::marks(self.deployed, &of.variant, &times);
                        @let baseline = scores.and_then(|score| score.baseline);
                        @let newest = of.rankings.first().and_then(|ranking| ranking.scores.get(measure)).copied();
                        tr.chosen[Some(of.variant.as_str()) == wanted] data-variant=(of.variant) {
                            th scope="row" { a href=(address("", [("variant", of.variant.as_str())])) data-row aria-current=[(Some(of.variant.as_str()) == wanted).then_some("true")] { (variant_name(&of.variant)) } }
                            td data-label="Last searches" { (chart::dots(&of.variant, &trend, baseline, &marks)) }
                            td data-label="Baseline" { @if let Some(it) = baseline { (score(it)) } @else { span.name { "–" } } }
                            td data-label="Newest" { @if let Some(it) = newest { (score(it)) } @else { span.name { "–" } } }
                            td data-label="Mean" { @if let Some(it) = scores { (score(it.mean)) } @else { span.name { "–" } } }
                            td data-label="Searches" { (count(of.searches)) }
                        }
                    } }
                }
            }
            @if wanted.is_some() { p { a href="?" { "All systems side by side" } } }
        }
    }

    /// Rankings of one system: the one before with the median score, the newest ones, and that of the
    /// control.
    fn before_and_after(&self, of: &VariantStats, control: Option<&VariantStats>) -> Markup {
        let mut newest = of.rankings.iter();
        let now = newest.next();
        let deployment = of.deployment.as_ref().map(|it| &it.deployment);
        let is_old =
            |it: &&Ranking| deployment.is_some_and(|deployment| it.time.0 < deployment.at());
        let is_deployed_now = now.is_some_and(|now| !is_old(&now));
        let is_other = |it: &&Ranking| now.is_none_or(|now| now.query_id != it.query_id);
        let before = of.reference.as_ref().filter(is_other);
        let before_deployment = before.filter(is_old);
        html! {
            h2 { "Rankings of " (variant_name(&of.variant))
                @match deployment {
                    Some(it) if is_deployed_now && before_deployment.is_some() => { ", before and after the deployment of " (text(&it.version)) },
                    _ => ", before and now",
                }
            }
            @if let Some(it) = deployment {
                p.name.deployed { "Deployed: " (deployments::version(it))
                    @if !is_deployed_now { ". No search for this query since then." }
                    @else if before_deployment.is_none() { ". No ranking from before is kept." }
                }
            }
            @if let (Some(before), Some(now)) = (before, now) { (self.aligned(before, now)) }
            div.lists.pair {
                @if before.is_some() { (self.list("Before: median of the baseline", before, None)) }
                (self.list("Now", now, before))
                @if let Some(control) = control {
                    (self.list(&format!("Now, control {}", control.variant), control.rankings.first(), None))
                }
            }
            @if of.rankings.len() > 1 {
                details {
                    summary { (of.rankings.len() - 1) " earlier rankings" }
                    div.lists { @for ranking in newest { (self.list("Earlier", Some(ranking), before)) } }
                }
            }
        }
    }

    /// Two rankings in one table: a row for each document, in the order of the second ranking. Documents
    /// that only the first one has follow.
    fn aligned(&self, before: &Ranking, now: &Ranking) -> Markup {
        let rank = |of: &Ranking, id: &str| {
            let mut documents = of.documents.iter();
            documents.find(|it| it.id == id).map(|it| it.rank)
        };
        let kept = now.documents.iter().filter(|it| !it.repeated);
        let lost = before.documents.iter().filter(|it| !it.repeated);
        let lost = lost.filter(|it| rank(now, &it.id).is_none());
        let cell = |rank: Option<usize>| html! { @match rank { Some(rank) => (rank), None => span.name { "–" } } };
        html! {
            div.scroll tabindex="0" role="group" aria-labelledby="aligned" { table.aligned {
                caption #aligned { "Rank of each document before and now. “–”: not among the first " (now.documents.len().max(before.documents.len())) "." }
                thead { tr { th scope="col" { "Document" } th scope="col" { "Grade" } th scope="col" { "Before" } th scope="col" { "Now" } th.words scope="col" { "Change" } } }
                tbody { @for document in kept.chain(lost) {
                    @let ranks = (rank(before, &document.id), rank(now, &document.id));
                    @let is_relevant = document.grade.is_some_and(|it| it.is_relevant_at(self.query.relevance_level));
                    tr data-document=(document.id) {
                        th scope="row" { span.document { (text(&document.id)) } }
                        td data-label="Grade" { (self.chip(document.grade, false)) }
                        td data-label="Before" { (cell(ranks.0)) }
                        td data-label="Now" { (cell(ranks.1)) }
                        td.words data-label="Change" { @match ranks {
                            (_, Some(now)) => (moved(now, ranks.0)),
                            (_, None) if is_relevant => span.bad { "▼ lost" },
                            (_, None) => span.moved { "gone" },
                        } }
                    }
                } }
            } }
        }
    }

    fn list_of(&self, of: &VariantStats) -> Markup {
        let title = if of.variant.is_empty() {
            "no variant"
        } else {
            &of.variant
        };
        self.list(title, of.rankings.first(), of.reference.as_ref())
    }

    /// One ranking. `before` is the ranking that positions are compared with.
    fn list(&self, title: &str, ranking: Option<&Ranking>, before: Option<&Ranking>) -> Markup {
        let Some(ranking) = ranking else {
            return html! {};
        };
        let before: Option<BTreeMap<&str, usize>> = before.map(|before| {
            let documents = before.documents.iter().rev();
            documents.map(|it| (it.id.as_str(), it.rank)).collect()
        });
        let value = self.measure.and_then(|measure| ranking.scores.get(measure));
        html! {
            article.list {
                h3 { (text(title)) }
                p.name { (time(ranking.time))
                    @if let Some(value) = value { ", " (self.measure.unwrap_or_default()) " " strong { (score(*value)) } }
                    ", search " span.id { (ranking.query_id) }
                }
                ol.ranking { @for document in &ranking.documents { (self.document(document, before.as_ref())) } }
                @if ranking.length > ranking.documents.len() { p.name { "and " (size(ranking.length - ranking.documents.len())) " more" } }
                @if let Some(answer) = &ranking.answer { (self.answer(answer)) }
                @if !ranking.missing.is_empty() {
                    h4 { "Relevant and not in the list" }
                    ul.missing { @for document in &ranking.missing {
                        li { (self.missing(document, before.as_ref())) }
                    } }
                }
            }
        }
    }

    fn document(
        &self,
        document: &RankedDocument,
        before: Option<&BTreeMap<&str, usize>>,
    ) -> Markup {
        html! {
            li {
                span.rank { (document.rank) }
                (self.chip(document.grade, document.repeated))
                span.document { (text(&document.id)) }
                @if let Some(before) = before { (moved(document.rank, before.get(document.id.as_str()).copied())) }
                span.origin {
                    @for component in &document.components { span.label.component { (component) } " " }
                    @for stage in &document.stages { span.label { (stage) } " " }
                    @if let Some(it) = document.score { span.name title="score of the search system" { (quantity(it)) } }
                }
                @let users = &document.users;
                @if users.clicks > 0 || users.dwell_seconds > 0.0 || users.conversions > 0 {
                    span.users {
                        @if users.clicks > 0 { span.label.user { (users.clicks) @if users.clicks == 1 { " click" } @else { " clicks" } } " " }
                        @if users.dwell_seconds > 0.0 { span.label.user { "dwell " (duration(users.dwell_seconds)) } " " }
                        @if users.conversions > 0 { span.label.user { "converted" } }
                    }
                }
            }
        }
    }

    /// Citations of an answer by their grades. Its text is not kept.
    fn answer(&self, of: &RankingAnswer) -> Markup {
        html! {
            h4 { @if of.refused { "The model declined to answer" } @else { "The answer cites" } }
            @if of.citations.is_empty() && !of.refused { p.name { "no document" } }
            ul.missing { @for it in &of.citations { li {
                (self.chip(it.grade, false))
                span.document { (text(&it.id)) }
                @if !it.served { span.bad { "✗ was not retrieved" } }
            } } }
            @if of.cited > of.citations.len() { p.name { "and " (size(of.cited - of.citations.len())) " more" } }
        }
    }

    fn missing(&self, document: &JudgedDocument, before: Option<&BTreeMap<&str, usize>>) -> Markup {
        html! {
            (self.chip(Some(document.grade), false))
            span.document { (text(&document.id)) }
            @if let Some(rank) = before.and_then(|before| before.get(document.id.as_str())) {
                span.bad { "▼ was at " (rank) }
            }
        }
    }

    /// Grade as a coloured chip with its number.
    fn chip(&self, grade: Option<Grade>, is_repeated: bool) -> Markup {
        let Some(grade) = grade else {
            let title = if is_repeated {
                "repeated document"
            } else {
                "not judged"
            };
            return html! { span.chip.unjudged title=(title) { @if is_repeated { "=" } @else { "?" } span.unseen { (title) } } };
        };
        let is_relevant = grade.is_relevant_at(self.query.relevance_level);
        let level = match grade.get() / self.scale {
            _ if !is_relevant => "g0",
            share if share > 0.67 => "g3",
            share if share > 0.34 => "g2",
            _ => "g1",
        };
        html! { span class={ "chip " (level) } title={ "grade " (grade) } { (grade) span.unseen { " grade" } } }
    }

    fn judgements(&self) -> Markup {
        html! {
            @if !self.query.documents.is_empty() {
                details {
                    summary { (size(self.query.documents.len())) " judged documents" }
                    ul.missing { @for document in &self.query.documents { li { (self.missing(document, None)) } } }
                }
            }
        }
    }
}

/// Movement of a document against the earlier ranking.
fn moved(rank: usize, before: Option<usize>) -> Markup {
    match before {
        None => html! { span.moved { "new" } },
        Some(before) if before > rank => html! { span.moved { "↑" (before - rank) } },
        Some(before) if before < rank => html! { span.moved { "↓" (rank - before) } },
        Some(_) => html! { span.moved { "=" } },
    }
}
