//! Tests with a real mongod, each in a folder of its own.

use super::{Data, ManagedError, Mongod, Settings, find_or_provide};
use mongodb::Client;
use mongodb::bson::{Document, doc};
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn Error>>;

/// Environment variable that names the data folder to the process that is to be killed.
const OWNED_DATA: &str = "DOCGATE_TEST_OWNED_DATA";

async fn settings(data_dir: &Path) -> Result<Settings, ManagedError> {
    Ok(Settings {
        binary: find_or_provide(|_| {}).await?,
        data_dir: data_dir.to_owned(),
        port: None,
        test_mode: true,
        data: Data::Kept,
    })
}

async fn insert(mongod: &Mongod) -> Result<u64, mongodb::error::Error> {
    let client = Client::with_uri_str(mongod.uri()).await?;
    let notes = client.database("managed").collection::<Document>("notes");
    notes.insert_one(doc! { "at": mongod.port().to_string() }).await?;
    notes.count_documents(doc! {}).await
}

#[tokio::test]
async fn kept_data_move_to_another_port() -> Outcome {
    let folder = tempfile::tempdir()?;
    let settings = settings(folder.path()).await?;
    let first = Mongod::start(settings.clone()).await?;
    let first_port = first.port();
    assert_eq!(insert(&first).await?, 1);
    first.stop().await?;

    // Another process on the old port, with a replica set of the same name, must not be mistaken for our
    // mongod.
    let other_folder = tempfile::tempdir()?;
    let elsewhere = Settings {
        port: Some(first_port),
        data_dir: other_folder.path().to_owned(),
        ..settings.clone()
    };
    let stranger = Mongod::start(elsewhere).await?;

    let second = Mongod::start(settings).await?;
    assert_ne!(second.port(), first_port);
    assert_eq!(insert(&second).await?, 2);
    assert_eq!(insert(&stranger).await?, 1);
    second.stop().await?;
    stranger.stop().await?;
    Ok(())
}

#[tokio::test]
async fn a_crash_loses_nothing_acknowledged() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut mongod = Mongod::start(settings(folder.path()).await?).await?;
    let (uri, pid) = (mongod.uri(), mongod.pid());
    assert_eq!(insert(&mongod).await?, 1);
    mongod.kill().await?;
    assert_eq!(mongod.pid(), None);
    mongod.restart().await?;
    assert_eq!(mongod.uri(), uri);
    assert_ne!(mongod.pid(), pid);
    assert_eq!(insert(&mongod).await?, 2);
    mongod.stop().await?;
    Ok(())
}

/// A killed demo, followed by one that removes the data. Removing files under a mongod that is still ending
/// would damage those of its successor.
#[tokio::test]
async fn data_are_renewed_only_after_their_mongod_has_ended() -> Outcome {
    let folder = tempfile::tempdir()?;
    let settings = settings(folder.path()).await?;
    let first = Mongod::start(settings.clone()).await?;
    assert_eq!(insert(&first).await?, 1);
    let pid = first.pid().ok_or("no mongod")?;
    // As after a kill of the owner: the watchdog ends mongod, and nobody waits for it.
    drop(first);
    let second = Mongod::start(Settings { data: Data::Renewed, ..settings }).await?;
    let is_alive =
        Command::new("kill").args(["-0", &pid.to_string()]).stderr(Stdio::null()).status()?;
    assert!(!is_alive.success(), "the data were removed under their mongod");
    assert_eq!(insert(&second).await?, 1);
    second.stop().await?;
    Ok(())
}

#[tokio::test]
async fn two_on_one_folder_or_port_are_told_apart() -> Outcome {
    let folder = tempfile::tempdir()?;
    let settings = settings(folder.path()).await?;
    let mongod = Mongod::start(settings.clone()).await?;

    let same_folder = Mongod::start_after(Duration::from_secs(1), settings.clone()).await;
    assert!(matches!(same_folder, Err(ManagedError::DataInUse { .. })), "{same_folder:?}");

    let throwaway = Settings { data: Data::Removed, ..settings.clone() };
    let not_ours_to_remove = Mongod::start(throwaway).await;
    assert!(
        matches!(not_ours_to_remove, Err(ManagedError::NotEmpty { .. })),
        "{not_ours_to_remove:?}"
    );

    let other_folder = tempfile::tempdir()?;
    let data_dir = other_folder.path().to_owned();
    let same_port = Settings { data_dir, port: Some(mongod.port()), ..settings };
    let same_port = Mongod::start(same_port).await;
    assert!(matches!(same_port, Err(ManagedError::PortTaken { .. })), "{same_port:?}");

    assert_eq!(insert(&mongod).await?, 1);
    mongod.stop().await?;
    Ok(())
}

#[tokio::test]
async fn an_early_end_is_explained() -> Outcome {
    let folder = tempfile::tempdir()?;
    let settings = settings(folder.path()).await?;
    std::fs::write(folder.path().join("WiredTiger"), "")?;
    std::fs::write(folder.path().join("WiredTiger.turtle"), "not what mongod wrote")?;
    let Err(error) = Mongod::start(settings).await else {
        return Err("mongod started on damaged data".into());
    };
    assert!(matches!(error, ManagedError::EndedEarly { .. }), "{error}");
    assert!(error.to_string().contains("corruption"), "{error}");
    Ok(())
}

#[tokio::test]
async fn an_end_by_itself_is_noticed_and_explained() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut mongod = Mongod::start(settings(folder.path()).await?).await?;
    let pid = mongod.pid().ok_or("no mongod")?;
    Command::new("kill").args(["-TERM", &pid.to_string()]).status()?;
    let ended = mongod.until_ended().await;
    assert!(matches!(&ended, ManagedError::Ended { status, .. } if status.success()), "{ended}");
    assert!(ended.to_string().contains("mongod.log"), "{ended}");
    assert_eq!(mongod.pid(), None);
    mongod.stop().await?;
    Ok(())
}

/// Runs the test binary a second time, as the owner that is killed.
#[tokio::test]
async fn nothing_outlives_a_killed_owner() -> Outcome {
    if let Some(folder) = std::env::var_os(OWNED_DATA) {
        return own_until_killed(Path::new(&folder)).await;
    }
    find_or_provide(|_| {}).await?; // here, so that the child process need not fetch it
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let mut owner = Command::new(std::env::current_exe()?)
        .args(["managed::tests::nothing_outlives_a_killed_owner", "--exact", "--nocapture"])
        .env(OWNED_DATA, &data)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let lines = BufReader::new(owner.stderr.take().ok_or("no standard error")?).lines();
    let ready = lines.map_while(Result::ok).find(|line| line.starts_with("ready"));
    let started = data.join("mongod.log").is_file();
    owner.kill()?;
    owner.wait()?;
    assert!(ready.is_some() && started, "the owner didn't start its mongod");

    // The folder is removed last, after mongod has ended.
    let deadline = Instant::now() + Duration::from_secs(120);
    while data.exists() {
        assert!(Instant::now() < deadline, "the data are still there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let port: u16 = ready.and_then(|line| line.split(' ').nth(1)?.parse().ok()).ok_or("no port")?;
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "mongod still listens");
    Ok(())
}

async fn own_until_killed(folder: &Path) -> Outcome {
    let throwaway = Settings { data: Data::Removed, ..settings(folder).await? };
    let mongod = Mongod::start(throwaway).await?;
    // To standard error, because the test harness writes to standard output.
    eprintln!("\nready {}", mongod.port());
    std::future::pending().await
}
