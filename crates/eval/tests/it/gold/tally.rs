//! Counts of searches and feedback, and the proposals derived from them.

use rankgauge_core::decode::native;
use rankgauge_core::event::Limits;
use rankgauge_core::gold::GoldSet;
use rankgauge_core::ranking::JudgeBy;
use rankgauge_eval::proposal::{
    DEFAULT_MEMORY_LIMIT, DocumentProposal, ProposalOptions, Proposals, QueryProposal, Tally,
};
use serde_json::{Value, json};

use super::{native as native_set, parse};

const LIMITS: Limits = Limits {
    record_bytes: 1 << 20,
    results_per_search: 1_000,
};

const ALL: ProposalOptions = ProposalOptions {
    min_clicks: 1,
    min_searches: 1,
    queries: 100,
    per_query: 100,
};

/// Gold set with one query, `q`, with the text 17조 검색: `a` is relevant, `b` is not.
fn gold() -> GoldSet {
    parse(&native_set(
        "{\"query_id\": \"q\", \"query_text\": \"17조 검색\", \"ground_truth\": {\"a\": 2, \"b\": 0}}",
    ))
}

fn feed(tally: &mut Tally<'_>, searches: &[Value], feedback: &[Value]) {
    for event in feedback {
        let payload = event.to_string();
        tally.feedback(&native::feedback(payload.as_bytes(), &LIMITS).expect("feedback"));
    }
    for event in searches {
        let payload = event.to_string();
        tally.search(&native::search(payload.as_bytes(), &LIMITS).expect("a search"));
    }
}

fn proposals(searches: &[Value], feedback: &[Value]) -> Proposals {
    let gold = gold();
    let mut tally = Tally::new(&gold, JudgeBy::Id, DEFAULT_MEMORY_LIMIT);
    feed(&mut tally, searches, feedback);
    tally.proposals(&ALL)
}

fn search(id: &str, results: &[&str]) -> Value {
    let results: Vec<Value> = results.iter().map(|id| json!({"id": id})).collect();
    json!({"query_id": id, "ts": 1, "query": "17조 검색", "results": results})
}

/// Feedback on search `id`, with its own event id.
fn said(event: u32, id: &str, action: &str, more: &Value) -> Value {
    let mut said = json!({"event_id": event, "ts": 2, "type": action, "query_id": id});
    for (name, value) in more.as_object().expect("fields") {
        said[name] = value.clone();
    }
    said
}

fn only(queries: &[QueryProposal]) -> &QueryProposal {
    let [query] = queries else {
        panic!("one query is expected: {queries:?}");
    };
    query
}

#[track_caller]
fn document<'a>(query: &'a QueryProposal, id: &str) -> &'a DocumentProposal {
    let mut documents = query.documents.iter();
    documents
        .find(|document| document.document_id == id)
        .unwrap_or_else(|| panic!("{id} is not proposed: {query:?}"))
}

#[test]
fn repeated_clicks_in_one_search_count_once() {
    let searches = [
        search("1", &["a", "x", "y"]),
        search("2", &["x", "a"]),
        search("3", &["a", "b", "x"]),
    ];
    let feedback = [
        said(1, "1", "click", &json!({"object_id": "x"})),
        said(2, "1", "click", &json!({"object_id": "x"})),
        said(3, "1", "click", &json!({"position": 2})),
        said(4, "2", "click", &json!({"position": 1})),
        said(
            5,
            "1",
            "dwell",
            &json!({"object_id": "x", "dwell_ms": 30_000}),
        ),
        said(
            6,
            "2",
            "dwell",
            &json!({"object_id": "x", "dwell_ms": 29_999}),
        ),
        said(7, "2", "conversion", &json!({"object_id": "x"})),
    ];
    let found = proposals(&searches, &feedback);
    let query = only(&found.queries);
    assert_eq!(query.query_id.as_deref(), Some("q"));
    assert_eq!(query.searches, 3);
    let x = document(query, "x");
    assert_eq!(
        (x.searches, x.clicks, x.satisfied_clicks, x.conversions),
        (3, 2, 1, 1)
    );
    assert_eq!(x.click_rate, Some(2.0 / 3.0));
    // The document is served second, first and third.
    assert_eq!(x.mean_position, Some(2.0));
    // y has no feedback; a and b are judged.
    assert_eq!(query.documents.len(), 1);
    assert_eq!((found.feedback.used, found.feedback.not_applicable), (6, 1));
    assert_eq!((found.searches.known, found.searches.unknown), (3, 0));
}

#[test]
fn duplicate_and_orphaned_events_are_only_counted() {
    let searches = [search("1", &["x"]), search("1", &["x", "y"])];
    let feedback = [
        said(1, "1", "click", &json!({"object_id": "x"})),
        said(1, "1", "click", &json!({"object_id": "x"})),
        said(2, "1", "click", &json!({"object_id": "elsewhere"})),
        said(3, "1", "click", &json!({"position": 2})),
        said(4, "9", "click", &json!({"position": 1})),
        said(5, "1", "thumbs", &json!({"value": true})),
        json!({"event_id": 6, "ts": 2, "type": "rating", "session_id": "s", "value": 4}),
    ];
    let found = proposals(&searches, &feedback);
    let facts = found.feedback;
    assert_eq!(document(only(&found.queries), "x").clicks, 1);
    assert_eq!((found.searches.read, found.searches.duplicate), (2, 1));
    assert_eq!((facts.read, facts.used, facts.duplicate), (7, 1, 1));
    assert_eq!(
        (facts.not_served, facts.orphaned, facts.not_applicable),
        (2, 1, 2)
    );
}

#[test]
fn ratings_of_any_scale_and_thumbs_share_one_mean() {
    let searches = [search("1", &["x"]), search("2", &["x"])];
    let feedback = [
        said(1, "1", "rating", &json!({"object_id": "x", "value": 3})),
        said(
            2,
            "2",
            "rating",
            &json!({"object_id": "x", "value": 0, "min": -2, "max": 2}),
        ),
        said(3, "2", "thumbs", &json!({"object_id": "x", "value": true})),
        said(4, "2", "thumbs", &json!({"position": 1, "value": -1})),
    ];
    let found = proposals(&searches, &feedback);
    let x = document(only(&found.queries), "x");
    assert_eq!((x.ratings, x.rating_mean), (4, Some(0.5)));
    assert_eq!(x.clicks, 0);
}

#[test]
fn the_production_grade_is_the_median_and_is_compared_with_the_gold_set() {
    let searches = [search("1", &["a", "b", "x"]), search("2", &["x"])];
    let graded = |event, id: &str, document: &str, value: f64| {
        said(
            event,
            id,
            "judgment",
            &json!({"object_id": document, "value": value}),
        )
    };
    let feedback = [
        graded(1, "1", "x", 3.0),
        graded(2, "2", "x", 0.5),
        graded(3, "2", "never served", 1.0),
        graded(4, "1", "a", 1.0),
        graded(5, "1", "b", 2.0),
        graded(6, "2", "b", 0.0),
        graded(7, "1", "", 2.0),
    ];
    let found = proposals(&searches, &feedback);
    let query = only(&found.queries);
    let x = document(query, "x");
    // The lower of the two middle grades, which is a grade that was given.
    let grade = x.production_grade.map(rankgauge_core::gold::Grade::get);
    assert_eq!((x.production_judgments, grade), (2, Some(0.5)));
    let other = document(query, "never served");
    assert_eq!(
        (other.searches, other.click_rate, other.mean_position),
        (0, None, None)
    );
    // Production and gold set agree: a is relevant, b is not, as its lower median is 0.
    let production = found.production;
    assert_eq!((production.judged, production.n), (4, 2));
    assert_eq!(
        (production.kappa, production.agreement),
        (Some(1.0), Some(1.0))
    );
}

#[test]
fn proposals_are_ranked_by_grade_then_click_evidence() {
    let mut searches = Vec::new();
    let mut feedback = Vec::new();
    for number in 0..20 {
        let id = number.to_string();
        searches.push(search(
            &id,
            if number < 2 {
                &["often", "twice", "graded"]
            } else {
                &["often"]
            },
        ));
        if number < 15 {
            feedback.push(said(number, &id, "click", &json!({"object_id": "often"})));
        }
        if number < 2 {
            feedback.push(said(
                100 + number,
                &id,
                "click",
                &json!({"object_id": "twice"}),
            ));
        }
    }
    feedback.push(said(
        200,
        "0",
        "judgment",
        &json!({"object_id": "graded", "value": 1}),
    ));
    let found = proposals(&searches, &feedback);
    let ids: Vec<&str> = only(&found.queries)
        .documents
        .iter()
        .map(|document| document.document_id.as_str())
        .collect();
    assert_eq!(ids, ["graded", "often", "twice"]);
}

#[test]
fn documents_below_the_minimum_clicks_or_beyond_the_limit_are_not_proposed() {
    let gold = gold();
    let mut tally = Tally::new(&gold, JudgeBy::Id, DEFAULT_MEMORY_LIMIT);
    let searches: Vec<Value> = (0..3)
        .map(|number| search(&number.to_string(), &["x", "y", "z"]))
        .collect();
    let mut feedback = Vec::new();
    for (event, (id, object)) in
        (0..).zip([("0", "x"), ("1", "x"), ("2", "y"), ("0", "z"), ("2", "z")])
    {
        feedback.push(said(event, id, "click", &json!({"object_id": object})));
    }
    feed(&mut tally, &searches, &feedback);
    let choice = ProposalOptions {
        min_clicks: 2,
        per_query: 1,
        ..ALL
    };
    let found = tally.proposals(&choice);
    let query = only(&found.queries);
    assert_eq!(query.documents.len(), 1);
    assert_eq!(query.documents[0].document_id, "x");
    assert_eq!(query.documents_more, 1);
    let none = tally.proposals(&ProposalOptions {
        min_clicks: 9,
        ..ALL
    });
    assert!(none.queries.is_empty());
}

#[test]
fn unknown_queries_are_proposed_with_their_results() {
    let asked = |id: &str, query: &str, key: Option<&str>| {
        json!({"query_id": id, "ts": 1, "query": query, "query_key": key,
               "results": [{"id": "m"}, {"id": "n"}]})
    };
    let searches = [
        asked("1", "토지  보상", None),
        asked("2", " 토지 보상", Some("K1")),
        asked("3", "용적률", Some("K2")),
        asked("4", "건폐율", Some("K2")),
        asked("5", "", None),
        json!({"query_id": "6", "ts": 1, "query_key": "K7", "results": []}),
    ];
    let feedback = [said(1, "1", "click", &json!({"object_id": "n"}))];
    let found = proposals(&searches, &feedback);
    let names: Vec<(Option<&str>, Option<&str>, u32)> = found
        .unknown_queries
        .iter()
        .map(|query| {
            (
                query.query_id.as_deref(),
                query.query_text.as_deref(),
                query.searches,
            )
        })
        .collect();
    // K2 is recorded for two queries, so it is the key of neither.
    assert_eq!(
        names,
        [
            (None, Some("토지  보상"), 2),
            (Some("K7"), None, 1),
            (None, Some("건폐율"), 1),
            (None, Some("용적률"), 1),
        ]
    );
    let first = &found.unknown_queries[0].documents;
    let ids: Vec<&str> = first.iter().map(|it| it.document_id.as_str()).collect();
    assert_eq!(ids, ["n", "m"], "what is not relevant is needed as well");
    assert_eq!(found.searches.unknown, 6);
}

#[test]
fn chunks_are_counted_as_their_document() {
    let gold = gold();
    let mut tally = Tally::new(&gold, JudgeBy::GroupId, DEFAULT_MEMORY_LIMIT);
    let searches = [
        json!({"query_id": "1", "ts": 1, "query_key": "q", "results": [
        {"id": "x::chunk0", "group_id": "x"}, {"id": "x::chunk1", "group_id": "x"},
        {"id": "a::chunk0", "group_id": "a"}]}),
    ];
    let feedback = [
        said(1, "1", "click", &json!({"object_id": "x::chunk1"})),
        said(
            2,
            "1",
            "judgment",
            &json!({"object_id": "x::chunk0", "value": 2}),
        ),
        said(3, "1", "conversion", &json!({"object_id": "x"})),
        said(4, "1", "click", &json!({"object_id": "a::chunk0"})),
    ];
    feed(&mut tally, &searches, &feedback);
    let found = tally.proposals(&ALL);
    let query = only(&found.queries);
    assert_eq!(query.documents.len(), 1);
    let x = document(query, "x");
    assert_eq!(
        (x.searches, x.clicks, x.conversions, x.production_judgments),
        (1, 1, 1, 1)
    );
    assert_eq!(x.mean_position, Some(1.0));
}

#[test]
fn queries_judged_by_texts_have_no_proposed_documents() {
    let gold = parse(&native_set(
        "{\"query_id\": \"t\", \"query_text\": \"17조 검색\", \"texts\": [\"제17조\"]}",
    ));
    let mut tally = Tally::new(&gold, JudgeBy::Id, DEFAULT_MEMORY_LIMIT);
    let feedback = [said(1, "1", "click", &json!({"object_id": "x"}))];
    feed(&mut tally, &[search("1", &["x"])], &feedback);
    let found = tally.proposals(&ALL);
    assert!(found.queries.is_empty() && found.unknown_queries.is_empty());
    assert_eq!(
        (found.searches.known, found.feedback.not_applicable),
        (1, 1)
    );
}

#[test]
fn events_over_the_memory_limit_are_counted_with_exactly_one_outcome() {
    let gold = gold();
    for room in [0, 300, 1_000, 3_000, 10_000, DEFAULT_MEMORY_LIMIT] {
        let mut tally = Tally::new(&gold, JudgeBy::Id, room);
        let names: Vec<String> = (0..50).map(|number| format!("법률_제{number}조")).collect();
        let searches: Vec<Value> = names
            .iter()
            .map(|id| {
                let mut search = search(id, &[id, "x"]);
                search["query"] = json!(id);
                search
            })
            .collect();
        let feedback: Vec<Value> = (0..)
            .zip(&names)
            .map(|(event, id)| said(event, id, "click", &json!({"position": 1})))
            .collect();
        feed(&mut tally, &searches, &feedback);
        let found = tally.proposals(&ALL);
        let (searches, feedback) = (found.searches, found.feedback);
        assert_eq!(searches.read, 50);
        assert_eq!(
            searches.known + searches.unknown + searches.duplicate + searches.over_limit,
            50
        );
        let fates = [
            feedback.used,
            feedback.not_applicable,
            feedback.not_served,
            feedback.orphaned,
            feedback.duplicate,
            feedback.over_limit,
        ];
        assert_eq!(
            fates.iter().sum::<u64>(),
            50,
            "{feedback:?} with {room} bytes"
        );
        let kept: usize = found
            .unknown_queries
            .iter()
            .map(|query| query.documents.len())
            .sum();
        assert!(kept * 192 <= room, "{kept} documents in {room} bytes");
        assert_eq!(room == DEFAULT_MEMORY_LIMIT, kept == 100);
    }
}
