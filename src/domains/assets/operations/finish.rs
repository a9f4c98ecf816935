//! The end of an upload: its commit or abort.

use super::{
    super::{
        documents::{AssetDocument, AssetKind, Upload},
        store::{self, Finish, Purpose},
        types::{AssetConflict, FileTooLarge},
    },
    not_found,
    receive::{Ended, Opened},
    removal::{discard, settle},
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Op},
    graphql::refusals::{Conflict, NotFound, Stop},
    mongo::Outcome,
};

/// An upload that has begun.
pub(super) struct Begun<'a> {
    pub(super) asset: AssetDocument,
    pub(super) upload: Upload,
    pub(super) purpose: Purpose<'a>,
    /// The op, with a digest of the input without the file; `None` if the caller gave no idempotency key.
    pub(super) op: Option<&'a Op>,
}

/// The op with the digest of the file added to its input: the same idempotency key with another file is a conflict.
pub(super) fn with_file(op: &Op, digest: &str) -> Op {
    Op { id: op.id.clone(), input: format!("{}.{digest}", op.input) }
}

impl Begun<'_> {
    /// Receives the file and commits the upload.
    pub(super) async fn fill<U>(
        self,
        app: &App,
        opened: Opened,
        attempt: &Attempt,
    ) -> Result<AssetDocument, Stop<U>>
    where
        U: From<FileTooLarge> + From<AssetConflict> + From<Conflict> + From<NotFound>,
    {
        let id = &self.asset.id;
        let (file, media) = match opened.store(app, id, &self.upload, attempt).await {
            Ok(stored) => stored,
            Err(Ended::Failed(error)) => return Err(error.into()),
            Err(Ended::Client(error)) => {
                self.give_up(app).await;
                return Err(error.into());
            }
            Err(Ended::TooLarge) => {
                self.give_up(app).await;
                return Err(FileTooLarge::above(app.config().asset_bytes).into());
            }
            Err(Ended::Lost) => {
                self.discard(app).await;
                return Err(taken_over().into());
            }
        };
        let op = self.op.map(|op| with_file(op, &file.digest));
        let finish = Finish {
            id,
            token: &self.upload.token,
            file: &file,
            kind: if file.width.is_some() { AssetKind::Photo } else { AssetKind::File },
            attributes: &media.attributes,
            nonce: &app.ids().random(),
            purpose: self.purpose,
            op: op.as_ref(),
        };
        match store::finish(app, finish).await {
            Outcome::Applied(after) => {
                settle(app, &after).await;
                Ok(after)
            }
            Outcome::Unknown(error) => Err(error.into()),
            Outcome::Refused => self.explain(app, op.as_ref(), attempt).await,
        }
    }

    /// Why the commit was refused. A repeat may have been committed first.
    async fn explain<U>(
        &self,
        app: &App,
        op: Option<&Op>,
        attempt: &Attempt,
    ) -> Result<AssetDocument, Stop<U>>
    where
        U: From<AssetConflict> + From<Conflict> + From<NotFound>,
    {
        let found = store::find(app, &self.asset.id).await?;
        let is_there = |asset: &AssetDocument| asset.deleting.or(asset.deleted_at).is_none();
        let Some(asset) = found.filter(is_there) else {
            self.discard(app).await;
            return Err(not_found(&self.asset.id).into());
        };
        let is_mine = asset.upload.as_ref().is_some_and(|own| own.token == self.upload.token);
        if is_mine {
            self.give_up(app).await;
        } else {
            self.discard(app).await;
        }
        if let Some(op) = op
            && op.is_applied(&asset.ops)?
        {
            return Ok(asset);
        }
        if op.is_some_and(|op| asset.origin.as_ref() == Some(&op.input)) {
            return Ok(asset);
        }
        if !is_mine {
            return Err(taken_over().into());
        }
        if op.is_some() {
            let reason = "the asset was replaced too often: come again later";
            app.bounds().demand_room(&asset.ops, attempt, reason)?;
        }
        Err(AssetConflict::with(asset).into())
    }

    /// Aborts the upload. Failures are logged and left to the sweep.
    pub(super) async fn give_up(&self, app: &App) {
        match store::abandon(app, &self.asset.id, &self.upload.token, None).await {
            Outcome::Applied(asset) => settle(app, &asset).await,
            Outcome::Refused => self.discard(app).await,
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
    async fn discard(&self, app: &App) {
        if let Err(error) = discard(app, self.upload.blob).await {
            tracing::warn!(
                event = "asset_blob_removal_failed",
                asset = self.asset.id,
                ?error,
                "the blob of an upload could not be removed; the sweep repeats it"
            );
        }
    }
}

fn taken_over() -> Error {
    Error::unavailable("the upload was given up, or a repeat of it took over")
}
