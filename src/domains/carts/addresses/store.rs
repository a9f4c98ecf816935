//! MongoDB access of saved addresses.

use super::{
    MAX_ADDRESSES,
    documents::{AddressBookDocument, LabelledAddress},
};
use crate::{graphql::prelude::*, mongo::prelude::*};

pub(super) fn books(app: &App) -> Collection<AddressBookDocument> {
    app.collection()
}

/// Saves an address: it replaces the one with its label, or becomes the last one, if there is room.
pub(super) fn save(
    app: &App,
    subject: &str,
    saved: &LabelledAddress,
    op: &Op,
) -> Guarded<AddressBookDocument> {
    let last = format!("addresses.{}", MAX_ADDRESSES - 1);
    let label = &saved.label;
    let guard = doc! { "$or": [
        { "addresses.label": label }, { last: { "$exists": false } },
    ] };
    let entry = literal(stored(saved));
    let addresses = choose(
        doc! { "$in": [literal(label), "$addresses.label"] },
        replaced("$addresses", "label", label, entry.clone()),
        append("$addresses", vec![entry]),
    );
    committed(app, subject, guard, addresses, op)
}

/// Removes the address with this label.
pub(super) fn remove(
    app: &App,
    subject: &str,
    label: &str,
    op: &Op,
) -> Guarded<AddressBookDocument> {
    let left = without("$addresses", "label", label);
    committed(app, subject, doc! { "addresses.label": label }, left, op)
}

fn committed(
    app: &App,
    subject: &str,
    guard: Document,
    addresses: Bson,
    op: &Op,
) -> Guarded<AddressBookDocument> {
    let change = Change::new(subject, guard, doc! { "addresses": addresses });
    books(app).change(change.committing(op, &op.id, app.bounds()))
}
