//! User behaviour on a result list: a cascade click model with position bias.
//!
//! A user reads from the top, continues to the next result with a fixed probability (position
//! bias), opens a result by its apparent relevance, and stops once satisfied (the cascade model of
//! Craswell et al. 2008). The module uses grades only: it is independent of documents, variants and
//! wire formats.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Probability that a user continues to the next result.
const CONTINUE_PROBABILITY: f64 = 0.86;
/// Probability that a user opens a result that is read, by its grade 0 to 3.
const OPENS: [f64; 4] = [0.06, 0.18, 0.34, 0.55];
/// Probability that an opened result satisfies the user, by its grade.
const SATISFIED: [f64; 4] = [0.05, 0.25, 0.5, 0.75];
/// Probability that the end of a visit is reported.
const REPORTS_DWELL: f64 = 0.7;
/// Probability that a satisfying visit ends in a conversion (cited, saved, printed).
const CONVERTS: f64 = 0.06;
/// Probability that a result list is reported as seen.
const REPORTS_IMPRESSION: f64 = 0.1;
/// Probability of a thumb and of a rating for a search, and of a rating for the whole session.
const THUMBS: f64 = 0.04;
const RATES: f64 = 0.02;
const RATES_SESSION: f64 = 0.02;
/// Probability that an expert grades a result that is read.
const JUDGES: f64 = 0.004;
/// Probability of a click outside the results.
const STRAYS: f64 = 0.003;
/// Probability that an unsatisfied user reformulates the query, and that the application reports
/// it.
const REFORMULATION_PROBABILITY: f64 = 0.3;
const REPORTS_REFORMULATION: f64 = 0.1;
/// Delay of the reformulation after the search, in milliseconds.
const REFORMULATION_DELAY_MS: std::ops::Range<i64> = 8_000..55_000;
/// Time of the clicks after the search, in milliseconds: from two seconds to a minute.
const FIRST_CLICK_MS: std::ops::Range<i64> = 2_000..20_000;
const LAST_CLICK_MS: i64 = 60_000;

/// One user action, some milliseconds after the search.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimulatedAction {
    pub(super) after_ms: i64,
    pub(super) action: ActionKind,
}

/// Kind of a user action. `place` is an index into the results, from 0.
#[derive(Clone, Copy, Debug)]
pub(super) enum ActionKind {
    Impression {
        place: usize,
    },
    Click {
        place: usize,
    },
    Dwell {
        place: usize,
        dwell_ms: i64,
    },
    Conversion {
        place: usize,
    },
    Thumbs {
        up: bool,
    },
    Rating {
        stars: u8,
    },
    /// Grade given by an expert.
    Judgment {
        place: usize,
        grade: u8,
    },
    /// Rating, 0 to 10, of the whole session.
    SessionRating {
        points: u8,
    },
    /// Click on an object that is not among the results.
    OutsideClick,
    /// Reformulation reported by the application.
    Reformulation,
}

/// Appends the user actions on results of these grades to `actions`, unordered. Returns the delay
/// in milliseconds after which the user reformulates the query, if so.
pub(super) fn simulate_user(
    grades: &(impl Iterator<Item = u8> + Clone),
    rng: &mut ChaCha8Rng,
    actions: &mut Vec<SimulatedAction>,
) -> Option<i64> {
    if grades.clone().next().is_none() {
        return reformulates(rng, actions);
    }
    if rng.random::<f64>() < REPORTS_IMPRESSION {
        let after_ms = rng.random_range(100..1_500);
        let action = ActionKind::Impression { place: 0 };
        actions.push(SimulatedAction { after_ms, action });
    }
    let satisfied = read(grades.clone(), rng, actions);
    if rng.random::<f64>() < THUMBS {
        let up = rng.random::<f64>() < if satisfied { 0.9 } else { 0.4 };
        let after_ms = rng.random_range(5_000..90_000);
        let action = ActionKind::Thumbs { up };
        actions.push(SimulatedAction { after_ms, action });
    }
    if rng.random::<f64>() < RATES {
        let stars = rng.random_range(if satisfied { 3..=5 } else { 1..=4 });
        let after_ms = rng.random_range(10_000..120_000);
        let action = ActionKind::Rating { stars };
        actions.push(SimulatedAction { after_ms, action });
    }
    if rng.random::<f64>() < RATES_SESSION {
        let points = rng.random_range(if satisfied { 6..=10 } else { 0..=7 });
        let after_ms = rng.random_range(20_000..120_000);
        let action = ActionKind::SessionRating { points };
        actions.push(SimulatedAction { after_ms, action });
    }
    if rng.random::<f64>() < STRAYS {
        let after_ms = rng.random_range(FIRST_CLICK_MS);
        actions.push(SimulatedAction {
            after_ms,
            action: ActionKind::OutsideClick,
        });
    }
    if satisfied {
        None
    } else {
        reformulates(rng, actions)
    }
}

fn reformulates(rng: &mut ChaCha8Rng, actions: &mut Vec<SimulatedAction>) -> Option<i64> {
    if rng.random::<f64>() >= REFORMULATION_PROBABILITY {
        return None;
    }
    let after_ms = rng.random_range(REFORMULATION_DELAY_MS);
    if rng.random::<f64>() < REPORTS_REFORMULATION {
        let action = ActionKind::Reformulation;
        actions.push(SimulatedAction { after_ms, action });
    }
    Some(after_ms)
}

/// Simulates reading down the list. Returns true if the user left satisfied.
fn read(
    grades: impl Iterator<Item = u8>,
    rng: &mut ChaCha8Rng,
    actions: &mut Vec<SimulatedAction>,
) -> bool {
    let mut now_ms = rng.random_range(FIRST_CLICK_MS);
    for (place, grade) in grades.enumerate() {
        let grade = usize::from(grade.min(3));
        if rng.random::<f64>() < JUDGES {
            // Experts sometimes differ by one grade.
            let miss = rng.random_range(0..10_u8);
            let given = u8::try_from(grade).unwrap_or(3);
            let given = match miss {
                0 => given.saturating_sub(1),
                1 => (given + 1).min(3),
                _ => given,
            };
            let action = ActionKind::Judgment {
                place,
                grade: given,
            };
            let after_ms = now_ms + rng.random_range(1_000..20_000);
            actions.push(SimulatedAction { after_ms, action });
        }
        if now_ms > LAST_CLICK_MS || (place > 0 && rng.random::<f64>() >= CONTINUE_PROBABILITY) {
            break;
        }
        if rng.random::<f64>() >= OPENS[grade] {
            continue;
        }
        let satisfied = rng.random::<f64>() < SATISFIED[grade];
        let dwell_ms = rng.random_range(if satisfied {
            20_000..180_000
        } else {
            1_500..25_000
        });
        actions.push(SimulatedAction {
            after_ms: now_ms,
            action: ActionKind::Click { place },
        });
        if rng.random::<f64>() < REPORTS_DWELL {
            actions.push(SimulatedAction {
                after_ms: now_ms + dwell_ms,
                action: ActionKind::Dwell { place, dwell_ms },
            });
        }
        if satisfied {
            if rng.random::<f64>() < CONVERTS {
                actions.push(SimulatedAction {
                    after_ms: now_ms + dwell_ms / 2,
                    action: ActionKind::Conversion { place },
                });
            }
            return true;
        }
        now_ms += dwell_ms + rng.random_range(500..3_000);
    }
    false
}
