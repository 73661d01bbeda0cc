//! Configuration of the record formats of both topics and of the UBI dialect:
//! `kafka.search_format`, `kafka.feedback_format` and the section `ubi`.

use super::otlp;
use super::reader::Reader;
use rankgauge_core::decode::ubi::{Dialect, Meaning};
use rankgauge_core::decode::{Format, Formats};

/// Encodings of the Collector's Kafka exporter that are not read.
const OTHER_ENCODINGS: [&str; 5] = [
    "jaeger_proto",
    "jaeger_json",
    "zipkin_proto",
    "zipkin_json",
    "raw",
];

pub(super) fn read(reader: &mut Reader) -> Formats {
    Formats {
        search: format(reader, "kafka.search_format"),
        feedback: format(reader, "kafka.feedback_format"),
        ubi: dialect(reader),
        otlp: otlp::mapping(reader),
    }
}

fn format(reader: &mut Reader, path: &str) -> Format {
    let parse = |text: &str| {
        let found = Format::NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, format)| *format).ok_or_else(|| {
            let names: Vec<&str> = Format::NAMES.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            if OTHER_ENCODINGS.contains(&text) {
                format!(
                    "is none of {names}; set traces.encoding of the Kafka exporter to otlp_proto \
                     or otlp_json"
                )
            } else {
                format!("is none of {names}")
            }
        })
    };
    reader.parsed(path, parse).unwrap_or(Format::Native)
}

fn dialect(reader: &mut Reader) -> Dialect {
    let mut dialect = Dialect::default();
    let base = reader.choice("ubi.ordinal_base", dialect.ordinal_base, &BASES);
    dialect.ordinal_base = base;
    let meanings: Vec<(&str, Meaning)> = Meaning::names().collect();
    let custom = dialect.meaning("");
    for name in reader.names("ubi.actions") {
        let meaning = reader.choice(&format!("ubi.actions.{name}"), custom, &meanings);
        dialect.actions.insert(name, meaning);
    }
    dialect
}

/// Allowed ordinals of the first result.
const BASES: [(&str, u32); 2] = [("0", 0), ("1", 1)];
