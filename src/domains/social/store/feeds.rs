//! MongoDB access of feeds.

use std::{collections::HashSet, time::Duration};

use super::super::documents::{FeedPage, NEWEST, ReadPage, Shown, month_of};
use crate::{
    app::App,
    domains::delivery::Page,
    error::Result,
    join::try_join_all,
    mongo::{copies::CopyPath, prelude::*},
};

/// The collection of the pages of feeds.
pub(in super::super) fn pages(app: &App) -> Collection<FeedPage> {
    app.collection()
}

/// The same, to read them.
fn read_pages(app: &App) -> Collection<ReadPage> {
    app.collection()
}

/// `maxTimeMS` of the command that puts a post into many feeds. No deadline depends on it.
const LIMIT: Duration = Duration::from_secs(10);

impl Page for FeedPage {
    type Copy = Shown;

    /// The guard looks at the open page, the unique index at the others.
    async fn push_each(app: &App, feeds: &[String], post: &Shown) -> Result<bool> {
        let month = month_of(post.at);
        let copy = literal(stored(post));
        let is_full = doc! { "$gte": [{ "$size": "$posts" }, count(Self::CAP)] };
        let update = vec![
            doc! { "$set": { "posts": append("$posts", vec![copy]) } },
            doc! { "$set": { "full": is_full } },
        ];
        let one = |feed: &String| {
            let open = doc! {
                "feed": feed, "month": &month, "full": false, "posts.id": { "$ne": &post.id },
            };
            (open, update.clone())
        };
        pages(app).update_all(feeds.iter().map(one).collect(), LIMIT).await
    }

    async fn lists_with(app: &App, feeds: &[String], post: &Shown) -> Result<HashSet<String>> {
        let list = List {
            filter: doc! { "posts.id": &post.id, "feed": { "$in": feeds } },
            limit: count(feeds.len()),
            projection: Some(doc! { "posts": 0 }),
            hint: Some("copies"),
            ..List::default()
        };
        Ok(pages(app).list(list).await?.into_iter().map(|page| page.feed).collect())
    }

    /// The last page of the post's month, without its posts.
    async fn last(app: &App, feed: &str, post: &Shown) -> Result<Option<Self>> {
        let list = List {
            filter: doc! { "feed": feed, "month": month_of(post.at) },
            sort: doc! { "from": -1 },
            projection: Some(doc! { "posts": 0 }),
            hint: Some("time"),
            ..List::default()
        };
        pages(app).first(list).await
    }

    fn is_open(&self) -> bool {
        !self.full
    }

    fn next(last: Option<&Self>, feed: &str, post: &Shown) -> Self {
        Self::after(last, feed, post)
    }
}

/// Writes the post to its copies of lower versions.
pub(in super::super) async fn overwrite(app: &App, post: &Shown) -> Result<u64> {
    const COPIES: CopyPath = CopyPath { array: "posts", key: "id", version: "version" };
    let mut fields = stored_fields(post);
    fields.remove("id");
    fields.remove("version");
    COPIES.spread(&pages(app), &post.id, post.version, fields, doc! {}).await
}

/// Removes the copies of a post.
pub(in super::super) async fn withdraw(app: &App, post: &str) -> Result<u64> {
    let copies = doc! { "$pull": { "posts": { "id": post } } };
    pages(app).update_many(doc! { "posts.id": post }, copies).await
}

/// Up to `limit` pages of a feed, the newest first, from one that begins at `from` or before; in one month if it is
/// given.
pub(in super::super) async fn list_pages(
    app: &App,
    feed: &str,
    month: Option<&str>,
    from: Option<(DateTime, bool)>,
    limit: i64,
) -> Result<Vec<ReadPage>> {
    let mut filter = doc! { "feed": feed };
    let months = match (month, from) {
        (Some(month), _) => Some(Bson::from(month)),
        (None, Some((from, _))) => Some(doc! { "$lte": month_of(from) }.into()),
        (None, None) => None,
    };
    if let Some(months) = months {
        filter.insert("month", months);
    }
    if let Some((from, is_included)) = from {
        let operator = if is_included { "$lte" } else { "$lt" };
        filter.insert("from", doc! { operator: from });
    }
    let sort = doc! { "month": -1, "from": -1 };
    read_pages(app).list(List { filter, sort, limit, hint: Some("time"), ..List::default() }).await
}

/// The newest pages of a feed: one or two if it has any, the newest first. Also returns whether these are known to be all.
/// Reads of other feeds may share the command.
pub(in super::super) async fn newest_pages(app: &App, feed: &str) -> Result<(Vec<ReadPage>, bool)> {
    read_pages(app).newest(&NEWEST, feed).await
}

/// Up to `limit` pages of a month before the page with this number, the newest first. Reads of other pages may share the
/// command. Fewer are returned if one is missing.
pub(in super::super) async fn pages_before(
    app: &App,
    feed: &str,
    month: &str,
    n: i32,
    limit: usize,
) -> Result<Vec<ReadPage>> {
    let all = read_pages(app);
    let ids: Vec<_> = (0..n).rev().take(limit).map(|n| FeedPage::id(feed, month, n)).collect();
    let found = try_join_all(ids.iter().map(|id| all.get(id))).await?;
    Ok(found.into_iter().map_while(|page| page).collect())
}
