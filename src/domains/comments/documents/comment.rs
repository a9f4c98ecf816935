//! Stored comments: one shape in every layout.

use async_graphql::Enum;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};

use super::Parent;
use crate::mongo::prelude::*;

document! {
    /// One comment: a document of `comments`, or an element of a page or of the discussed document.
    pub struct CommentDocument {
        /// The comment's id and the epoch of its store.
        pub key as "_id": String,
        /// Derived from the idempotency key of the post; for a review from its author.
        pub id: String,
        /// Its store: the discussion and the epoch.
        pub on: String,
        /// The discussed document.
        pub parent: Parent,
        /// Its place in the discussion: a short name for each level, from the root down.
        pub slug: String,
        /// Slug of the comment that it replies to; empty at the top level.
        pub reply_to: String,
        /// Id of the comment that it replies to; absent at the top level and in older documents.
        pub reply_to_id?: String,
        /// Its place in the order of threads: for each level the time in milliseconds and the short name, each
        /// followed by a `/`.
        pub sort_key: String,
        /// Server time at which it was posted.
        pub at: DateTime,
        /// Subject of the author.
        pub author: String,
        /// Name of the author at the time of the post, if the token had one.
        pub author_name?: String,
        /// The text; empty if the comment was removed.
        pub text: String,
        /// Stars of a review, one to five.
        pub stars?: i32,
        /// Version of the text and the stars.
        pub text_version as "nonce": String,
        /// Rises with every change; copies are compared by it.
        pub version: i64,
        /// Server time of the last edit.
        pub edited_at?: DateTime,
        /// Set when it was removed; the place in the thread stays.
        pub removed?: Removed,
        /// Digest of the input of the post, which identifies a repeat.
        pub origin: String,
        /// The outbox: the pending entry for the discussed document.
        pub due?: Due,
        /// When the outbox was emptied last, or when the attempt began that emptied it.
        pub settled_at?: DateTime,
        /// Set when the discussion moves to another layout: this document doesn't change any more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub sealed: bool,
        pub v: Version<1>,
    } in "comments" by hash_of("on", "lists read the comments of one discussion; its unique index begins with it") {
        unique("slug", "on slug", "one comment by its place; no place twice"),
        plain("chronological", "on at id",
            "comments by time; the newest; copying to another layout"),
        plain("threaded", "on sortKey", "comments by threads; one thread"),
        plain("replies", "on replyTo at id", "the replies to one comment"),
        plain("author", "author -at -id", "the comments of one author"),
        of_field("due", "due.at",
            "the sweep of comments that the discussed document hasn't applied"),
    }

    /// The outbox of a comment: one entry for the discussed document.
    #[derive(PartialEq, Eq)]
    pub struct Due {
        /// Kind of the change.
        pub kind: DueKind,
        /// The mark in the discussed document that shows that the entry was applied.
        pub tag: String,
        /// When the attempt began that wrote the entry.
        pub at: DateTime,
        /// Change of the number of comments.
        pub count: i32,
        /// Change of the number of reviews.
        pub reviews: i32,
        /// Change of the sum of stars.
        pub stars: i32,
    }
}

impl Due {
    /// The entry of a change of a comment from `old` to `new`, or of its post, by an attempt that began at `at`.
    pub fn of(old: Option<&CommentDocument>, new: &CommentDocument, at: DateTime) -> Self {
        let numbers = |of: &CommentDocument| {
            let is_review = i32::from(of.stars.is_some());
            (i32::from(of.removed.is_none()), is_review, of.stars.unwrap_or_default())
        };
        let before = old.map_or((0, 0, 0), numbers);
        let after = numbers(new);
        let kind = match old {
            None => DueKind::Post,
            Some(_) if new.removed.is_some() => DueKind::Remove,
            Some(_) => DueKind::Edit,
        };
        let is_post = kind == DueKind::Post;
        let tag = if is_post { new.id.clone() } else { format!("{}:{}", new.id, new.version) };
        let (count, reviews) = (after.0 - before.0, after.1 - before.1);
        Self { kind, tag, at, count, reviews, stars: after.2 - before.2 }
    }
}

document! {
    /// A change of a comment.
    pub enum DueKind {
        /// It is to be posted; until then it is invisible.
        Post,
        /// It was edited.
        Edit,
        /// It was removed.
        Remove,
    }

    /// Time and origin of a comment's removal.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Removed {
        /// Server time of the removal.
        pub at: DateTime,
        /// The kind of person who removed it.
        pub by: Remover,
    }

    /// Indicates who removed a comment.
    #[derive(Enum)]
    #[graphql(name = "CommentRemover")]
    pub enum Remover {
        /// The author of the comment removed it.
        Author,
        /// A moderator removed it.
        Moderator,
    }
}

impl CommentDocument {
    /// A comment in the discussion of `parent`, below the comment that it replies to. It has no text and isn't in
    /// a store yet.
    pub fn draft(id: String, parent: &Parent, author: &str, above: Option<&Self>) -> Self {
        Self {
            key: String::new(),
            id,
            on: String::new(),
            parent: parent.clone(),
            slug: String::new(),
            reply_to: above.map(|above| above.slug.clone()).unwrap_or_default(),
            reply_to_id: above.map(|above| above.id.clone()),
            sort_key: format!("{}/", above.map_or("", |above| &above.sort_key)),
            at: DateTime::MIN,
            author: author.to_owned(),
            author_name: None,
            text: String::new(),
            stars: None,
            text_version: String::new(),
            version: 1,
            edited_at: None,
            removed: None,
            origin: String::new(),
            due: None,
            settled_at: None,
            sealed: false,
            v: Version,
        }
    }

    /// A short name derived from a comment's id, of up to 32 characters.
    pub fn short(id: &str, length: usize) -> String {
        // Ids of comments are 128 bits in base64url.
        let mut name = hex::encode(BASE64.decode(id).unwrap_or_else(|_| id.as_bytes().to_vec()));
        name.truncate(length);
        name
    }

    /// The last level of a sort key. Milliseconds have 13 digits from 2001 to 2286, so the order of the texts
    /// is the order of time.
    pub fn level(at: DateTime, name: &str) -> String {
        format!("{:013}.{name}/", at.timestamp_millis())
    }

    /// Its short name: the last level of its slug.
    pub fn name(&self) -> &str {
        self.slug.rsplit_once('/').map_or(&self.slug, |(_, name)| name)
    }

    /// Sort key of the comment that it replies to; empty at the top level.
    pub fn above(&self) -> &str {
        let levels = self.sort_key.strip_suffix('/').unwrap_or(&self.sort_key);
        levels.rfind('/').map_or("", |end| &self.sort_key[..=end])
    }

    /// Its place in the order of time.
    pub fn moment(&self) -> (DateTime, &str) {
        (self.at, &self.id)
    }

    /// The same as values of the sort keys `at` and `id`.
    pub fn position(&self) -> Vec<Bson> {
        vec![self.at.into(), Bson::from(&self.id)]
    }

    /// Whether a discussion that committed these tags counts it. A settled comment has no mark and is counted.
    pub fn is_committed<Tag: AsRef<str>>(&self, committed: &[Tag]) -> bool {
        !self.is_unposted() || committed.iter().any(|tag| tag.as_ref() == self.id)
    }

    /// Whether it has a pending POST.
    pub fn is_unposted(&self) -> bool {
        self.due.as_ref().is_some_and(|due| due.kind == DueKind::Post)
    }
}

document! {
    /// A page: up to 100 comments in the order of their posts.
    pub struct PageDocument {
        /// The store and the number of the page.
        pub key as "_id": String,
        /// The store: the discussion and its epoch.
        pub on: String,
        /// Number of the page, from 0. Its comments are older than those of the next page.
        pub page: i64,
        /// Whether it accepts no more comments.
        pub full: bool,
        /// Time of its last comment, which may have been withdrawn since.
        pub until: DateTime,
        /// Id of its last comment.
        pub until_id: String,
        /// The comments, at least one.
        pub entries: Vec<CommentDocument>,
        /// Set when the discussion moves to another layout: this page doesn't change any more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub sealed: bool,
        pub v: Version<1>,
    } in "commentPages" by hash_of("on", "lists read the pages of one discussion; its unique indexes begin with it") {
        unique("page", "on page", "the last page; no number twice"),
        plain("until", "on until untilId",
            "comments by time; the newest; copying to another layout"),
        plain("open", "on full", "the page that has room"),
        unique("comment", "on entries.id", "the page of a comment; none in two pages"),
        unique("slug", "on entries.slug", "one comment by its place; no place in two pages"),
        of_field("due", "entries.due.at",
            "the sweep of comments that the discussed document hasn't applied"),
    }

    /// Copy of a comment without a document of its own, for the lists by author.
    pub struct AuthoredComment {
        /// Id of the comment.
        pub key as "_id": String,
        /// The same id.
        pub id: String,
        /// Its discussion.
        pub discussion: String,
        /// Subject of the author.
        pub author: String,
        /// Server time of the comment.
        pub at: DateTime,
        pub version: i64,
        pub comment: CommentDocument,
        pub v: Version<1>,
    } in "authoredComments" {
        plain("author", "author -at -id", "the comments of one author"),
        plain("discussion", "discussion",
            "the copies of a discussion that goes, or that needs none any more"),
    }
}
