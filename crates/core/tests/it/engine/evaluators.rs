//! Evaluators are watched: their drift, and their part in incidents of their values.

use std::collections::BTreeSet;

use rankgauge_core::engine::incidents::Incident;
use rankgauge_core::engine::read_model::{EvaluatorVerdict, ReadModel};
use rankgauge_core::engine::settings::{MonitoredMeasure, Settings};
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::measure::Measure;
use rankgauge_core::time::WallTime;
use serde_json::json;

use super::evidence::watching;
use super::recovery::{restored, write};
use super::{START, World, assign, read_feedback, read_search, tick};

const MINUTE: i64 = 60_000;

/// The values of an evaluator are watched.
fn settings() -> Settings {
    let mut settings = watching(None, None);
    settings.measures =
        Measure::parse_list("P@1 Evaluation(evaluator=judge,name=faithfulness)").unwrap();
    settings.detection.slices.clear();
    settings.detection.measures.push(MonitoredMeasure {
        index: 1,
        target: None,
        is_lower_better: false,
        is_user_measure: true,
        is_seasonal: false,
    });
    settings
}

/// Judges of a search.
#[derive(Clone, Copy)]
struct Judges<'a> {
    /// Value of a person. It varies around this mean.
    people: f64,
    /// Difference of the evaluator from people.
    bias: f64,
    version: &'a str,
    /// A person judges one of so many searches; none if it is 0.
    every: i64,
}

const BEFORE: Judges<'_> = Judges {
    people: 0.7,
    bias: 0.05,
    version: "1",
    every: 2,
};

/// One search a minute with an answer.
struct Traffic {
    world: World,
    engine: Engine,
    searches: i64,
    feedback: i64,
}

impl Traffic {
    fn new() -> Self {
        let world = World::new(settings());
        let mut engine = world.engine();
        assign(&mut engine, 0);
        Self {
            world,
            engine,
            searches: 0,
            feedback: 0,
        }
    }

    fn judgment(&mut self, (ts, search): (i64, i64), evaluator: &serde_json::Value, value: f64) {
        let event = json!({
            "event_id": format!("e{}", self.feedback), "query_id": format!("q{search}"), "ts": ts,
            "type": "judgment", "target": "answer", "name": "faithfulness",
            "evaluator": evaluator, "value": value.clamp(0.0, 1.0), "min": 0, "max": 1,
        });
        read_feedback(&mut self.engine, 0, self.feedback, &event.to_string());
        self.feedback += 1;
    }

    fn search(&mut self, by: &Judges<'_>) {
        let number = self.searches;
        let ts = START + number * MINUTE;
        let event = json!({
            "query_id": format!("q{number}"), "ts": ts, "query_key": format!("g{}", number % 2),
            "variant": "V1", "results": [{"id": "d0"}, {"id": "d3"}],
            "answer": {"id": "a", "text": "용도지역의 변경"},
        });
        read_search(&mut self.engine, 0, number, &event.to_string());
        // People differ from search to search, the evaluator from people.
        let noise = |of: i64, size: f64| {
            let step = i32::try_from((of * 7 + of / 3) % 5 - 2).unwrap();
            f64::from(step) * size
        };
        let people = by.people + noise(number, 0.08);
        let value = people + by.bias + noise(number + 1, 0.04);
        let judge = json!({"id": "judge", "version": by.version, "kind": "model"});
        self.judgment((ts + 1, number), &judge, value);
        if by.every > 0 && number % by.every == 0 {
            let person = json!({"id": "ann", "kind": "human"});
            self.judgment((ts + 2, number), &person, people);
        }
        self.searches += 1;
        tick(&mut self.engine, ts + 3);
    }

    fn searches(&mut self, number: i64, by: &Judges<'_>) {
        (0..number).for_each(|_| self.search(by));
    }

    fn incidents(&self) -> Vec<Incident> {
        let snapshot = self.engine.snapshot();
        snapshot.totals.evidence.incidents().cloned().collect()
    }

    /// Verdicts on the evaluators of all incidents.
    fn verdicts(&self) -> Vec<EvaluatorVerdict> {
        self.read(|model| {
            let evidence = &model.snapshot().totals.evidence;
            let parts = evidence
                .incidents()
                .map(|it| model.evaluator_part(it).expect("an evaluator").verdict);
            parts.collect()
        })
    }

    fn read<T>(&self, of: impl FnOnce(&ReadModel<'_>) -> T) -> T {
        let snapshot = self.engine.snapshot();
        of(&ReadModel::new(
            &snapshot,
            &self.world.settings,
            &self.world.registry,
        ))
    }

    /// Versions whose bias drifts.
    fn drifted(&self) -> Vec<String> {
        self.read(|model| {
            let drifts = model.evaluator_drifts();
            let drifted = drifts.iter().filter(|it| it.has_alarm);
            drifted.map(|it| it.version.to_owned()).collect()
        })
    }
}

/// Traffic in which nothing changed yet.
fn settled() -> Traffic {
    let mut traffic = Traffic::new();
    traffic.searches(600, &BEFORE);
    assert_eq!(traffic.incidents(), []);
    assert_eq!(traffic.drifted(), [""; 0]);
    traffic
}

#[test]
fn an_evaluator_whose_bias_drifts_is_reported_and_the_unchanged_system_is_not() {
    let mut traffic = settled();
    let drifted = Judges {
        bias: -0.2,
        ..BEFORE
    };
    let mut verdicts = BTreeSet::new();
    let (mut of_evaluator, mut of_incident) = (None, None);
    for step in 0..400 {
        traffic.search(&drifted);
        if of_evaluator.is_none() && !traffic.drifted().is_empty() {
            of_evaluator = Some(step);
        }
        for verdict in traffic.verdicts() {
            of_incident = of_incident.or(Some(step));
            verdicts.insert(verdict.name());
        }
    }
    let of_evaluator = of_evaluator.expect("the drift is reported");
    assert!(of_evaluator < 200, "{of_evaluator}");
    assert!(of_incident.is_some(), "the values of the evaluator fell");
    // No moment says that the system changed.
    assert!(!verdicts.contains("unchanged"), "{verdicts:?}");
    assert_eq!(
        traffic.verdicts(),
        [EvaluatorVerdict::Drifted],
        "{verdicts:?}"
    );
    traffic.read(|model| {
        let drifts = model.evaluator_drifts();
        let [ann, judge] = &drifts[..] else {
            panic!("a person and an evaluator: {drifts:?}");
        };
        assert_eq!((ann.evaluator, ann.pairs, ann.has_alarm), ("ann", 0, false));
        assert_eq!((judge.evaluator, judge.version), ("judge", "1"));
        let change = judge.change.expect("a change");
        assert!(change.lower < change.estimate && change.estimate < -0.1);
        let began = START + 600 * MINUTE;
        assert!((change.since - began / MINUTE).abs() <= 10, "{change:?}");
        let part = model.evaluator_part(&traffic.incidents()[0]).unwrap();
        let shift = part.shift.expect("people judged before and since");
        assert!((shift.before - 0.05).abs() < 0.04, "{shift:?}");
        assert!(shift.since < -0.1, "{shift:?}");
    });
    let samples = traffic.world.samples(&traffic.engine.snapshot());
    let judge = r#"evaluator_drift{evaluator="judge",version="1"}"#;
    assert_eq!(samples[judge], "1");
}

#[test]
fn a_system_that_changed_is_reported_and_its_evaluator_is_not() {
    let mut traffic = settled();
    let worse = Judges {
        people: 0.45,
        ..BEFORE
    };
    traffic.searches(300, &worse);
    assert_eq!(traffic.drifted(), [""; 0]);
    assert_eq!(traffic.verdicts(), [EvaluatorVerdict::Unchanged]);
}

#[test]
fn without_people_an_incident_of_an_evaluator_blames_neither() {
    let mut traffic = Traffic::new();
    let alone = Judges { every: 0, ..BEFORE };
    traffic.searches(600, &alone);
    traffic.searches(
        200,
        &Judges {
            bias: -0.2,
            ..alone
        },
    );
    assert_eq!(traffic.drifted(), [""; 0]);
    assert_eq!(traffic.verdicts(), [EvaluatorVerdict::Undecided]);
}

#[test]
fn a_new_version_is_compared_with_itself_alone() {
    let mut traffic = settled();
    let next = Judges {
        bias: -0.2,
        version: "2",
        ..BEFORE
    };
    traffic.searches(300, &next);
    assert_eq!(traffic.drifted(), [""; 0], "each version is constant");
    assert_eq!(traffic.verdicts(), [EvaluatorVerdict::NewVersion]);
    traffic.read(|model| {
        let part = model.evaluator_part(&traffic.incidents()[0]).unwrap();
        assert_eq!((&*part.evaluator, part.version), ("judge", "2"));
        assert_eq!(part.at.unwrap().0, START + 600 * MINUTE);
    });
    // It drifts against its own beginning.
    traffic.searches(300, &Judges { bias: 0.1, ..next });
    assert_eq!(traffic.drifted(), ["2"]);
}

#[test]
fn the_drift_survives_a_restart_and_ends_with_a_reset() {
    let mut traffic = settled();
    traffic.searches(
        200,
        &Judges {
            bias: -0.2,
            ..BEFORE
        },
    );
    assert_eq!(traffic.drifted(), ["1"]);
    let alarm = |engine: &Engine| {
        let totals = engine.snapshot().totals;
        let alarms = totals.biases.versions().filter_map(|it| it.drift().alarm());
        alarms.collect::<Vec<_>>()
    };
    let found = alarm(&traffic.engine);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].direction.name(), "lower");
    let (mut engine, _) = restored(&traffic.world, &write(&traffic.engine));
    assert_eq!(alarm(&engine), found);
    let reported = WallTime(START + 900 * MINUTE);
    engine.apply(Input::ResetBaselines { reported });
    assert_eq!(alarm(&engine), []);
}

#[test]
fn agreement_is_counted_by_slice() {
    let mut traffic = Traffic::new();
    traffic.searches(100, &Judges { every: 1, ..BEFORE });
    traffic.read(|model| {
        let slices = model.evaluator_slices();
        let of: Vec<_> = slices
            .iter()
            .filter(|it| it.evaluator == "judge")
            .map(|it| (it.version, it.variant, it.slice, it.value, it.pairs))
            .collect();
        let expected = |value, pairs| ("1", "V1", "query_type", value, pairs);
        // The feedback of the last search is not complete.
        assert_eq!(of, [expected("keyword", 50), expected("question", 49)]);
        for it in &slices {
            assert!((it.error - 0.05).abs() < 0.02, "{it:?}");
        }
    });
}

#[test]
fn the_cost_of_judgments_is_counted_once() {
    let mut traffic = Traffic::new();
    traffic.searches(1, &Judges { every: 0, ..BEFORE });
    let event = |id: &str, cost: serde_json::Value| {
        json!({
            "event_id": id, "query_id": "q0", "ts": START + 5, "type": "judgment", "target": "answer",
            "name": "fluency", "evaluator": {"id": "judge", "version": "1", "kind": "model"},
            "value": 0.5, "cost": cost,
        })
    };
    let costs = [
        ("a", json!({"amount": 0.25})),
        ("b", json!({"amount": 0.5})),
        ("a", json!({"amount": 0.25})),
        ("c", json!({"amount": 3, "currency": "KRW"})),
    ];
    for (id, cost) in costs {
        let payload = event(id, cost).to_string();
        read_feedback(&mut traffic.engine, 0, traffic.feedback, &payload);
        traffic.feedback += 1;
    }
    traffic.read(|model| {
        let costs = model.evaluator_costs();
        let of = |currency, amount| (["judge", "1", currency], amount);
        assert_eq!(costs, [of("USD", 0.75), of("KRW", 3.0)]);
    });
}

#[test]
fn the_mean_of_an_evaluator_is_corrected_by_its_bias() {
    let mut traffic = Traffic::new();
    traffic.searches(
        200,
        &Judges {
            bias: 0.2,
            ..BEFORE
        },
    );
    traffic.read(|model| {
        let values = model.corrected_values();
        let [value] = &values[..] else {
            panic!("one property that people judged as well: {values:?}");
        };
        assert_eq!((value.evaluator, value.name), ("judge", "faithfulness"));
        let mean = value.mean;
        assert!(
            mean.searches > 190 && mean.pairs < mean.searches,
            "{mean:?}"
        );
        // People give 0.7; values above 1 are cut off.
        assert!((mean.mean - 0.9).abs() < 0.03, "{mean:?}");
        assert!((mean.corrected.mean - 0.7).abs() < 0.03, "{mean:?}");
        assert!(
            mean.corrected.lower < 0.7 && 0.7 < mean.corrected.upper,
            "{mean:?}"
        );
    });
}
