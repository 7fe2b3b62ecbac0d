//! Small files that are replaced whole: either the old or the new one is there, whatever happens.

use crate::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Replaces a file: written beside it, synced, renamed over it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let beside = beside(path);
    let written = (|| {
        // What lies there may be a link that somebody planted: it is removed, never followed.
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::options().write(true).create_new(true).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        sync_folder(path)
    })();
    written.map_err(|source| {
        // What was half written helps nobody; if it cannot be removed the next write overwrites it.
        let _ = fs::remove_file(&beside);
        failed("write", path, source)
    })
}

/// Makes a rename in the folder of this file last through a loss of power.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        // Not every system can open a folder; where it cannot, there is nothing to sync.
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Refuses a link where a file of the run is to be written: it may lead anywhere.
pub(super) fn refuse_link(path: &Path) -> Result<(), Error> {
    match fs::symlink_metadata(path) {
        Ok(data) if data.file_type().is_symlink() => Err(Error::Damaged {
            path: path.to_path_buf(),
            problem: "it is a link, and a run writes no files elsewhere; remove it".to_owned(),
        }),
        _ => Ok(()),
    }
}

/// A file's bytes; `None` where it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(failed("read", path, source)),
    }
}

/// The error of a file.
pub(crate) fn failed(doing: &'static str, path: &Path, source: io::Error) -> Error {
    let path = path.to_path_buf();
    Error::File {
        doing,
        path,
        source,
    }
}

/// Removes a file, and what a killed process may have left half-written beside it. What cannot be removed stays.
pub(super) fn remove(path: &Path) {
    for path in [path, &beside(path)] {
        let _ = fs::remove_file(path);
    }
}

/// Where a file is written before it takes its place.
fn beside(path: &Path) -> PathBuf {
    path.with_extension("tmp")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, file) = (
            folder.path().join("victim"),
            folder.path().join("manifest.json"),
        );
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, folder.path().join("manifest.tmp")).unwrap();
        replace(&file, b"new").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(fs::read(&file).unwrap(), b"new");
        std::os::unix::fs::symlink(&victim, folder.path().join("chain-0.f64")).unwrap();
        let refused = super::super::Rows::open(&folder.path().join("chain-0.f64"), 1, 0);
        assert!(refused.unwrap_err().to_string().contains("is a link"));
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
    }
}
