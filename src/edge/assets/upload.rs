//! `PUT` of a file.

use axum::{
    Json,
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use headers::{ContentLength, HeaderMapExt as _};
use serde_json::json;
use tracing::Instrument as _;

use super::{
    super::{Edge, uploads},
    AssetError,
    download::tag,
};
use crate::{
    domains::assets::{
        AssetDocument,
        operations::{self, Expected},
    },
    error::Error,
    graphql::{
        cx::Cx,
        input,
        node_id::NodeKind,
        refusals::{AnyRefusal, Stop},
        requester::{Role, Who},
        scalars::Slug,
        upload::{Files, Incoming, Piece},
    },
    traces,
};

pub(super) async fn answer(edge: &Edge, head: &Parts, body: Body) -> Result<Response, AssetError> {
    let caller = edge.caller(head).await?;
    Who::Role(Role::Editor).check_requester(&caller.requester)?;
    let (parent, slug) = target(head.uri.path())?;
    let expected = expected(&head.headers)?;
    check_body(edge, &head.headers)?;
    let permit = edge.limits.begin_transfer(edge.client(&caller, head))?;
    let bytes = uploads::chunks(body, edge.limits.receive);
    let file = Piece::File { position: 0, name: None, media_type: None };
    let pieces = stream::iter([Ok(file)])
        .chain(bytes.map(|piece| piece.map(Piece::Bytes)))
        .chain(stream::iter([Ok(Piece::End)]));
    let files = Files::new(pieces);
    let bytes = files.first("body").await?;
    let media_type = text(&head.headers, &header::CONTENT_TYPE);
    let name = slug.as_str().to_owned();
    let incoming = Incoming { name, media_type: media_type.map(str::to_owned), ..bytes };
    let (app, requester) = (edge.app.clone(), caller.requester.clone());
    let put = async move {
        let _permit = permit;
        let cx = Cx { app: &app, requester: &requester };
        operations::put(cx, &parent, slug, expected, incoming).await
    };
    // A separate task, so that a disconnecting client doesn't stop the upload halfway.
    let put = edge.app.tasks().spawn(put.instrument(traces::background("put")));
    let result = put.await.map_err(Error::internal)?;
    uploads::discard(edge, &files).await;
    match result {
        Ok((asset, true)) => Ok(described(StatusCode::CREATED, &asset)),
        Ok((asset, false)) => Ok(described(StatusCode::OK, &asset)),
        Err(Stop::Failed(error)) => Err(error.for_mutation().into()),
        Err(Stop::Refused(refusal)) => Err(response_to(refusal)),
    }
}

/// The path of the parent folder or gallery, and the slug of the file.
fn target(path: &str) -> Result<(String, Slug), AssetError> {
    let path = path.strip_prefix("/assets").unwrap_or_default();
    let target = input::path("path", path).ok().and_then(|path| path.rsplit_once('/'));
    let target = target.and_then(|(parent, slug)| Some((parent, Slug::parse_slug(slug)?)));
    let (parent, slug) = target.ok_or_else(|| {
        let reason = "isn't a path of slugs such as /assets/travel/tram: a slug has 1 to 64 \
                      lower-case letters, digits and single hyphens between them";
        Error::bad_input("path", reason)
    })?;
    Ok((if parent.is_empty() { "/" } else { parent }.to_owned(), slug))
}

fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The preconditions of the request.
/// <https://www.rfc-editor.org/rfc/rfc9110#section-13.1>
fn expected(headers: &HeaderMap) -> Result<Expected, Error> {
    let none = text(headers, &header::IF_NONE_MATCH);
    let some: Vec<_> = headers
        .get_all(header::IF_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    if some.is_empty() && headers.contains_key(header::IF_UNMODIFIED_SINCE) {
        let reason = "can't be the condition of an upload: use if-match";
        return Err(Error::bad_input("if-unmodified-since", reason));
    }
    match (none, some.as_slice()) {
        (None, []) => Ok(Expected::Any),
        (Some("*"), []) => Ok(Expected::Nothing),
        (None, ["*"]) => Ok(Expected::Something),
        (None, tags) => {
            // A weak tag never matches in `If-Match`.
            let digest = |tag: &&str| Some(tag.strip_prefix('"')?.strip_suffix('"')?.to_owned());
            Ok(Expected::Digest(tags.iter().filter_map(digest).collect()))
        }
        _ => {
            Err(Error::bad_input("if-none-match", "must be * and can't be combined with if-match"))
        }
    }
}

/// Checks the headers that describe the body.
fn check_body(edge: &Edge, headers: &HeaderMap) -> Result<(), AssetError> {
    if headers.contains_key(header::CONTENT_RANGE) {
        return Err(Error::bad_input("content-range", "a file can only be sent as a whole").into());
    }
    if text(headers, &header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        let error = Error::bad_input("content-encoding", "a file can't be encoded");
        return Err(AssetError::Error(StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
    }
    let max = edge.app.config().asset_bytes;
    if headers.typed_get::<ContentLength>().is_some_and(|length| length.0 > max) {
        return Err(too_large(format!("the file is larger than {max} bytes")));
    }
    Ok(())
}

fn too_large(why: String) -> AssetError {
    AssetError::refused(StatusCode::PAYLOAD_TOO_LARGE, "FILE_TOO_LARGE", why)
}

/// The response to a refused upload.
fn response_to(AnyRefusal { code, message }: AnyRefusal) -> AssetError {
    match code {
        "NOT_FOUND" => AssetError::refused(StatusCode::NOT_FOUND, "NOT_FOUND", message),
        "IN_USE" => AssetError::refused(StatusCode::CONFLICT, "IN_USE", message),
        "CONFLICT" => AssetError::refused(StatusCode::PRECONDITION_FAILED, "CONFLICT", message),
        "FILE_TOO_LARGE" => too_large(message),
        "MEDIA_TYPE_NOT_ALLOWED" => {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            AssetError::refused(status, "MEDIA_TYPE_NOT_ALLOWED", message)
        }
        _ => Error::internal(message).into(),
    }
}

fn described(status: StatusCode, asset: &AssetDocument) -> Response {
    let metadata = &asset.metadata;
    let file = asset.file.as_ref();
    let body = json!({
        "id": *NodeKind::ASSET.id(&asset.id),
        "path": metadata.path,
        "mediaType": file.map(|file| &file.media_type),
        "length": file.map(|file| file.length),
        "sha256": file.map(|file| &file.digest),
    });
    let mut response = (status, Json(body)).into_response();
    let head = response.headers_mut();
    head.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(location) = HeaderValue::try_from(format!("/assets{}", metadata.path)) {
        head.insert(header::LOCATION, location);
    }
    if let Some(Ok(tag)) = file.map(|file| HeaderValue::try_from(tag(file))) {
        head.insert(header::ETAG, tag);
    }
    response
}
