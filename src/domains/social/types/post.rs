//! Posts as clients see them.

use async_graphql::{
    Context, Enum, ID, Object, Result, SimpleObject, Union, connection::Connection,
};

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
        codes::refusal,
        cx::cx,
        node_id::NodeKind,
        object_of::ObjectOf,
        page::paging,
        scalars::{DateTime, int},
    },
};

/// A post.
pub type Post = ObjectOf<Shown>;

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

/// A post. In news and on walls, numbers and the last comments may be some seconds behind.
#[Object]
impl Post {
    /// Global id of the post.
    pub async fn id(&self) -> ID {
        NodeKind::POST.id(&self.0.id)
    }

    /// Subject of the author.
    async fn author_id(&self) -> ID {
        ID(self.0.by.clone())
    }

    /// Author of the post.
    async fn author(&self, context: &Context<'_>) -> Result<Option<User>> {
        Ok(operations::user_by_subject(cx(context), &self.0.by).await?.map(User::from))
    }

    /// User on whose wall the post was written; null if that is the author's own.
    async fn to(&self, context: &Context<'_>) -> Result<Option<User>> {
        let Some(to) = &self.0.to else { return Ok(None) };
        Ok(operations::user_by_subject(cx(context), to).await?.map(User::from))
    }

    /// Who may see the post, beside its author and the user on whose wall it was written.
    async fn audience(&self) -> Audience {
        self.0.audience
    }

    /// Names of the author's circles that may see the post, with the audience `NAMED`. Only the author sees them; for
    /// others the list is empty.
    async fn circles(&self, context: &Context<'_>) -> &[String] {
        if cx(context).requester.is(&self.0.by) { &self.0.circles } else { &[] }
    }

    /// What the post consists of.
    #[graphql(name = "type")]
    async fn kind(&self) -> PostType {
        match self.0.detail {
            None => PostType::Status,
            Some(Detail::Photo { .. }) => PostType::Photo,
            Some(Detail::Link { .. }) => PostType::Link,
            Some(Detail::CheckIn { .. }) => PostType::CheckIn,
            Some(Detail::Poll { .. }) => PostType::Poll,
        }
    }

    /// Text; may be empty if there is a `detail`.
    async fn text(&self) -> &str {
        &self.0.text
    }

    /// What the post consists of beside its text; null for the type `STATUS`.
    async fn detail(&self) -> Option<PostDetail> {
        Some(match self.0.detail.clone()? {
            Detail::Photo { assets } => PostDetail::Photo(PhotoDetail { assets }),
            Detail::Link { url, title } => PostDetail::Link(LinkDetail { url, title }),
            Detail::CheckIn { place } => PostDetail::CheckIn(CheckInDetail { place }),
            Detail::Poll { choices } => {
                PostDetail::Poll(PollDetail { post: self.0.id.clone(), choices })
            }
        })
    }

    /// Time at which the post was created.
    async fn created_at(&self) -> DateTime {
        self.0.at.into()
    }

    /// Whether the text was edited.
    async fn is_edited(&self) -> bool {
        self.0.edits > 0
    }

    /// Version of the text, for `editPost`.
    async fn version(&self) -> ID {
        ID(self.0.edits.to_string())
    }

    /// Number of comments.
    async fn comment_count(&self) -> i32 {
        int(self.0.comment_count)
    }

    /// The last three comments, oldest first, without those of users whom the caller blocks.
    async fn latest_comments(&self, context: &Context<'_>) -> Result<Vec<PostComment>> {
        let mut shown = self.0.latest.clone();
        if !self.0.is_unblocked {
            shown = operations::unblocked(cx(context), shown).await?;
        }
        Ok(shown.into_iter().map(PostComment).collect())
    }

    /// All comments, newest first, without those of users whom the caller blocks.
    async fn comments(&self, context: &Context<'_>) -> Result<Connection<String, PostComment>> {
        Ok(operations::comments(cx(context), &self.0, paging(context)?).await?)
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

/// Photos of a post.
#[Object]
impl PhotoDetail {
    /// The photos that exist and that the caller can see, in the order of the post.
    async fn photos(&self, context: &Context<'_>) -> Result<Vec<Asset>> {
        let read = self.assets.iter().map(|id| asset_by_id(cx(context), id));
        let found = futures_util::future::try_join_all(read).await?;
        Ok(found.into_iter().flatten().map(Asset::from).collect())
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

/// A poll of a post, with the votes so far. Each user has one vote.
#[Object]
impl PollDetail {
    /// The choices, in order.
    async fn choices(&self) -> Vec<PollChoice> {
        let choices = self.choices.iter();
        choices.map(|of| PollChoice { text: of.text.clone(), votes: int(of.votes) }).collect()
    }

    /// Position of the choice for which the caller has voted, from 0; null if the caller hasn't voted.
    async fn my_choice(&self, context: &Context<'_>) -> Result<Option<i32>> {
        Ok(operations::own_choice(cx(context), &self.post).await?)
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

/// A comment on a post.
#[Object]
impl PostComment {
    /// Number of the comment within its post, from 1.
    async fn number(&self) -> i32 {
        int(self.0.n)
    }

    /// Subject of the author.
    async fn author_id(&self) -> ID {
        ID(self.0.by.clone())
    }

    /// Author of the comment.
    async fn author(&self, context: &Context<'_>) -> Result<Option<User>> {
        Ok(operations::user_by_subject(cx(context), &self.0.by).await?.map(User::from))
    }

    /// What the author wrote, 1 to 1,000 characters of plain text.
    async fn text(&self) -> &str {
        &self.0.text
    }

    /// Time at which the comment was posted.
    async fn posted_at(&self) -> DateTime {
        self.0.at.into()
    }
}

/// Result of a successful `deletePost`.
#[derive(Debug)]
pub struct DeletedPost {
    pub(in super::super) id: String,
}

/// Result of a successful `deletePost`.
#[Object]
impl DeletedPost {
    /// Global id of the deleted post.
    async fn post_id(&self) -> ID {
        NodeKind::POST.id(&self.id)
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
