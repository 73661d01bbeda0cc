//! Records in a file: lines, or for encodings that are no text an Avro container, or values with their
//! lengths.
//!
//! The content determines the form. Values are read as they are in a topic, with the framing and compression
//! of their format; those of an Avro container have the schema of the file and neither.

use std::io::{self, BufRead, Cursor, ErrorKind, Read};
use std::sync::Arc;

use super::mapped::Mapped;
use super::schema::Schema;
use super::{Format, Formats};
use crate::event::Kind;
use crate::text;

const CONTAINER: &[u8] = b"Obj\x01";

/// Number of bytes of a synchronisation marker.
const MARKER_BYTES: usize = 16;

/// Maximum number of bytes of the schema and of a block of an Avro container.
const MAX_BLOCK_BYTES: usize = 64 << 20;

/// Maximum number of entries in the header of an Avro container.
const MAX_ENTRIES: u64 = 1_000;

/// Number of bytes by which text is recognised.
const TEXT_BYTES: usize = 8_192;

/// Records of a file, in their order.
pub struct RecordFile {
    reader: Box<dyn BufRead + Send>,
    form: Form,
    formats: Formats,
    limit: usize,
    number: i64,
}

enum Form {
    Lines,
    Lengths(Length),
    /// The whole file is a record.
    Whole,
    Container(Box<Container>),
}

/// Length before each value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// Four bytes, the most significant first: `kcat -f '%R%s'`, file exporter of OpenTelemetry.
    Fixed,
    /// Variable-length integer: `writeDelimitedTo` of Protocol Buffers.
    Varint,
}

/// Avro container whose header is read.
struct Container {
    schema: Arc<Schema>,
    codec: Codec,
    marker: [u8; MARKER_BYTES],
    /// Decompressed block.
    block: Vec<u8>,
    /// Number of bytes of the block that are read.
    used: usize,
    /// Number of values of the block that are left.
    left: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Codec {
    Null,
    Deflate,
    Zstandard,
}

fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, text.into())
}

impl RecordFile {
    /// Records of a topic of `kind` in a file. At most `limit` bytes of a record are read, and one more.
    ///
    /// # Errors
    /// The file cannot be read, or is of a form that the format does not have.
    pub fn open(
        mut reader: impl BufRead + Send + 'static,
        kind: Kind,
        formats: &Formats,
        limit: usize,
    ) -> io::Result<Self> {
        let lines = |reader| Self {
            reader,
            form: Form::Lines,
            formats: formats.of_lines(),
            limit,
            number: 0,
        };
        let start = reader.fill_buf()?;
        let is_container = start.starts_with(CONTAINER);
        if is_container && !formats.is_avro(kind) {
            return Err(invalid(
                "an Avro container file; the format of the topic has to be one of `formats` with \
                 encoding: avro",
            ));
        }
        if !formats.is_binary(kind) || is_text(start) {
            let mark = start.len() - text::without_mark(start).len();
            reader.consume(mark);
            return Ok(lines(Box::new(reader)));
        }
        if is_container {
            let container = Container::open(&mut reader)?;
            let schema = Arc::clone(&container.schema);
            return Ok(Self {
                form: Form::Container(Box::new(container)),
                formats: formats.of_schema(&schema),
                ..lines(Box::new(reader))
            });
        }
        // A record is within its limit; whether the file is one shows its end.
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(6);
        let mut head = Vec::new();
        reader.by_ref().take(most).read_to_end(&mut head)?;
        let form = if head.len() as u64 == most {
            Form::Lengths(match head.first() {
                Some(0) => Length::Fixed,
                _ => Length::Varint,
            })
        } else {
            let mut lengths = [Length::Fixed, Length::Varint].into_iter();
            lengths
                .find(|length| length.covers(&head))
                .map_or(Form::Whole, Form::Lengths)
        };
        Ok(Self {
            form,
            formats: formats.clone(),
            ..lines(Box::new(Cursor::new(head).chain(reader)))
        })
    }

    /// Formats of the records, as they are in the file.
    pub fn formats(&self) -> &Formats {
        &self.formats
    }

    /// Returns true if the records are lines of text.
    pub fn is_lines(&self) -> bool {
        matches!(self.form, Form::Lines)
    }

    /// Replaces `record` by the next record that is no empty line. Returns its number, from 1; `None` at the
    /// end.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn next(&mut self, record: &mut Vec<u8>) -> io::Result<Option<i64>> {
        loop {
            record.clear();
            let (reader, limit) = (&mut self.reader, self.limit + 1);
            let is_read = match &mut self.form {
                Form::Lines => read_line(reader, record, limit)?,
                Form::Whole if self.number > 0 => false,
                Form::Whole => {
                    let most = u64::try_from(limit).unwrap_or(u64::MAX);
                    reader.take(most).read_to_end(record)? > 0
                }
                Form::Lengths(length) => length.read(reader, record, limit)?,
                Form::Container(container) => container.read(reader, record)?,
            };
            if !is_read {
                return Ok(None);
            }
            self.number += 1;
            if !(record.is_empty() && self.is_lines()) {
                return Ok(Some(self.number));
            }
        }
    }
}

/// Returns true if bytes are the beginning of a text.
fn is_text(start: &[u8]) -> bool {
    let start = &start[..start.len().min(TEXT_BYTES)];
    let is_utf8 = match std::str::from_utf8(start) {
        Ok(_) => true,
        // A character can be cut off at the end.
        Err(error) => error.error_len().is_none(),
    };
    let is_printed = |byte: &u8| *byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c);
    is_utf8 && start.iter().all(is_printed)
}

/// Reads up to a line feed and keeps at most `limit` bytes. Returns false at the end of the file.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>, limit: usize) -> io::Result<bool> {
    let mut any = false;
    loop {
        let buffer = match reader.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = memchr::memchr(b'\n', buffer);
        let part = &buffer[..end.unwrap_or(buffer.len())];
        let keep = part.len().min(limit.saturating_sub(line.len()));
        line.extend_from_slice(&part[..keep]);
        let used = end.map_or(buffer.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// Reads bytes of a length that the file states, at most `limit` of them; the others are skipped.
fn read_bytes(
    reader: &mut impl BufRead,
    into: &mut Vec<u8>,
    length: u64,
    limit: usize,
) -> io::Result<()> {
    let kept = length.min(u64::try_from(limit).unwrap_or(u64::MAX));
    let read = reader.by_ref().take(kept).read_to_end(into)?;
    let mut rest = reader.by_ref().take(length - kept);
    let skipped = io::copy(&mut rest, &mut io::sink())?;
    if u64::try_from(read).unwrap_or(u64::MAX) + skipped < length {
        return Err(cut_off());
    }
    Ok(())
}

fn cut_off() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the file ends within a record")
}

fn read_array<const N: usize>(reader: &mut impl BufRead) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    match reader.read_exact(&mut bytes) {
        Err(problem) if problem.kind() == ErrorKind::UnexpectedEof => Err(cut_off()),
        read => read.map(|()| bytes),
    }
}

/// Variable-length integer; `None` at the end of the file.
fn read_varint(reader: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        if shift == 0 && reader.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let [byte] = read_array(reader)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(Some(number));
        }
    }
    Err(invalid("a length of more than 64 bits"))
}

impl Length {
    /// Reads the length of the next value; `None` at the end of the file.
    fn next(self, reader: &mut impl BufRead) -> io::Result<Option<u64>> {
        match self {
            Self::Varint => read_varint(reader),
            Self::Fixed if reader.fill_buf()?.is_empty() => Ok(None),
            Self::Fixed => {
                let length = u32::from_be_bytes(read_array(reader)?);
                // kcat writes -1 for a record without a value.
                Ok(Some(if length == u32::MAX { 0 } else { length.into() }))
            }
        }
    }

    /// Returns true if the values have exactly the bytes of a file.
    fn covers(self, mut bytes: &[u8]) -> bool {
        loop {
            match self.next(&mut bytes) {
                Ok(None) => return true,
                Ok(Some(length)) => match usize::try_from(length) {
                    Ok(length) if length <= bytes.len() => bytes = &bytes[length..],
                    _ => return false,
                },
                Err(_) => return false,
            }
        }
    }

    fn read(
        self,
        reader: &mut impl BufRead,
        record: &mut Vec<u8>,
        limit: usize,
    ) -> io::Result<bool> {
        let Some(length) = self.next(reader)? else {
            return Ok(false);
        };
        read_bytes(reader, record, length, limit)?;
        Ok(true)
    }
}

impl Container {
    /// Reads the header.
    fn open(reader: &mut impl BufRead) -> io::Result<Self> {
        let [_, _, _, _] = read_array(reader)?;
        let (mut schema, mut codec) = (None, Codec::Null);
        let mut left = MAX_ENTRIES;
        loop {
            let count = read_long(reader)?;
            if count == 0 {
                break;
            }
            if count < 0 {
                // The size of the block.
                read_long(reader)?;
            }
            for _ in 0..count.unsigned_abs() {
                left = left
                    .checked_sub(1)
                    .ok_or_else(|| invalid("the header of the Avro container is too large"))?;
                let (name, value) = (read_blob(reader)?, read_blob(reader)?);
                match &*name {
                    b"avro.schema" => schema = Some(value),
                    b"avro.codec" => codec = Codec::named(&value)?,
                    _ => {}
                }
            }
        }
        let schema = schema.ok_or_else(|| invalid("the Avro container has no schema"))?;
        let schema = std::str::from_utf8(&schema)
            .map_err(|_| invalid("the schema of the Avro container is not UTF-8"))?;
        let schema = Schema::avro(schema, &[], None)
            .map_err(|problem| invalid(format!("the schema of the Avro container {problem}")))?;
        Ok(Self {
            schema: Arc::new(schema),
            codec,
            marker: read_array(reader)?,
            block: Vec::new(),
            used: 0,
            left: 0,
        })
    }

    /// Reads the next value. Returns false at the end of the file.
    fn read(&mut self, reader: &mut impl BufRead, record: &mut Vec<u8>) -> io::Result<bool> {
        while self.left == 0 {
            if reader.fill_buf()?.is_empty() {
                return Ok(false);
            }
            self.next_block(reader)?;
        }
        let rest = &self.block[self.used..];
        let length = self
            .schema
            .value_bytes(rest)
            .map_err(|problem| invalid(format!("in the Avro container: {problem}")))?;
        record.extend_from_slice(&rest[..length]);
        self.used += length;
        self.left -= 1;
        if self.left == 0 && self.used < self.block.len() {
            return Err(invalid("a block of the Avro container has further bytes"));
        }
        Ok(true)
    }

    fn next_block(&mut self, reader: &mut impl BufRead) -> io::Result<()> {
        let count = u64::try_from(read_long(reader)?).ok();
        let count = count.ok_or_else(|| invalid("a block of fewer than 0 values"))?;
        let bytes = read_blob(reader)?;
        let most = u64::try_from(MAX_BLOCK_BYTES).unwrap_or(u64::MAX);
        let mut block = Vec::new();
        match self.codec {
            Codec::Null => block = bytes,
            Codec::Deflate => {
                let decoder = flate2::read::DeflateDecoder::new(&*bytes);
                decoder.take(most).read_to_end(&mut block)?;
            }
            Codec::Zstandard => {
                let decoder = zstd::stream::read::Decoder::new(&*bytes)?;
                decoder.take(most).read_to_end(&mut block)?;
            }
        }
        if block.len() >= MAX_BLOCK_BYTES {
            return Err(too_large());
        }
        // Values without bytes are no records.
        if count > u64::try_from(block.len()).unwrap_or(u64::MAX) {
            return Err(invalid("a block has more values than bytes"));
        }
        if read_array::<MARKER_BYTES>(reader)? != self.marker {
            return Err(invalid("a block of the Avro container is damaged"));
        }
        (self.block, self.used, self.left) = (block, 0, count);
        Ok(())
    }
}

fn too_large() -> io::Error {
    invalid("a block of the Avro container has 64 MiB or more; write smaller blocks")
}

fn read_long(reader: &mut impl BufRead) -> io::Result<i64> {
    let number = read_varint(reader)?;
    let number = number.ok_or_else(cut_off)?;
    Ok((number >> 1).cast_signed() ^ (number & 1).cast_signed().wrapping_neg())
}

fn read_blob(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let length = usize::try_from(read_long(reader)?).unwrap_or(usize::MAX);
    if length >= MAX_BLOCK_BYTES {
        return Err(too_large());
    }
    let mut blob = Vec::new();
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    read_bytes(reader, &mut blob, length, MAX_BLOCK_BYTES)?;
    Ok(blob)
}

impl Codec {
    fn named(name: &[u8]) -> io::Result<Self> {
        match name {
            b"null" => Ok(Self::Null),
            b"deflate" => Ok(Self::Deflate),
            b"zstandard" => Ok(Self::Zstandard),
            _ => Err(invalid(format!(
                "the Avro container has the codec {}; write it with null, deflate or zstandard",
                text::escape_controls(&String::from_utf8_lossy(name))
            ))),
        }
    }
}

impl Formats {
    fn is_avro(&self, kind: Kind) -> bool {
        let mapped = self.mapped[kind.index()].as_deref();
        self.of(kind) == Format::Mapped && mapped.is_some_and(Mapped::is_avro)
    }

    /// Returns true if the records of a kind are no lines of text.
    pub fn is_binary(&self, kind: Kind) -> bool {
        match self.of(kind) {
            Format::OtlpProto => true,
            Format::Mapped => {
                let mapped = self.mapped[kind.index()].as_deref();
                mapped.is_some_and(|mapped| !mapped.is_of_lines())
            }
            Format::Native | Format::Ubi | Format::OtlpJson => false,
        }
    }
}
