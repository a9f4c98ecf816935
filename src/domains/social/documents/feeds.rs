//! Stored pages of feeds, and how they are read.

use std::sync::Arc;

use mongodb::bson::RawDocumentBuf;
use yoke::Yokeable;

use super::Shown;
use crate::{
    error::{Error, Result},
    mongo::{
        collection::Series,
        indexes::Kind,
        lazy_document::{Field, Owned, Viewed, view},
        prelude::*,
        raw_bson::{Element, TypeMismatch},
    },
};

document! {
    /// A page of a feed, that is, of a user's news or wall: copies of up to [`FeedPage::CAP`] posts of one month.
    pub struct FeedPage {
        /// Feed, month and number.
        pub id as "_id": String,
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
    } in "feedPages" of Activity by unsharded(
        "its unique index begins with a field of an array, which can't be in a shard key"
    ) {
        plain("time", "feed month from", "the pages of a feed by time"),
        + Index {
            name: "copies",
            keys: "posts.id feed",
            // A feed has one copy of a post, on whichever page. Within a page the guard of the update says so.
            kind: Kind::UniqueWhere("posts.id"),
            serves: "the copies of a post, one in each feed",
        },
    }
}

/// Key of a user's news.
pub(in super::super) fn news_of(user: &str) -> String {
    format!("news {user}")
}

/// Key of a user's wall.
pub(in super::super) fn wall_of(user: &str) -> String {
    format!("wall {user}")
}

/// The month of a moment in UTC, such as `2026-11`.
pub(in super::super) fn month_of(moment: DateTime) -> String {
    let mut date = crate::app::rfc3339(moment);
    date.truncate("2026-11".len());
    date
}

impl FeedPage {
    /// Maximum number of copies on a page.
    pub(in super::super) const CAP: usize = 50;

    /// The `_id` of the page with this number.
    pub(in super::super) fn id(feed: &str, month: &str, n: i32) -> String {
        format!("{feed} {month} {n}")
    }

    /// The page after `last` in the month of a post, with a copy of the post.
    pub(in super::super) fn after(last: Option<&Self>, feed: &str, post: &Shown) -> Self {
        let month = month_of(post.at);
        let n = last.map_or(0, |last| last.n + 1);
        let next = |page: &Self| DateTime::from_millis(page.from.timestamp_millis() + 1);
        Self {
            id: Self::id(feed, &month, n),
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

view! {
    /// What is read of a [`FeedPage`].
    #[derive(Debug, Yokeable)]
    pub struct PageView<'a> {
        /// `_id`.
        "_id" => pub id: &'a str,
        /// Month.
        "month" => pub month: &'a str,
        /// Number within the month.
        "n" => pub n: i32,
        /// Beginning of the time that it covers.
        "from" => pub from: DateTime,
        /// The copies, in the order in which they came.
        "posts" => pub posts: Vec<CopyView<'a>>,
        "v" => _v: Version<1>,
    }
}

/// A copy on a page: its place in the order, and the rest as it is stored.
#[derive(Debug, Clone, Copy)]
pub struct CopyView<'a> {
    /// Time at which the post was created.
    pub at: DateTime,
    /// `_id` of the post.
    pub id: &'a str,
    whole: Element<'a>,
}

impl<'a> Field<'a> for CopyView<'a> {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        let (mut at, mut id) = (None, None);
        for field in value.fields()? {
            match field? {
                (b"at", value) => at = Some(DateTime::read(value)?),
                (b"id", value) => id = Some(<&str>::read(value)?),
                _ => {}
            }
        }
        let (Some(at), Some(id)) = (at, id) else { return Err(TypeMismatch::default()) };
        Ok(Self { at, id, whole: value })
    }
}

impl CopyView<'_> {
    /// The copy.
    ///
    /// # Errors
    /// `Internal` if it has another shape.
    pub(in super::super) fn shown(&self) -> Result<Shown> {
        Owned::read(self.whole).map(|Owned(shown)| shown).map_err(Error::internal)
    }
}

/// A page that is read: a copy is decoded when it is shown.
pub(in super::super) type ReadPage = Viewed<PageView<'static>>;

/// The pages of a feed are a series.
pub(in super::super) static NEWEST: Series =
    Series { field: "feed", order: &["month", "from"], index: "time" };

/// The documents are those of [`FeedPage`], which declares their indexes.
impl Stored for ReadPage {
    const COLLECTION: &'static str = FeedPage::COLLECTION;
    const GROUP: Group = Group::Activity;
    const UPGRADES: &'static [crate::mongo::migrations::Upgrade] = FeedPage::UPGRADES;

    fn read(stored: Arc<RawDocumentBuf>) -> Result<Self> {
        Self::over(stored)
    }
}
