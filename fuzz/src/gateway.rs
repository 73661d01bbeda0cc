//! Bodies of requests to the gateway.

use std::io::Write as _;
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use rankgauge_core::decode::native;
use rankgauge_core::event::{Acceptance, Kind, Limits};
use rankgauge_gateway::KnownFormats;
use rankgauge_gateway::offline::Offline;

use super::assert_explained;

const ROUTES: [&str; 8] = [
    "/v1/searches",
    "/v1/feedback",
    "/v1/traces",
    "/v1/logs",
    "/v1/ubi/queries",
    "/v1/ubi/events",
    "/v1/searches?format=shop",
    "/v1/feedback?format=shop",
];

const TYPES: [&str; 3] = [
    "application/json",
    "application/x-protobuf",
    "application/x-ndjson",
];

const LIMITS: Limits = Limits {
    record_bytes: 64 << 10,
    results_per_search: 100,
};

static GATEWAY: LazyLock<Offline> = LazyLock::new(|| {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = [
        root.join("../examples/mappings/shop.yaml"),
        root.join("src/gateway.yaml"),
    ];
    let config = rankgauge::config::load(&files, std::iter::empty(), &[]);
    let config = config.expect("a valid configuration");
    Offline {
        formats: KnownFormats::new(&config.formats, &config.mappings),
        settings: config.gateway,
        acceptance: Acceptance {
            limits: LIMITS,
            has_gold_texts: false,
        },
    }
});

/// Reads the input as a body: its first two bytes choose the route, the type and the compression.
pub(super) fn body(input: &[u8]) {
    let [route, form, body @ ..] = input else {
        return;
    };
    let uri = ROUTES[usize::from(*route) % ROUTES.len()].parse();
    let uri = uri.expect("a path");
    let mut headers = HeaderMap::new();
    let content_type = TYPES[usize::from(*form) % TYPES.len()];
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    // As it is, compressed by a client, or an input that claims to be compressed.
    let sent = if form >> 6 == 2 {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(body).expect("memory does not fail");
        encoder.finish().expect("memory does not fail")
    } else {
        body.to_vec()
    };
    if form >> 6 > 1 {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    let response = GATEWAY.post(&uri, &headers, sent);
    assert!(
        [200, 400, 413, 415].contains(&response.status),
        "{}",
        response.status
    );
    if response.status != 200 && !content_type.ends_with("protobuf") {
        assert_explained(&String::from_utf8_lossy(&response.body), 1 << 20);
    }
    for record in response.records {
        // What the gateway accepts, the sidecar accepts.
        assert!(!record.key.is_empty());
        assert!(!record.payload.contains(&b'\n'));
        match record.kind {
            Kind::Search => drop(native::search(&record.payload, &LIMITS).expect("a search")),
            Kind::Feedback => drop(native::feedback(&record.payload, &LIMITS).expect("feedback")),
        }
    }
}
