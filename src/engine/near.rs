//! Names that are similar to a misspelt one.

/// Maximum length in bytes of a name that is compared, because the time is proportional to it.
const LONGEST: usize = 64;

/// The most similar of the names; `None` if none is similar.
pub(super) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let limit = (name.len() / 3).max(1);
    let names = names.filter(|other| other.len().abs_diff(name.len()) <= limit);
    let near = names.map(|other| (distance(name, other), other));
    near.filter(|(distance, _)| *distance <= limit).min().map(|(_, other)| other)
}

/// The number of letters to add, remove, replace or transpose with the next one, whatever their case.
fn distance(left: &str, right: &str) -> usize {
    let (left, right) = (left.to_ascii_lowercase(), right.to_ascii_lowercase());
    let right = right.as_bytes();
    let (mut before, mut last) = (Vec::new(), (0..=right.len()).collect::<Vec<_>>());
    let mut former = None;
    for (row, one) in left.bytes().enumerate() {
        let mut next = vec![row + 1];
        for (at, other) in right.iter().enumerate() {
            let replaced = last[at] + usize::from(one != *other);
            let mut fewest = replaced.min(last[at + 1] + 1).min(next[at] + 1);
            if at > 0 && former == Some(*other) && right[at - 1] == one {
                let transposed: &Vec<usize> = &before;
                fewest = fewest.min(transposed[at - 1] + 1);
            }
            next.push(fewest);
        }
        before = std::mem::replace(&mut last, next);
        former = Some(one);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelt_name_has_a_similar_one() {
        let names = ["title", "sku", "categoryIds", "first", "cartId"];
        for (name, near) in [
            ("titel", "title"),
            ("ksu", "sku"),
            ("categories", "categoryIds"),
            ("frist", "first"),
            ("cartID", "cartId"),
        ] {
            assert_eq!(nearest(name, names.into_iter()), Some(near), "{name}");
        }
        for name in ["", "nothing", "description"] {
            assert_eq!(nearest(name, names.into_iter()), None, "{name}");
        }
    }
}
