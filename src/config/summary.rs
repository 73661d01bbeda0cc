//! Summary of a configuration for users, without secrets.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::checked::Config;
use super::units::{format_bytes, format_duration as span};
use rankgauge_core::decode::Format;
use rankgauge_core::decode::mapped::Mapped;
use rankgauge_core::detection::SeriesRules;
use rankgauge_core::engine::position::{FeedbackTopic, Join};
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::sources::RepartitionKey;
use rankgauge_core::event::Kind;
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::ranking::JudgeBy;
use rankgauge_core::text::escape_controls;
use rankgauge_kafka::settings::Start;

pub(super) fn write(config: &Config) -> String {
    let mut lines = kafka(config);
    lines.push((
        "workers",
        format!(
            "{}, committing every {}, publishing every {}, {} to shut down",
            config.workers,
            span(config.commit_interval),
            span(config.publish_interval),
            span(config.shutdown_timeout)
        ),
    ));
    let folder = config.checkpoints.as_ref();
    lines.push((
        "checkpoint",
        folder.map_or_else(
            || "none: counters start at 0 after every restart".to_owned(),
            |folder| format!("in {}", folder.display()),
        ),
    ));
    lines.push(("state", state(config)));
    lines.push(("gold", gold(config)));
    let engine = &config.engine;
    lines.push(("measures", counted(&engine.measures)));
    let slices = engine.slices.iter();
    let slices = slices.filter(|it| *it != Settings::SYNTHETIC);
    lines.push(("slices", counted(slices)));
    lines.push((
        "windows",
        counted(engine.windows.iter().map(|window| &window.name)),
    ));
    if !engine.judging.components.is_empty() {
        lines.push((
            "components",
            counted(engine.judging.components.iter().map(|part| &part.name)),
        ));
    }
    if !engine.experiments.is_empty() {
        let experiments = engine.experiments.iter().map(|experiment| {
            let arms = experiment.split.iter();
            let arms: Vec<String> = arms
                .map(|(variant, share)| format!("{variant} {share}"))
                .collect();
            let unit = experiment.assignment.name();
            format!("{} ({} by {unit})", experiment.id, arms.join(", "))
        });
        lines.push(("experiments", counted(experiments)));
    }
    if !config.targets.is_empty() {
        let targets = config.targets.iter().map(|target| {
            let measure = target.measure.to_string();
            let sign = Direction::of(&measure).relation().sign();
            format!("{measure}{sign}{} ({})", target.value, target.tier)
        });
        lines.push(("targets", counted(targets)));
    }
    if !engine.objectives.is_empty() {
        let objectives = engine.objectives.iter().map(|objective| {
            let tiers = objective.tiers.iter();
            let tiers: Vec<String> = tiers
                .map(|(tier, target)| format!(" {target} ({tier})"))
                .collect();
            format!("{}{};", objective.name, tiers.concat())
        });
        lines.push(("objectives", counted(objectives)));
    }
    let gateway = config.gateway.listen;
    lines.extend(gateway.map(|address| ("gateway", address.to_string())));
    if !engine.detection.measures.is_empty() {
        lines.extend(detection(config));
    }
    lines.push((
        "join",
        format!(
            "feedback within {}{}, {} out of order, in {} of memory for each worker",
            span(engine.feedback_window),
            conversions(config),
            span(engine.out_of_orderness),
            format_bytes(engine.memory)
        ),
    ));
    let web = |file: &Option<PathBuf>, address: SocketAddr, page: &str| match file {
        None => format!("http://{address}{page}"),
        Some(file) => format!("{address}{page}, web configuration {}", file.display()),
    };
    lines.push((
        "metrics",
        web(&config.metrics_web, config.metrics_listen, "/metrics"),
    ));
    lines.push((
        "admin",
        config.admin_listen.map_or_else(
            || "none".to_owned(),
            |address| web(&config.admin_web, address, "/api/v1/status"),
        ),
    ));
    let lines: Vec<String> = lines
        .iter()
        .map(|(part, text)| format!("{part:<12}{}\n", escape_controls(text)))
        .collect();
    lines.concat()
}

fn state(config: &Config) -> String {
    match &config.state {
        Some(state) => format!("shared in topic {}, every {}", state.topic, span(state.interval)),
        None => "not shared: a replica without its checkpoint starts without baselines and incidents, and a \
                 command reaches one replica (state.topic)"
            .to_owned(),
    }
}

/// Window of conversions, if they have one of their own.
fn conversions(config: &Config) -> String {
    let Some(window) = config.engine.conversion_window else {
        return String::new();
    };
    let of_checkpoint = match &config.checkpoints {
        Some(_) => "",
        None => ", lost with a restart without checkpoint.folder",
    };
    format!(", conversions within {}{of_checkpoint}", span(window))
}

/// Lines about Kafka and the record formats.
fn kafka(config: &Config) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let kafka = &config.kafka;
    let start = match kafka.start {
        Start::Earliest => "earliest",
        Start::Latest => "latest",
    };
    lines.push((
        "kafka",
        format!(
            "{}, group {}, {}, starting at {start}",
            kafka.brokers,
            kafka.group_id,
            match kafka.topics().feedback {
                FeedbackTopic::Own => {
                    format!("topics {} and {}", kafka.search_topic, kafka.feedback_topic)
                }
                FeedbackTopic::Shared => format!("topic {} of both kinds", kafka.search_topic),
                FeedbackTopic::None => format!("topic {} without feedback", kafka.search_topic),
            }
        ),
    ));
    if kafka.join == Join::All {
        let owner = format!(
            "one owner of all partitions, by topic {}",
            kafka.owner_topic()
        );
        lines.push(("join", owner));
    }
    if kafka.join == Join::Repartition {
        let key = match config.repartition_key {
            RepartitionKey::Query => "query_id",
            RepartitionKey::Session => "session_id",
        };
        let topics = kafka.kinds().iter().map(|kind| kafka.internal_topic(*kind));
        let topics: Vec<String> = topics.collect();
        let text = format!("copies by {key} in {}", topics.join(" and "));
        lines.push(("join", text));
    }
    let formats = &config.formats;
    if [formats.search, formats.feedback].contains(&Format::Ubi) {
        lines.push((
            "formats",
            format!(
                "searches {}, feedback {}, ordinals from {}",
                formats.search.name(),
                formats.feedback.name(),
                formats.ubi.ordinal_base
            ),
        ));
    }
    let own = |kind: Kind| {
        let mapped = formats.mapped[kind.index()].as_deref();
        mapped.map_or(formats.of(kind).name(), Mapped::name)
    };
    if formats.mapped.iter().any(Option::is_some) {
        let text = format!(
            "searches {}, feedback {}",
            own(Kind::Search),
            own(Kind::Feedback)
        );
        lines.push(("formats", text));
    }
    if formats.search.is_otlp() {
        let kinds: Vec<&str> = formats
            .otlp
            .search_spans
            .iter()
            .map(|kind| kind.name())
            .collect();
        lines.push((
            "spans",
            format!(
                "searches {}, feedback {}, a search for each {} span",
                formats.search.name(),
                formats.feedback.name(),
                kinds.join(" and ")
            ),
        ));
    }
    if let Some(topic) = &kafka.dead_letter_topic {
        lines.push(("dead letters", format!("to {topic}")));
    }
    if !kafka.properties.is_empty() {
        lines.push(("properties", kafka.properties.to_string()));
    }
    lines
}

/// Milliseconds per minute.
const MINUTE: i64 = 60_000;

/// Formats a time in milliseconds as the configuration writes it.
fn time(millis: i64) -> String {
    span(Duration::from_millis(millis.unsigned_abs()))
}

/// Lines about the watched measures and the derivation of the thresholds.
fn detection(config: &Config) -> Vec<(&'static str, String)> {
    let engine = &config.engine;
    let detection = &engine.detection;
    let measures = detection.measures.iter();
    let measures = counted(measures.map(|watched| &engine.measures[watched.index]));
    let measures = escape_controls(&measures);
    let seasonal = detection.measures.iter().filter(|it| it.is_seasonal);
    let seasonal: Vec<String> = seasonal
        .map(|it| engine.measures[it.index].to_string())
        .collect();
    let seasonal = match &seasonal[..] {
        [] => String::new(),
        names => format!(
            "compared with the same hour of earlier weeks: {}\n",
            escape_controls(&names.join(" "))
        ),
    };
    let accepted = &config.false_alarms;
    let text = format!(
        "{measures}\n\
         {seasonal}\
         drops of more than {} from the mean of the earlier searches of a query, at evidence {:.2}:\n\
         of more than {} in the warm-up, the first {} days of a series ({} of a seasonal measure)\n\
         ln(90 days x 1440 minutes x {} series x {} detectors of each / {} false alarms a quarter)\n\
         targets missed at evidence {:.2}: ln(1 / {}); one worker alone at {:.2}\n\
         bursts: a query counts once in {}; a block of {} is one observation of a mean",
        detection.tolerance,
        detection.drop_threshold,
        detection.tolerance.max(detection.warm_up_tolerance),
        SeriesRules::WARM_UP_DAYS,
        SeriesRules::SEASONAL_WARM_UP_DAYS,
        accepted.series,
        accepted.replicas,
        accepted.per_quarter,
        detection.target_threshold,
        detection.alpha,
        detection.target_threshold_of_worker(),
        time(detection.burst.repeat_window().saturating_mul(MINUTE)),
        time(detection.burst.block()),
    );
    let lines = text.lines().enumerate();
    let part = |index| if index == 0 { "detection" } else { "" };
    lines
        .map(|(index, line)| (part(index), line.to_owned()))
        .collect()
}

fn gold(config: &Config) -> String {
    let gold = &config.gold;
    if gold.paths.is_empty() {
        return "none: no search will be judged; set gold.paths".to_owned();
    }
    let paths: Vec<String> = gold
        .paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let format = gold
        .options
        .format
        .map_or_else(|| "any format".to_owned(), |format| format.to_string());
    let judge_by = match config.engine.judging.judge_by {
        JudgeBy::Id => "id",
        JudgeBy::GroupId => "group_id",
    };
    let every = span(gold.reload_interval);
    format!(
        "{} ({format}), judged by {judge_by}, checked every {every}",
        paths.join(", ")
    )
}

/// Formats a list as `3: a b c`.
fn counted<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    let count = items.len();
    if count == 0 {
        "none".to_owned()
    } else {
        format!("{count}: {}", items.join(" "))
    }
}
