//! The names by which users can be found: email addresses, usernames, telephone numbers, and their
//! identities at other providers. One document per name, so that a name has one holder and finding it is one
//! read.
//!
//! A name is claimed with evidence that it belongs to the user: either by a service of the operator (which
//! has sent the letter or made the call, and speaks for a user), or by the user with a proof that such a
//! service got from `proveIdentity`. Callers without either can't distinguish a name that is held from a free
//! one.
//!
//! # Deciders
//!
//! ```text
//!   (free) ─▶ held ─▶ tombstone ─▶ (free)     a tombstone may be claimed as well
//!   change:   new: pending ── old: tombstone with `movedTo` (committed) ──▶ new: held ──▶ old: tombstone
//!                    └─────── old: not the user's ─▶ (withdrawn)
//! ```
//!
//! A name's document is its decider. `changeIdentity` reserves the new name (`pending`). The update of the
//! old name commits: it releases that name and states the new one. Then the mark `pending` is removed. Until
//! the commit the user is found by the old name. If the user already has the new name, the mark keeps it from
//! being released meanwhile.
//!
//! A change is identified by the old name and the time since which the user has had it. Once the user has released that
//! name, the change is impossible, even if the user claims the name again. Any caller may remove the mark then. While
//! the user has the old name, only the sweep may remove the mark. It waits for two grace periods, because an attempt
//! renews the mark before it commits: by then the commit is either visible or impossible. Two changes that each release
//! the other's new name therefore wait for the sweep.
//!
//! A released name stays as a tombstone for two grace periods: a late claim finds its key taken.
//!
//! # Invariants
//!
//! Every `_id` follows from kind and value, and the value is in its normal form. No name is pending for a
//! change that was committed or aborted. A user who changes a name has a name at any time.

mod documents;
pub mod invariants;
mod normal;
pub mod operations;
mod person;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{Room, broadcasts::broadcasts, room::documented};
pub use documents::{Author, IdentityDocument};

pub const ROOM: Room = Room {
    documents: &[documented::<IdentityDocument>()],
    broadcasts: broadcasts! {
        "identities" {
            find "userId" = "list: the names of a user",
            find "pending.at" = "sweep: changes that were cut",
            find "releasedAt" = "sweep: names that were let go",
            delete "releasedAt" = "sweep: names that were let go",
        }
    },
    personal: person::PERSONAL,
    erase: Some(|app, erasing| Box::pin(person::erase(app, erasing))),
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("identities")
};
