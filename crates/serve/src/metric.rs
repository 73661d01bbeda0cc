//! Description of a metric for the client library, from its family.

use prometheus::Opts;

use rankgauge_core::engine::family::Family;

pub(crate) fn opts(family: &Family) -> Opts {
    Opts::new(family.full_name(), family.help)
}
