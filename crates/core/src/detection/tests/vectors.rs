//! Equality with the vectors that `tests/detection/traffic_sim_3.py --check` prints.

use crate::detection::drop_series::QueryScores;
use crate::detection::{DropSeries, Part, Preference, SeriesRules, SplitTest, Unit, VariantTest};
use serde_json::Value;

/// ln A of one false alarm a quarter over 200 series.
const THRESHOLD: f64 = 17.070_525_429_448_35;

fn vectors(kind: &str) -> Vec<Value> {
    let text = include_str!("../../../../../tests/detection/vectors.jsonl");
    let lines = text.lines().map(serde_json::from_str);
    let all = lines.map(|line: Result<Value, _>| line.expect("JSON"));
    all.filter(|vector| vector["vector"] == kind).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[track_caller]
fn assert_close(found: f64, expected: f64, what: &str) {
    // The vectors have twelve digits.
    assert!(
        (found - expected).abs() <= 1e-9,
        "{what}: {found} is not {expected}"
    );
}

fn chance(place: u64) -> f64 {
    let mut z = place.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    let high = f64::from(u32::try_from(z >> 32).expect("32 bits"));
    let low = f64::from(u32::try_from(z & 0xFFFF_FFFF).expect("32 bits"));
    // The sum is rounded once, as a conversion of 64 bits is.
    (high * 4_294_967_296.0 + low) / 18_446_744_073_709_551_616.0
}

struct Search {
    ts: i64,
    query: u32,
    score: f64,
}

/// Stream of the vectors: 4,000 searches of 20 queries that fall at 80 %.
fn stream(is_of_users: bool) -> Vec<Search> {
    let step = if is_of_users { 300_000 } else { 30_000 };
    let search = |i: u32| {
        let place = u64::from(i) * 3;
        let query = (20.0 * chance(place + 1).powi(2)).floor();
        let expected = 0.5 + 0.02 * query + 0.3 * (chance(place + 2) - 0.5);
        let late = f64::from(i) >= 3200.0;
        let fall = if late { 1.0 } else { 0.0 };
        let score = if is_of_users {
            let limit = expected - 0.25 * fall;
            if chance(place + 3) < limit { 1.0 } else { 0.0 }
        } else {
            let fall = if query < 3.0 { 0.15 * fall } else { 0.0 };
            (expected - fall).clamp(0.0, 1.0)
        };
        let number = (0..20).find(|it| f64::from(*it) >= query);
        Search {
            ts: 1_763_337_600_000 + i64::from(i) * step,
            query: number.expect("a query below 20"),
            score,
        }
    };
    (0..4000).map(search).collect()
}

fn holds(kind: &str, is_of_users: bool, has_query: bool) {
    let rules = SeriesRules {
        threshold: THRESHOLD,
        tolerance: 0.01,
        warm_up_tolerance: 0.02,
        repeat_window: 1,
        has_local: true,
        is_seasonal: is_of_users,
        alarmed: None,
    };
    let vectors = vectors(kind);
    let mut test = DropSeries::default();
    let mut queries = [QueryScores::default(); 20];
    let mut alarm = None;
    let mut checked = 0;
    for (place, search) in stream(is_of_users).iter().enumerate() {
        let query = usize::try_from(search.query).expect("small");
        let query = has_query.then(|| &mut queries[query]);
        test.add(search.ts, query, search.score, &rules);
        if alarm.is_none() && test.log_evidence() >= THRESHOLD {
            alarm = Some((place, test.part()));
        }
        for vector in vectors.iter().filter(|it| it["search"] == place) {
            let name = format!("{kind}, search {place}");
            assert_eq!(vector["ts"], search.ts, "{name}");
            assert!(
                (number(&vector["score"]) - search.score).abs() < 1e-15,
                "{name}"
            );
            assert_close(test.global_evidence(), number(&vector["ln_global"]), &name);
            assert_close(test.log_evidence(), number(&vector["ln_combined"]), &name);
            match vector["ln_local"].as_f64() {
                Some(local) => assert_close(test.local_evidence().expect("local"), local, &name),
                None => assert_eq!(test.local_evidence(), None, "{name}"),
            }
            checked += 1;
        }
    }
    assert_eq!(checked, 10, "{kind}");
    let last = vectors.iter().find(|it| it["alarms"].is_array());
    let last = last.expect("a summary");
    let (place, part) = alarm.expect("an alarm");
    assert_eq!(last["alarms"][2], place, "{kind}");
    assert_eq!(part, Part::All, "{kind}");
}

#[test]
fn the_drop_test_of_a_series_matches_the_vectors() {
    holds("drop", false, true);
}

#[test]
fn the_drop_test_with_a_season_matches_the_vectors() {
    holds("user, no gold", true, false);
    holds("user, gold", true, true);
}

#[test]
fn the_hash_of_a_unit_matches_the_vectors() {
    let vectors = vectors("hash");
    for id in ["", "u1", "user-42", "사용자"] {
        let hash = Unit::of(id).0.to_string();
        assert_eq!(vectors[0][id], hash, "{id}");
    }
}

#[test]
fn arms_splits_and_preferences_match_the_vectors() {
    let mut test = VariantTest::default();
    let mut split = SplitTest::new(vec![0.5, 0.5]);
    let mut counted = 0_u64;
    for (place, search) in stream(false).iter().enumerate() {
        let unit = format!("u{}", place * place % 701);
        let arm = usize::try_from((Unit::of(&unit).0 >> 40) % 2).expect("0 or 1");
        let score = if arm == 1 {
            (search.score - 0.06).max(0.0)
        } else {
            search.score
        };
        counted += u64::from(test.add(search.ts.div_euclid(3_600_000), &unit, arm, score));
        split.add(&unit, arm);
    }
    let expected = &vectors("experiment")[0];
    assert_eq!(expected["counted"], counted);
    let found = test.difference().expect("100 buckets");
    assert_close(found.difference, number(&expected["D"]), "D");
    assert_close(found.variance, number(&expected["v"]), "v");
    assert_close(found.log_evidence(), number(&expected["ln_e"]), "ln E");
    let worse = found.log_evidence_worse(false);
    assert_close(worse, number(&expected["ln_e_worse"]), "worse");
    let better = found.log_evidence_worse(true);
    assert!(better < 0.0, "a lower score is no loss of a cost: {better}");
    let [low, high] = found.interval(0.001);
    let half_width = number(&expected["half_width_001"]);
    assert_close((high - low) / 2.0, half_width, "half width");

    let expected = &vectors("split")[0];
    assert_eq!(expected["counted"], split.counts().iter().sum::<u64>());
    assert_close(split.log_evidence(), number(&expected["ln_e"]), "split");

    let expected = &vectors("interleaving")[0];
    let results = [("d1", 'A'), ("d2", 'B'), ("d3", 'A')];
    let credit = Preference::credit(results, ["d1", "d1", "d2", "d9", "d3"], ['A', 'B']);
    assert_eq!(expected["credit"][0], credit[0]);
    assert_eq!(expected["credit"][1], credit[1]);
    let preference = |wins, losses, ties| Preference { wins, losses, ties };
    let found = preference(60, 35, 20);
    assert_close(
        found.log_evidence(),
        number(&expected["ln_e_60_35_20"]),
        "60",
    );
    assert_close(found.delta(), number(&expected["delta"]), "delta");
    let found = preference(260, 140, 0).log_evidence();
    assert_close(found, number(&expected["ln_e_260_140_0"]), "260");
}

#[test]
fn no_time_or_score_breaks_the_drop_test() {
    for is_seasonal in [false, true] {
        let rules = SeriesRules {
            threshold: THRESHOLD,
            tolerance: 0.0,
            warm_up_tolerance: 0.0,
            repeat_window: i64::MAX,
            has_local: true,
            is_seasonal,
            alarmed: None,
        };
        let rules = [
            rules,
            SeriesRules {
                repeat_window: 1,
                ..rules
            },
        ];
        for rules in rules {
            let mut test = DropSeries::default();
            let mut query = QueryScores::default();
            for ts in [0, i64::MIN, i64::MAX, 5, i64::MAX, -1, i64::MIN] {
                for score in [0.0, 1.0, f64::NAN, f64::INFINITY, -3.0] {
                    test.add(ts, Some(&mut query), score, &rules);
                    assert!(test.log_evidence().is_finite(), "{ts} {score}");
                }
            }
        }
    }
}
