//! What clients give.

use async_graphql::{ID, InputObject, OneofObject};

use crate::graphql::{
    scalars::{DateTime, LocaleTag, Slug},
    upload::Upload,
};

/// The ways in which an asset can be looked up.
#[derive(Debug, OneofObject)]
pub enum AssetBy {
    /// By its global id.
    Id(ID),
    /// By its path, such as `/travel/lisbon/tram`.
    Path(String),
}

/// The ways in which assets can be listed.
#[derive(Debug, OneofObject)]
pub enum AssetsBy {
    /// With this tag, newest first.
    Tag(String),
    /// In the folder or gallery with this global id, newest first.
    Parent(ID),
    /// True: those that lie in nothing, newest first.
    Root(bool),
    /// With attributes for which all conditions hold.
    Attributes(AttributesFilter),
}

/// Conditions on attributes, all of which must hold.
#[derive(Debug, InputObject)]
pub struct AttributesFilter {
    /// 1 to 5 conditions. The first with `eq`, else the first with `range`, else the first is looked up,
    /// and what it finds is in its order; the others are looked at with each asset that it finds.
    pub all: Vec<AttributeCondition>,
    /// Only in the folder or gallery with this global id.
    pub owner: Option<ID>,
}

/// What must hold of one attribute: exactly one of `eq`, `range` and `exists` is given.
#[derive(Debug, InputObject)]
pub struct AttributeCondition {
    /// The attribute's key.
    pub key: String,
    /// It has this value.
    pub eq: Option<AttributeValueInput>,
    /// Its value lies between two others.
    pub range: Option<AttributeRange>,
    /// True: it is there, whatever its value.
    pub exists: Option<bool>,
}

/// A value, of one type.
#[derive(Debug, Clone, OneofObject)]
pub enum AttributeValueInput {
    /// A text of at most 1000 characters.
    Text(String),
    /// A number.
    Number(f64),
    /// A moment.
    Date(DateTime),
    /// Yes or no.
    Flag(bool),
}

/// Values between two others of one type.
#[derive(Debug, OneofObject)]
pub enum AttributeRange {
    /// Texts, in the order of their code points.
    Text(TextRange),
    /// Numbers.
    Number(NumberRange),
    /// Moments.
    Date(DateRange),
}

/// Texts between two others. At least one of the two is given.
#[derive(Debug, InputObject)]
pub struct TextRange {
    /// This one or those behind it.
    pub from: Option<String>,
    /// This one or those before it.
    pub to: Option<String>,
}

/// Numbers between two others. At least one of the two is given.
#[derive(Debug, InputObject)]
pub struct NumberRange {
    /// This or more.
    pub from: Option<f64>,
    /// This or less.
    pub to: Option<f64>,
}

/// Moments between two others. At least one of the two is given.
#[derive(Debug, InputObject)]
pub struct DateRange {
    /// This one or later.
    pub from: Option<DateTime>,
    /// This one or before.
    pub to: Option<DateTime>,
}

/// An attribute.
#[derive(Debug, Clone, InputObject)]
pub struct AttributeInput {
    /// What it is about: 1 to 100 characters that don't begin with `exif:`.
    pub key: String,
    /// Its value.
    pub value: AttributeValueInput,
}

/// A new asset.
#[derive(Debug, InputObject)]
pub(in super::super) struct UploadAssetInput {
    /// The file.
    pub file: Upload,
    /// Global id of the folder or gallery that it goes into; without one it becomes a root.
    pub parent: Option<ID>,
    /// Its step in paths; made from the file's name when left out.
    pub slug: Option<Slug>,
    /// The title, 1 to 300 characters; the file's name when left out.
    pub title: Option<String>,
    /// The language that it is in, where it speaks one.
    pub language: Option<LocaleTag>,
    /// At most 30 tags of 1 to 64 characters on one line.
    #[graphql(default)]
    pub tags: Vec<String>,
    /// At most 100 attributes, each key once.
    #[graphql(default)]
    pub attributes: Vec<AttributeInput>,
    /// Names of the roles that may read it, such as `analyst`; none: everyone. What its parent has
    /// when left out.
    pub access: Option<Vec<String>>,
    /// From when on readers see it; from now on when left out.
    pub publish_at: Option<DateTime>,
    /// Your idempotency key: the same file sent again under it is uploaded once, and one that was cut
    /// is begun anew.
    pub op_id: Option<ID>,
}

/// Another file for an asset.
#[derive(Debug, InputObject)]
pub(in super::super) struct ReplaceAssetInput {
    /// Global id of the asset.
    pub asset: ID,
    /// The file.
    pub file: Upload,
    /// Its nonce as you read it: then only that version is replaced.
    pub nonce: Option<ID>,
    /// Your idempotency key.
    pub op_id: Option<ID>,
}

/// What changes of an asset; what is left out stays.
#[derive(Debug, InputObject)]
pub(in super::super) struct EditAssetInput {
    /// Global id of the asset.
    pub asset: ID,
    /// Its nonce as you read it.
    pub nonce: ID,
    /// The title, 1 to 300 characters.
    pub title: Option<String>,
    /// The language that it is in.
    pub language: Option<LocaleTag>,
    /// Names of the roles that may read it; an empty list: everyone.
    pub access: Option<Vec<String>>,
    /// From when on readers see it.
    pub publish_at: Option<DateTime>,
    /// All its attributes but those that come from the file.
    pub attributes: Option<Vec<AttributeInput>>,
}

/// Tags for an asset.
#[derive(Debug, InputObject)]
pub(in super::super) struct TagAssetInput {
    /// Global id of the asset.
    pub asset: ID,
    /// Tags of 1 to 64 characters on one line; those that it has stay. An asset has 30 at the most.
    pub tags: Vec<String>,
}

/// Tags that an asset no longer has.
#[derive(Debug, InputObject)]
pub(in super::super) struct UntagAssetInput {
    /// Global id of the asset.
    pub asset: ID,
    /// The tags; one that it hasn't is as good as removed.
    pub tags: Vec<String>,
}

/// An asset to be deleted.
#[derive(Debug, InputObject)]
pub(in super::super) struct DeleteAssetInput {
    /// Global id of the asset.
    pub asset: ID,
    /// Its nonce as you read it: then only that version is deleted.
    pub nonce: Option<ID>,
}
