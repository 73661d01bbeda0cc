//! Traffic models of the tables, with their listed delays.

use super::assigned::Assigned;
use super::audit::{Audit, DropIn};
use super::sessions::Sessions;
use super::tables::{Experiment, Listed, LocalDrop, SessionModel};
use super::unjudged::Unjudged;

/// Delay that is listed as never.
const NEVER: f64 = f64::INFINITY;

const fn model(name: &'static str, streams: f64, traffic: Audit) -> Listed<Audit> {
    Listed {
        name,
        traffic,
        streams,
        has_promise: true,
        delays: &[],
    }
}

impl Listed<Audit> {
    const fn without_promise(self) -> Self {
        Self {
            has_promise: false,
            ..self
        }
    }

    const fn delays(self, delays: &'static [(f64, f64)]) -> Self {
        Self { delays, ..self }
    }
}

const BASE: Audit = Audit::BASE;

/// New queries, bots and a campaign.
const BUSY: Audit = with!(BASE, churn = 0.003, has_bots = true);

/// Models of the table of audits.
pub(super) const AUDITS: [Listed<Audit>; 12] = [
    model("base", 20.0, BASE),
    model("churn, bot, campaign", 20.0, BUSY),
    model(
        "the same, 0.1/s, 30 days",
        20.0,
        with!(BUSY, rate = 0.1, days = 30.0),
    ),
    model("the same, P@5", 10.0, with!(BUSY, steps = 5.0)),
    model("the same, 0/1", 10.0, with!(BUSY, steps = 1.0)),
    model("skewed noise", 10.0, with!(BASE, is_skewed = true)),
    model("100 a day, 90 days", 40.0, HUNDRED_A_DAY),
    model("users differ by 0.15", 10.0, with!(BASE, users = 0.15)),
    model(
        "sessions of 10 that differ by 0.15",
        20.0,
        with!(BASE, session = 10.0, gap = 60.0, repeats = 0.6, mood = 0.15),
    ),
    model("noise of 0.3", 10.0, with!(BASE, fixed = 0.0, noise = 0.3)),
    model(
        "index refresh of 3 % of the queries a day",
        10.0,
        with!(BASE, has_refreshes = true),
    )
    .without_promise(),
    model(
        "all queries walk by 0.02 a day, 30 days",
        10.0,
        with!(BASE, walk = 0.02, days = 30.0, rate = 0.3),
    )
    .without_promise(),
];

/// Models of the table of common noise.
pub(super) const NOISE: [Listed<Audit>; 6] = [
    model(
        "hourly noise of 0.01",
        30.0,
        with!(BASE, shared = (0.01, 3_600.0)),
    )
    .delays(&[(0.05, 26.0), (0.1, 2.8), (0.2, 0.9)]),
    model(
        "hourly noise of 0.02",
        15.0,
        with!(BASE, shared = (0.02, 3_600.0)),
    )
    .delays(&[(0.05, NEVER), (0.1, 7.2), (0.2, 1.2)])
    .without_promise(),
    model(
        "6 hours' noise of 0.01",
        15.0,
        with!(BASE, shared = (0.01, 21_600.0)),
    ),
    model(
        "6 hours' noise of 0.02",
        15.0,
        with!(BASE, shared = (0.02, 21_600.0)),
    )
    .without_promise(),
    model(
        "day and night differ by 0.02",
        15.0,
        with!(BASE, day_and_night = 0.02),
    ),
    model(
        "day and night differ by 0.05",
        15.0,
        with!(BASE, day_and_night = 0.05),
    )
    .without_promise(),
];

const fn local(
    name: &'static str,
    traffic: Audit,
    (of, at): (DropIn, f64),
    delays: &'static [(f64, f64)],
) -> Listed<LocalDrop> {
    Listed {
        name,
        traffic: LocalDrop { traffic, of, at },
        streams: if traffic.days > 60.0 { 24.0 } else { 8.0 },
        has_promise: true,
        delays,
    }
}

const ONE_A_SECOND: Audit = with!(BASE, days = 5.0);
const ONE_IN_TEN_SECONDS: Audit = with!(BASE, days = 14.0, rate = 0.1);
const HUNDRED_A_DAY: Audit = with!(BASE, days = 90.0, rate = 100.0 / 86_400.0, queries = 200);

/// Models of the table of local drops.
pub(super) const LOCAL: [Listed<LocalDrop>; 7] = [
    local(
        "1/s, all queries",
        ONE_A_SECOND,
        (DropIn::All, 0.6),
        &[(0.02, 99.0), (0.05, 5.2), (0.1, 2.3), (0.2, 1.0)],
    ),
    local(
        "1/s, 5 % of the queries",
        ONE_A_SECOND,
        (DropIn::Some, 0.6),
        &[(0.05, NEVER), (0.1, 1_177.0), (0.2, 237.0), (0.7, 42.0)],
    ),
    local(
        "1/s, a slice of 15 %",
        ONE_A_SECOND,
        (DropIn::Slice, 0.6),
        &[(0.05, 1_505.0), (0.1, 235.0), (0.2, 27.0), (0.7, 6.2)],
    ),
    local(
        "0.1/s, all queries",
        ONE_IN_TEN_SECONDS,
        (DropIn::All, 0.5),
        &[(0.02, 2_492.0), (0.05, 168.0), (0.1, 56.0), (0.2, 26.0)],
    ),
    local(
        "0.1/s, 5 % of the queries",
        ONE_IN_TEN_SECONDS,
        (DropIn::Some, 0.5),
        &[(0.05, NEVER), (0.1, NEVER), (0.2, 2_618.0), (0.7, 932.0)],
    ),
    local(
        "0.1/s, a slice of 15 %",
        ONE_IN_TEN_SECONDS,
        (DropIn::Slice, 0.5),
        &[(0.1, 2_575.0), (0.2, 463.0), (0.7, 140.0)],
    ),
    local(
        "100 a day, all queries",
        HUNDRED_A_DAY,
        (DropIn::All, 0.5),
        &[(0.05, 5_798.0), (0.1, 1_530.0), (0.2, 823.0), (0.7, 195.0)],
    ),
];

const fn sessions(
    name: &'static str,
    (rate, with_gold, shared): (f64, f64, f64),
    at: f64,
    delays: &'static [(f64, f64)],
) -> SessionModel {
    let traffic = Sessions {
        rate,
        with_gold,
        shared,
    };
    Listed {
        name,
        traffic: (traffic, at),
        streams: 60.0,
        has_promise: true,
        delays,
    }
}

/// Parts of a stream before a drop on day 3 and on day 17.
const DAY_3: f64 = 0.1;
const DAY_17: f64 = 0.6;

/// Models of the table of user measures, with delays in hours.
pub(super) const SESSIONS: [SessionModel; 11] = [
    sessions(
        "no gold, 0.1/s, drop on day 3",
        (0.1, 0.0, 0.0),
        DAY_3,
        &[(0.05, NEVER), (0.1, 150.0), (0.2, 3.0)],
    ),
    sessions(
        "no gold, 0.1/s, drop on day 17",
        (0.1, 0.0, 0.0),
        DAY_17,
        &[(0.05, 23.0), (0.1, 2.1), (0.2, 0.3)],
    ),
    sessions(
        "no gold, 0.02/s, drop on day 3",
        (0.02, 0.0, 0.0),
        DAY_3,
        &[(0.05, NEVER), (0.1, NEVER), (0.2, 79.0)],
    ),
    sessions(
        "no gold, 0.02/s, drop on day 17",
        (0.02, 0.0, 0.0),
        DAY_17,
        &[(0.05, 100.0), (0.1, 23.0), (0.2, 3.0)],
    ),
    sessions(
        "gold, 0.1/s, drop on day 3",
        (0.1, 1.0, 0.0),
        DAY_3,
        &[(0.05, NEVER), (0.1, 167.0), (0.2, 2.1)],
    ),
    sessions(
        "gold, 0.1/s, drop on day 17",
        (0.1, 1.0, 0.0),
        DAY_17,
        &[(0.05, 24.0), (0.1, 2.0), (0.2, 0.4)],
    ),
    sessions(
        "gold, 0.5/s, drop on day 3",
        (0.5, 1.0, 0.0),
        DAY_3,
        &[(0.05, NEVER), (0.1, 156.0), (0.2, 0.4)],
    ),
    sessions(
        "gold, 0.5/s, drop on day 17",
        (0.5, 1.0, 0.0),
        DAY_17,
        &[(0.05, 2.6), (0.1, 0.3), (0.2, 0.1)],
    ),
    // The reference implementation has one kind of sessions in a stream.
    sessions("half of them gold, 0.1/s", (0.1, 0.5, 0.0), DAY_3, &[]),
    sessions(
        "no gold, 0.5/s, hourly noise of 0.02, drop on day 3",
        (0.5, 0.0, 0.02),
        DAY_3,
        &[(0.05, NEVER), (0.1, 117.0), (0.2, 0.2)],
    ),
    sessions(
        "no gold, 0.5/s, hourly noise of 0.02, drop on day 17",
        (0.5, 0.0, 0.02),
        DAY_17,
        &[(0.05, NEVER), (0.1, NEVER), (0.2, 0.2)],
    ),
];

const fn experiment(
    name: &'static str,
    traffic: Assigned,
    is_split: bool,
    listed: Option<[f64; 3]>,
) -> Experiment {
    Experiment {
        name,
        traffic,
        is_split,
        listed,
    }
}

const SESSION_UNITS: Assigned = Assigned::BASE;

const LONG_SESSIONS: Assigned = with!(SESSION_UNITS, session = 5.0, repeats = 0.5);

const STICKY: Assigned = with!(SESSION_UNITS, by_user = true, users = (2_000, 0.8));

const DIFFERENT_USERS: Assigned = with!(STICKY, user_deviation = 0.1);

const TWO_WEEKS: Assigned = with!(SESSION_UNITS, rate = 0.05, days = 14.0);

/// Models of the tables of experiments.
pub(super) const EXPERIMENTS: [Experiment; 19] = [
    experiment(
        "independent searches",
        with!(
            SESSION_UNITS,
            session = 1.0,
            user_deviation = 0.0,
            mood = 0.0
        ),
        false,
        Some([34_000.0, 7_200.0, 1_400.0]),
    ),
    experiment("sessions of 3, 30 % repeats", SESSION_UNITS, false, None),
    experiment("sessions of 5, 50 % repeats", LONG_SESSIONS, false, None),
    experiment(
        "sessions of 10, 70 % repeats",
        with!(SESSION_UNITS, session = 10.0, repeats = 0.7),
        true,
        Some([NEVER, 38_000.0, 7_600.0]),
    ),
    experiment(
        "a bot hour a day, sessions",
        with!(SESSION_UNITS, bots = 1),
        true,
        Some([64_000.0, 14_000.0, 2_300.0]),
    ),
    experiment("4 bots a day", with!(SESSION_UNITS, bots = 4), false, None),
    experiment(
        "sticky users, 20k",
        with!(STICKY, users = (20_000, 0.8)),
        true,
        Some([NEVER, 17_000.0, 2_300.0]),
    ),
    experiment("sticky users, 2k", STICKY, false, None),
    experiment(
        "sticky users, 2k that differ by 0.1",
        DIFFERENT_USERS,
        false,
        Some([NEVER, NEVER, 6_000.0]),
    ),
    experiment(
        "sticky users, 2k, Zipf 1.1",
        with!(DIFFERENT_USERS, users = (2_000, 1.1)),
        true,
        None,
    ),
    experiment(
        "sticky users, 2k, a bot a day",
        with!(STICKY, bots = 1),
        false,
        None,
    ),
    experiment(
        "sticky users, skewed",
        with!(STICKY, is_skewed = true),
        false,
        None,
    ),
    experiment(
        "0/1 scores, sticky users that differ by 0.1",
        with!(DIFFERENT_USERS, is_binary = true),
        false,
        None,
    ),
    experiment(
        "arm of 10 %, sessions",
        with!(SESSION_UNITS, share = 0.1),
        false,
        None,
    ),
    experiment(
        "arm of 10 %, a bot",
        with!(SESSION_UNITS, share = 0.1, bots = 1),
        true,
        None,
    ),
    experiment(
        "arm of 10 %, sticky users that differ by 0.1",
        with!(DIFFERENT_USERS, share = 0.1),
        true,
        None,
    ),
    experiment(
        "0.05/s, 14 days, sessions of 5",
        with!(TWO_WEEKS, session = 5.0, repeats = 0.5),
        false,
        None,
    ),
    experiment(
        "0.05/s, 14 days, 4 bots",
        with!(TWO_WEEKS, bots = 4),
        false,
        None,
    ),
    experiment(
        "0.05/s, 14 days, 300 sticky users",
        with!(
            TWO_WEEKS,
            by_user = true,
            users = (300, 0.8),
            user_deviation = 0.1
        ),
        false,
        None,
    ),
];

const fn change(
    name: &'static str,
    (new, worse): (f64, f64),
    delays: &'static [(f64, f64)],
) -> Listed<Unjudged> {
    Listed {
        name,
        traffic: Unjudged { new, worse },
        streams: 12.0,
        has_promise: true,
        delays,
    }
}

/// Models of the table of unjudged results.
pub(super) const UNJUDGED: [Listed<Unjudged>; 5] = [
    change("no change", (0.0, 0.0), &[]),
    change("15 % new unjudged results, same quality", (0.15, 0.0), &[]),
    change(
        "8 % of the relevant results lost",
        (0.0, 0.08),
        &[(0.08, 18.0)],
    ),
    change(
        "15 % of the relevant results lost",
        (0.0, 0.15),
        &[(0.15, 4.0)],
    ),
    change("15 % unjudged, 15 % lost", (0.15, 0.15), &[]),
];

/// Drops of the table of rules that are common in practice; none is listed.
const PRACTICE_DROPS: &[(f64, f64)] = &[(0.02, NEVER), (0.05, NEVER), (0.1, NEVER), (0.2, NEVER)];

const fn practice(name: &'static str, traffic: Audit) -> Listed<Audit> {
    Listed {
        name,
        traffic,
        streams: 20.0,
        has_promise: true,
        delays: PRACTICE_DROPS,
    }
}

/// Models of the table of rules that are common in practice.
pub(super) const PRACTICE: [Listed<Audit>; 4] = [
    practice("users, days and weekends, 1/s", BASE),
    practice("the same with churn, bots and a campaign", BUSY),
    practice(
        "the same with hourly noise of 0.01",
        with!(BASE, shared = (0.01, 3_600.0)),
    ),
    practice(
        "users, days and weekends, 0.1/s, 14 days",
        ONE_IN_TEN_SECONDS,
    ),
];
