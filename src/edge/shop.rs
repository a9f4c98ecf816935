//! The example storefront of the demo, if it was built before the binary (`examples/storefront/`).

use axum::{extract::Path, http::HeaderMap, response::Response};

use super::bundle::Bundle;

/// Its files. Scripts, styles, pictures and connections come from docgate.
const SHOP: Bundle = Bundle {
    files: include!(concat!(env!("OUT_DIR"), "/storefront.rs")),
    policy: "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    not_there: "The storefront isn't in this binary. Run `npm ci --ignore-scripts && npm run build` in \
                examples/storefront, then build docgate again.\n",
};

/// The page.
pub(super) async fn page(headers: HeaderMap) -> Response {
    SHOP.page(&headers).await
}

/// Beginning of the addresses of products and variants. A SKU of a variant contains a dot.
const SKU: &str = "sku/";

/// Another file, or the page for an address within the app. Names of files contain a dot, and other addresses than those of
/// SKUs don't.
pub(super) async fn part(Path(path): Path<String>, headers: HeaderMap) -> Response {
    if path.contains('.') && !path.starts_with(SKU) {
        SHOP.part(&path, &headers).await
    } else {
        SHOP.page(&headers).await
    }
}
