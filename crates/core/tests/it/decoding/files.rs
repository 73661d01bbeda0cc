//! Hostile files of records: bounded work, and errors instead of panics.

use std::io::Cursor;
use std::sync::Arc;

use proptest::prelude::{ProptestConfig, any, prop, proptest};
use rankgauge_core::decode::file::RecordFile;
use rankgauge_core::decode::framing::{Compression, Framing};
use rankgauge_core::decode::mapped::{Encoding, Form, Mapped};
use rankgauge_core::decode::{Format, Formats};
use rankgauge_core::event::Kind;
use serde_json::json;

use super::avro_writer;
use super::mapped::term;

const LIMIT: usize = 1_000;

fn formats(encoding: Encoding) -> Formats {
    let form = Form {
        encoding,
        framing: Framing::None,
        compression: Compression::None,
    };
    let mapping = json!({"search": {
        "fields": {"query_id": "/id", "ts": "/ts", "query": "/q"}, "hits": {"list": "/hits"},
    }});
    let mapped = Mapped::compile("own", form, term(&mapping)).expect("a valid mapping");
    Formats {
        search: Format::Mapped,
        mapped: [Some(Arc::new(mapped)), None],
        ..Formats::NATIVE
    }
}

/// Records of a file, or the error that ends them.
fn records(encoding: Encoding, content: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let reader = Cursor::new(content.to_vec());
    let file = RecordFile::open(reader, Kind::Search, &formats(encoding), LIMIT);
    let mut file = file.map_err(|error| error.to_string())?;
    let (mut records, mut record) = (Vec::new(), Vec::new());
    while let Some(number) = file.next(&mut record).map_err(|error| error.to_string())? {
        assert!(record.len() <= LIMIT + 1 || content.starts_with(b"Obj\x01"));
        records.push(record.clone());
        if file.is_lines() {
            assert!(usize::try_from(number).expect("a number") >= records.len());
        } else {
            assert_eq!(usize::try_from(number), Ok(records.len()));
        }
    }
    Ok(records)
}

fn header(schema: &str) -> Vec<u8> {
    let mut file = b"Obj\x01".to_vec();
    let map = json!({"type": "map", "values": "string"});
    avro_writer::write(&mut file, &map, &json!({"avro.schema": schema}), true);
    file.extend_from_slice(&[7; 16]);
    file
}

#[test]
fn lengths_are_recognised() {
    let kept = |content: &[u8]| records(Encoding::Protobuf, content).expect("records");
    assert_eq!(
        kept(b"\x02\x01\x02\x01\x03"),
        [b"\x01\x02".to_vec(), b"\x03".to_vec()]
    );
    assert_eq!(
        kept(b"\0\0\0\x02\x01\x02\xff\xff\xff\xff\0\0\0\x01\x03"),
        [b"\x01\x02".to_vec(), Vec::new(), b"\x03".to_vec()]
    );
    // No lengths cover it: one record.
    assert_eq!(kept(b"\x09\x01\x02"), [b"\x09\x01\x02".to_vec()]);
    assert_eq!(kept(b""), Vec::<Vec<u8>>::new());
    assert_eq!(
        kept(b"{\"a\": 1}\r\n\n{}"),
        [b"{\"a\": 1}\r".to_vec(), b"{}".to_vec()]
    );
    // A record above the limit is cut off one byte after it, in a file of any length.
    let mut long = Vec::new();
    for length in [3_000_u32, 2, 3_000] {
        long.extend_from_slice(&length.to_be_bytes());
        long.extend(std::iter::repeat_n(1, length as usize));
    }
    let lengths: Vec<usize> = kept(&long).iter().map(Vec::len).collect();
    assert_eq!(lengths, [1_001, 2, 1_001]);
    let cut = records(Encoding::Protobuf, &long[..5_000]).expect_err("cut off");
    assert_eq!(cut, "the file ends within a record");
}

#[test]
fn hostile_containers_are_errors() {
    let failed = |content: &[u8], expected: &str| {
        let error = records(Encoding::Avro, content).expect_err("refused");
        assert!(error.contains(expected), "{expected}: {error}");
    };
    let block = |schema: &str, count: i64, bytes: &[u8]| {
        let mut file = header(schema);
        avro_writer::long(&mut file, count);
        avro_writer::long(&mut file, i64::try_from(bytes.len()).expect("a length"));
        file.extend_from_slice(bytes);
        file.extend_from_slice(&[7; 16]);
        file
    };
    assert_eq!(
        records(Encoding::Avro, &block("\"string\"", 2, b"\x02a\x02b")),
        Ok(vec![b"\x02a".to_vec(), b"\x02b".to_vec()])
    );
    failed(&block("\"null\"", 1 << 60, b""), "more values than bytes");
    failed(&block("\"string\"", -1, b"\x02a"), "fewer than 0 values");
    failed(&block("\"string\"", 1, b"\x02ab"), "further bytes");
    failed(
        &block("\"string\"", 2, b"\x02a"),
        "in the Avro container: truncated",
    );
    failed(
        &block("\"string\"", 3, b"\x02a\x08b"),
        "in the Avro container",
    );
    failed(
        &block("\"nothing\"", 1, b"\x02a"),
        "the schema of the Avro container",
    );
    let mut damaged = block("\"string\"", 1, b"\x02a");
    *damaged.last_mut().expect("a byte") = 8;
    failed(&damaged, "damaged");
    let mut large = header("\"string\"");
    avro_writer::long(&mut large, 1);
    avro_writer::long(&mut large, 1 << 40);
    failed(&large, "64 MiB");
    failed(b"Obj\x01\0", "no schema");
    failed(b"Obj\x01\x02", "ends within a record");
    let refused = records(Encoding::Json, &header("\"string\"")).expect_err("refused");
    assert!(refused.contains("encoding: avro"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_file_is_read_or_refused(
        content in prop::collection::vec(any::<u8>(), 0..3_000),
        is_container in any::<bool>(),
    ) {
        let mut file = if is_container { header("\"string\"") } else { Vec::new() };
        file.extend_from_slice(&content);
        for encoding in [Encoding::Avro, Encoding::Protobuf] {
            drop(records(encoding, &file));
        }
    }
}
