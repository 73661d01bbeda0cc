//! Protocol Buffers: schemas, and a reader of messages.
//!
//! A schema is a descriptor or the text of a `.proto` file. Both become the same [`file::File`], which
//! `schema` links.

mod descriptor;
mod file;
mod proto_text;
mod read;
mod schema;

use smallvec::SmallVec;

use super::binary::Broken;
use super::wire::Fields;

pub(super) use read::read;
pub(super) use schema::Schema;

/// Maximum depth of a message within others, in the framing of a schema registry.
const MAX_PATH: u64 = 64;

/// Path of the message in the framing of a schema registry, and the message. The path `[0]` is written
/// as its length alone: 0.
///
/// # Errors
/// The bytes do not begin with a path.
pub(super) fn message_path(content: &[u8]) -> Result<(SmallVec<[usize; 4]>, &[u8]), Broken> {
    let mut bytes = Fields::of(content);
    let mut number = || {
        // Zigzag encoding of a number that is not below 0.
        let number = bytes.varint().ok().filter(|number| number & 1 == 0);
        number
            .map(|number| number >> 1)
            .filter(|number| *number <= 100_000)
    };
    let invalid = Broken::new("no indexes of the message follow the id of the schema");
    let mut path = SmallVec::new();
    match number() {
        Some(0) => path.push(0),
        Some(length) if length <= MAX_PATH => {
            for _ in 0..length {
                let index = number().and_then(|index| usize::try_from(index).ok());
                path.push(index.ok_or_else(|| invalid.clone())?);
            }
        }
        _ => return Err(invalid),
    }
    Ok((path, bytes.rest()))
}
