//! Shapes of the settings that are tables of tables. Each fault names the path of its value.

use serde_json::{Map, Value};

/// A key of an inner table.
struct Part {
    name: &'static str,
    shape: Shape,
    is_needed: bool,
}

/// What the value of such a key has to be.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Flag,
    /// A rate in thousandths of a percent.
    Rate,
    /// Rates by type of product.
    Rates,
    /// Amounts in minor units by currency.
    Amounts,
    /// Codes of countries.
    Codes,
}

const fn needed(name: &'static str, shape: Shape) -> Part {
    Part { name, shape, is_needed: true }
}

const fn optional(name: &'static str, shape: Shape) -> Part {
    Part { name, shape, is_needed: false }
}

const TAXES: &[Part] = &[
    needed("rate", Shape::Rate),
    optional("included", Shape::Flag),
    optional("types", Shape::Rates),
];

const SHIPPING_METHODS: &[Part] = &[
    needed("title", Shape::Text),
    needed("prices", Shape::Amounts),
    optional("free_from", Shape::Amounts),
    optional("countries", Shape::Codes),
];

/// The faults of a table of tables, each as a sentence without its source. None for other keys.
pub(super) fn faults(key: &str, value: &Value) -> Vec<String> {
    let (parts, what) = match key {
        "taxes" => (TAXES, "a table of countries, each with a rate,"),
        "shipping_methods" => (SHIPPING_METHODS, "a table of methods, each with title and prices,"),
        _ => return Vec::new(),
    };
    let Value::Object(entries) = value else { return vec![format!("{key}: {what} is expected")] };
    let each =
        entries.iter().flat_map(|(name, entry)| in_entry(parts, &format!("{key}.{name}"), entry));
    each.collect()
}

fn in_entry(parts: &[Part], path: &str, entry: &Value) -> Vec<String> {
    let names: Vec<_> = parts.iter().map(|part| part.name).collect();
    let Value::Object(fields) = entry else {
        return vec![format!("{path}: {entry} is no table with the keys {}", names.join(", "))];
    };
    let unknown = fields.keys().filter(|name| !names.contains(&name.as_str())).map(|name| {
        format!("{path}.{name} is no configuration key: the keys there are {}", names.join(", "))
    });
    let of = |part: &Part| match fields.get(part.name) {
        Some(value) => in_part(part.shape, &format!("{path}.{}", part.name), value),
        None if part.is_needed => vec![format!("{path}.{} is missing", part.name)],
        None => Vec::new(),
    };
    unknown.chain(parts.iter().flat_map(of)).collect()
}

fn in_part(shape: Shape, path: &str, value: &Value) -> Vec<String> {
    let unfit = |what: &str| vec![format!("{path}: {value} stands there, {what} is expected")];
    let each = |of: &Map<String, Value>, shape| {
        of.iter()
            .flat_map(|(name, value)| in_part(shape, &format!("{path}.{name}"), value))
            .collect()
    };
    match (shape, value) {
        (Shape::Text, Value::String(_)) | (Shape::Flag, Value::Bool(_)) => Vec::new(),
        (Shape::Rate, Value::Number(number))
            if number.as_u64().is_some_and(|rate| u32::try_from(rate).is_ok()) =>
        {
            Vec::new()
        }
        (Shape::Rates, Value::Object(rates)) => each(rates, Shape::Rate),
        (Shape::Amounts, Value::Object(amounts)) => amounts
            .iter()
            .filter(|(_, amount)| amount.as_i64().is_none())
            .map(|(code, amount)| {
                format!("{path}.{code}: {amount} stands there, a whole number of minor units is expected")
            })
            .collect(),
        (Shape::Codes, Value::Array(codes)) if codes.iter().all(Value::is_string) => Vec::new(),
        (Shape::Text, _) => unfit("a text"),
        (Shape::Flag, _) => unfit("true or false"),
        (Shape::Rate, _) => unfit("a whole number of thousandths of a percent, such as 19000 for 19 %,"),
        (Shape::Rates, _) => unfit("a table of rates by type of product"),
        (Shape::Amounts, _) => unfit("a table of amounts in minor units by currency"),
        (Shape::Codes, _) => unfit("a list of countries, such as [\"DE\"],"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_fault_names_its_path() {
        let rate =
            "a whole number of thousandths of a percent, such as 19000 for 19 %, is expected";
        for (key, value, expected) in [
            ("taxes", json!({ "DE": { "rate": 19.0 } }), format!("taxes.DE.rate: 19.0 stands there, {rate}")),
            ("taxes", json!({ "DE": { "rate": -1 } }), format!("taxes.DE.rate: -1 stands there, {rate}")),
            ("taxes", json!({ "DE": {} }), "taxes.DE.rate is missing".to_owned()),
            (
                "taxes",
                json!({ "DE": { "rate": 1, "types": { "book": "7" } } }),
                format!("taxes.DE.types.book: \"7\" stands there, {rate}"),
            ),
            (
                "shipping_methods",
                json!({ "post": { "title": "Post", "prices": {}, "country": ["DE"] } }),
                "shipping_methods.post.country is no configuration key: the keys there are title, prices, \
                 free_from, countries"
                    .to_owned(),
            ),
            (
                "shipping_methods",
                json!({ "post": { "title": "Post", "prices": { "EUR": 1.5 } } }),
                "shipping_methods.post.prices.EUR: 1.5 stands there, a whole number of minor units is expected"
                    .to_owned(),
            ),
        ] {
            assert_eq!(faults(key, &value), [expected]);
        }
        assert!(faults("taxes", &json!({ "DE": { "rate": 19_000, "included": true } })).is_empty());
    }
}
