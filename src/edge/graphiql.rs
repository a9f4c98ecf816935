//! GraphiQL, if it was built before the binary (`web/graphiql/`).

use axum::{extract::Path, http::HeaderMap, response::Response};

use super::bundle::Bundle;

/// Its files. The Monaco editor writes the colours of its themes into `style` elements and positions elements with
/// `style` attributes, which needs `unsafe-inline` for styles. It underlines errors with images from `data:` URLs. All
/// scripts, workers, fonts and connections come from docgate.
const GRAPHIQL: Bundle = Bundle {
    files: include!(concat!(env!("OUT_DIR"), "/graphiql.rs")),
    policy: "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
             frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    not_there: "GraphiQL isn't in this binary. Run `npm ci --ignore-scripts && npm run build` in web/graphiql, \
                then build docgate again. The explorer at / needs neither.\n",
};

/// The page.
pub(super) async fn page(headers: HeaderMap) -> Response {
    GRAPHIQL.page(&headers).await
}

/// Another file of the page. The links in the page are relative to the page's own address.
pub(super) async fn part(Path(name): Path<String>, headers: HeaderMap) -> Response {
    GRAPHIQL.part(&name, &headers).await
}
