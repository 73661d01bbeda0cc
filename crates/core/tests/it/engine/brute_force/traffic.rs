//! Random traffic of users who search, click, rate and return. It is dense in the cases on which
//! the definitions of the user behaviour measures depend, above all in times that lie exactly on
//! their limits.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rankgauge_core::event::Kind;
use serde_json::{Value, json};

use crate::engine::log::{Record, merge};
use crate::engine::{OUT_OF_ORDERNESS, START};

/// Number of partitions of the traffic. Sessions of the same name occur in each of them.
pub(super) const PARTITIONS: i32 = 2;

/// Range of event times of the searches, in milliseconds.
const SPAN: i64 = 150_000;

/// The same query in several spellings, another query, and a query that is not in the gold set.
const TEXTS: [&str; 9] = [
    "용도지역 변경",
    " 용도지역\t변경",
    "건폐율",
    "\u{1100}\u{1165}\u{11ab}\u{1111}\u{1168}\u{110b}\u{1172}\u{11af}",
    "FAR limit",
    "far  Limit ",
    "\u{ff26}\u{ff21}\u{ff32} limit",
    "무엇",
    "무엇 ",
];

/// Log, and the settings under which it is read.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// `engine.feedback_window` in milliseconds.
    pub window: i64,
    /// `feedback.min_samples`.
    pub min_samples: u64,
    /// All records, in order of arrival.
    pub records: Vec<Record>,
}

/// Delay between the event time of a record and its reading.
type Delay = (i64, Option<i64>);

/// Delivery of a record that may arrive twice: its delay, and the delay of its duplicate.
type Delivery = (Delay, Option<Delay>);

/// Reaction to a search: its time (that of the previous reaction if absent), its event, a flag for
/// an event id shared with other searches, and its delivery.
type Reaction = (Option<i64>, Value, bool, Delivery);

#[derive(Clone, Debug)]
struct Visit {
    partition: i32,
    time: i64,
    session: u8,
    /// Time since the previous search of the same session; a search without it starts a session.
    gap: Option<i64>,
    body: Value,
    delivery: Delivery,
    /// Selector of odd cases: of twelve searches, one never arrives and one is not JSON.
    odd: u8,
    reactions: Vec<Reaction>,
    opinions: Vec<Reaction>,
}

/// Traffic in which no record of a topic arrives more than `out_of_orderness` behind a newer one.
pub(super) fn in_order() -> impl Strategy<Value = Case> {
    case(0)
}

/// Traffic in which some records arrive later than allowed, or much later.
pub(super) fn with_late_records() -> impl Strategy<Value = Case> {
    case(20)
}

fn case(late: u8) -> impl Strategy<Value = Case> {
    let skew = prop_oneof![Just([0; 4]), prop::array::uniform4(0..40_000_i64),];
    (select(vec![20_000_i64, 64_500]), 0..12_u64, skew).prop_flat_map(
        move |(window, min_samples, skew)| {
            vec(visit(window, late), 1..16).prop_map(move |visits| Case {
                window,
                min_samples,
                records: records(visits, skew),
            })
        },
    )
}

fn delivery(window: i64, late: u8) -> impl Strategy<Value = Delivery> {
    let delay = move || {
        (
            0..OUT_OF_ORDERNESS,
            (0..100_u8, 0..3 * window).prop_map(move |(dice, by)| (dice < late).then_some(by)),
        )
    };
    (delay(), prop::option::weighted(0.12, delay()))
}

fn visit(window: i64, late: u8) -> impl Strategy<Value = Visit> {
    let time = prop_oneof![(0..SPAN / 5_000).prop_map(|step| step * 5_000), 0..SPAN,];
    let gap = prop_oneof![
        select(vec![
            0, 0, 1, 1, 999, 1_000, 4_999, 5_000, 5_001, 20_000, 20_001, 59_999, 60_000, 60_001,
            64_500, 64_501,
        ]),
        50_000..70_000_i64,
        0..20_000_i64,
    ];
    let reactions = vec(reaction(window, late, act().boxed()), 0..5);
    let opinions = vec(reaction(window, late, opinion().boxed()), 0..2);
    (
        (
            0..PARTITIONS,
            time,
            0..3_u8,
            prop::option::weighted(0.6, gap),
        ),
        search(),
        delivery(window, late),
        0..12_u8,
        reactions,
        opinions,
    )
        .prop_map(
            |((partition, time, session, gap), body, delivery, odd, reactions, opinions)| Visit {
                partition,
                time,
                session,
                gap,
                body,
                delivery,
                odd,
                reactions,
                opinions,
            },
        )
}

/// Reactions with times relative to their search: mostly within the window, often exactly at a
/// limit, sometimes before the search or far after it.
fn reaction(window: i64, late: u8, what: BoxedStrategy<Value>) -> impl Strategy<Value = Reaction> {
    let limits = vec![
        -window - 1,
        -window,
        -1,
        0,
        0,
        1,
        1_999,
        2_000,
        29_999,
        30_000,
        30_001,
        window - 1,
        window,
        window + 1,
    ];
    let after = prop_oneof![
        5 => (0..=window / 1_000).prop_map(|second| second * 1_000),
        3 => -3_000..=window,
        3 => select(limits),
        1 => -2 * window..=3 * window,
    ];
    (
        prop::option::weighted(0.85, after),
        what,
        prop::bool::weighted(0.2),
        delivery(window, late),
    )
}

fn object(fields: Vec<(&str, Value)>) -> Value {
    let fields = fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    Value::Object(fields.filter(|(_, value)| !value.is_null()).collect())
}

/// Search without its ids and its time.
fn search() -> impl Strategy<Value = Value> {
    let key = || (0..5_u8).prop_map(|number| json!(format!("g{number}")));
    let text = || select(TEXTS.to_vec()).prop_map(|text| json!(text));
    let asked = prop_oneof![
        4 => key().prop_map(|key| (key, Value::Null)),
        4 => text().prop_map(|text| (Value::Null, text)),
        1 => (key(), text()),
    ];
    let arm = prop_oneof![
        3 => Just((Value::Null, Value::Null)),
        3 => select(vec!["V1", "V2"]).prop_map(|variant| (json!(variant), Value::Null)),
        3 => (select(vec!["split", "split", "unknown"]), select(vec!["V1", "V2"]))
            .prop_map(|(id, arm)| (json!("V0"), json!({"id": id, "variant": arm}))),
        1 => Just((json!("V1"), json!({"id": "split"}))),
    ];
    let labels = prop_oneof![
        Just(Value::Null),
        Just(json!({"device": "휴대폰"})),
        Just(json!({"device": "pc", "query_type": "typed"})),
        Just(json!({"device": 5, "session": "not a slice"})),
        Just(json!({"device": true})),
        Just(json!({"device": 1.5, "query_type": false})),
    ];
    (asked, results(), arm, labels).prop_map(
        |((key, text), results, (variant, experiment), labels)| {
            object(vec![
                ("query_key", key),
                ("query", text),
                ("results", results),
                ("variant", variant),
                ("experiment", experiment),
                ("labels", labels),
            ])
        },
    )
}

/// Served list, partly repeated; listed as served or by rank, and sometimes by two teams.
fn results() -> impl Strategy<Value = Value> {
    let teams = select(vec![
        ["", "", ""],
        ["", "", ""],
        ["A", "B", "A"],
        ["B", "A", ""],
        ["A", "B", "C"],
    ]);
    (
        vec(select(vec![0, 0, 1, 1, 2, 3, 4, 5]), 0..6),
        any::<bool>(),
        teams,
    )
        .prop_map(|(served, by_rank, teams)| {
            let hits = served.iter().zip(1..).zip(teams.iter().cycle());
            let mut hits: Vec<Value> = hits
                .map(|((document, rank), team)| {
                    object(vec![
                        ("id", json!(format!("d{document}"))),
                        (
                            "team",
                            if team.is_empty() {
                                Value::Null
                            } else {
                                json!(team)
                            },
                        ),
                        ("rank", if by_rank { json!(rank) } else { Value::Null }),
                    ])
                })
                .collect();
            if by_rank {
                let middle = hits.len() / 2;
                hits.rotate_left(middle);
            }
            json!(hits)
        })
}

/// Result that an event refers to: by position, by document, or by both, which may disagree.
fn target() -> impl Strategy<Value = Value> {
    let position = || select(vec![1, 1, 1, 2, 2, 3, 4, 6]).prop_map(|position| json!(position));
    let document = || {
        select(vec![0, 0, 1, 1, 2, 3, 4, 5, 6]).prop_map(|document| json!(format!("d{document}")))
    };
    prop_oneof![
        3 => position().prop_map(|position| object(vec![("position", position)])),
        3 => document().prop_map(|document| object(vec![("object_id", document)])),
        1 => (position(), document()).prop_map(|(position, document)| {
            object(vec![("position", position), ("object_id", document)])
        }),
    ]
}

/// Thumb or rating.
fn opinion_value() -> impl Strategy<Value = Value> {
    let ratings = vec![
        json!({"value": 1}),
        json!({"value": 3}),
        json!({"value": 3.5}),
        json!({"value": 4}),
        json!({"value": 5}),
        json!({"value": 9, "min": 0, "max": 10}),
        json!({"value": 8, "min": 0, "max": 10}),
        json!({"value": 2, "min": 1, "max": 3}),
        json!({"value": 3, "min": 1, "max": 3}),
        json!({"value": 2, "min": 1, "max": 2}),
        json!({"value": 0.75, "min": 0, "max": 1}),
        json!({"value": 0.5, "min": 0, "max": 1}),
        json!({"value": 74, "min": 0, "max": 100}),
        json!({"value": 75, "min": 0, "max": 100}),
        json!({"value": 99, "min": 0, "max": 100}),
        json!({"value": 0, "min": -1, "max": 1}),
        json!({"value": 1, "min": -1, "max": 1}),
        json!({"value": 2.5, "min": 0.5, "max": 3.5}),
    ];
    prop_oneof![
        select(vec![json!(true), json!(false), json!(1), json!(-1)])
            .prop_map(|value| json!({"type": "thumbs", "value": value})),
        select(ratings).prop_map(|mut rating| {
            rating["type"] = json!("rating");
            rating
        }),
    ]
}

/// Feedback, or seldom an action, that refers to a whole session.
fn opinion() -> impl Strategy<Value = Value> {
    prop_oneof![
        5 => opinion_value(),
        1 => select(vec![
            json!({"type": "comment", "comment": "좋아요"}),
            json!({"type": "conversion"}),
            json!({"type": "click", "position": 1}),
            json!({"type": "dwell", "dwell_ms": 60_000}),
            json!({"type": "reformulation"}),
            json!({"type": "judgment", "object_id": "d0", "value": 2}),
        ]),
    ]
}

/// Action of a user on a search.
fn act() -> impl Strategy<Value = Value> {
    let with = |mut event: Value, target: Value| {
        merge(&mut event, target);
        event
    };
    let dwell = select(vec![
        100, 1_999, 2_000, 2_500, 29_999, 30_000, 30_000, 45_000,
    ]);
    prop_oneof![
        7 => target().prop_map(move |target| with(json!({"type": "click"}), target)),
        3 => (dwell, prop::option::of(target())).prop_map(move |(dwell, target)| {
            with(json!({"type": "dwell", "dwell_ms": dwell}), target.unwrap_or(json!({})))
        }),
        3 => opinion_value(),
        2 => (0..7_u8, select(vec![json!(0), json!(1), json!(1.5), json!(2), json!(3)])).prop_map(
            |(document, value)| {
                json!({"type": "judgment", "object_id": format!("d{document}"), "value": value})
            }
        ),
        4 => select(vec![
            json!({"type": "impression"}),
            json!({"type": "impression", "position": 2}),
            json!({"type": "conversion"}),
            json!({"type": "conversion", "object_id": "d0"}),
            json!({"type": "reformulation"}),
            json!({"type": "comment", "comment": "음"}),
            json!({"type": "custom", "name": "share", "value": 1}),
            json!({"type": "impression", "session_id": "s1"}),
            json!({"type": "click"}),
            json!({"type": "rating", "value": 6}),
        ]),
    ]
}

fn records(visits: Vec<Visit>, skew: [i64; 4]) -> Vec<Record> {
    let mut records = Vec::new();
    let mut add =
        |kind: Kind, partition: i32, time: i64, (first, again): Delivery, payload: &str| {
            let topic = usize::try_from(partition).expect("two partitions") * 2 + kind.index();
            for (jitter, lateness) in std::iter::once(first).chain(again) {
                records.push(Record {
                    kind,
                    partition,
                    time,
                    arrival: time + skew[topic] + jitter + lateness.unwrap_or(0),
                    payload: payload.to_owned(),
                });
            }
        };
    let mut before: Option<(i32, i64, u8)> = None;
    for (number, visit) in visits.into_iter().enumerate() {
        let (partition, time, session) = match (visit.gap, before) {
            (Some(gap), Some((partition, time, session))) => (partition, time + gap, session),
            _ => (visit.partition, visit.time, visit.session),
        };
        before = Some((partition, time, session));
        let id = format!("q{number}");
        match visit.odd {
            0 => {}
            1 => add(Kind::Search, partition, time, visit.delivery, "{"),
            _ => {
                let mut event = json!({"query_id": id, "ts": START + time});
                if session > 0 {
                    event["session_id"] = json!(format!("s{session}"));
                }
                merge(&mut event, visit.body);
                add(
                    Kind::Search,
                    partition,
                    time,
                    visit.delivery,
                    &event.to_string(),
                );
            }
        }
        let mut feedback = |time: i64, mut event: Value, fields: Value, delivery: Delivery| {
            event["ts"] = json!(START + time);
            merge(&mut event, fields);
            let payload = event.to_string();
            add(Kind::Feedback, partition, time, delivery, &payload);
        };
        let mut moment = time;
        for (index, (after, fields, is_shared, delivery)) in visit.reactions.into_iter().enumerate()
        {
            // Event ids are unique only within a search.
            let event_id = if is_shared {
                format!("e{index}")
            } else {
                format!("e{number}-{index}")
            };
            moment = after.map_or(moment, |after| time + after);
            let event = json!({"event_id": event_id, "query_id": id});
            feedback(moment, event, fields, delivery);
        }
        for (index, (after, fields, _, delivery)) in visit.opinions.into_iter().enumerate() {
            let event = json!({
                "event_id": format!("o{number}-{index}"),
                "session_id": format!("s{session}"),
            });
            feedback(time + after.unwrap_or(0), event, fields, delivery);
        }
    }
    records.sort_by_key(|record| record.arrival);
    records
}
