//! Stored documents of people, posts and feeds.

use async_graphql::Enum;
use mongodb::bson::DateTime;
use serde::{Deserialize, Serialize};

use crate::mongo::{
    Stored, Version,
    indexes::{Index, Kind},
};

/// A user.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserDocument {
    /// Subject of the user's tokens.
    #[serde(rename = "_id")]
    pub id: String,
    /// The profile.
    pub profile: Profile,
    /// Number of changes of the profile.
    pub version: i64,
    /// Time at which the user was created.
    pub at: DateTime,
    /// Subjects of the users whom the user blocks.
    #[serde(default)]
    pub blocked: Vec<String>,
    /// Server time at which the user first had more followers than posts are delivered to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celebrity_at: Option<DateTime>,
    /// Version of the document's shape.
    pub v: Version<1>,
}

/// What others see of a user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    /// Name for display.
    pub name: String,
    /// What the user says about themselves; may be empty.
    #[serde(default)]
    pub about: String,
    /// `_id` of the asset that is the user's picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
}

/// A user has another one in some circles, and so follows them. Both sides of the graph are read from this document.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EdgeDocument {
    /// See [`edge_id`].
    #[serde(rename = "_id")]
    pub id: String,
    /// Subject of the user whose circles these are: the follower.
    pub by: String,
    /// Subject of the user who is in the circles.
    pub of: String,
    /// Names of the circles, at least one.
    pub circles: Vec<String>,
    /// Server time at which it was created. News merge in posts from this time on.
    pub at: DateTime,
    /// Version of the document's shape.
    pub v: Version<1>,
}

/// The `_id` of the edge between two users. The length keeps two pairs of subjects from having the same id.
pub(super) fn edge_id(by: &str, of: &str) -> String {
    format!("{} {by} {of}", by.len())
}

/// A post as readers see it. Copies of it are in feeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// `_id` of the post.
    pub id: String,
    /// Subject of the author.
    pub by: String,
    /// Subject of the user on whose wall it was written, if that isn't the author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Who may see it.
    pub audience: Audience,
    /// The author's circles that may see it, if the audience is `Named`.
    #[serde(default)]
    pub circles: Vec<String>,
    /// Text; may be empty if there is a detail.
    pub text: String,
    /// What the post consists of beside its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
    /// Time at which it was created.
    pub at: DateTime,
    /// Number of edits of the text.
    pub edits: i64,
    /// Number of changes of any kind. A copy is overwritten by those of higher versions.
    pub version: i64,
    /// Number of comments.
    pub comment_count: i64,
    /// The last three comments, oldest first.
    #[serde(default)]
    pub latest: Vec<CommentEntry>,
}

/// Who may see a post, beside its author and the user on whose wall it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Enum)]
#[serde(rename_all = "lowercase")]
#[graphql(name = "PostAudience")]
pub enum Audience {
    /// Everyone who is signed in.
    Public,
    /// The users in any of the author's circles.
    Circles,
    /// The users in the circles that the post names.
    Named,
}

/// What a post consists of beside its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Detail {
    /// Photos.
    Photo {
        /// `_id`s of the assets.
        assets: Vec<String>,
    },
    /// A link.
    Link {
        /// Its address.
        url: String,
        /// Its title; may be empty.
        title: String,
    },
    /// A visit to a place.
    CheckIn {
        /// Name of the place.
        place: String,
    },
    /// A poll.
    Poll {
        /// The choices, in order.
        choices: Vec<Choice>,
    },
}

/// A choice of a poll.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Text of the choice.
    pub text: String,
    /// Number of votes for it.
    pub votes: i64,
}

/// A comment on a post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentEntry {
    /// Derived from the idempotency key, or random.
    pub id: String,
    /// Digest of the input.
    pub input: String,
    /// Subject of the author.
    pub by: String,
    /// Text.
    pub text: String,
    /// Server time.
    pub at: DateTime,
    /// Number of the comment within its post, from 1.
    pub n: i64,
}

/// A post: the decider of its own changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PostDocument {
    /// Derived from the idempotency key, or random.
    #[serde(rename = "_id")]
    pub id: String,
    /// What readers see.
    pub shown: Shown,
    /// All comments, oldest first.
    #[serde(default)]
    pub comments: Vec<CommentEntry>,
    /// Digest of the input that created it.
    pub input: String,
    /// Set as long as copies have to be delivered: the time at which the post was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivering: Option<DateTime>,
    /// Set as long as copies may be older than the post: server time of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<DateTime>,
    /// Subject of the author, if the post isn't delivered to followers and their news merge it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<String>,
    /// Server time of its deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<DateTime>,
    /// Version of the document's shape.
    pub v: Version<1>,
}

/// A vote in a poll.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VoteDocument {
    /// See [`vote_id`].
    #[serde(rename = "_id")]
    pub id: String,
    /// `_id` of the post.
    pub post: String,
    /// Position of the choice, from 0.
    pub choice: i32,
    /// Time at which it was cast.
    pub at: DateTime,
    /// Set until the post counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<DateTime>,
    /// Version of the document's shape.
    pub v: Version<1>,
}

/// The `_id` of a user's vote.
pub(super) fn vote_id(post: &str, user: &str) -> String {
    format!("{post} {user}")
}

/// A page of a feed, that is, of a user's news or wall: copies of up to [`FeedPage::CAP`] posts of one month.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FeedPage {
    /// Feed, month and number.
    #[serde(rename = "_id")]
    pub id: String,
    /// See [`news_of`] and [`wall_of`].
    pub feed: String,
    /// Month, such as `2026-11`.
    pub month: String,
    /// Number of the page within the month, from 0.
    pub n: i32,
    /// The page covers the time from this moment on, up to that of the page after it.
    pub from: DateTime,
    /// Whether no more copies are added.
    pub full: bool,
    /// The copies.
    #[serde(default)]
    pub posts: Vec<Shown>,
    /// Version of the document's shape.
    pub v: Version<1>,
}

/// Key of a user's news.
pub(super) fn news_of(user: &str) -> String {
    format!("news {user}")
}

/// Key of a user's wall.
pub(super) fn wall_of(user: &str) -> String {
    format!("wall {user}")
}

/// The month of a moment in UTC, such as `2026-11`.
pub(super) fn month_of(moment: DateTime) -> String {
    let mut date = crate::app::rfc3339(moment);
    date.truncate("2026-11".len());
    date
}

impl FeedPage {
    /// Maximum number of copies on a page.
    pub(super) const CAP: usize = 50;

    /// The page after `last` in the month of a post, with a copy of the post.
    pub(super) fn after(last: Option<&Self>, feed: &str, post: &Shown) -> Self {
        let month = month_of(post.at);
        let n = last.map_or(0, |last| last.n + 1);
        let next = |page: &Self| DateTime::from_millis(page.from.timestamp_millis() + 1);
        Self {
            id: format!("{feed} {month} {n}"),
            feed: feed.to_owned(),
            month,
            n,
            from: last.map_or(post.at, |last| next(last).max(post.at)),
            full: Self::CAP <= 1,
            posts: vec![post.clone()],
            v: Version,
        }
    }
}

impl PostDocument {
    /// Fields of a post without its comments.
    pub(super) const PART: &'static [&'static str] =
        &["_id", "shown", "input", "delivering", "due", "merged", "deletedAt", "v"];

    /// The field of the choice's votes.
    pub(super) fn votes_of(choice: i32) -> String {
        format!("shown.detail.choices.{choice}.votes")
    }
}

impl Stored for UserDocument {
    const COLLECTION: &'static str = "users";
    const INDEXES: &'static [Index] = &[Index::of(
        "celebrities",
        "celebrityAt _id",
        "celebrityAt",
        "users whose posts news merge in",
    )];
}

impl Stored for EdgeDocument {
    const COLLECTION: &'static str = "circles";
    const INDEXES: &'static [Index] = &[
        Index::plain("of", "of _id", "the followers of a user"),
        Index::plain("by", "by _id", "the users whom a user follows"),
        Index::plain("circle", "by circles _id", "the users in a circle"),
    ];
}

impl Stored for PostDocument {
    const COLLECTION: &'static str = "posts";
    const INDEXES: &'static [Index] = &[
        Index::of("merged", "merged shown.at shown.id", "merged", "news that merge posts in"),
        Index::of_field("due", "due", "the sweep of copies that are behind"),
        Index::of_field("delivering", "delivering", "the sweep of deliveries that were cut"),
        Index::of_field("deleted", "deletedAt", "the removal of deleted posts"),
    ];
}

impl Stored for VoteDocument {
    const COLLECTION: &'static str = "votes";
    const INDEXES: &'static [Index] = &[
        Index::plain("choice", "post choice", "the number of votes for a choice"),
        Index::of_field("due", "due", "the sweep of votes that aren't counted"),
    ];
}

impl Stored for FeedPage {
    const COLLECTION: &'static str = "feedPages";
    const INDEXES: &'static [Index] = &[
        Index::plain("time", "feed month from", "the pages of a feed by time"),
        Index {
            name: "copies",
            keys: "posts.id feed",
            // A feed has one copy of a post, on whichever page. Within a page the guard of the update says so.
            kind: Kind::UniqueWhere("posts.id"),
            serves: "the copies of a post, one in each feed",
        },
    ];
}
