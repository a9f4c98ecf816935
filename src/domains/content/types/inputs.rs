//! What clients ask of content.

use async_graphql::{ID, InputObject, OneofObject};

use super::{nodes::ContentType, parts::ReaderRole};
use crate::graphql::scalars::{DateTime, LocaleTag, Slug};

/// The ways in which content can be looked up.
#[derive(Debug, OneofObject)]
pub enum ContentBy {
    /// By its path, such as `/en/blog`, or by one that it had: `redirectedFrom` then tells.
    Path(String),
    /// By its global id.
    Id(ID),
}

/// Which content, of what you may read and is published by now; newest first, except for text.
#[derive(Debug, OneofObject)]
pub enum ContentsBy {
    /// What has this tag, pictures among it.
    Tag(String),
    /// What lies right in this, pictures among it; by its global id.
    Parent(ID),
    /// What is of this type.
    Type(ContentType),
    /// Everything at and below this path; `/` for the whole site.
    RecentIn(String),
    /// What holds these words in title or text, best match first. Only the best 200 are listed. A
    /// version that takes the place of another at a time set before is found within seconds after it.
    Text(TextInContent),
}

/// Words to look for.
#[derive(Debug, InputObject)]
pub struct TextInContent {
    /// The words, 1 to 200 characters. Any of them is enough; `"several words"` in quotes must stand
    /// together, and no `-word` may be there.
    pub query: String,
    /// Only at and below this path; the whole site when left out.
    pub within: Option<String>,
    /// Language of the words, by which they are reduced to stems; the site's when left out. Texts in
    /// another language are found by words that have the same stem in both.
    pub language: Option<LocaleTag>,
}

/// A version of some content.
#[derive(Debug, InputObject)]
pub struct ContentTextInput {
    /// The title, 1 to 300 characters.
    pub title: String,
    /// The text in Markdown, up to 100,000 characters.
    pub body: Option<String>,
    /// Language of title and text; when left out, full text takes the site's.
    pub language: Option<LocaleTag>,
    /// Of blog entries only: what it is about, in plain text of up to 2,000 characters.
    pub summary: Option<String>,
    /// Of blogs and galleries only: a line of up to 300 characters below the title.
    pub subtitle: Option<String>,
}

/// Content to be created; readers see it once it is published.
#[derive(Debug, InputObject)]
pub struct CreateContentInput {
    /// What kind of content.
    #[graphql(name = "type")]
    pub kind: ContentType,
    /// Global id of what it lies in: a folder, or for blog entries a blog; without one it becomes a root.
    /// At most 16 steps lead from a root to the deepest.
    pub parent: Option<ID>,
    /// Its step in paths; nothing else in the same parent may have it.
    pub slug: Slug,
    /// Its first version.
    pub text: ContentTextInput,
    /// Up to 30 tags of 1 to 64 characters.
    #[graphql(default)]
    pub tags: Vec<String>,
    /// The roles that may read it. An empty list: everyone; left out: those that may read the parent.
    pub access: Option<Vec<ReaderRole>>,
    /// Your name as readers see it, 1 to 100 characters; your username when left out, and without one the
    /// subject of your token.
    pub author_name: Option<String>,
    /// Your idempotency key: the same content sent again under it is created once. It is remembered as
    /// long as the content exists.
    pub op_id: Option<ID>,
}

/// Another version of some content. Sent again, it is answered as the first time.
#[derive(Debug, InputObject)]
pub struct EditContentInput {
    /// Global id of the content.
    pub content: ID,
    /// Nonce of the draft that you edited.
    pub nonce: ID,
    /// The whole new version.
    pub text: ContentTextInput,
}

/// A former version to begin with again. It becomes the newest draft.
#[derive(Debug, InputObject)]
pub struct RestoreContentInput {
    /// Global id of the content.
    pub content: ID,
    /// Nonce of the draft that it replaces.
    pub nonce: ID,
    /// Number of the former version, as `contentRevisions` lists it.
    pub number: i32,
}

/// Tags to be added.
#[derive(Debug, InputObject)]
pub struct TagContentInput {
    /// Global id of the content.
    pub content: ID,
    /// Up to 30 tags of 1 to 64 characters; those that it has already are passed over.
    pub tags: Vec<String>,
}

/// Tags to be removed.
#[derive(Debug, InputObject)]
pub struct UntagContentInput {
    /// Global id of the content.
    pub content: ID,
    /// Up to 30 tags; those that it hasn't are passed over.
    pub tags: Vec<String>,
}

/// Who may read some content.
#[derive(Debug, InputObject)]
pub struct SetContentAccessInput {
    /// Global id of the content.
    pub content: ID,
    /// The roles that may read it; none: everyone. What lies in it has access of its own.
    pub roles: Vec<ReaderRole>,
}

/// A version to be published.
#[derive(Debug, InputObject)]
pub struct PublishContentInput {
    /// Global id of the content.
    pub content: ID,
    /// Nonce of the draft that readers are to see.
    pub nonce: ID,
    /// From when on; now when left out. Until a time that lies ahead, what is published stays; another
    /// version that was to come is replaced. What wasn't published and is given a time in the past
    /// stands in feeds at that time.
    pub at: Option<DateTime>,
}

/// Content that readers are no longer to see.
#[derive(Debug, InputObject)]
pub struct UnpublishContentInput {
    /// Global id of the content.
    pub content: ID,
}

/// Another place for some content, with everything in it.
#[derive(Debug, InputObject)]
pub struct MoveContentInput {
    /// Global id of the content.
    pub content: ID,
    /// Global id of what it goes into; without one it becomes a root.
    pub parent: Option<ID>,
    /// Its step in paths from now on; it stays when left out.
    pub slug: Option<Slug>,
}

/// Content to be deleted, with its former versions.
#[derive(Debug, InputObject)]
pub struct DeleteContentInput {
    /// Global id of the content.
    pub content: ID,
}
