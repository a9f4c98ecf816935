//! Receives files: examines their beginning, then writes them chunk by chunk.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt, stream::BoxStream};
use mongodb::bson::oid::ObjectId;
use sha2::{Digest, Sha256};

use super::{
    super::{
        documents::{BlobDocument, BlobMetadata, FileFacts, Upload},
        store,
        types::{FileTooLarge, MediaTypeNotAllowed},
    },
    checks,
    media::{self, Media},
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::{refusals::Stop, upload::Incoming},
    mongo::{Outcome, gridfs::CHUNK},
};

/// A file whose beginning was read and examined.
pub(super) struct Opened {
    /// Its name.
    pub(super) name: String,
    /// Its detected media type and metadata.
    pub(super) media: Media,
    head: Vec<u8>,
    rest: BoxStream<'static, Result<Bytes, Error>>,
    since: Instant,
}

/// Reads the beginning of a file, without writing anything.
///
/// # Errors
/// The media type isn't allowed, or the beginning doesn't arrive.
pub(super) async fn open<U>(app: &App, incoming: Incoming) -> Result<Opened, Stop<U>>
where
    U: From<FileTooLarge> + From<MediaTypeNotAllowed>,
{
    let since = Instant::now();
    let Incoming { name, media_type, bytes: mut rest } = incoming;
    let mut head = Vec::new();
    let mut is_all = false;
    let config = app.config();
    while head.len() < CHUNK {
        let Some(piece) = rest.next().await.transpose()? else {
            is_all = true;
            break;
        };
        head.extend_from_slice(&piece);
        in_time(app, since)?;
    }
    if head.len() as u64 > config.asset_bytes {
        return Err(FileTooLarge::above(config.asset_bytes).into());
    }
    let (head, media) = media::look(head, is_all, media_type).await;
    if !config.asset_types.iter().any(|allowed| is_of(&media.kind, allowed)) {
        return Err(MediaTypeNotAllowed::new(&media.kind, &config.asset_types).into());
    }
    Ok(Opened { name: checks::file_name(&name), media, head, rest, since })
}

/// Checks that an upload that began then hasn't exceeded its maximum duration.
fn in_time(app: &App, since: Instant) -> Result<(), Error> {
    if since.elapsed() > Duration::from_secs(app.config().asset_transfer_seconds) {
        return Err(Error::bad_input("body", "took longer than an upload may"));
    }
    Ok(())
}

/// Whether a media type matches an allowed type or range.
fn is_of(media_type: &str, allowed: &str) -> bool {
    allowed == "*/*"
        || allowed == media_type
        || allowed.strip_suffix('*').is_some_and(|kind| media_type.starts_with(kind))
}

/// Why a file wasn't received.
pub(super) enum Ended {
    /// Caused by the client; every command that was sent to MongoDB was answered.
    Client(Error),
    /// The file exceeds the maximum size.
    TooLarge,
    /// Another attempt has the upload; every command that was sent to MongoDB was answered.
    Lost,
    /// It is unknown what was written: the sweep removes it.
    Failed(Error),
}

impl Opened {
    /// SHA-256 of the file, without writing it.
    ///
    /// # Errors
    /// The file doesn't arrive, not in time, or is too large.
    pub(super) async fn digest<U: From<FileTooLarge>>(
        mut self,
        app: &App,
    ) -> Result<String, Stop<U>> {
        let most = app.config().asset_bytes;
        let mut length = self.head.len() as u64;
        let mut digest = Sha256::new();
        digest.update(&self.head);
        while let Some(piece) = self.rest.next().await {
            let piece = piece?;
            length += piece.len() as u64;
            if length > most {
                return Err(FileTooLarge::above(most).into());
            }
            digest.update(&piece);
            in_time(app, self.since)?;
        }
        Ok(hex::encode(digest.finalize()))
    }

    /// Writes the file into the blob of an upload, followed by the blob's own document.
    pub(super) async fn store(
        mut self,
        app: &App,
        id: &str,
        upload: &Upload,
        attempt: &Attempt,
    ) -> Result<(FileFacts, Media), Ended> {
        let mut writer = store::chunks(app).write(upload.blob);
        let most = app.config().asset_bytes;
        let pause = Duration::from_secs(app.config().asset_stall_seconds) / 4;
        let mut renewed = Instant::now();
        writer.write(&self.head).await.map_err(Ended::Failed)?;
        self.head = Vec::new();
        while let Some(piece) = self.rest.next().await {
            let ended = match piece {
                Ok(piece) if writer.length() + piece.len() as u64 <= most => {
                    writer.write(&piece).await.map_err(Ended::Failed)?;
                    None
                }
                Ok(_) => Some(Ended::TooLarge),
                Err(error) => Some(Ended::Client(error)),
            };
            let ended = ended.or_else(|| in_time(app, self.since).err().map(Ended::Client));
            let ended = match ended {
                None if renewed.elapsed() >= pause => {
                    renewed = Instant::now();
                    match store::renew(app, id, &upload.token).await {
                        Outcome::Applied(_) => None,
                        Outcome::Refused => Some(Ended::Lost),
                        Outcome::Unknown(error) => return Err(Ended::Failed(error)),
                    }
                }
                ended => ended,
            };
            if let Some(ended) = ended {
                writer.wait().await.map_err(Ended::Failed)?;
                return Err(ended);
            }
        }
        let written = writer.finish().await.map_err(Ended::Failed)?;
        let file = FileFacts {
            blob: upload.blob,
            length: i64::try_from(written.length).unwrap_or(i64::MAX),
            digest: hex::encode(written.digest),
            media_type: self.media.kind.clone(),
            name: self.name,
            width: self.media.size.map(|(width, _)| width),
            height: self.media.size.map(|(_, height)| height),
            at: attempt.now(),
        };
        match store::insert_blob(app, blob(&file)).await {
            Outcome::Applied(()) => Ok((file, self.media)),
            Outcome::Refused => Err(Ended::Failed(Error::internal("a blob's id was taken"))),
            Outcome::Unknown(error) => Err(Ended::Failed(error)),
        }
    }
}

fn blob(file: &FileFacts) -> BlobDocument {
    BlobDocument {
        id: file.blob,
        length: file.length,
        chunk_size: i32::try_from(CHUNK).unwrap_or(i32::MAX),
        upload_date: file.at,
        filename: file.name.clone(),
        metadata: BlobMetadata {
            content_type: file.media_type.clone(),
            sha256: file.digest.clone(),
            remove_after: None,
        },
    }
}

/// A new upload. The id of its blob contains the current time.
pub(super) fn begin(app: &App, op: &str, attempt: &Attempt) -> Upload {
    let seconds = u32::try_from(attempt.now().timestamp_millis() / 1_000).unwrap_or(u32::MAX);
    let mut id = [0; 12];
    id[..4].copy_from_slice(&seconds.to_be_bytes());
    id[4..].copy_from_slice(&app.ids().random_bytes()[..8]);
    let blob = ObjectId::from_bytes(id);
    Upload { token: app.ids().random(), blob, at: attempt.now(), op: op.to_owned() }
}
