//! The metrics of one request, recorded where they occur: how many commands it sends to MongoDB, and how its
//! mutations are refused.

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
        let what = "Mutations that were refused as expected, by the type of the refusal";
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

/// Runs a request. Returns its output, and the number of commands that it asked for.
pub async fn watch<F: Future>(refusals: Refusals, request: F) -> (F::Output, u64) {
    let noted = async {
        let output = request.await;
        (output, REQUEST.with(|noted| noted.commands.get()))
    };
    REQUEST.scope(Request { commands: Cell::new(0), refusals }, noted).await
}

/// Counts a command; does nothing outside a request.
pub fn command() {
    let _outside = REQUEST.try_with(|noted| noted.commands.set(noted.commands.get() + 1));
}

/// Counts the refusal of a room's mutation; does nothing outside a request.
pub fn refused(room: &'static str, mutation: String, refusal: Cow<'static, str>) {
    let _outside = REQUEST.try_with(|noted| {
        noted.refusals.0.get_or_create(&RefusalLabels { room, mutation, refusal }).inc()
    });
}
