//! Expected outcomes are data: every mutation answers with a union of the thing itself and the ways
//! it can be refused. A refusal changed nothing.

use async_graphql::{Enum, ID, OutputType, SimpleObject};

use super::{
    node_id::NodeKind,
    scalars::{CurrencyCode, Long},
};
use crate::{error::Error, metrics::request};

/// What kind of refusal it is; stable, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum ErrorCode {
    /// It doesn't exist, or not for you.
    NotFound,
    /// It was changed by someone else, or the op id was used for something else.
    Conflict,
    /// An input can't be used.
    InvalidInput,
    /// The key is already taken.
    AlreadyExists,
    /// Something else still needs it.
    InUse,
    /// The cart takes no changes in its present state.
    CartNotActive,
    /// There is nothing in the cart.
    CartEmpty,
    /// Less in stock than asked for.
    InsufficientStock,
    /// The payment provider declined.
    PaymentDeclined,
    /// The account holds less than asked for.
    InsufficientFunds,
    /// The account is closed.
    AccountClosed,
    /// The amount would lift the account above the largest balance that it takes.
    AccountFull,
    /// The account can't be closed yet.
    AccountNotEmpty,
    /// The amounts are of different currencies.
    CurrencyMismatch,
    /// The transfer is past the point where it could be cancelled or reversed.
    TransferNotCancellable,
    /// The order takes no changes in its present state.
    OrderNotOpen,
    /// The move would make something its own ancestor.
    WouldMakeCircle,
    /// Nothing shows that the name is the caller's.
    ProofNeeded,
    /// The discussion holds as many comments as its layout takes.
    DiscussionFull,
    /// The layout of the discussion can't serve it.
    NotServedByLayout,
    /// The comment was removed.
    CommentRemoved,
    /// The comment was posted too long ago.
    EditWindowOver,
    /// The file is larger than files may be here.
    FileTooLarge,
    /// Files of this media type aren't taken here.
    MediaTypeNotAllowed,
}

/// A type that tells why a mutation was refused. It marks what may leave an operation through `?`.
pub trait Refusal {}

/// Characters of an id that a refusal repeats at the most. Ids that docgate gives are shorter.
const REPEATED: usize = 256;

/// What was asked for doesn't exist, or isn't yours to see.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(shareable)]
pub struct NotFound {
    /// `NOT_FOUND`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// What kind of thing, such as `cart`.
    pub what: String,
    /// The id or key that was given.
    pub id: ID,
}

impl NotFound {
    /// Nothing of the kind `what` with that id is there, or not for this caller.
    pub fn new(what: &'static str, id: impl Into<String>) -> Self {
        let id = id.into();
        let message = format!("there is no {what} {id:?}");
        Self { code: ErrorCode::NotFound, message, what: what.into(), id: ID(id) }
    }

    /// Nothing of the kind `what` can have the id that was given. Of a long one only the beginning is repeated.
    pub fn given(what: &'static str, id: &str) -> Self {
        Self::new(what, id.chars().take(REPEATED).collect::<String>())
    }

    /// Nothing of that kind has this `_id`, or not for this caller.
    pub fn of(kind: NodeKind, key: &str) -> Self {
        Self::new(kind.name(), kind.id(key).0)
    }
}

/// The thing changed since you read it, or the op id was used before for something else.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(shareable)]
pub struct Conflict {
    /// `CONFLICT`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The nonce that the thing has now, where the conflict is about one.
    pub current_nonce: Option<ID>,
}

impl Conflict {
    /// The op id was already used with another input.
    pub fn other_input() -> Self {
        Self::because("the op id was used before with another input; nothing was changed")
    }

    /// The op id was given up before it was applied.
    pub fn given_up() -> Self {
        Self::because(
            "this op was given up and nothing was applied; send it again with a new op id",
        )
    }

    /// The nonce isn't the current one.
    pub fn stale_nonce(current: impl Into<String>) -> Self {
        let conflict = Self::because("it was changed since you read it; merge and send again");
        Self { current_nonce: Some(ID(current.into())), ..conflict }
    }

    /// Another conflict, in words that are safe to show.
    pub fn because(message: &str) -> Self {
        Self { code: ErrorCode::Conflict, message: message.into(), current_nonce: None }
    }
}

/// An input can't be used.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(shareable)]
pub struct InvalidInput {
    /// `INVALID_INPUT`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// Path of the input field, such as `input.quantity`.
    pub field: String,
    /// What is wrong with it.
    pub reason: String,
}

impl InvalidInput {
    /// What is wrong with which field; the path is relative to the mutation's `input`.
    pub fn new(field: &str, reason: impl Into<String>) -> Self {
        let (field, reason) = (format!("input.{field}"), reason.into());
        Self { code: ErrorCode::InvalidInput, message: format!("{field}: {reason}"), field, reason }
    }

    /// The same of a field that lies below `above`.
    #[must_use]
    pub fn below(self, above: &str) -> Self {
        let field = self.field.strip_prefix("input.").unwrap_or(&self.field);
        Self::new(&format!("{above}.{field}"), self.reason)
    }
}

/// The key is already taken by another thing.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(shareable)]
pub struct AlreadyExists {
    /// `ALREADY_EXISTS`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The key that is taken.
    pub id: ID,
}

impl AlreadyExists {
    /// Another `what` has that key.
    pub fn new(what: &str, id: impl Into<String>) -> Self {
        let id = id.into();
        let message = format!("there is already a {what} {id:?}");
        Self { code: ErrorCode::AlreadyExists, message, id: ID(id) }
    }
}

/// It can't be removed while something else needs it.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(shareable)]
pub struct InUse {
    /// `IN_USE`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
}

impl InUse {
    /// What still needs it, in words that are safe to show.
    pub fn because(message: &str) -> Self {
        Self { code: ErrorCode::InUse, message: message.into() }
    }
}

/// Less is in stock than asked for.
#[derive(Debug, Clone, SimpleObject)]
pub struct InsufficientStock {
    /// `INSUFFICIENT_STOCK`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The product that is short.
    pub sku: ID,
    /// How many were asked for, as the call says it: more of them where it adds, in all where it sets
    /// a quantity.
    pub requested: Long,
    /// How many of those can be had: the free ones, and where a quantity is set also those that the
    /// line holds already.
    pub available: Long,
}

impl InsufficientStock {
    /// `requested` of the SKU are asked for and only `available` of them can be had.
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

/// The cart takes no changes in its present state.
#[derive(Debug, Clone, SimpleObject)]
pub struct CartNotActive {
    /// `CART_NOT_ACTIVE`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The state that the cart is in: the name of a value of `CartState`.
    pub state: String,
}

impl CartNotActive {
    /// The cart is in `state`.
    pub fn new(state: &str) -> Self {
        let message = format!("the cart takes no changes while it is {state}");
        Self::because(state, message)
    }

    /// The cart that an op id opened is in `state`, in which it stays closed.
    pub fn opened_before(state: &str) -> Self {
        let message = format!(
            "the cart that this op id opened is {state}; open another one with a new op id"
        );
        Self::because(state, message)
    }

    fn because(state: &str, message: String) -> Self {
        Self { code: ErrorCode::CartNotActive, message, state: state.to_owned() }
    }
}

/// Amounts of different currencies can't be brought together.
#[derive(Debug, Clone, SimpleObject)]
#[graphql(shareable)]
pub struct CurrencyMismatch {
    /// `CURRENCY_MISMATCH`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The currency that was needed.
    pub expected: CurrencyCode,
    /// The currency that was found.
    pub found: CurrencyCode,
}

impl CurrencyMismatch {
    /// `expected` was needed, and it is `found`.
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
impl Refusal for CartNotActive {}
impl Refusal for CurrencyMismatch {}

/// Why the input of a mutation can't be used.
#[derive(Debug)]
pub enum Unusable {
    /// What it names can't be there.
    Missing(NotFound),
    /// It is none.
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

/// Why an operation ended early: `U` is the union that the mutation answers with.
#[derive(Debug)]
pub enum Stop<U> {
    /// An expected refusal: an answer.
    Refused(U),
    /// Trouble: an error.
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

impl<U: From<NotFound> + From<InvalidInput>> From<Unusable> for Stop<U> {
    fn from(unusable: Unusable) -> Self {
        match unusable {
            Unusable::Missing(refusal) => refusal.into(),
            Unusable::Invalid(refusal) => refusal.into(),
        }
    }
}

impl<U> From<Error> for Stop<U> {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Turns what an operation said into what its mutation answers.
///
/// # Errors
/// Trouble goes on as the error it is.
pub fn answer<T, U: From<T> + OutputType>(said: Result<T, Stop<U>>) -> Result<U, Error> {
    match said {
        Ok(thing) => Ok(thing.into()),
        Err(Stop::Refused(refusal)) => {
            note(&refusal);
            Ok(refusal)
        }
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Counts a refusal, by the room and the mutation of its union and by its own type.
fn note<U: OutputType>(refusal: &U) {
    // What a union is called, and where it stands, is the same in every room.
    let path = std::any::type_name::<U>().split_once("::domains::");
    let room = path.and_then(|(_, path)| path.split_once("::")).map_or("other", |(room, _)| room);
    let union = U::type_name();
    let mutation = union.strip_suffix("Result").unwrap_or(&union);
    let mut mutation = mutation.to_owned();
    if let Some(first) = mutation.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    request::refused(room, mutation, refusal.introspection_type_name());
}

/// For reads, which have no union: a fault of an argument is `BAD_USER_INPUT` there.
impl From<InvalidInput> for Error {
    fn from(invalid: InvalidInput) -> Self {
        let field = invalid.field.strip_prefix("input.").unwrap_or(&invalid.field).to_owned();
        Self::bad_input(field, invalid.reason)
    }
}
