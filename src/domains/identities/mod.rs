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
//!   change:   new: pending ── old: stone with `movedTo` (decided) ──▶ new: held ──▶ old: stone
//!                    └─────── old: not the user's ─▶ (taken back)
//! ```
//!
//! A name's document decides about it. `changeIdentity` takes the new name (`pending`), and is decided by
//! the update of the old one, which lets go of it and says where the user went; then the mark goes. Until
//! then the user is found by the old one. Where the user has the new name already, the mark keeps it from
//! being let go meanwhile.
//!
//! A change is known by the old name and since when the user had it. Once that name was let go it can't
//! be decided any more, even if the user claims the name again: then anyone may take the mark back. While
//! the user has it only the sweep may, past the bound: a run renews the mark before it decides, so that
//! whoever finds an old one finds the decision as well, or none that could still come. Two changes of
//! which each lets go of the other's new name wait for the sweep.
//!
//! A name that was let go stays as a stone for two bounds: a claim that comes late finds its key taken.
//!
//! # Invariants
//!
//! Every `_id` is what its kind and value imply, and the value is in its normal form. No name
//! waits for a change that was decided or given up. Whoever has a name and changes it has one at any time.

mod documents;
pub mod invariants;
mod normal;
pub mod operations;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;

pub use documents::IdentityDocument;
