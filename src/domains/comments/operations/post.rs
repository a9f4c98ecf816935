//! Posts comments and reviews.

use mongodb::bson::{DateTime, Document};

use super::{
    super::{
        documents::{CommentDocument, Due, DueKind, Layout, OpenDiscussion, Parent, Taken},
        store::{self, By, CAP, Inserted, Place},
        types::{
            CommentRemoved, DiscussionFull, NotServedByLayout, PostCommentInput, PostCommentResult,
            ReviewProductInput, ReviewProductResult,
        },
    },
    LEVELS, TEXT, begin, checked_slug,
    copy::carry,
    find,
    finish::{Finished, finish},
    no_comment, no_parent,
    open::begin_or_open,
    parent_of, uncrowded,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{AlreadyExists, Conflict, InvalidInput, NotFound, Stop},
        requester::Requester,
    },
    mongo::Version,
};

/// A comment that is to be posted.
#[derive(Debug, Clone)]
struct Posting {
    id: String,
    origin: String,
    author: String,
    text: String,
    stars: Option<i32>,
    /// Slug and sort key of the comment that it replies to; both empty at the top level.
    reply_to: (String, String),
    nonce: String,
}

/// Why a comment wasn't posted.
enum Unposted {
    Full(i64),
    Gone,
    GivenUp,
    OtherInput,
}

/// Posts a comment, once per idempotency key.
pub async fn post(
    app: &App,
    requester: &Requester,
    new: &PostCommentInput,
) -> Result<CommentDocument, Stop<PostCommentResult>> {
    let author = requester.subject()?;
    let parent = parent_of(&new.on)?;
    let text = input::text("text", &new.text, 1..=TEXT)?;
    let slug = new.parent_slug.as_ref();
    let slug = slug.map(|slug| checked_slug(slug)).transpose()?;
    let idempotency_key = input::idempotency_key(new.idempotency_key.as_ref())?;
    let (attempt, discussion) = begin(app, &parent, requester).await?;
    let discussion = discussion?;
    let scope = [author, "postComment", &discussion.id];
    let op = app.ids().op(&scope, idempotency_key.as_deref(), &(&slug, &text));
    let reply_to = match slug {
        None => (String::new(), String::new()),
        Some(slug) => replied_to(app, &parent, &discussion, slug, &op.id).await?,
    };
    let (id, origin, nonce) = (op.id, op.input, app.ids().random());
    let author = author.to_owned();
    let posting = Posting { id, origin, author, text, stars: None, reply_to, nonce };
    let seen = parent.kind.seen_by(requester);
    match place(app, &attempt, &parent, discussion, &posting, seen).await? {
        Ok(comment) => Ok(comment),
        Err(Unposted::Full(total)) => Err(DiscussionFull::new(total).into()),
        Err(Unposted::Gone) => Err(no_parent(&parent).into()),
        Err(Unposted::GivenUp) => Err(Conflict::given_up().into()),
        Err(Unposted::OtherInput) => Err(Conflict::other_input().into()),
    }
}

/// Reviews a product, once per author; a repeat of the same call returns the review. The first review of a
/// product opens its discussion.
pub async fn review(
    app: &App,
    requester: &Requester,
    new: &ReviewProductInput,
) -> Result<CommentDocument, Stop<ReviewProductResult>> {
    let author = requester.subject()?;
    let sku = input::sku(&new.sku)?;
    input::within("stars", new.stars.into(), 1..=5)?;
    let text = input::text("text", &new.text, 1..=TEXT)?;
    let on = NodeKind::Product.id(&sku);
    let parent = parent_of(&on)?;
    let (attempt, discussion) = begin_or_open(app, &parent, requester).await?;
    let discussion = discussion?;
    let id = review_id(app, &discussion.id, author);
    let origin = app.ids().op(&["reviewProduct"], None, &(&new.stars, &text)).input;
    let posting = Posting {
        id: id.clone(),
        origin,
        author: author.to_owned(),
        text,
        stars: Some(new.stars),
        reply_to: (String::new(), String::new()),
        nonce: app.ids().random(),
    };
    let seen = parent.kind.seen_by(requester);
    match place(app, &attempt, &parent, discussion, &posting, seen).await? {
        Ok(comment) => Ok(comment),
        Err(Unposted::Full(total)) => Err(DiscussionFull::new(total).into()),
        Err(Unposted::Gone) => Err(NotFound::of(NodeKind::Product, &sku).into()),
        Err(Unposted::GivenUp) => {
            Err(Error::unavailable("a review was given up a moment ago").into())
        }
        Err(Unposted::OtherInput) => Err(AlreadyExists::new("review of yours for", sku).into()),
    }
}

/// The id of an author's only review in a discussion.
pub(super) fn review_id(app: &App, discussion: &str, author: &str) -> String {
    app.ids().derived(&["review", discussion, author])
}

/// Slug and sort key of the parent comment. A reply that is already stored keeps its place, whatever has
/// become of the parent and of the layout since.
async fn replied_to(
    app: &App,
    parent: &Parent,
    discussion: &OpenDiscussion,
    slug: String,
    reply: &str,
) -> Result<(String, String), Stop<PostCommentResult>> {
    let is_flat = discussion.layout == Layout::Paged;
    let Some(comment) = find(app, parent, discussion, By::Slug(&slug)).await? else {
        return Err(no_comment(&slug).into());
    };
    if (is_flat || comment.removed.is_some())
        && find(app, parent, discussion, By::Id(reply)).await?.is_none()
    {
        return Err(if is_flat {
            NotServedByLayout::new(discussion.layout).into()
        } else {
            CommentRemoved::new(slug).into()
        });
    }
    if slug.split('/').count() >= LEVELS {
        let reason = format!("stands {LEVELS} levels deep, where threads end");
        return Err(InvalidInput::new("parentSlug", reason).into());
    }
    Ok((slug, comment.sort_key))
}

/// Posts a comment, even if the discussion moves to another layout meanwhile.
async fn place(
    app: &App,
    attempt: &Attempt,
    parent: &Parent,
    mut discussion: OpenDiscussion,
    posting: &Posting,
    seen: Document,
) -> Result<Result<CommentDocument, Unposted>, Error> {
    // A longer name is used if another comment has the shorter one.
    let mut length = 8;
    let mut left: Option<Place> = None;
    loop {
        uncrowded(&discussion)?;
        // A repeat during a migration: committed comments are copied before the comment is posted anew.
        if let Some(migration) = discussion.uncopied()
            && let Some(before) = Place::before(parent, &discussion)
            && let Some(old) = before.storage().find(app, &before, By::Id(&posting.id)).await?
        {
            if old.is_taken(&migration.taken) {
                discussion = carry(app, attempt, parent, &discussion).await?;
            } else {
                left = Some(before);
            }
        }
        let now = Place::now(parent, &discussion);
        let name = CommentDocument::short(&posting.id, length);
        let comment = posting.comment(&now, &name, attempt.now());
        let storage = now.storage();
        let inserted = if is_named_before(app, parent, &discussion, &comment).await? {
            Inserted::SlugTaken
        } else {
            storage.insert(app, &now, &discussion, comment, seen.clone(), attempt).await?
        };
        let comment = match inserted {
            Inserted::Unposted(comment) => comment,
            Inserted::Taken(comment) => {
                discussion.taken.push(Taken::of(&comment.id, attempt.now()));
                comment
            }
            Inserted::Exists(there) if there.origin != posting.origin => {
                return Ok(Err(Unposted::OtherInput));
            }
            Inserted::Exists(there) => there,
            Inserted::SlugTaken if name.len() < length => {
                return Err(Error::internal("two comments of one id"));
            }
            Inserted::SlugTaken => {
                length *= 2;
                continue;
            }
            Inserted::Refused => match store::settled(app, parent).await? {
                Some(moved) if moved.id == discussion.id && moved.epoch != discussion.epoch => {
                    discussion = *moved;
                    continue;
                }
                Some(full)
                    if full.id == discussion.id
                        && full.layout == Layout::Embedded
                        && full.total >= CAP =>
                {
                    withdraw(app, left.as_ref(), &posting.id).await?;
                    return Ok(Err(Unposted::Full(full.total)));
                }
                Some(given_up) if given_up.taken(&posting.id).is_some() => {
                    return Ok(Err(Unposted::GivenUp));
                }
                _ if attempt.is_over() => return Err(attempt.overdue()),
                _ => return Ok(Err(Unposted::Gone)),
            },
        };
        match finish(app, attempt, parent, &discussion, comment, seen.clone()).await? {
            Finished::Done(comment) => {
                withdraw(app, left.as_ref(), &posting.id).await?;
                return Ok(Ok(comment));
            }
            Finished::Moved(moved) => {
                left = Some(now);
                discussion = moved;
            }
            Finished::Withdrawn => return Ok(Err(Unposted::Gone)),
            Finished::GivenUp => return Ok(Err(Unposted::GivenUp)),
        }
        if attempt.is_over() {
            return Err(attempt.overdue());
        }
    }
}

/// Whether another comment that isn't copied to this store yet has its slug.
async fn is_named_before(
    app: &App,
    parent: &Parent,
    discussion: &OpenDiscussion,
    comment: &CommentDocument,
) -> Result<bool, Error> {
    let before = Place::before(parent, discussion);
    let (Some(migration), Some(before)) = (discussion.uncopied(), before) else {
        return Ok(false);
    };
    let there = before.storage().find(app, &before, By::Slug(&comment.slug)).await?;
    Ok(there.is_some_and(|there| there.id != comment.id && there.is_taken(&migration.taken)))
}

/// Removes the comment from the store that it was inserted into before the discussion moved.
async fn withdraw(app: &App, left: Option<&Place>, id: &str) -> Result<(), Error> {
    if let Some(left) = left {
        let _gone = left.storage().withdraw(app, left, id).await.decided()?;
    }
    Ok(())
}

/// Posts a comment to the current store that was left uncommitted in an old one.
pub(super) async fn repost(
    app: &App,
    attempt: &Attempt,
    parent: &Parent,
    discussion: OpenDiscussion,
    found: &CommentDocument,
) -> Result<(), Error> {
    let posting = Posting {
        id: found.id.clone(),
        origin: found.origin.clone(),
        author: found.author.clone(),
        text: found.text.clone(),
        stars: found.stars,
        reply_to: (found.reply_to.clone(), found.above().to_owned()),
        nonce: found.nonce.clone(),
    };
    // A full or missing discussion and an aborted post are no errors: no caller was told that it was posted.
    let _posted = place(app, attempt, parent, discussion, &posting, Document::new()).await?;
    Ok(())
}

impl Posting {
    fn comment(&self, place: &Place, name: &str, at: DateTime) -> CommentDocument {
        let (reply_to, above) = self.reply_to.clone();
        let slug = if reply_to.is_empty() { name.to_owned() } else { format!("{reply_to}/{name}") };
        let due = Due {
            kind: DueKind::Post,
            tag: self.id.clone(),
            at,
            count: 1,
            reviews: i32::from(self.stars.is_some()),
            stars: self.stars.unwrap_or_default(),
        };
        CommentDocument {
            key: place.key(&self.id),
            id: self.id.clone(),
            on: place.on(),
            parent: place.parent.clone(),
            slug,
            reply_to,
            sort_key: format!("{above}{}", CommentDocument::level(at, name)),
            at,
            author: self.author.clone(),
            text: self.text.clone(),
            stars: self.stars,
            nonce: self.nonce.clone(),
            version: 1,
            edited_at: None,
            removed: None,
            origin: self.origin.clone(),
            due: Some(due),
            settled_at: None,
            sealed: false,
            v: Version,
        }
    }
}
