//! The end of an upload: decided, or given up.

use super::{
    super::{
        documents::{AssetDocument, AssetKind, Upload},
        store::{self, Finish, Purpose},
        types::FileTooLarge,
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
        flow::{Op, is_full},
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
        U: From<FileTooLarge> + From<Conflict> + From<NotFound>,
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
            Outcome::Refused => Err(self.explain(app, op.as_ref(), run).await?),
        }
    }

    /// Why the decision was refused.
    async fn explain<U>(&self, app: &App, op: Option<&Op>, run: &Run) -> Result<Stop<U>, Error>
    where
        U: From<Conflict> + From<NotFound>,
    {
        let found = store::find(app, &self.asset.id).await?;
        let Some(asset) = found.filter(|asset| asset.deleting.is_none()) else {
            self.discard(app).await;
            return Ok(not_found(&self.asset.id).into());
        };
        if asset.upload.as_ref().is_none_or(|upload| upload.token != self.upload.token) {
            self.discard(app).await;
            return Ok(taken_over().into());
        }
        self.give_up(app).await;
        if op.is_some() && is_full(&asset.ops, run.now(), app.bounds()) {
            let reason = "the asset was replaced too often: come again later";
            return Ok(Error::RateLimited(reason).into());
        }
        Ok(Conflict::stale_nonce(asset.metadata.nonce).into())
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
