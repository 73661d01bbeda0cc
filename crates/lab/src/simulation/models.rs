//! Traffic models on which the tests are held against their promise.

use super::traffic::{Noise, Traffic};

/// Traffic model with its listed delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Name, for the table.
    pub name: &'static str,
    /// Distribution of the streams.
    pub traffic: Traffic,
    /// Share of the streams asked for; long streams are fewer.
    pub share: f64,
    /// Listed median delays of the two tests.
    pub listed: Option<Listed>,
}

/// Median delays in minutes of the reference implementation, for drops of 0.02, 0.05, 0.1 and 0.2: of the target
/// test on up to 25 streams, of the drop test on 60 (15 of 90 days), by `tests/detection/delays.py`. `None` if none is listed;
/// infinite for a drop that is not found within the stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Listed {
    /// Delays of the target test.
    pub target: [Option<f64>; 4],
    /// Delays of the drop test in its warm-up.
    pub drop: [Option<f64>; 4],
    /// Delays of the drop test after its warm-up.
    pub after_warm_up: [Option<f64>; 4],
}

/// Delay of a drop that is not found.
const NEVER: f64 = f64::INFINITY;

const fn model(name: &'static str, share: f64, traffic: Traffic) -> Model {
    Model {
        name,
        traffic,
        share,
        listed: None,
    }
}

impl Model {
    /// Lists delays of the target test, for drops of 0.05, 0.1 and 0.2.
    const fn target_delays(self, [d2, d3, d4]: [f64; 3]) -> Self {
        let listed = Listed {
            target: [None, Some(d2), Some(d3), Some(d4)],
            drop: [None; 4],
            after_warm_up: [None; 4],
        };
        Self {
            listed: Some(listed),
            ..self
        }
    }

    /// Lists delays of the drop test, after those of the target test.
    const fn drop_delays(mut self, warm_up: Option<[f64; 4]>, [a1, a2, a3, a4]: [f64; 4]) -> Self {
        if let Some(listed) = &mut self.listed {
            if let Some([d1, d2, d3, d4]) = warm_up {
                listed.drop = [Some(d1), Some(d2), Some(d3), Some(d4)];
            }
            listed.after_warm_up = [Some(a1), Some(a2), Some(a3), Some(a4)];
        }
        self
    }
}

const BASE: Traffic = Traffic::DEFAULT;

/// 200 equally popular queries, each with a fixed score.
const FIXED: Traffic = with!(BASE, queries = 200, is_zipf = false, deviation = 0.0);

/// Models of searches: the traffic of the specification.
pub const SEARCHES: [Model; 15] = [
    model("independent, 200 fixed scores, 2/s", 1.0, FIXED)
        .target_delays([45.0, 30.0, 25.0])
        .drop_delays(Some([NEVER, 4.1, 1.6, 0.8]), [11.4, 3.0, 1.4, 0.7]),
    model(
        "bursts of 5, 200 fixed, 2/s",
        1.0,
        with!(FIXED, burst = 5.0),
    )
    .target_delays([55.0, 35.0, 30.0]),
    model(
        "bursts of 20, 200 fixed, 2/s",
        1.0,
        with!(FIXED, burst = 20.0),
    )
    .target_delays([100.0, 50.0, 35.0])
    .drop_delays(Some([NEVER, 26.4, 9.8, 4.7]), [78.9, 18.9, 8.6, 4.4]),
    model(
        "bursts of 20, Zipf 2k fixed, 0.5/s",
        1.0,
        with!(
            BASE,
            deviation = 0.0,
            rate = 0.5,
            hours = 72.0,
            burst = 20.0
        ),
    )
    .target_delays([338.0, 108.0, 58.0]),
    model(
        "Zipf 2k noisy, 0.5/s",
        1.0,
        with!(BASE, rate = 0.5, hours = 72.0),
    )
    .target_delays([55.0, 35.0, 30.0])
    .drop_delays(Some([NEVER, 32.4, 7.1, 3.1]), [268.0, 19.2, 6.2, 2.9]),
    model(
        "bursts of 5, Zipf 20k noisy, 10/s",
        1.0,
        with!(
            BASE,
            queries = 20_000,
            rate = 10.0,
            hours = 6.0,
            burst = 5.0
        ),
    )
    .target_delays([45.0, 35.0, 25.0]),
    model(
        "bursts of 20 sharing noise, 2k, 2/s",
        1.0,
        with!(BASE, burst = 20.0, noise = Noise::Burst),
    )
    .target_delays([145.0, 65.0, 40.0])
    .drop_delays(Some([NEVER, 70.2, 17.3, 6.9]), [NEVER, 41.3, 14.7, 6.3]),
    model(
        "sessions of 5, 2k noisy, 2/s",
        1.0,
        with!(BASE, has_sessions = true),
    )
    .target_delays([50.0, 35.0, 30.0])
    .drop_delays(Some([NEVER, 12.6, 2.3, 1.0]), [102.5, 6.5, 2.0, 0.9]),
    model(
        "day and night mix, bursts of 5, 2/s",
        0.5,
        with!(BASE, hours = 48.0, burst = 5.0, is_diurnal = true),
    )
    .target_delays([235.0, 50.0, 30.0]),
    model(
        "reshuffle every 6 h, 2k noisy, 2/s",
        1.0,
        with!(BASE, reshuffle = 6.0),
    )
    .target_delays([135.0, 40.0, 30.0]),
    model(
        "2 % new queries an hour, 20k, 2/s",
        1.0,
        with!(BASE, queries = 20_000, burst = 5.0, churn = 0.02),
    )
    .target_delays([55.0, 35.0, 30.0]),
    model(
        "0/1 scores, reshuffle, bursts of 5, 2/s",
        1.0,
        with!(BASE, noise = Noise::Hit, burst = 5.0, reshuffle = 6.0),
    )
    .target_delays([450.0, 55.0, 30.0])
    .drop_delays(Some([NEVER, NEVER, 88.6, 16.3]), [NEVER, NEVER, 63.2, 14.2]),
    model(
        "all of it, 20 % unjudged, 2/s",
        0.5,
        with!(
            BASE,
            noise = Noise::Burst,
            hours = 48.0,
            burst = 5.0,
            has_sessions = true,
            is_diurnal = true,
            reshuffle = 12.0,
            churn = 0.01,
            unjudged = 0.2
        ),
    )
    .target_delays([767.0, 117.0, 44.0]),
    model(
        "bursts of 20, Zipf 2k noisy, 200/s",
        0.25,
        with!(BASE, rate = 200.0, hours = 3.0, burst = 20.0),
    )
    .target_delays([45.0, 35.0, 30.0]),
    model(
        "90 days, mix, weekly reshuffle, 0.2/s",
        0.25,
        with!(
            BASE,
            rate = 0.2,
            hours = 2_160.0,
            burst = 5.0,
            is_diurnal = true,
            reshuffle = 168.0
        ),
    )
    .target_delays([12_649.0, 493.0, 70.0])
    .drop_delays(None, [2_033.9, 158.3, 49.9, 24.2]),
];

/// Models beyond the assumptions of the tests with the default setting of `burst`: their bursts are
/// longer than it, or share more noise than the tolerance covers.
pub const LIMITS: [Model; 5] = [
    model(
        "limits: bursts of 285 s, 200 fixed, 2/s",
        0.5,
        with!(FIXED, burst = 20.0, gap = 15.0),
    ),
    model(
        "limits: bursts of 285 s sharing noise 0.15",
        0.5,
        with!(BASE, burst = 20.0, gap = 15.0, noise = Noise::Burst),
    ),
    model(
        "limits: bursts of 76 s sharing noise 0.3",
        0.5,
        with!(BASE, burst = 20.0, noise = Noise::Burst, deviation = 0.3),
    ),
    model(
        "limits: bursts of 285 s sharing noise 0.3",
        0.5,
        with!(
            BASE,
            burst = 20.0,
            gap = 15.0,
            noise = Noise::Burst,
            deviation = 0.3
        ),
    ),
    model(
        "limits: users, 3 sessions sharing noise 0.25",
        0.5,
        with!(
            SUCCESS,
            noise = Noise::Burst,
            deviation = 0.25,
            burst = 3.0,
            gap = 300.0,
            unjudged = 0.5
        ),
    ),
];

/// Values of sessions that are 0 or 1.
const SUCCESS: Traffic = with!(
    BASE,
    noise = Noise::Hit,
    rate = 0.5,
    hours = 48.0,
    is_user_measure = true
);

/// Models of user measures: one value a session. In the model with several sessions of a user, they
/// follow each other within minutes and share a mood and a category.
pub const USERS: [Model; 7] = [
    model("users: 0/1, gold queries, 0.5/s", 1.0, SUCCESS),
    model(
        "users: 0/1, no gold query, 0.5/s",
        1.0,
        with!(SUCCESS, unjudged = 1.0),
    ),
    model(
        "users: 0/1, half gold, 0.05/s, 14 days",
        1.0,
        with!(SUCCESS, rate = 0.05, hours = 336.0, unjudged = 0.5),
    ),
    model(
        "users: 0/1, no gold, day and night, 0.5/s",
        1.0,
        with!(SUCCESS, hours = 96.0, unjudged = 1.0, is_diurnal = true),
    ),
    model(
        "users: 0/1, gold, mix, reshuffle 12 h",
        1.0,
        with!(SUCCESS, hours = 96.0, is_diurnal = true, reshuffle = 12.0),
    ),
    model(
        "users: 0/1, half gold, 5 sessions a user",
        1.0,
        with!(SUCCESS, has_sessions = true, unjudged = 0.5),
    ),
    model(
        "users: 0/1, gold, 2 % new queries an hour",
        1.0,
        with!(SUCCESS, queries = 20_000, churn = 0.02),
    ),
];
