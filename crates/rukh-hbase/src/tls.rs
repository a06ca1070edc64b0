//! TLS: certificates from files, read when the client is made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::Error;

/// Files in PEM form by which servers and client prove their identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Certificates that those of the servers are to be signed by; theirs are to name the host.
    pub roots: PathBuf,
    /// The client's own certificates and key, where servers require them.
    pub own: Option<(PathBuf, PathBuf)>,
}

impl Tls {
    /// Reads the files.
    pub(crate) fn connector(&self) -> Result<TlsConnector, Error> {
        let mut roots = RootCertStore::empty();
        for root in certificates(&self.roots)? {
            roots.add(root).map_err(|error| unusable(&self.roots, &error))?;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&self.roots, &error))?
            .with_root_certificates(roots);
        let config = match &self.own {
            None => config.with_no_client_auth(),
            Some((chain, key)) => {
                let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
                config
                    .with_client_auth_cert(certificates(chain)?, secret)
                    .map_err(|error| unusable(chain, &error))?
            }
        };
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// Reads the certificates of a file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|error| unusable(path, &error))?
        .collect();
    let found = found.map_err(|error| unusable(path, &error))?;
    match found.is_empty() {
        true => Err(unusable(path, &"it has no certificate")),
        false => Ok(found),
    }
}

fn unusable(path: &Path, reason: &dyn std::fmt::Display) -> Error {
    Error::Argument {
        what: format!("TLS file \"{}\"", path.display()),
        reason: reason.to_string(),
    }
}
