//! Score history of a fleet: nothing counts twice, the order of the processes has no effect, and it is bounded.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rankgauge_core::engine::scores::Cell;
use rankgauge_core::time::WallTime;
use rankgauge_serve::history::{HistorySpan, ScoreHistory, ScoreName, SharedHistory};

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;
const NOW: WallTime = WallTime(30 * DAY + 5 * MINUTE + 1);
const MAX_NAME: usize = 256;

fn name(measure: usize, variant: usize) -> ScoreName {
    ScoreName {
        measure: format!("measure {measure:04}").into(),
        variant: format!("V{variant}").into(),
    }
}

/// Search counted at a moment: minutes before the last one, series, and score in units of 10⁻⁹.
type Search = (i64, usize, i128);

fn searches() -> impl Strategy<Value = Vec<Search>> {
    let score = -1_000_000_000..=1_000_000_000_i128;
    proptest::collection::vec((0..9 * 24 * 60_i64, 0..3_usize, score), 0..60)
}

fn history(searches: &[Search]) -> ScoreHistory {
    let mut history = ScoreHistory::default();
    for (minutes, series, sum) in searches {
        let at = WallTime(NOW.0 - minutes * MINUTE);
        history.add(
            &name(*series, *series),
            at,
            Cell {
                count: 1,
                sum: *sum,
            },
        );
    }
    history.advance_to(NOW);
    history
}

/// History of a process as others read it.
fn received(parts: &[SharedHistory]) -> ScoreHistory {
    for part in parts {
        assert!(part.is_possible(MAX_NAME, NOW));
        let json = serde_json::to_vec(part).expect("JSON");
        let read: SharedHistory = serde_json::from_slice(&json).expect("a part");
        assert_eq!(read, *part);
    }
    ScoreHistory::of_parts(parts.iter(), NOW)
}

fn searches_in(history: &ScoreHistory, span: HistorySpan) -> u64 {
    let slots = history.series(span).flat_map(|(_, slots)| slots);
    slots.map(|(_, sums)| sums.count).sum()
}

/// Full history with the largest numbers.
fn largest(series: usize) -> ScoreHistory {
    let mut history = ScoreHistory::default();
    for series in 0..series {
        for minute in 0..=8 * 24 * 60 {
            let at = WallTime(NOW.0 - minute * MINUTE);
            let sums = Cell {
                count: 1 << 30,
                sum: -(1 << 30) * 1_000_000_000_000_000,
            };
            history.add(&name(series, 0), at, sums);
        }
    }
    history.advance_to(NOW);
    history
}

proptest! {
    #[test]
    fn a_history_is_the_sum_of_its_searches_however_they_are_split(
        all in searches(),
        split in proptest::collection::vec(0..3_usize, 60),
    ) {
        let mut of_process: BTreeMap<usize, Vec<Search>> = BTreeMap::new();
        for (search, process) in all.iter().zip(split) {
            of_process.entry(process).or_default().push(*search);
        }
        let shared: Vec<Vec<SharedHistory>> =
            of_process.values().map(|it| history(it).parts()).collect();
        let (mut forwards, mut backwards) = (ScoreHistory::default(), ScoreHistory::default());
        for parts in &shared {
            forwards.merge(&received(parts));
        }
        for parts in shared.iter().rev() {
            backwards.merge(&received(parts));
        }
        prop_assert_eq!(&forwards, &history(&all));
        prop_assert_eq!(&forwards, &backwards);
    }

    #[test]
    fn slots_that_are_not_of_the_span_any_more_are_dropped(all in searches(), later in 0..9 * DAY) {
        let mut history = history(&all);
        let parts = history.parts();
        let now = WallTime(NOW.0 + later);
        history.advance_to(now);
        prop_assert_eq!(&ScoreHistory::of_parts(parts.iter(), now), &history);
        for span in HistorySpan::ALL {
            let first = span.closed(now).start;
            for (_, slots) in history.series(span) {
                prop_assert!(slots.iter().all(|(slot, _)| *slot >= first));
            }
            let kept = all.iter().filter(|(minutes, ..)| {
                span.slot_at(WallTime(NOW.0 - minutes * MINUTE)) >= first
            });
            prop_assert_eq!(searches_in(&history, span), u64::try_from(kept.count()).expect("a number"));
        }
    }

    #[test]
    fn names_beyond_the_limit_do_not_depend_on_the_order(first in 0..50_usize) {
        let of = |series: &mut dyn Iterator<Item = usize>| {
            let mut history = ScoreHistory::default();
            for series in series {
                history.add(&name(series, 0), NOW, Cell { count: 1, sum: 1 });
            }
            history
        };
        let number = ScoreHistory::MAX_SERIES + 50;
        let rotated = || (first..number).chain(0..first);
        let (one, other) = (of(&mut rotated()), of(&mut (0..number).rev()));
        prop_assert_eq!(&one, &other);
        prop_assert_eq!(one.series(HistorySpan::Hour).count(), ScoreHistory::MAX_SERIES);
    }
}

#[test]
fn a_series_that_moved_to_another_part_counts_once() {
    let parts = |series: std::ops::Range<usize>| {
        let searches: Vec<Search> = series.map(|it| (0, it, 1)).collect();
        history(&searches).parts()
    };
    // The last series is in the new first part, and the old second part is not removed yet.
    let (old, new) = (parts(0..65), parts(1..65));
    assert_eq!((old.len(), new.len()), (2, 1));
    let history = ScoreHistory::of_parts([&new[0], &old[1]].into_iter(), NOW);
    assert_eq!(searches_in(&history, HistorySpan::Week), 64);
}

#[test]
fn a_full_part_fits_into_a_record() {
    let parts = largest(65).parts();
    assert_eq!(parts.len(), 2);
    for part in &parts {
        assert!(part.is_possible(MAX_NAME, NOW));
    }
    let size = serde_json::to_vec(&parts[0]).expect("JSON").len();
    assert!(size < 2 << 20, "{size}");
}

#[test]
fn impossible_parts_are_rejected() {
    let is_possible = |json: &str| {
        let part: SharedHistory = serde_json::from_str(json).expect("a part");
        part.is_possible(MAX_NAME, NOW)
    };
    let of =
        |spans: &str| format!(r#"[{{"name":{{"measure":"RR","variant":"V5"}},"spans":{spans}}}]"#);
    let now = HistorySpan::Hour.slot_at(NOW);
    assert!(is_possible(&of(&format!("[[[{now},1,-5]],[],[]]"))));
    let long = "x".repeat(MAX_NAME + 1);
    let most = i128::MIN;
    let impossible = [
        // Without a search; a sum beyond any score.
        of("[[[1,0,0]],[],[]]"),
        of(&format!("[[[1,1,{most}]],[],[]]")),
        of(&format!("[[[1,{},0]],[],[]]", u64::MAX)),
        // Twice, not in order, before 1970, in the future.
        of("[[[1,1,1],[1,1,1]],[],[]]"),
        of("[[[2,1,1],[1,1,1]],[],[]]"),
        of("[[[-1,1,1]],[],[]]"),
        of(&format!("[[[{},1,1]],[],[]]", now + 11)),
        of(&format!("[[],[],[[{},1,1]]]", i64::MAX)),
        of("[[],[],[]]").replace("RR", &long),
        // One series twice.
        of("[[],[],[]]").replace(
            "}]",
            r#"},{"name":{"measure":"RR","variant":"V5"},"spans":[[],[],[]]}]"#,
        ),
        // More slots than the span has.
        of(&format!(
            "[[{}],[],[]]",
            (0..100)
                .map(|slot| format!("[{slot},1,1]"))
                .collect::<Vec<_>>()
                .join(",")
        )),
    ];
    for json in impossible {
        assert!(!is_possible(&json), "{json}");
    }
}
