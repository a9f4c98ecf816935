//! The end of an upload: decided, or given up.

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
    graphql::refusals::{Conflict, NotFound, Stop},
    mongo::{
        Outcome, Run,
        flow::{Op, Standing, is_full},
    },
};

/// An upload that was begun.
pub(super) struct Begun<'a> {
    pub(super) asset: AssetDocument,
    pub(super) upload: Upload,
    pub(super) purpose: Purpose<'a>,
    /// What was asked for, without the file; none where the caller gave no op id.
    pub(super) op: Option<&'a Op>,
}

/// What was asked for, with the digest of the file: the same op with another file is another.
pub(super) fn with_file(op: &Op, digest: &str) -> Op {
    Op { id: op.id.clone(), input: format!("{}.{digest}", op.input) }
}

impl Begun<'_> {
    /// Takes the file in and decides.
    ///
    /// # Errors
    /// A refusal, or trouble.
    pub(super) async fn fill<U>(
        self,
        app: &App,
        opened: Opened,
        run: &Run,
    ) -> Result<AssetDocument, Stop<U>>
    where
        U: From<FileTooLarge> + From<AssetConflict> + From<Conflict> + From<NotFound>,
    {
        let id = &self.asset.id;
        let (file, media) = match opened.store(app, id, &self.upload, run).await {
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
            Outcome::Refused => self.explain(app, op.as_ref(), run).await,
        }
    }

    /// Why the decision was refused: a repeat may have come first.
    async fn explain<U>(
        &self,
        app: &App,
        op: Option<&Op>,
        run: &Run,
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
        match op.map(|op| op.standing(&op.id, &asset.ops)) {
            Some(Standing::Applied) => return Ok(asset),
            Some(Standing::OtherInput) => return Err(Conflict::other_input().into()),
            _ => {}
        }
        if op.is_some_and(|op| asset.origin.as_ref() == Some(&op.input)) {
            return Ok(asset);
        }
        if !is_mine {
            return Err(taken_over().into());
        }
        if op.is_some() && is_full(&asset.ops, run.now(), app.bounds()) {
            let reason = "the asset was replaced too often: come again later";
            return Err(Error::RateLimited(reason).into());
        }
        Err(AssetConflict::with(asset).into())
    }

    /// Nobody is to finish it any more. What fails is left to the sweep.
    pub(super) async fn give_up(&self, app: &App) {
        match store::abandon(app, &self.asset.id, &self.upload.token, None).await {
            Outcome::Applied(asset) => settle(app, &asset).await,
            Outcome::Refused => self.discard(app).await,
            Outcome::Unknown(error) => {
                tracing::warn!(asset = self.asset.id, ?error, "an upload is left to the sweep");
            }
        }
    }

    /// Removes what was written, where someone else has the upload by now.
    async fn discard(&self, app: &App) {
        if let Err(error) = discard(app, self.upload.blob).await {
            tracing::warn!(asset = self.asset.id, ?error, "a blob is left to the sweep");
        }
    }
}

fn taken_over() -> Error {
    Error::unavailable("the upload was given up, or a repeat of it took over")
}
