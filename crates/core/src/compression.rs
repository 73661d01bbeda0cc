//! Decompression of files by their content: gzip, zstd and lz4. Other content is passed on.
//!
//! Every reader of files opens its source here. Archives, other compressions, binary tables and the pointers
//! that Git LFS leaves in place of files are errors with a remedy.

use std::io::{self, Cursor, ErrorKind, Read};

use flate2::read::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const LZ4: &[u8] = &[0x04, 0x22, 0x4d, 0x18];
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Beginnings of other compressed content, with their names.
const OTHERS: [(&[u8], &str); 4] = [
    (b"BZh", "bzip2"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"),
    (b"PK\x03\x04", "a zip archive"),
    (&[0x02, 0x21, 0x4c, 0x18], "the legacy format of lz4"),
];

/// Beginnings of tables in binary formats, with their names.
const TABLES: [(&[u8], &str); 3] = [
    (b"PAR1", "Parquet"),
    (b"ARROW1\0\0", "Arrow"),
    (b"FEA1", "Feather"),
];

/// Number of bytes by which content is recognised.
const BEGINNING_BYTES: usize = LFS_POINTER.len();

/// Returns true if content that begins with `start` cannot be used as it is: it is compressed, or a
/// pointer of Git LFS.
pub(crate) fn is_encoded(start: &[u8]) -> bool {
    let others = OTHERS.iter().chain(&TABLES);
    let others = others.map(|(beginning, _)| *beginning);
    let mut all = [GZIP, ZSTD, LZ4, LFS_POINTER].into_iter().chain(others);
    all.any(|beginning| start.starts_with(beginning))
}

/// Returns a reader of the decompressed content of `source`.
///
/// # Errors
/// The source cannot be read, is compressed in another way, or is a pointer of Git LFS. Errors in the
/// compressed content are returned by the reader, with the name of the compression.
pub fn decompressed(mut source: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut start = Vec::new();
    let limit = u64::try_from(BEGINNING_BYTES).unwrap_or(u64::MAX);
    source.by_ref().take(limit).read_to_end(&mut start)?;
    let explained = |text: String| io::Error::new(ErrorKind::InvalidData, text);
    if start.starts_with(LFS_POINTER) {
        return Err(explained(
            "a pointer of Git LFS, not the file itself; fetch the file with `git lfs pull`"
                .to_owned(),
        ));
    }
    if let Some((_, name)) = OTHERS
        .iter()
        .find(|(beginning, _)| start.starts_with(beginning))
    {
        return Err(explained(format!(
            "the content is compressed as {name}; decompress it, or use gzip, zstd or lz4"
        )));
    }
    let mut tables = TABLES.iter();
    if let Some((_, name)) = tables.find(|(beginning, _)| start.starts_with(beginning)) {
        return Err(explained(format!(
            "a table in the format {name}, which is not read; write it as CSV, for example \
             `pandas.read_parquet(file).to_csv(\"run.csv\", index=False)`, or pass the data frame to the Python \
             package"
        )));
    }
    let (is_gzip, is_zstd) = (start.starts_with(GZIP), start.starts_with(ZSTD));
    let is_lz4 = start.starts_with(LZ4);
    let source = Cursor::new(start).chain(source);
    Ok(if is_gzip {
        Box::new(Named {
            name: "gzip",
            decoder: MultiGzDecoder::new(source),
        })
    } else if is_zstd {
        Box::new(Named {
            name: "zstd",
            decoder: zstd::stream::read::Decoder::new(source)?,
        })
    } else if is_lz4 {
        Box::new(Named {
            name: "lz4",
            decoder: Frames(FrameDecoder::new(source)),
        })
    } else {
        Box::new(source)
    })
}

/// Remedy for a file that cannot be read, as the end of a sentence. Empty for wrong content, whose error
/// states it.
pub fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::InvalidData => "",
        _ => "; check the path and its permissions",
    }
}

/// Decoder whose errors have the name of its compression.
struct Named<R> {
    name: &'static str,
    decoder: R,
}

impl<R: Read> Read for Named<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| {
            if error.kind() == ErrorKind::Interrupted {
                return error;
            }
            io::Error::new(ErrorKind::InvalidData, format!("in {}: {error}", self.name))
        })
    }
}

/// One or more frames of lz4, whose decoder stops at the end of each.
struct Frames<R: Read>(FrameDecoder<R>);

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => self.0.read(buffer),
            read => Ok(read),
        }
    }
}
