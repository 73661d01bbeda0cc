//! Gold files of the configuration, which are parsed only after a change of their content.
//!
//! A check compares the metadata of the files first. After a change of the metadata it reads the
//! files and compares their hash, and after a change of the hash it parses them.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::config;
use rankgauge_core::gold::{GoldError, GoldSet, Sources};

/// Minimum age of a change before the metadata is trusted. A file system may give two changes
/// within its resolution the same time.
const MIN_AGE: Duration = Duration::from_secs(3);

/// Gold files and the state of their last check.
#[derive(Debug)]
pub struct GoldFiles {
    config: config::Gold,
    /// Metadata before the last read; `None` if it may not show the next change.
    known: Option<Stamp>,
    reads: u64,
    parses: u64,
}

impl GoldFiles {
    /// Files of `config`, which are not read yet.
    pub fn new(config: config::Gold) -> Self {
        Self {
            config,
            known: None,
            reads: 0,
            parses: 0,
        }
    }

    /// Reads and parses the files.
    ///
    /// # Errors
    /// All problems of the files.
    pub fn load(&mut self) -> Result<GoldSet, GoldError> {
        let sources = self.read();
        self.parse(sources)
    }

    /// Reads the files. Returns a gold set if its hash differs from `current`, that of the gold set
    /// in use.
    ///
    /// # Errors
    /// All problems of the files.
    pub fn reload(&mut self, current: &str) -> Result<Option<GoldSet>, GoldError> {
        let sources = self.read();
        if sources.is_complete() && sources.sha256() == current {
            return Ok(None);
        }
        self.parse(sources).map(Some)
    }

    /// The same as [`GoldFiles::reload`] if the metadata of the files has changed since they were
    /// read. Otherwise returns `None`: the result would be the same as before.
    pub fn check(&mut self, current: &str) -> Option<Result<Option<GoldSet>, GoldError>> {
        let is_known = self.known.is_some() && self.known == Stamp::of(&self.config.paths);
        (!is_known).then(|| self.reload(current))
    }

    /// Number of times that the content of the files was read.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// Number of times that the content of the files was parsed.
    pub fn parses(&self) -> u64 {
        self.parses
    }

    fn read(&mut self) -> Sources {
        // A change during the read is found by the next check.
        self.known = Stamp::of(&self.config.paths);
        self.reads += 1;
        Sources::read(&self.config.paths, &self.config.options)
    }

    fn parse(&mut self, sources: Sources) -> Result<GoldSet, GoldError> {
        self.parses += 1;
        sources.into_set(&self.config.options)
    }
}

/// Metadata of all files that a gold set can consist of. Paths without a file have none.
#[derive(Debug, PartialEq, Eq)]
struct Stamp(BTreeMap<PathBuf, Option<FileStamp>>);

/// Identity, size and times of a file or folder. A link has those of its target.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    /// Time of the last change of the content or the metadata. A copy with preserved modification
    /// time changes it.
    changed: (i64, i64),
}

impl FileStamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl Stamp {
    /// Metadata of the files of `paths`. `None` if a file changed so recently that its metadata may
    /// not show the next change.
    fn of(paths: &[PathBuf]) -> Option<Self> {
        let mut stamp = Self(BTreeMap::new());
        for path in paths {
            stamp.add(path);
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            for entry in entries {
                stamp.add_with_texts(&entry.path());
            }
            if !path.is_dir() {
                stamp.add_with_texts(path);
            }
        }
        let settled = SystemTime::now().checked_sub(MIN_AGE)?;
        let settled = settled.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let settled = i64::try_from(settled.as_secs()).ok()?;
        let mut files = stamp.0.values().flatten();
        files
            .all(|file| file.changed.0.max(file.modified.0) < settled)
            .then_some(stamp)
    }

    /// Adds a file, and the files from which the texts of its queries may be read.
    fn add_with_texts(&mut self, path: &Path) {
        self.add(path);
        for texts in Sources::companions(path) {
            self.add(&texts);
        }
    }

    fn add(&mut self, path: &Path) {
        // The files of a folder share their texts.
        self.0.entry(path.to_owned()).or_insert_with(|| {
            let metadata = fs::metadata(path).ok();
            metadata.as_ref().map(FileStamp::of)
        });
    }
}
