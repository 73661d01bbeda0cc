//! Two deployments of a system side by side: the results of their periods.

use hyper::StatusCode;
use maud::{Markup, html};

use super::experiments::verdict;
use super::format::{
    address, count, duration, interval, moment, quantity, score, signed, signed_share, text,
};
use super::scores::columns;
use crate::api::parameters::{Parameter, Parameters};
use crate::api::problem::ApiError;
use crate::api::queries::REGRESSED;
use crate::api::systems::{Difference, MeasureInfo, Systems};
use crate::live::deployments::{Deployment, Period, PeriodScore};
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::text::count_of;
use rankgauge_core::time::EventTime;

/// Versions of the two deployments that are compared.
pub(super) const FROM: Parameter = Parameter::text("from", "Version of the first deployment.");
pub(super) const TO: Parameter = Parameter::text("to", "Version of the second deployment.");

/// Maximum number of deployments of a system that can be chosen.
const MAX_CHOICES: usize = 10;

/// Deployments that are compared, and the results of their periods.
type Pair<'a> = [(&'a Deployment, Option<&'a Period>); 2];

/// Two deployments of a system side by side: those of the parameters `from` and `to`, else the last two.
/// `deployments` are those of the system, newest first. The version before the first one counts as one.
/// Nothing with fewer than two.
pub(super) fn section(
    deployments: &[&Deployment],
    systems: &Systems,
    params: &Parameters,
) -> Result<Markup, ApiError> {
    let first = version_before(deployments);
    let deployments: Vec<&Deployment> = deployments.iter().copied().chain(&first).collect();
    let deployments = &*deployments;
    let Some([from, to]) = chosen(deployments, params)? else {
        return Ok(html! {});
    };
    let pair: Pair<'_> = [from, to].map(|it| (it, it.period.as_deref()));
    let has_scores = |info: &&MeasureInfo| {
        let mut periods = pair.iter().filter_map(|(_, period)| *period);
        periods.any(|it| score_of(it, &info.measure).is_some())
    };
    let is_first = |info: &&MeasureInfo| {
        let is_shown = change(pair, &info.measure).is_some_and(|it| it.is_shown());
        is_shown || columns(systems).iter().any(|it| it.measure == info.measure)
    };
    let measures = systems.measures.iter().filter(has_scores);
    let (first, rest): (Vec<_>, Vec<_>) = measures.partition(is_first);
    let measures = |of: &[&MeasureInfo]| {
        html! { @for info in of {
            (row(&info.measure, pair, &|it| score_of(it, &info.measure).map(mean_of), change(pair, &info.measure).map(|it| change_of(info.direction, it))))
        } }
    };
    let currencies = pair.iter().filter_map(|(_, period)| *period);
    let mut currencies: Vec<&String> = currencies.flat_map(|it| it.costs.keys()).collect();
    currencies.sort_unstable();
    currencies.dedup();
    let time = |it: i64| moment(EventTime(it));
    let head = html! {
        thead { tr { th scope="col" { "Period" } @for (it, _) in &pair { th scope="col" { (version_name(it)) " " span.name { (time(it.ts)) } } } th scope="col" { "Change" } } }
    };
    Ok(html! {
        section aria-labelledby="compare" {
            h2 #compare { "Two deployments side by side" }
            div.heading { (choice("First", deployments, [from, to], 0)) (choice("Second", deployments, [from, to], 1)) }
            div.scroll tabindex="0" role="group" aria-labelledby="compare" { table.narrow.pair {
                caption { "Means of all searches of each period on this replica, with confidence bounds since the deployment. A change is coloured where the bounds of both do not overlap. Queries of the periods can differ: an " a href="/experiments" { "experiment" } " compares at the same time." }
                (head)
                tbody {
                    (row("Counted", pair, &|it| Some(html! { span { (time(it.from)) } " to " span { (time(it.until)) } }), None))
                    (row("Searches", pair, &|it| Some(count(it.searches)), None))
                    (measures(&first))
                    (row("p95", pair, &|it| Some(html! { (duration(it.p95_seconds?)) (basis(it, it.latency_searches)) }), relative(pair, &|it| it.p95_seconds)))
                    @for currency in &currencies {
                        @let cost = |it: &Period| it.costs.get(*currency).copied();
                        (row("Cost per 1,000", pair, &|it| { let of = cost(it)?; Some(html! { (quantity(of.per_1000)) " " (currency) (basis(it, of.searches)) }) }, relative(pair, &|it| Some(cost(it)?.per_1000))))
                    }
                }
            } }
            @if !rest.is_empty() {
                details {
                    summary { (count_of(rest.len() as u64, "more measure", "more measures")) ", no change shown" }
                    div.scroll tabindex="0" role="group" aria-label="More measures of both deployments" {
                        table.narrow.pair { (head) tbody { (measures(&rest)) } }
                    }
                }
            }
            @if deployments.first().is_some_and(|last| last.version == to.version) {
                p { a href=(address("/queries", [("order", REGRESSED), ("variant", &to.variant)])) { "Queries that lost since the deployment of " (version_name(to)) } }
            } @else {
                p.name { "Queries that lost: kept of the last deployment only." }
            }
        }
    })
}

/// Version in use before the first known deployment, unless it was deployed again.
fn version_before(deployments: &[&Deployment]) -> Option<Deployment> {
    let mut found = deployments.iter().filter_map(|it| it.version_before());
    let before = found.next()?;
    let is_listed = deployments.iter().any(|it| it.version == before.version);
    (!is_listed).then_some(before)
}

/// The deployments of the parameters `from` and `to`. Without `to` the last one, and without `from` the one
/// before `to`. `None` with fewer than two deployments.
fn chosen<'a>(
    deployments: &[&'a Deployment],
    params: &Parameters,
) -> Result<Option<[&'a Deployment; 2]>, ApiError> {
    let place_of = |name: &str| {
        let version = params.single(name);
        let place = version.map(|version| {
            let mut all = deployments.iter();
            let place = all.position(|it| it.version == version);
            place.ok_or_else(|| {
                let known: Vec<&str> = deployments.iter().map(|it| &*it.version).collect();
                let remedy = match &*known {
                    [] => "none is known; leave it out".to_owned(),
                    known => format!("use one of {}", known.join(", ")),
                };
                let error = format!(
                    "{name}: no deployment of the system has the version \"{version}\"; {remedy}"
                );
                ApiError::new(StatusCode::NOT_FOUND, error)
            })
        });
        place.transpose()
    };
    let (from, to) = (place_of("from")?, place_of("to")?);
    if deployments.len() < 2 {
        return Ok(None);
    }
    let to = to.unwrap_or(usize::from(from == Some(0)));
    let before = if to + 1 < deployments.len() {
        to + 1
    } else {
        to - 1
    };
    Ok(Some([from.unwrap_or(before), to].map(|it| deployments[it])))
}

/// Links that replace the deployment at a place of the pair.
fn choice(name: &str, deployments: &[&Deployment], pair: [&Deployment; 2], place: usize) -> Markup {
    let link = |it: &Deployment| {
        let mut versions = pair.map(|it| it.version.as_str());
        versions[place] = &it.version;
        let [from, to] = versions;
        address("", [("from", from), ("to", to)]) + "#compare"
    };
    let others = deployments.iter().take(MAX_CHOICES);
    let others = others.filter(|it| it.version != pair[1 - place].version);
    html! {
        ul.choice aria-label=(name) { li.name { (name) }
            @for it in others {
                li { a href=(link(it)) aria-current=[(it.version == pair[place].version).then_some("true")] { (version_name(it)) } }
            }
        }
    }
}

/// A row of the table. A period without the value has a dash.
fn row(
    label: &str,
    pair: Pair<'_>,
    cell: &dyn Fn(&Period) -> Option<Markup>,
    change: Option<Markup>,
) -> Markup {
    let none = html! { span.name { "–" } };
    html! {
        tr data-measure=(label) {
            th scope="row" { (label) }
            @for (of, period) in pair {
                td data-label=(of.version) { @match period {
                    Some(period) => (cell(period).unwrap_or_else(|| none.clone())),
                    None => span.name { "not kept" },
                } }
            }
            td data-label="Change" { (change.unwrap_or(none)) }
        }
    }
}

fn version_name(it: &Deployment) -> Markup {
    html! { @if it.version.is_empty() { em { "no version" } } @else { (text(&it.version)) } }
}

fn score_of<'a>(period: &'a Period, measure: &str) -> Option<&'a PeriodScore> {
    period.scores.iter().find(|it| it.measure == measure)
}

fn mean_of(it: &PeriodScore) -> Markup {
    html! {
        (score(it.mean)) " " span.name {
            @if let Some(bounds) = it.lower.zip(it.upper).and_then(|(lower, upper)| interval(lower, upper, " to ")) { (bounds) ", " }
            "n " (count(it.searches))
        }
    }
}

/// Change of a mean with its interval, from bound to bound. `None` without bounds of both.
fn change(pair: Pair<'_>, measure: &str) -> Option<Difference> {
    let [from, to] = pair.map(|(_, period)| score_of(period?, measure));
    let (from, to) = (from?, to?);
    Some(Difference {
        estimate: to.mean - from.mean,
        lower: to.lower? - from.upper?,
        upper: to.upper? - from.lower?,
    })
}

fn change_of(direction: Direction, it: Difference) -> Markup {
    html! {
        (verdict(direction, it)) " " span.name { (signed(it.lower)) " to " (signed(it.upper)) }
    }
}

/// Change as a share. It has no evidence and no colour.
fn relative(pair: Pair<'_>, value: &dyn Fn(&Period) -> Option<f64>) -> Option<Markup> {
    let [from, to] = pair.map(|(_, period)| value(period?));
    let from = from.filter(|it| *it > 0.0)?;
    Some(html! { span.name { (signed_share((to? - from) / from)) } })
}

/// Window and number of searches of a latency or a cost.
fn basis(it: &Period, searches: u64) -> Markup {
    html! { " " span.name {
        @if let Some(window) = &it.window { "last " (window) ", " }
        "n " (count(searches))
    } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::deployments::VersionBefore;

    static PAIR: [Parameter; 2] = [FROM, TO];

    fn deployment(mean: f64, bounds: Option<[f64; 2]>) -> Deployment {
        let score = PeriodScore {
            measure: "nDCG@10".to_owned(),
            searches: 1_234,
            mean,
            lower: bounds.map(|[lower, _]| lower),
            upper: bounds.map(|[_, upper]| upper),
        };
        Deployment {
            variant: "V5".to_owned(),
            version: "1.0".to_owned(),
            ts: 0,
            period: Some(Box::new(Period {
                scores: vec![score],
                ..Period::default()
            })),
            ..Deployment::default()
        }
    }

    /// Change between two deployments as the page shows it.
    fn shown(from: &Deployment, to: &Deployment) -> Option<String> {
        let pair = [from, to].map(|it| (it, it.period.as_deref()));
        change(pair, "nDCG@10").map(|it| change_of(Direction::Up, it).into_string())
    }

    #[test]
    fn the_version_before_the_first_deployment_can_be_chosen() {
        let known = Parameters::of(String::new(), Some("from=1.0&to=2.0"), &PAIR, None);
        let params = known.expect("parameters of the screen");
        let second = Deployment {
            version: "2.0".to_owned(),
            before: Some(Box::new(VersionBefore {
                version: "1.0".to_owned(),
                period: None,
            })),
            ..deployment(0.8, None)
        };
        let first = version_before(&[&second]).expect("the version before");
        let of_system = [&second, &first];
        let pair = chosen(&of_system, &params).expect("both are known");
        let versions = pair.map(|pair| pair.map(|it| &*it.version));
        assert_eq!(versions, Some(["1.0", "2.0"]));
        let error = chosen(&[&second], &params).expect_err("a version is unknown");
        assert!(error.detail.ends_with("use one of 2.0"), "{}", error.detail);
        // Deployed again, it is one of the list.
        let again = deployment(0.8, None);
        assert_eq!(version_before(&[&again, &second]), None);
    }

    #[test]
    fn a_change_has_an_interval_and_a_colour_only_where_the_bounds_do_not_overlap() {
        let from = deployment(0.8, Some([0.7, 0.9]));
        let overlapping = shown(&from, &deployment(0.7, Some([0.6, 0.8]))).expect("a change");
        for text in ["−0.100", "−0.300", "+0.100"] {
            assert!(overlapping.contains(text), "no {text} in {overlapping}");
        }
        assert!(!overlapping.contains("bad"), "{overlapping}");
        let worse = shown(&from, &deployment(0.5, Some([0.4, 0.6]))).expect("a change");
        assert!(worse.contains("class=\"bad\""), "{worse}");
        // Without bounds of both, nothing shows that a difference is a change.
        assert_eq!(shown(&from, &deployment(0.5, None)), None);
        let mean = mean_of(&from.period.as_ref().expect("a period").scores[0]).into_string();
        assert!(mean.contains("1,234"), "{mean}");
    }
}
