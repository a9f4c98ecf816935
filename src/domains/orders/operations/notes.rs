//! Notes of merchants.

use super::{
    super::{
        documents::{Note, OrderDocument},
        store,
        types::{NOTES, NoteOrderInput, NoteOrderResult},
    },
    begin, demand_room, merchants_op,
};
use crate::graphql::prelude::*;

/// Adds a note to an order in any state.
pub async fn note_order(cx: Cx<'_>, input: NoteOrderInput) -> Answer<NoteOrderResult> {
    let input = &input.checked()?;
    let id = &input.order_id;
    let op = &merchants_op(cx, "noteOrder", id, input)?;
    let author = cx.requester.subject()?;
    decide(
        || begin(cx, id),
        |attempt: Attempt, order: OrderDocument| async move {
            if op.is_committed(&order.ops)? {
                return Ok(Step::Done(order));
            }
            if order.notes.len() >= NOTES {
                return Err(InUse::because("the order has the maximum number of notes").into());
            }
            demand_room(&cx, &order, &attempt)?;
            let at = attempt.now();
            let note = &Note { author: author.to_owned(), text: input.text.clone(), at };
            let noted = store::add_note(&cx, &order.id, note, op).within(&attempt);
            Ok(Step::or_again(noted.after().await?))
        },
    )
    .await
}
