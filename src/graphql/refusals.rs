//! Refusals: expected outcomes are data. Every mutation returns a union of its result and the refusals that
//! can occur. A refusal means that nothing was changed.

use async_graphql::{Enum, ID, OutputType, SimpleObject};

use super::{
    node_id::NodeKind,
    scalars::{CurrencyCode, Long},
};
use crate::{error::Error, flow::OtherInput, metrics::request};

/// Kind of refusal. Programs can rely on these values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum ErrorCode {
    /// The document doesn't exist or isn't visible to the caller.
    NotFound,
    /// The document was changed in the meantime, or the idempotency key was used with another input.
    Conflict,
    /// An input field has an invalid value.
    InvalidInput,
    /// The key is already used by another document.
    AlreadyExists,
    /// Another document or an operation under way still needs this one.
    InUse,
    /// The cart can't be changed in its present state.
    CartNotActive,
    /// The cart has no lines.
    CartEmpty,
    /// The stock doesn't cover the quantity.
    InsufficientStock,
    /// The payment provider declined the payment.
    PaymentDeclined,
    /// The account holds less than the amount.
    InsufficientFunds,
    /// The account is closed.
    AccountClosed,
    /// The amount would raise the balance above the account's upper limit.
    AccountFull,
    /// The account holds money, or some of its transfers aren't finished.
    AccountNotEmpty,
    /// The currencies differ.
    CurrencyMismatch,
    /// The transfer can't be cancelled or reversed in its present state.
    TransferNotCancellable,
    /// The order can't be changed in its present state.
    OrderNotOpen,
    /// The move would make a document its own ancestor.
    WouldMakeCircle,
    /// The proof that the name belongs to the user is missing, invalid or expired.
    ProofNeeded,
    /// The discussion holds as many comments as its layout permits.
    DiscussionFull,
    /// The layout of the discussion doesn't support threads.
    NotServedByLayout,
    /// The comment was removed.
    CommentRemoved,
    /// The time in which the comment could be edited is over.
    EditWindowOver,
    /// The file exceeds the maximum size.
    FileTooLarge,
    /// Files of this media type aren't accepted.
    MediaTypeNotAllowed,
}

/// A type of refusal. Operations can return it early with `?`.
pub trait Refusal {}

/// Maximum number of characters of an id that a refusal repeats. docgate's own ids are shorter.
const REPEATED: usize = 256;

/// A document doesn't exist or isn't visible to the caller.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(shareable)]
pub struct NotFound {
    /// Always `NOT_FOUND`.
    pub code: ErrorCode,
    /// Explanation in English, for people. Programs should use `code`.
    pub message: String,
    /// Kind of document, such as `cart`.
    pub what: String,
    /// Id or key that was given.
    pub id: ID,
}

impl NotFound {
    /// No document of the kind `what` with this id exists or is visible to the caller.
    pub fn new(what: &'static str, id: impl Into<String>) -> Self {
        let id = id.into();
        let message = format!("there is no {what} {id:?}");
        Self { code: ErrorCode::NotFound, message, what: what.into(), id: ID(id) }
    }

    /// No document of the kind `what` can have the given id. Only the beginning of a long id is repeated.
    pub fn given(what: &'static str, id: &str) -> Self {
        Self::new(what, id.chars().take(REPEATED).collect::<String>())
    }

    /// No document of this kind with this `_id` exists or is visible to the caller.
    pub fn of(kind: NodeKind, key: &str) -> Self {
        Self::new(kind.name(), kind.id(key).0)
    }
}

/// The document was changed since it was read, or the idempotency key can't be used again.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(shareable)]
pub struct Conflict {
    /// Always `CONFLICT`.
    pub code: ErrorCode,
    /// Explanation in English, for people. Programs should use `code`.
    pub message: String,
    /// Current version of the document, if the conflict is about its version; else null.
    pub current_version: Option<ID>,
}

impl Conflict {
    /// The idempotency key was used before with another input.
    pub fn other_input() -> Self {
        Self::because("the idempotency key was used before with another input; nothing was changed")
    }

    /// The op with this idempotency key was aborted before it was applied.
    pub fn given_up() -> Self {
        Self::because(
            "this op was given up and nothing was applied; send it again with a new idempotency key",
        )
    }

    /// The given version isn't the current one.
    pub fn stale_nonce(current: impl Into<String>) -> Self {
        let conflict = Self::because("it was changed since you read it; merge and send again");
        Self { current_version: Some(ID(current.into())), ..conflict }
    }

    /// Another conflict; the message must be safe to show to clients.
    pub fn because(message: &str) -> Self {
        Self { code: ErrorCode::Conflict, message: message.into(), current_version: None }
    }
}

/// An input field has an invalid value. Nothing was changed.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(shareable)]
pub struct InvalidInput {
    /// Always `INVALID_INPUT`.
    pub code: ErrorCode,
    /// Explanation in English, for people. Programs should use `code`.
    pub message: String,
    /// Path of the input field, such as `input.quantity`.
    pub field: String,
    /// What is wrong with the value.
    pub reason: String,
}

impl InvalidInput {
    /// The refusal of a field; its path is relative to the mutation's `input`.
    pub fn new(field: &str, reason: impl Into<String>) -> Self {
        let (field, reason) = (format!("input.{field}"), reason.into());
        Self { code: ErrorCode::InvalidInput, message: format!("{field}: {reason}"), field, reason }
    }

    /// The same refusal for a field that is nested in `above`.
    #[must_use]
    pub fn below(self, above: &str) -> Self {
        let field = self.field.strip_prefix("input.").unwrap_or(&self.field);
        Self::new(&format!("{above}.{field}"), self.reason)
    }
}

/// The key is already used by another document.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(shareable)]
pub struct AlreadyExists {
    /// Always `ALREADY_EXISTS`.
    pub code: ErrorCode,
    /// Explanation in English, for people. Programs should use `code`.
    pub message: String,
    /// Key that is already used.
    pub id: ID,
}

impl AlreadyExists {
    /// Another document of the kind `what` has this key.
    pub fn new(what: &str, id: impl Into<String>) -> Self {
        let id = id.into();
        let message = format!("there is already a {what} {id:?}");
        Self { code: ErrorCode::AlreadyExists, message, id: ID(id) }
    }
}

/// The document or key can't be changed now, because another document or an operation under way needs it.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(shareable)]
pub struct InUse {
    /// Always `IN_USE`.
    pub code: ErrorCode,
    /// Explanation in English, for people. Programs should use `code`.
    pub message: String,
}

impl InUse {
    /// What still needs it; the message must be safe to show to clients.
    pub fn because(message: &str) -> Self {
        Self { code: ErrorCode::InUse, message: message.into() }
    }
}

/// The stock doesn't cover the quantity. Nothing was changed.
#[derive(Debug, Clone, SimpleObject)]
pub struct InsufficientStock {
    /// Always `INSUFFICIENT_STOCK`.
    pub code: ErrorCode,
    /// Explanation in English, for people. Programs should use `code`.
    pub message: String,
    /// SKU of the product.
    pub sku: ID,
    /// Number of pieces in terms of the call: the pieces to add for `addCartLine`, the new quantity of the
    /// line for other mutations.
    pub requested: Long,
    /// Number of these pieces that can be had: the free ones, plus the ones that the line already holds if a
    /// quantity is set.
    pub available: Long,
}

impl InsufficientStock {
    /// `requested` pieces of the SKU were requested, of which only `available` can be had.
    pub fn new(sku: &str, requested: i64, available: i64) -> Self {
        let message = format!("{requested} of {sku:?} are asked for and {available} can be had");
        let (requested, available) = (Long(requested), Long(available));
        Self {
            code: ErrorCode::InsufficientStock,
            message,
            sku: ID(sku.into()),
            requested,
            available,
        }
    }
}

/// The currencies differ.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(shareable)]
pub struct CurrencyMismatch {
    /// Always `CURRENCY_MISMATCH`.
    pub code: ErrorCode,
    /// Explanation in English, for people. Programs should use `code`.
    pub message: String,
    /// Currency that is required.
    pub expected: CurrencyCode,
    /// Currency that was found.
    pub found: CurrencyCode,
}

impl CurrencyMismatch {
    /// `expected` is required, and `found` was found.
    pub fn new(expected: CurrencyCode, found: CurrencyCode) -> Self {
        let message = format!("the currency is {}, not {}", found.code(), expected.code());
        Self { code: ErrorCode::CurrencyMismatch, message, expected, found }
    }
}

impl Refusal for NotFound {}
impl Refusal for Conflict {}
impl Refusal for InvalidInput {}
impl Refusal for AlreadyExists {}
impl Refusal for InUse {}
impl Refusal for InsufficientStock {}
impl Refusal for CurrencyMismatch {}

/// Why the input of a mutation is invalid.
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

/// Why an operation ended early. `U` is the result union of the mutation.
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

/// The result of a mutation: what it returns, or a refusal. [`result!`](super::declared) implements it.
pub trait MutationResult: OutputType + From<InvalidInput> {
    /// Name of the type: the mutation's name in upper camel case, followed by `Result`.
    const NAME: &'static str;
    /// The mutation's room.
    const ROOM: &'static str;

    /// The refusal of an input that names a document that can't exist.
    fn missing(refusal: NotFound) -> Stop<Self>;
}

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
) -> async_graphql::Result<U> {
    match result {
        Ok(thing) => Ok(thing.into()),
        Err(Stop::Refused(refusal)) => {
            count(&refusal);
            Ok(refusal)
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

/// Queries have no result union: an invalid argument is answered with the error `BAD_USER_INPUT`.
impl From<InvalidInput> for Error {
    fn from(invalid: InvalidInput) -> Self {
        let field = invalid.field.strip_prefix("input.").unwrap_or(&invalid.field).to_owned();
        Self::bad_input(field, invalid.reason)
    }
}
