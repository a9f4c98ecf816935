//! Posts as clients see them.

use async_graphql::{Enum, SimpleObject, Union};

use super::{
    super::{
        documents::{Audience, Choice, CommentEntry, Detail, Shown},
        operations,
    },
    User,
};
use crate::{
    domains::assets::{Asset, operations::asset_by_id},
    graphql::{
        prelude::*,
        scalars::{DateTime, int},
    },
};

/// What a post consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum PostType {
    /// A text.
    Status,
    /// One to ten pictures, with an optional text.
    Photo,
    /// The address of a page, with an optional text.
    Link,
    /// A visit to a place.
    CheckIn,
    /// Two to ten choices to vote for, with an optional text.
    Poll,
}

object! {
    /// A post. In news and on walls, numbers and the last comments may be some seconds behind.
    pub type Post = Shown as post {
        /// Global id of the post.
        pub id: ID = NodeKind::POST.id(&post.id),
        /// Subject of the author.
        author_id: ID = ID(post.by.clone()),
        /// Author of the post.
        author(context)?: Option<User> =
            operations::user_by_subject(cx(context), &post.by).await?.map(User::from),
        /// User on whose wall the post was written; null if that is the author's own.
        to(context)?: Option<User> = {
            let Some(to) = &post.to else { return Ok(None) };
            operations::user_by_subject(cx(context), to).await?.map(User::from)
        },
        /// Who may see the post, beside its author and the user on whose wall it was written.
        audience: Audience = post.audience,
        /// Names of the author's circles that may see the post, with the audience `NAMED`. Only the author sees them; for
        /// others the list is empty.
        circles(context): &[String] =
            if cx(context).requester.is(&post.by) { &post.circles } else { &[] },
        /// What the post consists of.
        #[graphql(name = "type")]
        kind: PostType = match post.detail {
            None => PostType::Status,
            Some(Detail::Photo { .. }) => PostType::Photo,
            Some(Detail::Link { .. }) => PostType::Link,
            Some(Detail::CheckIn { .. }) => PostType::CheckIn,
            Some(Detail::Poll { .. }) => PostType::Poll,
        },
        /// Text; may be empty if there is a `detail`.
        text: &str = &post.text,
        /// What the post consists of beside its text; null for the type `STATUS`.
        detail: Option<PostDetail> = Some(match post.detail.clone()? {
            Detail::Photo { assets } => PostDetail::Photo(PhotoDetail { assets }),
            Detail::Link { url, title } => PostDetail::Link(LinkDetail { url, title }),
            Detail::CheckIn { place } => PostDetail::CheckIn(CheckInDetail { place }),
            Detail::Poll { choices } => {
                PostDetail::Poll(PollDetail { post: post.id.clone(), choices })
            }
        }),
        /// Time at which the post was created.
        created_at: DateTime = post.at.into(),
        /// Whether the text was edited.
        is_edited: bool = post.edits > 0,
        /// Version of the text, for `editPost`.
        version: ID = ID(post.edits.to_string()),
        /// Number of comments.
        comment_count: i32 = int(post.comment_count),
        /// The last three comments, oldest first, without those of users whom the caller blocks.
        latest_comments(context)?: Vec<PostComment> = {
            let mut shown = post.latest.clone();
            if !post.is_unblocked {
                shown = operations::unblocked(cx(context), shown).await?;
            }
            shown.into_iter().map(PostComment).collect()
        },
        /// All comments, newest first, without those of users whom the caller blocks.
        comments(context)?: Connection<PostComment> =
            operations::comments(cx(context), post, paging(context)?).await?,
    }
}

/// What a post consists of beside its text.
#[derive(Debug, Union)]
pub enum PostDetail {
    /// Photos.
    Photo(PhotoDetail),
    /// A link.
    Link(LinkDetail),
    /// A visit to a place.
    CheckIn(CheckInDetail),
    /// A poll.
    Poll(PollDetail),
}

/// Photos of a post.
#[derive(Debug)]
pub struct PhotoDetail {
    assets: Vec<String>,
}

object! {
    /// Photos of a post.
    impl PhotoDetail as photos {
        /// The photos that exist and that the caller can see, in the order of the post.
        photos(context)?: Vec<Asset> = {
            let read = photos.assets.iter().map(|id| asset_by_id(cx(context), id));
            let found = crate::join::try_join_all(read).await?;
            found.into_iter().flatten().map(Asset::from).collect()
        },
    }
}

/// A link of a post.
#[derive(Debug, SimpleObject)]
pub struct LinkDetail {
    /// Address: a URL that begins with `https://` or `http://`.
    pub url: String,
    /// Title of the page; may be empty.
    pub title: String,
}

/// A visit to a place.
#[derive(Debug, SimpleObject)]
pub struct CheckInDetail {
    /// Name of the place.
    pub place: String,
}

/// A poll of a post, with the votes so far.
#[derive(Debug)]
pub struct PollDetail {
    post: String,
    choices: Vec<Choice>,
}

object! {
    /// A poll of a post, with the votes so far. Each user has one vote.
    impl PollDetail as poll {
        /// The choices, in order.
        choices: Vec<PollChoice> = {
            let choices = poll.choices.iter();
            choices.map(|of| PollChoice { text: of.text.clone(), votes: int(of.votes) }).collect()
        },
        /// Position of the choice for which the caller has voted, from 0; null if the caller hasn't voted.
        my_choice(context)?: Option<i32> = operations::own_choice(cx(context), &poll.post).await?,
    }
}

/// What can be voted for in a poll, and how many have.
#[derive(Debug, SimpleObject)]
pub struct PollChoice {
    /// Text of the choice.
    pub text: String,
    /// Number of votes for it.
    pub votes: i32,
}

/// A comment on a post.
#[derive(Debug)]
pub struct PostComment(pub(in super::super) CommentEntry);

object! {
    /// A comment on a post.
    impl PostComment as comment {
        /// Number of the comment within its post, from 1.
        number: i32 = int(comment.0.n),
        /// Subject of the author.
        author_id: ID = ID(comment.0.by.clone()),
        /// Author of the comment.
        author(context)?: Option<User> =
            operations::user_by_subject(cx(context), &comment.0.by).await?.map(User::from),
        /// What the author wrote, 1 to 1,000 characters of plain text.
        text: &str = &comment.0.text,
        /// Time at which the comment was posted.
        posted_at: DateTime = comment.0.at.into(),
    }
}

/// Result of a successful `deletePost`.
#[derive(Debug)]
pub struct DeletedPost {
    pub(in super::super) id: String,
}

object! {
    /// Result of a successful `deletePost`.
    impl DeletedPost as deleted {
        /// Global id of the deleted post.
        post_id: ID = NodeKind::POST.id(&deleted.id),
    }
}

/// A message that the caller's news have changed.
#[derive(Debug, SimpleObject)]
pub struct NewsChanged {
    /// The newest post in the caller's news that is visible to the caller; null if there is none.
    pub latest: Option<Post>,
}

refusal! {
    /// The caller has voted in the poll for another choice. Votes can't be changed.
    struct AlreadyVoted as "ALREADY_VOTED" {
        /// Position of the choice for which the caller has voted, from 0.
        pub choice: i32,
    }
}

impl AlreadyVoted {
    /// The caller has voted for this choice.
    pub fn new(choice: i32) -> Self {
        Self::because(format!("you have voted for choice {choice}"), choice)
    }
}
