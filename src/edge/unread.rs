//! Request bodies that are answered before they were read, such as those of refused requests.
//!
//! hyper ends the connection where the answer comes before the end of the body. What the client still sends
//! then resets it, and with it goes what of the answer wasn't read yet. So an ordinary body is awaited
//! before the answer goes out; a long one is still cut off.
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

/// Bytes that are awaited at the most.
const MOST: usize = 256 << 10;
/// For how long.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where a connection keeps the body that its request didn't read to the end.
#[derive(Default)]
pub(super) struct Unread(Mutex<Option<Incoming>>);

impl Unread {
    /// The body of a request; once it is dropped, what is left of it is here.
    pub(super) fn watch(self: &Arc<Self>, body: Incoming, intake: &Arc<Intake>) -> Watched {
        Watched { body: Some(body), unread: Arc::clone(self), intake: Arc::clone(intake) }
    }

    /// Reads what is left, as far as it comes.
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

/// A body that isn't forgotten, and whose bytes are counted.
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
