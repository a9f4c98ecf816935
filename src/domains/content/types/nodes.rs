//! Content as clients see it. The fields that all content has are generated for each type.

use async_graphql::{Context, Enum};
use mongodb::bson;

use super::{
    super::{
        DISCUSSED,
        documents::{self, ContentTranslation, Detail, NodeDocument},
        markdown, operations,
    },
    parts::{ContentDraft, ContentRevision, ReaderRole},
    photo::{Photo, Video},
};
use crate::{
    domains::{
        assets::AssetDocument,
        audiences::may_see,
        comments::Discussion,
        images::{self, Image},
        metadata::Metadata,
    },
    graphql::{author::Author, interface::interface, is_selected, prelude::*, scalars::DateTime},
    mongo::collection::Timed,
};

/// What content is. It determines which content it may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum, serde::Serialize)]
#[graphql(remote = "documents::ContentType")]
pub enum ContentType {
    /// A page of text.
    Page,
    /// A post in a blog.
    BlogEntry,
    /// A folder of pages, blogs, galleries and other folders.
    Folder,
    /// A blog, which groups blog entries.
    Blog,
    /// A gallery, which groups pictures.
    Gallery,
}

/// Content as one caller sees it at one time.
#[derive(Debug, Clone)]
pub struct Shown {
    node: Box<NodeDocument>,
    now: bson::DateTime,
    requested: Option<String>,
    locale: Option<LocaleTag>,
}

impl Shown {
    /// The content, if the caller may see it. Readers see what is published at this time for one of their
    /// roles; editors see everything.
    pub fn to(requester: &Requester, found: Timed<NodeDocument>) -> Option<Self> {
        let Timed { now, document: node } = found;
        let is_published = node.shown(now).is_some();
        let sees =
            node.deleted_at.is_none() && may_see(requester, &node.metadata.access, is_published);
        sees.then(|| Self::written(node, now))
    }

    /// The content as an editor sees it after a write.
    pub fn written(node: NodeDocument, now: bson::DateTime) -> Self {
        Self { node: Box::new(node), now, requested: None, locale: None }
    }

    /// Notes the path that the client asked for.
    #[must_use]
    pub fn requested_at(self, path: &str) -> Self {
        Self { requested: Some(path.to_owned()), ..self }
    }

    /// The language that the client asked for.
    pub(super) fn locale(&self) -> Option<&LocaleTag> {
        self.locale.as_ref()
    }

    /// The stored document.
    pub(in super::super) fn node(&self) -> &NodeDocument {
        &self.node
    }

    /// Server time from which the visible version is published; `None` for a draft.
    pub(in super::super) fn since(&self) -> Option<bson::DateTime> {
        self.node.shown(self.now).map(|edition| edition.at)
    }

    /// Title of the published version, or of the draft if none is published (which only editors see). It is in the content's
    /// own language.
    pub(super) fn own_title(&self) -> &str {
        self.node.shown(self.now).map_or(&self.node.metadata.title, |edition| &edition.title)
    }

    /// As [`Self::own_title`].
    pub(in super::super) fn detail(&self) -> &Detail {
        self.node.shown(self.now).map_or(&self.node.metadata.detail, |edition| &edition.detail)
    }

    /// As [`Self::own_title`].
    pub(super) fn own_language(&self) -> Option<&LocaleTag> {
        let edition = self.node.shown(self.now);
        edition.map_or(&self.node.metadata.language, |edition| &edition.language).as_ref()
    }
}

interface! {
    /// Something to read, such as a page, or something that groups content, such as a blog.
    #[derive(Clone)]
    pub enum Content: Page | Photo | Video | BlogEntry | Folder | Blog | Gallery;
}

/// Descriptions of fields on the interface, where pictures have them too: interface, field, description.
pub const DESCRIPTIONS: [(&str, &str, &str); 2] = [
    (
        "Content",
        "children",
        "Direct children, published or not, sorted by slug; pictures aren't among them. Null, with an error, unless \
            the caller is an editor. Null for a picture, which has none. Who: editor.",
    ),
    (
        "Content",
        "revisions",
        "Former versions, newest first; the last 50 are kept. Null, with an error, unless the caller is an editor. \
            Null for a picture, which has none. Who: editor.",
    ),
];

/// Whether a field is selected for which the texts have to be read.
pub(in super::super) fn has_texts(context: &Context<'_>) -> bool {
    is_selected(context, &["body", "html"])
}

impl Content {
    /// The stored document: one of this room, or the asset of a picture.
    pub(in super::super) fn shown(&self) -> std::result::Result<&Shown, &AssetDocument> {
        match self {
            Self::Page(Page(shown))
            | Self::BlogEntry(BlogEntry(shown))
            | Self::Folder(Folder(shown))
            | Self::Blog(Blog(shown))
            | Self::Gallery(Gallery(shown)) => Ok(shown),
            Self::Photo(Photo(asset)) | Self::Video(Video(asset)) => Err(asset),
        }
    }

    /// The same with its texts in the language that the client asks for, if they have it.
    #[must_use]
    pub(in super::super) fn in_language(mut self, wanted: Option<&LocaleTag>) -> Self {
        match &mut self {
            Self::Page(Page(shown))
            | Self::BlogEntry(BlogEntry(shown))
            | Self::Folder(Folder(shown))
            | Self::Blog(Blog(shown))
            | Self::Gallery(Gallery(shown)) => shown.locale = wanted.cloned(),
            Self::Photo(_) | Self::Video(_) => {}
        }
        self
    }

    /// The asset as content; `None` if it is neither a picture nor a video.
    pub(in super::super) fn of_asset(asset: AssetDocument) -> Option<Self> {
        if asset.is_photo() {
            return Some(Self::Photo(Photo(Box::new(asset))));
        }
        asset.is_video().then(|| Self::Video(Video(Box::new(asset))))
    }

    /// Its present path.
    pub(in super::super) fn path(&self) -> &str {
        match self.shown() {
            Ok(shown) => &shown.node.metadata.path,
            Err(asset) => &asset.metadata.path,
        }
    }
}

/// Converts content to the member of its type, of unions and interfaces with a member for each type.
macro_rules! from_shown {
    ($($name:ident),+ $(,)?) => {$(
        impl From<Shown> for $name {
            fn from(shown: Shown) -> Self {
                match shown.node().metadata.kind {
                    documents::ContentType::Page => Self::Page(Page(shown)),
                    documents::ContentType::BlogEntry => Self::BlogEntry(BlogEntry(shown)),
                    documents::ContentType::Folder => Self::Folder(Folder(shown)),
                    documents::ContentType::Blog => Self::Blog(Blog(shown)),
                    documents::ContentType::Gallery => Self::Gallery(Gallery(shown)),
                }
            }
        }
    )+};
}
pub(super) use from_shown;

from_shown!(Content);

/// The parent with that `_id`, if the caller can see it.
pub(super) async fn parent_of(
    context: &Context<'_>,
    id: Option<&str>,
    locale: Option<&LocaleTag>,
) -> Result<Option<Content>> {
    let Some(id) = id else { return Ok(None) };
    let found = operations::by_id(cx(context), id).await?;
    Ok(found.map(|content| content.in_language(locale)))
}

/// The types of content: each has the common fields and its own.
macro_rules! content_types {
    (as $shown:ident $($(#[doc = $about:literal])+ $name:ident { $($own:tt)* })+) => {$(
        $(#[doc = $about])+
        #[derive(Debug, Clone)]
        pub struct $name(pub(super) Shown);

        object! {
            $(#[doc = $about])+
            impl $name as $shown {
                /// Global id of the content.
                pub id: ID = NodeKind::CONTENT.id(&$shown.0.node.id),
                /// Slug, the last step of the path. It is unique among the content of one parent.
                slug: &Slug = &$shown.0.node.metadata.slug,
                /// Path of slugs from the root to the content, such as `/en/blog`.
                path: &str = &$shown.0.node.metadata.path,
                /// Global id of the parent; null for a root.
                parent_id: Option<ID> =
                    $shown.0.node.metadata.parent_id.as_ref().map(|id| NodeKind::CONTENT.id(id)),
                /// Parent, as `content(by: { id: … })` returns it; null for a root, and if the caller can't see it.
                parent(context)?: Option<Content> =
                    parent_of(context, $shown.0.node.metadata.parent_id.as_deref(), $shown.0.locale())
                        .await?,
                /// Direct children of the content, published or not, sorted by slug. Pictures aren't among them: `contents`
                /// and `assets` list those. Null, with an error, unless the caller is an editor.
                children(context) by editor?: Option<Connection<Content>> = {
                    let (id, locale) = (NodeKind::CONTENT.id(&$shown.0.node.id), $shown.0.locale());
                    let shape = (has_texts(context), locale);
                    let found = operations::below(cx(context), Some(&id), shape, paging(context)?);
                    Some(found.await?)
                },
                /// Former path by which the client asked for the content; null if it asked by the present path or
                /// by id. A client should redirect readers to `path`.
                redirected_from: Option<&str> =
                    $shown.0.requested.as_deref().filter(|path| *path != $shown.0.node.metadata.path),
                /// Title as it is displayed, 1 to 300 characters, in the language `language`: for exactly the tag of the
                /// `locale` argument of the field that returned the content, else for the language without region, else
                /// for another region of the language, else in the content's own language, also without `locale`.
                title: &str = $shown.0.title(),
                /// Language of the title that is shown; null if unknown.
                language: Option<&LocaleTag> = $shown.0.language(),
                /// Text in Markdown; may be empty. Its language is chosen as that of the title, among the languages that
                /// have a text.
                body: &str = $shown.0.body(),
                /// Text as HTML that is safe to display: scripts, forms and styles are removed.
                html?: String = markdown::html($shown.0.body()).await?,
                /// Title and texts in other languages than the content's own. Empty for pictures and videos.
                translations: &[ContentTranslation] = $shown.0.detail().translations(),
                /// Pictures of the content in order, without those that the caller can't see; at most 20.
                images(context)?: Vec<Image<'_>> =
                    images::of(cx(context), $shown.0.detail().images.as_deref()).await?,
                /// Tags, sorted.
                tags: &[String] = &$shown.0.node.metadata.tags,
                /// Roles that may read the content; an empty list permits everyone.
                access: Vec<ReaderRole> = ReaderRole::of(&$shown.0.node.metadata.access),
                /// Author of the content, with the name that readers see.
                author: Author = (&$shown.0.node.metadata.author).into(),
                /// Time at which the content was created.
                created_at: DateTime = $shown.0.node.metadata.created.into(),
                /// Time of the first publication. Null for content that readers don't see yet.
                published_at: Option<DateTime> =
                    $shown.0.since().and($shown.0.node.published_at).map(DateTime::from),
                /// Time from which the visible version is published. Null for content that readers don't see yet.
                updated_at: Option<DateTime> = $shown.0.since().map(DateTime::from),
                /// Discussion of the content with its newest comments; null if none was opened.
                discussion: Option<Discussion> = {
                    let found = $shown.0.node.discussion.clone()?;
                    Some(Discussion::of(&DISCUSSED, &$shown.0.node.id, found))
                },
                /// Metadata of the content: pairs that the site adds to it.
                metadata(context): Metadata = Metadata::of(cx(context), $shown.0.node.meta.as_deref()),
                /// Draft that editors work on. Null, with an error, unless the caller is an editor.
                draft by editor: Option<ContentDraft> = Some(ContentDraft($shown.0.node.clone())),
                /// Former versions, newest first; the last 50 are kept. Null, with an error, unless the caller is an
                /// editor.
                revisions(context) by editor?: Option<Connection<ContentRevision>> = {
                    let (id, paging) = (&$shown.0.node.id, paging(context)?);
                    Some(operations::revisions(app(context), id, paging).await?)
                },
                $($own)*
            }
        }
    )+};
}

content_types! {
    as content

    /// A page of text.
    Page {}

    /// A post in a blog.
    BlogEntry {
        /// Summary in plain text; null if there is none.
        summary: Option<&str> = content.0.summary(),
    }

    /// A folder of pages, blogs, galleries and other folders.
    Folder {}

    /// A blog, which groups blog entries. Its newest entries are also served as an Atom feed.
    Blog {
        /// Subtitle, a line below the title; null if there is none.
        subtitle: Option<&str> = content.0.subtitle(),
        /// Path of the Atom feed of the newest entries, on the host of this gateway.
        feed_path: String = format!("/feeds{}.atom", content.0.node.metadata.path),
    }

    /// A gallery, which groups pictures.
    Gallery {
        /// Subtitle, a line below the title; null if there is none.
        subtitle: Option<&str> = content.0.subtitle(),
    }
}
