//! Coverage of the gold set: sampled searches that have a gold query, and results that are judged.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, percent};
use super::records::{Sample, SampledSearch};
use crate::config::Config;
use rankgauge_core::gold::GoldSet;
use rankgauge_core::ranking::{Ineligible, JudgeBy};

/// Findings about the gold set.
pub(super) fn check(config: &Config, gold: Option<&GoldSet>, sample: &Sample) -> Vec<Finding> {
    let Some(gold) = gold else {
        return vec![Finding::warning(
            "gold",
            "no gold set is configured, so no search is judged",
            "set gold.paths",
        )];
    };
    let all = sample.searches.len();
    if all == 0 {
        return Vec::new();
    }
    let eligible = sample.searches.iter().filter(|it| it.ineligible.is_none());
    let count = eligible.count();
    let mut findings = vec![eligibility(sample, count)];
    if count == 0 {
        return findings;
    }
    let matched = sample.searches.iter().filter(|it| it.gold.is_some());
    let matched_count = matched.clone().count();
    let distinct: BTreeSet<_> = matched.clone().filter_map(|it| it.gold).collect();
    let of_which = if count == all { "sampled" } else { "eligible" };
    let message = format!(
        "{matched_count} of {count} {of_which} searches ({}) have a gold query; {} of {} gold queries \
         occur",
        percent(matched_count, count),
        distinct.len(),
        gold.queries().len()
    );
    let mut unknown: BTreeMap<&str, usize> = BTreeMap::new();
    let unmatched = |it: &&SampledSearch| it.gold.is_none() && it.ineligible.is_none();
    for search in sample.searches.iter().filter(unmatched) {
        *unknown.entry(&search.query).or_default() += 1;
    }
    let most = unknown.iter().max_by_key(|(_, count)| **count);
    let most = most.map_or_else(String::new, |(query, _)| {
        let query: String = query.chars().take(64).collect();
        format!("; the most frequent search without one is {query:?}")
    });
    findings.push(if matched_count == 0 {
        Finding::error(
            "gold",
            format!("{message}{most}"),
            "use a gold set of this search system; a search matches by query_key or by its text",
        )
    } else if matched_count * 2 < count {
        Finding::warning(
            "gold",
            format!("{message}{most}"),
            "add judgements for frequent queries: rankgauge gold propose lists them",
        )
    } else {
        Finding::ok("gold", message)
    });
    findings.extend(results(config, sample));
    findings
}

/// Finding about the searches that are judged if they have a gold query.
fn eligibility(sample: &Sample, eligible: usize) -> Finding {
    let all = sample.searches.len();
    let reasons = Ineligible::ALL.into_iter().filter_map(|reason| {
        let of_reason = sample
            .searches
            .iter()
            .filter(|it| it.ineligible == Some(reason));
        let count = of_reason.count();
        (count > 0).then(|| format!("{} {count}", reason.name()))
    });
    let reasons: Vec<String> = reasons.collect();
    let message = format!(
        "{eligible} of {all} sampled searches ({}) are eligible for judging",
        percent(eligible, all)
    );
    if reasons.is_empty() {
        return Finding::ok("eligibility", message);
    }
    let message = format!("{message}; others by reason: {}", reasons.join(", "));
    if eligible == 0 {
        let remedy = "set gold.judge_when to the searches that the gold set is about, or correct \
                      page, filters and sort of the producer";
        Finding::error("eligibility", message, remedy)
    } else {
        Finding::ok("eligibility", message)
    }
}

/// Finding about the judged results of searches with a gold query.
fn results(config: &Config, sample: &Sample) -> Option<Finding> {
    let by_id = sample.searches.iter();
    let by_id = by_id.filter_map(|search| Some((search, search.judged?)));
    let served: usize = by_id.clone().map(|(search, _)| search.results.len()).sum();
    let judged: usize = by_id.clone().map(|(_, judged)| judged).sum();
    if served == 0 {
        return None;
    }
    let message = format!(
        "{judged} of {served} results of these searches ({}) are judged",
        percent(judged, served)
    );
    if judged > 0 {
        return Some(Finding::ok("gold", message));
    }
    let first = by_id.filter_map(|(search, _)| search.first_result.as_ref());
    let first = first.into_iter().next().map_or("", String::as_str);
    let remedy = match config.engine.judging.judge_by {
        JudgeBy::Id => {
            "the ids of results and judgements differ; if results are chunks of judged documents, \
             send group_id and set gold.judge_by to group_id"
        }
        JudgeBy::GroupId => {
            "the group_id of results and the ids of judgements differ; correct one of them, or set \
             gold.judge_by to id"
        }
    };
    let message = format!("{message}; a served id is {first:?}");
    Some(Finding::error("gold", message, remedy))
}
