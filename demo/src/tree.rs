//! The shop's categories, as listed in `categories.txt`.

/// One category.
#[derive(Debug, Clone)]
pub struct Category {
    /// Path from the root, such as `/music/jazz`.
    pub path: String,
    /// Path of the parent; none for roots.
    pub parent: Option<String>,
    /// English name.
    pub english: String,
    /// German name.
    pub german: String,
    /// French name.
    pub french: String,
    /// Whether the category has no children.
    pub is_leaf: bool,
}

const TREE: &str = include_str!("categories.txt");

/// All categories, parents before their children.
pub fn categories() -> Vec<Category> {
    let mut found: Vec<Category> = Vec::new();
    // The path of the previous line.
    let mut way: Vec<String> = Vec::new();
    for line in TREE.lines() {
        let depth = (line.len() - line.trim_start().len()) / 2;
        let mut columns = line.split('|').map(|column| column.trim().to_owned());
        let mut column = || columns.next().unwrap_or_default();
        let (slug, english, german, french) = (column(), column(), column(), column());
        way.truncate(depth);
        let parent = (!way.is_empty()).then(|| format!("/{}", way.join("/")));
        way.push(slug);
        if let Some(above) = found.iter_mut().find(|one| Some(&one.path) == parent.as_ref()) {
            above.is_leaf = false;
        }
        let path = format!("/{}", way.join("/"));
        found.push(Category { path, parent, english, german, french, is_leaf: true });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_a_tree_of_four_levels_with_three_languages() {
        let all = categories();
        assert!(all.len() >= 200);
        let slug = |one: &Category| one.path.rsplit('/').next().unwrap_or_default().to_owned();
        let mut slugs: Vec<_> = all.iter().map(slug).collect();
        slugs.sort();
        slugs.dedup();
        assert_eq!(slugs.len(), all.len(), "a slug twice");
        for one in &all {
            let slug = slug(one);
            let fits =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            assert!(!slug.is_empty() && slug.bytes().all(fits), "{slug}");
            assert!([&one.english, &one.german, &one.french].iter().all(|name| !name.is_empty()));
            let steps = one.path.matches('/').count();
            assert!((1..=4).contains(&steps), "{}", one.path);
        }
        assert!(all.iter().any(|one| one.path.matches('/').count() == 4));
    }
}
