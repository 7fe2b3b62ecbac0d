//! One writer at a time: a lock that the system takes back when the process ends, however it ends.

use super::file::{failed, refuse_link};
use crate::error::Error;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The right to write to a run directory, for as long as this lives.
#[derive(Debug)]
pub struct Lock {
    file: File,
    /// A file that goes when the lock does.
    passing: Option<PathBuf>,
    /// The directory itself, locked too: whoever deletes the file does not let a second writer in.
    _folder: Option<File>,
}

/// What files begin with that processes beside the leading one lock, where a run has several.
const BESIDE: &str = "lock-";

impl Lock {
    /// Takes the lock of a directory that exists.
    ///
    /// # Errors
    /// [`Error::Locked`] where another process has it; and where the file cannot be written.
    pub fn take(folder: &Path) -> Result<Self, Error> {
        let mut lock = Self::named(folder, "lock")?;
        lock._folder = whole(folder)?;
        // A process of an earlier run may have outlived the one that led it.
        let entries = std::fs::read_dir(folder).map_err(|s| failed("read", folder, s))?;
        for entry in entries.flatten() {
            if let Some(name) = entry.file_name().to_str()
                && name.starts_with(BESIDE)
            {
                let mut left_behind = Self::named(folder, name)?;
                left_behind.passing = Some(entry.path());
            }
        }
        Ok(lock)
    }

    /// The lock of a process beside the one that took the directory's.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(crate) fn beside(folder: &Path, rank: usize) -> Result<Self, Error> {
        let name = format!("{BESIDE}{rank}");
        let mut lock = Self::named(folder, &name)?;
        lock.passing = Some(folder.join(name));
        Ok(lock)
    }

    fn named(folder: &Path, name: &str) -> Result<Self, Error> {
        let path = folder.join(name);
        refuse_link(&path)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|source| failed("write", &path, source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Only for the message: what cannot be read is left out of it.
                let _ = (&mut file).take(200).read_to_string(&mut holder);
                let holder = match holder.trim() {
                    "" => "another process".to_owned(),
                    holder => holder.to_owned(),
                };
                return Err(Error::Locked {
                    path: folder.to_path_buf(),
                    holder,
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed("lock", &path, source)),
        }
        // The lock is what counts; the text is for people, and a full disk is told elsewhere.
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "process {}", std::process::id()));
        Ok(Self {
            file,
            passing: None,
            _folder: None,
        })
    }
}

/// A lock of the directory itself, where the system has such locks.
fn whole(folder: &Path) -> Result<Option<File>, Error> {
    let Ok(file) = File::open(folder) else {
        return Ok(None);
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(Error::Locked {
            path: folder.to_path_buf(),
            holder: "another process (whose `lock` was deleted)".to_owned(),
        }),
        // Not every file system can lock a directory; the file's lock is held.
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = match &self.passing {
            // Only whoever holds the directory's lock, and those it leads, ever take one of these.
            Some(path) => std::fs::remove_file(path),
            // The file stays: if it were removed, two processes could each lock a file of that name.
            None => self.file.set_len(0),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleting_the_lock_does_not_let_a_second_writer_in() {
        let folder = tempfile::tempdir().unwrap();
        let held = Lock::take(folder.path()).unwrap();
        std::fs::remove_file(folder.path().join("lock")).unwrap();
        let second = Lock::take(folder.path());
        assert!(matches!(second, Err(Error::Locked { .. })), "{second:?}");
        drop(held);
        Lock::take(folder.path()).unwrap();
    }
}
