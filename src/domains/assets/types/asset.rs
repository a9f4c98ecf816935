//! An asset.

use async_graphql::{ID, Object, SimpleObject};
use mongodb::bson::Bson;

use super::super::documents::{AssetDocument, Attribute as Stored, FileFacts};
use crate::{
    domains::comments::Discussion,
    graphql::{
        node_id::NodeKind,
        scalars::{DateTime, LocaleTag, Long, Slug},
    },
};

/// A file with what is known of it.
#[derive(Debug)]
pub struct Asset(Box<AssetDocument>);

impl From<AssetDocument> for Asset {
    fn from(asset: AssetDocument) -> Self {
        Self(Box::new(asset))
    }
}

/// A file with what is known of it. Its bytes are at `url`, which also takes a new file by `PUT`.
#[Object]
impl Asset {
    /// Its global id.
    pub async fn id(&self) -> ID {
        NodeKind::Asset.id(&self.0.id)
    }

    /// Changes with every edit and every replacement of the file.
    async fn nonce(&self) -> ID {
        ID(self.0.metadata.nonce.clone())
    }

    /// Its step in paths; no other asset in the same parent has it.
    async fn slug(&self) -> &Slug {
        &self.0.metadata.slug
    }

    /// The slugs from its root down to itself, such as `/travel/lisbon/tram`.
    async fn path(&self) -> &str {
        &self.0.metadata.path
    }

    /// Global id of the folder or gallery that it lies in; null for a root.
    async fn parent_id(&self) -> Option<ID> {
        self.0.metadata.parent_id.as_ref().map(|id| NodeKind::Content.id(id))
    }

    /// Where its bytes are, relative to this gateway's address.
    async fn url(&self) -> String {
        format!("/assets{}", self.0.metadata.path)
    }

    /// The title.
    async fn title(&self) -> &str {
        &self.0.metadata.title
    }

    /// The language that it is in; null where it speaks none.
    async fn language(&self) -> Option<&LocaleTag> {
        self.0.metadata.language.as_ref()
    }

    /// Its tags, sorted.
    async fn tags(&self) -> &[String] {
        &self.0.metadata.tags
    }

    /// What else is known of it, such as what a camera wrote into the picture (keys with `exif:`).
    async fn attributes(&self) -> Vec<Attribute> {
        self.0.attributes.iter().map(Attribute::from).collect()
    }

    /// Subject of the token of whoever made it.
    async fn author(&self) -> &str {
        &self.0.metadata.author.id
    }

    /// Whoever made it, by the name that is shown.
    async fn author_name(&self) -> &str {
        &self.0.metadata.author.name
    }

    /// Names of the roles that may read it; with none of them, everyone may. Editors always may.
    async fn access(&self) -> &[String] {
        &self.0.metadata.access
    }

    /// What people say about it; null where no discussion was opened.
    async fn discussion(&self) -> Option<Discussion> {
        self.0.discussion.clone().map(Discussion)
    }

    /// When it was made.
    async fn created_at(&self) -> DateTime {
        self.0.metadata.created.into()
    }

    /// From when on readers see it; editors see it before.
    async fn published_at(&self) -> DateTime {
        self.0.published_at.into()
    }

    /// When its present file was whole.
    async fn replaced_at(&self) -> Option<DateTime> {
        self.file().map(|file| file.at.into())
    }

    /// Media type, by the bytes: what the client had said doesn't count.
    async fn media_type(&self) -> Option<&str> {
        self.file().map(|file| file.media_type.as_str())
    }

    /// What the file was called where it came from.
    async fn file_name(&self) -> Option<&str> {
        self.file().map(|file| file.name.as_str())
    }

    /// Bytes.
    async fn length(&self) -> Option<Long> {
        self.file().map(|file| Long(file.length))
    }

    /// SHA-256 of the bytes, in hexadecimal digits.
    async fn sha256(&self) -> Option<&str> {
        self.file().map(|file| file.digest.as_str())
    }

    /// Pixels of a picture.
    async fn width(&self) -> Option<Long> {
        self.file().and_then(|file| file.width).map(Long)
    }

    /// Pixels of a picture.
    async fn height(&self) -> Option<Long> {
        self.file().and_then(|file| file.height).map(Long)
    }
}

impl Asset {
    fn file(&self) -> Option<&FileFacts> {
        self.0.file.as_ref()
    }
}

/// One attribute. Of its values exactly one isn't null.
#[derive(Debug, Clone, SimpleObject)]
pub(in super::super) struct Attribute {
    /// What it is about.
    pub key: String,
    /// A text.
    pub text: Option<String>,
    /// A number.
    pub number: Option<f64>,
    /// A moment.
    pub date: Option<DateTime>,
    /// Yes or no.
    pub flag: Option<bool>,
}

impl From<&Stored> for Attribute {
    fn from(Stored { key, value }: &Stored) -> Self {
        let mut attribute =
            Self { key: key.clone(), text: None, number: None, date: None, flag: None };
        match value {
            Bson::String(text) => attribute.text = Some(text.clone()),
            Bson::Double(number) => attribute.number = Some(*number),
            Bson::DateTime(moment) => attribute.date = Some((*moment).into()),
            Bson::Boolean(flag) => attribute.flag = Some(*flag),
            other => attribute.text = Some(other.to_string()),
        }
        attribute
    }
}
