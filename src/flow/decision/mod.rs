//! Flows whose decider doesn't exist before the commit: the commit inserts it, after everything was taken. Such a decider is
//! a *decision*. It suits flows between equal documents, none of which could be the decider.
//!
//! | step | command | guard | deadline | if its outcome is unknown |
//! |---|---|---|---|---|
//! | take (reserve) | update of each receiver | the rules of its part; the try isn't marked | yes | the sweep voids the decision, and undoes |
//! | decide (commit) | insert of the decision | its id is free | no | a repeat or the sweep reads it |
//! | give (apply) | update of each receiver | the try is marked | no | a repeat or the sweep gives |
//! | settle | update of the decision | it is open | no | the sweep settles |
//! | void (abort) | insert of the decision as void | its id is free | no | it is repeated |
//! | undo (release) | update of each receiver | the try is marked | no | the sweep undoes |
//!
//! Each attempt has a random *try*, under which only it takes. So once its takes were answered, none can arrive any more,
//! and giving and undoing remove the mark. If the connection broke and a take was sent twice, the attempt stops, and the
//! sweep undoes it after its deadline.
//!
//! The insert decides which try is committed. An attempt that can't take everything undoes what it has taken: no other can
//! commit its try. The sweep can't know whether an attempt still means to insert. So it first inserts the decision as void.
//! The op can then be repeated under the next id. The void decisions of an op are remembered longer than its committed one:
//! otherwise a repeat would find the first id free.
//!
//! Nobody waits for the settle. So decisions of several attempts are settled by one command ([`Lot`]), unless there were void
//! ones before, which have to be remembered first ([`settle_behind`]).
//!
//! A room states what is taken, given and undone ([`Statements`]), and calls [`known`], [`carry`], [`settle_lot`],
//! [`settle_behind`] and [`finish`]; its sweep calls [`sweep`] and [`resolve_each`].

mod ending;
mod trying;

use mongodb::bson::DateTime;

pub use ending::{Lot, finish, resolve_each, settle_behind, settle_lot, sweep};
pub use trying::{carry, known};

use super::{Attempt, Bounds, Op};
use crate::{
    error::Error,
    mongo::{Collection, Stored, guarded::Sends},
};

/// A decision.
#[derive(Debug, Clone)]
pub struct Decided<R> {
    /// `_id`: the op, or derived from it and the number of void decisions before.
    pub id: String,
    /// Ids of the op's decisions before, which are void.
    pub after: Vec<String>,
    /// Digest of the op's input.
    pub input: String,
    /// The try that is committed. It is random, so no two attempts insert equal documents.
    pub attempt: String,
    /// Whether no try of it is ever committed.
    pub is_void: bool,
    /// The documents that take part.
    pub receivers: Vec<R>,
    /// Server time of the attempt's beginning.
    pub at: DateTime,
    /// Set until everything is given: `at`.
    pub open_at: Option<DateTime>,
    /// Server time at which it is removed.
    pub expires_at: Option<DateTime>,
}

/// What a room states of its flows with a decision. It is a handle of the gateway, and cheap to copy.
pub trait Statements: Copy + Send + Sync {
    /// The stored decision. Its fields `state`, `openAt` and `expiresAt` are written here, and it has the index `open_at`.
    type Decision: Stored + From<Decided<Self::Receiver>> + Into<Decided<Self::Receiver>>;
    /// The name of a document that takes part.
    type Receiver: Clone + Send + Sync;
    /// The part of one document, as it was read, with its mark.
    type Part: Send + Sync;
    /// The mark of a try on a receiver.
    type Mark: Send + Sync;
    /// What the attempt that decided returns.
    type Given: Send;

    /// The decisions.
    fn decisions(self) -> Collection<Self::Decision>;
    /// The time limits.
    fn bounds(self) -> Bounds;
    /// A random id.
    fn random(self) -> String;
    /// The id of an op's decision after `number` void ones, if there are any.
    fn derived(self, op: &Op, number: usize) -> String;

    /// The name of a part's document.
    fn receiver(part: &Self::Part) -> Self::Receiver;
    /// The marks of a part's document as it was read.
    fn marks_as_read(part: &Self::Part) -> &[Self::Mark];
    /// The mark that a part leaves.
    fn mark(part: &Self::Part) -> &Self::Mark;
    /// Names the decision and the try in the mark of a part.
    fn name(part: &mut Self::Part, decision: &str, attempt: &str);
    /// The decision and the try of a mark.
    fn named(mark: &Self::Mark) -> [&str; 2];
    /// Server time of a mark.
    fn marked_at(mark: &Self::Mark) -> Option<DateTime>;
    /// Whether the flow creates the document of this mark.
    fn creates(mark: &Self::Mark) -> bool;
    /// The documents in the order in which they are given by a repeat or the sweep.
    fn in_order(receivers: &[Self::Receiver]) -> Vec<&Self::Receiver>;

    /// Takes a part, and returns how often the command was sent; `None` if its rules don't hold.
    ///
    /// # Errors
    /// The outcome is unknown.
    fn take(
        self,
        part: &Self::Part,
        attempt: &Attempt,
    ) -> impl Future<Output = Result<Option<Sends>, Error>> + Send;
    /// Gives all parts of a decision that this attempt has inserted.
    ///
    /// # Errors
    /// The outcome is unknown.
    fn give_all(
        self,
        parts: &[Self::Part],
    ) -> impl Future<Output = Result<Self::Given, Error>> + Send;
    /// Gives a part by its mark, unless it is given.
    ///
    /// # Errors
    /// The outcome is unknown.
    fn give(
        self,
        receiver: &Self::Receiver,
        mark: &Self::Mark,
    ) -> impl Future<Output = Result<(), Error>> + Send;
    /// Undoes a part by its mark. Returns whether the mark was there.
    ///
    /// # Errors
    /// The outcome is unknown.
    fn undo(
        self,
        receiver: &Self::Receiver,
        mark: &Self::Mark,
    ) -> impl Future<Output = Result<bool, Error>> + Send;
    /// The marks of a document; none if there is no such document.
    ///
    /// # Errors
    /// `Unread` or `Internal`.
    fn marks(
        self,
        receiver: &Self::Receiver,
    ) -> impl Future<Output = Result<Vec<Self::Mark>, Error>> + Send;
    /// Follows the undoing of an attempt's parts.
    fn undone(self, receivers: &[Self::Receiver]);
    /// Follows the end of a decision that a repeat or the sweep has finished.
    ///
    /// # Errors
    /// What it sends has failed.
    fn finished(
        self,
        receivers: &[Self::Receiver],
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Whether an op was decided before.
pub enum Known<R> {
    /// It wasn't.
    Fresh(Next),
    /// It was.
    Committed(Decided<R>),
    /// Another op with the same idempotency key was.
    OtherInput,
}

/// The decision that an op makes next.
#[derive(Debug, Clone)]
pub struct Next {
    /// Its `_id`.
    pub id: String,
    /// Ids of the op's decisions before, which are void.
    after: Vec<String>,
}

impl Next {
    /// Whether the op has no void decisions.
    pub fn is_first(&self) -> bool {
        self.after.is_empty()
    }
}

/// What became of an attempt.
pub enum Carried<T> {
    /// It has decided, and everything is given.
    Given(T),
    /// Something was changed meanwhile: the documents have to be read again.
    Again,
    /// Another flow is in the way.
    Wait,
}
