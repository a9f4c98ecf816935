//! Drains request bodies that weren't read before the response, such as those of refused requests.
//!
//! hyper closes the connection if the response is sent before the end of the body. Bytes that the client
//! still sends then cause a reset, which discards the part of the response that the client hasn't read. A
//! body of ordinary size is therefore read before the response is sent; a long one is cut off.
//! <https://www.rfc-editor.org/rfc/rfc9112#section-9.6-11>

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::time::timeout;

use super::intake::Intake;

/// Maximum number of bytes that are drained.
const MOST: usize = 256 << 10;
/// Maximum time for draining.
const PATIENCE: Duration = Duration::from_secs(1);

/// Holds the body of a connection's request that wasn't read to the end.
#[derive(Default)]
pub(super) struct Unread(Mutex<Option<Incoming>>);

impl Unread {
    /// Wraps the body of a request. If it is dropped before its end, the rest is kept here.
    pub(super) fn watch(self: &Arc<Self>, body: Incoming, intake: &Arc<Intake>) -> Watched {
        Watched { body: Some(body), unread: Arc::clone(self), intake: Arc::clone(intake) }
    }

    /// Reads the rest of the body, up to the limits.
    pub(super) async fn read(&self) {
        let Some(mut body) = self.left().take() else { return };
        let mut read = 0;
        let all = async {
            while let Some(Ok(frame)) = body.frame().await
                && read < MOST
            {
                read += frame.data_ref().map_or(0, Bytes::len);
            }
        };
        let _late = timeout(PATIENCE, all).await;
    }

    fn left(&self) -> MutexGuard<'_, Option<Incoming>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request body that counts its bytes and returns its rest to [`Unread`] when it is dropped.
pub(super) struct Watched {
    body: Option<Incoming>,
    unread: Arc<Unread>,
    intake: Arc<Intake>,
}

impl Body for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(context));
        if let Some(bytes) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
            self.intake.given_out(bytes.len());
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, Incoming::size_hint)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.unread.left() = Some(body);
        }
    }
}
