//! A connection whose bytes are counted.

use std::{
    error::Error,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::{door, intake::Intake, shares::Full};

/// A connection is ended for what it sent.
#[derive(Debug, thiserror::Error)]
#[error("more bytes are held than may be: {0:?}")]
struct TooMuch(Full);

/// Whether a connection was ended for what it sent.
pub(super) fn is_too_much(fault: &io::Error) -> bool {
    fault.get_ref().is_some_and(<dyn Error + Send + Sync>::is::<TooMuch>)
}

/// A connection whose bytes are counted.
pub(super) struct Counted {
    stream: TcpStream,
    intake: Arc<Intake>,
    /// Whether something is written that isn't whole yet.
    is_writing: bool,
}

impl Counted {
    pub(super) fn new(stream: TcpStream, intake: Arc<Intake>) -> Self {
        Self { stream, intake, is_writing: false }
    }

    /// A client that sends too much is told why, as far as that can be done without waiting.
    fn refuse(&self, full: Full) -> io::Error {
        if self.intake.awaits_head() && !self.is_writing {
            door::refuse(&self.stream, full);
        }
        io::Error::other(TooMuch(full))
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.intake.reading();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let bytes = buffer.filled().len() - before;
        Poll::Ready(self.intake.read(bytes).map_err(|full| self.refuse(full)))
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_writing = true;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.is_writing = true;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    // hyper flushes when it has nothing left to write.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.is_writing = false;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
