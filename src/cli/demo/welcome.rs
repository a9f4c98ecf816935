//! The text that the demo prints when it is ready.

use std::time::Duration;

use super::Home;
use crate::{
    app::App,
    cli::{
        failure::Failure,
        seed::{self, Cut},
        token,
    },
    config::Config,
    edge::DemoTokens,
};

/// Validity of the demo's tokens; each start prints new ones.
const THIRTY_DAYS: Duration = Duration::from_secs(30 * 86_400);

/// Tokens for the demo's users.
pub(super) fn tokens(config: &Config) -> Result<DemoTokens, Failure> {
    let mint = |subject: &str, roles: &[&str]| token::mint(config, subject, roles, THIRTY_DAYS);
    Ok(DemoTokens {
        shopper: mint(seed::SHOPPER, &[])?,
        merchant: mint(seed::MERCHANT, &["merchant", "editor"])?,
        admin: mint("admin", &["admin"])?,
    })
}

/// The addresses of the demo, its tokens, and a first request to paste.
pub(super) fn text(app: &App, home: &Home, tokens: &DemoTokens, cuts: &[Cut]) -> String {
    let DemoTokens { shopper, merchant, admin } = tokens;
    let Config { listen: address, mongodb_uri: uri, database, .. } = app.config();
    let data = home.folder().display();
    let sku = seed::FIRST_SKU;
    let cuts = cut_flows(cuts);
    let graphiql = if cfg!(graphiql) {
        format!("  GraphiQL  http://{address}/graphiql\n")
    } else {
        String::new()
    };
    let shop = if cfg!(storefront) {
        format!("  Shop      http://{address}/shop\n")
    } else {
        String::new()
    };
    format!(
        r#"
docgate's demo serves on http://{address}

  Explorer  http://{address}/
{shop}{graphiql}  GraphQL   http://{address}/graphql
  MongoDB   {uri} (database {database})
  Data      {data} (kept; --fresh begins anew)
  Secrets   {data}/demo.json (for further tokens and commands: docs/guides/your-own-data.md)

Tokens, good for 30 days (the explorer offers them). The merchant is an editor too, who uploads pictures. An admin has every
role: editor, worker and the others.

  export SHOPPER={shopper}

  export MERCHANT={merchant}

  export ADMIN={admin}

A first request:

  curl -s http://{address}/graphql -H 'Content-Type: application/json' \
    -d '{{"query": "{{ product(sku: \"{sku}\") {{ __typename sku title }} stock(sku: \"{sku}\") {{ available }} }}"}}'

{cuts}Ctrl-C stops the gateway and its database.
"#
    )
}

/// The list of interrupted flows, if there are any.
fn cut_flows(cuts: &[Cut]) -> String {
    if cuts.is_empty() {
        return String::new();
    }
    let line = |Cut { what, state, id }: &Cut| format!("  {what:<6} {state:<11} {id}\n");
    let lines: String = cuts.iter().map(line).collect();
    format!(
        "Some of the shopper's carts and orders were interrupted in mid-flow, as by a crash. The sweeps \
         finish each\nwithin a minute from now; look at them with node(id: …):\n\n{lines}\n"
    )
}
