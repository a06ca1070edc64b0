//! Encryption: certificate and key from files, checked before the server starts.

use std::sync::Arc;

use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::ServeError;
use crate::setup::config::Tls;

/// Reads certificate and key, for a server of another protocol; fails if they cannot be used.
pub fn encryption(files: &Tls) -> Result<Arc<ServerConfig>, ServeError> {
    load(files, Arc::new(provider())).map(|(config, _)| config)
}

/// Returns the algorithms used.
pub(crate) fn provider() -> CryptoProvider {
    ring::default_provider()
}

/// Reads certificate and key, and returns the certificate, too; fails if they cannot be used, so that nothing is sent in plain by accident.
pub(crate) fn load(
    files: &Tls,
    provider: Arc<CryptoProvider>,
) -> Result<(Arc<ServerConfig>, Vec<u8>), ServeError> {
    let unusable = |path: &std::path::Path, reason: String| ServeError::Tls {
        path: path.to_owned(),
        reason,
    };
    let of_certificate = |error: &dyn std::fmt::Display| unusable(&files.certificate, error.to_string());
    let chain = CertificateDer::pem_file_iter(&files.certificate).map_err(|error| of_certificate(&error))?;
    let chain: Result<Vec<_>, _> = chain.collect();
    let chain = chain.map_err(|error| of_certificate(&error))?;
    let Some(first) = chain.first().map(|certificate| certificate.to_vec()) else {
        return Err(unusable(
            &files.certificate,
            "it holds no certificate".to_string(),
        ));
    };
    let key = PrivateKeyDer::from_pem_file(&files.key);
    let key = key.map_err(|error| unusable(&files.key, error.to_string()))?;
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| of_certificate(&error))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| of_certificate(&error))?;
    Ok((Arc::new(config), first))
}
