//! Pictures among content. They are assets.

use super::{
    nodes::{Content, parent_of},
    parts::{ContentDraft, ContentRevision, ReaderRole},
};
use crate::{
    domains::{
        assets::{AssetDocument, DISCUSSED, FileFacts},
        comments::Discussion,
        images::{self, Image},
    },
    graphql::{
        author::Author,
        prelude::*,
        scalars::{DateTime, int},
    },
};

/// A picture in a folder or gallery.
#[derive(Debug, Clone)]
pub struct Photo(pub(in super::super) Box<AssetDocument>);

object! {
    /// A picture in a folder or gallery. `node` and `asset` return the same picture as an `Asset`, with more data
    /// of the file.
    impl Photo as photo {
        /// Global id of the asset.
        pub id: ID = NodeKind::ASSET.id(&photo.0.id),
        /// Slug, the last step of the path. It is unique among the assets of one parent.
        slug: &Slug = &photo.0.metadata.slug,
        /// Path of slugs from the root to the picture, such as `/en/gallery/tram`.
        path: &str = &photo.0.metadata.path,
        /// Global id of the parent; null for a root.
        parent_id: Option<ID> =
            photo.0.metadata.parent_id.as_ref().map(|id| NodeKind::CONTENT.id(id)),
        /// Folder or gallery that contains the picture; null for a root, and if the caller can't see it.
        parent(context)?: Option<Content> =
            parent_of(context, photo.0.metadata.parent_id.as_deref()).await?,
        /// Always null, because a picture contains nothing. With an error unless the caller is an editor.
        children by editor: Option<Connection<Content>> = None,
        /// Always null: pictures have no former paths.
        redirected_from: Option<&str> = None,
        /// Title that readers see, up to 300 characters. An upload without a title gives it the name of
        /// the file.
        title: &str = &photo.0.metadata.title,
        /// Language of the text in the picture; null if there is none or it is unknown.
        language: Option<&LocaleTag> = photo.0.metadata.language.as_ref(),
        /// Always empty: a picture has no text.
        body: &str = "",
        /// Always empty: a picture has no text.
        html: &str = "",
        /// The picture itself, with its title as the alternative text.
        images: Vec<Image> = {
            let title = photo.0.metadata.title.clone();
            Image::of(&photo.0, title).into_iter().collect()
        },
        /// Tags, sorted.
        tags: &[String] = &photo.0.metadata.tags,
        /// Roles that may read the picture; an empty list permits everyone.
        access: Vec<ReaderRole> = ReaderRole::of(&photo.0.metadata.access),
        /// Author of the picture, with the name that readers see.
        author: Author = (&photo.0.metadata.author).into(),
        /// Time at which the asset was created.
        created_at: DateTime = photo.0.metadata.created.into(),
        /// Time from which readers see the picture.
        published_at: Option<DateTime> = Some(photo.0.published_at.into()),
        /// Time at which the present file was complete.
        updated_at: Option<DateTime> = photo.file().map(|file| file.at.into()),
        /// Discussion of the picture with its newest comments; null if none was opened.
        discussion: Option<Discussion> = {
            let found = photo.0.discussion.clone()?;
            Some(Discussion::of(&DISCUSSED, &photo.0.id, found))
        },
        /// Always null, because pictures have no drafts. With an error unless the caller is an editor.
        draft by editor: Option<ContentDraft> = None,
        /// Always null, because pictures have no former versions. With an error unless the caller is an editor.
        revisions by editor: Option<Connection<ContentRevision>> = None,
        /// URL of the file, relative to the address of this gateway.
        url(
            context,
            #[graphql(desc = "Width in pixels; see `Image.url`. Default: the file itself.")]
            width: Option<i32>,
        )?: String = images::url(context, &photo.0, width)?,
        /// Media type of the file, detected from its bytes.
        media_type: Option<&str> = photo.file().map(|file| file.media_type.as_str()),
        /// Width in pixels; null if unknown.
        width: Option<i32> = photo.file().and_then(|file| file.width).map(int),
        /// Height in pixels; null if unknown.
        height: Option<i32> = photo.file().and_then(|file| file.height).map(int),
    }
}

impl Photo {
    fn file(&self) -> Option<&FileFacts> {
        self.0.file.as_ref()
    }
}
