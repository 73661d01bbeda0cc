//! Writer of Avro, for tests.

use serde_json::Value;

/// Writes a number.
pub(crate) fn long(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    while rest >= 0x80 {
        bytes.push(u8::try_from(rest & 0x7f).expect("seven bits") | 0x80);
        rest >>= 7;
    }
    bytes.push(u8::try_from(rest).expect("seven bits"));
}

fn length(bytes: &mut Vec<u8>, length: usize) {
    long(bytes, i64::try_from(length).expect("a length"));
}

fn blob(bytes: &mut Vec<u8>, content: &[u8]) {
    length(bytes, content.len());
    bytes.extend_from_slice(content);
}

/// Writes a JSON value in Avro. `has_sizes` selects blocks that state their size.
pub(crate) fn write(bytes: &mut Vec<u8>, schema: &Value, value: &Value, has_sizes: bool) {
    let name = schema.as_str().or(schema["type"].as_str());
    match (schema, name) {
        (Value::Array(branches), _) => {
            let name = |branch: &Value| {
                let of = branch.as_str().or(branch["type"].as_str());
                of.unwrap_or_default().to_owned()
            };
            let wanted = |branch: &Value| match value {
                Value::Null => name(branch) == "null",
                _ => name(branch) != "null",
            };
            let branch = branches.iter().position(wanted).expect("a branch");
            length(bytes, branch);
            write(bytes, &branches[branch], value, has_sizes);
        }
        (_, Some("null")) => {}
        (_, Some("boolean")) => bytes.push(u8::from(value.as_bool().unwrap_or(false))),
        (_, Some("int" | "long")) => long(bytes, value.as_i64().unwrap_or(0)),
        (_, Some("double")) => {
            bytes.extend_from_slice(&value.as_f64().unwrap_or(0.0).to_le_bytes());
        }
        (_, Some("string")) => blob(bytes, value.as_str().unwrap_or_default().as_bytes()),
        (_, Some("enum")) => {
            let symbols = schema["symbols"].as_array().expect("symbols");
            let symbol = symbols.iter().position(|it| it == value);
            length(bytes, symbol.expect("a symbol"));
        }
        (_, Some("record")) => {
            for field in schema["fields"].as_array().expect("fields") {
                let name = field["name"].as_str().expect("a name");
                write(bytes, &field["type"], &value[name], has_sizes);
            }
        }
        (_, Some("array" | "map")) => {
            let mut block = Vec::new();
            let entries: Vec<(Option<&String>, &Value)> = match value {
                Value::Object(entries) => entries.iter().map(|(key, it)| (Some(key), it)).collect(),
                Value::Array(elements) => elements.iter().map(|it| (None, it)).collect(),
                _ => Vec::new(),
            };
            let (items, values) = (&schema["items"], &schema["values"]);
            for (key, it) in &entries {
                if let Some(key) = key {
                    blob(&mut block, key.as_bytes());
                }
                let of = if items.is_null() { values } else { items };
                write(&mut block, of, it, has_sizes);
            }
            if !entries.is_empty() {
                let count = i64::try_from(entries.len()).expect("a count");
                if has_sizes {
                    long(bytes, -count);
                    length(bytes, block.len());
                } else {
                    long(bytes, count);
                }
                bytes.extend_from_slice(&block);
            }
            long(bytes, 0);
        }
        (_, None) => write(bytes, &schema["type"], value, has_sizes),
        (_, Some(other)) => panic!("the encoder has no {other}"),
    }
}
