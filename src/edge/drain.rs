//! Drains request bodies that weren't read before the response, such as those of refused requests.
//!
//! hyper closes the connection if the response is sent before the end of the body. Bytes that the client
//! still sends then cause a reset, which discards the part of the response that the client hasn't read. A
//! body of ordinary size is therefore read before the response is sent; a long one is cut off.
//! <https://www.rfc-editor.org/rfc/rfc9112#section-9.6-11>

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, ready},
    time::Duration,
};

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::time::timeout;

use super::received_bytes::ReceivedBytes;
use crate::locks::lock;

/// Maximum number of bytes that are drained.
const MAX: usize = 256 << 10;
/// Maximum time for draining.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The rest of a request body that wasn't read to its end.
#[derive(Default)]
pub(super) struct UnreadBody(Mutex<Option<Incoming>>);

impl UnreadBody {
    /// Wraps the body of a request. If it is dropped before its end, the rest is kept here.
    pub(super) fn track(
        self: &Arc<Self>,
        body: Incoming,
        received: &Arc<ReceivedBytes>,
    ) -> TrackedBody {
        TrackedBody { body: Some(body), unread: Arc::clone(self), received: Arc::clone(received) }
    }

    /// Reads the rest of the body, up to the limits.
    pub(super) async fn drain(&self) {
        let Some(mut body) = lock(&self.0).take() else { return };
        let mut read = 0;
        let all = async {
            while let Some(Ok(frame)) = body.frame().await
                && read < MAX
            {
                read += frame.data_ref().map_or(0, Bytes::len);
            }
        };
        let _late = timeout(TIMEOUT, all).await;
    }
}

/// A request body that counts its bytes and moves its rest to [`UnreadBody`] when it is dropped.
pub(super) struct TrackedBody {
    body: Option<Incoming>,
    unread: Arc<UnreadBody>,
    received: Arc<ReceivedBytes>,
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(context));
        if let Some(bytes) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
            self.received.handed_out(bytes.len());
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

impl Drop for TrackedBody {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *lock(&self.unread.0) = Some(body);
        }
    }
}
