//! Decompression of files by their content: gzip, zstd and lz4. Other content is passed on.
//!
//! Every reader of files opens its source here. Tables of Parquet and Arrow become CSV, with the feature `columnar`.
//! Archives, other compressions and the pointers that Git LFS leaves in place of files are errors with a remedy.

#[cfg(feature = "columnar")]
mod columnar;
mod layout;

use std::io::{self, Cursor, ErrorKind, Read};
#[cfg(feature = "columnar")]
use std::sync::OnceLock;

use flate2::read::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;

use layout::Layout;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const LZ4: &[u8] = &[0x04, 0x22, 0x4d, 0x18];
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Beginning of a file of version 1 of Feather, which is not Arrow.
const FEATHER_1: &[u8] = b"FEA1";

/// Beginnings of other compressed content, with their names.
const OTHERS: [(&[u8], &str); 4] = [
    (b"BZh", "bzip2"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"),
    (b"PK\x03\x04", "a zip archive"),
    (&[0x02, 0x21, 0x4c, 0x18], "the legacy format of lz4"),
];

/// Content of a tar archive at [`TAR_OFFSET`].
const TAR: &[u8] = b"ustar";

const TAR_OFFSET: usize = 257;

/// Number of bytes by which content is recognised.
const BEGINNING_BYTES: usize = TAR_OFFSET + TAR.len();

fn is_tar(start: &[u8]) -> bool {
    start
        .get(TAR_OFFSET..)
        .is_some_and(|rest| rest.starts_with(TAR))
}

/// Reads the bytes by which content is recognised.
fn beginning(source: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    let limit = u64::try_from(BEGINNING_BYTES).unwrap_or(u64::MAX);
    source.by_ref().take(limit).read_to_end(&mut start)?;
    Ok(start)
}

/// Error of a tar archive. `place` is empty, or names its compression.
fn tar(place: &str) -> io::Error {
    let text = format!(
        "a tar archive{place}, not a file of its own; unpack it with `tar -xf`, and name a file in it"
    );
    io::Error::new(ErrorKind::InvalidData, text)
}

/// Returns true if content that begins with `start` cannot be used as it is: it is compressed, a binary table or
/// a pointer of Git LFS.
pub(crate) fn is_encoded(start: &[u8]) -> bool {
    let others = OTHERS.iter().map(|(beginning, _)| *beginning);
    let tables = Layout::ALL.into_iter().map(Layout::beginning);
    let all = [GZIP, ZSTD, LZ4, LFS_POINTER, FEATHER_1].into_iter();
    let mut all = all.chain(others).chain(tables);
    all.any(|beginning| start.starts_with(beginning)) || is_tar(start)
}

/// Returns a reader of the decompressed content of `source`.
///
/// # Errors
/// The source cannot be read, is compressed in another way, or is a pointer of Git LFS. Errors in the
/// compressed content are returned by the reader, with the name of the compression.
pub fn decompressed(mut source: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let start = beginning(&mut source)?;
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
    if start.starts_with(FEATHER_1) {
        return Err(explained(
            "a table of version 1 of Feather; write it as version 2, as pandas does with `to_feather`, or as CSV"
                .to_owned(),
        ));
    }
    if is_tar(&start) {
        return Err(tar(""));
    }
    if let Some(layout) = Layout::of(&start) {
        return table(layout, Cursor::new(start).chain(source));
    }
    let (is_gzip, is_zstd) = (start.starts_with(GZIP), start.starts_with(ZSTD));
    let is_lz4 = start.starts_with(LZ4);
    let source = Cursor::new(start).chain(source);
    if is_gzip {
        of_files("gzip", MultiGzDecoder::new(source))
    } else if is_zstd {
        of_files("zstd", zstd::stream::read::Decoder::new(source)?)
    } else if is_lz4 {
        of_files("lz4", Frames(FrameDecoder::new(source)))
    } else {
        Ok(Box::new(source))
    }
}

/// Returns a reader of decompressed content, unless this is an archive.
fn of_files(
    name: &'static str,
    decoder: impl Read + Send + 'static,
) -> io::Result<Box<dyn Read + Send>> {
    let mut decoder = Named { name, decoder };
    let start = beginning(&mut decoder)?;
    if is_tar(&start) {
        return Err(tar(&format!(" in {name}")));
    }
    Ok(Box::new(Cursor::new(start).chain(decoder)))
}

/// Returns a reader of a binary table as CSV.
#[cfg(feature = "columnar")]
fn table(layout: Layout, source: impl Read) -> io::Result<Box<dyn Read + Send>> {
    let mut file = Vec::new();
    source.take(MAX_TABLE_BYTES + 1).read_to_end(&mut file)?;
    if u64::try_from(file.len()).is_ok_and(|length| length > MAX_TABLE_BYTES) {
        let text = format!(
            "a table in {} of more than {} MiB; split it",
            layout.name(),
            MAX_TABLE_BYTES >> 20
        );
        return Err(io::Error::new(ErrorKind::InvalidData, text));
    }
    let csv = match TABLE_READER.get().and_then(|read| read(&file)) {
        Some(csv) => csv,
        None => columnar::as_csv(layout, file),
    };
    Ok(Box::new(Cursor::new(csv?)))
}

/// Returns a binary table as CSV. `None` leaves it to the caller.
#[cfg(feature = "columnar")]
type TableReader = fn(&[u8]) -> Option<io::Result<Vec<u8>>>;

#[cfg(feature = "columnar")]
static TABLE_READER: OnceLock<TableReader> = OnceLock::new();

/// Lets `reader` read the binary tables of this process from now on. The libraries of both formats panic for some
/// damaged files, and allocate as much as a damaged length says, so it can use a process of its own. It returns
/// what [`decompressed`] reads without it, or `None` if it cannot read any table. The first reader stays.
#[cfg(feature = "columnar")]
pub fn read_tables_by(reader: TableReader) {
    TABLE_READER.get_or_init(|| reader);
}

/// Maximum size of a binary table in bytes.
#[cfg(feature = "columnar")]
const MAX_TABLE_BYTES: u64 = 256 << 20;

/// Error of a binary table, which this build does not read.
#[cfg(not(feature = "columnar"))]
fn table(layout: Layout, _: impl Read) -> io::Result<Box<dyn Read + Send>> {
    let text = format!(
        "a table in {}, which this build does not read; use a release or a build with `--features columnar`, or \
         write CSV, for example `pandas.read_parquet(\"run.parquet\").to_csv(\"run.csv\", index=False)`",
        layout.name()
    );
    Err(io::Error::new(ErrorKind::InvalidData, text))
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
