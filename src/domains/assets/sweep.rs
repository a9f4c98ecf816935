//! Gives up what stalled, and removes the blobs that are due and those that nothing names.

use std::time::Duration;

use mongodb::bson::{DateTime, oid::ObjectId};

use super::{
    operations::{dispose, let_go},
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
/// Name of the lease under which all blobs are looked at. It isn't given back: it says how often.
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

/// Decisions whose gives were cut.
async fn left_behind(app: &App, now: DateTime) -> Result<u64, Error> {
    let quiet = before(now, app.bounds().quiet_millis());
    let mut tally = Tally::default();
    for field in ["outbox.at", "deleting"] {
        for asset in store::list_left_behind(app, field, quiet, MOST).await? {
            tally.add(&asset.id, dispose(app, &asset).await.map(|()| true));
        }
    }
    tally.finished()
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

/// Looks at all blobs, by one gateway and once in the time after which an upload is given up.
async fn unnamed(app: &App, now: DateTime) -> Result<u64, Error> {
    let stall = Duration::from_secs(app.config().asset_stall_seconds);
    let run = app.begin().await?;
    let pause = Bounds { run: stall, ..app.bounds() };
    let holder = app.name().to_owned();
    if Lease::take(app.collection(), LOOK, holder, &run, pause).await?.is_none() {
        return Ok(0);
    }
    let young = before(now, stall_millis(app));
    let mut tally = Tally::default();
    let mut after = None;
    loop {
        let page = store::chunks(app).files(after, PAGE).await?;
        for blob in nameless(app, &page, young).await? {
            tally.add(&blob.to_hex(), remove(app, blob).await);
        }
        after = page.last().copied();
        if page.len() < PAGE {
            break;
        }
    }
    // An empty file has no chunks.
    after = None;
    loop {
        let page = store::blob_ids(app, after, i64::try_from(PAGE).unwrap_or(0)).await?;
        let kept: Vec<_> = page.iter().filter(|(_, gone)| !gone).map(|(id, _)| *id).collect();
        for blob in nameless(app, &kept, young).await? {
            tally.add(&blob.to_hex(), let_go(app, blob).await);
        }
        after = page.last().map(|(id, _)| *id);
        if page.len() < PAGE {
            break;
        }
    }
    tally.finished()
}

/// Those that no asset names, of those that aren't young. They are looked for in the order in which a
/// blob moves.
pub(super) async fn nameless(
    app: &App,
    blobs: &[ObjectId],
    young: DateTime,
) -> Result<Vec<ObjectId>, Error> {
    let old = blobs.iter().copied().filter(|blob| blob.timestamp() < young);
    let mut left: Vec<_> = old.collect();
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
