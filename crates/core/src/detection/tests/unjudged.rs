//! Tests beside that of a score: its upper bound, and the share of judged results.

use crate::detection::{Baseline, DropSeries, SeriesRules, Unjudged, UnjudgedTests};

#[test]
fn the_tests_of_bounds_have_the_evidence_of_drop_tests_of_their_scores() {
    let rules = SeriesRules {
        threshold: 17.0,
        tolerance: 0.01,
        warm_up_tolerance: 0.02,
        repeat_window: 1,
        has_local: false,
        is_seasonal: false,
        alarmed: None,
    };
    let mut tests = UnjudgedTests::beside(&DropSeries::default());
    let [mut high, mut judged] = [DropSeries::default(), DropSeries::default()];
    for number in 0..500_u32 {
        let minute = i64::from(number / 2);
        let score = f64::from(number % 5) / 10.0;
        let unjudged = Unjudged {
            difference: f64::from(number % 3) / 10.0,
            share: f64::from(number % 4) / 10.0,
        };
        let baseline = |mean| Baseline { mean, scores: 5 };
        let expected = Unjudged {
            difference: 0.15,
            share: 0.1,
        };
        let compared = Some((baseline(0.4), expected));
        tests.compare(minute, (score, unjudged), compared, &rules);
        for (test, score, mean) in [
            (&mut high, score + unjudged.difference, 0.4 + 0.15),
            (&mut judged, 1.0 - unjudged.share, 0.9),
        ] {
            test.advance(minute, &rules);
            test.compare(score, Some(baseline(mean)), &rules);
        }
        let found = tests.log_evidence();
        let alone = [high.log_evidence(), judged.log_evidence()];
        for (found, alone) in found.iter().zip(alone) {
            assert!(
                (found - alone).abs() < 1e-12,
                "{number}: {found} is not {alone}"
            );
        }
    }
    assert!(tests.log_evidence()[0] > 5.0);
}
