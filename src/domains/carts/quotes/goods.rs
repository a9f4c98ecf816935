//! The goods that a quote is for: the lines of a cart, each less its part of the voucher's discount.

use serde::Serialize;

use super::super::documents::{CartDocument, total};
use crate::graphql::scalars::CurrencyCode;

/// The goods of a cart.
pub(super) struct Goods<'a> {
    /// Currency of all amounts.
    pub(super) currency: CurrencyCode,
    /// The lines.
    pub(super) lines: Vec<Piece<'a>>,
    /// Their sum less the discount, in minor units.
    pub(super) total: i64,
}

/// A line. The requests to the outside service have it in this form.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Piece<'a> {
    pub(super) sku: &'a str,
    /// Type of the product.
    #[serde(rename = "type")]
    pub(super) kind: &'a str,
    /// Number of pieces.
    pub(super) quantity: i64,
    /// Price of one piece, in minor units.
    pub(super) unit_price: i64,
    /// Price of the line less its part of the discount, in minor units.
    #[serde(rename = "total")]
    pub(super) net: i64,
}

impl<'a> Goods<'a> {
    /// Those of a cart. The parts of the discount add up to it.
    pub(super) fn of(cart: &'a CartDocument) -> Self {
        let (goods, discount) = (total(&cart.lines), cart.discount());
        let (mut before, mut taken) = (0_i128, 0_i128);
        let lines = cart.lines.iter().map(|line| {
            let price = i128::from(line.quantity) * i128::from(line.unit_price);
            before += price;
            let off = i128::from(discount) * before / i128::from(goods.max(1)) - taken;
            taken += off;
            Piece {
                sku: &line.sku,
                kind: &line.kind,
                quantity: line.quantity,
                unit_price: line.unit_price,
                net: i64::try_from(price - off).unwrap_or(i64::MAX),
            }
        });
        Self { currency: cart.currency, lines: lines.collect(), total: goods - discount }
    }
}
