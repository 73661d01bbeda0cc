//! Evidence of a fleet: a drop that no worker shows alone opens one incident.

use rankgauge_core::engine::Input;
use rankgauge_core::engine::evidence::Test;
use rankgauge_core::engine::fleet::{FleetEvidence, SharedEvidence};
use rankgauge_core::engine::read_model::ReadModel;
use rankgauge_core::time::WallTime;

use super::evidence::{Reader, healthy, watching};

const REPLICAS: u64 = 2;

/// Evidence that a process shares.
fn shared(reader: &Reader) -> Vec<SharedEvidence> {
    let snapshot = reader.engine.snapshot();
    let (settings, registry) = (&reader.world.settings, &reader.world.registry);
    ReadModel::new(&snapshot, settings, registry).shared_evidence(&FleetEvidence::default())
}

/// Drop evidence that a process exposes.
fn exposed(reader: &Reader, fleet: &FleetEvidence) -> Option<f64> {
    let mut snapshot = reader.engine.snapshot();
    snapshot.fleet = Some(fleet.combined(REPLICAS).into());
    let (settings, registry) = (&reader.world.settings, &reader.world.registry);
    let watched = ReadModel::new(&snapshot, settings, registry).watched();
    watched[0].log_evidence[Test::Drop as usize]
}

#[test]
fn a_drop_that_no_worker_shows_alone_opens_one_incident() {
    let mut readers = [(); 3].map(|()| Reader::new(watching(None, None)));
    // Baselines that differ a little: one of them has the largest evidence.
    for (reader, number) in readers.iter_mut().zip([400, 410, 420]) {
        reader.searches(healthy(number));
    }
    let mut opened = Vec::new();
    for number in 0..200 {
        if !opened.is_empty() {
            break;
        }
        // Each search adds less than the part of the others.
        for reader in &mut readers {
            reader.searches([number % 4 > 1]);
            assert_eq!(reader.engine.take_effects().alarms, []);
        }
        let records: Vec<_> = readers.iter().map(shared).collect();
        for (number, reader) in readers.iter_mut().enumerate() {
            let mut fleet = FleetEvidence::default();
            for (id, record) in (0..).zip(&records).filter(|(id, _)| *id != number) {
                let id = u64::try_from(id).expect("a small number");
                fleet.put(id, WallTime(0), record);
            }
            reader.engine.apply(Input::Evidence {
                workers: &[],
                fleet: &fleet.combined(REPLICAS),
            });
            let effects = reader.engine.take_effects();
            for alarm in effects.alarms {
                assert!(alarm.log_evidence >= alarm.threshold, "{alarm:?}");
                opened.push((number, effects.incidents.len()));
            }
        }
    }
    // Workers with equal evidence open it at once, and agree on one.
    assert!(
        opened.iter().all(|(_, incidents)| *incidents == 1),
        "{opened:?}"
    );
    for _ in 0..3 {
        let shares = readers.each_ref().map(|it| it.engine.share().incidents);
        for (number, reader) in readers.iter_mut().enumerate() {
            let others = (0..3).filter(|it| *it != number);
            let others: Vec<_> = others.flat_map(|it| shares[it].clone()).collect();
            reader.engine.apply(Input::Incidents {
                others: &[],
                fleet: &others,
            });
        }
    }
    let ids = readers.each_ref().map(|it| it.only().id);
    assert_eq!(ids, [ids[0]; 3]);
    // All expose one number. Nothing is opened again.
    let mut fleet = FleetEvidence::default();
    for (id, reader) in (0..).zip(&readers) {
        fleet.put(id, WallTime(0), &shared(reader));
    }
    let values = readers.each_ref().map(|it| exposed(it, &fleet));
    assert!(values[0] >= Some(10.0), "{values:?}");
    assert_eq!(values, [values[0]; 3]);
    for reader in &mut readers {
        reader.engine.apply(Input::Evidence {
            workers: &[],
            fleet: &fleet.combined(REPLICAS),
        });
        assert_eq!(reader.engine.take_effects().alarms, []);
    }
}

/// Shared evidence is rounded, up or down.
#[test]
fn workers_with_equal_evidence_do_not_wait_for_each_other() {
    for healthy_searches in (400..420).step_by(2) {
        let mut readers = [(); 3].map(|()| Reader::new(watching(None, None)));
        for reader in &mut readers {
            reader.searches(healthy(healthy_searches));
        }
        let is_open = (0..200).any(|number| {
            for reader in &mut readers {
                reader.searches([number % 4 > 1]);
            }
            let record = shared(&readers[0]);
            let of = |ids: std::ops::Range<u64>| {
                let mut fleet = FleetEvidence::default();
                for id in ids {
                    fleet.put(id, WallTime(0), &record);
                }
                fleet
            };
            readers[0].engine.apply(Input::Evidence {
                workers: &[],
                fleet: &of(0..2).combined(REPLICAS),
            });
            let has_opened = !readers[0].engine.take_effects().alarms.is_empty();
            let of_all = exposed(&readers[0], &of(0..3));
            assert!(
                has_opened || of_all < Some(10.0),
                "{healthy_searches}: {of_all:?}"
            );
            has_opened
        });
        assert!(is_open, "{healthy_searches}");
    }
}
