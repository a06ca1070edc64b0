//! What monitors ask over HTTP: `/health`, `/ready` and `/metrics`.
//!
//! | path       | answer                                                                  |
//! |------------|-------------------------------------------------------------------------|
//! | `/health`  | 200 as long as the process runs                                         |
//! | `/ready`   | 200 while connections are taken and the database answers, else 503      |
//! | `/metrics` | counts and times of statements and connections, for Prometheus          |

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Weak};
use std::thread;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing::{error, info};

use crate::clients::shared::Server;
use crate::setup::monitor::Monitors;
use crate::{ServeError, setup::metering};

/// Upper limits of the classes of times, seconds.
const TIMES: [f64; 12] = [
    0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0,
];

/// Installs the recorder whose metrics `/metrics` returns.
fn recorder() -> Result<PrometheusHandle, ServeError> {
    let failed = |reason: &dyn std::fmt::Display| ServeError::Config(format!("metrics: {reason}"));
    let builder = PrometheusBuilder::new()
        .set_buckets(&TIMES)
        .map_err(|error| failed(&error))?;
    builder.install_recorder().map_err(|error| failed(&error))
}

/// Answers monitors at an address; returns the address.
pub(crate) fn start(server: &Arc<Server>, address: &str) -> Result<SocketAddr, ServeError> {
    let failed = |source| ServeError::Listen {
        address: address.to_string(),
        source,
    };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let recorder = recorder()?;
    // This thread goes on to the end of the process, and must not keep the database open.
    let server = Arc::downgrade(server);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| ServeError::Thread { source })?;
    let thread = thread::Builder::new().name("rukh-http".to_string());
    let spawned = thread.spawn(move || {
        let routes = routes(server, recorder);
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            axum::serve(Monitors::new(listener), routes).await
        });
        if let Err(error) = served {
            error!(%error, "monitors are not answered any more");
        }
    });
    spawned.map_err(|source| ServeError::Thread { source })?;
    info!(address = %bound, "ready for monitors");
    Ok(bound)
}

fn routes(server: Weak<Server>, recorder: PrometheusHandle) -> Router {
    let ready = server.clone();
    let metrics = move || {
        if let Some(server) = server.upgrade() {
            metrics::gauge!("rukh_connections").set(server.registry().len() as f64);
            metering::storage(server.database());
        }
        std::future::ready(recorder.render())
    };
    Router::new()
        .route("/health", get(|| std::future::ready("ok\n")))
        .route("/ready", get(move || std::future::ready(readiness(&ready))))
        .route("/metrics", get(metrics))
}

fn readiness(server: &Weak<Server>) -> (StatusCode, &'static str) {
    let server = server.upgrade();
    match server.is_some_and(|server| !server.registry().is_stopping() && server.answers()) {
        true => (StatusCode::OK, "ready\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
    }
}
