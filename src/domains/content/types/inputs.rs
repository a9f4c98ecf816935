//! Inputs of the queries and mutations of content.

use async_graphql::{MaybeUndefined, OneofObject};

use super::{
    super::{
        documents::{self, Detail, Text},
        markdown,
    },
    languages::{ContentTranslationInput, demand_fields, translations_of, version_text},
    nodes::ContentType,
    parts::ReaderRole,
};
use crate::{
    domains::{
        images::{self, IMAGES, ImageInput},
        metadata::MetadataFilter,
    },
    graphql::{declared::verbatim, prelude::*, scalars::DateTime},
};

/// Key of content. Exactly one field must be set.
#[derive(Debug, OneofObject)]
pub enum ContentBy {
    /// Path, such as `/en/blog`, also that of a picture or video. A former path is accepted too; `redirectedFrom` then
    /// holds it.
    Path(String),
    /// Global id of the content, as in `Content.id`.
    Id(ID),
}

/// Filter of a list of content. Exactly one field must be set. Only published content that the caller may read
/// is listed, newest first, except for `metadata` and `text`.
#[derive(Debug, OneofObject)]
pub enum ContentsBy {
    /// Content with this tag, including pictures and videos.
    Tag(String),
    /// Direct children of the content with this global id, including pictures and videos.
    ParentId(ID),
    /// All content of this type on the site, such as every blog entry.
    Type(ContentType),
    /// Content at this path and all its descendants; `/` lists the whole site.
    Below(String),
    /// Content with a pair of metadata, in an order that doesn't change.
    Metadata(MetadataFilter),
    /// Content with these words in the title or the text, best match first. Only the best 200 matches are
    /// listed. A version that was scheduled to replace another one is found within seconds after its time.
    Text(TextInContent),
}

input! {
    /// Full-text search of content.
    pub struct TextInContent {
        /// Words to search for, 1 to 200 characters. Content matches if it has any of the words. Words in double
        /// quotes must appear together. `-word` excludes content that contains the word. Translations aren't searched.
        pub query: String,
        /// Path; only content at this path and its descendants are searched. Default: the whole site.
        pub within: Option<String>,
        /// Language of the words, by whose rules they are stemmed. Default: the site's language. Content in
        /// another language matches if its words have the same stem in both.
        pub language: Option<LocaleTag>,
    }
}

input! {
    /// A version of content: title, text and what else is edited and published together.
    pub struct ContentTextInput {
        /// Title, 1 to 300 characters.
        pub title: String where text(1..=300),
        /// Text in Markdown, up to 100,000 characters. Default: no text.
        pub body: Option<String> where optional(markdown_text),
        /// Language of title and text. Without one, text search stems words by the rules of the site's language.
        pub language: Option<LocaleTag>,
        /// Summary in plain text, up to 2,000 characters; for blog entries only.
        pub summary: Option<String> where optional(text(0..=2_000)),
        /// Subtitle, a line of up to 300 characters below the title; for blogs and galleries only.
        pub subtitle: Option<String> where optional(text(0..=300)),
        /// Pictures of the content in order, at most 20. Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub images: Option<Vec<ImageInput>> where optional(each(IMAGES, nested())),
        /// Title and texts in other languages than `language`, at most 20, each language once. The texts of all languages
        /// have up to 300,000 characters together. Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub translations: Option<Vec<ContentTranslationInput>>,
    }

    /// Input of `createContent`: the type, the position, the draft and the readers of the new
    /// content.
    pub struct CreateContentInput {
        /// What is created. It can't be changed later.
        #[graphql(name = "type")]
        pub kind: ContentType,
        /// Global id of the parent: a folder, or a blog for a blog entry. Default: the content becomes a root,
        /// which a blog entry can't be. The tree is at most 16 levels deep.
        pub parent_id: Option<ID> where optional(id(NodeKind::CONTENT)),
        /// Slug, the last step of the path. It must be unique among the content of the parent.
        pub slug: Slug,
        /// First version of the content. It is a draft until it is published.
        pub text: ContentTextInput where version_text,
        /// Up to 30 tags of 1 to 64 characters each.
        #[graphql(default)]
        pub tags: Vec<String> where tags(),
        /// Roles that may read the content; an empty list permits everyone. Default: the roles of the parent.
        pub access: Option<Vec<ReaderRole>> where optional(roles),
        /// Author's name that readers see, 1 to 100 characters. Default: the caller's username, or the subject of
        /// the token if there is none.
        pub author_name: Option<String> where optional(text(1..=100)),
        /// Idempotency key. A repeat with the same key returns the content that the first call created. The key
        /// is remembered as long as the content exists.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `editContent`: the content, its new draft, and the version of the draft that the
    /// client read.
    pub struct EditContentInput {
        /// Global id of the content.
        pub content_id: ID where id(NodeKind::CONTENT),
        /// Version of the draft that the edit is based on. If the draft changed since, the edit is refused with
        /// `ContentConflict`.
        pub version: ID where version,
        /// The complete new version. Fields that are left out are removed from the draft.
        pub text: ContentTextInput where version_text,
    }

    /// Input of `restoreContent`: the content, the number of the former version, and the current
    /// version as the client read it.
    pub struct RestoreContentInput {
        /// Global id of the content.
        pub content_id: ID where id(NodeKind::CONTENT),
        /// Version of the draft that is replaced. If the draft changed since, the call is refused with
        /// `ContentConflict`.
        pub version: ID where version,
        /// Number of the former version, as listed by `Content.revisions`.
        pub number: i32 where within(0..=i64::from(i32::MAX)),
    }

    /// Input of `tagContent`: the content and the tags to add.
    pub struct TagContentInput {
        /// Global id of the content.
        pub content_id: ID where id(NodeKind::CONTENT),
        /// Up to 30 tags of 1 to 64 characters each. Tags that the content already has are ignored.
        pub tags: Vec<String> where tags(),
    }

    /// Input of `untagContent`: the content and the tags to remove.
    pub struct UntagContentInput {
        /// Global id of the content.
        pub content_id: ID where id(NodeKind::CONTENT),
        /// Up to 30 tags. Tags that the content doesn't have are ignored.
        pub tags: Vec<String> where tags(),
    }

    /// Input of `setContentAccess`: the content and all roles that may read it.
    pub struct SetContentAccessInput {
        /// Global id of the content.
        pub content_id: ID where id(NodeKind::CONTENT),
        /// Roles that may read the content; an empty list permits everyone. Access isn't inherited: entries, comments
        /// on them and files below stay visible, also in lists by tag and in feeds, as their own access says.
        pub roles: Vec<ReaderRole> where roles,
    }

    /// Input of `publishContent`: the content, the version of its draft, and the time of
    /// publication.
    pub struct PublishContentInput {
        /// Global id of the content.
        pub content_id: ID where id(NodeKind::CONTENT),
        /// Version of the draft to publish. If the draft changed since, the call is refused with `ContentConflict`.
        pub version: ID where version,
        /// Time from which readers see the version, between the years 1970 and 9999. Default: now. Until a future
        /// time the present version stays visible; a version that was scheduled before is replaced. Content that
        /// wasn't published and is given a past time appears in feeds at that time.
        pub at: Option<DateTime> where optional(four_digit_year),
    }

    /// Input of `unpublishContent`: the content to withdraw from readers.
    pub struct UnpublishContentInput {
        /// Global id of the content.
        pub content_id: ID where id(NodeKind::CONTENT),
    }

    /// Input of `moveContent`: the content, its new parent, its new slug, or both.
    pub struct MoveContentInput {
        /// Global id of the content.
        pub content_id: ID where id(NodeKind::CONTENT),
        /// Global id of the new parent: a folder, or a blog for a blog entry. Null: the content becomes a root,
        /// which a blog entry can't be. Omitted: it stays in its parent. A variable without a value counts as null.
        pub parent_id: MaybeUndefined<ID> where given(id(NodeKind::CONTENT)),
        /// New slug. Default: the present one.
        pub slug: Option<Slug>,
    }

    /// Input of `deleteContent`: the content to delete; it must contain nothing.
    pub struct DeleteContentInput {
        /// Global id of the content.
        pub content_id: ID where id(NodeKind::CONTENT),
    }
}

/// Roles that may read content, at most 20.
#[expect(clippy::ptr_arg, reason = "a check takes the field's type")]
fn roles(field: &str, roles: &mut Vec<ReaderRole>) -> Result<(), InvalidInput> {
    input::at_most(field, roles, 20)
}

/// A version that a client read.
fn version(field: &str, version: &mut ID) -> Result<(), InvalidInput> {
    input::key(field, version).map(|_| ())
}

/// A text in Markdown. It isn't trimmed: spaces before the first line make it code.
pub(super) fn markdown_text(field: &str, text: &mut String) -> Result<(), InvalidInput> {
    verbatim(0..=100_000)(field, text)?;
    markdown::fault(text).map_or(Ok(()), |fault| Err(InvalidInput::new(field, fault)))
}

/// The last millisecond that has a four-digit year.
const LATEST: i64 = 253_402_300_799_999;

fn four_digit_year(field: &str, at: &mut DateTime) -> Result<(), InvalidInput> {
    if (0..=LATEST).contains(&at.0.timestamp_millis()) {
        return Ok(());
    }
    Err(InvalidInput::new(field, "must be between the years 1970 and 9999"))
}

impl ContentTextInput {
    /// The version as content of that type stores it.
    pub(in super::super) fn of_kind(
        &self,
        kind: documents::ContentType,
    ) -> Result<Text, InvalidInput> {
        demand_fields(kind, "text", self.summary.is_some(), self.subtitle.is_some())?;
        let images = self.images.as_deref().map(images::stored).filter(|all| !all.is_empty());
        Ok(Text {
            title: self.title.clone(),
            language: self.language.clone(),
            detail: Detail {
                body: self.body.clone().unwrap_or_default(),
                summary: self.summary.clone(),
                subtitle: self.subtitle.clone(),
                images,
                translations: translations_of(self, kind)?,
            },
        })
    }
}
