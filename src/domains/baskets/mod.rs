//! A basket is a document in which a user collects goods or seats before the checkout. Carts and bookings are baskets.
//!
//! ```text
//!                        open          checkout with a claim
//!                          │           ┌─────────────────────▶ PENDING ──▶ PAID ──▶ COMPLETE
//!                          ▼           │                          │          ▲
//!       changes         ACTIVE ────────┘◀──────── VOIDING ◀───────┘          │
//!                       │ │  └───────────────────────────────────────────────┘
//!                 cancel│ │idle for too long   checkout without a claim
//!                       ▼ ▼
//!            CANCELLING   EXPIRING     all that it holds is given back
//!                     ▼   ▼
//!             CANCELLED   EXPIRED
//! ```
//!
//! A basket is the decider of its changes and of its checkout. It holds something at receivers, such as stock or seats. Its
//! outbox lists what it still has to give back. A room declares its type of baskets by [`basket!`], and gets from this
//! module:
//!
//! - [`open`], [`begin`], [`cancel`], [`erase`], and the [`sweep`] of baskets that are idle or being closed;
//! - the guarded writes of each change of state (`store.rs`).
//!
//! The checkout is the module [`checkout`](super::checkout).
//!
//! A basket without an owner may be used by anyone who knows its id. CANCELLING and EXPIRING end all commits, so the outbox
//! is complete then.

mod closing;
mod store;

use std::fmt;

use mongodb::bson::{Bson, DateTime, Document};

pub use closing::{begin, cancel, erase, may_use, open, sweep, sweep_untouched};
pub use store::{
    CheckedOut, abort, active_as_read, baskets, bounds, complete, decide, find_active_of, freeze,
    is_decided_by, list_decided, list_overdue, modified, now, pay, reactivate, settle,
};

use crate::{
    config::Config,
    domains::paying::Payment,
    error::Result,
    flow::{Attempt, Decider},
    graphql::{node_id::NodeKind, refusals::Refusal, scalars::CurrencyCode},
};

/// State of a basket. Each room has its own type for clients, with the same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It can be changed and checked out.
    Active,
    /// A checkout with a claim is in progress.
    Pending,
    /// A checkout is being undone.
    Voiding,
    /// The checkout has decided.
    Paid,
    /// It was checked out.
    Complete,
    /// It was idle for too long, and gives back what it holds.
    Expiring,
    /// It was idle for too long.
    Expired,
    /// It was cancelled, and gives back what it holds.
    Cancelling,
    /// It was cancelled.
    Cancelled,
}

impl State {
    /// The stored form.
    pub const fn stored(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Pending => "PENDING",
            Self::Voiding => "VOIDING",
            Self::Paid => "PAID",
            Self::Complete => "COMPLETE",
            Self::Expiring => "EXPIRING",
            Self::Expired => "EXPIRED",
            Self::Cancelling => "CANCELLING",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Whether nothing changes any more.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Complete | Self::Expired | Self::Cancelled)
    }

    /// Whether it is active or can become active again.
    pub const fn may_become_active(self) -> bool {
        matches!(self, Self::Active | Self::Pending | Self::Voiding)
    }
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.stored())
    }
}

impl From<State> for Bson {
    fn from(state: State) -> Self {
        state.stored().into()
    }
}

/// What is the same of the stored checkouts of all kinds of baskets.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// Id of the checkout, and of what it places.
    pub id: &'a str,
    /// Tag of a checkout without a claim.
    pub tag: Option<&'a str>,
    /// Id of the payment.
    pub payment_id: &'a str,
    /// Subject of the caller who checks out, if there is a token.
    pub owner: Option<&'a str>,
    /// Id of the op that began it.
    pub op: &'a str,
    /// Digest of the op's input.
    pub input: &'a str,
    /// Means of payment.
    pub payment: &'a Payment,
    /// What is to be paid, in minor units.
    pub total: i64,
    /// Deadline of the attempt that began it, on the server's clock.
    pub deadline: DateTime,
}

impl<'a> Terms<'a> {
    /// Tag under which the checkout reserves: with a claim it is the checkout's id.
    pub fn reserves_under(self) -> &'a str {
        self.tag.unwrap_or(self.id)
    }
}

/// A kind of baskets. [`basket!`] implements it.
pub trait Basket: Decider + Clone {
    /// The stored checkout.
    type Checkout: serde::Serialize + Clone + Send + Sync + 'static;
    /// The refusal of a change because of the state.
    type NotActive: Refusal;

    /// Its name for people, such as `cart`.
    const NAME: &'static str;
    /// The reason of a refusal because the basket was changed too often.
    const TOO_MANY: &'static str;
    /// The kind of its global id.
    const KIND: NodeKind;
    /// Maximum number of op records.
    const MOST_OPS: usize;
    /// Stored name of the number of checkouts.
    const CHECKOUTS: &'static str;
    /// Stored state of a basket that is PAID by a checkout without a claim.
    const DECIDED: &'static str = State::Paid.stored();

    /// `_id`.
    fn id(&self) -> &str;
    /// Subject of its owner, if there is one.
    fn owner(&self) -> Option<&str>;
    /// Currency of all amounts.
    fn currency(&self) -> CurrencyCode;
    /// State.
    fn state(&self) -> State;
    /// The checkout in progress, or the one that closed it.
    fn checkout(&self) -> Option<&Self::Checkout>;
    /// Number of checkouts that were started with a claim.
    fn checkouts(&self) -> i32;
    /// Server time of the last change of its state or content.
    fn modified_at(&self) -> DateTime;
    /// Whether nothing is still to be given back.
    fn owes_nothing(&self) -> bool;
    /// What is the same of all stored checkouts.
    fn terms(checkout: &Self::Checkout) -> Terms<'_>;
    /// The refusal because of its state.
    fn not_active(&self) -> Self::NotActive;
    /// The refusal because of its state, with this message.
    fn not_active_because(&self, message: String) -> Self::NotActive;

    /// What a checkout costs, in minor units.
    fn total(&self) -> i64;
    /// Guard of the decision of a checkout without a claim, and of the freeze of one with a claim: the content is as it was
    /// read, and nothing is still to be given back.
    fn as_read(&self) -> Document;
    /// After how many seconds without a change it expires.
    fn idle_seconds(config: &Config) -> u64;
    /// Fields that are set when it is cancelled or has expired.
    fn ended(_config: &Config) -> Document {
        Document::new()
    }
    /// Applies and settles every entry of its outbox. The basket was read within the attempt.
    ///
    /// # Errors
    /// The outcome of an entry is unknown: it stays in the outbox.
    fn carry_out_outbox(
        &self,
        app: &crate::app::App,
        attempt: &Attempt,
    ) -> impl Future<Output = Result<()>> + Send;
    /// Carries its outbox out, and gives back all else that it holds. Nothing is committed on it any more.
    ///
    /// # Errors
    /// The outcome is unknown. A repeat or the sweep carries on.
    fn give_back(
        &self,
        app: &crate::app::App,
        attempt: &Attempt,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// Declares a kind of baskets: its name, the kind of its ids, its document with the types of its state and of its checkout,
/// the refusal because of the state, and the maximum number of op records. The other items are those of [`Basket`] that
/// differ. The document has the fields `id`, `owner`, `currency`, `state`, `checkout`, `checkouts`, `modified_at` and
/// `outbox`; the checkout has those of [`Terms`].
macro_rules! basket {
    (
        $name:literal $kind:ident = $document:ident($state:ident, $checkout:ident),
        $not_active:ident, $most_ops:expr;
        $($own:tt)*
    ) => {
        impl $crate::domains::baskets::Basket for $document {
            type Checkout = $checkout;
            type NotActive = $not_active;

            const NAME: &'static str = $name;
            const TOO_MANY: &'static str = concat!("too many changes of this ", $name);
            const KIND: $crate::graphql::node_id::NodeKind =
                $crate::graphql::node_id::NodeKind::$kind;
            const MOST_OPS: usize = $most_ops;

            fn id(&self) -> &str {
                &self.id
            }
            fn owner(&self) -> Option<&str> {
                self.owner.as_deref()
            }
            fn currency(&self) -> $crate::graphql::scalars::CurrencyCode {
                self.currency
            }
            fn state(&self) -> $crate::domains::baskets::State {
                self.state.into()
            }
            fn checkout(&self) -> Option<&$checkout> {
                self.checkout.as_ref()
            }
            fn checkouts(&self) -> i32 {
                self.checkouts
            }
            fn modified_at(&self) -> mongodb::bson::DateTime {
                self.modified_at
            }
            fn owes_nothing(&self) -> bool {
                self.outbox.is_empty()
            }
            fn terms(checkout: &$checkout) -> $crate::domains::baskets::Terms<'_> {
                $crate::domains::baskets::Terms {
                    id: &checkout.id,
                    tag: checkout.tag.as_deref(),
                    payment_id: &checkout.payment_id,
                    owner: checkout.owner.as_deref(),
                    op: &checkout.op,
                    input: &checkout.input,
                    payment: &checkout.payment,
                    total: checkout.total,
                    deadline: checkout.deadline,
                }
            }
            fn not_active(&self) -> $not_active {
                $not_active::new(self.state)
            }
            fn not_active_because(&self, message: String) -> $not_active {
                $not_active::because(message, self.state)
            }

            $($own)*
        }

        $crate::domains::baskets::states!($state: Active, Pending, Voiding, Paid, Complete,
            Expiring, Expired, Cancelling, Cancelled);
    };
}
pub(crate) use basket;

/// The conversions of a room's type of states.
macro_rules! states {
    ($state:ident: $($value:ident),+) => {
        impl From<$state> for $crate::domains::baskets::State {
            fn from(state: $state) -> Self {
                match state {
                    $( $state::$value => Self::$value, )+
                }
            }
        }

        impl From<$state> for mongodb::bson::Bson {
            fn from(state: $state) -> Self {
                $crate::domains::baskets::State::from(state).into()
            }
        }
    };
}
pub(crate) use states;
