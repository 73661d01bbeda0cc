//! The folder that checkpoints are kept in: one file a worker, replaced as a whole.
//!
//! A file is written beside its place, synced, and renamed into it; then the folder is synced. Who
//! is killed at any instant leaves the old file or the new one, and never a part of one.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::checkpoint::{Checkpoint, Unreadable};

/// The suffix of checkpoints.
const SUFFIX: &str = "checkpoint";

/// A folder of checkpoints that no other process uses.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Held while the process lives; the system releases it, however that ends. `None` while the
    /// folder cannot be written to.
    lock: Mutex<Option<File>>,
}

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "another process keeps its checkpoints in {}: give each replica a folder of its own \
     (checkpoint.folder)",
    .0.display()
)]
pub struct InUse(PathBuf);

/// A file that is no use.
#[derive(Debug)]
pub struct Refused {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: Unreadable,
    /// Where it was moved, so that nothing overwrites it; or why it could not be.
    pub aside: io::Result<PathBuf>,
}

/// What a folder holds.
#[derive(Debug, Default)]
pub struct Contents {
    /// Checkpoints, by worker. Those that another one contains are left out.
    pub checkpoints: Vec<Checkpoint>,
    /// Files that are no use.
    pub refused: Vec<Refused>,
    /// Why the folder cannot be listed, if it cannot although it is there.
    pub unlisted: Option<io::Error>,
}

impl Folder {
    /// The folder at `path`, for this process alone. It is made when it is not there.
    ///
    /// A folder that cannot be written to is no error here: what is in it can be read, and every
    /// attempt to [save](Self::save) will say what is wrong.
    ///
    /// # Errors
    /// When another process uses the folder.
    pub fn open(path: &Path) -> Result<Self, InUse> {
        let folder = Self {
            path: path.to_owned(),
            lock: Mutex::new(None),
        };
        drop(folder.lock()?);
        Ok(folder)
    }

    /// Makes the folder ours, if it is not yet; says what is wrong when it cannot be written to.
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

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads every checkpoint. What cannot be read is moved aside.
    pub fn load(&self) -> Contents {
        let mut contents = look(&self.path);
        for refused in &mut contents.refused {
            let mut aside = refused.path.clone().into_os_string();
            aside.push(".refused");
            refused.aside = fs::rename(&refused.path, &aside).map(|()| aside.into());
        }
        contents
    }

    /// Reads the checkpoint of one worker.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn read(&self, worker: usize) -> Result<Checkpoint, Unreadable> {
        Checkpoint::read(File::open(file_of(&self.path, worker))?)
    }

    /// Makes `checkpoint` durable; returns its size in bytes. After an error the one before is
    /// still in place.
    ///
    /// # Errors
    /// What the system says: no space, no permission.
    pub fn save(&self, checkpoint: &Checkpoint) -> io::Result<u64> {
        self.lock().map_err(io::Error::other)??;
        let place = file_of(&self.path, checkpoint.worker);
        let draft = place.with_extension("draft");
        let written = write(checkpoint, &draft).and_then(|size| {
            fs::rename(&draft, &place)?;
            // The rename itself has to be on disk.
            File::open(&self.path)?.sync_all()?;
            Ok(size)
        });
        if written.is_err() {
            // A draft on a full disk keeps space from the next attempt.
            fs::remove_file(&draft).ok();
        }
        written
    }

    /// Removes the checkpoint of a worker that is no more, if it is there.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self, worker: usize) -> io::Result<()> {
        match fs::remove_file(file_of(&self.path, worker)) {
            Err(problem) if problem.kind() != io::ErrorKind::NotFound => Err(problem),
            _ => Ok(()),
        }
    }
}

/// Reads the checkpoints in `folder`, and changes nothing.
pub fn look(folder: &Path) -> Contents {
    let mut contents = Contents::default();
    let files = match fs::read_dir(folder) {
        Ok(files) => Some(files),
        Err(problem) => {
            let is_there = problem.kind() != io::ErrorKind::NotFound;
            contents.unlisted = is_there.then_some(problem);
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
            Err(why) => contents.refused.push(Refused {
                aside: Ok(path.clone()),
                path,
                why,
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
