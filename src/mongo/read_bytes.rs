//! The bytes of the documents that a request has read. A request keeps its documents until it has its response, so many
//! requests that read large documents would otherwise take any amount of memory.

use std::{cell::RefCell, future::Future, mem};

use mongodb::bson::RawDocumentBuf;

use crate::error::Error;

/// Is told the bytes of documents when a request has read them. Its error is that of the read.
pub type Count = Box<dyn FnMut(usize) -> Result<(), Error> + Send>;

tokio::task_local! {
    static COUNT: RefCell<Count>;
}

/// Runs a request, whose reads are counted.
pub async fn counted<F: Future>(count: Count, request: F) -> F::Output {
    COUNT.scope(RefCell::new(count), request).await
}

/// Runs reads that aren't counted: those that several requests share, and those of a mutation until it has its result.
pub fn uncounted<F: Future>(reads: F) -> impl Future<Output = F::Output> {
    COUNT.scope(RefCell::new(ignored()), reads)
}

/// Polls a part of a request, whose reads are counted. The count is kept from one poll to the next.
pub fn polled<T>(count: &mut Count, poll: impl FnOnce() -> T) -> T {
    let counted = RefCell::new(mem::replace(count, ignored()));
    COUNT.sync_scope(counted, || {
        let polled = poll();
        *count = COUNT.with(|counted| counted.replace(ignored()));
        polled
    })
}

/// A count of nothing.
fn ignored() -> Count {
    Box::new(|_bytes| Ok(()))
}

/// Counts documents that were read; does nothing outside a request.
///
/// # Errors
/// That of the [`Count`].
pub(super) fn keep<'a>(
    documents: impl IntoIterator<Item = &'a RawDocumentBuf>,
) -> Result<(), Error> {
    let bytes = || documents.into_iter().map(|document| document.as_bytes().len()).sum();
    let counted = COUNT.try_with(|count| (count.borrow_mut())(bytes()));
    counted.unwrap_or(Ok(()))
}
