//! One writer at a time: a lock that the system takes back when the process ends, however it ends.

use super::file::failed;
use crate::error::Error;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// The right to write to a run directory, for as long as this lives.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock of a directory that exists.
    ///
    /// # Errors
    /// [`Error::Locked`] where another process has it; and where the file cannot be written.
    pub fn take(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("lock");
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
        Ok(Self { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file stays: if it were removed, two processes could each lock a file of that name.
        let _ = self.file.set_len(0);
    }
}
