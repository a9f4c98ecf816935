//! MongoDB access of the vouchers.

use super::{
    MAX_MARKS,
    documents::{MarkState, Uses, VoucherDocument, VoucherMark},
};
use crate::{graphql::prelude::*, mongo::prelude::*};

pub(super) fn vouchers(app: &App) -> Collection<VoucherDocument> {
    app.collection()
}

/// The collections with uses of vouchers: that of the vouchers, and that of their customers.
pub(super) const COUNTED: [&str; 2] = [VoucherDocument::COLLECTION, Uses::COLLECTION];

/// The documents of one of these collections.
pub(super) fn uses(app: &App, collection: &'static str) -> Collection<Uses> {
    app.collection().named(collection)
}

/// A page of all vouchers, without their marks: a voucher can have thousands, and clients see none.
pub(super) async fn list_newest(app: &App, page: &Page) -> Result<Vec<VoucherDocument>> {
    let filter = doc! { "createdAt": { "$gt": DateTime::from_millis(0) } };
    let projection = Some(doc! { "marks": 0 });
    vouchers(app).list(List { projection, hint: Some("newest"), ..page.list(filter) }).await
}

/// Why nothing is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotReserved {
    /// It was reserved under the tag before.
    Already,
    /// The voucher can't be used yet.
    Early,
    /// It can't be used any more.
    Late,
    /// Too little is left.
    Used,
    /// There are too many marks.
    Full,
}

/// Why nothing is spent, released or given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotDone {
    /// It was done before.
    Already,
    /// It isn't spent yet.
    Due,
}

fn mark(tag: &str, amount: i64, state: MarkState) -> Document {
    doc! { "tag": literal(tag), "amount": amount, "state": stored(&state), "at": "$$NOW" }
}

/// A number that a document may not have, changed by `by`.
fn optional_plus(field: &str, by: i64) -> Bson {
    let sum = doc! { "$add": [format!("${field}"), by] };
    choose(is_missing(field), "$$REMOVE", sum)
}

/// Changes the four sums by an amount and one use each, with these signs, and what is left so that all sums stay equal to
/// the budget.
fn moved(amount: i64, reserved: i64, spent: i64, marks: Bson) -> Document {
    let plus = |field: &str, by: i64| doc! { "$add": [format!("${field}"), by] };
    let left = -(reserved + spent);
    doc! {
        "reserved": plus("reserved", reserved * amount),
        "reservedUses": plus("reservedUses", reserved),
        "spent": plus("spent", spent * amount),
        "spentUses": plus("spentUses", spent),
        "left": optional_plus("left", left * amount),
        "leftUses": optional_plus("leftUses", left),
        "marks": marks,
    }
}

/// The number is absent, which is for no limit, or it is at least `least`.
fn suffices(field: &str, least: i64) -> Condition {
    Condition::Any(vec![is_absent(field), at_least(field, least)])
}

/// A reservation: the document permits it now, and the tag has no mark.
pub(super) fn reserving(id: &str, tag: &str, cart: &str, amount: i64) -> Change<NotReserved> {
    let rules = [
        (contains("marks.tag", tag).negated(), NotReserved::Already),
        (Condition::Any(vec![is_absent("validFrom"), is_past("validFrom")]), NotReserved::Early),
        (is_past("validUntil").negated(), NotReserved::Late),
        (suffices("left", amount), NotReserved::Used),
        (suffices("leftUses", 1), NotReserved::Used),
        (has_room("marks", MAX_MARKS), NotReserved::Full),
    ];
    let mut mark = mark(tag, amount, MarkState::Reserved);
    mark.insert("cart", literal(cart));
    let marks = append("$marks", vec![whole(mark)]);
    Change::ruled(id, rules, moved(amount, 1, 0, marks))
}

/// The document has this reservation.
fn has_reserved(tag: &str, amount: i64) -> Condition {
    let of = [is("tag", tag), is("state", stored(&MarkState::Reserved)), is("amount", amount)];
    has_element("marks", of)
}

/// The end of a reservation whose tag is void. It needs no deadline.
pub(super) fn releasing(id: &str, tag: &str, amount: i64) -> Change<NotDone> {
    let rules = [(has_reserved(tag, amount), NotDone::Already)];
    Change::ruled(id, rules, moved(amount, -1, 0, without("$marks", "tag", tag)))
}

/// The use of a reservation whose checkout has decided. The mark stays, so that a late repeat of the reservation finds it.
pub(super) fn spending(id: &str, tag: &str, amount: i64) -> Change<NotDone> {
    let rules = [(has_reserved(tag, amount), NotDone::Already)];
    let spent = changed(doc! { "state": stored(&MarkState::Spent), "at": "$$NOW" });
    Change::ruled(id, rules, moved(amount, -1, 1, replaced("$marks", "tag", tag, spent)))
}

/// The return of what was spent, once per tag.
pub(super) fn returning(id: &str, tag: &str, amount: i64) -> Change<NotDone> {
    let rules = [
        (contains("marks.tag", tag).negated(), NotDone::Already),
        (at_least("spent", amount), NotDone::Due),
        (at_least("spentUses", 1), NotDone::Due),
    ];
    let marks = append("$marks", vec![whole(mark(tag, amount, MarkState::Returned))]);
    Change::ruled(id, rules, moved(amount, 0, -1, marks))
}

/// Ends a voucher now, unless its time is over already.
pub(super) fn end(app: &App, code: &str) -> Guarded<VoucherDocument> {
    let is_open = is_past("validUntil").negated().guard();
    vouchers(app).set(both(doc! { "_id": code }, is_open), doc! { "validUntil": "$$NOW" })
}

/// Removes the mark of a return that its order has settled long enough ago.
pub(super) fn forget_return(uses: &Collection<Uses>, id: &str, tag: &str) -> Guarded<Uses> {
    let left = without("$marks", "tag", tag);
    uses.set(doc! { "_id": id }, doc! { "marks": left })
}

/// Removes the marks of reservations that were spent before `before`.
pub(super) fn drop_spent(uses: &Collection<Uses>, id: &str, before: DateTime) -> Guarded<Uses> {
    let stays = doc! { "$or": [
        { "$ne": ["$$this.state", stored(&MarkState::Spent)] },
        { "$gte": ["$$this.at", before] },
    ] };
    let left = filter("$marks", stays);
    uses.set(doc! { "_id": id }, doc! { "marks": left })
}

/// Sets what is reserved to the sum of the marks, and what is left to the rest of the budget.
pub(super) fn recount(
    uses: &Collection<Uses>,
    id: &str,
    [money, number]: [Option<i64>; 2],
) -> Guarded<Uses> {
    let held = filter("$marks", element_is("state", stored(&MarkState::Reserved)));
    let rest = |budget: Option<i64>, reserved: &str, spent: &str| match budget {
        Some(budget) => Bson::from(doc! { "$subtract": [budget, { "$add": [reserved, spent] }] }),
        None => "$$REMOVE".into(),
    };
    // `$size` is an Int, and `$toLong` makes it what other writes leave.
    let sums = doc! {
        "reserved": { "$toLong": { "$sum": map(held.clone(), "$$this.amount") } },
        "reservedUses": { "$toLong": { "$size": held } },
    };
    let left = doc! {
        "left": rest(money, "$reserved", "$spent"),
        "leftUses": rest(number, "$reservedUses", "$spentUses"),
    };
    let stages = vec![doc! { "$set": sums }, doc! { "$set": left }];
    uses.guarded(doc! { "_id": id }, stages)
}

/// The reservations among marks, each with its cart and amount.
pub(super) fn held(marks: Vec<VoucherMark>) -> Vec<(String, i64)> {
    let held = marks.into_iter().filter(|mark| mark.state == MarkState::Reserved);
    held.map(|mark| (mark.cart.unwrap_or_default(), mark.amount)).collect()
}

/// The sum and the number of the reservations among marks.
pub(super) fn reserved(marks: &[VoucherMark]) -> (i64, i64) {
    let held = marks.iter().filter(|mark| mark.state == MarkState::Reserved);
    held.fold((0, 0), |(sum, number), mark| (sum + mark.amount, number + 1))
}
