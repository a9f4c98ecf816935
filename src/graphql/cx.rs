//! The context of an operation: the gateway and the caller.

use std::ops::Deref;

use async_graphql::Context;
use serde::Serialize;

use super::{
    declared::{Checked, Keyed},
    requester::Requester,
};
use crate::{app::App, flow::Op};

/// The context of an operation. It dereferences to the gateway's handles.
#[derive(Debug, Clone, Copy)]
pub struct Cx<'a> {
    /// The handles of this gateway.
    pub app: &'a App,
    /// The caller.
    pub requester: &'a Requester,
}

impl Deref for Cx<'_> {
    type Target = App;

    fn deref(&self) -> &App {
        self.app
    }
}

impl Cx<'_> {
    /// The op of a call: the idempotency key of its input in this scope, and the digest of the input; see
    /// [`crate::app::Ids::op`].
    pub fn op(&self, scope: &[&str], input: &Checked<impl Keyed>) -> Op {
        self.op_of(scope, input, &**input)
    }

    /// Like [`Self::op`], with the digest of `digested` instead.
    pub fn op_of(
        &self,
        scope: &[&str],
        input: &Checked<impl Keyed>,
        digested: &impl Serialize,
    ) -> Op {
        self.ids().op(scope, input.idempotency_key().map(|key| key.as_str()), digested)
    }
}

/// The context of the operation that is being resolved.
pub fn cx<'a>(context: &Context<'a>) -> Cx<'a> {
    Cx { app: super::app(context), requester: super::requester(context) }
}
