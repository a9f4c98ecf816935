//! The business rules of saved addresses.

use super::{
    MAX_ADDRESSES,
    documents::{AddressBookDocument, LabelledAddress},
    store::{self, books},
    types::{RemoveAddressInput, RemoveAddressResult, SaveAddressInput, SaveAddressResult},
};
use crate::graphql::prelude::*;

/// What a full record of ops is answered with.
const TOO_MANY: &str = "too many changes of these addresses";

/// Saves an address of the caller under a label, or replaces the one with this label.
pub async fn save_address(cx: Cx<'_>, input: SaveAddressInput) -> Answer<SaveAddressResult> {
    let (subject, input) = (cx.requester.subject()?, &input.checked()?);
    let op = &cx.op(&[subject, "saveAddress"], input);
    let read = || async { Ok(cx.begin_with::<AddressBookDocument>(subject).await?) };
    decide(read, |attempt: Attempt, book: Option<AddressBookDocument>| async move {
        let Some(book) = book else {
            // Another call of the caller may be faster.
            books(&cx).insert(&AddressBookDocument::empty(subject)).await.decided()?;
            return Ok(Step::Again);
        };
        if op.is_committed(&book.ops)? {
            return Ok(Step::Done(book));
        }
        if !book.has(&input.label) && book.addresses.len() >= MAX_ADDRESSES {
            let reason = format!("you have {MAX_ADDRESSES} addresses; remove one first");
            return Err(InvalidInput::new("label", reason).into());
        }
        cx.bounds().demand_room(&book.ops, &attempt, TOO_MANY)?;
        let (label, address) = (input.label.clone(), input.address.clone());
        let saved = LabelledAddress { label, address, saved_at: attempt.now() };
        let saved = store::save(&cx, subject, &saved, op).within(&attempt).after().await?;
        Ok(Step::or_again(saved))
    })
    .await
}

/// Removes an address of the caller.
pub async fn remove_address(cx: Cx<'_>, input: RemoveAddressInput) -> Answer<RemoveAddressResult> {
    let (subject, input) = (cx.requester.subject()?, &input.checked()?);
    let op = &cx.op(&[subject, "removeAddress"], input);
    let missing = || NotFound::new("address", input.label.as_str());
    let read = || async {
        let (attempt, book) = cx.begin_with::<AddressBookDocument>(subject).await?;
        Ok((attempt, book.ok_or_else(missing)?))
    };
    decide(read, |attempt: Attempt, book: AddressBookDocument| async move {
        if op.is_committed(&book.ops)? {
            return Ok(Step::Done(book));
        }
        if !book.has(&input.label) {
            return Err(missing().into());
        }
        cx.bounds().demand_room(&book.ops, &attempt, TOO_MANY)?;
        let left = store::remove(&cx, subject, &input.label, op).within(&attempt).after().await?;
        Ok(Step::or_again(left))
    })
    .await
}

/// The addresses of the caller.
///
/// # Errors
/// The caller has no token, or the read failed.
pub async fn my_addresses(cx: Cx<'_>) -> Result<AddressBookDocument> {
    let subject = cx.requester.subject()?;
    let book = books(&cx).get_settled(subject).await?;
    Ok(book.unwrap_or_else(|| AddressBookDocument::empty(subject)))
}
