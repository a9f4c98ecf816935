//! Receives files: the beginning is examined before anything is written.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt, stream::BoxStream};
use sha2::{Digest, Sha256};

use super::{
    super::types::{FileTooLarge, MediaTypeNotAllowed},
    media::{self, Media},
    names,
};
use crate::{
    app::App,
    error::Error,
    graphql::{refusals::Stop, upload::Incoming},
    mongo::gridfs::CHUNK,
};

/// A file whose beginning was read and examined.
pub(super) struct OpenFile<'a> {
    app: &'a App,
    /// Its name.
    pub(super) name: String,
    /// Its detected media type and metadata.
    pub(super) media: Media,
    /// The beginning, until it is read once more.
    head: Option<Bytes>,
    rest: BoxStream<'static, Result<Bytes, Error>>,
    length: u64,
    since: Instant,
}

impl<'a> OpenFile<'a> {
    /// Reads the beginning of a file, without writing anything.
    pub(super) async fn open<U>(app: &'a App, incoming: Incoming) -> Result<Self, Stop<U>>
    where
        U: From<FileTooLarge> + From<MediaTypeNotAllowed>,
    {
        let Incoming { name, media_type, bytes: rest } = incoming;
        let (name, media, since) = (names::file_name(&name), Media::default(), Instant::now());
        let mut file = Self { app, name, media, head: None, rest, length: 0, since };
        let (mut head, mut is_all) = (Vec::new(), false);
        while head.len() < CHUNK && !is_all {
            match file.next().await? {
                Some(piece) => head.extend_from_slice(&piece),
                None => is_all = true,
            }
        }
        let head = Bytes::from(head);
        file.media = media::look(&head, is_all, media_type.as_deref()).await;
        file.head = Some(head);
        let (found, types) = (&file.media.kind, &app.config().asset_types);
        if !types.iter().any(|allowed| is_of(found, allowed)) {
            return Err(MediaTypeNotAllowed::new(found, types).into());
        }
        Ok(file)
    }

    /// The next bytes of the file; first its beginning.
    ///
    /// # Errors
    /// They don't arrive, not in time, or the file is too large.
    pub(super) async fn next<U: From<FileTooLarge>>(&mut self) -> Result<Option<Bytes>, Stop<U>> {
        if let Some(head) = self.head.take() {
            return Ok(Some(head));
        }
        let Some(piece) = self.rest.next().await.transpose()? else { return Ok(None) };
        let config = self.app.config();
        self.length += piece.len() as u64;
        if self.length > config.asset_bytes {
            return Err(FileTooLarge::above(config.asset_bytes).into());
        }
        if self.since.elapsed() > Duration::from_secs(config.asset_transfer_seconds) {
            return Err(Error::bad_input("body", "took longer than an upload may").into());
        }
        Ok(Some(piece))
    }

    /// SHA-256 of the file, without writing it.
    pub(super) async fn digest<U: From<FileTooLarge>>(mut self) -> Result<String, Stop<U>> {
        let mut digest = Sha256::new();
        while let Some(piece) = self.next().await? {
            digest.update(&piece);
        }
        Ok(hex::encode(digest.finalize()))
    }
}

/// Whether a media type matches an allowed type or range.
fn is_of(media_type: &str, allowed: &str) -> bool {
    allowed == "*/*"
        || allowed == media_type
        || allowed.strip_suffix('*').is_some_and(|kind| media_type.starts_with(kind))
}
