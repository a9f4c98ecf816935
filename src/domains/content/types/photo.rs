//! Pictures among content. They are assets.

use async_graphql::{Context, ID, Object, Result, connection::Connection};

use super::{
    nodes::{Content, parent_of},
    parts::{ContentDraft, ContentRevision, ReaderRole},
};
use crate::{
    domains::{
        assets::{AssetDocument, DISCUSSED, FileFacts},
        comments::Discussion,
    },
    graphql::{
        author::Author,
        node_id::NodeKind,
        requester::{Role, Who},
        scalars::{DateTime, LocaleTag, Slug, int},
    },
};

/// A picture in a folder or gallery.
#[derive(Debug, Clone)]
pub struct Photo(pub(in super::super) Box<AssetDocument>);

/// A picture in a folder or gallery. `node` and `asset` return the same picture as an `Asset`, with more data
/// of the file.
#[Object]
impl Photo {
    /// Global id of the asset.
    pub async fn id(&self) -> ID {
        NodeKind::ASSET.id(&self.0.id)
    }

    /// Slug, the last step of the path. It is unique among the assets of one parent.
    async fn slug(&self) -> &Slug {
        &self.0.metadata.slug
    }

    /// Path of slugs from the root to the picture, such as `/en/gallery/tram`.
    async fn path(&self) -> &str {
        &self.0.metadata.path
    }

    /// Global id of the parent; null for a root.
    async fn parent_id(&self) -> Option<ID> {
        self.0.metadata.parent_id.as_ref().map(|id| NodeKind::CONTENT.id(id))
    }

    /// Folder or gallery that contains the picture; null for a root, and if the caller can't see it.
    async fn parent(&self, context: &Context<'_>) -> Result<Option<Content>> {
        parent_of(context, self.0.metadata.parent_id.as_deref()).await
    }

    /// Always null, because a picture contains nothing. With an error unless the caller is an editor.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn children(&self) -> Option<Connection<String, Content>> {
        None
    }

    /// Always null: pictures have no former paths.
    async fn redirected_from(&self) -> Option<&str> {
        None
    }

    /// Title that readers see, up to 300 characters. An upload without a title gives it the name of
    /// the file.
    async fn title(&self) -> &str {
        &self.0.metadata.title
    }

    /// Language of the text in the picture; null if there is none or it is unknown.
    async fn language(&self) -> Option<&LocaleTag> {
        self.0.metadata.language.as_ref()
    }

    /// Always empty: a picture has no text.
    async fn body(&self) -> &str {
        ""
    }

    /// Always empty: a picture has no text.
    async fn html(&self) -> &str {
        ""
    }

    /// Tags, sorted.
    async fn tags(&self) -> &[String] {
        &self.0.metadata.tags
    }

    /// Roles that may read the picture; an empty list permits everyone.
    async fn access(&self) -> Vec<ReaderRole> {
        ReaderRole::of(&self.0.metadata.access)
    }

    /// Author of the picture, with the name that readers see.
    async fn author(&self) -> Author {
        (&self.0.metadata.author).into()
    }

    /// Time at which the asset was created.
    async fn created_at(&self) -> DateTime {
        self.0.metadata.created.into()
    }

    /// Time from which readers see the picture.
    async fn published_at(&self) -> Option<DateTime> {
        Some(self.0.published_at.into())
    }

    /// Time at which the present file was complete.
    async fn updated_at(&self) -> Option<DateTime> {
        self.file().map(|file| file.at.into())
    }

    /// Discussion of the picture with its newest comments; null if none was opened.
    async fn discussion(&self) -> Option<Discussion> {
        let found = self.0.discussion.clone()?;
        Some(Discussion::of(&DISCUSSED, &self.0.id, found))
    }

    /// Always null, because pictures have no drafts. With an error unless the caller is an editor.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn draft(&self) -> Option<ContentDraft> {
        None
    }

    /// Always null, because pictures have no former versions. With an error unless the caller is an editor.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn revisions(&self) -> Option<Connection<String, ContentRevision>> {
        None
    }

    /// URL of the file, relative to the address of this gateway.
    async fn url(&self) -> String {
        format!("/assets{}", self.0.metadata.path)
    }

    /// Media type of the file, detected from its bytes.
    async fn media_type(&self) -> Option<&str> {
        self.file().map(|file| file.media_type.as_str())
    }

    /// Width in pixels; null if unknown.
    async fn width(&self) -> Option<i32> {
        self.file().and_then(|file| file.width).map(int)
    }

    /// Height in pixels; null if unknown.
    async fn height(&self) -> Option<i32> {
        self.file().and_then(|file| file.height).map(int)
    }
}

impl Photo {
    fn file(&self) -> Option<&FileFacts> {
        self.0.file.as_ref()
    }
}
