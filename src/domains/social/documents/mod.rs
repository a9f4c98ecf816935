//! Stored documents of people, posts and feeds.

mod feeds;

pub use feeds::FeedPage;
pub(super) use feeds::{CopyView, NEWEST, ReadPage, month_of, news_of, wall_of};

use async_graphql::Enum;

use crate::{domains::metadata::MetadataPairs, mongo::prelude::*};

document! {
    /// A user.
    pub struct UserDocument {
        /// Subject of the user's tokens.
        pub id as "_id": String,
        /// The profile.
        pub profile: Profile,
        /// Number of changes of the profile.
        pub version: i64,
        /// Time at which the user was created.
        pub at: DateTime,
        /// Subjects of the users whom the user blocks.
        #[serde(default)]
        pub blocked: Vec<String>,
        /// Set as long as the edges to the user are being marked: server time at which that began.
        pub marking?: DateTime,
        /// Server time at which all edges to the user had their mark. From then on the news of followers merge in what the user
        /// posts.
        pub merged_at?: DateTime,
        /// Set by a docgate that didn't mark edges, instead of `mergedAt`.
        pub celebrity_at?: DateTime,
        /// Metadata of the user.
        pub meta?: Box<MetadataPairs>,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "users" {
        of_field("marking", "marking", "the sweep of markings that were cut"),
        of("celebrities", "celebrityAt _id", "celebrityAt",
            "users whose posts news merge in, and whose edges have no marks yet"),
        of("metadata", "meta.pairs.key meta.pairs.value _id", "meta.version",
            "users with a pair of metadata"),
    }

    /// What others see of a user.
    #[derive(Default, PartialEq, Eq)]
    pub struct Profile {
        /// Name for display.
        pub name: String,
        /// What the user says about themselves; may be empty.
        #[serde(default)]
        pub about: String,
        /// `_id` of the asset that is the user's picture.
        pub picture?: String,
    }

    /// A user has another one in some circles, and so follows them. Both sides of the graph are read from this document.
    pub struct EdgeDocument {
        /// See [`edge_id`].
        pub id as "_id": String,
        /// Subject of the user whose circles these are: the follower.
        pub by: String,
        /// Subject of the user who is in the circles.
        pub of: String,
        /// Names of the circles, at least one.
        pub circles: Vec<String>,
        /// Server time at which it was created. News merge in posts from this time on.
        pub at: DateTime,
        /// The mark: the subject of the follower, if news merge in the posts of the other user, or may do so.
        pub merged?: String,
        /// Set until it is decided whether the edge keeps its mark: `at`.
        pub due?: DateTime,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "circles" {
        plain("of", "of _id", "the followers of a user"),
        plain("by", "by _id", "the users whom a user follows"),
        plain("circle", "by circles _id", "the users in a circle"),
        of_field("merged", "merged", "the followed users whose posts news merge in"),
        of_field("due", "due", "the sweep of edges whose mark isn't decided"),
    }
}

impl EdgeDocument {
    /// A new edge, which isn't marked.
    pub(super) fn new(by: &str, of: &str, circle: &str, at: DateTime) -> Self {
        Self {
            id: edge_id(by, of),
            by: by.to_owned(),
            of: of.to_owned(),
            circles: vec![circle.to_owned()],
            at,
            merged: None,
            due: None,
            v: Version,
        }
    }

    /// The same with the mark, which is to be decided if `is_open`.
    pub(super) fn marked(self, is_open: bool) -> Self {
        Self { merged: Some(self.by.clone()), due: is_open.then_some(self.at), ..self }
    }
}

impl UserDocument {
    /// Fields of a user without the users whom they block, of whom there may be many.
    pub(super) const PART: &'static [&'static str] =
        &["_id", "profile", "version", "at", "marking", "mergedAt", "celebrityAt", "meta", "v"];

    /// Whether edges to the user get the mark.
    pub(super) fn has_marks(&self) -> bool {
        self.marking.is_some() || self.merged_at.is_some() || self.celebrity_at.is_some()
    }
}

/// The `_id` of the edge between two users. The length keeps two pairs of subjects from having the same id.
pub(super) fn edge_id(by: &str, of: &str) -> String {
    format!("{} {by} {of}", by.len())
}

document! {
    /// A post as readers see it. Copies of it are in feeds.
    #[derive(PartialEq)]
    pub struct Shown {
        /// `_id` of the post.
        pub id: String,
        /// Subject of the author.
        pub by: String,
        /// Subject of the user on whose wall it was written, if that isn't the author.
        pub to?: String,
        /// Who may see it.
        pub audience: Audience,
        /// The author's circles that may see it, if the audience is `Named`.
        #[serde(default)]
        pub circles: Vec<String>,
        /// Text; may be empty if there is a detail.
        pub text: String,
        /// What the post consists of beside its text.
        pub detail?: Detail,
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
        /// Whether `latest` is without the comments of users whom the caller blocks. It isn't stored.
        #[serde(skip)]
        pub is_unblocked: bool,
    }
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

document! {
    /// A choice of a poll.
    #[derive(PartialEq, Eq)]
    pub struct Choice {
        /// Text of the choice.
        pub text: String,
        /// Number of votes for it.
        pub votes: i64,
    }

    /// A comment on a post.
    #[derive(PartialEq, Eq)]
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
    pub struct PostDocument {
        /// Derived from the idempotency key, or random.
        pub id as "_id": String,
        /// What readers see.
        pub shown: Shown,
        /// All comments, oldest first.
        #[serde(default)]
        pub comments: Vec<CommentEntry>,
        /// Digest of the input that created it.
        pub input: String,
        /// Set as long as copies have to be delivered: the time at which the post was created.
        pub delivering?: DateTime,
        /// Set as long as copies may be older than the post: server time of the last change.
        pub due?: DateTime,
        /// Subject of the author, if the post isn't delivered to followers and their news merge it in.
        pub merged?: String,
        /// Server time of its deletion.
        pub deleted_at?: DateTime,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "posts" {
        of("merged", "merged shown.at shown.id", "merged", "news that merge posts in"),
        of_field("due", "due", "the sweep of copies that are behind"),
        of_field("delivering", "delivering", "the sweep of deliveries that were cut"),
        of_field("deleted", "deletedAt", "the removal of deleted posts"),
    }

    /// A vote in a poll.
    pub struct VoteDocument {
        /// See [`vote_id`].
        pub id as "_id": String,
        /// `_id` of the post.
        pub post: String,
        /// Position of the choice, from 0.
        pub choice: i32,
        /// Time at which it was cast.
        pub at: DateTime,
        /// Set until the post counts it.
        pub due?: DateTime,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "votes" {
        plain("choice", "post choice", "the number of votes for a choice"),
        of_field("due", "due", "the sweep of votes that aren't counted"),
    }
}

/// The `_id` of a user's vote.
pub(super) fn vote_id(post: &str, user: &str) -> String {
    format!("{post} {user}")
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
