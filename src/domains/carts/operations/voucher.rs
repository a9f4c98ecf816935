//! Applies a voucher to a cart and removes it. Each is one guarded update of the cart.

use super::{
    super::{
        store,
        types::{ApplyVoucherInput, ApplyVoucherResult, RemoveVoucherInput, RemoveVoucherResult},
        vouchers,
    },
    lines::change,
};
use crate::graphql::prelude::*;

/// Applies a voucher. It replaces the one that the cart has.
pub async fn apply_voucher(cx: Cx<'_>, input: ApplyVoucherInput) -> Answer<ApplyVoucherResult> {
    let input = &input.checked()?;
    let op = &cx.op(&[&input.cart_id, "applyVoucher"], input);
    change(cx, &input.cart_id, op, |call| async move {
        let cart = &call.cart;
        let customer = cart.owner.as_deref().or(cx.requester.subject.as_deref());
        let terms =
            vouchers::operations::usable(&cx, &input.code, cart, customer, &call.attempt).await?;
        Ok(call.commit_change(store::set_voucher(cart, Some(&terms))).await?)
    })
    .await
}

/// Removes the voucher.
pub async fn remove_voucher(cx: Cx<'_>, input: RemoveVoucherInput) -> Answer<RemoveVoucherResult> {
    let input = &input.checked()?;
    let op = &cx.op(&[&input.cart_id, "removeVoucher"], input);
    change(cx, &input.cart_id, op, |call| async move {
        Ok(call.commit_change(store::set_voucher(&call.cart, None)).await?)
    })
    .await
}
