//! File contents in GridFS, which every MongoDB tool can read. Each chunk of a file is a document, and one more
//! document describes the file. The room that owns the file writes that document last.
//! <https://github.com/mongodb/specifications/blob/master/source/gridfs/gridfs-spec.md>
//!
//! The driver's own streams accept no bytes while a chunk is in flight, and can't start in the middle of a file.
//! Here the next chunks are filled or requested while the previous ones are in flight.

use std::{fmt, mem, ops::Range, time::Duration};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use mongodb::{
    bson::{Document, RawDocumentBuf, doc, oid::ObjectId, raw::cstr, spec::BinarySubtype},
    options::{Hint, ReadConcern},
};
use sha2::{Digest, Sha256};
use tokio::task::JoinHandle;

use super::{
    collection::{Collection, Stored},
    driver::{Raw, insert},
    indexes::Index,
    lists::{List, find_many},
};
use crate::error::Error;

/// Size in bytes of each chunk but the last, as the specification recommends.
pub const CHUNK: usize = 255 * 1024;
/// Chunks per command.
const CHUNKS_PER_COMMAND: usize = 4;
/// Commands of one download that are in flight or not consumed yet.
const COMMANDS_AHEAD: usize = 2;
/// Time limit of commands that examine many chunks.
const BULK_TIMEOUT: Duration = Duration::from_secs(300);

/// The index of a files collection, as drivers create it.
pub const FILES: Index = Index::plain(
    "filename_1_uploadDate_1",
    "filename uploadDate",
    "files by name, for other tools",
);

/// The indexes of a chunks collection, as drivers create them.
pub const CHUNKS: &[Index] =
    &[Index::unique("files_id_1_n_1", "files_id n", "the chunks of a file, in order")];

/// The collection that holds the chunks of one bucket.
#[derive(Clone)]
pub struct Chunks {
    raw: Raw,
    limit: Duration,
}

impl fmt::Debug for Chunks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Chunks({})", self.raw.name())
    }
}

impl Chunks {
    /// The chunks in the collection of `T`.
    pub fn of<T: Stored>(collection: &Collection<T>) -> Self {
        Self { raw: collection.inner(), limit: collection.loader().limit() }
    }

    /// Begins to write a new file.
    pub fn write(&self, file: ObjectId) -> Writer {
        Writer {
            chunks: self.clone(),
            file,
            next: 0,
            filling: Vec::with_capacity(CHUNK),
            full: Vec::with_capacity(CHUNKS_PER_COMMAND),
            sent: None,
            digest: Sha256::new(),
            length: 0,
        }
    }

    /// Streams a range of the bytes of a file of this `length`, in order. A chunk that is missing or has
    /// another size ends the stream with an error.
    pub fn read(
        &self,
        file: ObjectId,
        length: u64,
        bytes: Range<u64>,
    ) -> impl Stream<Item = Result<Bytes, Error>> + Send + use<> {
        let size = CHUNK as u64;
        let (first, end) = (bytes.start / size, bytes.end.div_ceil(size));
        let end = if bytes.is_empty() { first } else { end };
        let chunks = self.clone();
        stream::iter((first..end).step_by(CHUNKS_PER_COMMAND))
            .map(move |from| {
                let chunks = chunks.clone();
                let upto = end.min(from + CHUNKS_PER_COMMAND as u64);
                async move { chunks.find(file, length, from..upto).await }
            })
            .buffered(COMMANDS_AHEAD)
            .map_ok(|found| stream::iter(found.into_iter().map(Ok)))
            .try_flatten()
            .map_ok(move |(start, chunk)| {
                // The requested part of this chunk.
                let from = bytes.start.saturating_sub(start);
                let upto = (bytes.end - start).min(chunk.len() as u64);
                let offset = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
                chunk.slice(offset(from)..offset(upto))
            })
    }

    /// Reads some chunks, each with the offset at which it begins.
    async fn find(
        &self,
        file: ObjectId,
        length: u64,
        numbers: Range<u64>,
    ) -> Result<Vec<(u64, Bytes)>, Error> {
        let number = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        let list = List {
            filter: doc! {
                "files_id": file,
                "n": { "$gte": number(numbers.start), "$lt": number(numbers.end) },
            },
            sort: doc! { "files_id": 1, "n": 1 },
            limit: number(numbers.end - numbers.start),
            hint: Some(CHUNKS[0].name),
            ..List::default()
        };
        let found = find_many(self.raw.clone(), list, self.limit).await?;
        let mut found = found.into_iter();
        numbers
            .map(|number| {
                let start = number * CHUNK as u64;
                let chunk = found.next().and_then(|document| data_of(document, number));
                let expected = (CHUNK as u64).min(length.saturating_sub(start));
                let whole = chunk.filter(|chunk| chunk.len() as u64 == expected);
                let missing = || Error::internal(format!("chunk {number} of {file} isn't whole"));
                Ok((start, whole.ok_or_else(missing)?))
            })
            .collect()
    }

    /// Removes all chunks of a file.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some chunks may have been removed, and the call may be repeated.
    pub async fn remove(&self, file: ObjectId) -> Result<u64, Error> {
        let raw = self.raw.clone();
        let removed = self.raw.send_within(BULK_TIMEOUT, "delete", async move {
            Ok(raw.delete_many(doc! { "files_id": file }).await?.deleted_count)
        });
        removed.await
    }

    /// Number of chunks of a file.
    pub async fn count(&self, file: ObjectId) -> Result<u64, Error> {
        let (raw, limit) = (self.raw.clone(), self.limit);
        let counted = self.raw.send("aggregate", async move {
            raw.count_documents(doc! { "files_id": file }).max_time(limit).await
        });
        counted.await
    }

    /// Ids of the files in this range, its end excluded, for which chunks exist. One index key is examined
    /// per file.
    pub async fn files(&self, ids: Range<ObjectId>) -> Result<Vec<ObjectId>, Error> {
        let raw = self.raw.clone();
        let pipeline = vec![
            doc! { "$match": { "files_id": { "$gte": ids.start, "$lt": ids.end } } },
            doc! { "$group": { "_id": "$files_id" } },
        ];
        let found: Vec<Document> = self
            .raw
            .send_within(BULK_TIMEOUT, "aggregate", async move {
                let found = raw.aggregate(pipeline).hint(Hint::Name(CHUNKS[0].name.to_owned()));
                found
                    .allow_disk_use(true)
                    .read_concern(ReadConcern::majority())
                    .await?
                    .try_collect()
                    .await
            })
            .await?;
        found.iter().map(|file| file.get_object_id("_id").map_err(Error::internal)).collect()
    }
}

/// The bytes of a chunk if it has this number, without copying them.
fn data_of(document: RawDocumentBuf, number: u64) -> Option<Bytes> {
    /// A chunk's document as the owner of its bytes.
    struct Data(RawDocumentBuf);

    impl AsRef<[u8]> for Data {
        fn as_ref(&self) -> &[u8] {
            self.0.get_binary("data").map_or(&[], |data| data.bytes)
        }
    }

    let found = document.get_i32("n").ok().and_then(|n| u64::try_from(n).ok());
    (found == Some(number)).then(|| Bytes::from_owner(Data(document)))
}

/// A file that is being written. Full chunks are sent while the next ones fill. They aren't visible before
/// the file's own document is written.
pub struct Writer {
    chunks: Chunks,
    file: ObjectId,
    /// Number of the chunk that is being filled.
    next: i32,
    filling: Vec<u8>,
    full: Vec<RawDocumentBuf>,
    /// The command in flight.
    sent: Option<JoinHandle<Result<Vec<usize>, Error>>>,
    digest: Sha256,
    length: u64,
}

impl fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Writer({} of {})", self.length, self.file)
    }
}

/// A written file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Length in bytes.
    pub length: u64,
    /// SHA-256 of the bytes.
    pub digest: [u8; 32],
}

impl Writer {
    /// Adds the next bytes. Waits for the command in flight before another one is sent.
    ///
    /// # Errors
    /// Earlier chunks couldn't be written, or their outcome is unknown.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        self.digest.update(bytes);
        self.length += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK - self.filling.len()));
            self.filling.extend_from_slice(now);
            bytes = later;
            if self.filling.len() == CHUNK {
                self.fill()?;
            }
            if self.full.len() == CHUNKS_PER_COMMAND {
                self.send().await?;
            }
        }
        Ok(())
    }

    /// Moves the current chunk, which is full or the last, to the chunks to send.
    fn fill(&mut self) -> Result<(), Error> {
        self.full.push(document(self.file, self.next, &self.filling));
        self.filling.clear();
        self.next = self.next.checked_add(1).ok_or_else(|| Error::internal("too many chunks"))?;
        Ok(())
    }

    async fn send(&mut self) -> Result<(), Error> {
        self.wait().await?;
        let full = mem::replace(&mut self.full, Vec::with_capacity(CHUNKS_PER_COMMAND));
        self.sent = Some(tokio::spawn(insert(self.chunks.raw.clone(), full)));
        Ok(())
    }

    /// Waits for the command in flight.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub async fn wait(&mut self) -> Result<(), Error> {
        let Some(sent) = self.sent.take() else { return Ok(()) };
        match sent.await.map_err(Error::internal)?? {
            taken if taken.is_empty() => Ok(()),
            _ => Err(Error::internal("a chunk's number was taken")),
        }
    }

    /// Writes the rest. After that, a majority holds all chunks.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub async fn finish(mut self) -> Result<Written, Error> {
        if !self.filling.is_empty() {
            self.fill()?;
        }
        if !self.full.is_empty() {
            self.send().await?;
        }
        self.wait().await?;
        Ok(Written { length: self.length, digest: self.digest.finalize().into() })
    }
}

/// A chunk in its stored form.
fn document(file: ObjectId, number: i32, bytes: &[u8]) -> RawDocumentBuf {
    let data = mongodb::bson::raw::RawBinaryRef { subtype: BinarySubtype::Generic, bytes };
    let mut document = RawDocumentBuf::new();
    document.append(cstr!("_id"), ObjectId::new());
    document.append(cstr!("files_id"), file);
    document.append(cstr!("n"), number);
    document.append(cstr!("data"), data);
    document
}
