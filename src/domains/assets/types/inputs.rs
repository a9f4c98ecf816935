//! Inputs of the queries and mutations of assets, with their checks.

use async_graphql::OneofObject;
use mongodb::bson::Bson;
use serde::Serialize;

use super::super::documents::{Attribute, FILE, OF_FILE};
use crate::{
    domains::{
        attributes::{different, value_input},
        audiences::role_names,
        images::{IMAGES, ImageInput},
    },
    graphql::{input as checks, prelude::*, scalars::DateTime, upload::Upload},
};

/// Maximum length of an attribute's key, in characters.
pub(crate) const KEY: usize = 100;
/// Maximum number of attributes in one call.
const GIVEN: usize = 100;
/// Maximum length of a title, in characters.
const TITLE: usize = 300;
/// Maximum length of a description, in characters.
const DESCRIPTION: usize = 2_000;

/// Key of an asset. Exactly one field must be set.
#[derive(Debug, OneofObject)]
pub enum AssetBy {
    /// Global id of the asset, as in `Asset.id`.
    Id(ID),
    /// Path of the asset, such as `/travel/lisbon/tram`: the path of its folder or gallery, and its
    /// slug. A former path is accepted too; `redirectedFrom` then holds it.
    Path(String),
}

/// Filter and sort order of a list of assets. Exactly one field must be set.
#[derive(Debug, OneofObject)]
pub enum AssetsBy {
    /// Assets with this tag, newest first.
    Tag(String),
    /// Assets in the folder or gallery with this global id, newest first.
    ParentId(ID),
    /// `true` lists the assets that are in no folder or gallery, newest first.
    Root(bool),
    /// Assets whose attributes meet all of some conditions.
    Attributes(AttributesFilter),
}

value_input! {
    /// Value of an attribute. Exactly one field must be set.
    AttributeValueInput
}

/// Range of values of one type. Exactly one field must be set.
#[derive(Debug, Clone, OneofObject, Serialize)]
pub enum AttributeRange {
    /// The value is a text in this range. Texts are compared by code points.
    Text(TextRange),
    /// The value is a number in this range.
    Number(NumberRange),
    /// The value is a point in time in this range.
    Date(DateRange),
}

input! {
    /// Conditions on attributes that must all be met.
    pub struct AttributesFilter {
        /// 1 to 5 conditions. One of them is looked up in the index and determines the order: the first with
        /// `eq`, else the first with `range`, else the first. The others are checked for each asset that it
        /// finds.
        pub all: Vec<AttributeCondition>,
        /// Global id of the folder or gallery to search. Default: all assets.
        pub parent_id: Option<ID>,
    }

    /// Condition on one attribute. Exactly one of `eq`, `range` and `exists` must be set.
    pub struct AttributeCondition {
        /// Key that the attribute has, 1 to 100 characters. Keys from a camera begin with `exif:`. Each file also has
        /// `file:type`, its media type, `file:size`, its size in bytes, and `file:name`, its name.
        pub key: String,
        /// The attribute has exactly this value. The types must match too.
        pub eq: Option<AttributeValueInput>,
        /// The attribute has a value of the type of this range, and it is in the range.
        pub range: Option<AttributeRange>,
        /// `true`: the attribute exists, whatever its value. `false` is refused.
        pub exists: Option<bool>,
    }

    /// Range of texts. At least one limit must be set.
    pub struct TextRange {
        /// Lower limit, included. Default: none.
        pub from: Option<String>,
        /// Upper limit, included. Default: none.
        pub to: Option<String>,
    }

    /// Range of numbers. At least one limit must be set.
    pub struct NumberRange {
        /// Lower limit, included. Default: none.
        pub from: Option<f64>,
        /// Upper limit, included. Default: none.
        pub to: Option<f64>,
    }

    /// Range of points in time. At least one limit must be set.
    pub struct DateRange {
        /// Earliest time, included. Default: none.
        pub from: Option<DateTime>,
        /// Latest time, included. Default: none.
        pub to: Option<DateTime>,
    }

    /// An attribute that editors give to an asset, such as the camera of a picture.
    pub struct AttributeInput {
        /// Key, 1 to 100 characters. It can't begin with `exif:` or `file:`.
        pub key: String where own_key,
        /// Value. Its type determines which of the fields of `Attribute` holds it.
        pub value: AttributeValueInput where AttributeValueInput::check,
    }

    /// Input of `uploadAsset`: the file, and where and how readers find it.
    #[derive(Default)]
    pub struct UploadAssetInput {
        /// File, sent as a part of the `multipart/form-data` request.
        #[serde(skip)]
        pub file: Upload,
        /// Global id of the folder or gallery to put the asset into. Default: the asset becomes a root.
        pub parent_id: Option<ID> where optional(id(NodeKind::CONTENT)),
        /// Slug, the last step of the path. Default: derived from the file name.
        pub slug: Option<Slug>,
        /// Title, 1 to 300 characters. Default: the file name.
        pub title: Option<String> where optional(text(1..=TITLE)),
        /// Description of what the file shows, 1 to 2,000 characters, for readers who don't see it. Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub description: Option<String> where optional(text(1..=DESCRIPTION)),
        /// Language of the file, if it has one.
        pub language: Option<LocaleTag>,
        /// At most 30 tags of 1 to 64 characters each, without line breaks.
        #[graphql(default)]
        pub tags: Vec<String> where tags(),
        /// At most 100 attributes with different keys.
        #[graphql(default)]
        pub attributes: Vec<AttributeInput> where different_attributes(),
        /// Names of the roles that may read the asset, such as `analyst`; an empty list permits everyone.
        /// Default: the roles of the parent.
        pub access: Option<Vec<String>> where optional(role_names),
        /// Time from which readers see the asset. Default: now.
        pub publish_at: Option<DateTime>,
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the asset that the first call
        /// created, or starts an interrupted upload again.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `replaceAsset`: the asset, its new file, and its version as the client read it.
    pub struct ReplaceAssetInput {
        /// Global id of the asset.
        pub asset_id: ID where id(NodeKind::ASSET),
        /// New file, sent as a part of the `multipart/form-data` request.
        #[serde(skip)]
        pub file: Upload,
        /// `version` of the asset as the client read it. If the asset changed since, the call is refused with
        /// `AssetConflict`. Default: any version is replaced.
        pub version: Option<ID>,
        /// Idempotency key, 1 to 128 characters. The file is replaced once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `editAsset`. Fields that are left out don't change.
    pub struct EditAssetInput {
        /// Global id of the asset.
        pub asset_id: ID where id(NodeKind::ASSET),
        /// `version` of the asset as the client read it. If the asset changed since, the edit is refused with
        /// `AssetConflict`.
        pub version: ID,
        /// Title, 1 to 300 characters.
        pub title: Option<String> where optional(text(1..=TITLE)),
        /// Description of what the file shows, up to 2,000 characters. An empty text removes it.
        pub description: Option<String> where optional(text(0..=DESCRIPTION)),
        /// Language of the file.
        pub language: Option<LocaleTag>,
        /// Names of the roles that may read the asset; an empty list permits everyone.
        pub access: Option<Vec<String>> where optional(role_names),
        /// Time from which readers see the asset.
        pub publish_at: Option<DateTime>,
        /// All attributes of the asset except those that were read from the file.
        pub attributes: Option<Vec<AttributeInput>> where optional(different_attributes()),
    }

    /// Input of `tagAsset`: the asset and the tags to add.
    pub struct TagAssetInput {
        /// Global id of the asset.
        pub asset_id: ID where id(NodeKind::ASSET),
        /// Tags of 1 to 64 characters each, without line breaks. Existing tags stay. An asset has at most 30
        /// tags.
        pub tags: Vec<String> where tags(),
    }

    /// Input of `untagAsset`: the asset and the tags to remove.
    pub struct UntagAssetInput {
        /// Global id of the asset.
        pub asset_id: ID where id(NodeKind::ASSET),
        /// Tags to remove. Tags that the asset doesn't have are ignored.
        pub tags: Vec<String> where tags(),
    }

    /// Input of `setImages`: the object and all of its images.
    pub struct SetImagesInput {
        /// Global id of a product, person or category.
        pub subject_id: ID,
        /// All images that the object is to have, in order, at most 20. An empty list removes them.
        pub images: Vec<ImageInput> where each(IMAGES, nested()),
    }

    /// Input of `deleteAsset`: the asset to delete, and its version as the client read it.
    pub struct DeleteAssetInput {
        /// Global id of the asset.
        pub asset_id: ID where id(NodeKind::ASSET),
        /// `version` of the asset as the client read it. If the asset changed since, the call is refused with
        /// `AssetConflict`. Default: any version is deleted.
        pub version: Option<ID>,
    }
}

/// Key of an attribute that isn't read from a file. It isn't trimmed: searches compare it exactly.
fn own_key(field: &str, key: &mut str) -> Result<(), InvalidInput> {
    checks::verbatim(field, key, 1..=KEY)?;
    if let Some(prefix) = [OF_FILE, FILE].into_iter().find(|prefix| key.starts_with(prefix)) {
        let reason = format!("begins with {prefix}, which is reserved for values read from files");
        return Err(InvalidInput::new(field, reason));
    }
    Ok(())
}

/// Attributes with different keys.
fn different_attributes() -> impl Fn(&str, &mut Vec<AttributeInput>) -> Result<(), Unusable> {
    different(GIVEN, |attribute: &AttributeInput| &attribute.key)
}

impl AttributeValueInput {
    /// The checked value, as it is stored.
    pub(crate) fn stored(self, field: &str) -> Result<Bson, InvalidInput> {
        Self::check(field, &self)?;
        Ok(self.into())
    }
}

impl From<AttributeInput> for Attribute {
    fn from(AttributeInput { key, value }: AttributeInput) -> Self {
        Self { key, value: value.into() }
    }
}
