//! The metrics of one request, recorded where they occur: the number of its commands to MongoDB, and the refusals
//! of its mutations.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    future::Future,
    time::Instant,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

use super::added;

/// The metrics of refused mutations. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Refusals(Family<RefusalLabels, Counter>);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    room: &'static str,
    mutation: String,
    refusal: Cow<'static, str>,
}

impl Refusals {
    pub(super) fn register(registry: &mut Registry) -> Self {
        Self(added(registry, "refusals", "Refused mutations, by the type of the refusal"))
    }
}

tokio::task_local! {
    static REQUEST: Request;
}

struct Request {
    commands: Cell<u64>,
    /// When the commands were sent that callers may share.
    shared: RefCell<Vec<Instant>>,
    refusals: Refusals,
}

/// Runs a request. Returns its output, and the number of commands that it requested.
pub async fn count_commands<F: Future>(refusals: Refusals, request: F) -> (F::Output, u64) {
    let counted = async {
        let output = request.await;
        (output, REQUEST.with(|current| current.commands.get()))
    };
    let (commands, shared) = (Cell::new(0), RefCell::default());
    REQUEST.scope(Request { commands, shared, refusals }, counted).await
}

/// Counts a command; does nothing outside a request. A command that callers may share is known by the time at which it
/// was `sent`, and is counted once per request.
pub fn command(sent: Option<Instant>) {
    let _outside = REQUEST.try_with(|current| {
        if let Some(sent) = sent {
            let mut shared = current.shared.borrow_mut();
            if shared.contains(&sent) {
                return;
            }
            shared.push(sent);
        }
        current.commands.set(current.commands.get() + 1);
    });
}

/// Counts the refusal of a room's mutation; does nothing outside a request.
pub fn refused(room: &'static str, mutation: String, refusal: Cow<'static, str>) {
    let _outside = REQUEST.try_with(|current| {
        current.refusals.0.get_or_create(&RefusalLabels { room, mutation, refusal }).inc()
    });
}
