//! Gives up what stalled, ends deletions, and removes the blobs that are due and those that nothing names.

use std::{ops::Range, time::Duration};

use mongodb::bson::{DateTime, oid::ObjectId};

use super::{
    operations::{bury, dispose, let_go},
    store,
};
use crate::{
    app::App,
    error::Error,
    mongo::{Bounds, Tally, lease::Lease},
};

/// How many of a kind one sweep takes on.
const MOST: i64 = 100;
/// Blobs that are looked at together.
const PAGE: usize = 500;
/// Name of the lease under which blobs are looked at. It isn't given back: it says how often, and from
/// where on.
const LOOK: &str = "assets.blobs";

/// Ends what nothing touched for long; answers how much that was.
///
/// # Errors
/// `Unavailable` or `Internal`; what is left is tried again.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let now = app.begin().await?.now();
    let done = [
        stalled(app, now).await,
        left_behind(app, now).await,
        stones(app, now).await,
        due(app, now).await,
        unnamed(app, now).await,
    ];
    done.into_iter().sum()
}

fn stall_millis(app: &App) -> i64 {
    i64::try_from(app.config().asset_stall_seconds).unwrap_or(i64::MAX).saturating_mul(1_000)
}

fn before(now: DateTime, millis: i64) -> DateTime {
    DateTime::from_millis(now.timestamp_millis().saturating_sub(millis))
}

/// Uploads without a sign of life.
async fn stalled(app: &App, now: DateTime) -> Result<u64, Error> {
    let millis = stall_millis(app);
    let mut tally = Tally::default();
    for asset in store::list_stalled(app, before(now, millis), MOST).await? {
        let Some(upload) = &asset.upload else { continue };
        let given_up = async {
            let abandoned = store::abandon(app, &asset.id, &upload.token, Some(millis)).await;
            match abandoned.decided()? {
                Some(asset) => dispose(app, &asset).await.map(|()| true),
                None => Ok(false),
            }
        };
        tally.add(&asset.id, given_up.await);
    }
    tally.finished()
}

/// Decisions whose gives were cut, and deletions that nobody can come behind any more.
async fn left_behind(app: &App, now: DateTime) -> Result<u64, Error> {
    let quiet = before(now, app.bounds().quiet_millis());
    let mut tally = Tally::default();
    for field in ["outbox.at", "deleting"] {
        for asset in store::list_left_behind(app, field, quiet, MOST).await? {
            let ended = async {
                dispose(app, &asset).await?;
                if field == "deleting" && asset.deleted_at.is_some() {
                    bury(app, &asset).await?;
                }
                Ok(true)
            };
            tally.add(&asset.id, ended.await);
        }
    }
    tally.finished()
}

/// Deletions whose ops are forgotten.
async fn stones(app: &App, now: DateTime) -> Result<u64, Error> {
    let ops = i64::try_from(app.bounds().ops.as_millis()).unwrap_or(i64::MAX);
    store::remove_stones(app, before(now, ops)).await
}

/// Blobs that were let go so long ago that no download of them can be under way.
async fn due(app: &App, now: DateTime) -> Result<u64, Error> {
    let mut tally = Tally::default();
    for blob in store::list_due_blobs(app, now, MOST).await? {
        let removed = async {
            store::chunks(app).remove(blob.id).await?;
            // The chunks first: as long as this is there the removal is found again.
            Ok(store::remove_blob(app, blob.id).await.decided()?.is_some())
        };
        tally.add(&blob.id.to_hex(), removed.await);
    }
    tally.finished()
}

/// Looks at the blobs that may have come since the last look, by one gateway and once in the time after
/// which an upload is given up.
async fn unnamed(app: &App, now: DateTime) -> Result<u64, Error> {
    let stall = Duration::from_secs(app.config().asset_stall_seconds);
    let run = app.begin().await?;
    let pause = Bounds { run: stall, ..app.bounds() };
    let holder = app.name().to_owned();
    let lease = Lease::take(app.collection(), LOOK, holder, &run, pause).await?;
    let Some(lease) = lease else { return Ok(0) };
    let young = before(now, stall_millis(app));
    // A blob's id tells when its upload began; so long after it nothing is written any more.
    let longest = stall + Duration::from_secs(app.config().asset_transfer_seconds);
    let longest = i64::try_from((longest + app.bounds().one()).as_millis()).unwrap_or(i64::MAX);
    let from = lease.done().map_or(OLDEST, |done| first_id(before(done, longest)));
    let ids = from..first_id(young);
    let mut tally = Tally::default();
    for blob in nameless_chunks(app, ids.clone()).await? {
        tally.add(&blob.to_hex(), remove(app, blob).await);
    }
    for blob in nameless_files(app, ids).await? {
        tally.add(&blob.to_hex(), let_go(app, blob).await);
    }
    let swept = tally.finished()?;
    // Refused: a look that took so long that another one has begun.
    lease.note_done(now).await.decided()?;
    Ok(swept)
}

/// Below all ids.
const OLDEST: ObjectId = ObjectId::from_bytes([0; 12]);
/// Above all ids.
const NEWEST: ObjectId = ObjectId::from_bytes([0xff; 12]);

/// All blobs.
pub(super) fn all() -> Range<ObjectId> {
    OLDEST..NEWEST
}

/// Below the ids of all blobs whose upload began then or later.
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

/// Blobs with a document that no asset names and that weren't let go. An empty file has no chunks.
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

/// Those that no asset names. They are looked for in the order in which a blob moves.
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

/// Chunks without a file go; a file that nothing names is let go, for somebody may be reading it.
async fn remove(app: &App, blob: ObjectId) -> Result<bool, Error> {
    if store::find_blob(app, blob).await?.is_some() {
        return let_go(app, blob).await;
    }
    Ok(store::chunks(app).remove(blob).await? > 0)
}
