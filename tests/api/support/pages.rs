//! Connections, read page by page.

use serde_json::{Value, json};

use super::{Client, commands};

/// The nodes of all pages of a connection, in its order. `read` reads the page with these variables. They set the size of
/// a page by `first`, or by `last` to begin at the end.
pub async fn all_nodes(
    mut variables: Value,
    mut read: impl AsyncFnMut(Value) -> Value,
) -> Vec<Value> {
    let is_backward = variables.get("last").is_some();
    let [cursor, end, more] = if is_backward {
        ["before", "startCursor", "hasPreviousPage"]
    } else {
        ["after", "endCursor", "hasNextPage"]
    };
    let mut pages = Vec::new();
    loop {
        let page = read(variables.clone()).await;
        pages.push(nodes(&page));
        let info = &page["pageInfo"];
        if !info[more].as_bool().unwrap_or_else(|| panic!("a page: {page:#}")) {
            break;
        }
        variables[cursor] = info[end].clone();
    }
    if is_backward {
        pages.reverse();
    }
    pages.concat()
}

/// The nodes of a page, which has them by themselves or in edges.
pub fn nodes(page: &Value) -> Vec<Value> {
    if let Some(edges) = page["edges"].as_array() {
        return edges.iter().map(|edge| edge["node"].clone()).collect();
    }
    page["nodes"].as_array().unwrap_or_else(|| panic!("a page: {page:#}")).clone()
}

/// A text that each of the nodes has under this name.
pub fn texts_of(nodes: &[Value], name: &str) -> Vec<String> {
    let text =
        |node: &Value| node[name].as_str().unwrap_or_else(|| panic!("{name}: {node:#}")).to_owned();
    nodes.iter().map(text).collect()
}

/// Reads a list in pages of two, from its beginning and from its end, each page by one command. Both must show the
/// same nodes in the same order, which are returned. `list` is the root field with its own arguments, such as
/// `transfers(state: DONE`, and `node` selects the fields of a node.
pub async fn pages_both_ways(client: &Client, list: &str, node: &str) -> Vec<Value> {
    let query = format!(
        "query($first: Int, $after: String, $last: Int, $before: String) {{
            list: {list} first: $first, after: $after, last: $last, before: $before) {{
                nodes {{ {node} }}
                pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}"
    );
    let read = async |variables: Value| {
        let response = client.explained(&query, variables).await;
        assert_eq!(commands(&response).len(), 1, "{response:#}");
        response["data"]["list"].clone()
    };
    let forward = all_nodes(json!({ "first": 2 }), &read).await;
    assert_eq!(forward, all_nodes(json!({ "last": 2 }), &read).await, "{list}");
    forward
}
