//! MongoDB access of the carts. The guarded writes are values: the caller adds its attempt and sends them.

use super::{
    MAX_LINES, MAX_QUANTITY,
    documents::{CartDocument, CartLine, CartState, SweptCart},
    quotes::CartQuote,
    vouchers::AppliedVoucher,
};
use crate::{domains::baskets, flow::Bounds, graphql::prelude::*, mongo::prelude::*};

pub(super) fn carts(app: &App) -> Collection<CartDocument> {
    app.collection()
}

/// Limits of the cart's flows and op records.
pub(super) fn bounds(app: &App) -> Bounds {
    baskets::bounds::<CartDocument>(app)
}

/// Calls `each` for every cart, for the invariants.
pub async fn for_each(app: &App, each: impl FnMut(CartDocument)) -> Result<()> {
    carts(app).for_each(each).await
}

/// The carts with these ids, for the sweep of reservations. Most of them are complete.
pub(super) async fn list_swept(app: &App, ids: &[&str]) -> Result<Vec<SweptCart>> {
    let is_active = doc! { "$eq": ["$state", stored(&CartState::Active)] };
    let while_active = |field: &str| choose(is_active.clone(), format!("${field}"), "$$REMOVE");
    let mut projection = doc! { "state": 1, "modifiedAt": 1, "v": 1 };
    for field in ["lines", "ops", "outbox"] {
        projection.insert(field, while_active(field));
    }
    let list = List { projection: Some(projection), ..List::of_ids(ids) };
    app.collection().list(list).await
}

/// Sets `owner` on an active cart that has none.
pub(super) fn own(app: &App, id: &str, owner: &str) -> Guarded<CartDocument> {
    let guard = doc! { "_id": id, "state": CartState::Active, "owner": null };
    baskets::modified(app, guard, doc! { "owner": literal(owner) })
}

/// Makes the guest the owner of a cart without one whose checkout is complete.
pub(super) fn name_guest(app: &App, id: &str, guest: &str) -> Guarded<CartDocument> {
    let guard = doc! { "_id": id, "state": CartState::Complete, "owner": { "$in": [null, guest] } };
    let owner = literal(guest);
    carts(app).set(guard, doc! { "owner": owner.clone(), "checkout.owner": owner })
}

/// Removes a cart that has expired or was cancelled. Returns whether it was still there, as it was read.
pub(super) async fn remove_closed(app: &App, read: &CartDocument) -> Result<bool> {
    let as_read = doc! { "_id": &read.id, "state": read.state, "modifiedAt": read.modified_at };
    Ok(carts(app).remove(as_read).await.decided()?.is_some())
}

/// Guard: nothing is still to be returned, and the voucher, the quote and the lines are as they were read.
pub(super) fn as_read(cart: &CartDocument) -> Document {
    let rest = all(vec![
        doc! { "$eq": ["$outbox", []] },
        equals("voucher.code", voucher_of(cart)),
        equals("quote.id", quote_of(cart)),
    ]);
    both(lines_as_read(cart), rest)
}

/// Guard: the lines are as they were read, with all of their fields.
fn lines_as_read(cart: &CartDocument) -> Document {
    let read = cart.lines.iter().map(|line| {
        let CartLine { sku, quantity, reserved, title, kind, variant_title, unit_price } = line;
        let variant_title = variant_title.as_ref();
        let fields: [Bson; 7] = [
            sku.into(),
            (*quantity).into(),
            (*reserved).into(),
            title.into(),
            kind.into(),
            // A missing field is null in an array of expressions.
            variant_title.map_or(Bson::Null, Bson::from),
            (*unit_price).into(),
        ];
        Bson::from(Vec::from(fields))
    });
    let read: Vec<Bson> = read.collect();
    let fields = ["sku", "quantity", "held", "title", "type", "variantTitle", "unitPrice"];
    let now: Vec<_> = fields.iter().map(|field| format!("$$this.{field}")).collect();
    doc! { "$expr": { "$eq": [map("$lines", now), literal(read)] } }
}

/// Code of the cart's voucher, for a guard. The terms of a code never change.
fn voucher_of(cart: &CartDocument) -> Option<&str> {
    cart.voucher.as_ref().map(|voucher| voucher.code.as_str())
}

/// Id of the cart's quote, for a guard. No two quotes have the same one.
fn quote_of(cart: &CartDocument) -> Option<&str> {
    cart.quote.as_ref().map(|quote| quote.id.as_str())
}

/// Another quote, guarded by the lines and the voucher for which it was computed; or none.
pub(super) fn set_quote(cart: &CartDocument, quote: Option<&CartQuote>) -> Change {
    set_part(cart, "quote", quote.map(stored))
}

/// Another voucher, or none.
pub(super) fn set_voucher(cart: &CartDocument, voucher: Option<&AppliedVoucher>) -> Change {
    set_part(cart, "voucher", voucher.map(stored))
}

/// Another value of this field, or none, guarded by the lines and the voucher as they were read.
fn set_part(cart: &CartDocument, field: &str, value: Option<Bson>) -> Change {
    let guard = both(lines_as_read(cart), all(vec![equals("voucher.code", voucher_of(cart))]));
    let value = value.map_or_else(|| "$$REMOVE".into(), literal);
    modify(cart, guard, doc! { field: value })
}

/// New prices of lines, guarded by the lines as they were read.
pub(super) fn set_prices(cart: &CartDocument, lines: &[CartLine]) -> Change {
    let lines: Vec<Bson> = lines.iter().map(stored).collect();
    modify(cart, lines_as_read(cart), doc! { "lines": literal(lines) })
}

/// The fields with new lines, pushed as they are.
pub(super) fn pushed<'a>(lines: impl Iterator<Item = &'a CartLine>) -> Document {
    let lines = lines.map(|line| literal(stored(line))).collect();
    doc! { "lines": append("$lines", lines) }
}

/// Whether the cart takes the line, whose SKU it doesn't have.
pub(super) fn may_push(line: &CartLine) -> Condition {
    let is_new = contains("lines.sku", &line.sku).negated();
    Condition::All(vec![is_new, has_room("lines", count(MAX_LINES))])
}

/// The fields after an addition to a line: it grows by `more.quantity` and `more.reserved`, and keeps its price.
pub(super) fn grown(more: &CartLine) -> Document {
    let now = changed(doc! {
        "quantity": { "$add": ["$$this.quantity", more.quantity] },
        "held": { "$add": ["$$this.held", more.reserved] },
    });
    doc! { "lines": replaced("$lines", "sku", &more.sku, now) }
}

/// Whether the cart has the line, and takes as many more.
pub(super) fn may_grow(more: &CartLine) -> Condition {
    let fits = at_least(MAX_QUANTITY - more.quantity, "quantity");
    has_element("lines", [is("sku", &more.sku), fits])
}

/// The fields with a new quantity of a line. What it had reserved beyond `reserved` is written to the outbox. A line of quantity
/// zero is removed.
pub(super) fn resized(read: &CartLine, quantity: i64, reserved: i64, tag: &str) -> Document {
    let lines = if quantity == 0 {
        without("$lines", "sku", &read.sku)
    } else {
        let now = changed(doc! { "quantity": quantity, "held": reserved });
        replaced("$lines", "sku", &read.sku, now)
    };
    let mut set = doc! { "lines": lines };
    if read.reserved > reserved {
        let (sku, quantity) = (literal(&read.sku), read.reserved - reserved);
        let entry =
            whole(doc! { "tag": literal(tag), "sku": sku, "quantity": quantity, "at": "$$NOW" });
        set.insert("outbox", append("$outbox", vec![entry]));
    }
    set
}

/// Whether the cart has the line with the quantities that were read.
pub(super) fn has_as_read(line: &CartLine) -> Condition {
    let CartLine { sku, quantity, reserved, .. } = line;
    has_element("lines", [is("sku", sku), is("quantity", *quantity), is("held", *reserved)])
}

/// A change of an active cart.
pub(super) fn modify(cart: &CartDocument, guard: Document, set: Document) -> Change {
    Change::new(&cart.id, both(baskets::active_as_read(cart), guard), baskets::now(set))
}

/// Changes of an active cart, one after the other. `sets` are the fields of each.
pub(super) fn modify_in_turn(
    cart: &CartDocument,
    mut sets: impl Iterator<Item = Document>,
) -> Change {
    let first = baskets::now(sets.next().unwrap_or_default());
    let then = sets.map(|set| doc! { "$set": set });
    Change::new(&cart.id, baskets::active_as_read(cart), first).then(then)
}
