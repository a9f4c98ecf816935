//! The values of cells.

use serde_json::{Value, json};

use super::Cell;

/// An amount in minor units.
pub(super) fn minor_units(text: &str, digits: u8) -> Result<i64, String> {
    let example = if digits == 0 { "1799" } else { "17.99" };
    let misfit = || {
        format!("must be a price such as {example}, with {digits} digits behind the point at most")
    };
    let (whole, part) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let digits = usize::from(digits);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_amount = !whole.is_empty() && is_number(whole) && is_number(part);
    if !is_amount || part.len() > digits {
        return Err(misfit());
    }
    format!("{whole}{part:0<digits$}").parse().map_err(|_| misfit())
}

/// An amount in the major unit.
pub(super) fn major_units(amount: i64, digits: u8) -> String {
    let digits = usize::from(digits);
    let text = format!("{amount:0>width$}", width = digits + 1);
    match text.split_at_checked(text.len() - digits) {
        Some((whole, part)) if !part.is_empty() => format!("{whole}.{part}"),
        _ => text,
    }
}

pub(super) fn listed(cell: &str) -> Result<Vec<String>, String> {
    if cell.trim_start().starts_with('[') {
        return serde_json::from_str(cell).map_err(|fault| format!("isn't a list: {fault}"));
    }
    Ok(cell.split('|').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect())
}

pub(super) fn contributors(cell: &str) -> Result<Value, String> {
    let each = listed(cell)?.into_iter().map(|one| {
        let (role, who) = one
            .split_once(':')
            .ok_or_else(|| format!("{one:?} must be a role and a key, as in author:ann"))?;
        let (role, who) = (role.trim(), who.trim());
        Ok(match who.strip_prefix('#') {
            Some(id) => json!({ "personId": id, "role": role }),
            None => json!({ "personKey": who, "role": role }),
        })
    });
    Ok(Value::Array(each.collect::<Result<_, String>>()?))
}

pub(super) fn object(cell: &str) -> Result<Value, String> {
    let value: Value =
        serde_json::from_str(cell).map_err(|fault| format!("isn't JSON: {fault}"))?;
    if value.is_object() { Ok(value) } else { Err("must be a JSON object".to_owned()) }
}

/// A JSON array.
pub(super) fn list(cell: &str) -> Result<Value, String> {
    let value: Value =
        serde_json::from_str(cell).map_err(|fault| format!("isn't JSON: {fault}"))?;
    if value.is_array() { Ok(value) } else { Err("must be a JSON array".to_owned()) }
}

/// A value as a cell.
pub(super) fn shown(cell: Cell, value: &Value, digits: u8) -> String {
    let joined = |all: Vec<String>| {
        let is_plain = |one: &String| !one.contains('|') && !one.is_empty() && one.trim() == one;
        let is_list = all.first().is_some_and(|first| first.starts_with('['));
        if all.iter().all(is_plain) && !is_list {
            all.join("|")
        } else {
            Value::from(all).to_string()
        }
    };
    match (cell, value) {
        (_, Value::Null) => String::new(),
        (Cell::Price, _) => {
            value.as_i64().map_or_else(String::new, |amount| major_units(amount, digits))
        }
        (Cell::List, Value::Array(all)) => {
            joined(all.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        (Cell::Contributors, Value::Array(all)) => {
            let one = |one: &Value| {
                let id = one.get("personId").and_then(Value::as_str).unwrap_or_default();
                let role = one.get("role").and_then(Value::as_str).unwrap_or_default();
                format!("{role}:#{id}")
            };
            joined(all.iter().map(one).collect())
        }
        (_, Value::String(text)) => text.clone(),
        (_, other) => other.to_string(),
    }
}

/// Characters that begin a formula, or stand before one. Some spreadsheets read the wide forms of East Asian keyboards like the
/// usual ones.
const FORMULAS: [char; 11] =
    ['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// Whether a spreadsheet may take a cell for a formula, apart from apostrophes at its beginning.
fn is_formula(cell: &str) -> bool {
    cell.trim_start_matches('\'').starts_with(FORMULAS)
}

/// The cell with an apostrophe, if a spreadsheet may take it for a formula.
pub(super) fn armed(cell: &str) -> String {
    if is_formula(cell) { format!("'{cell}") } else { cell.to_owned() }
}

/// The cell without the apostrophe of [`armed`].
pub(super) fn unarmed(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|rest| is_formula(rest)).unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_may_be_a_formula_is_text_and_comes_back() {
        for cell in ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "＝1+1", "＋1", "－1", "＠a"]
        {
            for cell in [cell.to_owned(), format!("'{cell}")] {
                assert_eq!(armed(&cell), format!("'{cell}"));
                assert_eq!(unarmed(&armed(&cell)), cell);
            }
        }
        for cell in ["", "a=1", "'", "'a", " =1", "¡Hola!"] {
            assert_eq!((&*armed(cell), unarmed(cell)), (cell, cell));
        }
    }
}
