//! The names by which users can be found: e-mail addresses, usernames, telephone numbers, and what other
//! providers call them. One document per name, so that a name has one holder and finding it is one read.
//!
//! A name is claimed by who proved that it is theirs: a service of the operator (which has sent the letter
//! or made the call, and speaks for a user), or the user with a proof that such a service was given by
//! `proveIdentity`. To everyone else a name that is taken looks like one that is free.
//!
//! # Who decides
//!
//! ```text
//!   (free) ─▶ held ─▶ stone ─▶ (free)         a stone may be claimed as well
//!   change:   new: pending ── old: stone with `movedTo` (decided) ──▶ new: held
//!                    └─────── old: not the user's ─▶ (taken back)
//! ```
//!
//! A name's document decides about it. `changeIdentity` takes the new name (`pending`), and is decided by
//! the update of the old one, which lets go of it and says where the user went; then the mark goes. A run
//! renews the mark before it decides, so that whoever finds an old one finds the decision as well, or
//! none that could still come. A name that was let go stays as a stone for two bounds: a claim that comes
//! late finds its key taken.
//!
//! # Invariants
//!
//! Every `_id` is what its kind and value imply, and the value is as it would be stored today. No name
//! waits for a change that was decided or given up.

mod documents;
pub mod invariants;
mod normal;
pub mod operations;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;

pub use documents::IdentityDocument;
