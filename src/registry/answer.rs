//! Answers of a registry: JSON, and the schemas in it.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use rankgauge_core::decode::schema::Schema;

/// Maximum number of schemas that a schema refers to, directly or not.
const MAX_REFERENCES: usize = 200;

/// Maximum number of bytes of a schema with all that it refers to.
const MAX_BYTES: usize = 32 << 20;

/// Failure to receive a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The registry has no schema of this id.
    #[error("the registry has no such schema")]
    Missing,
    /// The schema cannot be used: the problem, as the end of a sentence.
    #[error("the schema {0}")]
    Invalid(String),
    /// The registry does not answer, or not with a schema. A later request may succeed.
    #[error("{0}")]
    Unavailable(String),
}

/// Reference to a schema by subject and version.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Reference {
    /// Subject of the schema in the registry.
    pub subject: String,
    /// Version of the schema within its subject.
    pub version: i64,
}

#[derive(Deserialize)]
struct Answer {
    schema: String,
    #[serde(rename = "schemaType")]
    kind: Option<String>,
    references: Option<Vec<Reference>>,
}

fn parse(body: &[u8]) -> Result<Answer, FetchError> {
    serde_json::from_slice(body).map_err(|problem| {
        FetchError::Unavailable(format!(
            "the answer is none of a schema registry: {problem}"
        ))
    })
}

/// Builds the schema of an answer. `request` returns the answer for a reference.
///
/// # Errors
/// [`FetchError`].
pub fn schema_of_answers(
    main: &[u8],
    request: &mut dyn FnMut(&Reference) -> Result<Vec<u8>, FetchError>,
) -> Result<Schema, FetchError> {
    let main = parse(main)?;
    let mut followed = Referenced {
        request,
        seen: BTreeSet::new(),
        schemas: Vec::new(),
        bytes: main.schema.len(),
    };
    followed.add(main.references.as_deref().unwrap_or_default())?;
    let schemas = followed.schemas;
    let built = match main.kind.as_deref() {
        None | Some("AVRO") => {
            let references: Vec<&str> = schemas.iter().map(String::as_str).collect();
            Schema::avro(&main.schema, &references, None)
        }
        Some("PROTOBUF") => {
            let files: Vec<Vec<u8>> = schemas.iter().map(|schema| file(schema)).collect();
            let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
            Schema::protobuf(&file(&main.schema), &files)
        }
        Some("JSON") => Err("is JSON Schema; set encoding: json".to_owned()),
        Some(other) => {
            let other: String = other.chars().take(50).collect();
            Err(format!("has the type {other}; AVRO and PROTOBUF are read"))
        }
    };
    built.map_err(FetchError::Invalid)
}

/// Content of a file of Protocol Buffers: clients register its text, or its descriptor in Base64.
fn file(schema: &str) -> Vec<u8> {
    let decoded = BASE64_STANDARD.decode(schema.trim());
    decoded.unwrap_or_else(|_| schema.as_bytes().to_vec())
}

struct Referenced<'r> {
    request: &'r mut dyn FnMut(&Reference) -> Result<Vec<u8>, FetchError>,
    seen: BTreeSet<(String, i64)>,
    /// Schemas, each after those that it refers to.
    schemas: Vec<String>,
    bytes: usize,
}

impl Referenced<'_> {
    /// Adds the schemas of references, and those that they refer to. Recursion ends, because each is
    /// followed once.
    fn add(&mut self, references: &[Reference]) -> Result<(), FetchError> {
        for reference in references {
            let key = (reference.subject.clone(), reference.version);
            if !self.seen.insert(key) {
                continue;
            }
            if self.seen.len() > MAX_REFERENCES {
                let text = format!("refers to more than {MAX_REFERENCES} schemas");
                return Err(FetchError::Invalid(text));
            }
            let answer = parse(&(self.request)(reference)?)?;
            self.bytes += answer.schema.len();
            if self.bytes > MAX_BYTES {
                let text = format!("has more than {MAX_BYTES} bytes with its references");
                return Err(FetchError::Invalid(text));
            }
            self.add(answer.references.as_deref().unwrap_or_default())?;
            self.schemas.push(answer.schema);
        }
        Ok(())
    }
}
