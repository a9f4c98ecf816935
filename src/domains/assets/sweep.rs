//! Sweep of assets: aborts stalled uploads, finishes deletions, and removes retired blobs and blobs that no
//! asset names.

use std::{ops::Range, time::Duration};

use mongodb::bson::{DateTime, oid::ObjectId};

use super::{
    documents::{AssetDocument, BlobDocument},
    operations::{bury, dispose, let_go},
    store,
};
use crate::{
    app::App,
    error::Error,
    flow::{Bounds, Sweep, lease::Lease},
};

/// Maximum number of each kind per sweep.
const MOST: i64 = 100;
/// Blobs that are examined together.
const PAGE: usize = 500;
/// Name of the lease for the search for unnamed blobs. It isn't released: it determines how often the search
/// runs and where it starts.
const LOOK: &str = "assets.blobs";

/// Finishes interrupted uploads and deletions, and removes files that nothing uses any more.
pub async fn sweep(app: &App, sweep: &mut Sweep) {
    let id = |asset: &AssetDocument| asset.id.clone();
    // Uploads that haven't been renewed for too long.
    let millis = stall_millis(app);
    let stalled = store::list_stalled(app, before(sweep.now(), millis), MOST).await;
    let abort = |asset: AssetDocument| async move {
        let Some(upload) = &asset.upload else { return Ok(false) };
        let abandoned = store::abandon(app, &asset.id, &upload.token, Some(millis)).await;
        match abandoned.decided()? {
            Some(asset) => dispose(app, &asset).await.map(|()| true),
            None => Ok(false),
        }
    };
    sweep.each(stalled, id, abort).await;

    // Interrupted removals of blobs, and deletions into which no attempt can still write.
    for field in ["outbox.at", "deleting"] {
        let left = store::list_left_behind(app, field, sweep.quiet(), MOST).await;
        let finish = |asset: AssetDocument| async move {
            dispose(app, &asset).await?;
            if field == "deleting" && asset.deleted_at.is_some() {
                bury(app, &asset).await?;
            }
            Ok(true)
        };
        sweep.each(left, id, finish).await;
    }

    // Tombstones of deletions whose ops aren't remembered any more.
    let stones = store::remove_stones(app, sweep.forgotten()).await;
    sweep.count("tombstones", stones);

    // Retired blobs that no download can still be reading.
    let due = store::list_due_blobs(app, sweep.now(), MOST).await;
    let remove = |blob: BlobDocument| async move {
        // Chunks first: as long as the document exists, an interrupted removal is found again.
        store::chunks(app).remove(blob.id).await?;
        Ok(store::remove_blob(app, blob.id).await.decided()?.is_some())
    };
    sweep.each(due, |blob| blob.id.to_hex(), remove).await;

    let unnamed = sweep_unnamed(app, sweep).await;
    sweep.note("unnamed blobs", unnamed);
}

fn stall_millis(app: &App) -> i64 {
    i64::try_from(app.config().asset_stall_seconds).unwrap_or(i64::MAX).saturating_mul(1_000)
}

fn before(now: DateTime, millis: i64) -> DateTime {
    DateTime::from_millis(now.timestamp_millis().saturating_sub(millis))
}

/// Searches the blobs that may have been added since the last search. One gateway does so, once per
/// `asset_stall_seconds`.
async fn sweep_unnamed(app: &App, sweep: &mut Sweep) -> Result<(), Error> {
    let now = sweep.now();
    let stall = Duration::from_secs(app.config().asset_stall_seconds);
    let attempt = app.begin().await?;
    let pause = Bounds { attempt: stall, ..app.bounds() };
    let holder = app.name().to_owned();
    let lease = Lease::take(app.collection(), LOOK, holder, &attempt, pause).await?;
    let Some(lease) = lease else { return Ok(()) };
    let young = before(now, stall_millis(app));
    // A blob's id contains the start of its upload; nothing is written later than this after it.
    let longest = stall + Duration::from_secs(app.config().asset_transfer_seconds);
    let longest =
        i64::try_from((longest + app.bounds().grace_period()).as_millis()).unwrap_or(i64::MAX);
    let from = lease.done().map_or(OLDEST, |done| first_id(before(done, longest)));
    let ids = from..first_id(young);
    let hex = |blob: &ObjectId| blob.to_hex();
    let mut search = Sweep::begin(&attempt, app.bounds());
    let chunks = nameless_chunks(app, ids.clone()).await;
    search.each(chunks, hex, |blob| async move { remove(app, blob).await }).await;
    let files = nameless_files(app, ids).await;
    search.each(files, hex, |blob| async move { let_go(app, blob).await }).await;
    sweep.count("unnamed blobs", Ok(search.finished()?));
    // A refusal means that this search took so long that another one has begun.
    lease.note_done(now).await.decided()?;
    Ok(())
}

/// Lower than all ids.
const OLDEST: ObjectId = ObjectId::from_bytes([0; 12]);
/// Higher than all ids.
const NEWEST: ObjectId = ObjectId::from_bytes([0xff; 12]);

/// The range of all blobs.
pub(super) fn all() -> Range<ObjectId> {
    OLDEST..NEWEST
}

/// A lower bound of the ids of blobs whose upload began at that time or later.
fn first_id(moment: DateTime) -> ObjectId {
    let seconds = u32::try_from(moment.timestamp_millis() / 1_000).unwrap_or(0);
    ObjectId::from_parts(seconds, [0; 5], [0; 3])
}

/// Blobs with chunks that no asset names.
pub(super) async fn nameless_chunks(
    app: &App,
    ids: Range<ObjectId>,
) -> Result<Vec<ObjectId>, Error> {
    let mut found = Vec::new();
    for page in store::chunks(app).files(ids).await?.chunks(PAGE) {
        found.extend(nameless(app, page).await?);
    }
    Ok(found)
}

/// Blobs with a document that no asset names and that aren't retired. An empty file has no chunks.
pub(super) async fn nameless_files(
    app: &App,
    mut ids: Range<ObjectId>,
) -> Result<Vec<ObjectId>, Error> {
    let mut found = Vec::new();
    loop {
        let page = store::blob_ids(app, ids.clone(), i64::try_from(PAGE).unwrap_or(0)).await?;
        let kept: Vec<_> = page.iter().filter(|(_, gone)| !gone).map(|(id, _)| *id).collect();
        found.extend(nameless(app, &kept).await?);
        match page.last() {
            Some((last, _)) if page.len() == PAGE => ids.start = *last,
            _ => return Ok(found),
        }
    }
}

/// The blobs that no asset names. The fields are read in the order in which a blob moves through them.
async fn nameless(app: &App, blobs: &[ObjectId]) -> Result<Vec<ObjectId>, Error> {
    let mut left = blobs.to_vec();
    for field in ["upload", "file", "outbox"] {
        if left.is_empty() {
            break;
        }
        let named = store::list_named(app, field, &left).await?;
        left.retain(|blob| !named.contains(blob));
    }
    Ok(left)
}

/// Removes chunks without a file; retires a file that no asset names, since it may still be downloaded.
async fn remove(app: &App, blob: ObjectId) -> Result<bool, Error> {
    if store::find_blob(app, blob).await?.is_some() {
        return let_go(app, blob).await;
    }
    Ok(store::chunks(app).remove(blob).await? > 0)
}
