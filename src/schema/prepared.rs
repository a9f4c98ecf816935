//! Requests whose documents were parsed.

use std::{any::Any, time::Duration};

use async_graphql::{Name, Request, parser::types::Field};

use crate::{
    domains,
    engine::{keys::has_idempotency_key, prepared::PreparedOperation, preparing::Preparation},
    metrics::operations::OperationType,
};

/// A request whose document was parsed.
pub struct Prepared {
    pub(super) request: Request,
    pub(super) preparation: Preparation,
    pub(super) as_text: bool,
}

impl Prepared {
    /// Adds data for the resolvers.
    #[must_use]
    pub fn with(self, data: impl Any + Send + Sync) -> Self {
        Self { request: self.request.data(data), ..self }
    }

    /// Permits that the response's data is text, which only [`text::write`](async_graphql::text::write) can
    /// handle.
    pub fn respond_as_text(&mut self) {
        self.as_text = true;
    }

    pub(super) fn operation(&self) -> Option<&PreparedOperation> {
        self.preparation.operation.as_ref()
    }

    /// Whether the operation is a subscription.
    pub fn is_subscription(&self) -> bool {
        self.operation().is_some_and(PreparedOperation::is_subscription)
    }

    /// Whether the operation is a mutation.
    pub fn is_mutation(&self) -> bool {
        self.operation().is_some_and(PreparedOperation::is_mutation)
    }

    /// Whether the operation increments counters without an idempotency key. It must not be repeated if its outcome is
    /// unknown.
    pub fn is_counting(&self) -> bool {
        let is_counter =
            |name: &str| domains::ROOMS.iter().any(|room| room.counters.contains(&name));
        let is_counting = |field: &Field| {
            is_counter(&field.name.node) && !has_idempotency_key(field, &self.request.variables)
        };
        self.operation().is_some_and(|operation| operation.has_field(&is_counting))
    }

    /// Cost: the estimated number of objects in the response.
    pub fn cost(&self) -> usize {
        self.preparation.cost
    }

    /// Type of the operation; `None` if the document can't be parsed.
    pub fn operation_type(&self) -> Option<OperationType> {
        let operation = self.operation()?;
        Some(if operation.is_subscription() {
            OperationType::Subscription
        } else if operation.is_mutation() {
            OperationType::Mutation
        } else {
            OperationType::Query
        })
    }

    /// Name of the operation, if it has one.
    pub fn name(&self) -> Option<Name> {
        self.operation().and_then(PreparedOperation::name).cloned()
    }

    /// First root field of the operation.
    pub fn first_field(&self) -> Option<&str> {
        self.operation().and_then(PreparedOperation::first_field).map(Name::as_str)
    }

    /// Whether the document was parsed and validated before.
    pub fn is_known(&self) -> bool {
        self.preparation.is_known
    }

    /// How long the response can be cached for all callers; `None` if it can't. A response with an error must
    /// never be cached.
    pub fn max_age(&self) -> Option<Duration> {
        self.operation().and_then(PreparedOperation::max_age)
    }
}
