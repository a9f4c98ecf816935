//! Downloads of files.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};

use super::super::{documents::FileFacts, store};
use crate::{app::App, error::Error};

/// Media types that a browser may display, since it executes nothing in them. Files of other types can only
/// be saved.
const INLINE: &[&str] = &[
    "application/json",
    "application/pdf",
    "text/calendar",
    "text/css",
    "text/csv",
    "text/markdown",
    "text/plain",
    "text/vcard",
    "text/vtt",
];

/// Whether a browser may display files of this media type instead of only saving them.
pub fn is_shown_inline(media_type: &str) -> bool {
    let kind = media_type.split('/').next().unwrap_or_default();
    let is_medium = ["audio", "image", "video"].contains(&kind) && !media_type.contains("xml");
    is_medium || INLINE.contains(&media_type)
}

/// The bytes of a file in the given range, in order. Later changes of the asset don't affect them. After the
/// maximum duration of a download they end with an error.
pub fn bytes(
    app: &App,
    file: &FileFacts,
    range: Range<u64>,
) -> impl Stream<Item = Result<Bytes, Error>> + Send + use<> {
    let longest = Duration::from_secs(app.config().asset_transfer_seconds);
    let since = Instant::now();
    let length = u64::try_from(file.length).unwrap_or(0);
    store::chunks(app).read(file.blob, length, range).map(move |piece| {
        if since.elapsed() > longest {
            return Err(Error::unavailable("a download took longer than it may"));
        }
        piece
    })
}
