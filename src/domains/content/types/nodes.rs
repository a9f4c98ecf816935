//! Content as clients see it: what all have in common, stamped on each type.

use async_graphql::{Context, Enum, ID, Interface, Object, Result};
use mongodb::bson;

use super::{
    super::{
        documents::{self, Detail, NodeDocument},
        markdown,
    },
    parts::{ContentAuthor, ContentDraft, ReaderRole},
    photo::Photo,
};
use crate::{
    domains::{assets::AssetDocument, comments::Discussion},
    graphql::{
        node_id::NodeKind,
        requester,
        requester::{Requester, Role, Who},
        scalars::{DateTime, LocaleTag, Slug},
    },
    mongo::collection::Timed,
};

/// The kinds of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "documents::ContentType")]
pub enum ContentType {
    /// A text with a place of its own.
    Page,
    /// A text in a blog.
    BlogEntry,
    /// Groups pages, blogs, galleries and other folders.
    Folder,
    /// Groups blog entries.
    Blog,
    /// Groups pictures.
    Gallery,
}

/// Content as one caller sees it at one moment.
#[derive(Debug)]
pub struct Shown {
    node: Box<NodeDocument>,
    now: bson::DateTime,
    asked: Option<String>,
}

impl Shown {
    /// What the caller may see: what is published by now for one of the caller's roles, and for an
    /// editor everything.
    pub fn to(requester: &Requester, found: Timed<NodeDocument>) -> Option<Self> {
        let Timed { now, document: node } = found;
        let may_read =
            |name: &String| Role::from_name(name).is_some_and(|role| requester.has(role));
        let access = &node.metadata.access;
        let reads = node.shown(now).is_some() && (access.is_empty() || access.iter().any(may_read));
        let sees = node.deleted_at.is_none() && (reads || requester.has(Role::Editor));
        sees.then(|| Self::written(node, now))
    }

    /// As an editor sees what was just written.
    pub fn written(node: NodeDocument, now: bson::DateTime) -> Self {
        Self { node: Box::new(node), now, asked: None }
    }

    /// The path that it was asked for by.
    #[must_use]
    pub fn asked_by(self, path: &str) -> Self {
        Self { asked: Some(path.to_owned()), ..self }
    }

    /// The stored content.
    pub(in super::super) fn node(&self) -> &NodeDocument {
        &self.node
    }

    /// Server time from which on it is as it is shown; none for a draft.
    pub(in super::super) fn since(&self) -> Option<bson::DateTime> {
        self.node.shown(self.now).map(|edition| edition.at)
    }

    /// What is published, or for an editor the draft where nothing is.
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

/// Something to read, or something that groups it.
#[expect(clippy::duplicated_attributes, reason = "several fields are of one type")]
#[derive(Debug, Interface)]
#[graphql(
    field(name = "id", ty = "ID", desc = "Global id."),
    field(
        name = "slug",
        ty = "&Slug",
        desc = "Its step in paths; nothing beside it has the same."
    ),
    field(
        name = "path",
        ty = "&str",
        desc = "The slugs from the root to itself, such as `/en/blog`."
    ),
    field(
        name = "parent_id",
        ty = "Option<ID>",
        desc = "Global id of what it lies in; null for a root."
    ),
    field(
        name = "redirected_from",
        ty = "Option<&str>",
        desc = "The path that it was asked for by, where it has moved since: lead readers to `path`."
    ),
    field(name = "title", ty = "&str", desc = "The title."),
    field(name = "language", ty = "Option<&LocaleTag>", desc = "Language of title and text."),
    field(name = "body", ty = "&str", desc = "The text in Markdown; may be empty."),
    field(
        name = "html",
        ty = "Result<String>",
        desc = "The text as HTML that is safe to show: without scripts, forms and styles."
    ),
    field(name = "tags", ty = "&[String]", desc = "Its tags, sorted."),
    field(
        name = "access",
        ty = "Vec<ReaderRole>",
        desc = "The roles that may read it; none: everyone."
    ),
    field(name = "author", ty = "ContentAuthor", desc = "Who made it."),
    field(name = "created_at", ty = "DateTime", desc = "When it was created."),
    field(
        name = "published_at",
        ty = "Option<DateTime>",
        desc = "When readers saw it first; null for what they don't see yet."
    ),
    field(
        name = "updated_at",
        ty = "Option<DateTime>",
        desc = "Since when it is as it is shown; null for what readers don't see yet."
    ),
    field(
        name = "discussion",
        ty = "Option<Discussion>",
        desc = "What people say about it; null where no discussion was opened."
    ),
    field(
        name = "draft",
        ty = "Result<Option<ContentDraft>>",
        desc = "What editors work on; for others null, with an error. Who: editor."
    )
)]
pub enum Content {
    Page(Page),
    Photo(Photo),
    BlogEntry(BlogEntry),
    Folder(Folder),
    Blog(Blog),
    Gallery(Gallery),
}

impl Content {
    /// What it is made of: a document of this room, or a picture.
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

impl From<Shown> for Content {
    fn from(shown: Shown) -> Self {
        match shown.node.metadata.kind {
            documents::ContentType::Page => Self::Page(Page(shown)),
            documents::ContentType::BlogEntry => Self::BlogEntry(BlogEntry(shown)),
            documents::ContentType::Folder => Self::Folder(Folder(shown)),
            documents::ContentType::Blog => Self::Blog(Blog(shown)),
            documents::ContentType::Gallery => Self::Gallery(Gallery(shown)),
        }
    }
}

/// One type of content: what all have in common, and its own fields.
macro_rules! content_type {
    ($(#[doc = $about:literal])+ $name:ident { $($own:tt)* }) => {
        $(#[doc = $about])+
        #[derive(Debug)]
        pub struct $name(pub(super) Shown);

        $(#[doc = $about])+
        #[Object]
        impl $name {
            /// Global id.
            pub async fn id(&self) -> ID {
                NodeKind::Content.id(&self.0.node.id)
            }

            /// Its step in paths; nothing beside it has the same.
            async fn slug(&self) -> &Slug {
                &self.0.node.metadata.slug
            }

            /// The slugs from the root to itself, such as `/en/blog`.
            async fn path(&self) -> &str {
                &self.0.node.metadata.path
            }

            /// Global id of what it lies in; null for a root.
            async fn parent_id(&self) -> Option<ID> {
                self.0.node.metadata.parent_id.as_ref().map(|id| NodeKind::Content.id(id))
            }

            /// The path that it was asked for by, where it has moved since: lead readers to `path`.
            async fn redirected_from(&self) -> Option<&str> {
                self.0.asked.as_deref().filter(|asked| *asked != self.0.node.metadata.path)
            }

            /// The title.
            async fn title(&self) -> &str {
                self.0.title()
            }

            /// Language of title and text.
            async fn language(&self) -> Option<&LocaleTag> {
                self.0.language()
            }

            /// The text in Markdown; may be empty.
            async fn body(&self) -> &str {
                &self.0.detail().body
            }

            /// The text as HTML that is safe to show: without scripts, forms and styles.
            async fn html(&self) -> Result<String> {
                Ok(markdown::html(&self.0.detail().body).await?)
            }

            /// Its tags, sorted.
            async fn tags(&self) -> &[String] {
                &self.0.node.metadata.tags
            }

            /// The roles that may read it; none: everyone.
            async fn access(&self) -> Vec<ReaderRole> {
                ReaderRole::of(&self.0.node.metadata.access)
            }

            /// Who made it.
            async fn author(&self) -> ContentAuthor {
                let author = &self.0.node.metadata.author;
                ContentAuthor::of(&author.id, &author.name)
            }

            /// When it was created.
            async fn created_at(&self) -> DateTime {
                self.0.node.metadata.created.into()
            }

            /// When readers saw it first; null for what they don't see yet.
            async fn published_at(&self) -> Option<DateTime> {
                self.0.since().and(self.0.node.published_at).map(DateTime::from)
            }

            /// Since when it is as it is shown; null for what readers don't see yet.
            async fn updated_at(&self) -> Option<DateTime> {
                self.0.since().map(DateTime::from)
            }

            /// What people say about it; null where no discussion was opened.
            async fn discussion(&self) -> Option<Discussion> {
                self.0.node.discussion.clone().map(Discussion)
            }

            /// What editors work on; for others null, with an error.
            ///
            /// Who: editor.
            async fn draft(&self, context: &Context<'_>) -> Result<Option<ContentDraft>> {
                // Not as a guard: what is selected on the interface comes here without it.
                Who::Role(Role::Editor).check_requester(requester(context))?;
                Ok(Some(ContentDraft(self.0.node.clone())))
            }

            $($own)*
        }
    };
}

content_type! {
    /// A text with a place of its own.
    Page {}
}

content_type! {
    /// A text in a blog.
    BlogEntry {
        /// What it is about, in plain text.
        async fn summary(&self) -> Option<&str> {
            self.0.detail().summary.as_deref()
        }
    }
}

content_type! {
    /// Groups pages, blogs, galleries and other folders.
    Folder {}
}

content_type! {
    /// Groups blog entries; its feed is also served as Atom.
    Blog {
        /// A line below the title.
        async fn subtitle(&self) -> Option<&str> {
            self.0.detail().subtitle.as_deref()
        }

        /// Where the newest entries are as an Atom feed, on this host.
        async fn feed_path(&self) -> String {
            format!("/feeds{}.atom", self.0.node.metadata.path)
        }
    }
}

content_type! {
    /// Groups pictures.
    Gallery {
        /// A line below the title.
        async fn subtitle(&self) -> Option<&str> {
            self.0.detail().subtitle.as_deref()
        }
    }
}
