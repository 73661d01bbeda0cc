//! Long version of the binary: what an issue report needs.

use std::sync::OnceLock;

use crate::app::BUILD;
use rankgauge_kafka::settings::{librdkafka_features, librdkafka_version};

/// Features of the crate that the binary was built with.
const FEATURES: &str = if cfg!(feature = "demo") {
    "demo"
} else {
    "none"
};

/// Version, revision, compiler, librdkafka and features, one a line.
pub(super) fn long() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        format!(
            "{}\nrevision {}\ncompiler {}\nlibrdkafka {} ({})\nfeatures {FEATURES}",
            BUILD.version,
            BUILD.revision,
            BUILD.rustc,
            librdkafka_version(),
            librdkafka_features(),
        )
    })
}
