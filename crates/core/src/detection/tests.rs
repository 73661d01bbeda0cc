//! Tests that distinguish a regression from noise: against a second implementation, and against
//! properties that hold for any numbers.

mod coverage;
mod golden;
mod properties;
#[allow(dead_code, reason = "tests of the command read the alarms")]
mod reference_streams;
mod unjudged;
mod vectors;

/// Reproducible numbers from 0 to 1: the upper bits of a linear congruential generator.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 32).expect("32 bits")) / 4_294_967_296.0
    }
}
