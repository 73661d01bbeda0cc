//! Counted positions of a process: the positions of both topics of a partition are from the same
//! moment.
//!
//! If one position came from one owner of the partition and the other from another owner, a search
//! counted without its feedback, or feedback read without its search, would be treated as counted
//! together with the other.

use rankgauge_core::engine::partition::CommitPoint;
use rankgauge_core::engine::position::Join;
use rankgauge_core::event::Kind;
use rankgauge_kafka::positions::Positions;

fn points(search: i64, feedback: i64) -> [CommitPoint; 2] {
    [(Kind::Search, search), (Kind::Feedback, feedback)]
        .map(|(kind, counted)| CommitPoint::starting_at(7, kind, counted))
}

fn durable(positions: &Positions) -> [Option<i64>; 2] {
    Kind::ALL.map(|kind| Some(positions.durable(7, kind)?.counted))
}

#[test]
fn owner_replaces_both_positions_even_if_one_is_lower() {
    let positions = Positions::new(2, Join::Partition);
    positions.saved(&points(400, 250), &points(400, 250));
    positions.saved(&points(600, 120), &points(600, 120));
    assert_eq!(durable(&positions), [Some(600), Some(120)]);
}

#[test]
fn former_owner_updates_positions_only_if_both_advance() {
    let positions = Positions::new(2, Join::Partition);
    positions.saved(&points(600, 120), &points(600, 120));
    positions.saved(&points(400, 250), &[]);
    assert_eq!(durable(&positions), [Some(600), Some(120)]);
    positions.saved(&points(600, 300), &[]);
    assert_eq!(durable(&positions), [Some(600), Some(300)]);
}

#[test]
fn positions_of_all_partitions_advance_together_if_all_are_joined() {
    let positions = Positions::new(2, Join::All);
    let at = |partition, counted| CommitPoint::starting_at(partition, Kind::Search, counted);
    let durable = || [1, 2].map(|it| Some(positions.durable(it, Kind::Search)?.counted));
    positions.saved(&[at(1, 10), at(2, 20)], &[]);
    positions.saved(&[at(1, 11), at(2, 19)], &[]);
    assert_eq!(durable(), [Some(10), Some(20)]);
    positions.saved(&[at(1, 11), at(2, 19)], &[at(1, 11)]);
    assert_eq!(durable(), [Some(11), Some(19)]);
}
