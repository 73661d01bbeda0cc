//! Avro: schemas, and a reader of values that have no container.
//!
//! The writer's schema alone describes a value. A field that the schema does not have is absent.

mod canonical;
mod read;
mod schema;

pub(super) use read::{check, length, read};
pub(super) use schema::Schema;
