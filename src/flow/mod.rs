//! The flow engine: writes that span several documents and survive a crash at any point. All flows have the
//! same steps:
//!
//! 1. *reserve* what the flow needs, marked with its tag;
//! 2. *commit* by one guarded update of the flow's decider, which also writes its outbox;
//! 3. *apply* the entries of the outbox, each receiver remembering the tag in the same update;
//! 4. *settle*: note on the decider what was applied. The receivers' marks are removed later, when no repeat of an
//!    apply can arrive any more.
//!
//! An *abort* begins by marking the tag as void on the decider; then what was reserved is *released*.
//!
//! | write | document | guard, beside the rules of the room | deadline | if its outcome is unknown |
//! |---|---|---|---|---|
//! | reserve | receiver | the tag isn't marked | yes | a repeat finds the mark; else the sweep aborts |
//! | commit | decider | neither the op nor the tag is recorded | yes | a repeat finds the op; else the sweep aborts |
//! | apply | receiver | the tag isn't marked | yes | the entry is still in the outbox and is applied again |
//! | settle | decider | the entry is in the outbox | no | the entry is applied (without effect) and settled again |
//! | abort | decider | the tag isn't recorded | no | it is repeated, or left to the sweep |
//! | release | receiver | the tag is marked | no | it is repeated, or left to the sweep |
//!
//! The last three need no deadline: an entry, a tag and a mark are each used once, so a late write finds its guard
//! broken.
//!
//! One call of a mutation is one [`Op`]. It makes one or more tries, each on a new read of the decider, and each
//! try has an [`Attempt`] of its own.
//!
//! - [`Attempt`]: one execution of a flow, with a deadline on the server's clock
//! - [`decide()`]: the loop of every flow: read, try, and read again after a refusal
//! - [`Op`]: an idempotency key, and its record on the decider
//! - [`Sweep`]: finishes what was interrupted
//! - [`lease`]: one gateway at a time, until a deadline on the server's clock
//! - [`tree`]: documents that carry copies of their ancestors' values

mod attempt;
mod decide;
pub mod lease;
mod ops;
mod sweep;
pub mod tree;

pub use attempt::{Attempt, Bounds, earlier};
pub use decide::{Step, decide};
pub use ops::{Change, Decider, OPS_CAP, Op, OpRecord, OtherInput, Try, kept};
pub use sweep::Sweep;
