//! Measures of user behaviour, from all feedback on a search.

use super::{Click, Rating, SessionContext, UserResponse};
use crate::measure::Measure;

fn score(measure: &str, reaction: UserResponse<'_>) -> Option<f64> {
    let Measure::User(measure) = measure.parse().expect("a measure") else {
        unreachable!("{measure} is a measure of people")
    };
    measure.score(&reaction)
}

fn click(position: u32) -> Click {
    Click {
        position,
        after: 1.0,
        dwell: None,
    }
}

fn rating(value: f64, min: f64, max: f64) -> Rating {
    Rating::new(value, min, max)
}

/// Three results without any feedback.
const SHOWN: UserResponse<'_> = UserResponse {
    results: 3,
    clicks: &[],
    conversions: 0,
    values: &[],
    thumbs_up: 0,
    thumbs_down: 0,
    ratings: &[],
    session: None,
    click_weights: &[],
    evaluations: &[],
};

const LONELY: SessionContext = SessionContext {
    reformulated_after: None,
    is_last: true,
    is_praised: false,
};

#[test]
fn clicks_count_by_position() {
    let clicks = [click(7), click(3), click(3)];
    let clicked = UserResponse {
        results: 10,
        clicks: &clicks,
        ..SHOWN
    };
    assert_eq!(score("CTR", clicked), Some(1.0));
    assert_eq!(score("CTR@3", clicked), Some(1.0));
    assert_eq!(score("CTR@2", clicked), Some(0.0));
    assert_eq!(score("ClickRR", clicked), Some(1.0 / 3.0));
    let mean = score("MeanClickRR", clicked).expect("a score");
    assert!(
        (mean - (1.0 / 7.0 + 2.0 / 3.0) / 3.0).abs() < 1e-15,
        "{mean}"
    );
    assert_eq!(score("Abandoned", clicked), Some(0.0));
    assert_eq!(score("ZeroResult", clicked), Some(0.0));
}

#[test]
fn clicked_results_are_weighted_once_and_the_last_weight_repeats() {
    let clicks = [click(9), click(2), click(2)];
    let clicked = UserResponse {
        results: 10,
        clicks: &clicks,
        click_weights: &[1.0, 2.0, 5.0],
        ..SHOWN
    };
    assert_eq!(score("IPWClicks", clicked), Some(7.0));
    let unclicked = UserResponse {
        clicks: &[],
        ..clicked
    };
    assert_eq!(score("IPWClicks", unclicked), Some(0.0));
    let unknown = UserResponse {
        click_weights: &[],
        ..clicked
    };
    assert_eq!(score("IPWClicks", unknown), None);
}

#[test]
fn a_search_without_positive_feedback_is_abandoned() {
    let good = [rating(4.0, 1.0, 5.0)];
    let middling = [rating(3.0, 1.0, 5.0)];
    for (reaction, abandoned) in [
        (SHOWN, 1.0),
        (
            UserResponse {
                thumbs_down: 1,
                ..SHOWN
            },
            1.0,
        ),
        (
            UserResponse {
                ratings: &middling,
                ..SHOWN
            },
            1.0,
        ),
        (
            UserResponse {
                thumbs_up: 1,
                ..SHOWN
            },
            0.0,
        ),
        (
            UserResponse {
                ratings: &good,
                ..SHOWN
            },
            0.0,
        ),
        (
            UserResponse {
                conversions: 1,
                ..SHOWN
            },
            0.0,
        ),
        (
            UserResponse {
                clicks: &[click(3)],
                ..SHOWN
            },
            0.0,
        ),
    ] {
        assert_eq!(
            score("Abandoned", reaction),
            Some(abandoned),
            "{reaction:?}"
        );
    }
    for measure in ["CTR", "ClickRR", "MeanClickRR", "SAT", "Converted"] {
        assert_eq!(score(measure, SHOWN), Some(0.0), "{measure}");
    }
}

#[test]
fn a_click_is_satisfying_from_the_minimum_dwell_time() {
    for (dwell, usual, short) in [
        (None, 0.0, 0.0),
        (Some(9.999), 0.0, 0.0),
        (Some(10.0), 0.0, 1.0),
        (Some(29.999), 0.0, 1.0),
        (Some(30.0), 1.0, 1.0),
    ] {
        let clicks = [Click { dwell, ..click(1) }];
        let clicked = UserResponse {
            clicks: &clicks,
            ..SHOWN
        };
        assert_eq!(score("SAT", clicked), Some(usual), "{dwell:?}");
        assert_eq!(score("SAT(dwell=10)", clicked), Some(short), "{dwell:?}");
    }
}

#[test]
fn a_query_is_reformulated_only_in_a_session_and_within_the_time_limit() {
    assert_eq!(score("Reformulated", SHOWN), None);
    for (after, usual, quick) in [
        (None, 0.0, 0.0),
        (Some(0.0), 1.0, 1.0),
        (Some(5.0), 1.0, 1.0),
        (Some(60.0), 1.0, 0.0),
        (Some(60.001), 0.0, 0.0),
    ] {
        let session = Some(SessionContext {
            reformulated_after: after,
            ..LONELY
        });
        let reaction = UserResponse { session, ..SHOWN };
        assert_eq!(score("Reformulated", reaction), Some(usual), "{after:?}");
        assert_eq!(score("Reformulated(within=5)", reaction), Some(quick));
    }
}

#[test]
fn thumbs_up_is_a_share_of_thumbs() {
    assert_eq!(score("ThumbsUp", SHOWN), None);
    let rated = UserResponse {
        thumbs_up: 3,
        thumbs_down: 1,
        ..SHOWN
    };
    assert_eq!(score("ThumbsUp", rated), Some(0.75));
}

#[test]
fn ratings_of_any_scale_are_normalised() {
    assert_eq!(score("Rating", SHOWN), None);
    assert_eq!(score("Satisfied", SHOWN), None);
    for (given, rescaled, satisfied) in [
        (rating(5.0, 1.0, 5.0), 1.0, 1.0),
        (rating(4.0, 1.0, 5.0), 0.75, 1.0),
        (rating(3.0, 1.0, 5.0), 0.5, 0.0),
        (rating(9.0, 0.0, 10.0), 0.9, 1.0),
        (rating(8.0, 0.0, 10.0), 0.8, 0.0),
        // On a scale of two or three steps, a rating counts as satisfied only above the middle.
        (rating(1.0, 0.0, 1.0), 1.0, 1.0),
        (rating(0.0, 0.0, 1.0), 0.0, 0.0),
        (rating(1.0, 0.0, 2.0), 0.5, 0.0),
        (rating(2.0, 0.0, 2.0), 1.0, 1.0),
        // Without steps of one, the scale has five equal steps, and the best two count.
        (rating(75.0, 0.0, 100.0), 0.75, 1.0),
        (rating(74.0, 0.0, 100.0), 0.74, 0.0),
        (rating(0.5, -1.0, 1.0), 0.75, 1.0),
    ] {
        let ratings = [given];
        let rated = UserResponse {
            ratings: &ratings,
            ..SHOWN
        };
        assert_eq!(score("Rating", rated), Some(rescaled), "{given:?}");
        assert_eq!(score("Satisfied", rated), Some(satisfied), "{given:?}");
    }
    let ratings = [rating(5.0, 1.0, 5.0), rating(0.0, 0.0, 10.0)];
    let both = UserResponse {
        ratings: &ratings,
        ..SHOWN
    };
    assert_eq!(score("Rating", both), Some(0.5));
    assert_eq!(score("Satisfied", both), Some(0.5));
}

#[test]
fn session_success_depends_on_the_outcome_of_the_last_search() {
    let ended = UserResponse {
        session: Some(LONELY),
        ..SHOWN
    };
    let satisfying = [Click {
        dwell: Some(31.0),
        ..click(2)
    }];
    let praised = Some(SessionContext {
        is_praised: true,
        ..LONELY
    });
    for (reaction, succeeded) in [
        (ended, 0.0),
        (
            UserResponse {
                clicks: &[click(1)],
                ..ended
            },
            0.0,
        ),
        (
            UserResponse {
                thumbs_down: 1,
                ..ended
            },
            0.0,
        ),
        (
            UserResponse {
                clicks: &satisfying,
                ..ended
            },
            1.0,
        ),
        (
            UserResponse {
                conversions: 1,
                ..ended
            },
            1.0,
        ),
        (
            UserResponse {
                thumbs_up: 1,
                ..ended
            },
            1.0,
        ),
        (
            UserResponse {
                session: praised,
                ..ended
            },
            1.0,
        ),
    ] {
        assert_eq!(
            score("SessionSuccess", reaction),
            Some(succeeded),
            "{reaction:?}"
        );
    }
    let went_on = Some(SessionContext {
        is_last: false,
        ..LONELY
    });
    assert_eq!(
        score(
            "SessionSuccess",
            UserResponse {
                session: went_on,
                ..ended
            }
        ),
        None
    );
    assert_eq!(score("SessionSuccess", SHOWN), None);
}

#[test]
fn a_search_without_results_has_no_click_scores() {
    let nothing = UserResponse {
        results: 0,
        click_weights: &[1.0],
        ..SHOWN
    };
    for measure in [
        "CTR",
        "CTR@3",
        "ClickRR",
        "MeanClickRR",
        "IPWClicks",
        "Abandoned",
        "SAT",
    ] {
        assert_eq!(score(measure, nothing), None, "{measure}");
    }
    assert_eq!(score("ZeroResult", nothing), Some(1.0));
    assert_eq!(score("Converted", nothing), Some(0.0));
}

#[test]
fn explicit_feedback_takes_precedence_over_behaviour() {
    let ratings = [rating(2.0, 1.0, 5.0)];
    let satisfying = [Click {
        dwell: Some(30.0),
        ..click(1)
    }];
    for (reaction, satisfaction) in [
        (SHOWN, None),
        (
            UserResponse {
                clicks: &[click(1)],
                ..SHOWN
            },
            Some(0.0),
        ),
        (
            UserResponse {
                clicks: &satisfying,
                ..SHOWN
            },
            Some(1.0),
        ),
        (
            UserResponse {
                conversions: 1,
                ..SHOWN
            },
            Some(1.0),
        ),
        (
            UserResponse {
                conversions: 1,
                ratings: &ratings,
                ..SHOWN
            },
            Some(0.25),
        ),
        (
            UserResponse {
                thumbs_up: 1,
                ratings: &ratings,
                ..SHOWN
            },
            Some(0.625),
        ),
        (
            UserResponse {
                thumbs_down: 1,
                clicks: &satisfying,
                ..SHOWN
            },
            Some(0.0),
        ),
    ] {
        assert_eq!(reaction.satisfaction(), satisfaction, "{reaction:?}");
    }
}
