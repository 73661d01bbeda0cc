//! Pipeline: every received record by outcome, rejected records, and memory.

use maud::{Markup, html};

use super::chart;
use super::format::{bytes, count, duration, score, share, text, time};
use super::screen::{Screen, empty, ratio};
use crate::api::pipeline::{KindStatus, Pipeline, RejectedCount};
use crate::api::status::{self, Status};
use crate::api::{AdminApi, pipeline};
use crate::clock::wall_now;

/// Colour of an outcome: used, not used as expected, lost, or not finished.
const CLASSES: [(&str, &str); 10] = [
    ("judged", "used"),
    ("joined", "used"),
    ("unjudged", "unused"),
    ("not_eligible", "unused"),
    ("orphaned", "lost2"),
    ("duplicate", "double"),
    ("late", "lost"),
    ("lost", "lost"),
    ("invalid", "lost"),
    ("pending", "open"),
];

pub(super) fn screen(admin: &AdminApi) -> Screen {
    let found = pipeline::of(&admin.exposition);
    let status = status::of(admin, wall_now());
    let content = html! {
        h1 { "Pipeline" }
        @for (kind, of_kind) in found.events.iter().rev() { (records(kind, of_kind)) }
        (rejected(&found))
        div.columns { (memory(&found)) (workers(&status)) }
        (partitions(&status))
        @if !status.sources.is_empty() { (sources(&status)) }
    };
    Screen {
        title: "Pipeline".to_owned(),
        tab: "pipeline",
        json: "/api/v1/pipeline".to_owned(),
        content,
    }
}

/// Received records of a kind, as a bar of their outcomes and as numbers.
fn records(kind: &str, of: &KindStatus) -> Markup {
    let class = |outcome: &str| {
        let known = CLASSES.iter().find(|(name, _)| *name == outcome);
        known.map_or("unused", |(_, class)| class)
    };
    let parts: Vec<chart::Part<'_>> = of
        .outcomes
        .iter()
        .map(|it| (it.outcome, it.count, class(it.outcome)))
        .collect();
    let name = if kind == "search" {
        "Search events"
    } else {
        "Feedback events"
    };
    html! {
        section aria-label=(name) data-kind=(kind) {
            h2 { (name) " " span.name { (of.topic) } }
            @if of.received == 0 {
                (empty("No record received yet", &html! { "Check " code { "kafka.brokers" } " and the name of the topic; the workers below show their connection." }))
            } @else {
                (chart::stacked(&format!("{name}: {} received, by outcome", of.received), &parts))
                ul.outcomes {
                    li { strong { (count(of.received)) } " received" span.name { " =" } }
                    @for it in &of.outcomes { li data-outcome=(it.outcome) {
                        span class={ "swatch " (class(it.outcome)) } {} (count(it.count)) " " (it.outcome)
                        @if it.count > 0 { span.name { " " (share(ratio(it.count, of.received))) } }
                    } }
                }
                @if let Some(letters) = &of.dead_letters {
                    p.name { "Dead-letter topic: " (count(letters.delivered)) " delivered, " (count(letters.failed)) " failed." }
                }
            }
        }
    }
}

fn rejected(found: &Pipeline) -> Markup {
    let rows: Vec<(&str, &RejectedCount)> = found
        .events
        .iter()
        .rev()
        .flat_map(|(kind, of)| of.rejected.iter().map(|it| (*kind, it)))
        .collect();
    html! {
        section aria-labelledby="rejected" {
            h2 #rejected { "Rejected records" }
            @if rows.is_empty() {
                p.calm { span.good { "✓" } " No record was rejected." }
            } @else {
                div.scroll tabindex="0" role="group" aria-labelledby="rejected" { table {
                    thead { tr { th scope="col" { "Reason" } th scope="col" { "Kind" } th scope="col" { "Records" } th scope="col" { "Last one" } } }
                    tbody { @for (kind, it) in rows { tr {
                        th scope="row" { (it.reason) }
                        td data-label="Kind" { (kind) }
                        td data-label="Records" { (count(it.count)) }
                        td.words data-label="Last one" { @if let Some(last) = &it.last {
                            details {
                                summary { (time(last.time)) ", partition " (last.partition) ", offset " (last.offset) }
                                (text(&last.detail))
                            }
                        } @else { span.name { "before the last start" } } }
                    } } }
                } }
            }
            @if !found.overflow.is_empty() {
                p { strong.bad { "✗ Series limit reached." } " Samples counted under " code { "__other__" } ": "
                    @for (family, samples) in &found.overflow { span.label { (family) " " (count(*samples)) } " " }
                    "Raise " code { "limits.series_per_family" } " or remove a slice." }
            }
        }
    }
}

fn memory(found: &Pipeline) -> Markup {
    let memory = &found.memory;
    let used = memory.joins + memory.totals;
    let free = memory.limit.saturating_sub(used);
    let parts = [
        ("join", memory.joins, "used"),
        ("totals", memory.totals, "unused"),
        ("free", free, "open"),
    ];
    html! {
        section aria-labelledby="memory" {
            h2 #memory { "Memory" }
            (chart::stacked(&format!("{used} of {} bytes used", memory.limit), &parts))
            ul.outcomes {
                li { span.swatch.used {} (bytes(memory.joins)) " join" }
                li { span.swatch.unused {} (bytes(memory.totals)) " totals" }
                li { span.swatch.open {} (bytes(free)) " free of " (bytes(memory.limit)) }
            }
            @if found.finalised_early > 0 {
                p.bad { "✗ " (count(found.finalised_early)) " searches were finalised before the end of their feedback window: raise " code { "engine.memory" } "." }
            }
        }
    }
}

fn workers(status: &Status) -> Markup {
    html! {
        section aria-labelledby="workers" {
            h2 #workers { "Workers" }
            div.scroll tabindex="0" role="group" aria-labelledby="workers" { table {
                thead { tr { th scope="col" { "Worker" } th scope="col" { "Broker" } th scope="col" { "Partitions" } th scope="col" { "Snapshot" } th scope="col" { "Checkpoint" } } }
                tbody { @for worker in &status.workers { tr {
                    th scope="row" { (worker.worker) }
                    td data-label="Broker" { @if worker.connected { span.good { "✓ connected" } } @else { span.bad { "✗ away" } } }
                    td data-label="Partitions" { (worker.partitions) }
                    td data-label="Snapshot" { @if let Some(age) = worker.snapshot_age_seconds { (duration(age)) } @else { span.name { "none yet" } } }
                    td data-label="Checkpoint" { @match &worker.checkpoint {
                        Some(it) => {
                            @if let Some(age) = it.age_seconds { (duration(age)) ", " (bytes(it.bytes)) } @else { "none yet" }
                            @if it.failed > 0 { span.bad { " ✗ " (count(it.failed)) " failed" } }
                        },
                        None => span.name { "off" },
                    } }
                } } }
            } }
        }
    }
}

fn partitions(status: &Status) -> Markup {
    html! {
        section aria-labelledby="partitions" {
            h2 #partitions { "Partitions" }
            @if status.partitions.is_empty() {
                (empty("No partition is assigned", &html! { "Another replica may own all partitions, or the broker is away." }))
            } @else {
                div.scroll tabindex="0" role="group" aria-labelledby="partitions" { table {
                    thead { tr { th scope="col" { "Partition" } th scope="col" { "Worker" } @for topic in status.partitions[0].lag.keys() { th scope="col" { "Lag of " (topic) } } th scope="col" { "Watermark" } th scope="col" { "Delay" } } }
                    tbody { @for it in &status.partitions { tr {
                        th scope="row" { (it.partition) }
                        td data-label="Worker" { (it.worker) @for stalled in &it.stalled { div.bad { "✗ " (text(&stalled.topic)) " is stalled at offset " (stalled.offset) " for " (duration(stalled.seconds)) ": " (stalled.cause) } } }
                        @for (topic, lag) in &it.lag { td data-label={ "Lag of " (topic) } { @if let Some(lag) = lag { (count(*lag)) } @else { span.name { "–" } } } }
                        td data-label="Watermark" { @if let Some(at) = it.watermark { (time(at)) } @else { span.name { "–" } } }
                        td data-label="Delay" { @if let Some(delay) = it.watermark_delay_seconds { (score(delay)) " s" } @else { span.name { "–" } } }
                    } } }
                } }
            }
        }
    }
}

/// Source partitions of the forwarders.
fn sources(status: &Status) -> Markup {
    html! {
        section aria-labelledby="sources" {
            h2 #sources { "Source partitions of the forwarders" }
            div.scroll tabindex="0" role="group" aria-labelledby="sources" { table {
                thead { tr { th scope="col" { "Topic" } th scope="col" { "Partition" } th scope="col" { "Worker" } th scope="col" { "Not yet copied" } } }
                tbody { @for it in &status.sources { tr {
                    th scope="row" { (text(&it.topic)) }
                    td data-label="Partition" { (it.partition) }
                    td data-label="Worker" { (it.worker) @if let Some(stalled) = &it.stalled { div.bad { "✗ stalled at offset " (stalled.offset) " for " (duration(stalled.seconds)) ": " (stalled.cause) } } }
                    td data-label="Not yet copied" { @if let Some(lag) = it.lag { (count(lag)) } @else { span.name { "–" } } }
                } } }
            } }
        }
    }
}
