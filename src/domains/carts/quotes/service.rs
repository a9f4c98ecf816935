//! Quotes of an outside service. The head of `quotes/mod.rs` has the contract. A call isn't repeated: the caller waits for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use reqwest::{StatusCode, header};
use serde::{Deserialize, Serialize};

use super::{
    MAX_AMOUNT,
    documents::{Charges, LineTax, taxed_part},
    goods::{Goods, Piece},
    settings::{is_name, is_title},
    tables::WHOLE,
};
use crate::{
    app::{App, rfc3339},
    domains::outside::{SIGNATURE, cause, signature, whole},
};

/// Maximum size of a response, in bytes.
const LARGEST: usize = 64 << 10;
/// Maximum number of methods in a response.
const MOST: usize = 50;

/// The body of a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Question<'a> {
    currency: &'a str,
    country: &'a str,
    city: &'a str,
    lines: &'a [Piece<'a>],
    sent_at: String,
}

/// The body of a response.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    currency: String,
    /// Whether prices include the taxes.
    #[serde(default)]
    tax_included: bool,
    methods: Vec<Method>,
    #[serde(default)]
    lines: Vec<TaxedLine>,
}

/// A method of a response.
#[derive(Debug, Deserialize)]
struct Method {
    name: String,
    title: String,
    price: i64,
    #[serde(default)]
    tax: i64,
}

/// The tax on a line, in a response.
#[derive(Debug, Deserialize)]
struct TaxedLine {
    sku: String,
    tax: i64,
    /// In thousandths of a percent.
    rate: Option<i64>,
}

/// Why the service quotes nothing.
pub(super) enum Failure {
    /// It doesn't know the destination.
    UnknownPlace,
    /// It refuses the request, with this reason for the log.
    Refused(String),
    /// It is slow or away, or its answer can't be used, with this reason for the log.
    Unusable(String),
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Unusable(reason)
    }
}

/// The methods that the service offers for goods to a city of a country.
///
/// # Errors
/// Why it quotes nothing.
pub(super) async fn offers(
    app: &App,
    url: &str,
    goods: &Goods<'_>,
    (country, city): (&str, &str),
) -> Result<Vec<Charges>, Failure> {
    let question = Question {
        currency: goods.currency.code(),
        country,
        city,
        lines: &goods.lines,
        sent_at: rfc3339(app.clock()),
    };
    let config = app.config();
    let body = serde_json::to_vec(&question).map_err(|fault| fault.to_string())?;
    let secret = config.quote_signing_secret.as_deref().unwrap_or_default();
    let request = app
        .http()
        .map_err(|fault| fault.to_string())?
        .post(url)
        // It includes the body of the response.
        .timeout(Duration::from_millis(config.quote_timeout_millis))
        .header(header::CONTENT_TYPE, "application/json")
        .header(SIGNATURE, signature(secret, &body))
        .body(body);
    let response = request.send().await.map_err(cause)?;
    let status = response.status();
    if status == StatusCode::UNPROCESSABLE_ENTITY {
        return Err(Failure::UnknownPlace);
    }
    if status != StatusCode::OK {
        let reason = format!("it answered with the status {status}");
        let is_refused = status.is_client_error();
        return Err(if is_refused { Failure::Refused(reason) } else { reason.into() });
    }
    let body = whole(response, LARGEST).await?;
    let body = body.ok_or_else(|| format!("its response is larger than {LARGEST} bytes"))?;
    let answer: Answer = serde_json::from_slice(&body).map_err(|fault| fault.to_string())?;
    Ok(usable(answer, goods)?)
}

/// What an answer offers, the cheapest first; or why nothing of it can be used.
fn usable(answer: Answer, goods: &Goods<'_>) -> Result<Vec<Charges>, String> {
    let Answer { currency, tax_included, methods, lines } = answer;
    if currency != goods.currency.code() {
        return Err("its amounts are in another currency".to_owned());
    }
    if methods.len() > MOST {
        return Err(format!("it offers more than {MOST} methods"));
    }
    let mut told = BTreeMap::new();
    for TaxedLine { sku, tax, rate } in lines {
        let Some(line) = goods.lines.iter().find(|line| line.sku == sku) else {
            return Err("it taxes a line that isn't there".to_owned());
        };
        if told.insert(line.sku, (tax, rate)).is_some() {
            return Err("it taxes a line twice".to_owned());
        }
        if !(0..=line.net).contains(&tax) {
            return Err("the tax on a line is negative or more than its price".to_owned());
        }
        if rate.is_some_and(|rate| !(0..=WHOLE).contains(&rate)) {
            return Err("the rate of a line is negative or above 100 %".to_owned());
        }
    }
    let mut offered = BTreeSet::new();
    let offer = |Method { name, title, price, tax }: Method| {
        if !is_name(&name) || !is_title(&title) || !offered.insert(name.clone()) {
            return Err("a name or a title of a method can't be used".to_owned());
        }
        if !(0..=MAX_AMOUNT).contains(&price) || !(0..=price).contains(&tax) {
            return Err("the price of a method, or its tax, is negative or too large".to_owned());
        }
        let taxed = |line: &Piece<'_>| taxed_line(line, told.get(line.sku), tax_included);
        Ok(Charges {
            method: name,
            title,
            shipping: price,
            shipping_tax: tax,
            tax_included,
            lines: goods.lines.iter().filter_map(taxed).collect(),
            ..Charges::default()
        })
    };
    let mut offers = methods.into_iter().map(offer).collect::<Result<Vec<_>, String>>()?;
    offers.sort_by_key(|offer| offer.shipping);
    Ok(offers)
}

/// The tax on a line, from the tax and the rate that the service told. `None` if neither it nor pieces that are added have any.
fn taxed_line(
    line: &Piece<'_>,
    told: Option<&(i64, Option<i64>)>,
    tax_included: bool,
) -> Option<LineTax> {
    let (tax, rate) = told.copied().unwrap_or_default();
    let is_discounted = line.net < line.quantity * line.unit_price;
    let (part, of) = match rate {
        Some(rate) => {
            let (part, of) = taxed_part(rate, tax_included);
            (Some(part), of)
        }
        // The tax after a discount doesn't tell that on a piece at its full price.
        None => ((!is_discounted).then_some(tax), line.net),
    };
    let is_taxed = tax > 0 || part != Some(0);
    is_taxed.then(|| LineTax { sku: line.sku.to_owned(), tax, part, of, full_price: None })
}
