//! What the documents name is there: paths, links, anchors and error codes.

use std::{collections::BTreeSet, fs, path::Path};

use docgate::graphql::requester::Role;

use super::files;

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(path).expect("a document")
}

fn is_of_type(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

#[test]
fn paths_in_the_documents_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources: Vec<String> = files().into_iter().map(|(file, _)| format!("/{file}")).collect();
    let roots = ["src/", "tests/", "docs/", "demo/", "executor/", "bench/", "scripts/", "web/"];
    for name in ["CONTRIBUTING.md", "docs/ARCHITECTURE.md"] {
        let text = document(name);
        let quoted = text.split('`').skip(1).step_by(2);
        let missing: Vec<&str> = quoted
            .filter(|path| roots.iter().any(|root| path.starts_with(root)))
            .filter(|path| path.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b)))
            .filter(|path| !root.join(path).exists())
            .collect();
        assert!(missing.is_empty(), "{name} names {missing:?}");
        // Below `src`, a path may begin at any folder, such as that of the room that a section is about.
        let quoted = text.split('`').skip(1).step_by(2);
        let missing: Vec<&str> = quoted
            .filter(|path| is_of_type(path, "rs") && path.contains('/'))
            .filter(|path| !root.join(path).exists())
            .filter(|path| !sources.iter().any(|file| file.ends_with(&format!("/{path}"))))
            .collect();
        assert!(missing.is_empty(), "{name} names {missing:?}");
    }
}

/// All files of Markdown in the folder and below it, as paths from the root; of the root itself, only its files.
fn pages(folder: &str, found: &mut Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in fs::read_dir(root.join(folder)).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let is_own = !folder.is_empty() && name != "node_modules" && name != "target";
        if entry.path().is_dir() {
            if is_own {
                pages(&path, found);
            }
        } else if is_of_type(&name, "md") {
            found.push(path);
        }
    }
}

/// A page without its blocks of code, which may contain what looks like a heading or a link.
fn without_code(page: &str) -> String {
    page.split("```").step_by(2).collect()
}

/// The anchors of a page: its headings, as GitHub names them.
fn anchors(page: &str) -> BTreeSet<String> {
    let page = without_code(page);
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_in_the_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = Vec::new();
    for folder in ["", "docs", "examples", "bench", "tests/clients"] {
        pages(folder, &mut names);
    }
    let mut broken = Vec::new();
    for name in names {
        let text = without_code(&document(&name));
        let folder = root.join(&name).parent().expect("a folder").to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { root.join(&name) } else { folder.join(path) };
            let is_there = target.exists()
                && (anchor.is_empty()
                    || fs::read_to_string(&target).is_ok_and(|to| anchors(&to).contains(anchor)));
            if !is_there {
                broken.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_role_is_in_the_documents() {
    let page = document("docs/ROLES.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    for role in Role::ALL {
        let name = format!("`{}`", role.name());
        let is_listed =
            rows.iter().any(|row| row.split('|').nth(1).is_some_and(|cell| cell.contains(&name)));
        assert!(is_listed, "docs/ROLES.md lacks {name}");
    }
}

#[test]
fn every_error_code_is_in_the_documents() {
    let errors = document("docs/ERRORS.md");
    let schema = document("schema.graphql");
    let codes = schema.split("enum ErrorCode {").nth(1).expect("the enum");
    let codes = codes.split('}').next().expect("its values").lines().map(str::trim);
    let is_code =
        |line: &&str| !line.is_empty() && line.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    for code in codes.filter(is_code) {
        assert!(errors.contains(&format!("`{code}`")), "docs/ERRORS.md lacks {code}");
    }
}
