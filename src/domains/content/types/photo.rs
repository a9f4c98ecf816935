//! Pictures, which are assets, among content.

use async_graphql::{Context, ID, Object, Result};

use super::parts::{ContentAuthor, ContentDraft, ReaderRole};
use crate::{
    domains::{
        assets::{AssetDocument, FileFacts},
        comments::Discussion,
    },
    graphql::{
        node_id::NodeKind,
        requester,
        requester::{Role, Who},
        scalars::{DateTime, LocaleTag, Long, Slug},
    },
};

/// A picture in a folder or gallery; by its id it is also found as an `Asset`, with all that is known of
/// the file.
#[derive(Debug)]
pub struct Photo(pub(in super::super) Box<AssetDocument>);

/// A picture in a folder or gallery; by its id it is also found as an `Asset`, with all that is known of
/// the file.
#[Object]
impl Photo {
    /// Global id.
    pub async fn id(&self) -> ID {
        NodeKind::Asset.id(&self.0.id)
    }

    /// Its step in paths; no other asset beside it has the same.
    pub(super) async fn slug(&self) -> &Slug {
        &self.0.metadata.slug
    }

    /// The slugs from the root to itself, such as `/en/gallery/tram`.
    pub(super) async fn path(&self) -> &str {
        &self.0.metadata.path
    }

    /// Global id of what it lies in; null for a root.
    pub(super) async fn parent_id(&self) -> Option<ID> {
        self.0.metadata.parent_id.as_ref().map(|id| NodeKind::Content.id(id))
    }

    /// Null: pictures are asked for where they are.
    pub(super) async fn redirected_from(&self) -> Option<&str> {
        None
    }

    /// The title.
    pub(super) async fn title(&self) -> &str {
        &self.0.metadata.title
    }

    /// The language of what is written in it; null where it speaks none.
    pub(super) async fn language(&self) -> Option<&LocaleTag> {
        self.0.metadata.language.as_ref()
    }

    /// Empty: a picture has no text.
    pub(super) async fn body(&self) -> &str {
        ""
    }

    /// Empty: a picture has no text.
    pub(super) async fn html(&self) -> Result<String> {
        Ok(String::new())
    }

    /// Its tags, sorted.
    pub(super) async fn tags(&self) -> &[String] {
        &self.0.metadata.tags
    }

    /// The roles that may read it; none: everyone.
    pub(super) async fn access(&self) -> Vec<ReaderRole> {
        ReaderRole::of(&self.0.metadata.access)
    }

    /// Who made it.
    pub(super) async fn author(&self) -> ContentAuthor {
        let author = &self.0.metadata.author;
        ContentAuthor::of(&author.id, &author.name)
    }

    /// When it was made.
    pub(super) async fn created_at(&self) -> DateTime {
        self.0.metadata.created.into()
    }

    /// When readers saw it first.
    pub(super) async fn published_at(&self) -> Option<DateTime> {
        Some(self.0.published_at.into())
    }

    /// When its present file came.
    pub(super) async fn updated_at(&self) -> Option<DateTime> {
        self.file().map(|file| file.at.into())
    }

    /// What people say about it; null where no discussion was opened.
    pub(super) async fn discussion(&self) -> Option<Discussion> {
        self.0.discussion.clone().map(Discussion)
    }

    /// Null: pictures have no drafts. For others than editors also an error.
    ///
    /// Who: editor.
    pub(super) async fn draft(&self, context: &Context<'_>) -> Result<Option<ContentDraft>> {
        Who::Role(Role::Editor).check_requester(requester(context))?;
        Ok(None)
    }

    /// Where its bytes are, relative to this gateway's address.
    async fn url(&self) -> String {
        format!("/assets{}", self.0.metadata.path)
    }

    /// Media type, by the bytes.
    async fn media_type(&self) -> Option<&str> {
        self.file().map(|file| file.media_type.as_str())
    }

    /// Pixels.
    async fn width(&self) -> Option<Long> {
        self.file().and_then(|file| file.width).map(Long)
    }

    /// Pixels.
    async fn height(&self) -> Option<Long> {
        self.file().and_then(|file| file.height).map(Long)
    }
}

impl Photo {
    fn file(&self) -> Option<&FileFacts> {
        self.0.file.as_ref()
    }
}

impl From<Photo> for AssetDocument {
    fn from(photo: Photo) -> Self {
        *photo.0
    }
}
