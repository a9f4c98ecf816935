//! The manifest of an export. It is written last, so that an export without one is recognised as incomplete.

use std::{collections::BTreeMap, fs, io, path::Path};

use mongodb::bson::Document;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{
    ext_json::{self, Unconverted},
    packing::Compression,
};
use crate::{
    cli::{failure::Failure, private_files},
    mongo::snapshot::{CollectionKind, Described},
};

/// Name of the manifest's file.
pub(in crate::cli) const NAME: &str = "manifest.json";
/// What the database without another purpose is to the gateway.
pub(super) const CORE: &str = "core";
/// The format of exports that this version writes and reads.
const FORMAT: u32 = 1;

/// What an export contains.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Manifest {
    format: u32,
    /// Version of docgate that wrote it.
    pub(in crate::cli) docgate: String,
    /// Names of the exported databases, by what they are to the gateway.
    pub(in crate::cli) databases: BTreeMap<String, String>,
    cluster_time: ClusterTime,
    /// The cluster time to the second, in RFC 3339.
    pub(in crate::cli) taken_at: String,
    pub(in crate::cli) compression: Compression,
    /// Number of documents in all collections.
    pub(in crate::cli) documents: u64,
    /// Size of these documents in MongoDB's format, in bytes.
    pub(in crate::cli) size: u64,
    pub(in crate::cli) collections: Vec<Entry>,
}

/// A cluster time as MongoDB counts it.
#[derive(Debug, Serialize, Deserialize)]
struct ClusterTime {
    seconds: u32,
    increment: u32,
}

/// One collection of an export.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Entry {
    /// What its database is to the gateway.
    pub(in crate::cli) database: String,
    pub(in crate::cli) name: String,
    /// A capped collection is read after the cluster time.
    pub(in crate::cli) kind: CollectionKind,
    /// Name of the file in the same folder.
    pub(in crate::cli) file: String,
    pub(in crate::cli) documents: u64,
    /// Size of these documents in MongoDB's format, in bytes.
    pub(in crate::cli) size: u64,
    /// Size of the file in bytes.
    pub(in crate::cli) bytes: u64,
    /// SHA-256 of the file in hexadecimal digits.
    pub(in crate::cli) sha256: String,
    /// The options with which it was created.
    options: Box<RawValue>,
    /// Its indexes but that of `_id`.
    indexes: Vec<Box<RawValue>>,
}

impl Manifest {
    /// The manifest of an export at this time.
    pub(super) fn new(
        databases: BTreeMap<String, String>,
        (at, taken_at): (mongodb::bson::Timestamp, String),
        compression: Compression,
        collections: Vec<Entry>,
    ) -> Self {
        Self {
            format: FORMAT,
            docgate: env!("CARGO_PKG_VERSION").to_owned(),
            databases,
            cluster_time: ClusterTime { seconds: at.time, increment: at.increment },
            taken_at,
            compression,
            documents: collections.iter().map(|one| one.documents).sum(),
            size: collections.iter().map(|one| one.size).sum(),
            collections,
        }
    }

    /// Writes it, so that after an interruption there is none, or all of it.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        private_files::replace(&folder.join(NAME), &text)
    }

    /// The manifest in a folder, and its digest, which names the export.
    ///
    /// # Errors
    /// There is none, or it isn't one that this version reads.
    pub(in crate::cli) fn read(folder: &Path) -> Result<(Self, String), Failure> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let path = folder.join(NAME);
        let text = fs::read(&path).map_err(|fault| {
            let failure = Failure::trouble(format!("can't read {}: {fault}", path.display()));
            match fault.kind() {
                io::ErrorKind::NotFound => failure
                    .with_hint("the export writes it last: without it an export is incomplete"),
                _ => failure,
            }
        })?;
        let unread = |fault: serde_json::Error| {
            Failure::trouble(format!("{} is no manifest of an export: {fault}", path.display()))
        };
        let Format { format } = serde_json::from_slice(&text).map_err(unread)?;
        if format != FORMAT {
            return Err(Failure::trouble(format!(
                "{} has format {format}; this version of docgate reads format {FORMAT}",
                path.display()
            )));
        }
        Ok((serde_json::from_slice(&text).map_err(unread)?, hex::encode(Sha256::digest(&text))))
    }
}

impl Entry {
    /// The entry of a collection without documents yet.
    pub(super) fn new(of: &Described, compression: Compression) -> Result<Self, Unconverted> {
        Ok(Self {
            database: of.part.name.to_owned(),
            name: of.name.clone(),
            kind: of.kind,
            file: file_name(of.part.name, &of.name, compression),
            documents: 0,
            size: 0,
            bytes: 0,
            sha256: String::new(),
            options: raw(&of.options)?,
            indexes: of.indexes.iter().map(raw).collect::<Result<_, _>>()?,
        })
    }

    /// The collection: what its database is to the gateway, and its name.
    pub(in crate::cli) fn place(&self) -> (&str, &str) {
        (&self.database, &self.name)
    }

    /// The options with which the collection was created.
    pub(in crate::cli) fn options(&self) -> Result<Document, Unconverted> {
        ext_json::parse(self.options.get().as_bytes())
    }

    /// The specifications of its indexes but that of `_id`.
    pub(in crate::cli) fn indexes(&self) -> Result<Vec<Document>, Unconverted> {
        self.indexes.iter().map(|index| ext_json::parse(index.get().as_bytes())).collect()
    }

    /// Whether the file is one of the export's folder, not one elsewhere.
    pub(in crate::cli) fn is_within_folder(&self) -> bool {
        !self.file.starts_with('.') && !self.file.contains(['/', '\\'])
    }
}

/// Keeps the order of fields, which an index needs.
fn raw(document: &Document) -> Result<Box<RawValue>, Unconverted> {
    RawValue::from_string(ext_json::text_of(document)?).map_err(Unconverted::because)
}

/// Characters of a collection's name that aren't in the name of its file.
const UNSAFE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'.');

fn file_name(part: &str, collection: &str, compression: Compression) -> String {
    let name = utf8_percent_encode(collection, UNSAFE).to_string();
    // A name that begins with a point would be hidden.
    let name = name.strip_prefix('.').map_or(name.clone(), |rest| format!("%2E{rest}"));
    let of = if part == CORE { String::new() } else { format!("{part}@") };
    format!("{of}{name}.{}", compression.extension())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"{
        "format": 1, "docgate": "0.1.0", "databases": { "core": "shop" },
        "clusterTime": { "seconds": 7, "increment": 1 }, "takenAt": "1970-01-01T00:00:07.000Z",
        "compression": "gzip", "documents": 1, "size": 20,
        "collections": [{
            "database": "core", "name": "ring", "kind": "capped", "file": "ring.jsonl.gz",
            "documents": 1, "size": 20, "bytes": 30, "sha256": "",
            "options": { "capped": true, "size": { "$numberLong": "4096" } },
            "indexes": [{ "key": { "z": { "$numberInt": "1" }, "a": { "$numberInt": "-1" } }, "name": "z_a" }]
        }]
    }"#;

    #[test]
    fn names_of_files_are_plain() {
        for (part, name, file) in [
            (CORE, "products", "products.jsonl.zst"),
            (CORE, "assets.chunks", "assets.chunks.jsonl.zst"),
            (CORE, "../a@b", "%2E.%2Fa%40b.jsonl.zst"),
            ("log", "events", "log@events.jsonl.zst"),
        ] {
            assert_eq!(file_name(part, name, Compression::Zstd), file);
        }
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(Manifest::read(folder.path()).is_err(), "there is none yet");
        let manifest: Manifest = serde_json::from_str(PLAIN).expect("a manifest");
        manifest.write(folder.path()).expect("written");
        let (read, _) = Manifest::read(folder.path()).expect("read");
        let ring = &read.collections[0];
        assert_eq!(ring.options().expect("options").get_i64("size").expect("a size"), 4096);
        let indexes = ring.indexes().expect("indexes");
        let key = indexes[0].get_document("key").expect("a key");
        assert_eq!(key.keys().collect::<Vec<_>>(), ["z", "a"], "in their order");
        assert_eq!((ring.kind, ring.is_within_folder()), (CollectionKind::Capped, true));

        for text in ["", "{}", "{\"format\": 2}"] {
            fs::write(folder.path().join(NAME), text).expect("written");
            assert!(Manifest::read(folder.path()).is_err(), "{text}");
        }
    }
}
