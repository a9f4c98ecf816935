//! People, their circles, posts, and the feeds in which others read them.
//!
//! - `users`: a user is the subject of tokens, with a profile and the users whom they block
//! - `circles`: one document, an *edge*, for each user and each user whom they follow
//! - `posts`: each with its comments; `votes` in polls
//! - `feedPages`: news and walls, as copies of posts
//!
//! # The graph
//!
//! A user follows another one by putting them into circles. The edge has the names of these circles. Indexes find it by either
//! user: by the follower for `following`, and by the followed user for `followers`. So each change is one guarded update of
//! one document.
//!
//! # Posts and their copies
//!
//! ```text
//!   createPost ──▶ post, with `delivering` ──▶ job: walls, first 500 followers ──▶ job: next 500 … ──▶ `delivering` goes
//!   edit, comment, vote, delete ──▶ post, with `version` + 1 and `due` ──▶ job: copies ──▶ `due` goes
//! ```
//!
//! A post decides its own changes: each is one guarded update. `delivering` and `due` are its outbox. Jobs of the work
//! queue apply it; `domains::delivery` says what follows from a repeat, a cut and a dead job. If a call is cut before it has
//! added the job, the sweep adds it, or does its work. Copies aren't reserved and have no marks: a unique index lets a feed
//! have one copy of a post, and a copy is only overwritten by a later version.
//!
//! A vote is a document of its own, which exists once for each user and poll. The post's number of votes for a choice is then
//! set to the number of these documents, if that is higher. `due` on the vote says that this isn't done yet.
//!
//! | command | guard | if the process dies after it |
//! |---|---|---|
//! | insert of a post | its id is free | a repeat or the sweep adds the job |
//! | change of a post | it isn't deleted; version of the text, or the comment isn't there | a repeat adds the job; the sweep does the work |
//! | copy to the open page | the feed has no copy, and the page is open | the job is repeated |
//! | new page | its id is free, and the feed has no copy | the job is repeated |
//! | overwriting of copies | their version is lower | the job is repeated |
//! | end of `due` | the version is the one that was spread | (done) |
//! | end of `delivering` | it is set | (done) |
//! | insert of an edge, marked | its id is free | a repeat or the sweep decides about the mark |
//! | decision about a mark | it isn't decided, and the edge is the same | (done) |
//! | beginning of a marking | there is none, and the user has no `mergedAt` | the sweep adds the job |
//! | marks of a batch | each edge has none, or isn't decided | the job is repeated |
//! | end of a marking | it is the same one | (done) |
//!
//! None of these writes needs a deadline. A job that has lost its lease may put a copy after others have brought the copies
//! up to date; it looks at the post after that. If it dies before that, the copy is behind until the post's next change; a
//! copy of a deleted post stays until the tombstone is removed.
//!
//! A deleted post stays as a tombstone, without its contents, for as long as idempotency keys are remembered.
//!
//! # Who sees a post
//!
//! The author's circles decide, when a copy is delivered and at each read: a reader's page is read first, then the
//! circles of those authors whose posts on it aren't public. Posts of users whom the reader blocks are left out. So a copy
//! that shouldn't be there isn't shown. On a wall, a post of a user whom the owner blocks is shown to its author alone, who thus
//! isn't told of the block.
//!
//! # Feeds
//!
//! A feed is a user's news or wall. Its pages hold up to 50 copies of posts of one month. A page covers the time from its
//! first copy on (`from`); a copy that comes late stands on a later page than its time says.
//!
//! Posts of authors with more than `post_delivery_followers` followers aren't delivered to news. They are *merged in* when
//! news are read: a query by `merged` finds the posts, and they are shown among the copies of the page that covers their time.
//! The edges to such an author have a mark. By it one command finds the marked edges of several readers.
//! `operations/celebrities.rs` describes the *marking*, which puts the marks on all edges of an author and ends with
//! `mergedAt`, and why no post is missed meanwhile.
//!
//! # Invariants
//!
//! An edge is of two users that exist, and has at least one circle. If the followed user has `mergedAt`, the edge is marked.
//! Numbers of comments and votes equal what they count. A copy is of a post that exists, and has its version, unless the post
//! has `delivering` or `due`. No feed has two copies of a post.

mod documents;
pub mod import;
pub mod invariants;
pub mod operations;
mod person;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{
    Room,
    broadcasts::broadcasts,
    delivery,
    metadata::MetadataOwner,
    nodes::{Node, NodeType, ObjectType},
    room::documented,
};
use crate::{graphql::prelude::*, mongo::condition::Condition};
pub use documents::{EdgeDocument, FeedPage, PostDocument, Shown, UserDocument, VoteDocument};
use types::Post;
pub use types::User;

impl NodeKind {
    /// A user. The key is the subject of the user's tokens.
    pub const USER: Self = Self::new("user");
    /// A post.
    pub const POST: Self = Self::new("post");
}

/// The room.
pub const ROOM: Room = Room {
    needs: &["assets", "queue"],
    extends: &[("Identity", "user"), ("UserReference", "user")],
    nodes: &[
        NodeType::new(NodeKind::USER, &[ObjectType::of::<User>()], |cx, id| {
            Box::pin(async move {
                let found = operations::user(cx, Some(id)).await?;
                Ok(found.map(User::from).map(Node::of))
            })
        }),
        NodeType::new(NodeKind::POST, &[ObjectType::of::<Post>()], |cx, id| {
            Box::pin(
                async move { Ok(operations::post(cx, id).await?.map(Post::from).map(Node::of)) },
            )
        }),
    ],
    metadata: &[MetadataOwner::of::<UserDocument>(NodeKind::USER, Role::Merchant, || {
        Condition::All(Vec::new())
    })],
    documents: &[
        documented::<UserDocument>(),
        documented::<EdgeDocument>(),
        documented::<PostDocument>(),
        documented::<VoteDocument>(),
        documented::<FeedPage>(),
    ],
    broadcasts: broadcasts! {
        "users" {
            find "celebrityAt" = "list: the users whose posts news merge in; sweep: those without marks",
            find "meta.pairs" = "list: the users with a pair of metadata",
            find "marking" = "sweep: markings that were cut",
        }
        "circles" {
            find "of" = "list: the followers of a user",
            aggregate "of" = "search: the number of followers of a user",
            find "by" = "list: the users whom a user follows; whether a circle has any",
            find "merged" = "list: the followed users whose posts news merge in",
            find "due" = "sweep: edges whose mark isn't decided",
        }
        "posts" {
            find "merged" = "list: posts that news merge in",
            aggregate "merged" = "list: up to which post news look for those to merge in",
            find "due" = "sweep: copies that are behind",
            find "delivering" = "sweep: deliveries that were cut",
            find "deletedAt" = "sweep: deleted posts",
        }
        "votes" {
            aggregate "post" = "search: the number of votes for a choice",
            delete "post" = "removal: the votes of a deleted post",
            find "due" = "sweep: votes that aren't counted",
        }
    },
    personal: person::PERSONAL,
    erase: Some(|app, erasing| Box::pin(person::erase(app, erasing))),
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    work: Some(delivery::work::<operations::Task>),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    repair: Some(|app, _| Box::pin(invariants::repair(app))),
    ..Room::new("social")
};
