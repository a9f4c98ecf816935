//! Pictures and videos among content. They are assets.

use super::{
    super::documents::ContentTranslation,
    nodes::{Content, parent_of},
    parts::{ContentDraft, ContentRevision, ReaderRole},
};
use crate::{
    domains::{
        assets::{AssetDocument, DISCUSSED},
        comments::Discussion,
        images::{self, Image},
        metadata::Metadata,
    },
    graphql::{
        author::Author,
        prelude::*,
        scalars::{DateTime, int},
    },
};

/// The types of files among content: each has the same fields.
macro_rules! file_types {
    (as $shown:ident $($(#[doc = $about:literal])+ $name:ident)+) => {$(
        $(#[doc = $about])+
        #[derive(Debug, Clone)]
        pub struct $name(pub(in super::super) Box<AssetDocument>);

        object! {
            $(#[doc = $about])+
            impl $name as $shown {
                /// Global id of the asset.
                pub id: ID = NodeKind::ASSET.id(&$shown.0.id),
                /// Slug, the last step of the path. It is unique among the assets of one parent.
                slug: &Slug = &$shown.0.metadata.slug,
                /// Path of slugs from the root to the file, such as `/en/gallery/tram`.
                path: &str = &$shown.0.metadata.path,
                /// Global id of the parent; null for a root.
                parent_id: Option<ID> =
                    $shown.0.metadata.parent_id.as_ref().map(|id| NodeKind::CONTENT.id(id)),
                /// Folder or gallery that contains the file; null for a root, and if the caller can't see it.
                parent(context)?: Option<Content> =
                    parent_of(context, $shown.0.metadata.parent_id.as_deref(), None).await?,
                /// Always null, because a file contains nothing. With an error unless the caller is an editor.
                children by editor: Option<Connection<Content>> = None,
                /// Former path by which the client asked for the file; null if it asked by the present path or by id. A client
                /// should redirect readers to `path`.
                redirected_from: Option<&str> = $shown.0.redirected_from.as_deref(),
                /// Title that readers see, up to 300 characters. An upload without a title gives it the name of
                /// the file.
                title: &str = &$shown.0.metadata.title,
                /// Description of what the file shows, for readers who don't see it; null without one.
                description: Option<&str> = $shown.0.metadata.description.as_deref(),
                /// Language of the text or speech in the file; null if there is none or it is unknown.
                language: Option<&LocaleTag> = $shown.0.metadata.language.as_ref(),
                /// Always empty: a file has no text.
                body: &str = "",
                /// Always empty: a file has no text.
                html: &str = "",
                /// Always empty: a file has a title in one language.
                translations: &[ContentTranslation] = &[],
                /// The picture itself. Its alternative text is its description, or else its title. Empty for a video.
                images: Vec<Image<'_>> = {
                    let metadata = &$shown.0.metadata;
                    let text = metadata.description.as_ref().unwrap_or(&metadata.title);
                    Image::of(&$shown.0, text).into_iter().collect()
                },
                /// Tags, sorted.
                tags: &[String] = &$shown.0.metadata.tags,
                /// Roles that may read the file; an empty list permits everyone.
                access: Vec<ReaderRole> = ReaderRole::of(&$shown.0.metadata.access),
                /// Author of the file, with the name that readers see.
                author: Author = (&$shown.0.metadata.author).into(),
                /// Time at which the asset was created.
                created_at: DateTime = $shown.0.metadata.created.into(),
                /// Time from which readers see the file.
                published_at: Option<DateTime> = Some($shown.0.published_at.into()),
                /// Time at which the present file was complete.
                updated_at: Option<DateTime> = $shown.0.file.as_ref().map(|file| file.at.into()),
                /// Discussion of the file with its newest comments; null if none was opened.
                discussion: Option<Discussion> = {
                    let found = $shown.0.discussion.clone()?;
                    Some(Discussion::of(&DISCUSSED, &$shown.0.id, found))
                },
                /// Metadata of the file: pairs that the site adds to it.
                metadata(context): Metadata = Metadata::of(cx(context), $shown.0.meta.as_deref()),
                /// Always null, because files have no drafts. With an error unless the caller is an editor.
                draft by editor: Option<ContentDraft> = None,
                /// Always null, because files have no former versions. With an error unless the caller is an editor.
                revisions by editor: Option<Connection<ContentRevision>> = None,
                /// URL of the file, relative to the address of this gateway.
                url(
                    context,
                    #[graphql(desc = "Width in pixels, for pictures; see `Image.url`. Default: the file itself.")]
                    width: Option<i32>,
                )?: String = images::url(context, &$shown.0, width)?,
                /// Media type of the file, detected from its bytes.
                media_type: Option<&str> = $shown.0.file.as_ref().map(|file| file.media_type.as_str()),
                /// Width in pixels; null if unknown.
                width: Option<i32> = $shown.0.file.as_ref().and_then(|file| file.width).map(int),
                /// Height in pixels; null if unknown.
                height: Option<i32> = $shown.0.file.as_ref().and_then(|file| file.height).map(int),
            }
        }
    )+};
}

file_types! {
    as file

    /// A picture in a folder or gallery. `node` and `asset` return the same picture as an `Asset`, with more data
    /// of the file.
    Photo

    /// A video in a folder or gallery. `node` and `asset` return the same video as an `Asset`, with more data of the file.
    Video
}
