//! A reserved upload: it receives its file, and is committed or aborted.

use std::time::{Duration, Instant};

use super::{
    super::{
        documents::{AssetDocument, FileFacts, Upload},
        store::{self, Expected, NotCommitted},
        types::{
            AssetConflict, FileTooLarge, MediaTypeNotAllowed, ReplaceAssetResult, UploadAssetResult,
        },
    },
    Changed,
    blobs::{self, discard_uncommitted},
    changes::settle,
    not_found,
    receive::OpenFile,
};
use crate::{
    graphql::{prelude::*, refusals::AnyRefusal},
    mongo::Outcome,
};

/// The refusals of every upload.
pub(super) trait Refusals:
    From<NotFound>
    + From<InUse>
    + From<AssetConflict>
    + From<Conflict>
    + From<FileTooLarge>
    + From<InvalidInput>
    + From<MediaTypeNotAllowed>
{
}

impl Refusals for UploadAssetResult {}
impl Refusals for ReplaceAssetResult {}
impl Refusals for AnyRefusal {}

/// A reserved upload. Nothing but the owner of its token can commit it.
pub(super) struct Reservation<'a> {
    pub(super) app: &'a App,
    pub(super) asset: AssetDocument,
    pub(super) upload: Upload,
    /// What a replacement expects; `None` for the first file of an asset.
    pub(super) expected: Option<&'a Expected>,
    /// The op, with a digest of the input without the file; `None` if the caller gave no idempotency key.
    pub(super) op: Option<&'a Op>,
}

impl Reservation<'_> {
    /// Receives the file and commits the upload.
    pub(super) async fn fill<U: Refusals>(
        self,
        mut file: OpenFile<'_>,
        attempt: &Attempt,
    ) -> Changed<U> {
        let Self { app, asset, upload: Upload { token, .. }, expected, op } = &self;
        let facts = self.receive(&mut file, attempt).await?;
        let op = op.map(|op| with_file(op, &facts.digest));
        let (op, read) = (op.as_ref(), &file.media.attributes);
        let commit = store::commit(app, &asset.id, token, *expected, &facts, read, op);
        let assets = store::assets(app);
        let Some(after) = assets.change(commit.clone()).after().await? else {
            return self.explain(&commit, op, attempt).await;
        };
        settle(app, &after).await;
        Ok(after)
    }

    /// Writes the file into the upload's blob, followed by the blob's own document. If the client or another
    /// attempt ends the upload, its blob is removed as soon as every command that was sent is answered. After
    /// another error it is unknown what was written, and the sweep removes it.
    async fn receive<U: Refusals>(
        &self,
        file: &mut OpenFile<'_>,
        attempt: &Attempt,
    ) -> Result<FileFacts, Stop<U>> {
        let (app, Upload { token, blob, .. }) = (self.app, &self.upload);
        let pause = Duration::from_secs(app.config().asset_stall_seconds) / 4;
        let (mut writer, mut renewed) = (store::chunks(app).write(*blob), Instant::now());
        loop {
            match file.next().await {
                Ok(Some(piece)) => writer.write(&piece).await?,
                Ok(None) => break,
                Err(stop) => {
                    writer.wait().await?;
                    self.abort().await;
                    return Err(stop);
                }
            }
            if renewed.elapsed() < pause {
                continue;
            }
            renewed = Instant::now();
            if !store::renew(app, &self.asset.id, token).held().await? {
                writer.wait().await?;
                self.discard().await;
                return Err(taken_over().into());
            }
        }
        let written = writer.finish().await?;
        let facts = FileFacts {
            blob: *blob,
            length: i64::try_from(written.length).unwrap_or(i64::MAX),
            digest: hex::encode(written.digest),
            media_type: file.media.kind.clone(),
            name: file.name.clone(),
            width: file.media.size.map(|(width, _)| width),
            height: file.media.size.map(|(_, height)| height),
            at: attempt.now(),
            renditions: None,
        };
        blobs::insert(app, &facts, None).await?;
        Ok(facts)
    }

    /// Why the commit was refused. A repeat may have been committed first.
    async fn explain<U: Refusals>(
        &self,
        commit: &Change<NotCommitted>,
        op: Option<&Op>,
        attempt: &Attempt,
    ) -> Changed<U> {
        let Self { app, asset: AssetDocument { id, .. }, .. } = self;
        let found = store::assets(app).get_settled(id).await?;
        let broken = found.as_ref().map(|asset| commit.broken(asset, attempt.now()).copied());
        let reason = broken.unwrap_or(Some(NotCommitted::Gone));
        match reason {
            Some(NotCommitted::Gone | NotCommitted::TakenOver) => self.discard().await,
            Some(NotCommitted::Unexpected) | None => self.abort().await,
        }
        let found = found.filter(|_| reason != Some(NotCommitted::Gone));
        let asset = found.ok_or_else(|| not_found(id))?;
        if let Some(op) = op
            && is_committed(op, &asset)?
        {
            return Ok(asset);
        }
        if reason == Some(NotCommitted::TakenOver) {
            return Err(taken_over().into());
        }
        if op.is_some() {
            let reason = "too many replacements of this asset";
            app.bounds().demand_room(&asset.ops, attempt, reason)?;
        }
        Err(AssetConflict::with(asset).into())
    }

    /// Aborts the upload. Failures are logged and left to the sweep.
    pub(super) async fn abort(&self) {
        let abort = store::abort(self.app, &self.asset.id, &self.upload.token, None);
        match abort.send().await {
            Outcome::Applied(asset) => settle(self.app, &asset).await,
            Outcome::Refused => self.discard().await,
            Outcome::Unknown(error) => {
                tracing::warn!(
                    event = "asset_upload_abort_failed",
                    asset = self.asset.id,
                    ?error,
                    "an upload could not be aborted; the sweep repeats it"
                );
            }
        }
    }

    /// Removes the blob after another attempt has taken the upload over.
    async fn discard(&self) {
        discard_uncommitted(self.app, &self.asset.id, self.upload.blob).await;
    }
}

/// The op with the digest of the file added to its input: the same idempotency key with another file is a conflict.
pub(super) fn with_file(op: &Op, digest: &str) -> Op {
    Op { id: op.id.clone(), input: format!("{}.{digest}", op.input) }
}

/// Whether the op, with its file, created the asset or replaced its file.
pub(super) fn is_committed(op: &Op, asset: &AssetDocument) -> Result<bool, OtherInput> {
    Ok(op.is_committed(&asset.ops)? || asset.origin.as_ref() == Some(&op.input))
}

fn taken_over() -> Error {
    Error::unavailable("this upload was aborted, or a repeat of it replaced it")
}
