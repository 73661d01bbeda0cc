//! Checkpoint folder: one file for each worker, replaced atomically.
//!
//! A checkpoint is written to a draft file, synced, and renamed to the final name. Then the folder
//! is synced. A process killed at any time leaves the old file or the new one, never a partial
//! file.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::checkpoint::{Checkpoint, Unreadable};

/// The suffix of checkpoints.
const SUFFIX: &str = "checkpoint";

/// Checkpoint folder that is locked by this process.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Lock file. The operating system releases the lock when the process ends for any reason.
    /// `None` while the folder is not writable.
    lock: Mutex<Option<File>>,
}

/// The folder is in use by another process.
#[derive(Debug, thiserror::Error)]
#[error(
    "another process uses the checkpoint folder {}: give each replica a separate folder \
     (checkpoint.folder)",
    .0.display()
)]
pub struct InUse(PathBuf);

/// Rejected checkpoint file.
#[derive(Debug)]
pub struct RejectedFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Cause of the rejection.
    pub error: Unreadable,
    /// New path of the file, which is moved to prevent overwriting; or the error of the move.
    pub aside: io::Result<PathBuf>,
}

/// Contents of a checkpoint folder.
#[derive(Debug, Default)]
pub struct Contents {
    /// Checkpoints, ordered by worker. Checkpoints absorbed by another one are omitted.
    pub checkpoints: Vec<Checkpoint>,
    /// Rejected files.
    pub rejected: Vec<RejectedFile>,
    /// Error of the listing, unless the folder does not exist.
    pub list_error: Option<io::Error>,
}

impl Folder {
    /// Opens and locks the folder at `path`. Creates it if it does not exist.
    ///
    /// A folder that is not writable is not an error here: its checkpoints can be read, and each
    /// [`save`](Self::save) returns the error.
    ///
    /// # Errors
    /// If another process uses the folder.
    pub fn open(path: &Path) -> Result<Self, InUse> {
        let folder = Self {
            path: path.to_owned(),
            lock: Mutex::new(None),
        };
        drop(folder.lock()?);
        Ok(folder)
    }

    /// Locks the folder unless this process holds the lock already. The inner result is an error if
    /// the folder is not writable.
    fn lock(&self) -> Result<io::Result<()>, InUse> {
        let mut held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_some() {
            return Ok(Ok(()));
        }
        let lock = fs::create_dir_all(&self.path).and_then(|()| {
            let mut options = File::options();
            options.write(true).create(true).truncate(false);
            options.open(self.path.join("lock"))
        });
        Ok(match lock {
            Ok(lock) if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) => {
                return Err(InUse(self.path.clone()));
            }
            Ok(lock) => {
                *held = Some(lock);
                Ok(())
            }
            Err(problem) => Err(problem),
        })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads every checkpoint. Renames unreadable files with the suffix `.rejected`.
    pub fn load(&self) -> Contents {
        let mut contents = look(&self.path);
        for rejected in &mut contents.rejected {
            let mut aside = rejected.path.clone().into_os_string();
            aside.push(".rejected");
            rejected.aside = fs::rename(&rejected.path, &aside).map(|()| aside.into());
        }
        contents
    }

    /// Reads the checkpoint of one worker.
    ///
    /// # Errors
    /// If the file cannot be read or is not a valid checkpoint.
    pub fn read(&self, worker: usize) -> Result<Checkpoint, Unreadable> {
        Checkpoint::read(File::open(file_of(&self.path, worker))?)
    }

    /// Makes `checkpoint` durable and returns its size in bytes. After an error, the previous
    /// checkpoint is still in place.
    ///
    /// # Errors
    /// I/O errors, for example no space or no permission.
    pub fn save(&self, checkpoint: &Checkpoint) -> io::Result<u64> {
        self.lock().map_err(io::Error::other)??;
        let place = file_of(&self.path, checkpoint.worker);
        let draft = place.with_extension("draft");
        let written = write(checkpoint, &draft).and_then(|size| {
            fs::rename(&draft, &place)?;
            // The sync of the folder makes the rename durable.
            File::open(&self.path)?.sync_all()?;
            Ok(size)
        });
        if written.is_err() {
            // On a full disk, a remaining draft would take space from the next attempt.
            fs::remove_file(&draft).ok();
        }
        written
    }

    /// Removes the checkpoint of a worker, if it exists.
    ///
    /// # Errors
    /// I/O errors, except a missing file.
    pub fn remove(&self, worker: usize) -> io::Result<()> {
        match fs::remove_file(file_of(&self.path, worker)) {
            Err(problem) if problem.kind() != io::ErrorKind::NotFound => Err(problem),
            _ => Ok(()),
        }
    }
}

/// Reason why a process could not write checkpoints to the folder at `path`; `None` if it could. A
/// folder that does not exist is not created.
pub fn problem(path: &Path) -> Option<String> {
    let mut existing = path;
    while !existing.exists() {
        match existing.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => existing = parent,
            // A relative path begins in the working directory.
            _ => existing = Path::new("."),
        }
    }
    let what = if existing == path {
        "is not usable as a folder for checkpoints".to_owned()
    } else {
        format!("cannot be created in {}", existing.display())
    };
    if !existing.is_dir() {
        let text = format!("{what}: {} is not a folder", existing.display());
        return Some(text + "; name a folder that the process can write to");
    }
    let written = tempfile::Builder::new()
        .prefix(".rankgauge-")
        .tempfile_in(existing);
    let error = written.err()?;
    let cause = error.kind();
    Some(format!(
        "{what}: {cause}; make it writable for the user of the process, or name another folder"
    ))
}

/// Reads the checkpoints in `folder` without changes to its files.
pub fn look(folder: &Path) -> Contents {
    let mut contents = Contents::default();
    let files = match fs::read_dir(folder) {
        Ok(files) => Some(files),
        Err(problem) => {
            let is_there = problem.kind() != io::ErrorKind::NotFound;
            contents.list_error = is_there.then_some(problem);
            None
        }
    };
    let files = files.into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|suffix| suffix == SUFFIX));
    paths.sort();
    for path in paths {
        let read = File::open(&path).map_err(Unreadable::Io);
        match read.and_then(Checkpoint::read) {
            Ok(checkpoint) => contents.checkpoints.push(checkpoint),
            Err(error) => contents.rejected.push(RejectedFile {
                aside: Ok(path.clone()),
                path,
                error,
            }),
        }
    }
    let absorbed: Vec<_> = contents
        .checkpoints
        .iter()
        .flat_map(|checkpoint| checkpoint.absorbed.clone())
        .collect();
    contents.checkpoints.retain(|checkpoint| {
        let contained = |(worker, until): &(usize, _)| {
            *worker == checkpoint.worker && *until >= checkpoint.written
        };
        !absorbed.iter().any(contained)
    });
    contents
        .checkpoints
        .sort_by_key(|checkpoint| checkpoint.worker);
    contents
}

fn file_of(folder: &Path, worker: usize) -> PathBuf {
    folder.join(format!("worker-{worker}.{SUFFIX}"))
}

fn write(checkpoint: &Checkpoint, path: &Path) -> io::Result<u64> {
    let file = File::create(path)?;
    checkpoint.write(&file)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}
