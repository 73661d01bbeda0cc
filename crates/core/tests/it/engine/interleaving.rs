//! Interleaved rankings as streams of searches and clicks: a session is one observation, and a result counts
//! once.

use rankgauge_core::engine::read_model::ReadModel;
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::event::Kind;

use super::recovery::{restored, write};
use super::{
    FEEDBACK_WINDOW, START, World, assign, drain, read, read_feedback, read_search, settings, tick,
};

struct Stream {
    world: World,
    engine: Engine,
    searches: i64,
    clicks: i64,
    ts: i64,
}

impl Stream {
    fn new() -> Self {
        let world = World::new(settings());
        let mut engine = world.engine();
        assign(&mut engine, 0);
        Self {
            world,
            engine,
            searches: 0,
            clicks: 0,
            ts: START,
        }
    }

    /// Reads a search of a session with the results d0 (A), d1 (B), d2 (A), d3 (B), and clicks on them.
    fn search(&mut self, session: &str, clicks: &[&str]) {
        let number = self.searches;
        let payload = format!(
            r#"{{"query_id": "q{number}", "ts": {}, "query": "질문 {number}"{session},
                "experiment": {{"id": "mix"}},
                "results": [{{"id": "d0", "team": "A"}}, {{"id": "d1", "team": "B"}},
                            {{"id": "d2", "team": "A"}}, {{"id": "d3", "team": "B"}}]}}"#,
            self.ts
        );
        read_search(&mut self.engine, 0, number, &payload);
        self.searches += 1;
        for click in clicks {
            self.ts += 10;
            let payload = format!(
                r#"{{"event_id": "e{}", "ts": {}, "query_id": "q{number}", "type": "click",
                    "object_id": "{click}"}}"#,
                self.clicks, self.ts
            );
            read_feedback(&mut self.engine, 0, self.clicks, &payload);
            self.clicks += 1;
        }
        self.ts += 1_000;
        tick(&mut self.engine, self.ts);
    }

    fn finish(&mut self) {
        let end = self.ts + 10 * FEEDBACK_WINDOW;
        drain(&mut [&mut self.engine], 1, end);
    }

    /// Wins, losses and ties of A against B, and the log evidence.
    fn outcome(&self) -> ([u64; 3], f64) {
        let snapshot = self.engine.snapshot();
        let model = ReadModel::new(&snapshot, &self.world.settings, &self.world.registry);
        let pairs = model.team_pairs();
        let [pair] = &pairs[..] else {
            return ([0; 3], 0.0);
        };
        assert_eq!((pair.experiment, pair.teams), ("mix", ["A", "B"]));
        let it = pair.preference;
        ([it.wins, it.losses, it.ties], it.log_evidence())
    }
}

#[test]
fn a_double_click_breaks_no_tie() {
    let mut stream = Stream::new();
    stream.search(r#", "session_id": "s1""#, &["d0", "d0", "d0", "d1"]);
    stream.search(r#", "session_id": "s2""#, &["d1"]);
    stream.search("", &["d2", "d2"]);
    stream.search("", &["not-served"]);
    stream.finish();
    assert_eq!(stream.outcome().0, [1, 1, 2]);
    let samples = stream.world.samples(&stream.engine.snapshot());
    let wins = |team: &str| {
        samples[&format!(r#"interleaving_wins_total{{experiment="mix",team="{team}"}}"#)].clone()
    };
    assert_eq!([wins("A"), wins("B"), wins("__tie__")], ["1", "1", "2"]);
}

#[test]
fn a_session_is_one_observation_over_its_searches() {
    let mut stream = Stream::new();
    // B gets one click in each of three searches, A two in one.
    stream.search(r#", "session_id": "s1""#, &["d0", "d2"]);
    for _ in 0..3 {
        stream.search(r#", "session_id": "s1""#, &["d3"]);
    }
    stream.finish();
    assert_eq!(stream.outcome().0, [0, 1, 0]);
}

#[test]
fn a_preference_is_found_and_repeated_clicks_are_no_evidence() {
    let mut healthy = Stream::new();
    for session in 0..60 {
        // A user who likes A's first result clicks it five times; the next one B's first.
        let liked = ["d0", "d1"][session % 2];
        healthy.search(&format!(r#", "session_id": "s{session}""#), &[liked; 5]);
    }
    healthy.finish();
    let (outcome, evidence) = healthy.outcome();
    assert_eq!(outcome, [30, 30, 0]);
    assert!(evidence < 0.0, "{evidence}");

    let mut preferred = Stream::new();
    for session in 0..120 {
        let liked = if session % 5 == 0 { "d0" } else { "d1" };
        preferred.search(&format!(r#", "session_id": "s{session}""#), &[liked]);
    }
    preferred.finish();
    let (outcome, evidence) = preferred.outcome();
    assert_eq!(outcome, [24, 96, 0]);
    assert!(evidence >= 1000.0_f64.ln(), "{evidence}");
    let samples = preferred.world.samples(&preferred.engine.snapshot());
    let exposed = r#"interleaving_log_evidence{against="B",experiment="mix",team="A"}"#;
    let found: f64 = samples[exposed].parse().expect("a number");
    assert!((found - evidence).abs() < 1e-9, "{found}");
    assert!(samples.contains_key(r#"evidence_threshold{test="interleaving"}"#));
}

#[test]
fn a_session_ends_with_a_search_that_is_not_interleaved() {
    let mut stream = Stream::new();
    stream.search(r#", "session_id": "s1""#, &["d0"]);
    let plain = format!(
        r#"{{"query_id": "last", "ts": {}, "query": "질문", "session_id": "s1", "results": [{{"id": "d9"}}]}}"#,
        stream.ts
    );
    read_search(&mut stream.engine, 0, stream.searches, &plain);
    stream.searches += 1;
    stream.finish();
    assert_eq!(stream.outcome().0, [1, 0, 0]);
}

#[test]
fn a_session_whose_partition_is_lost_counts_here_as_far_as_it_was_read() {
    let mut stream = Stream::new();
    stream.search(r#", "session_id": "s1""#, &["d0"]);
    stream.ts += FEEDBACK_WINDOW - 2_000;
    stream.search(r#", "session_id": "s1""#, &["d1"]);
    // The first search is final, the second is not.
    stream.ts += FEEDBACK_WINDOW - 5_000;
    read(
        &mut stream.engine,
        Kind::Search,
        0,
        2,
        &format!(
            r#"{{"query_id": "other", "ts": {}, "query": "q", "results": []}}"#,
            stream.ts
        ),
    );
    let click = format!(
        r#"{{"event_id": "last", "ts": {}, "query_id": "other", "type": "click", "position": 1}}"#,
        stream.ts
    );
    read_feedback(&mut stream.engine, 0, stream.clicks, &click);
    tick(&mut stream.engine, stream.ts + 2_000);
    stream.engine.apply(Input::Revoked { partition: 0 });
    assert_eq!(stream.outcome().0, [0; 3]);
    assign(&mut stream.engine, 1);
    drain(
        &mut [&mut stream.engine],
        2,
        stream.ts + 20 * FEEDBACK_WINDOW,
    );
    assert_eq!(stream.outcome().0, [1, 0, 0]);
}

#[test]
fn pairs_of_teams_are_in_the_order_of_their_names_in_every_process() {
    let pairs = |teams: [&str; 3]| {
        let world = World::new(settings());
        let mut engine = world.engine();
        assign(&mut engine, 0);
        let results = teams.map(|team| format!(r#"{{"id": "d-{team}", "team": "{team}"}}"#));
        let search = format!(
            r#"{{"query_id": "q", "ts": {START}, "query": "질문", "results": [{}]}}"#,
            results.join(",")
        );
        read_search(&mut engine, 0, 0, &search);
        let click = format!(
            r#"{{"event_id": "e", "ts": {}, "query_id": "q", "type": "click", "object_id": "d-new"}}"#,
            START + 10
        );
        read_feedback(&mut engine, 0, 0, &click);
        drain(&mut [&mut engine], 1, START + 10 * FEEDBACK_WINDOW);
        let samples = world.samples(&engine.snapshot());
        let of_pairs = |name: &String| name.starts_with("interleaving_pair_sessions_total");
        samples
            .into_iter()
            .filter(|(name, _)| of_pairs(name))
            .collect::<Vec<_>>()
    };
    let found = pairs(["old", "new", "other"]);
    assert_eq!(found, pairs(["other", "old", "new"]));
    let expected = [
        ("new", "old", "win"),
        ("new", "other", "win"),
        ("old", "other", "tie"),
    ];
    for (team, against, outcome) in expected {
        let sample = format!(
            r#"interleaving_pair_sessions_total{{against="{against}",experiment="",outcome="{outcome}",team="{team}"}}"#
        );
        assert!(
            found.contains(&(sample.clone(), "1".to_owned())),
            "{sample}: {found:?}"
        );
    }
}

#[test]
fn a_session_that_is_not_finished_survives_a_restart() {
    let mut stream = Stream::new();
    stream.search(r#", "session_id": "s1""#, &["d0", "d2"]);
    stream.ts += FEEDBACK_WINDOW - 2_000;
    stream.search(r#", "session_id": "s1""#, &["d1"]);
    stream.ts += FEEDBACK_WINDOW;
    stream.search(r#", "session_id": "s2""#, &["d1"]);
    stream.finish();
    let world = World::new(settings());
    let (engine, _) = restored(&world, &write(&stream.engine));
    let before = stream.outcome();
    (stream.world, stream.engine) = (world, engine);
    assert_eq!(stream.outcome(), before);
    assert_eq!(before.0, [1, 1, 0]);
}
