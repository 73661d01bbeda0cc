//! Files of records in Avro and Protobuf give what native events give.

use std::fs;
use std::path::Path;

use prost::Message as _;
use serde_json::{Value, json};

use super::{CLICK, Click, FORMATS, HIT, SEARCH, Timestamp, answer, avro_writer, twins};
use crate::harness::command::{printed, rankgauge, stderr};
use crate::mappings::Records;
use crate::probe::server::{Reply, Server};

const GOLD: &str = r#"{"version": "1", "queries": [
    {"query_id": "Q1", "query_text": "zoning", "ground_truth": {"a": 2, "b": 1}}]}"#;

#[track_caller]
fn output(folder: &Path, arguments: &str) -> String {
    printed(&rankgauge(folder, arguments))
}

/// Counters and scores of a replay. The number of records differs if one of them is ignored.
fn replayed(folder: &Path, configuration: &str, searches: &str, feedback: &str) -> Vec<String> {
    let arguments = format!(
        "replay --config {configuration} --search {searches} --feedback {feedback} --format text"
    );
    let output = output(folder, &arguments);
    let wanted = |line: &&str| {
        let is_counted = line.contains("_total{") || line.starts_with("rankgauge_score");
        is_counted && !line.starts_with("rankgauge_records_total")
    };
    output.lines().filter(wanted).map(str::to_owned).collect()
}

/// Lines of `tail`, without the name of the file.
fn tailed(folder: &Path, configuration: &str, file: &str) -> Vec<Value> {
    let arguments = format!("tail --config {configuration} --search {file} --format json");
    let lines = output(folder, &arguments);
    let lines = lines.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        line["source"] = Value::Null;
        line
    });
    lines.collect()
}

/// Scores of a run: columns of trec_eval.
fn evaluated(folder: &Path, configuration: &str, file: &str) -> String {
    let arguments = format!(
        "evaluate --config {configuration} --run {file} --measures RR,nDCG@10 --trec --per-query"
    );
    output(folder, &arguments)
}

/// Values with their lengths: four bytes each, or variable ones.
fn with_lengths(records: &[Vec<u8>], is_fixed: bool) -> Vec<u8> {
    let mut file = Vec::new();
    for record in records {
        if is_fixed {
            let length = u32::try_from(record.len()).expect("a length");
            file.extend_from_slice(&length.to_be_bytes());
        } else {
            prost::encoding::encode_varint(record.len() as u64, &mut file);
        }
        file.extend_from_slice(record);
    }
    file
}

/// Native configuration and events in a folder, with the searches and clicks in the given configuration.
fn folder(configuration: &str, native: &Records) -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let put = |name: &str, content: &[u8]| {
        fs::write(folder.path().join(name), content).expect("a file");
    };
    let common = "gold: {paths: [gold.json]}\nmeasures: [RR, nDCG@10, CTR]\n";
    put("gold.json", GOLD.as_bytes());
    put("native.yaml", common.as_bytes());
    put("own.yaml", format!("{common}{configuration}").as_bytes());
    for (name, records) in ["native-search", "native-feedback"].iter().zip(native) {
        let mut lines = Vec::new();
        for (_, record) in records {
            let mut event: Value = serde_json::from_slice(record).expect("JSON");
            // The key is absent in files.
            event
                .as_object_mut()
                .expect("an object")
                .remove("session_id");
            lines.extend_from_slice(event.to_string().as_bytes());
            lines.push(b'\n');
            if event["query_id"] == "s1" && *name == "native-search" {
                put("native-one.jsonl", event.to_string().as_bytes());
            }
        }
        put(&format!("{name}.jsonl"), &lines);
    }
    folder
}

/// Compares what commands show of a file with what they show of native events; `one` has the second search
/// alone.
fn assert_equal(folder: &Path, searches: &str, one: &str, feedback: &str) {
    let native = [
        "native.yaml",
        "native-search.jsonl",
        "native-feedback.jsonl",
    ];
    let expected = replayed(folder, native[0], native[1], native[2]);
    assert!(expected.len() > 20, "{expected:?}");
    assert_eq!(
        replayed(folder, "own.yaml", searches, feedback),
        expected,
        "{searches}"
    );
    let expected = tailed(folder, native[0], native[1]);
    assert!(
        expected.iter().any(|line| line["outcome"] == "judged"),
        "{expected:?}"
    );
    assert_eq!(tailed(folder, "own.yaml", searches), expected, "{searches}");
    let scores = |text: String| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with("runid"));
        lines.map(str::to_owned).collect()
    };
    let expected = scores(evaluated(folder, native[0], "native-one.jsonl"));
    assert!(
        expected.iter().any(|line| line.contains("0.5000")),
        "{expected:?}"
    );
    assert_eq!(
        scores(evaluated(folder, "own.yaml", one)),
        expected,
        "{one}"
    );
}

#[test]
fn files_of_framed_records_give_what_native_events_give() {
    let server = Server::start(|request, _| answer(&request.line));
    let formats = FORMATS.replace(", session_id: key", "");
    let registry = |address: &str| format!("{formats}registry: {{url: 'http://{address}'}}\n");
    let (native, records) = twins();
    let folder = folder(&registry(&server.address), &native);
    let records = records.map(|records| {
        let payloads = records.into_iter().map(|(_, record)| record);
        payloads.collect::<Vec<_>>()
    });
    // A file of one record.
    fs::write(folder.path().join("one"), &records[0][1]).expect("a file");
    for (name, is_fixed) in [("fixed", true), ("variable", false)] {
        for (kind, records) in ["search", "feedback"].iter().zip(&records) {
            let path = folder.path().join(format!("{kind}.{name}"));
            fs::write(path, with_lengths(records, is_fixed)).expect("a file");
        }
        let file = |kind: &str| format!("{kind}.{name}");
        assert_equal(folder.path(), &file("search"), "one", &file("feedback"));
    }
    let silent = Server::start(|_, _| Reply::status(503));
    fs::write(folder.path().join("own.yaml"), registry(&silent.address)).expect("a file");
    let replay = "replay --config own.yaml --search search.fixed --feedback feedback.fixed";
    let output = rankgauge(folder.path(), replay);
    let error = stderr(&output);
    assert!(!output.status.success(), "{error}");
    let expected = "the schema registry does not answer";
    assert!(error.contains(expected), "{error}");
}

/// Avro container of values in two blocks.
fn container(codec: &str, schema: &Value, values: &[Value]) -> Vec<u8> {
    let mut file = b"Obj\x01".to_vec();
    let header = json!({"avro.schema": schema.to_string(), "avro.codec": codec});
    // Values of a map of bytes are written as texts.
    let map = json!({"type": "map", "values": "string"});
    avro_writer::write(&mut file, &map, &header, false);
    file.extend_from_slice(&[7; 16]);
    for values in values.chunks(values.len().div_ceil(2).max(1)) {
        let mut block = Vec::new();
        for value in values {
            avro_writer::write(&mut block, schema, value, false);
        }
        let block = match codec {
            "deflate" => {
                let level = flate2::Compression::default();
                let mut encoder = flate2::read::DeflateEncoder::new(&*block, level);
                let mut block = Vec::new();
                std::io::Read::read_to_end(&mut encoder, &mut block).expect("in memory");
                block
            }
            "zstandard" => zstd::encode_all(&*block, 1).expect("in memory"),
            _ => block,
        };
        avro_writer::long(&mut file, i64::try_from(values.len()).expect("a count"));
        avro_writer::long(&mut file, i64::try_from(block.len()).expect("a length"));
        file.extend_from_slice(&block);
        file.extend_from_slice(&[7; 16]);
    }
    file
}

#[test]
fn containers_and_messages_with_schema_files_give_what_native_events_give() {
    let configuration = FORMATS
        .replace(", session_id: key", "")
        .replace(
            "    framing: confluent\n    message: shop.Search\n",
            "    schema: search.avsc\n",
        )
        .replace(
            "    framing: confluent\n    compression: zstd\n",
            "    schema: click.proto\n",
        );
    let folder = folder(&configuration, &twins().0);
    let put = |name: &str, content: &[u8]| {
        fs::write(folder.path().join(name), content).expect("a file");
    };
    let schema: Value = serde_json::from_str(&SEARCH.replace("\"Hit\"", HIT)).expect("a schema");
    put("search.avsc", schema.to_string().as_bytes());
    put("click.proto", CLICK.as_bytes());
    let events = |name: &str| -> Vec<Value> {
        let text = fs::read_to_string(folder.path().join(name)).expect("events");
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().expect("JSON")
    };
    let searches: Vec<Value> = events("native-search.jsonl")
        .into_iter()
        .map(|it| {
            json!({"id": it["query_id"], "at": it["ts"], "text": it["query"], "hits": it["results"]})
        })
        .collect();
    let clicks: Vec<Vec<u8>> = events("native-feedback.jsonl")
        .into_iter()
        .map(|it| {
            let text = |name: &str| it[name].as_str().unwrap_or_default().to_owned();
            let ts = it["ts"].as_i64().expect("a time");
            let nanos = ts.rem_euclid(1_000) * 1_000_000;
            let at = Timestamp {
                seconds: ts.div_euclid(1_000),
                nanos: i32::try_from(nanos).expect("nanoseconds"),
            };
            let place = it["position"].as_i64().expect("a position") - 1;
            let click = Click {
                id: text("event_id"),
                search: text("query_id"),
                at: Some(at),
                place: i32::try_from(place).expect("a place"),
            };
            click.encode_to_vec()
        })
        .collect();
    put("clicks.pb", &with_lengths(&clicks, false));
    for codec in ["null", "deflate", "zstandard"] {
        let name = format!("{codec}.avro");
        put(&name, &container(codec, &schema, &searches));
        put("one.avro", &container(codec, &schema, &searches[1..2]));
        assert_equal(folder.path(), &name, "one.avro", "clicks.pb");
    }
    let values: Vec<Vec<u8>> = searches
        .iter()
        .map(|search| {
            let mut value = Vec::new();
            avro_writer::write(&mut value, &schema, search, true);
            value
        })
        .collect();
    put("values", &with_lengths(&values, true));
    put("one.value", &values[1]);
    assert_equal(folder.path(), "values", "one.value", "clicks.pb");
    // The same as lines of JSON.
    let lines: Vec<String> = searches.iter().map(Value::to_string).collect();
    put("lines.jsonl", lines.join("\n").as_bytes());
    put("one.json", lines[1].as_bytes());
    assert_equal(folder.path(), "lines.jsonl", "one.json", "clicks.pb");

    let failed = |configuration: &str, file: &str, expected: &str| {
        let arguments = format!("replay --config {configuration} --search {file}");
        let output = rankgauge(folder.path(), &arguments);
        let error = stderr(&output);
        assert!(
            !output.status.success() && error.contains(expected),
            "{error}"
        );
    };
    failed(
        "native.yaml",
        "null.avro",
        "null.avro: an Avro container file; the format of the topic",
    );
    put("snappy.avro", &container("snappy", &schema, &searches));
    failed(
        "own.yaml",
        "snappy.avro",
        "the codec snappy; write it with null, deflate or zstandard",
    );
    put(
        "damaged.avro",
        &container("null", &schema, &searches)[..900],
    );
    failed("own.yaml", "damaged.avro", "the file ends within a record");
}
