//! The flow engine: writes that span several documents and survive a crash at any point. The steps of a flow are:
//!
//! 1. *reserve* what the flow needs, marked with its tag;
//! 2. *commit* by one guarded update of the flow's decider, which also writes its outbox;
//! 3. *apply* the entries of the outbox, each receiver remembering the tag in the same update;
//! 4. *settle*: record on the decider what was applied. The receivers' marks are removed later, when no repeat of an
//!    apply can arrive any more.
//!
//! A flow leaves out the steps that it doesn't need: lowering a cart line reserves nothing, for example. An *abort*
//! begins by marking the tag as void on the decider; then what was reserved is *released*.
//!
//! | write | document | guard, beside the rules of the room | deadline | if its outcome is unknown |
//! |---|---|---|---|---|
//! | reserve | receiver | the tag isn't marked | yes | a repeat finds the mark, or the sweep ends the flow |
//! | commit | decider | neither the op nor the tag is recorded | yes | a repeat finds the op, or the sweep ends the flow |
//! | apply | receiver | the tag isn't marked | yes | the entry is still in the outbox and is applied again |
//! | settle | decider | the entry is in the outbox | no | the entry is applied (without effect) and settled again |
//! | abort | decider | the tag isn't recorded | no | it is repeated, or left to the sweep |
//! | release | receiver | the tag is marked | no | it is repeated, or left to the sweep |
//!
//! Reserve and apply leave separate marks. The guard of an apply demands that the receiver has neither mark of its tag.
//! The tag of an apply is therefore not the tag of a reserve on the same receiver.
//!
//! A sweep finishes every committed flow. The sweeps of carts, orders, assets and identities abort uncommitted flows.
//! The sweep of comments commits them. The sweep of transfers continues them, except payments, which the sweep of
//! orders voids.
//!
//! The last three writes need no deadline. A settled entry is never written again, so a late settle changes nothing. A
//! late abort voids only an uncommitted tag. A late release finds no mark, or does what the abort has already decided.
//! Where a room differs from the table, its head says so and why that is safe: an insert can't carry a deadline, and
//! transfers and checkouts have a state in the place of the outbox.
//!
//! An [`Op`] identifies a requested change. All calls with the same idempotency key have the same op; a call with
//! another input is a conflict. A call tries the flow one or more times. Each try reads the decider again and has its
//! own [`Attempt`]. No try begins after the first attempt's length has passed; the call then fails with `Unavailable`.
//! A tag belongs to the op and outlives the attempt: a later try has the same tag unless that was marked void.
//!
//! The record of an op contains a hash of the key, the digest of its input and its tag, but no result. A repeat of a
//! committed op finishes its outbox and returns the decider as it is now.
//!
//! - [`Attempt`]: one execution of a flow, with a deadline on the server's clock; [`Bounds`] has its length
//! - [`decide()`]: the loop of every flow: read, try, and read again after a refusal; a try returns a [`Step`]
//! - [`Op`]: a requested change; [`OpRecord`] is its record on the decider
//! - [`Decider`]: a document that holds op records
//! - [`Change`]: a guarded write of one document as a value, with its rules and the reason of each refusal; [`Verdict`]
//!   is what became of it
//! - [`Try`]: one try of an op within an attempt
//! - [`Collection::commit`] and [`Collection::abort`]: the commit of a change, and the abort of a tag
//! - [`Sweep`]: the clock and the result of one pass of a room's sweep, which finishes what was interrupted
//! - [`decision`]: flows whose decider is inserted by the commit, and exists only if they were decided
//! - [`lease`]: one holder at a time, until a deadline on the server's clock
//! - [`agreement`]: what gateways state of the settings that must be the same in all of them
//! - [`tree`]: documents that carry copies of their ancestors' values
//!
//! A caller must:
//!
//! - begin each attempt with a read of the decider ([`Collection::begin_with`]);
//! - send each reserve and each apply within the attempt ([`Guarded::within`]); `commit` does so itself;
//! - reserve under the tag that [`Op::tag`] returns, and pass the release to `commit` as `undo`;
//! - stop after an unknown outcome, and leave the flow to a repeat or to the sweep;
//! - state a guard as rules if its refusals have reasons ([`Change::ruled`]), or read the document after a refusal;
//! - list each kind of unfinished flow in the room's sweep.
//!
//! [`Collection::commit`]: crate::mongo::Collection::commit
//! [`Collection::abort`]: crate::mongo::Collection::abort
//! [`Collection::begin_with`]: crate::mongo::Collection::begin_with
//! [`Guarded::within`]: crate::mongo::guarded::Guarded::within

pub mod agreement;
mod attempt;
mod change;
mod decide;
pub mod decision;
pub mod lease;
mod ops;
mod sweep;
pub mod tree;

pub use attempt::{Attempt, Bounds, earlier, later};
pub use change::{Change, OfEach, Verdict};
pub use decide::{Step, decide};
pub use ops::{Decider, OPS_CAP, Op, OpRecord, OtherInput, Try, kept};
pub use sweep::{Pages, Places, Sweep};
