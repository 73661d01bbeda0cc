//! Parsing Canonical Form of a schema and its fingerprint, which single objects state.

use std::fmt::Write as _;

use serde_json::Value;

use super::schema::{full_name, name_of, namespace_of};

/// Fingerprint of the empty text, and polynomial of CRC-64-AVRO.
const EMPTY: u64 = 0xc15d_213a_a4d7_a795;

/// Fingerprint of a valid schema.
pub(super) fn fingerprint(schema: &Value) -> u64 {
    let mut form = String::new();
    write(&mut form, schema, "");
    let mut fingerprint = EMPTY;
    for byte in form.bytes() {
        let mut entry = (fingerprint ^ u64::from(byte)) & 0xff;
        for _ in 0..8 {
            entry = (entry >> 1) ^ (EMPTY & (entry & 1).wrapping_neg());
        }
        fingerprint = (fingerprint >> 8) ^ entry;
    }
    fingerprint
}

const PRIMITIVES: [&str; 8] = [
    "null", "boolean", "int", "long", "float", "double", "bytes", "string",
];

fn quoted(form: &mut String, text: &str) {
    form.push_str(&Value::from(text).to_string());
}

fn list(form: &mut String, elements: &Value, mut element: impl FnMut(&mut String, &Value)) {
    form.push('[');
    for (index, it) in elements.as_array().into_iter().flatten().enumerate() {
        if index > 0 {
            form.push(',');
        }
        element(form, it);
    }
    form.push(']');
}

fn write(form: &mut String, schema: &Value, namespace: &str) {
    match schema {
        Value::String(name) if PRIMITIVES.contains(&&**name) => quoted(form, name),
        Value::String(name) => quoted(form, &full_name(name, namespace)),
        Value::Array(_) => list(form, schema, |form, it| write(form, it, namespace)),
        Value::Object(written) => {
            let of = &schema["type"];
            match of.as_str() {
                Some("array") => {
                    form.push_str("{\"type\":\"array\",\"items\":");
                    write(form, &schema["items"], namespace);
                    form.push('}');
                }
                Some("map") => {
                    form.push_str("{\"type\":\"map\",\"values\":");
                    write(form, &schema["values"], namespace);
                    form.push('}');
                }
                Some(kind @ ("record" | "error" | "enum" | "fixed")) => {
                    let name = name_of(written, namespace).unwrap_or_default();
                    form.push_str("{\"name\":");
                    quoted(form, &name);
                    form.push_str(",\"type\":");
                    quoted(form, kind);
                    match kind {
                        "enum" => {
                            form.push_str(",\"symbols\":");
                            list(form, &schema["symbols"], |form, it| {
                                quoted(form, it.as_str().unwrap_or_default());
                            });
                        }
                        "fixed" => {
                            let size = schema["size"].as_u64().unwrap_or_default();
                            // A string takes any text.
                            let _written = write!(form, ",\"size\":{size}");
                        }
                        _ => {
                            form.push_str(",\"fields\":");
                            list(form, &schema["fields"], |form, field| {
                                form.push_str("{\"name\":");
                                quoted(form, field["name"].as_str().unwrap_or_default());
                                form.push_str(",\"type\":");
                                write(form, &field["type"], namespace_of(&name));
                                form.push('}');
                            });
                        }
                    }
                    form.push('}');
                }
                _ => write(form, of, namespace),
            }
        }
        _ => {}
    }
}
