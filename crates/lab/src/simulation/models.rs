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

impl Listed {
    const fn target([d2, d3, d4]: [f64; 3]) -> Self {
        Self {
            target: [None, Some(d2), Some(d3), Some(d4)],
            drop: [None; 4],
            after_warm_up: [None; 4],
        }
    }

    const fn drop(self, warm_up: Option<[f64; 4]>, after: [f64; 4]) -> Self {
        let [a1, a2, a3, a4] = after;
        let drop = match warm_up {
            Some([d1, d2, d3, d4]) => [Some(d1), Some(d2), Some(d3), Some(d4)],
            None => [None; 4],
        };
        Self {
            drop,
            after_warm_up: [Some(a1), Some(a2), Some(a3), Some(a4)],
            ..self
        }
    }
}

/// 200 equally popular queries, each with a fixed score.
const FIXED: Traffic = Traffic {
    queries: 200,
    is_zipf: false,
    deviation: 0.0,
    ..Traffic::DEFAULT
};

/// Models of searches: the traffic of the specification.
pub const SEARCHES: [Model; 15] = [
    Model {
        name: "independent, 200 fixed scores, 2/s",
        traffic: FIXED,
        share: 1.0,
        listed: Some(
            Listed::target([45.0, 30.0, 25.0])
                .drop(Some([NEVER, 4.1, 1.6, 0.8]), [11.4, 3.0, 1.4, 0.7]),
        ),
    },
    Model {
        name: "bursts of 5, 200 fixed, 2/s",
        traffic: Traffic {
            burst: 5.0,
            ..FIXED
        },
        share: 1.0,
        listed: Some(Listed::target([55.0, 35.0, 30.0])),
    },
    Model {
        name: "bursts of 20, 200 fixed, 2/s",
        traffic: Traffic {
            burst: 20.0,
            ..FIXED
        },
        share: 1.0,
        listed: Some(
            Listed::target([100.0, 50.0, 35.0])
                .drop(Some([NEVER, 26.4, 9.8, 4.7]), [78.9, 18.9, 8.6, 4.4]),
        ),
    },
    Model {
        name: "bursts of 20, Zipf 2k fixed, 0.5/s",
        traffic: Traffic {
            deviation: 0.0,
            rate: 0.5,
            hours: 72.0,
            burst: 20.0,
            ..Traffic::DEFAULT
        },
        share: 1.0,
        listed: Some(Listed::target([338.0, 108.0, 58.0])),
    },
    Model {
        name: "Zipf 2k noisy, 0.5/s",
        traffic: Traffic {
            rate: 0.5,
            hours: 72.0,
            ..Traffic::DEFAULT
        },
        share: 1.0,
        listed: Some(
            Listed::target([55.0, 35.0, 30.0])
                .drop(Some([NEVER, 32.4, 7.1, 3.1]), [268.0, 19.2, 6.2, 2.9]),
        ),
    },
    Model {
        name: "bursts of 5, Zipf 20k noisy, 10/s",
        traffic: Traffic {
            queries: 20_000,
            rate: 10.0,
            hours: 6.0,
            burst: 5.0,
            ..Traffic::DEFAULT
        },
        share: 1.0,
        listed: Some(Listed::target([45.0, 35.0, 25.0])),
    },
    Model {
        name: "bursts of 20 sharing noise, 2k, 2/s",
        traffic: Traffic {
            burst: 20.0,
            noise: Noise::Burst,
            ..Traffic::DEFAULT
        },
        share: 1.0,
        listed: Some(
            Listed::target([145.0, 65.0, 40.0])
                .drop(Some([NEVER, 70.2, 17.3, 6.9]), [NEVER, 41.3, 14.7, 6.3]),
        ),
    },
    Model {
        name: "sessions of 5, 2k noisy, 2/s",
        traffic: Traffic {
            has_sessions: true,
            ..Traffic::DEFAULT
        },
        share: 1.0,
        listed: Some(
            Listed::target([50.0, 35.0, 30.0])
                .drop(Some([NEVER, 12.6, 2.3, 1.0]), [102.5, 6.5, 2.0, 0.9]),
        ),
    },
    Model {
        name: "day and night mix, bursts of 5, 2/s",
        traffic: Traffic {
            hours: 48.0,
            burst: 5.0,
            is_diurnal: true,
            ..Traffic::DEFAULT
        },
        share: 0.5,
        listed: Some(Listed::target([235.0, 50.0, 30.0])),
    },
    Model {
        name: "reshuffle every 6 h, 2k noisy, 2/s",
        traffic: Traffic {
            reshuffle: 6.0,
            ..Traffic::DEFAULT
        },
        share: 1.0,
        listed: Some(Listed::target([135.0, 40.0, 30.0])),
    },
    Model {
        name: "2 % new queries an hour, 20k, 2/s",
        traffic: Traffic {
            queries: 20_000,
            burst: 5.0,
            churn: 0.02,
            ..Traffic::DEFAULT
        },
        share: 1.0,
        listed: Some(Listed::target([55.0, 35.0, 30.0])),
    },
    Model {
        name: "0/1 scores, reshuffle, bursts of 5, 2/s",
        traffic: Traffic {
            noise: Noise::Hit,
            burst: 5.0,
            reshuffle: 6.0,
            ..Traffic::DEFAULT
        },
        share: 1.0,
        listed: Some(
            Listed::target([450.0, 55.0, 30.0])
                .drop(Some([NEVER, NEVER, 88.6, 16.3]), [NEVER, NEVER, 63.2, 14.2]),
        ),
    },
    Model {
        name: "all of it, 20 % unjudged, 2/s",
        traffic: Traffic {
            noise: Noise::Burst,
            hours: 48.0,
            burst: 5.0,
            has_sessions: true,
            is_diurnal: true,
            reshuffle: 12.0,
            churn: 0.01,
            unjudged: 0.2,
            ..Traffic::DEFAULT
        },
        share: 0.5,
        listed: Some(Listed::target([767.0, 117.0, 44.0])),
    },
    Model {
        name: "bursts of 20, Zipf 2k noisy, 200/s",
        traffic: Traffic {
            rate: 200.0,
            hours: 3.0,
            burst: 20.0,
            ..Traffic::DEFAULT
        },
        share: 0.25,
        listed: Some(Listed::target([45.0, 35.0, 30.0])),
    },
    Model {
        name: "90 days, mix, weekly reshuffle, 0.2/s",
        traffic: Traffic {
            rate: 0.2,
            hours: 2_160.0,
            burst: 5.0,
            is_diurnal: true,
            reshuffle: 168.0,
            ..Traffic::DEFAULT
        },
        share: 0.25,
        listed: Some(
            Listed::target([12_649.0, 493.0, 70.0]).drop(None, [2_033.9, 158.3, 49.9, 24.2]),
        ),
    },
];

/// Models beyond the assumptions of the tests with the default setting of `burst`: their bursts are
/// longer than it, or share more noise than the tolerance covers.
pub const LIMITS: [Model; 5] = [
    Model {
        name: "limits: bursts of 285 s, 200 fixed, 2/s",
        traffic: Traffic {
            burst: 20.0,
            gap: 15.0,
            ..FIXED
        },
        share: 0.5,
        listed: None,
    },
    Model {
        name: "limits: bursts of 285 s sharing noise 0.15",
        traffic: Traffic {
            burst: 20.0,
            gap: 15.0,
            noise: Noise::Burst,
            ..Traffic::DEFAULT
        },
        share: 0.5,
        listed: None,
    },
    Model {
        name: "limits: bursts of 76 s sharing noise 0.3",
        traffic: Traffic {
            burst: 20.0,
            noise: Noise::Burst,
            deviation: 0.3,
            ..Traffic::DEFAULT
        },
        share: 0.5,
        listed: None,
    },
    Model {
        name: "limits: bursts of 285 s sharing noise 0.3",
        traffic: Traffic {
            burst: 20.0,
            gap: 15.0,
            noise: Noise::Burst,
            deviation: 0.3,
            ..Traffic::DEFAULT
        },
        share: 0.5,
        listed: None,
    },
    Model {
        name: "limits: users, 3 sessions sharing noise 0.25",
        traffic: Traffic {
            noise: Noise::Burst,
            deviation: 0.25,
            burst: 3.0,
            gap: 300.0,
            unjudged: 0.5,
            ..SUCCESS
        },
        share: 0.5,
        listed: None,
    },
];

/// Values of sessions that are 0 or 1.
const SUCCESS: Traffic = Traffic {
    noise: Noise::Hit,
    rate: 0.5,
    hours: 48.0,
    is_user_measure: true,
    ..Traffic::DEFAULT
};

/// Models of user measures: one value a session. In the model with several sessions of a user, they
/// follow each other within minutes and share a mood and a category.
pub const USERS: [Model; 7] = [
    Model {
        name: "users: 0/1, gold queries, 0.5/s",
        traffic: SUCCESS,
        share: 1.0,
        listed: None,
    },
    Model {
        name: "users: 0/1, no gold query, 0.5/s",
        traffic: Traffic {
            unjudged: 1.0,
            ..SUCCESS
        },
        share: 1.0,
        listed: None,
    },
    Model {
        name: "users: 0/1, half gold, 0.05/s, 14 days",
        traffic: Traffic {
            rate: 0.05,
            hours: 336.0,
            unjudged: 0.5,
            ..SUCCESS
        },
        share: 1.0,
        listed: None,
    },
    Model {
        name: "users: 0/1, no gold, day and night, 0.5/s",
        traffic: Traffic {
            hours: 96.0,
            unjudged: 1.0,
            is_diurnal: true,
            ..SUCCESS
        },
        share: 1.0,
        listed: None,
    },
    Model {
        name: "users: 0/1, gold, mix, reshuffle 12 h",
        traffic: Traffic {
            hours: 96.0,
            is_diurnal: true,
            reshuffle: 12.0,
            ..SUCCESS
        },
        share: 1.0,
        listed: None,
    },
    Model {
        name: "users: 0/1, half gold, 5 sessions a user",
        traffic: Traffic {
            has_sessions: true,
            unjudged: 0.5,
            ..SUCCESS
        },
        share: 1.0,
        listed: None,
    },
    Model {
        name: "users: 0/1, gold, 2 % new queries an hour",
        traffic: Traffic {
            queries: 20_000,
            churn: 0.02,
            ..SUCCESS
        },
        share: 1.0,
        listed: None,
    },
];
