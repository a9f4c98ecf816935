//! Puts a file at a path: creates an asset, or replaces the file of the existing one.

use super::{
    super::{
        documents::{AssetDocument, TOP},
        store::{self, Expected},
        types::{FileTooLarge, MediaTypeNotAllowed, ReplaceAssetResult, UploadAssetResult},
    },
    path_in,
    replace::replace_expected,
    upload::{Asked, create},
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        refusals::{Conflict, InUse, NotFound, Stop},
        scalars::Slug,
        upload::Incoming,
    },
};

/// The destination of a file, and what is expected there.
#[derive(Debug)]
pub struct Put {
    /// Path of the folder or gallery; `/` for the root.
    pub parent: String,
    /// The path's last step.
    pub slug: Slug,
    /// What is expected there.
    pub expectation: Expectation,
}

/// An expectation about a path.
#[derive(Debug, Clone)]
pub enum Expectation {
    /// Anything or nothing.
    Any,
    /// Nothing.
    Nothing,
    /// Any asset.
    Something,
    /// An asset whose file has one of these digests.
    Digests(Vec<String>),
}

/// Why the file wasn't put there.
#[derive(Debug)]
pub enum PutRefusal {
    /// The folder or gallery doesn't exist.
    NotFound(NotFound),
    /// Another upload to this path is in progress, or was faster.
    InUse(InUse),
    /// The expectation isn't met.
    Unexpected,
    /// The file is too large.
    FileTooLarge(FileTooLarge),
    /// The media type isn't allowed.
    MediaTypeNotAllowed(MediaTypeNotAllowed),
}

/// Result of putting a file.
#[derive(Debug)]
pub enum Putting {
    /// A new asset was created.
    Created(AssetDocument),
    /// The file of the asset was replaced.
    Replaced(AssetDocument),
}

/// Puts a file at a path.
pub async fn put(
    app: &App,
    subject: &str,
    put: Put,
    incoming: Incoming,
) -> Result<Putting, Stop<PutRefusal>> {
    let Put { parent, slug, expectation } = put;
    let path = path_in(&parent, &slug);
    let parent = match parent.as_str() {
        TOP => None,
        path => {
            let found = store::find_parent_by_path(app, path).await?;
            let found = found.ok_or_else(|| NotFound::new("folder or gallery", path));
            Some(found.map_err(|missing| Stop::Refused(PutRefusal::NotFound(missing)))?.id)
        }
    };
    let found = store::find_slug(app, parent.as_deref(), &slug).await?;
    let found = found.filter(|found| found.whole().is_some());
    let expected = match (&found, expectation) {
        (Some(_), Expectation::Digests(digests)) => Expected::Digest(digests),
        (Some(_), Expectation::Something)
        | (None, Expectation::Nothing)
        | (_, Expectation::Any) => Expected::Any,
        _ => return Err(Stop::Refused(PutRefusal::Unexpected)),
    };
    let op = app.ids().op(&[subject, "put"], None, &path);
    if let Some(asset) = found {
        let replaced = replace_expected(app, &asset.id, &expected, &op, false, incoming).await;
        return replaced.map(Putting::Replaced).map_err(of_replacement);
    }
    let asked = Asked { parent, slug: Some(slug), ..Asked::default() };
    let created = create(app, subject, asked, &op, false, incoming).await;
    created.map(Putting::Created).map_err(of_creation)
}

fn of_creation(stop: Stop<UploadAssetResult>) -> Stop<PutRefusal> {
    let refused = match stop {
        Stop::Failed(error) => return Stop::Failed(error),
        Stop::Refused(refused) => refused,
    };
    Stop::Refused(match refused {
        UploadAssetResult::NotFound(missing) => PutRefusal::NotFound(missing),
        UploadAssetResult::InUse(in_use) => PutRefusal::InUse(in_use),
        UploadAssetResult::FileTooLarge(large) => PutRefusal::FileTooLarge(large),
        UploadAssetResult::MediaTypeNotAllowed(of) => PutRefusal::MediaTypeNotAllowed(of),
        UploadAssetResult::AlreadyExists(_) => {
            let reason = "something was put there at the same moment: send it again";
            PutRefusal::InUse(InUse::because(reason))
        }
        UploadAssetResult::InvalidInput(invalid) => return Stop::Failed(Error::from(invalid)),
        UploadAssetResult::Conflict(Conflict { message, .. }) => {
            return Stop::Failed(Error::internal(message));
        }
        UploadAssetResult::Asset(_) => return Stop::Failed(Error::internal("an asset refuses")),
    })
}

fn of_replacement(stop: Stop<ReplaceAssetResult>) -> Stop<PutRefusal> {
    let refused = match stop {
        Stop::Failed(error) => return Stop::Failed(error),
        Stop::Refused(refused) => refused,
    };
    Stop::Refused(match refused {
        ReplaceAssetResult::InUse(in_use) => PutRefusal::InUse(in_use),
        ReplaceAssetResult::FileTooLarge(large) => PutRefusal::FileTooLarge(large),
        ReplaceAssetResult::MediaTypeNotAllowed(of) => PutRefusal::MediaTypeNotAllowed(of),
        ReplaceAssetResult::AssetConflict(_) => PutRefusal::Unexpected,
        ReplaceAssetResult::NotFound(_) => {
            let reason = "it was deleted at the same moment: send it again";
            PutRefusal::InUse(InUse::because(reason))
        }
        ReplaceAssetResult::Conflict(Conflict { message, .. }) => {
            return Stop::Failed(Error::internal(message));
        }
        ReplaceAssetResult::InvalidInput(invalid) => return Stop::Failed(Error::from(invalid)),
        ReplaceAssetResult::Asset(_) => return Stop::Failed(Error::internal("an asset refuses")),
    })
}
