//! Order numbers, such as `7K3M-Q9TX-2`: eight symbols of Crockford's base 32 and a check symbol
//! (<https://www.crockford.com/base32.html>). They have no letters that look like digits. A number is derived from the
//! order's id, so a repeat of the checkout has the same one, and nobody can compute the id or the next number from it. It is
//! the `_id` of a document of its own, because a unique index of orders would have to begin with their shard key.

use super::super::{
    documents::{OrderDocument, OrderNumberDocument},
    store,
};
use crate::{app::Ids, graphql::prelude::*, mongo::Version};

/// The digits 0 to 31.
const SYMBOLS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Number of symbols before the check symbol. They have 40 bits.
const LENGTH: u32 = 8;
/// The modulus of the check symbol. It finds every wrong symbol, and every two that are exchanged.
const CHECK: u64 = 37;
/// How many numbers an order tries. With a million million numbers one clash is rare enough.
const TRIES: u32 = 16;

/// The number of the order with this id at one of its tries. Of the 37 check symbols five aren't letters or digits; numbers
/// that would have one of them are passed over.
fn derived(ids: &Ids, id: &str, attempt: u32) -> String {
    let value = |draw: u32| {
        let bits = ids.bits(&["order number", id, &attempt.to_string(), &draw.to_string()]);
        bits % 32_u64.pow(LENGTH)
    };
    // Of so many draws one is certainly speakable.
    let speakable = (0..1_000).map(value).find(|value| value % CHECK < 32);
    written(speakable.unwrap_or_default())
}

/// The number as people write it.
fn written(value: u64) -> String {
    let digits = (0..LENGTH).rev().map(|place| value / 32_u64.pow(place) % 32);
    let mut number = String::new();
    for (place, digit) in digits.chain([value % CHECK]).enumerate() {
        if place > 0 && place % 4 == 0 {
            number.push('-');
        }
        number.push(symbol(digit));
    }
    number
}

fn symbol(digit: u64) -> char {
    let at = usize::try_from(digit).ok();
    at.and_then(|at| SYMBOLS.get(at)).map_or('*', |symbol| char::from(*symbol))
}

/// The number that a person has written or heard, in its stored form: hyphens and spaces may be missing, capitals too, and O,
/// I and L are digits. `None` if it can't be a number, or if its check symbol is wrong.
pub(super) fn read(text: &str) -> Option<String> {
    // Longer texts aren't looked at: nine symbols with a separator after each.
    if text.len() > 32 {
        return None;
    }
    let symbols = text.chars().filter(|symbol| !matches!(symbol, '-' | ' '));
    let digits = symbols.map(|symbol| {
        let symbol = match symbol.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        };
        let at = SYMBOLS.iter().position(|own| char::from(*own) == symbol)?;
        u64::try_from(at).ok()
    });
    let digits: Vec<u64> = digits.collect::<Option<_>>()?;
    let (check, digits) = digits.split_last()?;
    if u32::try_from(digits.len()) != Ok(LENGTH) {
        return None;
    }
    let value = digits.iter().fold(0, |value, digit| value * 32 + digit);
    (value % CHECK == *check).then(|| written(value))
}

/// The number of the order with this id: that of its first try that no other order has. The order gets it for good, so a
/// repeat has the same.
///
/// # Errors
/// `Unavailable` or `Internal`; the order may have got its number.
async fn claimed(app: &App, id: &str) -> Result<String> {
    let numbers = app.collection::<OrderNumberDocument>();
    for attempt in 0..TRIES {
        let number = derived(app.ids(), id, attempt);
        let claim = OrderNumberDocument { id: number, order: id.to_owned(), v: Version };
        if numbers.insert(&claim).await.decided()?.is_some() {
            return Ok(claim.id);
        }
        match numbers.get_settled(&claim.id).await? {
            Some(holder) if holder.order == id => return Ok(claim.id),
            Some(_) => {}
            // No majority has the claim yet.
            None => return Err(Error::unavailable("the number of the order isn't certain yet")),
        }
    }
    Err(Error::internal("every number of an order is taken"))
}

/// Inserts an order with its number. Returns the order if this call inserted it.
///
/// The number is claimed beside the insert. If another order has the first number, the order is corrected before its checkout
/// goes on; a checkout that is cut before that is finished by a repeat or by the sweep, which come here again.
///
/// # Errors
/// `Unavailable` or `Internal`; the order may have been inserted.
pub(super) async fn place(app: &App, order: OrderDocument) -> Result<Option<OrderDocument>> {
    let first = Some(derived(app.ids(), &order.id, 0));
    let order = OrderDocument { number: first, ..order };
    let orders = store::orders(app);
    let (written, number) = tokio::join!(orders.insert(&order), claimed(app, &order.id));
    let (written, number) = (written.decided()?, Some(number?));
    let is_first = number == order.number;
    let order = OrderDocument { number, ..order };
    if !is_first {
        store::renumber(app, &order).held().await?;
    }
    Ok(written.map(|()| order))
}

/// Gives an order of an earlier release its number. Returns `false` if it was deleted since.
///
/// # Errors
/// `Unavailable` or `Internal`; the order may have got its number.
pub(in super::super) async fn renumber(app: &App, order: &OrderDocument) -> Result<bool> {
    let number = Some(claimed(app, &order.id).await?);
    store::renumber(app, &OrderDocument { number, ..order.clone() }).held().await
}

/// The id of the order with a number, which is in its stored form.
pub(super) async fn holder(app: &App, number: &str) -> Result<Option<String>> {
    let found = app.collection::<OrderNumberDocument>().get(number).await?;
    Ok(found.map(|found| found.order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_is_spoken() {
        for value in [0, 1, 31, 32, 123_456_789_012, 32_u64.pow(LENGTH) - 1] {
            let number = written(value);
            if value % CHECK < 32 {
                assert_eq!(read(&number), Some(number.clone()));
                assert_eq!(read(&number.replace('-', " ").to_lowercase()), Some(number.clone()));
                let spoken = number.replace('0', "o").replace('1', "l").replace('-', "");
                assert_eq!(read(&spoken), Some(number));
            }
        }
        assert_eq!(written(0), "0000-0000-0");
        assert_eq!(written(32), "0000-0010-*");
        for wrong in ["", "0000-0000-1", "0000-0000", "0000-0000-00", "U000-0000-0", "$ne"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read(&"0".repeat(10_000)), None);
    }

    #[test]
    fn a_wrong_symbol_is_found() {
        let number = written(37 * 25_000_000_000);
        assert_eq!(number.chars().last(), Some('0'));
        for (at, symbol) in number.char_indices().filter(|(_, symbol)| *symbol != '-') {
            for other in SYMBOLS.iter().map(|other| char::from(*other)) {
                if other != symbol {
                    let mut wrong = number.clone();
                    wrong.replace_range(at..=at, &other.to_string());
                    assert_eq!(read(&wrong), None, "{wrong} for {number}");
                }
            }
        }
    }
}
