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

/// Another file, or the page for an address within the app. Names of files contain a dot, and addresses of the app
/// don't.
pub(super) async fn part(Path(path): Path<String>, headers: HeaderMap) -> Response {
    if path.contains('.') { SHOP.part(&path, &headers).await } else { SHOP.page(&headers).await }
}
