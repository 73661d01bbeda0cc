//! Searches that must not be judged are timed and joined, and change no score.

use rankgauge_core::event::Kind;
use rankgauge_core::measure::Measure;
use rankgauge_core::ranking::{Eligibility, SearchMember};

use super::{START, Samples, World, assign, drain, outcome, read_feedback, read_search, settings};

/// Logs of one search each, with members that make it not eligible, by the reason.
const NOT_ELIGIBLE: [(&str, &str); 12] = [
    ("page", r#""page": 2"#),
    ("page", r#""page": 7, "filters": {"brand": "a"}"#),
    ("filters", r#""filters": {"brand": "a"}"#),
    ("filters", r#""filters": ["brand:a"]"#),
    ("filters", r#""filters": "brand:a""#),
    ("filters", r#""filters": true"#),
    ("filters", r#""filters": 3"#),
    (
        "filters",
        r#""filters": {"a": {"b": [1, "\u00e4"]}}, "sort": "price""#,
    ),
    ("sort", r#""sort": "price""#),
    ("sort", r#""sort": [{"price": "asc"}]"#),
    ("sort", r#""sort": {"price": "asc"}"#),
    ("sort", r#""sort": 1"#),
];

const ELIGIBLE: [&str; 10] = [
    r#""page": 1, "page_size": 10"#,
    r#""page": null, "page_size": null"#,
    r#""filters": null"#,
    r#""filters": false"#,
    r#""filters": [ ]"#,
    r#""filters": {}"#,
    r#""filters": """#,
    r#""sort": null"#,
    r#""sort": "relevance""#,
    r#""sort": "relevance", "filters": [], "page": 1, "labels": {"device": "phone"}"#,
];

fn search(number: usize, members: &str, results: &str) -> String {
    let at = START + i64::try_from(number).expect("few") * 100;
    let comma = if members.is_empty() { "" } else { ", " };
    format!(
        r#"{{"query_id": "s{number}", "ts": {at}, "query": "건폐율", "session_id": "u{}",
            "latency_ms": 120, "results": {results}{comma}{members}}}"#,
        number / 3
    )
}

fn plain(number: usize, members: &str) -> String {
    search(number, members, r#"[{"id": "d3"}, {"id": "d9"}]"#)
}

fn click(number: usize) -> String {
    let at = START + i64::try_from(number).expect("few") * 100 + 50;
    format!(
        r#"{{"event_id": "c{number}", "ts": {at}, "type": "click", "query_id": "s{number}",
            "object_id": "d9"}}"#
    )
}

/// Samples after the searches, each with a click, and their end.
fn samples_of(world: &World, searches: &[(usize, String)]) -> Samples {
    let mut engine = world.engine();
    assign(&mut engine, 0);
    for (offset, (number, search)) in (0..).zip(searches) {
        read_search(&mut engine, 0, offset, search);
        read_feedback(&mut engine, 0, offset, &click(*number));
    }
    drain(&mut [&mut engine], 1, START + 10_000);
    world.samples(&engine.snapshot())
}

/// Number of searches by outcome and reason.
fn counts(world: &World, search: &str) -> (u64, u64, String) {
    let mut engine = world.engine();
    assign(&mut engine, 0);
    read_search(&mut engine, 0, 0, search);
    drain(&mut [&mut engine], 1, START + 10_000);
    let snapshot = engine.snapshot();
    let samples = world.samples(&snapshot);
    let mut reasons = samples
        .iter()
        .filter(|(name, _)| name.starts_with("searches_not_eligible_total"));
    let reason = reasons
        .next()
        .map(|(name, value)| format!("{name} {value}"));
    (
        outcome(&snapshot, Kind::Search, "judged"),
        outcome(&snapshot, Kind::Search, "not_eligible"),
        reason.unwrap_or_default(),
    )
}

fn counted(reason: &str) -> (u64, u64, String) {
    let name = format!(r#"searches_not_eligible_total{{reason="{reason}",variant=""}} 1"#);
    (0, 1, name)
}

const JUDGED: (u64, u64, String) = (1, 0, String::new());

#[test]
fn pages_filters_and_orders_are_reasons() {
    let world = World::new(settings());
    for (reason, members) in NOT_ELIGIBLE {
        assert_eq!(
            counts(&world, &plain(0, members)),
            counted(reason),
            "{members}"
        );
    }
    for members in ELIGIBLE {
        assert_eq!(counts(&world, &plain(0, members)), JUDGED, "{members}");
    }
}

#[test]
fn a_further_page_with_the_id_of_the_first_one_is_a_duplicate_and_loses_its_clicks() {
    let world = World::new(settings());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    let further = search(0, r#""page": 2"#, r#"[{"id": "d1"}]"#);
    read_search(&mut engine, 0, 0, &plain(0, r#""page": 1"#));
    read_search(&mut engine, 0, 1, &further);
    read_feedback(&mut engine, 0, 0, &click(0).replace("d9", "d1"));
    drain(&mut [&mut engine], 1, START + 10_000);
    let snapshot = engine.snapshot();
    assert_eq!(outcome(&snapshot, Kind::Search, "judged"), 1);
    assert_eq!(outcome(&snapshot, Kind::Search, "duplicate"), 1);
    assert_eq!(outcome(&snapshot, Kind::Feedback, "joined"), 1);
    let samples = world.samples(&snapshot);
    let mut unserved = samples
        .iter()
        .filter(|(name, _)| name.starts_with("unserved_clicks_total"));
    assert!(unserved.next().is_some(), "{samples:?}");
}

#[test]
fn results_that_begin_below_rank_1_are_a_reason() {
    let world = World::new(settings());
    let of = |results: &str| counts(&world, &search(0, "", results));
    let below = r#"[{"id": "d3", "rank": 12}, {"id": "d1", "rank": 11}]"#;
    assert_eq!(of(below), counted("rank"));
    assert_eq!(
        of(r#"[{"id": "d3", "rank": 2}, {"id": "d1", "rank": 1}]"#),
        JUDGED
    );
    assert_eq!(of(r#"[{"id": "d3"}, {"id": "d1", "rank": 2}]"#), JUDGED);
    assert_eq!(of("[]"), JUDGED);
}

#[test]
fn configured_conditions_replace_the_rules_about_their_members() {
    let conditions = [
        ("sort", vec!["relevance", "score"]),
        ("page", vec!["*"]),
        ("labels.channel", vec![""]),
        ("application", vec!["shop"]),
    ];
    let conditions = conditions.map(|(name, values)| {
        let values = values.into_iter().map(str::to_owned).collect();
        (SearchMember::parse(name).expect(name), values)
    });
    let mut settings = settings();
    settings.judging.eligibility = Eligibility::new(conditions.into());
    let world = World::new(settings);
    let of = |members: &str| counts(&world, &plain(0, members));
    assert_eq!(
        of(r#""application": "shop", "sort": "score", "page": 3"#),
        JUDGED
    );
    assert_eq!(of(r#""application": "shop""#), JUDGED);
    assert_eq!(of(r#""application": "blog""#), counted("configured"));
    assert_eq!(of(""), counted("configured"));
    let price = r#""application": "shop", "sort": "price""#;
    assert_eq!(of(price), counted("configured"));
    let labelled = r#""application": "shop", "labels": {"channel": "tv"}"#;
    assert_eq!(of(labelled), counted("configured"));
    assert_eq!(
        of(r#""application": "shop", "filters": true"#),
        counted("filters")
    );
    assert!(SearchMember::parse("labels.").is_err());
    assert!(SearchMember::parse("pages").is_err());
}

#[test]
fn they_are_timed_and_joined_and_change_no_score() {
    let mut settings = settings();
    settings.measures = Measure::parse_list(
        "RR CTR Abandoned SAT(dwell=2) Reformulated(within=5) SessionSuccess ZeroResult",
    )
    .expect("known measures");
    let world = World::new(settings.clone());
    let others = World::new(settings);
    let eligible: Vec<(usize, String)> = (0..30)
        .map(|number| (3 * number, plain(3 * number, "")))
        .collect();
    let mixed: Vec<(usize, String)> = eligible
        .iter()
        .flat_map(|(number, search)| {
            let second = plain(number + 1, r#""page": 2"#);
            let third = plain(number + 2, r#""filters": [1]"#);
            [
                (*number, search.clone()),
                (number + 1, second),
                (number + 2, third),
            ]
        })
        .collect();
    let (alone, mixed) = (samples_of(&world, &eligible), samples_of(&others, &mixed));
    let scores = |samples: &Samples| -> Samples {
        let is_score = |name: &&String| {
            [
                "score",
                "gold_coverage",
                "documents_total",
                "clicks_total",
                "time_to_first_click",
            ]
            .iter()
            .any(|family| name.starts_with(family))
        };
        let scores = samples.iter().filter(|(name, _)| is_score(name));
        scores
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    assert!(
        scores(&alone)
            .keys()
            .any(|name| name.contains("SessionSuccess"))
    );
    assert_eq!(
        super::difference(&scores(&mixed), &scores(&alone)),
        Vec::<String>::new()
    );
    let value = |name: &str| mixed.get(name).map(String::as_str);
    assert_eq!(
        value(r#"searches_total{slice="all",value="",variant=""}"#),
        Some("90")
    );
    assert_eq!(
        value(r#"search_latency_seconds_count{stage="all",variant=""}"#),
        Some("90")
    );
    assert_eq!(
        value(r#"events_total{kind="search",outcome="judged"}"#),
        Some("30")
    );
    assert_eq!(
        value(r#"events_total{kind="search",outcome="not_eligible"}"#),
        Some("60")
    );
    assert_eq!(
        value(r#"events_total{kind="feedback",outcome="joined"}"#),
        Some("90")
    );
}

#[test]
fn an_unknown_key_does_not_fall_back_to_the_text() {
    let world = World::new(settings());
    let of = |members: &str| {
        let mut engine = world.engine();
        assign(&mut engine, 0);
        read_search(&mut engine, 0, 0, &plain(0, members));
        drain(&mut [&mut engine], 1, START + 10_000);
        outcome(&engine.snapshot(), Kind::Search, "judged")
    };
    assert_eq!(of(r#""query_key": "unknown""#), 0);
    assert_eq!(of(r#""query_key": "g1""#), 1);
    assert_eq!(of(r#""query_key": null"#), 1);
    assert_eq!(of(r#""query_key": """#), 1);
}
