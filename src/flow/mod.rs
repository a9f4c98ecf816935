//! The flow engine: operations that write several documents and survive a crash at any point. All flows have the
//! same steps:
//!
//! 1. *reserve* what the flow needs, marked with its tag;
//! 2. *commit* by one guarded update of the flow's decider, which also writes its outbox;
//! 3. *apply* the entries of the outbox, each receiver remembering the tag in the same update;
//! 4. *settle*: record on the decider that the entries were applied, and remove the marks when no late write can
//!    need them.
//!
//! An *abort* first marks the tag as void on the decider. The guard of this write is that the flow isn't committed.
//!
//! - [`Attempt`]: one execution of a flow, with a deadline on the server's clock
//! - [`decide()`]: the loop of every flow: read, try, and read again after a refusal
//! - [`Op`]: an idempotency key, and its record on the decider
//! - [`Sweep`]: finishes interrupted flows
//! - [`lease`]: one holder at a time, until a deadline on the server's clock
//! - [`tree`]: documents that carry copies of their ancestors' values

mod attempt;
mod decide;
pub mod lease;
mod ops;
mod sweep;
pub mod tree;

pub use attempt::{Attempt, Bounds, millis};
pub use decide::{Step, decide};
pub use ops::{Change, Decider, OPS_CAP, Op, OpRecord, OtherInput, Try, kept};
pub use sweep::Sweep;
