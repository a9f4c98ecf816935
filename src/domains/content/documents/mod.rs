//! Stored documents of content.

mod branch;

pub(super) use branch::listed_stage;

use crate::{
    domains::{
        audiences,
        comments::{self, DiscussionSummary},
        former_paths::FormerPath,
        identities::Author,
        images::ImageRef,
        metadata::{METADATA, MetadataPairs},
    },
    flow::tree::TreeFields,
    graphql::prelude::*,
    mongo::prelude::*,
};

document! {
    /// One page, blog entry, folder, blog or gallery.
    pub struct NodeDocument {
        /// Derived from the idempotency key that created it, otherwise random.
        pub id as "_id": String,
        /// Its metadata; title, language and detail are the draft, which only editors see.
        pub metadata: Metadata,
        /// The edition that readers see from its time on, which may be in the future. Absent: nothing is
        /// published.
        pub live?: Edition,
        /// The edition that replaces `live` from its time on.
        pub next?: Edition,
        /// When readers saw it first, or will: its position in feeds. It is set exactly if `live` is.
        pub published_at?: DateTime,
        /// Paths of everything that contains it: `/`, each path above it, its own path last. A copy.
        pub within: Vec<String>,
        /// Its feeds, each once per audience; see [`listed`].
        pub listed: Vec<String>,
        /// Its former paths, newest first.
        #[serde(default)]
        pub former: Vec<FormerPath>,
        /// The outbox of edits: replaced versions that aren't settled in `nodeRevisions` yet.
        #[serde(default)]
        pub kept: Vec<Revised>,
        /// Number of versions before this one.
        #[serde(default)]
        pub revision: i64,
        /// Version of its path, and the changes of it that haven't been applied to all children yet.
        #[serde(flatten)]
        pub tree: TreeFields,
        /// Set when it was deleted: only the `_id` is left as a tombstone, for as long as idempotency keys are remembered.
        pub deleted_at?: DateTime,
        /// Server time of the deletion, until its former versions and comments are removed.
        pub remains?: DateTime,
        /// Its discussion, written by the room of comments.
        pub discussion?: Box<DiscussionSummary>,
        /// Its metadata in the schema.
        pub meta?: Box<MetadataPairs>,
        /// Digest of the input that created it; it distinguishes a repeat from another use of the idempotency key.
        pub input: String,
        pub v: Version<1>,
    } in "nodes" by unsharded("its unique key, parent and slug, changes with each move") {
        unique("slug", "metadata.parentId metadata.slug",
            "what lies in something, by slug; no two have the same"),
        plain("path", "metadata.path", "content by path"),
        plain("former", "former.path", "content by a path that it had"),
        of("feed", "listed -publishedAt _id", "publishedAt",
            "feeds, newest first, for each audience"),
        text("text", "live.title^10 live.detail.body^5", "stemming",
            "published content by words of title and text"),
        plain("parent", "metadata.parentId _id parentCv",
            "what follows its parent, or keeps it from being deleted"),
        of_field("next", "next.at",
            "the sweep that puts what is due in the place of what was live"),
        of_field("outbox", "outbox.at", "the sweep of paths that haven't reached everything below"),
        of_field("kept", "kept.at", "the sweep of versions that are still to be kept"),
        of_field("copying", "copying", "the sweep of creations that were cut"),
        of_field("deleting", "deleting.at", "the sweep of deletions that were cut"),
        of_field("deleted", "deletedAt", "the sweep that forgets what was deleted"),
        of_field("remains", "remains", "the sweep of what deleted content leaves behind"),
        + METADATA,
        + comments::TOUCHED,
    }

    /// Metadata of content; assets have the same fields.
    #[derive(PartialEq)]
    pub struct Metadata {
        /// Version of title, language and detail.
        pub version as "nonce": String,
        /// The type of content.
        pub kind as "type": ContentType,
        /// `_id` of its parent; absent for a root.
        pub parent_id: Option<String>,
        /// Its step in paths, unique in its parent.
        pub slug: Slug,
        /// The slugs from the root to itself, each after a `/`. A copy.
        pub path: String,
        pub title: String,
        /// Language of title and detail.
        pub language: Option<LocaleTag>,
        /// Server time of its creation.
        pub created: DateTime,
        /// The creator.
        pub author: Author,
        /// A sorted set.
        pub tags: Vec<String>,
        /// Names of the roles that may read it, a sorted set; empty: everyone.
        pub access: Vec<String>,
        /// Text and further fields of its type.
        pub detail: Detail,
    }
}

/// The types of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ContentType {
    /// A text with a path of its own.
    Page,
    /// A text in a blog.
    BlogEntry,
    /// Groups everything but blog entries.
    Folder,
    /// Groups blog entries.
    Blog,
    /// Groups pictures.
    Gallery,
}

document! {
    /// The fields of content that depend on its type.
    #[derive(Default, PartialEq, Eq)]
    pub struct Detail {
        /// The text in Markdown.
        pub body: String,
        /// Of blog entries: a summary in plain text.
        pub summary?: String,
        /// Of blogs and galleries: a line below the title.
        pub subtitle?: String,
        /// Pictures of the content.
        pub images?: Vec<ImageRef>,
        /// Title and texts in other languages, each language once.
        pub translations?: Vec<ContentTranslation>,
    }

    /// Title and texts in another language.
    #[derive(PartialEq, Eq)]
    pub struct ContentTranslation {
        pub locale: LocaleTag,
        pub title: String,
        /// The text in Markdown; absent if that of another language is shown. The same holds for the next two.
        pub body?: String,
        pub summary?: String,
        pub subtitle?: String,
    }

    /// The fields of a draft that make a version.
    #[derive(PartialEq, Eq)]
    pub struct Text {
        pub title: String,
        /// Language of title and detail.
        pub language: Option<LocaleTag>,
        /// Its text and further fields.
        pub detail: Detail,
    }

    /// A published version.
    #[derive(PartialEq)]
    pub struct Edition {
        /// Server time from which readers see it.
        pub at: DateTime,
        pub version as "nonce": String,
        pub title: String,
        pub language: Option<LocaleTag>,
        /// MongoDB's name for the stemming rules of the text's language.
        pub stemming: String,
        /// Its text and further fields.
        pub detail: Detail,
    }

    /// A version that an edit replaced.
    #[derive(PartialEq)]
    pub struct Revised {
        /// Number of versions before it.
        pub number: i64,
        pub version as "nonce": String,
        /// Its title, language and detail.
        #[serde(flatten)]
        pub text: Text,
        /// Server time at which it was replaced.
        pub at: DateTime,
        /// Subject of the editor who replaced it.
        pub by: String,
    }

    /// A former version, in a collection of its own.
    pub struct RevisionDocument {
        /// The content's `_id` and the number of the version: each exists once.
        pub id as "_id": String,
        /// `_id` of the content.
        pub node_id: String,
        pub version: Revised,
        pub v: Version<1>,
    } in "nodeRevisions" by hash_of("nodeId", "lists read the versions of one content; its unique index begins with it") {
        unique("node", "nodeId -version.number", "former versions of content, newest first"),
    }
}

impl RevisionDocument {
    /// The `_id` of that version of the content.
    pub(super) fn key(node_id: &str, number: i64) -> String {
        format!("{node_id}:{number}")
    }
}

/// The feeds of content, each once per audience: within each path, of its tags, its type and its parent.
pub(super) fn listed(metadata: &Metadata, within: &[String]) -> Vec<String> {
    let within = within.iter().map(|path| ("in", path.as_str()));
    let tags = metadata.tags.iter().map(|tag| ("tag", tag.as_str()));
    let parent = metadata.parent_id.iter().map(|id| ("parent", id.as_str()));
    let feeds = within.chain(tags).chain([("type", metadata.kind.name())]).chain(parent);
    audiences::listed(&metadata.access, feeds)
}

impl ContentType {
    /// Its name as it is stored.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::BlogEntry => "blogEntry",
            Self::Folder => "folder",
            Self::Blog => "blog",
            Self::Gallery => "gallery",
        }
    }

    /// Whether it has a summary.
    pub(super) fn has_summary(self) -> bool {
        self == Self::BlogEntry
    }

    /// Whether it has a subtitle.
    pub(super) fn has_subtitle(self) -> bool {
        matches!(self, Self::Blog | Self::Gallery)
    }

    /// Whether it can contain assets.
    pub(super) fn holds_assets(self) -> bool {
        matches!(self, Self::Folder | Self::Gallery)
    }

    /// Whether it can contain `child`.
    pub(super) fn may_hold(self, child: Self) -> bool {
        match self {
            Self::Folder => child != Self::BlogEntry,
            Self::Blog => child == Self::BlogEntry,
            Self::Page | Self::BlogEntry | Self::Gallery => false,
        }
    }
}

impl NodeDocument {
    /// The edition that readers see at `now`.
    pub(super) fn shown(&self, now: DateTime) -> Option<&Edition> {
        let due = |edition: &&Edition| edition.at <= now;
        self.next.as_ref().filter(due).or_else(|| self.live.as_ref().filter(due))
    }

    /// `within` of a child of `parent`, without its own path.
    pub(super) fn line(parent: Option<&Self>) -> Vec<String> {
        parent.map_or_else(|| vec![TOP.to_owned()], |parent| parent.within.clone())
    }
}
