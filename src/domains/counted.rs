//! Keeps counts of records in documents of their own, so that a page reads them at once. They are recounted after the
//! records have changed. The facets of categories and the products that were bought together are counted so.
//!
//! The counts are never incremented. So two callers, a repeat or a cut can't count anything twice.
//!
//! ```text
//!   a record changes     the sweep follows           it is counted again
//!   ───────────────▶ mark ───────────────▶ dirtyAt, changes + 1 ──────────────▶ counts, counted = changes
//!    (one update)       of each of its counts
//! ```
//!
//! 1. The update that changes a record also sets its mark.
//! 2. The sweep marks all counts as dirty that the change may touch. Then it removes the mark of the record, unless the record
//!    has changed since it was read. A later change keeps the mark.
//! 3. What is dirty is counted again. The counts are written, guarded by a lower `counted`, and they stay dirty if
//!    `changes` has risen since it was read. The read of the records follows that of `changes`, which follows the change of the
//!    record; so the counts include each change that led to the `changes` that was read.
//!
//! A pass of the sweep follows up to [`ROUNDS`] lists of records. A gateway counts beside its sweeps
//! ([`Room::recount`](super::Room::recount)), because the count of a large category can take minutes. A pass of the counts counts what
//! has been dirty longest first. It begins no further count of a room after [`PASS`], because the counts of other rooms wait for it.
//! A count that fails goes behind the others that are due, so it doesn't keep them waiting if it fails each time.
//!
//! # The mark of a product
//!
//! Facets count the products of a category ([`categories`](super::categories)). Every write that changes what they count
//! sets [`FacetMark`], also the writes of the rooms that have copies in products. The mark remembers the paths that the
//! product may still be counted under, because a write may take it out of categories.

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use crate::{flow::Sweep, graphql::prelude::*, mongo::prelude::*};

/// How often a pass lists records.
pub const ROUNDS: usize = 10;
/// Maximum number of documents that a pass counts.
pub const COUNTED: i64 = 100;
/// A time before all marks.
const FIRST: DateTime = DateTime::from_millis(0);
/// Time after which a pass begins no further count.
pub const PASS: Duration = Duration::from_secs(2);

/// The fields of a record by which counts follow its changes.
pub trait Marked: Stored {
    /// Maximum number of records that one command lists.
    const LISTED: usize;
    /// The field with the time of the mark, and the index that begins with it.
    const MARK: (&'static str, &'static str);

    /// Its `_id`.
    fn key(&self) -> &str;

    /// Guard: the record hasn't changed since it was read. It may hold for other records too, and never again after a
    /// change.
    fn as_read(&self) -> Document;

    /// The stage that removes the mark.
    fn without_mark() -> Document;
}

/// A document of counts. It has the fields `changes`, `counted`, `countedAt` and `dirtyAt`, and an index `dirty` of
/// `dirtyAt`.
pub trait Counts: Stored {
    /// What it counts.
    type Record: Marked;

    /// Its `_id`.
    fn key(&self) -> &str;

    /// Rises with each change that is to be counted.
    fn changes(&self) -> i64;

    /// The keys of the counts that the changes of these records may touch.
    fn touched(records: &[Self::Record]) -> BTreeSet<&str>;

    /// Counts again, and returns whether the counts were written. They aren't if another caller wrote newer ones.
    ///
    /// # Errors
    /// The read or the write failed.
    fn recount(&self, app: &App) -> impl Future<Output = Result<bool>> + Send;
}

/// Marks the counts of changed records as dirty, and removes the marks of the records. `what` names the records in the log.
pub async fn follow<C: Counts>(app: &App, sweep: &mut Sweep, what: &str) {
    let followed = follow_all::<C>(app, sweep).await;
    sweep.count(what, followed);
}

async fn follow_all<C: Counts>(app: &App, sweep: &mut Sweep) -> Result<u64> {
    let (mut followed, mut from) = (0, FIRST);
    for _ in 0..ROUNDS {
        let page = list_marked::<C::Record>(app, from).await?;
        let is_full = page.len() >= C::Record::LISTED;
        let (marked, unreadable_until) = sweep.readable(page);
        if marked.is_empty() {
            // The marks of records that can't be read stay.
            let Some(next) = unreadable_until.filter(|next| *next > from) else { break };
            from = next;
            continue;
        }
        let attempt = app.begin().await?;
        // Another gateway may insert the same document at the same time. Then the next pass goes on.
        if !mark::<C>(app, C::touched(&marked)).await? {
            break;
        }
        settle(app, &marked, &attempt).await?;
        followed += u64::try_from(marked.len()).unwrap_or(u64::MAX);
        if !is_full {
            break;
        }
    }
    Ok(followed)
}

/// Counts what has been dirty since before a time. What can't be counted stays dirty, but behind the rest.
pub async fn recount<C: Counts>(app: &App, sweep: &mut Sweep, before: DateTime) {
    let (read_since, mut from) = (Instant::now(), FIRST);
    let dirty = loop {
        let all = app.collection::<C>();
        let page = match all.list_between(("dirtyAt", "dirty"), from, before, COUNTED).await {
            Ok(page) => page,
            Err(error) => return sweep.note("list", Err(error)),
        };
        let (dirty, unreadable_until) = sweep.readable(page);
        // Records that can't be read stay at the front, so the next page begins behind them.
        match unreadable_until.filter(|next| dirty.is_empty() && *next > from) {
            Some(next) if read_since.elapsed() < PASS => from = next,
            _ => break dirty,
        }
    };
    let since = Instant::now();
    for counts in dirty {
        // The counts of other rooms wait for these, so the rest is left to the next pass.
        if since.elapsed() > PASS {
            return;
        }
        let counted = counts.recount(app).await;
        let has_failed = counted.is_err();
        sweep.add(counts.key(), counted);
        if has_failed {
            let postponed = postpone(app, &counts, before).await;
            sweep.note(&format!("postpone {}", counts.key()), postponed.map(|_is_due| ()));
        }
    }
}

/// Puts counts behind all that have been dirty since before a time, if they are still among these. They stay dirty, and the next
/// pass finds them.
async fn postpone<C: Counts>(app: &App, counts: &C, before: DateTime) -> Result<bool> {
    let is_due = doc! { "_id": counts.key(), "dirtyAt": { "$lt": before } };
    app.collection::<C>()
        .set(is_due, doc! { "dirtyAt": { "$min": [before, "$$NOW"] } })
        .held()
        .await
}

/// All documents of counts.
///
/// # Errors
/// The read failed.
pub async fn list_all<C: Counts>(app: &App) -> Result<Vec<C>> {
    let mut found = Vec::new();
    app.collection().for_each(|counts| found.push(counts)).await?;
    Ok(found)
}

/// Records with a mark from `from` on, those that have waited longest first.
async fn list_marked<T: Marked>(app: &App, from: DateTime) -> Result<SweptPage<T>> {
    let limit = i64::try_from(T::LISTED).unwrap_or(i64::MAX);
    app.collection().list_between(T::MARK, from, DateTime::MAX, limit).await
}

/// Marks counts as dirty. Returns `false` if another caller inserted one of them at the same time; then some may not be marked.
async fn mark<C: Counts>(app: &App, touched: BTreeSet<&str>) -> Result<bool> {
    let marked = |key: &str| {
        let next = doc! { "$add": [{ "$ifNull": ["$changes", 0_i64] }, 1_i64] };
        let set = doc! {
            "changes": { "$max": [next, { "$toLong": "$$NOW" }] },
            "dirtyAt": { "$ifNull": ["$dirtyAt", "$$NOW"] },
            "v": 1,
        };
        (doc! { "_id": key }, vec![doc! { "$set": set }])
    };
    let updates = touched.into_iter().map(marked).collect();
    Ok(app.collection::<C>().upsert_each(updates).await?.is_empty())
}

/// Counts again in any case, for a repair. Returns `false` if the counts were removed at the same time.
///
/// # Errors
/// A read or a write failed.
pub async fn count_anew<C: Counts>(app: &App, key: &str) -> Result<bool> {
    mark::<C>(app, BTreeSet::from([key])).await?;
    let Some(counts) = app.collection::<C>().get(key).await? else { return Ok(false) };
    counts.recount(app).await?;
    Ok(true)
}

/// Removes the marks of records that haven't changed since they were read. Records with the same guard are one update.
async fn settle<T: Marked>(app: &App, read: &[T], attempt: &Attempt) -> Result<()> {
    let mut groups: HashMap<String, (Document, Vec<&str>)> = HashMap::new();
    for record in read {
        let guard = record.as_read();
        let group = groups.entry(guard.to_string()).or_insert_with(|| (guard, Vec::new()));
        group.1.push(record.key());
    }
    let (mut alone, records) = (Vec::new(), app.collection::<T>());
    for (guard, keys) in groups.into_values() {
        if let [key] = keys.as_slice() {
            alone.push((both(doc! { "_id": *key }, guard), vec![T::without_mark()]));
            continue;
        }
        let unchanged = both(doc! { "_id": { "$in": keys } }, guard);
        let filter = both(unchanged, attempt.alive());
        records.update_many(filter, vec![T::without_mark()]).await?;
    }
    records.update_each(alone, attempt).await.map(|_all_held| ())
}

/// Writes counts that include the `changes` that was read before them, unless newer ones were written. `counts` are the
/// fields to set; without them the document is removed, unless something has changed since it was read. Returns whether it
/// was written or removed.
///
/// # Errors
/// The write failed.
pub async fn write<C: Counts>(app: &App, read: &C, counts: Option<Document>) -> Result<bool> {
    let (key, changes) = (read.key(), read.changes());
    let Some(mut set) = counts else {
        let unchanged = doc! { "_id": key, "changes": changes };
        return Ok(app.collection::<C>().remove(unchanged).await.decided()?.is_some());
    };
    let is_newest = doc! { "$eq": ["$changes", changes] };
    set.extend(doc! {
        "counted": changes,
        "countedAt": "$$NOW",
        "dirtyAt": choose(is_newest, "$$REMOVE", "$dirtyAt"),
    });
    let guard = doc! { "_id": key, "counted": { "$not": { "$gte": changes } } };
    app.collection::<C>().set(guard, set).held().await
}

/// Those of the counts that are wrong, each with its recount, from which it differed. The others have changed meanwhile, or
/// a record that they count is marked. If there may be more records with a mark, or one can't be read, none is returned: the next
/// check compares.
///
/// # Errors
/// A read failed.
pub async fn wrong<C: Counts, R>(app: &App, different: Vec<(C, R)>) -> Result<Vec<(C, R)>> {
    if different.is_empty() {
        return Ok(different);
    }
    let marked = list_marked::<C::Record>(app, FIRST).await?;
    let is_full = marked.len() >= C::Record::LISTED;
    let marked: Option<Vec<_>> = marked.into_iter().map(|one| one.document).collect();
    let Some(marked) = marked.filter(|_| !is_full) else { return Ok(Vec::new()) };
    let pending = C::touched(&marked);
    let now = list_all::<C>(app).await?.into_iter();
    let now: HashMap<String, i64> = now.map(|one| (one.key().to_owned(), one.changes())).collect();
    let is_wrong = |(counts, _): &(C, R)| {
        let is_same = now.get(counts.key()) == Some(&counts.changes());
        is_same && !pending.contains(counts.key())
    };
    Ok(different.into_iter().filter(is_wrong).collect())
}

document! {
    /// The mark of a product whose last changes the facets of its categories haven't followed.
    #[derive(PartialEq, Eq)]
    pub struct FacetMark {
        /// Rises with each change. Only a caller that read the last one may remove the mark.
        pub changes: i64,
        /// Server time of the last change; absent once it was followed.
        pub at?: DateTime,
        /// Paths of the categories that contained the product before the changes that weren't followed.
        #[serde(default)]
        pub left: Vec<String>,
    }
}

impl FacetMark {
    /// The mark of a new product.
    pub fn new(now: DateTime) -> Self {
        Self { changes: 1, at: Some(now), left: Vec::new() }
    }
}

/// Expression of the field `facets` of a product, in an update that changes what facets count if `is_other` (an expression)
/// holds. Both are evaluated before the change. The product keeps the mark that it has if nothing counted changes, or if it
/// has no categories and so isn't counted; with `begins` the update puts it into categories. A product that never had a mark
/// was stored by a version without facets, and gets one in any case.
pub fn changed(begins: bool, is_other: impl Into<Bson>) -> Bson {
    let left = doc! { "$reduce": {
        "input": array("categories.within"),
        "initialValue": array("facets.left"),
        "in": { "$setUnion": ["$$value", "$$this"] },
    } };
    let changes = doc! { "$add": [{ "$ifNull": ["$facets.changes", 0_i64] }, 1_i64] };
    let mark = whole(doc! { "changes": changes, "at": "$$NOW", "left": left });
    let (is_new, is_other): (_, Bson) = (is_missing("facets.changes"), is_other.into());
    let mut all = vec![Bson::from(doc! { "$or": [is_new, is_other] })];
    if !begins {
        all.push(doc! { "$ne": [array("categories"), []] }.into());
    }
    choose(doc! { "$and": all }, mark, "$facets")
}

/// Expression: an array has other values of a field than these, or in another order. It is evaluated before the change.
pub fn has_others(list: &str, field: &str, values: Vec<&str>) -> Document {
    let values: Vec<Bson> = values.into_iter().map(Bson::from).collect();
    doc! { "$ne": [map(array(list), format!("$$this.{field}")), literal(values)] }
}
