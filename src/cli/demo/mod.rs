//! `docgate demo`.

mod home;
mod welcome;

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    process::ExitCode,
};

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::{
    failure::Failure,
    gateway, logging, options,
    seed::{self, Cut},
    terminal,
};
use crate::{
    app::App,
    config::Config,
    domains::COLLECTIONS,
    edge::Edge,
    managed::{self, Mongod},
    metrics::Metrics,
    mongo::indexes,
};
use home::Home;

/// Try docgate: a shop full of data on a database that it brings along
///
/// Starts a MongoDB of its own (found on this machine, else fetched once), fills it with a shop of
/// albums, films, books and instruments, with carts, orders and accounts, and serves it with the
/// explorer. It prints tokens for a shopper, a merchant and an admin. What you change stays until
/// `--fresh`. Ctrl-C stops the gateway and the database.
///
/// Nothing here is for production: the explorer gives an admin's token to whoever opens it.
///
/// Examples:
///     docgate demo
///     docgate demo --port 8081 --data /tmp/shop --fresh
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Demo {
    /// Port of 127.0.0.1 to serve on; 0 takes a free one.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Address and port to serve on, instead of --port. Whoever can reach it is an admin.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "port")]
    listen: Option<SocketAddr>,
    /// Folder of the demo's data and secrets [default: docgate/demo in the user's data folder].
    #[arg(long, value_name = "FOLDER", env = "DOCGATE_DATA")]
    data: Option<PathBuf>,
    /// Remove what an earlier demo left in that folder, and begin anew.
    #[arg(long)]
    fresh: bool,
    /// How many products the shop gets when it is filled.
    #[arg(long, value_name = "NUMBER", default_value_t = 5_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(50..=200_000))]
    products: u32,
}

impl Demo {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        logging::begin(crate::config::LogFormat::Pretty, logging::TOOL)?;
        let stop = gateway::stop_on_signals()?;
        let mut home = Home::open(self.data.clone(), self.fresh)?;
        let address =
            self.listen.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)));
        let listener = gateway::listen(address).await.map_err(|failure| {
            failure.and("`--port` chooses another one, `--port 0` a free one")
        })?;
        let binary = managed::find_or_provide(|step| terminal::remark(step)).await?;
        terminal::remark("Starting MongoDB …");
        let (data_dir, data) = home.database();
        let settings = managed::Settings { binary, data_dir, port: None, test_mode: false, data };
        let mongod = Mongod::start(settings).await?;
        let ran = self.run_on(&mongod, &mut home, listener, stop).await;
        terminal::remark("Stopping MongoDB …");
        mongod.stop().await?;
        ran?;
        Ok(ExitCode::SUCCESS)
    }

    async fn run_on(
        &self,
        mongod: &Mongod,
        home: &mut Home,
        listener: tokio::net::TcpListener,
        stop: CancellationToken,
    ) -> Result<(), Failure> {
        let mut config = home.config(mongod.uri());
        config.listen = listener.local_addr().unwrap_or(config.listen);
        let (app, cuts) = tokio::select! {
            filled = self.fill(config, home) => filled?,
            () = stop.cancelled() => {
                terminal::remark("Interrupted; the next start goes on from the beginning.");
                return Ok(());
            }
        };
        let tokens = welcome::tokens(app.config())?;
        let edge = Edge::new(app.clone(), Some(tokens.clone()))?;
        terminal::print(welcome::text(&app, home, mongod, &tokens, &cuts));
        let listeners = gateway::Listeners { public: listener, admin: None };
        gateway::serve(app, edge, listeners, stop).await;
        Ok(())
    }

    /// The shop, filled unless it already is, and the flows that filling it left cut.
    async fn fill(&self, config: Config, home: &mut Home) -> Result<(App, Vec<Cut>), Failure> {
        let metrics = Metrics::default();
        let database = options::reach_watched(&config, options::PATIENCE, &metrics).await?;
        indexes::apply(&database, COLLECTIONS, false, |_| {}).await?;
        let mut cuts = Vec::new();
        if !home.is_filled() {
            terminal::remark("Filling the shop …");
            cuts = seed::fill(&config, &database, self.products).await?;
            home.mark_filled()?;
        }
        Ok((App::watched(config, database, metrics), cuts))
    }
}
