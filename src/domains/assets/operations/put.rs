//! Puts a file at a path: creates an asset, or replaces the file of the existing one.

use async_graphql::ID;

use super::{
    super::{
        documents::AssetDocument,
        store::{self, Expected},
        types::{AssetConflict, FileTooLarge, MediaTypeNotAllowed, UploadAssetInput},
    },
    upload::{create, replace},
};
use crate::graphql::{
    codes::Coded,
    cx::Cx,
    input::TOP,
    refusals::{AlreadyExists, Conflict, InUse, InvalidInput, NotFound, Refusal, Stop},
    scalars::Slug,
    upload::Incoming,
};

const UNEXPECTED: &str = "what is there isn't what was expected";

/// Why a file wasn't put at its path.
#[derive(Debug)]
pub struct PutRefusal {
    /// Kind of refusal. `Conflict`: the path doesn't hold what was expected.
    pub code: &'static str,
    /// Explanation in English, for people.
    pub message: String,
}

impl Refusal for PutRefusal {}

/// Refusals that mean the same for a path.
macro_rules! same {
    ($($refusal:ident)*) => { $(
        impl From<$refusal> for PutRefusal {
            fn from($refusal { message, .. }: $refusal) -> Self {
                Self { code: $refusal::CODE, message }
            }
        }
    )* };
}

same! { NotFound InUse Conflict InvalidInput FileTooLarge MediaTypeNotAllowed }

impl From<AlreadyExists> for PutRefusal {
    fn from(_: AlreadyExists) -> Self {
        InUse::because("something was put there at the same moment: send it again").into()
    }
}

impl From<AssetConflict> for PutRefusal {
    fn from(_: AssetConflict) -> Self {
        Conflict::because(UNEXPECTED, None).into()
    }
}

/// Puts a file at the path of a slug in a folder or gallery; `/` is the root. Returns the asset, and whether it
/// was created.
pub async fn put(
    cx: Cx<'_>,
    parent: &str,
    slug: Slug,
    expected: Expected,
    incoming: Incoming,
) -> Result<(AssetDocument, bool), Stop<PutRefusal>> {
    let parent = if parent == TOP {
        None
    } else {
        let found = store::find_parent_by_path(&cx, parent).await?;
        Some(found.ok_or_else(|| NotFound::new("folder or gallery", parent))?.id)
    };
    let found = store::find_slug(&cx, parent.as_deref(), &slug).await?;
    let found = found.filter(|found| found.visible_file().is_some());
    if !expected.is(found.as_ref()) {
        return Err(Conflict::because(UNEXPECTED, None).into());
    }
    let op = cx.op(&[], None, &slug);
    let Some(asset) = found else {
        let (parent_id, slug) = (parent.map(ID), Some(slug));
        let input = UploadAssetInput { parent_id, slug, ..UploadAssetInput::default() };
        return Ok((create(cx, input, &op, incoming).await?, true));
    };
    match replace(cx, &asset.id, &expected, &op, false, incoming).await {
        Err(Stop::Refused(PutRefusal { code: NotFound::CODE, .. })) => {
            Err(InUse::because("it was deleted at the same moment: send it again").into())
        }
        replaced => Ok((replaced?, false)),
    }
}
