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

/// Median delays in minutes that the specification of the tests lists, for drops of 0.05, 0.1 and
/// 0.2. `None` for a drop that is not found within the stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Listed {
    /// Delays of the target test.
    pub target: [Option<f64>; 3],
    /// Delays of the drop test.
    pub drop: [Option<f64>; 3],
}

const fn listed(target: [f64; 3], drop: [f64; 3]) -> Listed {
    let [t1, t2, t3] = target;
    let [d1, d2, d3] = drop;
    Listed {
        target: [Some(t1), Some(t2), Some(t3)],
        drop: [Some(d1), Some(d2), Some(d3)],
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
        listed: Some(listed([45.0, 30.0, 25.0], [10.0, 4.7, 2.3])),
    },
    Model {
        name: "bursts of 5, 200 fixed, 2/s",
        traffic: Traffic {
            burst: 5.0,
            ..FIXED
        },
        share: 1.0,
        listed: Some(listed([55.0, 35.0, 30.0], [31.0, 14.0, 6.7])),
    },
    Model {
        name: "bursts of 20, 200 fixed, 2/s",
        traffic: Traffic {
            burst: 20.0,
            ..FIXED
        },
        share: 1.0,
        listed: Some(listed([100.0, 50.0, 35.0], [66.0, 28.0, 14.0])),
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
        listed: Some(listed([338.0, 108.0, 58.0], [311.0, 130.0, 65.0])),
    },
    Model {
        name: "Zipf 2k noisy, 0.5/s",
        traffic: Traffic {
            rate: 0.5,
            hours: 72.0,
            ..Traffic::DEFAULT
        },
        share: 1.0,
        listed: Some(listed([55.0, 35.0, 30.0], [41.0, 18.0, 7.9])),
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
        listed: Some(listed([45.0, 35.0, 25.0], [14.0, 5.3, 2.5])),
    },
    Model {
        name: "bursts of 20 sharing noise, 2k, 2/s",
        traffic: Traffic {
            burst: 20.0,
            noise: Noise::Burst,
            ..Traffic::DEFAULT
        },
        share: 1.0,
        listed: Some(listed([145.0, 65.0, 40.0], [84.0, 36.0, 18.0])),
    },
    Model {
        name: "sessions of 5, 2k noisy, 2/s",
        traffic: Traffic {
            has_sessions: true,
            ..Traffic::DEFAULT
        },
        share: 1.0,
        listed: Some(listed([50.0, 35.0, 30.0], [13.0, 5.5, 2.5])),
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
        listed: Some(listed([235.0, 50.0, 30.0], [39.0, 16.0, 7.6])),
    },
    Model {
        name: "reshuffle every 6 h, 2k noisy, 2/s",
        traffic: Traffic {
            reshuffle: 6.0,
            ..Traffic::DEFAULT
        },
        share: 1.0,
        listed: Some(listed([135.0, 40.0, 30.0], [14.0, 6.0, 2.8])),
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
        listed: Some(listed([55.0, 35.0, 30.0], [54.0, 21.0, 10.0])),
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
        listed: Some(Listed {
            target: [Some(450.0), Some(55.0), Some(30.0)],
            drop: [None, Some(62.0), Some(14.0)],
        }),
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
        listed: Some(listed([767.0, 117.0, 44.0], [49.0, 21.0, 7.8])),
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
        listed: Some(listed([45.0, 35.0, 30.0], [2.5, 1.0, 0.4])),
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
        listed: Some(listed([12_649.0, 493.0, 70.0], [273.0, 96.0, 41.0])),
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
