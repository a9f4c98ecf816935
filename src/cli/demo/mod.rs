//! `docgate demo`.

mod delivery;
mod home;
mod welcome;

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::{
    failure::Failure,
    gateway, logging, migrate, options,
    seed::{self, Cut},
    terminal,
};
use crate::{
    app::App,
    config::Config,
    domains::{self, collections},
    edge::Edge,
    managed::{self, Mongod},
    metrics::Metrics,
    mongo::{connect, indexes},
};
use home::Home;

/// Try docgate: a shop full of data, with its own database
///
/// Starts a MongoDB of its own (found on this machine, otherwise fetched once), fills it with a shop of
/// albums, films, books and instruments, with carts, orders and accounts, and serves it with the
/// explorer. It prints tokens for a shopper, a merchant and an admin. Your changes are kept until
/// `--fresh`. Ctrl-C stops the gateway and the database.
///
/// The demo isn't for production: the explorer gives an admin's token to everyone who opens it.
///
/// Settings that the demo doesn't fix (it fixes its database, its secrets, its shipping methods and taxes,
/// and what a development gateway needs) are read from a file and the environment, as by `docgate serve`.
/// docs/CONFIGURATION.md lists what it fixes, and what it refuses.
///
/// Examples:
///     docgate demo
///     docgate demo --port 8081 --data /tmp/shop --fresh
///     DOCGATE_CORS_ORIGINS=http://localhost:5173 docgate demo   # pages of that origin may use it
///
/// Exit codes: 0 after a requested stop, 2 if the configuration is invalid, 3 if the port is taken, if there is no MongoDB to
/// start, or if MongoDB ends by itself. In the last case the command names MongoDB's log.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Demo {
    /// Port of 127.0.0.1 to serve on; 0 chooses a free one.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Address and port to serve on, instead of --port. Everyone who can reach it is an admin.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "port")]
    listen: Option<SocketAddr>,
    /// Folder for the demo's data and secrets [default: docgate/demo in the user's data folder].
    #[arg(long, value_name = "FOLDER", env = "DOCGATE_DATA")]
    data: Option<PathBuf>,
    /// Remove the data of an earlier demo in that folder and start again.
    #[arg(long)]
    fresh: bool,
    /// Number of products in the filled shop, 50 to 200,000. Below the default, people, their followers, posts and
    /// comments are fewer too. A shop that is filled keeps its own.
    #[arg(long, value_name = "NUMBER", default_value_t = seed::PRODUCTS)]
    #[arg(value_parser = clap::value_parser!(u32).range(50..=200_000))]
    products: u32,
    /// File with settings in TOML, such as docgate.toml.
    #[arg(long, env = "DOCGATE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Demo {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let home = Home::open(self.data.clone(), self.fresh)?;
        let address =
            self.listen.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)));
        let own = home.settings(address);
        let config = Config::load_over(self.config.as_deref(), own, home::REFUSED, |config| {
            let rooms = (!config.rooms.is_empty()).then_some("rooms: the demo shows all rooms");
            let roles =
                (!config.roles.is_empty()).then_some("roles: the demo has roles of its own");
            let own = rooms.into_iter().chain(roles).map(|fault| format!("{fault}; leave it out"));
            [domains::setting_faults(config), Edge::faults(config), own.collect()].concat()
        })?;
        let traces = logging::begin_with_traces(&config, logging::TOOL)?;
        let ran = self.run_with(config, home).await;
        if let Some(traces) = traces {
            traces.end().await;
        }
        ran
    }

    async fn run_with(&self, config: Config, mut home: Home) -> Result<ExitCode, Failure> {
        let stop = gateway::stop_on_signals()?;
        let listeners = gateway::Listeners::open(&config).await.map_err(|failure| {
            failure.with_hint("`--port` chooses another one, `--port 0` a free one")
        })?;
        let mut mongod = tokio::select! {
            biased;
            () = stop.cancelled() => {
                terminal::remark("Interrupted.");
                return Ok(ExitCode::SUCCESS);
            }
            started = start(&home) => started?,
        };
        let config = Config { mongodb_uri: mongod.uri(), ..config };
        let ran = tokio::select! {
            ran = Box::pin(self.run_on(config, &mut home, listeners, stop.clone())) => ran,
            // Without its database the demo can't do anything any more.
            ended = mongod.until_ended() => Err(ended.into()),
        };
        let ran = match ran {
            // When a machine is shut down, both may be told to stop.
            Err(_) if stop.is_cancelled() && mongod.pid().is_none() => Ok(()),
            Err(failure) if mongod.pid().is_some() => Err(explained(failure, &mut mongod).await),
            ran => ran,
        };
        if mongod.pid().is_some() {
            terminal::remark("Stopping MongoDB …");
        }
        mongod.stop().await?;
        ran?;
        Ok(ExitCode::SUCCESS)
    }

    async fn run_on(
        &self,
        mut config: Config,
        home: &mut Home,
        listeners: gateway::Listeners,
        stop: CancellationToken,
    ) -> Result<(), Failure> {
        config.listen = listeners.public.local_addr().unwrap_or(config.listen);
        let metrics = Metrics::default();
        let database = options::open(&config, &metrics).await?;
        let client = database.client().clone();
        let app = App::with_metrics(config, database, metrics);
        let ran = Box::pin(self.run_over(app, home, listeners, stop)).await;
        connect::close(client).await;
        ran
    }

    async fn run_over(
        &self,
        app: App,
        home: &mut Home,
        listeners: gateway::Listeners,
        stop: CancellationToken,
    ) -> Result<(), Failure> {
        let cuts = tokio::select! {
            filled = self.fill(&app, home) => filled?,
            () = stop.cancelled() => {
                terminal::remark("Interrupted; the next start fills the shop from the beginning.");
                return Ok(());
            }
        };
        let tokens = welcome::tokens(app.config())?;
        let edge = Edge::new(app.clone(), Some(tokens.clone()))?;
        terminal::print(welcome::text(&app, home, &tokens, &cuts));
        let products = home.products().unwrap_or(self.products);
        let moving = async {
            tokio::join!(
                seed::live(&app),
                seed::work(&app),
                seed::run_traffic(&app),
                seed::run_requests(&app),
                seed::run_ads(&app),
                seed::run_theaters(&app),
                seed::wander(&app, products),
                seed::run_ticker(app.clone(), products, stop.clone()),
            )
        };
        let gateway::Listeners { public, admin } = listeners;
        let served = (public, gateway::Operators::begin(&edge, admin));
        let serve = gateway::serve(app.clone(), edge, served, stop.clone());
        tokio::join!(serve, stop.run_until_cancelled(moving));
        Ok(())
    }

    /// Fills the shop unless it is filled already. Returns the flows that were left interrupted.
    async fn fill(&self, app: &App, home: &mut Home) -> Result<Vec<Cut>, Failure> {
        let (config, database) = (app.config(), app.database());
        options::wait_for_primary(config, database, options::PRIMARY_TIMEOUT).await?;
        indexes::apply(app.placement(), &collections(app.config()), false, |_| {}).await?;
        migrate::put_in_force(app).await?;
        let mut cuts = Vec::new();
        if !home.is_filled() {
            terminal::remark("Filling the shop …");
            cuts = seed::fill(config, database, self.products).await?;
            home.mark_filled(self.products)?;
        }
        Ok(cuts)
    }
}

/// How long it may take until a mongod that has broken its connections has ended.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// The failure of a demo, or the end of its mongod, if that is the reason.
async fn explained(failure: Failure, mongod: &mut Mongod) -> Failure {
    let ended = tokio::time::timeout(LAST_LOOK, mongod.until_ended()).await;
    ended.map_or(failure, Failure::from)
}

/// Finds or fetches a mongod, and starts it on the folder of the demo. If the future is dropped, a download and mongod
/// end soon after.
async fn start(home: &Home) -> Result<Mongod, Failure> {
    let binary = managed::find_or_provide(|step| terminal::remark(step)).await?;
    terminal::remark("Starting MongoDB …");
    // A start that was refused before leaves the demo of the folder as it was.
    home.write()?;
    let (data_dir, data) = home.database();
    let settings = managed::Settings { binary, data_dir, port: None, test_mode: false, data };
    Ok(Mongod::start(settings).await?)
}
