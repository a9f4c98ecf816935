//! MongoDB access of posts and votes.

use super::{
    super::documents::{Audience, CommentEntry, EdgeDocument, PostDocument, VoteDocument},
    feeds,
};
use crate::{
    app::App,
    error::Result,
    mongo::{
        keyset::{self, SortKey},
        prelude::*,
    },
};

/// The collection of the posts.
pub(in super::super) fn posts(app: &App) -> Collection<PostDocument> {
    app.collection()
}

/// The collection of the votes.
pub(in super::super) fn votes(app: &App) -> Collection<VoteDocument> {
    app.collection()
}

/// Guard: the post exists and isn't deleted.
fn live(id: &str) -> Document {
    doc! { "_id": id, "deletedAt": { "$exists": false } }
}

/// The fields of a change: a new version, and the note that the copies are behind.
fn changed(mut set: Document) -> Document {
    set.insert("shown.version", doc! { "$add": ["$shown.version", 1_i64] });
    set.insert("due", "$$NOW");
    set
}

/// Replaces the text of the author's post that has been edited this many times.
pub(in super::super) fn edit(
    app: &App,
    id: &str,
    by: &str,
    edits: i64,
    text: &str,
) -> Guarded<PostDocument> {
    let mut guard = live(id);
    guard.extend(doc! { "shown.by": by, "shown.edits": edits });
    let set = changed(doc! { "shown.text": literal(text), "shown.edits": edits.saturating_add(1) });
    posts(app).set(guard, set)
}

/// Deletes the author's post. The document stays for some time, without its contents.
pub(in super::super) fn delete(app: &App, id: &str, by: &str) -> Guarded<PostDocument> {
    let mut guard = live(id);
    guard.insert("shown.by", by);
    let set = changed(doc! {
        "deletedAt": "$$NOW",
        "shown.text": "",
        "shown.detail": "$$REMOVE",
        "shown.commentCount": 0_i64,
        "shown.latest": [],
        "comments": [],
        "merged": "$$REMOVE",
    });
    posts(app).set(guard, set)
}

/// Adds a comment to a post that has less than `most` of them, and less than `most_of_one` of the same author. The time and
/// the number are set by the update.
pub(in super::super) fn add_comment(
    app: &App,
    post: &str,
    CommentEntry { id, input, by, text, .. }: &CommentEntry,
    (most, most_of_one): (usize, usize),
) -> Guarded<PostDocument> {
    let mut guard = live(post);
    guard.insert("comments.id", doc! { "$ne": id });
    let own = filter(array("comments"), doc! { "$eq": ["$$this.by", literal(by)] });
    let has_room = doc! { "$and": [
        { "$lt": ["$shown.commentCount", count(most)] },
        { "$lt": [{ "$size": own }, count(most_of_one)] },
    ] };
    guard.insert("$expr", has_room);
    let number = doc! { "$add": ["$shown.commentCount", 1_i64] };
    let entry = whole(doc! {
        "id": literal(id), "input": literal(input), "by": literal(by), "text": literal(text),
        "at": "$$NOW", "n": number.clone(),
    });
    let set = changed(doc! {
        "comments": append(array("comments"), vec![entry]), "shown.commentCount": number,
    });
    let newest = doc! { "shown.latest": { "$slice": ["$comments", -3] } };
    posts(app).guarded(guard, vec![doc! { "$set": set }, doc! { "$set": newest }])
}

/// Raises the votes of a choice to this number.
pub(in super::super) fn raise_votes(
    app: &App,
    post: &str,
    choice: i32,
    votes: i64,
) -> Guarded<PostDocument> {
    let field = PostDocument::votes_of(choice);
    let mut guard = live(post);
    guard.insert(field.clone(), doc! { "$lt": votes });
    let update = doc! {
        "$max": { field: votes },
        "$inc": { "shown.version": 1_i64 },
        "$currentDate": { "due": true },
    };
    posts(app).guarded(guard, update)
}

/// Number of votes for a choice.
pub(in super::super) async fn count_votes(app: &App, post: &str, choice: i32) -> Result<u64> {
    votes(app).count(doc! { "post": post, "choice": choice }, u64::from(u32::MAX)).await
}

/// Notes that the post counts the vote.
pub(in super::super) fn counted(app: &App, vote: &str) -> Guarded<VoteDocument> {
    let guard = doc! { "_id": vote, "due": { "$exists": true } };
    votes(app).set(guard, doc! { "due": "$$REMOVE" })
}

/// Notes that all copies of the post have been delivered.
pub(in super::super) fn delivered(app: &App, id: &str) -> Guarded<PostDocument> {
    let guard = doc! { "_id": id, "delivering": { "$exists": true } };
    posts(app).set(guard, doc! { "delivering": "$$REMOVE" })
}

/// Notes that all copies are of this version, unless the post has changed since.
pub(in super::super) fn spread(app: &App, id: &str, version: i64) -> Guarded<PostDocument> {
    let guard = doc! { "_id": id, "shown.version": version, "due": { "$exists": true } };
    posts(app).set(guard, doc! { "due": "$$REMOVE" })
}

/// Filter of the posts that a user may see, if the user doesn't block the authors. `edges` have the circles of the authors that
/// the user is in.
pub(in super::super) fn seen_by(user: &str, edges: &[EdgeDocument]) -> Document {
    let [public, circles, named] =
        [Audience::Public, Audience::Circles, Audience::Named].map(|audience| stored(&audience));
    let authors: Vec<&str> = edges.iter().map(|edge| edge.by.as_str()).collect();
    let mut ways = vec![
        doc! { "shown.by": user },
        doc! { "shown.to": user },
        doc! { "shown.audience": public },
        doc! { "shown.audience": circles, "shown.by": { "$in": authors } },
    ];
    ways.extend(edges.iter().map(|edge| {
        let is_in = doc! { "$in": edge.circles.clone() };
        doc! { "shown.audience": named.clone(), "shown.by": &edge.by, "shown.circles": is_in }
    }));
    doc! { "$or": ways }
}

/// The order of the posts that news merge in, the newest first.
const MERGED: [SortKey; 2] = [("shown.at", -1), ("shown.id", -1)];

/// Filter of the posts of these authors that news merge in, from `since` on and up to `until`. With `seen`, the posts also match
/// that filter.
fn merged(
    authors: &[&str],
    (since, until): (DateTime, &Until),
    seen: Option<&Document>,
) -> Document {
    let mut at = doc! { "$gte": since };
    if let Until::Before(end) = until {
        at.insert("$lt", *end);
    }
    let mut filter = doc! { "merged": { "$in": authors }, "shown.at": at };
    filter.extend(seen.cloned().unwrap_or_default());
    match until {
        Until::Before(_) => filter,
        Until::Beyond(at, id) => keyset::beyond(filter, &MERGED, &[(*at).into(), Bson::from(id)]),
    }
}

/// The newest posts that [`merged`] finds. With `seen`, the server may examine many others between them.
pub(in super::super) async fn list_merged(
    app: &App,
    authors: &[&str],
    times: (DateTime, &Until),
    seen: Option<&Document>,
    limit: usize,
) -> Result<Vec<PostDocument>> {
    let projection = Some(doc! { "comments": 0 });
    let list = List {
        filter: merged(authors, times, seen),
        sort: keyset::sort(&MERGED),
        limit: count(limit),
        projection,
        time: seen.map(|_| EXAMINING),
        ..List::default()
    };
    posts(app).list(list).await
}

/// The time of the post at position `number` among the newest posts of these authors, whether visible or not; `None` if there are
/// fewer.
pub(in super::super) async fn time_of_merged(
    app: &App,
    authors: &[&str],
    times: (DateTime, &Until),
    number: usize,
) -> Result<Option<DateTime>> {
    #[derive(Deserialize)]
    struct Last {
        at: DateTime,
    }
    let pipeline = vec![
        doc! { "$match": merged(authors, times, None) },
        doc! { "$sort": keyset::sort(&MERGED) },
        doc! { "$skip": count(number.saturating_sub(1)) },
        doc! { "$limit": 1_i64 },
        doc! { "$project": { "_id": 0, "at": "$shown.at" } },
    ];
    let found: Vec<Last> = posts(app).rank(pipeline, Some(EXAMINING)).await?;
    Ok(found.first().map(|last| last.at))
}

/// The end of a time.
#[derive(Debug, Clone)]
pub(in super::super) enum Until {
    /// Before this moment.
    Before(DateTime),
    /// After the post of this time and `_id` in the order of news.
    Beyond(DateTime, String),
}

impl Until {
    /// The moment.
    pub(in super::super) fn at(&self) -> DateTime {
        match self {
            Self::Before(at) | Self::Beyond(at, _) => *at,
        }
    }
}

/// Removes what is left of a deleted post, unless work on it is pending. Returns whether it did. A worker that lost its
/// lease and died may have put copies after they were removed; no command of it can arrive any more.
pub(in super::super) async fn forget(app: &App, id: &str) -> Result<bool> {
    feeds::withdraw(app, id).await?;
    votes(app).remove_many(doc! { "post": id }).await?;
    let gone = doc! {
        "_id": id,
        "deletedAt": { "$exists": true },
        "due": { "$exists": false },
        "delivering": { "$exists": false },
    };
    Ok(posts(app).remove(gone).await.decided()?.is_some())
}
