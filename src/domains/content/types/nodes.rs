//! Content as clients see it. The fields that all content has are generated for each type.

use async_graphql::{Context, Enum, ID, Object, Result, connection::Connection};
use mongodb::bson;

use super::{
    super::{
        DISCUSSED,
        documents::{self, Detail, NodeDocument},
        markdown, operations,
    },
    parts::{ContentDraft, ContentRevision, ReaderRole},
    photo::Photo,
};
use crate::{
    domains::{assets::AssetDocument, audiences::may_see, comments::Discussion},
    graphql::{
        app,
        author::Author,
        cx::cx,
        interface::interface,
        is_selected,
        node_id::NodeKind,
        page::paging,
        requester,
        requester::{Requester, Role, Who},
        scalars::{DateTime, LocaleTag, Slug},
    },
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
        Self { node: Box::new(node), now, requested: None }
    }

    /// Notes the path that the client asked for.
    #[must_use]
    pub fn requested_at(self, path: &str) -> Self {
        Self { requested: Some(path.to_owned()), ..self }
    }

    /// The stored document.
    pub(in super::super) fn node(&self) -> &NodeDocument {
        &self.node
    }

    /// Server time from which the visible version is published; `None` for a draft.
    pub(in super::super) fn since(&self) -> Option<bson::DateTime> {
        self.node.shown(self.now).map(|edition| edition.at)
    }

    /// Title of the published version, or of the draft if none is published (which only editors see).
    pub(in super::super) fn title(&self) -> &str {
        self.node.shown(self.now).map_or(&self.node.metadata.title, |edition| &edition.title)
    }

    /// As [`Self::title`].
    pub(in super::super) fn detail(&self) -> &Detail {
        self.node.shown(self.now).map_or(&self.node.metadata.detail, |edition| &edition.detail)
    }

    /// As [`Self::title`].
    pub(in super::super) fn language(&self) -> Option<&LocaleTag> {
        let edition = self.node.shown(self.now);
        edition.map_or(&self.node.metadata.language, |edition| &edition.language).as_ref()
    }
}

interface! {
    /// Something to read, such as a page, or something that groups content, such as a blog.
    #[derive(Clone)]
    pub enum Content: Page | Photo | BlogEntry | Folder | Blog | Gallery;
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
            Self::Photo(Photo(photo)) => Err(photo),
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
pub(super) async fn parent_of(context: &Context<'_>, id: Option<&str>) -> Result<Option<Content>> {
    let Some(id) = id else { return Ok(None) };
    let found = operations::by_id(app(context), requester(context), id).await?;
    Ok(found.map(Content::from))
}

/// The types of content: each has the common fields and its own.
macro_rules! content_types {
    ($($(#[doc = $about:literal])+ $name:ident { $($own:tt)* })+) => {$(
        $(#[doc = $about])+
        #[derive(Debug, Clone)]
        pub struct $name(pub(super) Shown);

        $(#[doc = $about])+
        #[Object]
        impl $name {
            /// Global id of the content.
            pub async fn id(&self) -> ID {
                NodeKind::CONTENT.id(&self.0.node.id)
            }

            /// Slug, the last step of the path. It is unique among the content of one parent.
            async fn slug(&self) -> &Slug {
                &self.0.node.metadata.slug
            }

            /// Path of slugs from the root to the content, such as `/en/blog`.
            async fn path(&self) -> &str {
                &self.0.node.metadata.path
            }

            /// Global id of the parent; null for a root.
            async fn parent_id(&self) -> Option<ID> {
                self.0.node.metadata.parent_id.as_ref().map(|id| NodeKind::CONTENT.id(id))
            }

            /// Parent, as `content(by: { id: … })` returns it; null for a root, and if the caller can't see it.
            async fn parent(&self, context: &Context<'_>) -> Result<Option<Content>> {
                parent_of(context, self.0.node.metadata.parent_id.as_deref()).await
            }

            /// Direct children of the content, published or not, sorted by slug. Pictures aren't among them: `contents`
            /// and `assets` list those. Null, with an error, unless the caller is an editor.
            ///
            /// Who: editor.
            #[graphql(guard = "Who::Role(Role::Editor)")]
            async fn children(
                &self,
                context: &Context<'_>,
            ) -> Result<Option<Connection<String, Content>>> {
                let (id, texts) = (NodeKind::CONTENT.id(&self.0.node.id), has_texts(context));
                let found = operations::below(cx(context), Some(&id), texts, paging(context)?);
                Ok(Some(found.await?))
            }

            /// Former path by which the client asked for the content; null if it asked by the present path or
            /// by id. A client should redirect readers to `path`.
            async fn redirected_from(&self) -> Option<&str> {
                self.0.requested.as_deref().filter(|path| *path != self.0.node.metadata.path)
            }

            /// Title as it is displayed, 1 to 300 characters, in the language `language`.
            async fn title(&self) -> &str {
                self.0.title()
            }

            /// Language of title and text; null if unknown.
            async fn language(&self) -> Option<&LocaleTag> {
                self.0.language()
            }

            /// Text in Markdown; may be empty.
            async fn body(&self) -> &str {
                &self.0.detail().body
            }

            /// Text as HTML that is safe to display: scripts, forms and styles are removed.
            async fn html(&self) -> Result<String> {
                Ok(markdown::html(&self.0.detail().body).await?)
            }

            /// Tags, sorted.
            async fn tags(&self) -> &[String] {
                &self.0.node.metadata.tags
            }

            /// Roles that may read the content; an empty list permits everyone.
            async fn access(&self) -> Vec<ReaderRole> {
                ReaderRole::of(&self.0.node.metadata.access)
            }

            /// Author of the content, with the name that readers see.
            async fn author(&self) -> Author {
                (&self.0.node.metadata.author).into()
            }

            /// Time at which the content was created.
            async fn created_at(&self) -> DateTime {
                self.0.node.metadata.created.into()
            }

            /// Time of the first publication. Null for content that readers don't see yet.
            async fn published_at(&self) -> Option<DateTime> {
                self.0.since().and(self.0.node.published_at).map(DateTime::from)
            }

            /// Time from which the visible version is published. Null for content that readers don't see yet.
            async fn updated_at(&self) -> Option<DateTime> {
                self.0.since().map(DateTime::from)
            }

            /// Discussion of the content with its newest comments; null if none was opened.
            async fn discussion(&self) -> Option<Discussion> {
                let found = self.0.node.discussion.clone()?;
                Some(Discussion::of(&DISCUSSED, &self.0.node.id, found))
            }

            /// Draft that editors work on. Null, with an error, unless the caller is an editor.
            ///
            /// Who: editor.
            #[graphql(guard = "Who::Role(Role::Editor)")]
            async fn draft(&self) -> Option<ContentDraft> {
                Some(ContentDraft::from(&*self.0.node))
            }

            /// Former versions, newest first; the last 50 are kept. Null, with an error, unless the caller is an
            /// editor.
            ///
            /// Who: editor.
            #[graphql(guard = "Who::Role(Role::Editor)")]
            async fn revisions(
                &self,
                context: &Context<'_>,
            ) -> Result<Option<Connection<String, ContentRevision>>> {
                let (id, paging) = (&self.0.node.id, paging(context)?);
                Ok(Some(operations::revisions(app(context), id, paging).await?))
            }

            $($own)*
        }
    )+};
}

content_types! {
    /// A page of text.
    Page {}

    /// A post in a blog.
    BlogEntry {
        /// Summary in plain text; null if there is none.
        async fn summary(&self) -> Option<&str> {
            self.0.detail().summary.as_deref()
        }
    }

    /// A folder of pages, blogs, galleries and other folders.
    Folder {}

    /// A blog, which groups blog entries. Its newest entries are also served as an Atom feed.
    Blog {
        /// Subtitle, a line below the title; null if there is none.
        async fn subtitle(&self) -> Option<&str> {
            self.0.detail().subtitle.as_deref()
        }

        /// Path of the Atom feed of the newest entries, on the host of this gateway.
        async fn feed_path(&self) -> String {
            format!("/feeds{}.atom", self.0.node.metadata.path)
        }
    }

    /// A gallery, which groups pictures.
    Gallery {
        /// Subtitle, a line below the title; null if there is none.
        async fn subtitle(&self) -> Option<&str> {
            self.0.detail().subtitle.as_deref()
        }
    }
}
