//! Inputs of the queries and mutations of assets.

use crate::graphql::declared::input;
use async_graphql::{ID, OneofObject};

use crate::graphql::{
    scalars::{DateTime, LocaleTag, Slug},
    upload::Upload,
};

/// Key of an asset; exactly one field is given.
#[derive(Debug, OneofObject)]
pub enum AssetBy {
    /// Global id.
    Id(ID),
    /// Path, such as `/travel/lisbon/tram`.
    Path(String),
}

/// Filter and sort order of a list of assets; exactly one field is given.
#[derive(Debug, OneofObject)]
pub enum AssetsBy {
    /// Assets with this tag, newest first.
    Tag(String),
    /// Assets in the folder or gallery with this global id, newest first.
    Parent(ID),
    /// `true` lists the assets that are in no folder or gallery, newest first.
    Root(bool),
    /// Assets whose attributes meet all of some conditions.
    Attributes(AttributesFilter),
}

input! {
    /// Conditions on attributes that must all be met.
    pub struct AttributesFilter {
        /// 1 to 5 conditions. One of them is looked up in the index and determines the order: the first with
        /// `eq`, else the first with `range`, else the first. The others are checked for each asset that it
        /// finds.
        pub all: Vec<AttributeCondition>,
        /// Global id of the folder or gallery to search. Default: all assets.
        pub owner: Option<ID>,
    }
}

input! {
    /// Condition on one attribute. Exactly one of `eq`, `range` and `exists` is given.
    pub struct AttributeCondition {
        /// Key of the attribute.
        pub key: String,
        /// The attribute has this value.
        pub eq: Option<AttributeValueInput>,
        /// The value of the attribute is in this range.
        pub range: Option<AttributeRange>,
        /// `true`: the attribute exists, whatever its value. `false` is refused.
        pub exists: Option<bool>,
    }
}

/// Value of an attribute; exactly one field is given.
#[derive(Debug, Clone, OneofObject, serde::Serialize)]
pub enum AttributeValueInput {
    /// Text of at most 1,000 characters.
    Text(String),
    /// Number.
    Number(f64),
    /// Point in time.
    Date(DateTime),
    /// True or false.
    Flag(bool),
}

/// Range of values of one type; exactly one field is given.
#[derive(Debug, OneofObject, Clone, serde::Serialize)]
pub enum AttributeRange {
    /// Range of texts, in the order of their code points.
    Text(TextRange),
    /// Range of numbers.
    Number(NumberRange),
    /// Range of points in time.
    Date(DateRange),
}

input! {
    /// Range of texts. At least one limit is given.
    pub struct TextRange {
        /// Lower limit, included. Default: none.
        pub from: Option<String>,
        /// Upper limit, included. Default: none.
        pub to: Option<String>,
    }
}

input! {
    /// Range of numbers. At least one limit is given.
    pub struct NumberRange {
        /// Lower limit, included. Default: none.
        pub from: Option<f64>,
        /// Upper limit, included. Default: none.
        pub to: Option<f64>,
    }
}

input! {
    /// Range of points in time. At least one limit is given.
    pub struct DateRange {
        /// Earliest time, included. Default: none.
        pub from: Option<DateTime>,
        /// Latest time, included. Default: none.
        pub to: Option<DateTime>,
    }
}

input! {
    /// Attribute of an asset.
    pub struct AttributeInput {
        /// Key, 1 to 100 characters. It can't begin with `exif:`.
        pub key: String,
        /// Value of the attribute.
        pub value: AttributeValueInput,
    }
}

input! {
    /// Input of `uploadAsset`.
    pub struct UploadAssetInput {
        /// File, sent as a part of the `multipart/form-data` request.
        #[serde(skip)]
        pub file: Upload,
        /// Global id of the folder or gallery to put the asset into. Default: the asset becomes a root.
        pub parent: Option<ID>,
        /// Slug, the last step of the path. Default: derived from the file name.
        pub slug: Option<Slug>,
        /// Title, 1 to 300 characters. Default: the file name.
        pub title: Option<String>,
        /// Language of the file, if it has one.
        pub language: Option<LocaleTag>,
        /// At most 30 tags of 1 to 64 characters each, without line breaks.
        #[graphql(default)]
        pub tags: Vec<String>,
        /// At most 100 attributes with different keys.
        #[graphql(default)]
        pub attributes: Vec<AttributeInput>,
        /// Names of the roles that may read the asset, such as `analyst`; an empty list permits everyone.
        /// Default: the roles of the parent.
        pub access: Option<Vec<String>>,
        /// Time from which readers see the asset. Default: now.
        pub publish_at: Option<DateTime>,
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the asset that the first call
        /// created, or starts an interrupted upload again.
        pub idempotency_key: Option<ID>,
    }
}

input! {
    /// Input of `replaceAsset`.
    pub struct ReplaceAssetInput {
        /// Global id of the asset.
        pub asset: ID,
        /// New file, sent as a part of the `multipart/form-data` request.
        #[serde(skip)]
        pub file: Upload,
        /// `version` of the asset as the client read it. If the asset changed since, the call is refused with
        /// `AssetConflict`. Default: any version is replaced.
        pub version: Option<ID>,
        /// Idempotency key, 1 to 128 characters. The file is replaced once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID>,
    }
}

input! {
    /// Input of `editAsset`. Fields that are left out don't change.
    pub struct EditAssetInput {
        /// Global id of the asset.
        pub asset: ID,
        /// `version` of the asset as the client read it. If the asset changed since, the edit is refused with
        /// `AssetConflict`.
        pub version: ID,
        /// Title, 1 to 300 characters.
        pub title: Option<String>,
        /// Language of the file.
        pub language: Option<LocaleTag>,
        /// Names of the roles that may read the asset; an empty list permits everyone.
        pub access: Option<Vec<String>>,
        /// Time from which readers see the asset.
        pub publish_at: Option<DateTime>,
        /// All attributes of the asset except those that were read from the file.
        pub attributes: Option<Vec<AttributeInput>>,
    }
}

input! {
    /// Input of `tagAsset`.
    pub struct TagAssetInput {
        /// Global id of the asset.
        pub asset: ID,
        /// Tags of 1 to 64 characters each, without line breaks. Existing tags stay. An asset has at most 30
        /// tags.
        pub tags: Vec<String>,
    }
}

input! {
    /// Input of `untagAsset`.
    pub struct UntagAssetInput {
        /// Global id of the asset.
        pub asset: ID,
        /// Tags to remove. Tags that the asset doesn't have are ignored.
        pub tags: Vec<String>,
    }
}

input! {
    /// Input of `deleteAsset`.
    pub struct DeleteAssetInput {
        /// Global id of the asset.
        pub asset: ID,
        /// `version` of the asset as the client read it. If the asset changed since, the call is refused with
        /// `AssetConflict`. Default: any version is deleted.
        pub version: Option<ID>,
    }
}
