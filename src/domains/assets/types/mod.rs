//! GraphQL types of assets.

mod inputs;

use async_graphql::{Context, ID, Object, Result, SimpleObject};
use mongodb::bson::Bson;

pub use inputs::*;

use super::{
    DISCUSSED,
    documents::{self, AssetDocument, FileFacts},
};
use crate::{
    domains::{
        comments::Discussion,
        content::{self, Content},
    },
    graphql::{
        app,
        author::Author,
        codes::refusal,
        declared::result,
        node_id::NodeKind,
        object_of::ObjectOf,
        refusals::{AlreadyExists, CHANGED, Conflict, InUse, InvalidInput, NotFound},
        requester,
        scalars::{DateTime, LocaleTag, Long, Slug, int},
    },
};

/// A file with its metadata.
pub type Asset = ObjectOf<AssetDocument>;

/// A file with its metadata. `GET` on `url` downloads the file, `PUT` replaces it.
#[Object]
impl Asset {
    /// Global id of the asset.
    pub async fn id(&self) -> ID {
        NodeKind::ASSET.id(&self.0.id)
    }

    /// Version of the asset; it changes with every edit and every replacement of the file. `editAsset` takes
    /// it and refuses the edit of an asset that changed since it was read.
    async fn version(&self) -> ID {
        ID(self.0.metadata.version.clone())
    }

    /// Slug, the last step of the path. It is unique among the assets of one parent.
    async fn slug(&self) -> &Slug {
        &self.0.metadata.slug
    }

    /// Path of slugs from the root to the asset, such as `/travel/lisbon/tram`.
    async fn path(&self) -> &str {
        &self.0.metadata.path
    }

    /// Global id of the folder or gallery that contains the asset; null for a root.
    async fn parent_id(&self) -> Option<ID> {
        self.0.metadata.parent_id.as_ref().map(|id| NodeKind::CONTENT.id(id))
    }

    /// Folder or gallery that contains the asset; null for a root, and if the caller can't see it.
    async fn parent(&self, context: &Context<'_>) -> Result<Option<Content>> {
        let Some(id) = &self.0.metadata.parent_id else { return Ok(None) };
        let found = content::operations::by_id(app(context), requester(context), id).await?;
        Ok(found.map(Content::from))
    }

    /// URL of the file, relative to the address of this gateway.
    async fn url(&self) -> String {
        format!("/assets{}", self.0.metadata.path)
    }

    /// Title that readers see, up to 300 characters. An upload without a title gives it the name of
    /// the file.
    async fn title(&self) -> &str {
        &self.0.metadata.title
    }

    /// Language of the file; null if it has none or it is unknown.
    async fn language(&self) -> Option<&LocaleTag> {
        self.0.metadata.language.as_ref()
    }

    /// Tags, sorted.
    async fn tags(&self) -> &[String] {
        &self.0.metadata.tags
    }

    /// Further attributes, such as those that a camera wrote into the picture (their keys begin with
    /// `exif:`).
    async fn attributes(&self) -> Vec<Attribute> {
        self.0.attributes.iter().map(Attribute::from).collect()
    }

    /// Author of the asset, with the name that readers see.
    async fn author(&self) -> Author {
        (&self.0.metadata.author).into()
    }

    /// Names of the roles that may read the asset; an empty list permits everyone. Editors can read all
    /// assets.
    async fn access(&self) -> &[String] {
        &self.0.metadata.access
    }

    /// Discussion of the asset with its newest comments; null if none was opened.
    async fn discussion(&self) -> Option<Discussion> {
        let found = self.0.discussion.clone()?;
        Some(Discussion::of(&DISCUSSED, &self.0.id, found))
    }

    /// Time at which the asset was created.
    async fn created_at(&self) -> DateTime {
        self.0.metadata.created.into()
    }

    /// Time from which readers see the asset. Editors see it before.
    async fn published_at(&self) -> DateTime {
        self.0.published_at.into()
    }

    /// Time at which the present file was complete.
    async fn replaced_at(&self) -> Option<DateTime> {
        self.file().map(|file| file.at.into())
    }

    /// Media type of the file, detected from its bytes. The type that the client declared is ignored.
    async fn media_type(&self) -> Option<&str> {
        self.file().map(|file| file.media_type.as_str())
    }

    /// File name that the client sent with the file.
    async fn file_name(&self) -> Option<&str> {
        self.file().map(|file| file.name.as_str())
    }

    /// Size of the file in bytes.
    async fn length(&self) -> Option<Long> {
        self.file().map(|file| Long(file.length))
    }

    /// SHA-256 hash of the file in hexadecimal digits.
    async fn sha256(&self) -> Option<&str> {
        self.file().map(|file| file.digest.as_str())
    }

    /// Width in pixels; null unless the file is a picture.
    async fn width(&self) -> Option<i32> {
        self.file().and_then(|file| file.width).map(int)
    }

    /// Height in pixels; null unless the file is a picture.
    async fn height(&self) -> Option<i32> {
        self.file().and_then(|file| file.height).map(int)
    }
}

impl Asset {
    fn file(&self) -> Option<&FileFacts> {
        self.0.file.as_ref()
    }
}

/// Attribute of an asset. Exactly one of its values isn't null.
#[derive(Debug, Clone, SimpleObject)]
pub struct Attribute {
    /// Key of the attribute, unique within the asset. Keys from a camera begin with `exif:`.
    pub key: String,
    /// Value, if it is a text.
    pub text: Option<String>,
    /// Value, if it is a number.
    pub number: Option<f64>,
    /// Value, if it is a point in time.
    pub date: Option<DateTime>,
    /// Value, if it is true or false.
    pub flag: Option<bool>,
}

impl From<&documents::Attribute> for Attribute {
    fn from(documents::Attribute { key, value }: &documents::Attribute) -> Self {
        let none = Self { key: key.clone(), text: None, number: None, date: None, flag: None };
        match value {
            Bson::String(text) => Self { text: Some(text.clone()), ..none },
            Bson::Double(number) => Self { number: Some(*number), ..none },
            Bson::DateTime(moment) => Self { date: Some((*moment).into()), ..none },
            Bson::Boolean(flag) => Self { flag: Some(*flag), ..none },
            other => Self { text: Some(other.to_string()), ..none },
        }
    }
}

result! {
    /// Result of `uploadAsset`: the asset, or a refusal. `NotFound`: there is no such folder or gallery.
    /// `AlreadyExists`: the parent has an asset with this slug. `InUse`: another upload to this path is under
    /// way. `Conflict`: this `idempotencyKey` was used with another input, or its asset was deleted.
    pub enum UploadAssetResult:
        AssetDocument => Asset | NotFound | AlreadyExists | InUse | Conflict | FileTooLarge | MediaTypeNotAllowed |
        InvalidInput;

    /// Result of `replaceAsset`: the asset with its new file, or a refusal. `InUse`: another upload of this asset
    /// is in progress. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum ReplaceAssetResult:
        AssetDocument => Asset | NotFound | InUse | AssetConflict | Conflict | FileTooLarge | MediaTypeNotAllowed |
        InvalidInput;

    /// Result of `editAsset`: the asset after the edit, or a refusal.
    pub enum EditAssetResult:
        AssetDocument => Asset | NotFound | AssetConflict | InvalidInput;

    /// Result of `tagAsset`: the asset with its tags, or a refusal. `InvalidInput`: among others, it would have
    /// more than 30 tags.
    pub enum TagAssetResult:
        AssetDocument => Asset | NotFound | InvalidInput;

    /// Result of `untagAsset`: the asset with its remaining tags, or a refusal.
    pub enum UntagAssetResult:
        AssetDocument => Asset | NotFound | InvalidInput;

    /// Result of `deleteAsset`: the id of the deleted asset, or a refusal.
    pub enum DeleteAssetResult:
        DeletedAsset | NotFound | AssetConflict | InvalidInput;
}

/// Result of a successful `deleteAsset`.
#[derive(Debug, SimpleObject)]
pub struct DeletedAsset {
    /// Global id of the deleted asset.
    pub id: ID,
}

refusal! {
    /// The asset changed since it was read. Merge the edit with the current asset and send it with the new version.
    struct AssetConflict as "CONFLICT" {
        /// The asset as it is now, with its version.
        pub current: Asset,
    }
}

impl AssetConflict {
    /// The version of the change isn't the current one.
    pub fn with(current: AssetDocument) -> Self {
        Self::because(CHANGED, current.into())
    }
}

/// Needed for the types only: an upload takes no version, so this conflict can't occur.
impl From<AssetConflict> for UploadAssetResult {
    fn from(conflict: AssetConflict) -> Self {
        Self::Conflict(Conflict::because(conflict.message, None))
    }
}

refusal! {
    /// The file exceeds the maximum size.
    struct FileTooLarge as "FILE_TOO_LARGE" {
        /// Maximum size of a file in bytes.
        pub most: Long,
    }
}

refusal! {
    /// Files of this media type aren't accepted.
    struct MediaTypeNotAllowed as "MEDIA_TYPE_NOT_ALLOWED" {
        /// Media type of the file, detected from its bytes.
        pub sent_media_type: String,
        /// Accepted media types, such as `image/*`.
        pub allowed: Vec<String>,
    }
}
