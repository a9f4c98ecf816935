//! GraphQL types of assets.

mod inputs;

use async_graphql::SimpleObject;
use mongodb::bson::Bson;

pub use inputs::*;

use super::{
    DISCUSSED,
    documents::{AssetDocument, Attribute, FILE},
};
use crate::{
    domains::{
        comments::Discussion,
        content::{self, Content},
        images::{self, Image, ImageRef, NotAnImage},
        metadata::Metadata,
        nodes::{self, Node},
    },
    graphql::{
        author::Author,
        prelude::*,
        refusals::CHANGED,
        scalars::{DateTime, int},
    },
};

object! {
    /// A file with its metadata. `GET` on `url` downloads the file, `PUT` replaces it.
    pub type Asset = AssetDocument as asset {
        /// Global id of the asset.
        pub id: ID = NodeKind::ASSET.id(&asset.id),
        /// Version of the asset; it changes with every edit and every replacement of the file. `editAsset` takes
        /// it and refuses the edit of an asset that changed since it was read.
        version: ID = ID(asset.metadata.version.clone()),
        /// Slug, the last step of the path. It is unique among the assets of one parent.
        slug: &Slug = &asset.metadata.slug,
        /// Path of slugs from the root to the asset, such as `/travel/lisbon/tram`.
        path: &str = &asset.metadata.path,
        /// Former path by which the client asked for the asset; null if it asked by the present path or by id. A client
        /// should redirect readers to `path`.
        redirected_from: Option<&str> = asset.redirected_from.as_deref(),
        /// Global id of the folder or gallery that contains the asset; null for a root.
        parent_id: Option<ID> =
            asset.metadata.parent_id.as_ref().map(|id| NodeKind::CONTENT.id(id)),
        /// Folder or gallery that contains the asset; null for a root, and if the caller can't see it.
        parent(context)?: Option<Content> = {
            let Some(id) = &asset.metadata.parent_id else { return Ok(None) };
            content::operations::by_id(cx(context), id).await?
        },
        /// URL of the file, relative to the address of this gateway.
        url(
            context,
            #[graphql(desc = "Width in pixels, for pictures; see `Image.url`. Default: the file itself.")]
            width: Option<i32>,
        )?: String = images::url(context, asset, width)?,
        /// Title that readers see, up to 300 characters. An upload without a title gives it the name of
        /// the file.
        title: &str = &asset.metadata.title,
        /// Description of what the file shows, for readers who don't see it; null without one.
        description: Option<&str> = asset.metadata.description.as_deref(),
        /// Language of the file; null if it has none or it is unknown.
        language: Option<&LocaleTag> = asset.metadata.language.as_ref(),
        /// Tags, sorted.
        tags: &[String] = &asset.metadata.tags,
        /// Further attributes, such as those that a camera wrote into the picture (their keys begin with
        /// `exif:`).
        attributes: Vec<&Attribute> = {
            let all = asset.attributes.iter();
            all.filter(|attribute| !attribute.key.starts_with(FILE)).collect()
        },
        /// Metadata of the asset: pairs that the site adds to it.
        metadata(context): Metadata = Metadata::of(cx(context), asset.meta.as_deref()),
        /// Author of the asset, with the name that readers see.
        author: Author = (&asset.metadata.author).into(),
        /// Names of the roles that may read the asset; an empty list permits everyone. Editors can read all
        /// assets.
        access: &[String] = &asset.metadata.access,
        /// Discussion of the asset with its newest comments; null if none was opened.
        discussion: Option<Discussion> =
            Some(Discussion::of(&DISCUSSED, &asset.id, asset.discussion.clone()?)),
        /// Time at which the asset was created.
        created_at: DateTime = asset.metadata.created.into(),
        /// Time from which readers see the asset. Editors see it before.
        published_at: DateTime = asset.published_at.into(),
        /// Time at which the present file was complete.
        replaced_at: Option<DateTime> = asset.file.as_ref().map(|file| file.at.into()),
        /// Media type of the file, detected from its bytes. The type that the client declared is ignored.
        media_type: Option<&str> = asset.file.as_ref().map(|file| file.media_type.as_str()),
        /// File name that the client sent with the file.
        file_name: Option<&str> = asset.file.as_ref().map(|file| file.name.as_str()),
        /// Size of the file in bytes.
        length: Option<Long> = asset.file.as_ref().map(|file| Long(file.length)),
        /// SHA-256 hash of the file in hexadecimal digits.
        sha256: Option<&str> = asset.file.as_ref().map(|file| file.digest.as_str()),
        /// Width in pixels; null unless the file is a picture.
        width: Option<i32> = asset.file.as_ref().and_then(|file| file.width).map(int),
        /// Height in pixels; null unless the file is a picture.
        height: Option<i32> = asset.file.as_ref().and_then(|file| file.height).map(int),
    }
}

object! {
    /// Attribute of an asset. Exactly one of its values isn't null.
    impl Attribute as attribute {
        /// Key of the attribute, unique within the asset. Keys from a camera begin with `exif:`.
        key: &str = &attribute.key,
        /// Value, if it is a text.
        text: Option<String> = match &attribute.value {
            Bson::Double(_) | Bson::DateTime(_) | Bson::Boolean(_) => None,
            Bson::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        },
        /// Value, if it is a number.
        number: Option<f64> = attribute.value.as_f64(),
        /// Value, if it is a point in time.
        date: Option<DateTime> = attribute.value.as_datetime().map(|moment| (*moment).into()),
        /// Value, if it is true or false.
        flag: Option<bool> = attribute.value.as_bool(),
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

    /// Result of `setImages`: the object with its images, or a refusal. `NotFound`: there is no such object, or no such
    /// asset that the caller can see.
    pub enum SetImagesResult:
        ShownImages | NotFound | NotAnImage | InvalidInput;

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

/// The images of an object, after `setImages`.
#[derive(Debug)]
pub struct ShownImages {
    /// Global id of the object.
    pub(super) subject_id: ID,
    /// Its images.
    pub(super) images: Vec<ImageRef>,
}

object! {
    /// Result of a successful `setImages`.
    impl ShownImages as shown {
        /// Global id of the object.
        subject_id: &ID = &shown.subject_id,
        /// The object; null if it was just deleted.
        subject(context)?: Option<Node> = nodes::find(cx(context), &shown.subject_id).await?,
        /// Images of the object, in order.
        images(context)?: Vec<Image<'_>> = images::of(cx(context), Some(&shown.images)).await?,
    }
}

refusal! {
    /// The asset changed since it was read. Merge the edit with the current asset and send it with the new version.
    struct AssetConflict as "CONFLICT" {
        /// The asset as it is now, with its version.
        pub current: Asset,
    }

    /// The file exceeds the maximum size.
    struct FileTooLarge as "FILE_TOO_LARGE" {
        /// Maximum size of a file in bytes.
        pub most: Long,
    }

    /// Files of this media type aren't accepted.
    struct MediaTypeNotAllowed as "MEDIA_TYPE_NOT_ALLOWED" {
        /// Media type of the file, detected from its bytes.
        pub sent_media_type: String,
        /// Accepted media types, such as `image/*`.
        pub allowed: Vec<String>,
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
