//! Equal inputs give equal snapshots, independent of the process, its threads and its hash seeds.

use proptest::prelude::*;

use super::conservation::{Walk, steps};
use super::{World, difference, settings};

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn equal_inputs_give_equal_snapshots(steps in steps(), few in any::<bool>()) {
        let mut settings = settings();
        if few {
            settings.memory = 4_000;
        }
        let worlds = [World::new(settings.clone()), World::new(settings)];
        let mut walks = worlds.each_ref().map(Walk::new);
        for step in &steps {
            for walk in &mut walks {
                walk.take(step);
            }
        }
        let [first, second] = walks.map(|walk| walk.engine.snapshot());
        prop_assert_eq!(&first, &second);
        let (found, expected) = (worlds[0].samples(&first), worlds[1].samples(&second));
        let differences = difference(&found, &expected);
        prop_assert!(differences.is_empty(), "{differences:#?}");
    }
}
