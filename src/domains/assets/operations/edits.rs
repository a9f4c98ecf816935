//! Edits of assets, and changes of their tags.

use async_graphql::ID;
use mongodb::bson::DateTime;

use super::{
    super::{
        documents::AssetDocument,
        store::{self, Changes},
        types::{AssetConflict, AttributeInput, EditAssetResult, TagAssetResult, UntagAssetResult},
    },
    checks, not_found, own_id,
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        input,
        refusals::{InvalidInput, Stop},
        scalars::LocaleTag,
    },
};

/// The input of an edit; absent fields stay unchanged.
#[derive(Debug)]
pub struct Edit {
    /// Global id of the asset.
    pub asset: ID,
    /// Its nonce as the caller read it.
    pub version: ID,
    /// The title.
    pub title: Option<String>,
    /// Language of the asset.
    pub language: Option<LocaleTag>,
    /// Names of the roles that may read it.
    pub access: Option<Vec<String>>,
    /// When it becomes visible to readers.
    pub publish_at: Option<DateTime>,
    /// All attributes except those that are read from the file.
    pub attributes: Option<Vec<AttributeInput>>,
}

/// Edits an asset in the version that the caller read.
pub async fn edit(app: &App, edit: Edit) -> Result<AssetDocument, Stop<EditAssetResult>> {
    let Edit { asset, version, title, language, access, publish_at, attributes } = edit;
    let id = own_id(&asset)?;
    let changes = Changes {
        title: title.map(|title| checks::title(&title)).transpose()?,
        language,
        access: access.map(|access| checks::access(&access)).transpose()?,
        published_at: publish_at,
        attributes: attributes.map(|given| checks::attributes(&given)).transpose()?,
    };
    let next = app.ids().random();
    let edited = store::edit(app, &id, &version, &changes, &next, checks::ATTRIBUTES).await;
    if let Some(edited) = edited.decided()? {
        return Ok(edited);
    }
    let asset = there(app, &id).await?.ok_or_else(|| not_found(&id))?;
    if asset.metadata.nonce != *version {
        return Err(AssetConflict::with(asset).into());
    }
    Err(too_many("attributes", checks::ATTRIBUTES).into())
}

/// Adds tags; existing ones stay.
pub async fn tag(
    app: &App,
    asset: &ID,
    tags: &[String],
) -> Result<AssetDocument, Stop<TagAssetResult>> {
    let (id, tags) = (own_id(asset)?, input::tags("tags", tags)?);
    let tagged = store::change_tags(app, &id, &tags, &[], input::TAGS).await.decided()?;
    if let Some(tagged) = tagged {
        return Ok(tagged);
    }
    there(app, &id).await?.ok_or_else(|| not_found(&id))?;
    Err(too_many("tags", input::TAGS).into())
}

/// Removes tags; missing ones are ignored.
pub async fn untag(
    app: &App,
    asset: &ID,
    tags: &[String],
) -> Result<AssetDocument, Stop<UntagAssetResult>> {
    let (id, tags) = (own_id(asset)?, input::tags("tags", tags)?);
    let untagged = store::change_tags(app, &id, &[], &tags, input::TAGS).await.decided()?;
    untagged.ok_or_else(|| not_found(&id).into())
}

async fn there(app: &App, id: &str) -> Result<Option<AssetDocument>, Error> {
    Ok(store::find(app, id).await?.filter(|asset| asset.whole().is_some()))
}

fn too_many(field: &str, most: usize) -> InvalidInput {
    InvalidInput::new(field, format!("would be too many: an asset has at most {most}"))
}
