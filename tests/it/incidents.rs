//! Incidents of days of searches: how many, how urgent, and when they end.

use std::fs;

use crate::harness::command::{printed, rankgauge};

const START: i64 = 1_763_337_600_000;

/// Measures of the incidents that a replay of searches of 40 queries shows (id, value of the slice, last severity, first
/// and last minute), and the number of ended incidents of V1 by reason. `score` is the share of good searches of a query at a
/// minute, in tenths; `None` for a search of another variant.
fn incidents_of(
    minutes: i64,
    score: impl Fn(i64, i64) -> Option<i64>,
) -> (Vec<[String; 5]>, Vec<String>) {
    const QUERIES: i64 = 40;
    let folder = tempfile::tempdir().expect("a folder");
    let gold: Vec<String> = (0..QUERIES)
        .map(|it| format!("q{it} 0 d1 1\nq{it} 0 d2 0\n"))
        .collect();
    fs::write(folder.path().join("gold.qrels"), gold.concat()).expect("a file");
    let searches: Vec<String> = (0..minutes)
        .flat_map(|minute| (0..QUERIES).map(move |query| (minute, query)))
        .map(|(minute, query)| {
            let ts = START + minute * 60_000 + query * 1_000;
            // As many good ones as the share, spread over minutes and queries.
            let of_v1 = score(minute, query);
            let (id, variant) = match of_v1 {
                Some(share) if (minute * 7 + query * 3) % 10 < share => (1, 1),
                _ => (2, of_v1.map_or(2, |_| 1)),
            };
            let kind = query % 4;
            format!("{{\"query_id\":\"s{ts}\",\"ts\":{ts},\"query_key\":\"q{query}\",\"variant\":\"V{variant}\",\"labels\":{{\"kind\":\"k{kind}\"}},\"results\":[{{\"id\":\"d{id}\"}}]}}\n")
        })
        .chain([format!("{{\"query_id\":\"end\",\"ts\":{},\"query_key\":\"q0\",\"variant\":\"V2\",\"results\":[{{\"id\":\"d1\"}}]}}\n", START + minutes * 60_000)])
        .collect();
    fs::write(folder.path().join("search.jsonl"), searches.concat()).expect("a file");
    let replay = "replay --search search.jsonl --every 1m --set gold.paths=gold.qrels --set measures=RR \
                  --set slices=kind --set detection.measures=RR --set detection.slices=kind --metrics \
                  rankgauge_incident_info,rankgauge_incidents_ended_total";
    let text = printed(&rankgauge(folder.path(), replay));
    let label = |line: &str, name: &str| {
        let (_, after) = line.split_once(&format!("{name}=\"")).expect("a label");
        after.split('"').next().expect("a value").to_owned()
    };
    let mut seen: Vec<[String; 5]> = Vec::new();
    for line in text
        .lines()
        .filter(|it| it.starts_with("rankgauge_incident_info{"))
    {
        let [incident, value, severity] =
            ["incident", "value", "severity"].map(|it| label(line, it));
        let time = line.rsplit(' ').next().expect("a time");
        let (seconds, _) = time.split_once('.').expect("a fraction");
        let milliseconds = seconds.parse::<i64>().expect("a time") * 1_000;
        let minute = ((milliseconds - START) / 60_000).to_string();
        let mut known = seen.iter_mut();
        match known.find(|it| (&it[0], &it[1]) == (&incident, &value)) {
            Some(known) => (known[2], known[4]) = (severity, minute),
            None => seen.push([incident, value, severity, minute.clone(), minute]),
        }
    }
    let ended = text
        .lines()
        .filter(|it| it.starts_with("rankgauge_incidents_ended_total{"));
    let last = ended
        .clone()
        .next_back()
        .and_then(|it| it.rsplit(' ').next())
        .unwrap_or_default();
    let ended = ended.filter(|it| it.ends_with(last) && !it.contains("} 0 ") && it.contains("V1"));
    let ended = ended.map(|it| {
        let number = it.split(' ').nth(1).unwrap_or_default();
        format!("{} {number}", label(it, "ended_by"))
    });
    (seen, ended.collect())
}

/// Severity and minutes of the measures of incidents, by incident and slice.
fn seen_of<'a>(seen: &'a [[String; 5]], value: &str) -> Vec<(&'a str, [i64; 2])> {
    let of_value = seen.iter().filter(|it| it[1] == value);
    of_value
        .map(|it| {
            let minute = |text: &str| text.parse().expect("a minute");
            (&*it[2], [minute(&it[3]), minute(&it[4])])
        })
        .collect()
}

#[test]
fn replay_ends_an_incident_when_the_drop_is_over() {
    // Three times: two hours of good searches, one hour of bad ones.
    let (seen, ended) = incidents_of(9 * 60, |minute, _| {
        Some(if minute / 60 % 3 == 2 { 0 } else { 10 })
    });
    let all = seen_of(&seen, "");
    assert_eq!(all.len(), 3, "{seen:?}");
    for (number, (severity, [first, last])) in (0..).zip(&all) {
        let began = number * 180 + 120;
        assert_eq!(*severity, "critical", "{seen:?}");
        assert!((began..began + 30).contains(first), "{seen:?}");
        assert!(
            number == 2 || (began + 60..began + 90).contains(last),
            "{seen:?}"
        );
    }
    assert_eq!(ended, ["recovered 2"]);
}

#[test]
fn an_incident_that_is_repaired_in_part_stays_open() {
    // From hour 4 on, no search is good; from hour 6 on, seven of ten.
    let (seen, ended) = incidents_of(14 * 60, |minute, _| {
        Some(match minute / 60 {
            0..4 => 10,
            4..6 => 0,
            _ => 7,
        })
    });
    let all = seen_of(&seen, "");
    let [(severity, [first, last])] = all[..] else {
        panic!("one incident: {seen:?}");
    };
    assert!(
        severity == "critical" && (240..270).contains(&first) && last >= 839,
        "{seen:?}"
    );
    assert_eq!(ended, [""; 0], "{seen:?}");
}

#[test]
fn a_drop_that_is_still_there_after_its_incident_expired_is_another_incident() {
    let (seen, ended) = incidents_of(34 * 60, |minute, _| match minute / 60 {
        0..4 => Some(10),
        6..31 => None,
        _ => Some(0),
    });
    let all = seen_of(&seen, "");
    assert_eq!(all.len(), 2, "{seen:?}");
    assert!(all[1].1[0] >= 31 * 60, "{seen:?}");
    assert_eq!(ended, ["expired 1"]);
}

#[test]
fn a_drop_of_one_slice_is_no_incident_of_all_searches() {
    // k1 is bad from hour 4 to hour 8, all of it from hour 16 on.
    let (seen, ended) = incidents_of(18 * 60, |minute, query| {
        let is_bad = match minute / 60 {
            4..8 => query % 4 == 1,
            16.. => true,
            _ => false,
        };
        Some(if is_bad { 0 } else { 9 })
    });
    let of_slice = seen_of(&seen, "k1");
    assert_eq!(of_slice.len(), 2, "{seen:?}");
    assert_eq!(
        (of_slice[0].0, of_slice[1].0),
        ("warning", "critical"),
        "{seen:?}"
    );
    assert!((480..540).contains(&of_slice[0].1[1]), "{seen:?}");
    assert_eq!(
        seen_of(&seen, "").last().map(|it| it.0),
        Some("critical"),
        "{seen:?}"
    );
    assert_eq!(ended, ["recovered 1"]);
}

#[test]
fn an_incident_in_a_lasting_drop_of_another_slice_has_its_references() {
    // k1 is bad from hour 5 to hour 16, k0 from hour 4 to hour 8, all from hour 26 to 28.
    let (seen, _) = incidents_of(34 * 60, |minute, query| {
        let hour = minute / 60;
        let is_bad = match query % 4 {
            0 => (4..8).contains(&hour),
            1 => (5..16).contains(&hour),
            _ => false,
        };
        Some(if is_bad || (26..28).contains(&hour) {
            0
        } else {
            9
        })
    });
    let open_in = |first: i64, last: i64| {
        let seen = seen.iter();
        let overlaps = |it: &&[String; 5]| {
            let minute = |text: &str| text.parse::<i64>().expect("a minute");
            minute(&it[3]) < last * 60 && minute(&it[4]) > first * 60
        };
        seen.filter(overlaps).count()
    };
    // Two hours after the end of the last one, nothing is open.
    assert_eq!(open_in(18, 26), 0, "{seen:?}");
    assert_eq!(open_in(30, 34), 0, "{seen:?}");
    let all = seen_of(&seen, "");
    assert!(
        matches!(all.last(), Some(("critical", [1560..1620, _]))),
        "{seen:?}"
    );
}
