//! Documents that clients refer to by id or hash: trusted documents, and documents that a client sent earlier
//! (automatic persisted queries).

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs, io, mem,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use async_graphql::parser;
use quick_cache::{Weighter, sync::Cache};
use serde::Deserialize;
use serde_json::error::Category;
use sha2::{Digest, Sha256};

use super::parameters::Parameters;
use crate::{
    config::{Config, DocumentsMode, unread},
    error::Error,
};

/// Maximum size of the cache of documents that clients sent with their hash, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// Size in bytes above which such a document isn't cached. A short request that names it would otherwise hold a long text.
const MAX_SENT: usize = 64 << 10;
/// Expected number of them; it only sets the initial allocation.
const EXPECTED: usize = 256;
/// Interval in which the trusted documents are checked for changes.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum number of characters of a logged untrusted document.
const MAX_LOGGED_TEXT: usize = 4 << 10;
/// Maximum number of untrusted documents that are logged, each once.
const MAX_LOGGED: usize = 10_000;

/// Error: the trusted documents can't be read.
#[derive(Debug, thiserror::Error)]
#[error("documents: {}: {reason}", path.display())]
pub struct DocumentsError {
    path: PathBuf,
    reason: String,
}

/// The documents of one gateway.
pub(super) struct Documents {
    mode: DocumentsMode,
    path: Option<PathBuf>,
    trusted: RwLock<Arc<Trusted>>,
    /// Documents that clients sent, by hash. Each was admitted when it was sent; it may be trusted no longer.
    sent: Cache<String, Arc<str>, ByLength>,
    logged: RwLock<HashSet<[u8; 32]>>,
}

/// The trusted documents as last read.
#[derive(Debug, Default)]
struct Trusted {
    by_id: HashMap<String, Arc<str>>,
    texts: HashSet<Arc<str>>,
    files: FileStates,
}

/// Size and modification time of each file.
type FileStates = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<String, Arc<str>> for ByLength {
    fn weight(&self, hash: &String, text: &Arc<str>) -> u64 {
        (hash.len() + text.len()) as u64
    }
}

impl Documents {
    /// Loads the trusted documents, if configured.
    ///
    /// # Errors
    /// They can't be read.
    pub(super) fn of(config: &Config) -> Result<Self, DocumentsError> {
        let trusted = match &config.documents {
            Some(path) => read(path)?,
            None => Trusted::default(),
        };
        Ok(Self {
            mode: config.documents_mode,
            path: config.documents.clone(),
            trusted: RwLock::new(Arc::new(trusted)),
            sent: Cache::with_weighter(EXPECTED, MAX_BYTES, ByLength),
            logged: RwLock::default(),
        })
    }

    /// The document of a request.
    ///
    /// # Errors
    /// `PersistedQueryNotFound`, `UntrustedDocument`, or `BadInput` if there is no document or the hash
    /// doesn't match it.
    pub(super) fn text(&self, parameters: &mut Parameters) -> Result<String, Error> {
        if let Some(id) = &parameters.document_id {
            let found = self.trusted().by_id.get(id).map(|text| (**text).to_owned());
            let reason = "isn't the id of a document that is known here";
            return found.ok_or_else(|| Error::bad_input("documentId", reason));
        }
        let hash = parameters.persisted()?.map(str::to_ascii_lowercase);
        let text = parameters.query.take();
        let Some(hash) = hash else {
            let text = text.ok_or_else(|| Error::bad_input("query", "is missing"))?;
            return self.admit(text);
        };
        let Some(text) = text else {
            if let Some(text) = self.trusted().by_id.get(&hash) {
                return Ok((**text).to_owned());
            }
            let sent = self.sent.get(&hash).ok_or(Error::PersistedQueryNotFound)?;
            // It may be trusted no longer.
            if self.mode == DocumentsMode::Only && !self.trusted().texts.contains(sent.trim()) {
                return Err(Error::UntrustedDocument);
            }
            return Ok((*sent).to_owned());
        };
        if hex::encode(Sha256::digest(&text)) != hash {
            let reason = "isn't the SHA-256 of the text that came with it";
            return Err(Error::bad_input("extensions.persistedQuery.sha256Hash", reason));
        }
        let text = self.admit(text)?;
        if text.len() <= MAX_SENT {
            self.sent.insert(hash, text.as_str().into());
        }
        Ok(text)
    }

    /// Checks a document that was sent in full.
    fn admit(&self, text: String) -> Result<String, Error> {
        if self.mode == DocumentsMode::Off || self.trusted().texts.contains(text.trim()) {
            return Ok(text);
        }
        if self.mode == DocumentsMode::Only {
            return Err(Error::UntrustedDocument);
        }
        self.log(&text);
        Ok(text)
    }

    fn log(&self, text: &str) {
        let digest: [u8; 32] = Sha256::digest(text).into();
        let mut logged = self.logged.write().unwrap_or_else(PoisonError::into_inner);
        if logged.len() < MAX_LOGGED && logged.insert(digest) {
            let end = text.char_indices().nth(MAX_LOGGED_TEXT).map_or(text.len(), |(end, _)| end);
            let text = &text[..end];
            tracing::warn!(
                event = "untrusted_document",
                sha256 = hex::encode(digest),
                text,
                "a document is not trusted"
            );
        }
    }

    fn trusted(&self) -> Arc<Trusted> {
        Arc::clone(&self.trusted.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reloads the trusted documents whenever their files change. If that fails, the last good ones are kept.
    pub(super) async fn keep_current(&self) {
        let Some(path) = &self.path else { return };
        self.trusted().warn_if_none(path);
        let (mut failed, mut is_unreadable) = (None, false);
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let files = match file_states(path) {
                Ok(files) => files,
                Err(error) => {
                    if !mem::replace(&mut is_unreadable, true) {
                        tracing::warn!(
                            event = "trusted_documents_unreadable",
                            path = %path.display(),
                            fault = unread(&error),
                            "the files of the trusted documents can't be found; the previous documents are kept"
                        );
                    }
                    continue;
                }
            };
            is_unreadable = false;
            if files == self.trusted().files || failed.as_ref() == Some(&files) {
                continue;
            }
            match read(path) {
                Ok(trusted) => {
                    tracing::info!(
                        event = "trusted_documents_reloaded",
                        documents = trusted.texts.len(),
                        "the trusted documents were reloaded"
                    );
                    trusted.warn_if_none(path);
                    let mut current = self.trusted.write().unwrap_or_else(PoisonError::into_inner);
                    *current = Arc::new(trusted);
                }
                Err(fault) => {
                    tracing::error!(
                        event = "trusted_documents_reload_failed",
                        %fault,
                        "the trusted documents could not be reloaded; the previous ones are kept"
                    );
                    failed = Some(files);
                }
            }
        }
    }
}

/// The current size and modification time of each file.
fn file_states(path: &Path) -> io::Result<FileStates> {
    let state = |path: PathBuf| {
        let known = fs::metadata(&path)?;
        Ok((path, (known.len(), known.modified().ok())))
    };
    files(path)?.into_iter().map(state).collect()
}

/// The manifest itself, or the `.graphql` files of the folder and its subfolders.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "graphql" || extension == "gql")
        {
            found.push(path);
        }
    }
    Ok(found)
}

/// A manifest in Apollo's or Relay's format.
/// <https://www.apollographql.com/docs/graphos/routing/security/persisted-queries>
/// <https://relay.dev/docs/guides/persisted-queries/>
#[derive(Deserialize)]
#[serde(untagged)]
enum Manifest {
    Apollo { format: String, operations: Vec<Operation> },
    Relay(HashMap<String, String>),
}

#[derive(Deserialize)]
struct Operation {
    id: String,
    body: String,
}

fn read(path: &Path) -> Result<Trusted, DocumentsError> {
    let fault = |reason: String| DocumentsError { path: path.to_owned(), reason };
    let files = file_states(path).map_err(|error| fault(unread(&error)))?;
    let mut trusted = Trusted { files, ..Trusted::default() };
    if path.is_dir() {
        for file in trusted.files.keys().cloned().collect::<Vec<_>>() {
            let text = fs::read_to_string(&file);
            let name = file.strip_prefix(path).unwrap_or(&file);
            let text =
                text.map_err(|error| fault(format!("{}: {}", name.display(), unread(&error))))?;
            let name = name.with_extension("");
            trusted.add(name.display().to_string(), &text).map_err(&fault)?;
        }
        return Ok(trusted);
    }
    let text = fs::read_to_string(path).map_err(|error| fault(unread(&error)))?;
    let manifest = serde_json::from_str(&text).map_err(|error| fault(no_manifest(&error)))?;
    match manifest {
        Manifest::Apollo { format, .. } if format != "apollo-persisted-query-manifest" => {
            return Err(fault(format!("{format} is no format that is known here")));
        }
        Manifest::Apollo { operations, .. } => {
            for Operation { id, body } in operations {
                trusted.add(id, &body).map_err(&fault)?;
            }
        }
        Manifest::Relay(texts) => {
            for (id, text) in texts {
                trusted.add(id, &text).map_err(&fault)?;
            }
        }
    }
    Ok(trusted)
}

fn no_manifest(fault: &serde_json::Error) -> String {
    let (line, column) = (fault.line(), fault.column());
    match fault.classify() {
        Category::Data => "is neither Apollo's nor Relay's manifest".to_owned(),
        _ => format!("isn't JSON (line {line}, column {column})"),
    }
}

/// The message for a GraphQL document that can't be parsed.
fn no_document(fault: &parser::Error) -> String {
    let at = fault.positions().next();
    let at = at.map(|at| format!(" (line {}, column {})", at.line, at.column)).unwrap_or_default();
    format!("isn't a GraphQL document{at}")
}

impl Trusted {
    /// Warns the operator if there is no document at the path.
    fn warn_if_none(&self, path: &Path) {
        if self.texts.is_empty() {
            tracing::warn!(
                event = "trusted_documents_none",
                path = %path.display(),
                "there are no trusted documents"
            );
        }
    }

    /// Adds a document under its id and under the SHA-256 of its bytes, both as given and trimmed.
    fn add(&mut self, id: String, text: &str) -> Result<(), String> {
        let text: Arc<str> = text.into();
        if let Err(error) = parser::parse_query(&*text) {
            return Err(format!("{id}: {}", no_document(&error)));
        }
        let trimmed: Arc<str> = text.trim().into();
        let hashes = [&text, &trimmed].map(|text| hex::encode(Sha256::digest(&**text)));
        for id in hashes.into_iter().chain([id]) {
            self.by_id.insert(id, Arc::clone(&text));
        }
        self.texts.insert(trimmed);
        Ok(())
    }
}
