//! Configuration of the record formats of both topics and of the UBI dialect:
//! `kafka.search_format`, `kafka.feedback_format` and the section `ubi`.

use super::reader::Reader;
use rankgauge_core::decode::ubi::{Dialect, Meaning};
use rankgauge_core::decode::{Format, Formats};

pub(super) fn read(reader: &mut Reader) -> Formats {
    Formats {
        search: reader.choice("kafka.search_format", Format::Native, &Format::NAMES),
        feedback: reader.choice("kafka.feedback_format", Format::Native, &Format::NAMES),
        ubi: dialect(reader),
    }
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
