//! Files in a request.
//! <https://github.com/jaydenseric/graphql-multipart-request-spec>
//!
//! The files of a request follow each other in its body. They can only be read in this order and only once. They
//! aren't buffered: an operation reads the bytes of its file as they arrive.

use std::{fmt, sync::Arc};

use async_graphql::{Context, InputValueError, InputValueResult, Scalar, ScalarType, Value};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream::BoxStream};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::error::Error;

/// Prefix of the placeholder of a file in a variable.
const PLACEHOLDER: &str = "docgate:file:";

/// A file of the request, as defined by the GraphQL multipart request specification. The default is the first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Upload {
    position: usize,
}

/// A file in a `multipart/form-data` request, as defined by the GraphQL multipart request specification. The
/// variable itself is null; the form field `map` assigns the file to it.
#[Scalar(specified_by_url = "https://github.com/jaydenseric/graphql-multipart-request-spec")]
impl ScalarType for Upload {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else { return Err(InputValueError::expected_type(value)) };
        let position = text.strip_prefix(PLACEHOLDER).and_then(|position| position.parse().ok());
        let position = position.ok_or_else(|| {
            InputValueError::custom("a file is expected: send it as multipart/form-data")
        })?;
        Ok(Self { position })
    }

    fn is_valid(value: &Value) -> bool {
        Self::parse(value.clone()).is_ok()
    }

    fn to_value(&self) -> Value {
        Value::Null
    }
}

/// The placeholder of the file at this position in a variable.
pub fn placeholder(position: usize) -> String {
    format!("{PLACEHOLDER}{position}")
}

/// A piece of a request's body, in order.
#[derive(Debug)]
pub enum Piece {
    /// Start of a file: its position in `map`, and its metadata.
    File {
        /// Position of the file in `map`.
        position: usize,
        /// File name that the client sent.
        name: Option<String>,
        /// Media type that the client declared.
        media_type: Option<String>,
    },
    /// Bytes of the current file.
    Bytes(Bytes),
    /// End of the current file.
    End,
}

/// The files of one request.
#[derive(Clone)]
pub struct Files {
    pieces: Arc<Mutex<BoxStream<'static, Result<Piece, Error>>>>,
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Files")
    }
}

/// A file that is being received.
pub struct Incoming {
    /// File name that the client sent.
    pub name: String,
    /// Media type that the client declared. It isn't verified.
    pub media_type: Option<String>,
    /// Bytes of the file. An error means that the rest won't arrive.
    pub bytes: BoxStream<'static, Result<Bytes, Error>>,
}

impl fmt::Debug for Incoming {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Incoming").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Files {
    /// The files in these pieces of a body.
    pub fn new(pieces: impl Stream<Item = Result<Piece, Error>> + Send + 'static) -> Self {
        Self { pieces: Arc::new(Mutex::new(pieces.boxed())) }
    }

    /// The file of an argument. Files must be taken in the order of the body.
    ///
    /// # Errors
    /// `BadInput` with the name of the field: the request has no such file, it was taken before, or another
    /// file comes before it.
    pub async fn take(&self, field: &'static str, upload: Upload) -> Result<Incoming, Error> {
        let mut pieces = Arc::clone(&self.pieces).lock_owned().await;
        loop {
            match pieces.next().await.transpose()? {
                Some(Piece::File { position, name, media_type }) if position == upload.position => {
                    let name = name.unwrap_or_default();
                    return Ok(Incoming { name, media_type, bytes: rest(pieces).boxed() });
                }
                Some(Piece::File { .. }) => {
                    let reason =
                        "comes after another file: send files in the order in which they are used";
                    return Err(Error::bad_input(field, reason));
                }
                // The rest of a file that was refused before its end.
                Some(Piece::Bytes(_) | Piece::End) => {}
                None => {
                    let reason = "isn't in the request, or was used before";
                    return Err(Error::bad_input(field, reason));
                }
            }
        }
    }

    /// The only file of a request that isn't a GraphQL request.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub async fn first(&self, field: &'static str) -> Result<Incoming, Error> {
        self.take(field, Upload::default()).await
    }

    /// Reads and discards the rest of the body, up to `max` bytes, so that the client can read its answer.
    pub async fn discard(&self, max: usize) {
        let mut pieces = self.pieces.lock().await;
        let mut left = max;
        while let Some(Ok(piece)) = pieces.next().await {
            let Piece::Bytes(bytes) = piece else { continue };
            let Some(rest) = left.checked_sub(bytes.len()) else { return };
            left = rest;
        }
    }
}

/// The file that the field `file` of a mutation's input names, in a `multipart/form-data` request.
///
/// # Errors
/// As [`Files::take`], and `BadInput` if the request has another form.
pub async fn incoming(context: &Context<'_>, file: Upload) -> Result<Incoming, Error> {
    const FIELD: &str = "input.file";
    let files = context.data_opt::<Files>();
    let files =
        files.ok_or_else(|| Error::bad_input(FIELD, "needs a request as multipart/form-data"))?;
    files.take(FIELD, file).await
}

/// The bytes of the file that was started.
fn rest(
    mut pieces: OwnedMutexGuard<BoxStream<'static, Result<Piece, Error>>>,
) -> impl Stream<Item = Result<Bytes, Error>> + Send + 'static {
    async_stream::stream! {
        loop {
            match pieces.next().await {
                Some(Ok(Piece::Bytes(bytes))) => yield Ok(bytes),
                Some(Ok(Piece::End | Piece::File { .. })) => return,
                Some(Err(error)) => {
                    yield Err(error);
                    return;
                }
                None => {
                    yield Err(cut_short());
                    return;
                }
            }
        }
    }
}

/// The error for a body that ended too early: the client sent less than the whole request, or disconnected.
pub fn cut_short() -> Error {
    Error::bad_input("body", "ended before the file did")
}
