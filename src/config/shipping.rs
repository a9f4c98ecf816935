//! The settings of shipping methods and taxes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A shipping method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShippingSetting {
    /// Title that shoppers see.
    pub title: String,
    /// Price in minor units, by currency. The method is offered to carts in these currencies.
    pub prices: BTreeMap<String, i64>,
    /// Sum of the lines less the discount from which it costs nothing, in minor units, by currency.
    #[serde(default)]
    pub free_from: BTreeMap<String, i64>,
    /// Countries to which it is offered; all of them if the list is empty.
    #[serde(default)]
    pub countries: Vec<String>,
}

/// The taxes of a country. Rates are in thousandths of a percent of the price before tax.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaxSetting {
    /// Rate of shipping, and of products whose type has no other one.
    pub rate: u32,
    /// Whether prices, also those of shipping, include the tax. Otherwise it is added to them.
    #[serde(default)]
    pub included: bool,
    /// Other rates, by type of product.
    #[serde(default)]
    pub types: BTreeMap<String, u32>,
}
