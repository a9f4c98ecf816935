//! The flow engine: writes that span several documents and survive a crash at any point. The steps of a flow are:
//!
//! 1. *reserve* what the flow needs, marked with its tag;
//! 2. *commit* by one guarded update of the flow's decider, which also writes its outbox;
//! 3. *apply* the entries of the outbox, each receiver remembering the tag in the same update;
//! 4. *settle*: note on the decider what was applied. The receivers' marks are removed later, when no repeat of an
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
//! Sweeps finish committed flows. Uncommitted flows: the sweeps of carts and orders abort them; the sweeps of transfers
//! and comments commit them.
//!
//! The last three writes need no deadline. An entry, a tag and a mark are each used once, so a late write finds its
//! guard broken. Where a room differs from the table, its head says so and why that is safe: an insert can't carry a
//! deadline, and transfers and checkouts have a state in the place of the outbox.
//!
//! One call of a mutation with an idempotency key is one [`Op`]. It makes one or more tries, each on a new read of the
//! decider and with an [`Attempt`] of its own; no try begins after the end of the first attempt. A tag belongs to the
//! op and outlives the attempt: a later try has the same tag unless that was marked void.
//!
//! The record of an op contains its key, the digest of its input and its tag, but no result. A repeat of a committed
//! op finishes its outbox and returns the decider as it is now.
//!
//! - [`Attempt`]: one execution of a flow, with a deadline on the server's clock
//! - [`decide()`]: the loop of every flow: read, try, and read again after a refusal
//! - [`Change`]: a write of one document as a value, with its rules and the reason of each refusal
//! - [`Op`]: an idempotency key, and its record on the decider
//! - [`Sweep`]: the clock and the result of one pass of a room's sweep, which finishes what was interrupted
//! - [`lease`]: one holder at a time, until a deadline on the server's clock
//! - [`tree`]: documents that carry copies of their ancestors' values

mod attempt;
mod change;
mod decide;
pub mod lease;
mod ops;
mod sweep;
pub mod tree;

pub use attempt::{Attempt, Bounds, earlier};
pub use change::{Change, Verdict};
pub use decide::{Step, decide};
pub use ops::{Decider, OPS_CAP, Op, OpRecord, OtherInput, Try, kept};
pub use sweep::Sweep;
