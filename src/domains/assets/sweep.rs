//! Sweep of assets: aborts stalled uploads, finishes deletions, and removes retired blobs and blobs that no
//! asset names.

use std::{ops::Range, time::Duration};

use mongodb::bson::{DateTime, oid::ObjectId};

use super::{
    documents::{AssetDocument, BlobDocument, BlobHead},
    operations::{discard, dispose},
    store::{self, assets, blobs},
};
use crate::{
    app::App,
    domains::comments,
    error::Result,
    flow::{Bounds, Sweep, earlier, lease::Lease},
};

/// Number of documents of one kind that one command reads.
const MAX: i64 = 100;
/// Blobs that are examined together.
const PAGE: usize = 500;
/// Name of the lease for the search for unnamed blobs. It isn't released: it determines how often the search
/// runs and where it starts.
const SEARCH: &str = "assets.blobs";

/// Finishes interrupted uploads and deletions, and removes files that nothing uses any more.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    // Uploads that haven't been renewed for too long.
    let (stall, by) = (stall(app), ("upload.at", "upload_at"));
    let stalled_before = sweep.earlier(stall);
    let stalled = |from, limit| assets(app).list_between(by, from, stalled_before, limit);
    let abort = |asset: AssetDocument| async move {
        let Some(upload) = &asset.upload else { return Ok(false) };
        let abort = store::abort(app, &asset.id, &upload.token, Some(stall));
        match abort.after().await? {
            Some(asset) => dispose(app, &asset).await.map(|()| true),
            None => Ok(false),
        }
    };
    sweep.each_page("uploads", MAX, stalled, abort).await;

    sweep_left(app, sweep).await;

    // Tombstones of deletions whose ops aren't remembered any more.
    sweep.count("tombstones", store::remove_tombstones(app, sweep.ops_expired_before()).await);

    // Retired blobs that no download can still be reading.
    let (by, now) = (("metadata.removeAfter", "removeAfter"), sweep.now());
    let retired = |from, limit| blobs(app).list_between(by, from, now, limit);
    let remove = |blob: BlobDocument| async move { discard(app, blob.id).await };
    sweep.each_page("retired blobs", MAX, retired, remove).await;

    let unnamed = sweep_unnamed(app, sweep).await;
    sweep.note("unnamed blobs", unnamed);
}

/// Finishes interrupted removals of blobs, and deletions into which no attempt can still write.
async fn sweep_left(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let by = ("outbox.at", "outbox_at");
    let owing = |from, limit| assets(app).list_elements_between(by, from, before, limit);
    let finish = |asset: AssetDocument| async move { dispose(app, &asset).await.map(|()| true) };
    sweep.each_page("removals of blobs", MAX, owing, finish).await;

    let by = ("deleting", "deleting");
    let deleting = |from, limit| assets(app).list_between(by, from, before, limit);
    let finish = |asset: AssetDocument| async move {
        dispose(app, &asset).await?;
        if asset.deleted_at.is_some() {
            if let Some(discussion) = &asset.discussion {
                comments::operations::forget(app, &discussion.id).await?;
            }
            store::settle_deletion(app, &asset.id).held().await?;
        }
        Ok(true)
    };
    sweep.each_page("deletions", MAX, deleting, finish).await;
}

fn stall(app: &App) -> Duration {
    Duration::from_secs(app.config().asset_stall_seconds)
}

/// Searches the blobs that may have been added since the last search. One gateway does so, once per
/// `asset_stall_seconds`.
async fn sweep_unnamed(app: &App, sweep: &mut Sweep) -> Result<()> {
    let (attempt, stall, holder) = (app.begin().await?, stall(app), app.name().to_owned());
    let pause = Bounds { attempt: stall, ..app.bounds() };
    let lease = Lease::acquire(app.collection(), SEARCH, holder, &attempt, pause).await?;
    let Some(lease) = lease else { return Ok(()) };
    // A blob's id contains the start of its upload; nothing is written later than this after it.
    let transfer = Duration::from_secs(app.config().asset_transfer_seconds);
    let longest = stall + transfer + app.bounds().grace_period();
    let from = lease.done().map_or(OLDEST, |done| first_id(earlier(done, longest)));
    let ids = from..first_id(sweep.earlier(stall));
    let hex = |blob: &ObjectId| blob.to_hex();
    let mut search = Sweep::begin(&attempt, app.bounds());
    let chunks = unnamed_chunks(app, ids.clone()).await;
    search.each(chunks, hex, |blob| async move { remove(app, blob).await }).await;
    let files = unnamed_files(app, ids).await;
    search.each(files, hex, |blob| async move { store::retire(app, blob).await }).await;
    sweep.count("unnamed blobs", Ok(search.finished()?));
    // A refusal means that this search took so long that another one has begun.
    lease.note_done(sweep.now()).await.decided()?;
    Ok(())
}

/// Lower than all ids.
const OLDEST: ObjectId = ObjectId::from_bytes([0; 12]);
/// The ids of all blobs.
pub(super) const ALL: Range<ObjectId> = OLDEST..ObjectId::from_bytes([0xff; 12]);

/// The ids of blobs that are named by now if their upload was finished, or their rendition.
pub(super) async fn settled(app: &App) -> Result<Range<ObjectId>> {
    let now = app.begin().await?.now();
    Ok(OLDEST..first_id(earlier(now, stall(app))))
}

/// A lower bound of the ids of blobs whose upload began at that time or later.
fn first_id(moment: DateTime) -> ObjectId {
    let seconds = u32::try_from(moment.timestamp_millis() / 1_000).unwrap_or(0);
    ObjectId::from_parts(seconds, [0; 5], [0; 3])
}

/// Blobs with chunks that no asset names.
pub(super) async fn unnamed_chunks(app: &App, ids: Range<ObjectId>) -> Result<Vec<ObjectId>> {
    let mut found = Vec::new();
    for page in store::chunks(app).files(ids).await?.chunks(PAGE) {
        found.extend(unnamed(app, page.to_vec()).await?);
    }
    Ok(found)
}

/// Blobs with a document that no asset names and that aren't retired. An empty file has no chunks.
pub(super) async fn unnamed_files(app: &App, mut ids: Range<ObjectId>) -> Result<Vec<ObjectId>> {
    let mut found = Vec::new();
    loop {
        let page = store::list_blobs(app, ids.clone(), i64::try_from(PAGE).unwrap_or(0)).await?;
        let is_retired = |blob: &BlobHead| {
            blob.metadata.as_ref().is_some_and(|metadata| metadata.remove_after.is_some())
        };
        let kept = page.iter().filter(|blob| !is_retired(blob));
        found.extend(unnamed(app, kept.map(|blob| blob.id).collect()).await?);
        match page.last() {
            Some(last) if page.len() == PAGE => ids.start = last.id,
            _ => return Ok(found),
        }
    }
}

/// The blobs that no asset names. The fields are read in the order in which a blob moves through them.
async fn unnamed(app: &App, mut blobs: Vec<ObjectId>) -> Result<Vec<ObjectId>> {
    for field in ["upload", "file", "file.renditions", "outbox"] {
        if !blobs.is_empty() {
            let named = store::list_named(app, field, &blobs).await?;
            blobs.retain(|blob| !named.contains(blob));
        }
    }
    Ok(blobs)
}

/// Removes chunks without a file; retires a file that no asset names, since it may still be downloaded.
async fn remove(app: &App, blob: ObjectId) -> Result<bool> {
    if store::has_document(app, blob).await? {
        return store::retire(app, blob).await;
    }
    Ok(store::chunks(app).remove(blob).await? > 0)
}
