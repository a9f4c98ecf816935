//! Pictures in smaller sizes. A rendition is made at the first request for it. From then on the asset names it.
//!
//! The blob of a rendition is written and committed within one attempt. Until the commit no asset names the blob. So
//! the search for unnamed blobs leaves blobs alone whose id is younger than `asset_stall_seconds`. Of two attempts, the
//! first one that commits keeps its blob. The other one removes its own.

use std::{collections::VecDeque, sync::Mutex};

use futures_util::TryStreamExt;
use mongodb::bson::{DateTime, oid::ObjectId};

use super::{
    super::{
        documents::{AssetDocument, FileFacts, Rendition},
        store,
        view::{FileView, PictureView, StoredPicture},
    },
    blobs::{self, discard_uncommitted, new_blob},
    changes::settle,
    pictures::{Smaller, format_of, smaller},
};
use crate::{
    config::Config,
    domains::audiences::may_see,
    graphql::prelude::*,
    locks::lock,
    mongo::{Parts, collection::Timed},
};

/// Maximum size of a file that is made smaller, in bytes: it is held in memory.
const LARGEST: i64 = 64 << 20;

/// What is sent for a file at a width.
#[derive(Debug)]
pub enum AtWidth {
    /// This file: a rendition, or the file itself if it has no smaller one.
    Ready(Box<FileFacts>),
    /// A rendition that has to be made for a width; see [`render`].
    Missing {
        /// The width.
        width: i64,
        /// Number of pixels of the picture.
        pixels: u32,
    },
    /// The picture is too large to be made smaller, or was found to be damaged.
    Never,
}

/// Files that were found not to be pictures that can be decoded, as their blobs, which never change. A request for one isn't
/// decoded again, as long as the gateway remembers it.
#[derive(Default)]
struct Unreadable(Mutex<VecDeque<ObjectId>>);

/// Maximum number of files that are remembered: the latest ones.
const REMEMBERED: usize = 1_024;

impl Unreadable {
    fn has(&self, blob: ObjectId) -> bool {
        lock(&self.0).contains(&blob)
    }

    fn add(&self, blob: ObjectId) {
        let mut all = lock(&self.0);
        if !all.contains(&blob) {
            all.push_back(blob);
            if all.len() > REMEMBERED {
                all.pop_front();
            }
        }
    }
}

/// Why a rendition wasn't made.
#[derive(Debug)]
pub enum NotRendered {
    /// The file isn't a picture that can be decoded, or has too many pixels.
    Unreadable,
    /// Another error, such as an unknown outcome.
    Failed(Error),
}

impl From<Error> for NotRendered {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// An asset that is a picture whose size is known.
#[derive(Debug)]
pub struct Picture<'a> {
    asset: Pictured<'a>,
    /// Length of the file in bytes.
    length: i64,
    /// Width of the file in pixels.
    pub width: i64,
    /// Height of the file in pixels.
    pub height: i64,
}

/// What holds the texts of a picture. A list has many pictures, so they aren't copied.
#[derive(Debug)]
enum Pictured<'a> {
    /// The stored fields that an image needs.
    Stored(StoredPicture),
    /// A whole asset.
    Whole(&'a AssetDocument),
}

impl<'a> Picture<'a> {
    /// An asset as a picture, if it is one whose size is known.
    pub fn of(asset: &'a AssetDocument) -> Option<Self> {
        let FileFacts { length, width, height, .. } = asset.file.as_ref()?;
        let asset = Pictured::Whole(asset);
        Some(Self { asset, length: *length, width: (*width)?, height: (*height)? })
    }

    /// The path of the asset, and the media type of its file.
    fn texts(&self) -> (&str, &str) {
        match &self.asset {
            Pictured::Stored(stored) => {
                let PictureView { metadata, file, .. } = stored.get();
                (metadata.path, file.as_ref().map_or("", |file| file.media_type))
            }
            Pictured::Whole(asset) => {
                let media_type = asset.file.as_ref().map_or("", |file| &file.media_type);
                (&asset.metadata.path, media_type)
            }
        }
    }

    /// The path of the file as a URL, at a width if that is given.
    pub fn url(&self, config: &Config, width: Option<i64>) -> String {
        let (path, media_type) = self.texts();
        let pixels = u64::try_from(self.width.saturating_mul(self.height)).unwrap_or(u64::MAX);
        let width = width
            .filter(|_| pixels <= config.asset_pixels && self.length <= LARGEST)
            .and_then(|wanted| width_for(config, media_type, self.width, wanted));
        width.map_or_else(|| format!("/assets{path}"), |width| format!("/assets{path}?w={width}"))
    }
}

/// The pictures of several documents, which were read together.
#[derive(Debug)]
pub struct Pictures(Parts<StoredPicture>);

/// Reads the assets with these `_id`s together, for [`picture`]. `None` if each has to be read with the server's time.
///
/// # Errors
/// As [`Parts`] has them.
pub async fn pictures(cx: Cx<'_>, ids: Vec<&str>) -> Result<Option<Pictures>> {
    if cx.reached().is_none() {
        return Ok(None);
    }
    Ok(Some(Pictures(store::find_pictures(&cx, ids).await?)))
}

/// The asset with this `_id` as a picture, if it is one whose size is known, and the caller may read it. It is read unless
/// it is among those that were read `ahead`.
///
/// # Errors
/// `Unread` or `Internal`.
pub async fn picture(
    cx: Cx<'_>,
    ahead: Option<&Pictures>,
    id: &str,
) -> Result<Option<Picture<'static>>> {
    // Nearly all pictures were published before the last known time of the server. A few fields without the server's time
    // are the cheaper read for MongoDB.
    if let Some(reached) = cx.reached() {
        let found = match ahead.and_then(|Pictures(parts)| parts.get(id)) {
            Some(found) => found?,
            None => store::pictures(&cx).get(id).await?,
        };
        let is_later = |found: &StoredPicture| found.get().published_at > reached;
        if !found.as_ref().is_some_and(is_later) {
            return Ok(found.and_then(|found| seen(cx, found, reached)));
        }
    }
    let found = store::pictures(&cx).get_timed(id).await?;
    Ok(found.and_then(|Timed { now, document }| seen(cx, document, now)))
}

/// An asset that was read as a picture, if it is one whose size is known, and the caller may read it at this time.
fn seen(cx: Cx<'_>, stored: StoredPicture, now: DateTime) -> Option<Picture<'static>> {
    let PictureView { metadata, file, published_at, deleting, .. } = stored.get();
    if deleting.is_some() || !may_see(cx.requester, &metadata.access, *published_at <= now) {
        return None;
    }
    let FileView { length, width, height, .. } = file.as_ref()?;
    let (length, width, height) = (*length, (*width)?, (*height)?);
    Some(Picture { asset: Pictured::Stored(stored), length, width, height })
}

/// The configured width for a wanted one: the next larger one. `None` if the file itself is sent: it isn't larger, no
/// configured width is as large, or its format can't be made smaller.
fn width_for(config: &Config, media_type: &str, own: i64, wanted: i64) -> Option<i64> {
    format_of(media_type)?;
    let widths = config.asset_widths.iter().map(|width| i64::from(*width));
    widths.filter(|width| *width >= wanted).min().filter(|width| *width < own)
}

/// What is sent for a file at a wanted width.
pub fn at_width(app: &App, file: &FileFacts, wanted: i64) -> AtWidth {
    let config = app.config();
    let own = file.width.unwrap_or(0);
    let Some(width) = width_for(config, &file.media_type, own, wanted) else {
        return AtWidth::Ready(Box::new(file.clone()));
    };
    if let Some(made) = find(file, width) {
        return AtWidth::Ready(Box::new(made));
    }
    let is_excluded = file.length > LARGEST || app.shared::<Unreadable>().has(file.blob);
    match pixels_of(file) {
        Some(pixels) if u64::from(pixels) <= config.asset_pixels && !is_excluded => {
            AtWidth::Missing { width, pixels }
        }
        _ => AtWidth::Never,
    }
}

/// Number of pixels of a picture, as its head says. `None` if there are more than any configuration permits.
fn pixels_of(file: &FileFacts) -> Option<u32> {
    let pixels = file.width.unwrap_or(0).checked_mul(file.height.unwrap_or(0))?;
    u32::try_from(pixels).ok()
}

fn find(file: &FileFacts, width: i64) -> Option<FileFacts> {
    let made = file.renditions().iter().find(|made| made.wanted == width)?;
    Some(file.rendered(made))
}

/// Makes the rendition of an asset's file for a configured width, and returns it as a file. If another attempt has made
/// it first, that one is returned.
///
/// # Errors
/// `Unavailable` also if the file was replaced or deleted meanwhile.
pub async fn render(
    app: &App,
    id: &str,
    file: &FileFacts,
    width: i64,
) -> Result<FileFacts, NotRendered> {
    // While this call waited for its turn, another one may have made it.
    if let Some(made) = find_made(app, id, file, width).await? {
        return Ok(made);
    }
    let small = compute(app, file, width).await?;
    let attempt = app.begin().await?;
    let blob = new_blob(app, &attempt);
    let rendition = write(app, file, small, (blob, width), &attempt).await?;
    let add = store::add_rendition(app, id, file.blob, &rendition).within(&attempt);
    if add.held().await? {
        return Ok(file.rendered(&rendition));
    }
    discard_uncommitted(app, id, blob).await;
    let made = find_made(app, id, file, width).await?;
    made.ok_or_else(|| Error::unavailable("the picture was changed meanwhile; try again").into())
}

/// The rendition of an asset's file for a configured width, as a file, if the asset has it by now.
async fn find_made(app: &App, id: &str, file: &FileFacts, width: i64) -> Result<Option<FileFacts>> {
    let found = store::assets(app).get_settled(id).await?;
    let now = found.as_ref().and_then(AssetDocument::visible_file);
    Ok(now.filter(|now| now.blob == file.blob).and_then(|now| find(now, width)))
}

/// Reads a picture, and computes the smaller one on a thread of its own.
async fn compute(app: &App, file: &FileFacts, width: i64) -> Result<Smaller, NotRendered> {
    let format = format_of(&file.media_type).ok_or(NotRendered::Unreadable)?;
    let width = u32::try_from(width).map_err(|_| NotRendered::Unreadable)?;
    let length = u64::try_from(file.length).unwrap_or(0);
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    let mut pieces = std::pin::pin!(store::chunks(app).read(file.blob, length, 0..length));
    while let Some(piece) = pieces.try_next().await? {
        bytes.extend_from_slice(&piece);
    }
    // A file with more pixels than its head declares would take up more memory than is reserved for it.
    let pixels = pixels_of(file).map_or(0, u64::from);
    let small = tokio::task::spawn_blocking(move || smaller(&bytes, format, width, pixels)).await;
    // A parser of untrusted bytes: a panic in it doesn't affect the gateway.
    match small {
        Ok(Ok(small)) => Ok(small),
        Ok(Err(fault)) => {
            tracing::debug!(event = "picture_unreadable", %fault, "a picture can't be resized");
            app.shared::<Unreadable>().add(file.blob);
            Err(NotRendered::Unreadable)
        }
        Err(_panicked) => {
            app.shared::<Unreadable>().add(file.blob);
            Err(NotRendered::Unreadable)
        }
    }
}

/// Writes the blob of a rendition: its chunks, then its document.
async fn write(
    app: &App,
    file: &FileFacts,
    small: Smaller,
    (blob, wanted): (ObjectId, i64),
    attempt: &Attempt,
) -> Result<Rendition> {
    let mut writer = store::chunks(app).write(blob);
    writer.write(&small.bytes).await?;
    let written = writer.finish().await?;
    let rendition = Rendition {
        wanted,
        width: small.width.into(),
        height: small.height.into(),
        blob,
        length: i64::try_from(written.length).unwrap_or(i64::MAX),
        digest: hex::encode(written.digest),
        media_type: small.media_type.to_owned(),
        at: attempt.now(),
    };
    blobs::insert(app, &file.rendered(&rendition), Some((file.blob, wanted))).await?;
    Ok(rendition)
}

/// Removes the rendition with this blob, which is damaged. The next caller makes it again. Returns whether the asset
/// had it.
///
/// # Errors
/// `Unavailable` or `Internal`: it can be repeated.
pub async fn drop_rendition(app: &App, id: &str, blob: ObjectId) -> Result<bool> {
    let Some(after) = store::drop_rendition(app, id, blob).after().await? else { return Ok(false) };
    settle(app, &after).await;
    Ok(true)
}
