//! Answer of a search endpoint: JSON bytes to results, by the pointers of the target.

use serde_json::{Map, Value};

use super::target::AnswerShape;

/// Result in an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Id of the document or chunk.
    pub id: String,
    /// Score, if the answer has one.
    pub score: Option<f64>,
    /// Document of a chunk.
    pub group: Option<String>,
    /// Attributes by name, scalars only.
    pub attributes: Map<String, Value>,
}

/// Content of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Results in their order.
    pub hits: Vec<Hit>,
    /// Number of matching documents.
    pub total: Option<u64>,
    /// True if the engine marks the answer as partial.
    pub is_partial: bool,
}

/// Answer that is not what the target describes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Answer that is not JSON, with the problem.
    #[error("the answer is not JSON: {0}")]
    NotJson(String),
    /// No list of hits.
    #[error("the answer has no list at {pointer} (hits); it begins with {beginning}")]
    NoHits {
        /// JSON pointer to the list of hits.
        pointer: String,
        /// First characters of the answer.
        beginning: String,
    },
    /// Hit without an id.
    #[error("hit {number} of the answer has no string or integer at {pointer} (id)")]
    NoId {
        /// 1-based number of the hit.
        number: usize,
        /// JSON pointer from a hit to its id.
        pointer: String,
    },
    /// Score that is no number.
    #[error("hit {number} of the answer has no number at {pointer} (score)")]
    NoScore {
        /// 1-based number of the hit.
        number: usize,
        /// JSON pointer from a hit to its score.
        pointer: String,
    },
}

/// Parses an answer. Of a longer list, the first `max_hits` hits are returned.
///
/// # Errors
/// The first part of the answer that is not as `shape` describes it.
pub fn parse(body: &[u8], shape: &AnswerShape, max_hits: usize) -> Result<Answer, AnswerError> {
    let answer: Value =
        serde_json::from_slice(body).map_err(|error| AnswerError::NotJson(error.to_string()))?;
    let no_hits = || AnswerError::NoHits {
        pointer: shape.hits.clone(),
        beginning: String::from_utf8_lossy(body).chars().take(80).collect(),
    };
    let is_empty = shape.empty.is_some_and(|it| answer.pointer(it).is_some());
    let hits = match answer.pointer(&shape.hits) {
        Some(Value::Array(hits)) => hits.as_slice(),
        None if is_empty => &[],
        Some(_) | None => return Err(no_hits()),
    };
    let hits = (1..).zip(hits).take(max_hits);
    let hits = hits.map(|(number, value)| hit(number, value, shape));
    let total = shape.total.as_ref().and_then(|it| answer.pointer(it));
    Ok(Answer {
        hits: hits.collect::<Result<_, _>>()?,
        total: total.and_then(Value::as_u64),
        is_partial: shape.partial.iter().any(|it| is_set(answer.pointer(it))),
    })
}

fn hit(number: usize, value: &Value, shape: &AnswerShape) -> Result<Hit, AnswerError> {
    let id = value.pointer(&shape.id).and_then(id_of);
    let score = match value.pointer(&shape.score) {
        None | Some(Value::Null) => None,
        Some(score) => Some(score.as_f64().ok_or_else(|| AnswerError::NoScore {
            number,
            pointer: shape.score.clone(),
        })?),
    };
    let group = shape.group.as_ref().and_then(|it| value.pointer(it));
    let attributes = shape.attributes.iter().filter_map(|(name, pointer)| {
        let value = value.pointer(pointer)?;
        let is_scalar = value.is_string() || value.is_number() || value.is_boolean();
        is_scalar.then(|| (name.clone(), value.clone()))
    });
    Ok(Hit {
        id: id.ok_or_else(|| AnswerError::NoId {
            number,
            pointer: shape.id.clone(),
        })?,
        score,
        group: group.and_then(id_of),
        attributes: attributes.collect(),
    })
}

/// An id: a string, or an integer in its decimal form.
fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::String(id) => Some(id.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        Value::Number(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

/// Returns true if a value marks an answer as partial.
fn is_set(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::String(_)) => false,
        Some(Value::Bool(flag)) => *flag,
        Some(Value::Number(number)) => number.as_f64().is_some_and(|number| number > 0.0),
        Some(Value::Array(elements)) => !elements.is_empty(),
        Some(Value::Object(_)) => true,
    }
}
