//! The metrics of one request, recorded where they occur: the number of its commands to MongoDB, and the refusals
//! of its mutations.

use std::{borrow::Cow, cell::Cell, future::Future};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

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
        let refusals = Self::default();
        let what = "Refused mutations, by the type of the refusal";
        registry.register("refusals", what, refusals.0.clone());
        refusals
    }
}

tokio::task_local! {
    static REQUEST: Request;
}

struct Request {
    commands: Cell<u64>,
    refusals: Refusals,
}

/// Runs a request. Returns its output, and the number of commands that it requested.
pub async fn count_commands<F: Future>(refusals: Refusals, request: F) -> (F::Output, u64) {
    let counted = async {
        let output = request.await;
        (output, REQUEST.with(|current| current.commands.get()))
    };
    REQUEST.scope(Request { commands: Cell::new(0), refusals }, counted).await
}

/// Counts a command; does nothing outside a request.
pub fn command() {
    let _outside = REQUEST.try_with(|current| current.commands.set(current.commands.get() + 1));
}

/// Counts the refusal of a room's mutation; does nothing outside a request.
pub fn refused(room: &'static str, mutation: String, refusal: Cow<'static, str>) {
    let _outside = REQUEST.try_with(|current| {
        current.refusals.0.get_or_create(&RefusalLabels { room, mutation, refusal }).inc()
    });
}
