//! Pictures at a width: `GET /assets/…?w=480`.

use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::timeout;
use tracing::Instrument as _;

use super::{
    super::{Edge, shares::Client},
    AssetError,
};
use crate::{
    domains::assets::{
        AssetDocument, FileFacts,
        operations::{self, AtWidth, NotRendered},
    },
    error::{Error, Result},
    traces,
};

/// The width that a query string asks for, in pixels.
pub(super) fn wanted(query: Option<&str>) -> Result<Option<i64>> {
    let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let Some((_, value)) = pairs.find(|(name, _)| name == "w") else { return Ok(None) };
    match value.parse::<u32>() {
        Ok(width @ 1..) => Ok(Some(width.into())),
        _ => Err(Error::bad_input("w", "must be a whole number of pixels, 1 or more")),
    }
}

/// The file that is sent for an asset at a width: a rendition, which is made now if there is none yet, or the file
/// itself. A client that disconnects doesn't stop it: the next one finds the rendition.
pub(super) async fn at_width(
    edge: &Edge,
    client: Client,
    asset: &AssetDocument,
    file: FileFacts,
    width: i64,
) -> Result<FileFacts, AssetError> {
    let (width, pixels) = match operations::at_width(&edge.app, &file, width) {
        AtWidth::Ready(file) => return Ok(*file),
        AtWidth::Never => return Err(not_resizable()),
        AtWidth::Missing { width, pixels } => (width, pixels),
    };
    let (permit, resizers) = edge.limits.begin_resize(client)?;
    let (app, id) = (edge.app.clone(), asset.id.clone());
    let render = async move {
        let _permit = permit;
        let _turn = resizers.turn(pixels).await?;
        operations::render(&app, &id, &file, width).await
    };
    let render = edge.app.tasks().spawn(render.instrument(traces::background("resize")));
    let made = timeout(edge.limits.time, render).await;
    let made = made.map_err(|elapsed| Error::Timeout(elapsed.into()))?.map_err(Error::internal)?;
    made.map_err(|reason| match reason {
        NotRendered::Unreadable => not_resizable(),
        NotRendered::Failed(error) => error.for_read().into(),
    })
}

fn not_resizable() -> AssetError {
    let why = "this picture can't be resized: it is damaged or has too many pixels; ask for it without `w`";
    AssetError::refused(StatusCode::UNPROCESSABLE_ENTITY, "PICTURE_NOT_RESIZABLE", why)
}

/// The bytes of a file: the first of them, if they were read already, and the rest. If those of a rendition aren't there,
/// the asset forgets it, and the next caller gets a new one. A gateway of an earlier release may have removed them: its
/// search doesn't know renditions.
pub(super) async fn checked<S: Stream<Item = Result<Bytes>> + Unpin>(
    edge: &Edge,
    asset: &AssetDocument,
    file: &FileFacts,
    mut bytes: S,
) -> Result<(Option<Result<Bytes>>, S)> {
    if asset.file.as_ref().is_none_or(|original| original.blob == file.blob) {
        return Ok((None, bytes));
    }
    let first = bytes.next().await;
    if let Some(Err(Error::Internal(fault))) = &first {
        let dropped = operations::drop_rendition(&edge.app, &asset.id, file.blob).await?;
        tracing::warn!(
            event = "rendition_damaged",
            asset = asset.id,
            dropped,
            %fault,
            "the blob of a rendition isn't whole; it is made again"
        );
        return Err(Error::unavailable("the smaller picture is made again").for_read());
    }
    Ok((first, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_is_a_number_of_pixels() {
        for (query, width) in [
            (None, None),
            (Some(""), None),
            (Some("x=1"), None),
            (Some("w=1"), Some(1)),
            (Some("a=b&w=480&w=5"), Some(480)),
            (Some("w=4294967295"), Some(4_294_967_295)),
        ] {
            assert_eq!(wanted(query).expect("a width"), width, "{query:?}");
        }
        for query in ["w", "w=", "w=0", "w=-1", "w=1.5", "w=4294967296", "w=1px", "w=%00"] {
            assert!(wanted(Some(query)).is_err(), "{query}");
        }
    }
}
