//! Answer that a model gave from the results of a search.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::text::{Id, Text};

/// Answer to the query of a search.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Answer<'a> {
    /// Id of the answer.
    #[serde(borrow, default)]
    pub id: Option<Id<'a>>,
    /// Text that the user received.
    #[serde(borrow, default)]
    pub text: Option<Text<'a>>,
    /// Documents that the answer cites, in its order.
    #[serde(borrow, default)]
    pub citations: Option<Vec<Citation<'a>>>,
    /// True if the model declined to answer.
    #[serde(default)]
    pub refused: Option<bool>,
    /// Name of the model.
    #[serde(borrow, default)]
    pub model: Option<Text<'a>>,
}

impl Answer<'_> {
    /// Returns true if the model declined to answer.
    pub fn is_refusal(&self) -> bool {
        self.refused == Some(true)
    }
}

/// Document that an answer cites: an id, or an object with the id and the cited span, which no measure reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Citation<'a> {
    /// Id of the document or chunk.
    pub id: Id<'a>,
}

/// Citation as an object.
#[derive(Deserialize)]
struct CitationWire<'a> {
    #[serde(borrow)]
    id: Id<'a>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Citation<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CitationVisitor;

        impl<'de> Visitor<'de> for CitationVisitor {
            type Value = Id<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an id, or an object with `id`")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Id(text.into()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Id(text.to_owned().into()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Id(number.to_string().into()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Id(number.to_string().into()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let wire = CitationWire::deserialize(MapAccessDeserializer::new(map))?;
                Ok(wire.id)
            }
        }

        let id = deserializer.deserialize_any(CitationVisitor)?;
        Ok(Self { id })
    }
}
