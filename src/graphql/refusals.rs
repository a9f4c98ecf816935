//! Refusals: expected outcomes are data. Every mutation returns a union of its result and the refusals that can occur.
//! A refused mutation leaves carts, stock, balances and content as they were. A record of the call may remain, such as
//! a cancelled transfer.

use async_graphql::{ID, OutputType};

use super::{
    codes::{Coded, refusal},
    node_id::NodeKind,
    scalars::CurrencyCode,
};
use crate::{error::Error, flow::OtherInput, metrics::request};

/// A type of refusal. Operations can return it early with `?`.
pub trait Refusal {}

/// The message of a conflict of versions.
pub const CHANGED: &str = "it was changed since you read it; merge and send again";

/// Maximum number of characters of an id in a refusal. docgate's own ids are shorter.
const MAX_ID: usize = 256;

refusal! {
    /// A document doesn't exist or isn't visible to the caller.
    struct NotFound as "NOT_FOUND" shareable {
        /// Kind of document, such as `cart`.
        pub what: String,
        /// Id or key that was given.
        pub id: ID,
    }
}

impl NotFound {
    /// No document of the kind `what` with this id exists or is visible to the caller.
    pub fn new(what: &'static str, id: impl Into<String>) -> Self {
        let id = id.into();
        let message = format!("there is no {what} {id:?}");
        Self::because(message, what.into(), ID(id))
    }

    /// The caller can't have what exists for others, as `where_to` says: `for this cart`.
    pub fn not_offered(what: &'static str, id: impl Into<String>, where_to: &str) -> Self {
        let id = id.into();
        let message = format!("the {what} {id:?} isn't offered {where_to}");
        Self::because(message, what.into(), ID(id))
    }

    /// No document of the kind `what` can have the given id. Only the beginning of a long id is repeated.
    pub fn given(what: &'static str, id: &str) -> Self {
        Self::new(what, id.chars().take(MAX_ID).collect::<String>())
    }

    /// No document of this kind with this `_id` exists or is visible to the caller.
    pub fn of(kind: NodeKind, key: &str) -> Self {
        Self::new(kind.name(), kind.id(key).0)
    }
}

refusal! {
    /// The document was changed since it was read, or the idempotency key can't be used again.
    struct Conflict as "CONFLICT" shareable {
        /// Current version of the document, if the conflict is about its version; else null.
        pub current_version: Option<ID>,
    }
}

impl Conflict {
    /// The idempotency key was used before with another input.
    pub fn other_input() -> Self {
        Self::because(
            "the idempotency key was used before with another input; nothing was changed",
            None,
        )
    }

    /// The object that this idempotency key created doesn't exist any more.
    pub fn deleted() -> Self {
        Self::because("the object that this idempotency key created was deleted", None)
    }

    /// The op with this idempotency key was aborted before it was applied.
    pub fn aborted() -> Self {
        Self::because(
            "the call was stopped and nothing was changed; send it with a new idempotencyKey",
            None,
        )
    }

    /// The given version isn't the current one.
    pub fn stale_version(current: impl Into<String>) -> Self {
        Self::because(CHANGED, Some(ID(current.into())))
    }
}

refusal! {
    /// An input field has an invalid value. Nothing was changed.
    struct InvalidInput as "INVALID_INPUT" shareable {
        /// Path of the input field, such as `input.quantity`.
        pub field: String,
        /// What is wrong with the value.
        pub reason: String,
    }
}

impl InvalidInput {
    /// The refusal of a field; its path is relative to the mutation's `input`.
    pub fn new(field: &str, reason: impl Into<String>) -> Self {
        let (field, reason) = (format!("input.{field}"), reason.into());
        Self::because(format!("{field}: {reason}"), field, reason)
    }

    /// The same refusal for a field that is nested in `above`.
    #[must_use]
    pub fn below(self, above: &str) -> Self {
        let field = self.field.strip_prefix("input.").unwrap_or(&self.field);
        Self::new(&format!("{above}.{field}"), self.reason)
    }
}

refusal! {
    /// The key is already used by another document.
    struct AlreadyExists as "ALREADY_EXISTS" shareable {
        /// Key that is already used.
        pub id: ID,
    }
}

impl AlreadyExists {
    /// Another document of the kind `what` has this key.
    pub fn new(what: &str, id: impl Into<String>) -> Self {
        let id = id.into();
        let message = format!("there is already a {what} {id:?}");
        Self::because(message, ID(id))
    }
}

refusal! {
    /// The document or key can't be changed now, because another document or an operation in progress needs it.
    struct InUse as "IN_USE" shareable {}
}

refusal! {
    /// The currencies differ.
    struct CurrencyMismatch as "CURRENCY_MISMATCH" shareable {
        /// Currency that is required.
        pub expected: CurrencyCode,
        /// Currency that was found.
        pub found: CurrencyCode,
    }
}

impl CurrencyMismatch {
    /// The currency of one object is required, and that of the other was found. The message names both objects.
    pub fn new(expected: (&str, CurrencyCode), found: (&str, CurrencyCode)) -> Self {
        let [is, is_not] = [expected, found].map(|(what, of)| format!("{what} {}", of.code()));
        Self::because(format!("the currencies differ: {is}, {is_not}"), expected.1, found.1)
    }
}

/// The fault of a mutation's input.
#[derive(Debug)]
pub enum Unusable {
    /// It names a document that can't exist.
    Missing(NotFound),
    /// A field has an invalid value.
    Invalid(InvalidInput),
}

impl From<NotFound> for Unusable {
    fn from(refusal: NotFound) -> Self {
        Self::Missing(refusal)
    }
}

impl From<InvalidInput> for Unusable {
    fn from(refusal: InvalidInput) -> Self {
        Self::Invalid(refusal)
    }
}

/// The early end of an operation. `U` is the result union of the mutation.
#[derive(Debug)]
pub enum Stop<U> {
    /// A refusal, which is returned as data.
    Refused(U),
    /// A failure, which is returned as an error.
    Failed(Error),
}

impl<U, R: Refusal> From<R> for Stop<U>
where
    U: From<R>,
{
    fn from(refusal: R) -> Self {
        Self::Refused(refusal.into())
    }
}

impl<U: MutationResult> From<Unusable> for Stop<U> {
    fn from(unusable: Unusable) -> Self {
        match unusable {
            Unusable::Missing(refusal) => U::missing(refusal),
            Unusable::Invalid(refusal) => refusal.into(),
        }
    }
}

impl<U: From<Conflict>> From<OtherInput> for Stop<U> {
    fn from(_: OtherInput) -> Self {
        Conflict::other_input().into()
    }
}

/// The result of a mutation: what it returns, or a refusal. [`result!`](super::mutations) implements it.
pub trait MutationResult: OutputType + From<InvalidInput> {
    /// What its operation returns, if nothing converts that for this mutation.
    type Value;
    /// Name of the type: the mutation's name in upper camel case, followed by `Result`.
    const NAME: &'static str;
    /// The mutation's room.
    const ROOM: &'static str;

    /// The refusal of an input that names a document that can't exist.
    fn missing(refusal: NotFound) -> Stop<Self>;
}

/// What the operation of a mutation returns, by the mutation's result.
pub type Answer<U> = Result<<U as MutationResult>::Value, Stop<U>>;

impl<U> From<Error> for Stop<U> {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Converts the result of an operation to the result of its mutation.
///
/// # Errors
/// A failure is returned as its error.
pub fn answer<T, U: From<T> + MutationResult>(
    result: Result<T, Stop<U>>,
) -> async_graphql::Result<Option<U>> {
    match result {
        Ok(thing) => Ok(Some(thing.into())),
        Err(Stop::Refused(refusal)) => {
            count(&refusal);
            Ok(Some(refusal))
        }
        Err(Stop::Failed(error)) => Err(error.into()),
    }
}

/// Counts a refusal in the metrics: by room, mutation and type of refusal.
fn count<U: MutationResult>(refusal: &U) {
    let mut mutation = U::NAME.strip_suffix("Result").unwrap_or(U::NAME).to_owned();
    if let Some(first) = mutation.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    request::refused(U::ROOM, mutation, refusal.introspection_type_name());
}

/// Any refusal, for callers that aren't clients of the schema.
#[derive(Debug)]
pub struct AnyRefusal {
    /// Kind of refusal.
    pub code: &'static str,
    /// Explanation in English, for people.
    pub message: String,
}

impl<R: Coded> From<R> for AnyRefusal {
    fn from(refusal: R) -> Self {
        Self { code: R::CODE, message: refusal.message() }
    }
}

/// Queries have no result union: an invalid argument is answered with the error `BAD_USER_INPUT`.
impl From<InvalidInput> for Error {
    fn from(invalid: InvalidInput) -> Self {
        let field = invalid.field.strip_prefix("input.").unwrap_or(&invalid.field).to_owned();
        Self::bad_input(field, invalid.reason)
    }
}
