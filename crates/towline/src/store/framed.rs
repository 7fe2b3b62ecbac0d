//! How binary files are wrapped: a name, a version, a length and a checksum, so that damage is seen.

use crate::error::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// What a binary file of ours begins with.
const MAGIC: &[u8; 8] = b"towline\0";
/// Magic, version, length of the content, its checksum.
const HEADER: usize = 8 + 4 + 8 + 8;

/// What is said of a file whose run is not the manifest's.
pub(crate) const OTHER_RUN: &str = "it is of another run than manifest.json speaks of, or the manifest was changed; put \
                                    back the files that belong together";

/// Content with its header.
pub(crate) fn wrap(version: u32, content: &impl Serialize) -> Result<Vec<u8>, String> {
    let content = postcard::to_stdvec(content).map_err(|error| error.to_string())?;
    let mut bytes = Vec::with_capacity(HEADER + content.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&checksum(&content).to_le_bytes());
    bytes.extend_from_slice(&content);
    Ok(bytes)
}

/// The content of a file, if it is whole, of this kind and of a version that is known.
pub(crate) fn unwrap<T: DeserializeOwned>(
    path: &Path,
    known: u32,
    bytes: &[u8],
) -> Result<T, Error> {
    let damaged = |problem: &str| Error::Damaged {
        path: path.to_path_buf(),
        problem: problem.to_owned(),
    };
    if bytes.is_empty() {
        return Err(damaged("it is empty"));
    }
    let Some((header, content)) = bytes.split_at_checked(HEADER) else {
        return Err(damaged("it is cut short"));
    };
    let (magic, rest) = header.split_at(8);
    if magic != MAGIC {
        return Err(damaged("it is not a file of towline's"));
    }
    let (version, rest) = rest.split_at(4);
    let (length, sum) = rest.split_at(8);
    let version = u32::from_le_bytes(version.try_into().unwrap_or_default());
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    if version > known {
        return Err(Error::NewerFormat {
            path: path.to_path_buf(),
            found: version,
            known,
        });
    }
    // The checksum does not cover the version: one that never was is damage too.
    if version == 0 {
        return Err(damaged("it says that it is of a version that never was"));
    }
    if version < known {
        return Err(Error::OlderFormat {
            path: path.to_path_buf(),
            found: version,
        });
    }
    if number(length) != content.len() as u64 {
        return Err(damaged("it is not as long as it says"));
    }
    if number(sum) != checksum(content) {
        return Err(damaged("its checksum does not match its content"));
    }
    // What was added at the end of a content since it was written is an option there, and none: postcard's zero. Where
    // nothing is missing, what follows is not read.
    let content = [content, &[0]].concat();
    postcard::from_bytes(&content)
        .map_err(|error| damaged(&format!("its content cannot be read ({error})")))
}

/// FNV-1a: enough to see damage, which is all that is asked of it.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
