//! Documents in the files of an export: one line each, compressed or not.

use std::io::{self, BufRead, BufReader, Write};

use clap::ValueEnum;
use flate2::{bufread::MultiGzDecoder, write::GzEncoder};
use mongodb::{bson::RawArray, raw_batch_cursor::RawBatch};
use serde::{Deserialize, Serialize};

use super::ext_json;

/// How files are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum Compression {
    /// By zstd.
    Zstd,
    /// By gzip.
    Gzip,
    /// Not at all.
    None,
}

/// Level of zstd: the quickest of the usual ones.
const ZSTD_LEVEL: i32 = 1;
/// Size in bytes of what is given to the compressor at once.
const CHUNK: usize = 1 << 17;
/// Size in bytes of the buffers of reads.
pub(in crate::cli) const BUFFER: usize = 256 << 10;
/// The first bytes of a gzip stream (RFC 1952) and of a zstd frame (RFC 8878).
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Documents of one batch, as a part of a file.
#[derive(Debug, Default)]
pub(super) struct Packed {
    pub(super) bytes: Vec<u8>,
    pub(super) documents: u64,
    /// Size of the documents as MongoDB sent them, in bytes.
    pub(super) size: u64,
}

impl Compression {
    /// How a file with this start is compressed. It is known by the first four bytes.
    pub(in crate::cli) fn of(start: &[u8]) -> Self {
        if start.starts_with(&GZIP) {
            Self::Gzip
        } else if start.starts_with(&ZSTD) {
            Self::Zstd
        } else {
            Self::None
        }
    }

    /// The end of the names of files.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Zstd => "jsonl.zst",
            Self::Gzip => "jsonl.gz",
            Self::None => "jsonl",
        }
    }

    /// Packs a batch into `bytes`, which is empty. The parts of a file are independent frames or members, which every
    /// decompressor joins.
    pub(super) fn pack(self, batch: &RawBatch, bytes: Vec<u8>) -> Result<Packed, Unpackable> {
        self.pack_all(batch.doc_slices().map_err(Unpackable::because)?, bytes)
    }

    /// The file of a collection without documents.
    pub(super) fn pack_none(self) -> Result<Packed, Unpackable> {
        let bytes = self.encoder(Vec::new()).and_then(Encoder::finish)?;
        Ok(Packed { bytes, ..Packed::default() })
    }

    fn pack_all(self, batch: &RawArray, bytes: Vec<u8>) -> Result<Packed, Unpackable> {
        let (mut packed, mut encoder) = (Packed::default(), self.encoder(bytes)?);
        let mut text = Vec::with_capacity(2 * CHUNK);
        for document in batch {
            let document = document.map_err(Unpackable::because)?;
            let document =
                document.as_document().ok_or_else(|| Unpackable::because("no document"))?;
            packed.documents += 1;
            packed.size += document.as_bytes().len() as u64;
            ext_json::write(document, &mut text).map_err(|fault| {
                let id = document.get("_id").ok().flatten();
                Unpackable::Document(format!("the document with _id {id:?} {fault}"))
            })?;
            text.push(b'\n');
            if text.len() >= CHUNK {
                encoder.write_all(&text)?;
                text.clear();
            }
        }
        encoder.write_all(&text)?;
        packed.bytes = encoder.finish()?;
        Ok(packed)
    }

    fn encoder(self, bytes: Vec<u8>) -> io::Result<Encoder> {
        Ok(match self {
            Self::Zstd => Encoder::Zstd(zstd::stream::write::Encoder::new(bytes, ZSTD_LEVEL)?),
            Self::Gzip => Encoder::Gzip(GzEncoder::new(bytes, flate2::Compression::fast())),
            Self::None => Encoder::None(bytes),
        })
    }

    /// The content of a file.
    ///
    /// # Errors
    /// The decompressor can't be created.
    pub(in crate::cli) fn unpacked(
        self,
        file: impl BufRead + Send + 'static,
    ) -> io::Result<Box<dyn BufRead + Send>> {
        Ok(match self {
            Self::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(file)?;
                Box::new(BufReader::with_capacity(BUFFER, decoder))
            }
            Self::Gzip => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(file))),
            Self::None => Box::new(file),
        })
    }
}

enum Encoder {
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    Gzip(GzEncoder<Vec<u8>>),
    None(Vec<u8>),
}

impl Encoder {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Zstd(encoder) => encoder.write_all(bytes),
            Self::Gzip(encoder) => encoder.write_all(bytes),
            Self::None(whole) => whole.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Zstd(encoder) => encoder.finish(),
            Self::Gzip(encoder) => encoder.finish(),
            Self::None(whole) => Ok(whole),
        }
    }
}

/// A batch can't be packed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unpackable {
    /// A document has no form in Extended JSON; contains the reason.
    #[error("{0}")]
    Document(String),
    /// The compressor failed.
    #[error("the compression failed: {0}")]
    Compression(#[from] io::Error),
}

impl Unpackable {
    fn because(reason: impl ToString) -> Self {
        Self::Document(reason.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use mongodb::bson::{RawArrayBuf, RawDocumentBuf, doc};

    use super::*;

    fn array(ids: std::ops::Range<i32>) -> RawArrayBuf {
        let mut array = RawArrayBuf::new();
        for id in ids {
            array.push(RawDocumentBuf::try_from(&doc! { "_id": id }).expect("a document"));
        }
        array
    }

    #[test]
    fn the_parts_of_a_file_are_read_as_one() {
        for compression in [Compression::Zstd, Compression::Gzip, Compression::None] {
            let mut file = compression.pack_none().expect("packed").bytes;
            for ids in [0..2, 2..20_000] {
                let packed = compression.pack_all(&array(ids.clone()), Vec::new()).expect("packed");
                assert_eq!(packed.documents, u64::try_from(ids.len()).expect("few"));
                assert_eq!(packed.size, packed.documents * 14);
                file.extend(packed.bytes);
            }
            let lines = compression.unpacked(Cursor::new(file)).expect("a reader").lines();
            let lines: Vec<String> = lines.map(|line| line.expect("a line")).collect();
            assert_eq!(lines.len(), 20_000);
            assert_eq!(lines[19_999], r#"{"_id":{"$numberInt":"19999"}}"#);
        }
    }
}
