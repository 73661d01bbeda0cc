//! Descriptors of files, in the wire format of Protocol Buffers (`google/protobuf/descriptor.proto`).

use super::file::{Enum, Field, File, Message, Scalar, TypeName};
use crate::decode::binary::{Broken, MAX_DEPTH, text};
use crate::decode::wire::{Field as Wire, Fields, parts};

/// Files of a `FileDescriptorSet`.
///
/// # Errors
/// The bytes are none.
pub(super) fn files_of_set(bytes: &[u8]) -> Result<Vec<File>, Broken> {
    let files: Vec<File> = parts(bytes, 1)
        .map(|it| file(it?))
        .collect::<Result<_, _>>()?;
    if files.is_empty() {
        return Err(Broken::new("it has no file"));
    }
    Ok(files)
}

/// Presence of the values of a file or field: true if a missing value is the default of its type.
fn implicit_presence(options: &[u8], features: u32) -> Result<Option<bool>, Broken> {
    let mut found = None;
    for features in parts(options, features) {
        let mut features = Fields::of(features?);
        while let Some((number, field)) = features.next()? {
            if number == 1 {
                found = Some(field.varint(number)? == 2);
            }
        }
    }
    Ok(found)
}

/// File of a `FileDescriptorProto`.
///
/// # Errors
/// The bytes are none.
pub(super) fn file(bytes: &[u8]) -> Result<File, Broken> {
    let mut file = File::default();
    let mut is_implicit = false;
    let (mut messages, mut has_name) = (Vec::new(), false);
    let mut fields = Fields::of(bytes);
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => {
                field.bytes(number)?;
                has_name = true;
            }
            2 => text(field.bytes(number)?)?.clone_into(&mut file.package),
            4 => messages.push(field.bytes(number)?),
            5 => file.enums.push(enumeration(field.bytes(number)?)?),
            8 => {
                if let Some(found) = implicit_presence(field.bytes(number)?, 50)? {
                    is_implicit = found;
                }
            }
            12 => is_implicit |= field.bytes(number)? == b"proto3",
            _ => {}
        }
    }
    if !has_name {
        return Err(Broken::new("it has a file without a name"));
    }
    let messages = messages.into_iter().map(|it| message(it, is_implicit, 0));
    file.messages = messages.collect::<Result<_, _>>()?;
    Ok(file)
}

fn enumeration(bytes: &[u8]) -> Result<Enum, Broken> {
    let mut it = Enum::default();
    let mut fields = Fields::of(bytes);
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => text(field.bytes(number)?)?.clone_into(&mut it.name),
            2 => {
                let (mut name, mut value) = (String::new(), 0);
                let mut fields = Fields::of(field.bytes(number)?);
                while let Some((number, field)) = fields.next()? {
                    match number {
                        1 => text(field.bytes(number)?)?.clone_into(&mut name),
                        2 => value = int32(field.varint(number)?),
                        _ => {}
                    }
                }
                it.values.push((value, name));
            }
            _ => {}
        }
    }
    Ok(it)
}

/// Number of 32 bits, which is written with its sign in 64.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the upper bits repeat the sign"
)]
pub(super) fn int32(number: u64) -> i32 {
    (number as u32).cast_signed()
}

fn message(bytes: &[u8], is_implicit: bool, depth: u32) -> Result<Message, Broken> {
    if depth > MAX_DEPTH {
        return Err(Broken::new("its messages are nested too deeply"));
    }
    let mut it = Message::default();
    let mut fields = Fields::of(bytes);
    while let Some((number, wire)) = fields.next()? {
        match number {
            1 => text(wire.bytes(number)?)?.clone_into(&mut it.name),
            2 => it.fields.extend(field(wire.bytes(number)?, is_implicit)?),
            3 => {
                let nested = message(wire.bytes(number)?, is_implicit, depth + 1)?;
                it.messages.push(nested);
            }
            4 => it.enums.push(enumeration(wire.bytes(number)?)?),
            7 => {
                let mut options = Fields::of(wire.bytes(number)?);
                while let Some((number, option)) = options.next()? {
                    if number == 7 {
                        it.is_entry = option.varint(number)? != 0;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(it)
}

/// Field of a `FieldDescriptorProto`; `None` for a type that does not exist.
fn field(bytes: &[u8], mut is_implicit: bool) -> Result<Option<Field>, Broken> {
    const TYPES: [Option<&str>; 19] = [
        None,
        Some("double"),
        Some("float"),
        Some("int64"),
        Some("uint64"),
        Some("int32"),
        Some("fixed64"),
        Some("fixed32"),
        Some("bool"),
        Some("string"),
        None,
        None,
        Some("bytes"),
        Some("uint32"),
        None,
        Some("sfixed32"),
        Some("sfixed64"),
        Some("sint32"),
        Some("sint64"),
    ];
    let (mut name, mut type_name) = (String::new(), None);
    let (mut of, mut field_number, mut label) = (0, 0, 0);
    let mut has_presence = false;
    let mut fields = Fields::of(bytes);
    while let Some((number, wire)) = fields.next()? {
        match (number, wire) {
            (1, _) => text(wire.bytes(number)?)?.clone_into(&mut name),
            (3, _) => field_number = wire.varint(number)?,
            (4, _) => label = wire.varint(number)?,
            (5, _) => of = wire.varint(number)?,
            (6, _) => type_name = Some(text(wire.bytes(number)?)?.to_owned()),
            (8, _) => {
                if let Some(found) = implicit_presence(wire.bytes(number)?, 21)? {
                    is_implicit = found;
                }
            }
            // A member of a oneof, which an optional field of proto3 is as well.
            (9, _) | (17, Wire::Varint(1)) => has_presence = true,
            _ => {}
        }
    }
    let scalar = usize::try_from(of).ok().and_then(|of| *TYPES.get(of)?);
    let of = match (scalar.and_then(Scalar::named), type_name, of) {
        (Some(scalar), _, _) => TypeName::Scalar(scalar),
        (None, _, 10) => TypeName::Group,
        (None, Some(name), 11 | 14) => TypeName::Named(name),
        _ => return Ok(None),
    };
    Ok(Some(Field {
        name,
        number: u32::try_from(field_number).map_err(|_| Broken::new("it has an invalid number"))?,
        of,
        is_repeated: label == 3,
        is_implicit: is_implicit && !has_presence,
    }))
}
