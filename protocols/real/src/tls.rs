//! TLS by rustls, for everything that crosses a real network.

pub use protocols_clients::tls::{Mutual, Secure};

use rustls::{ClientConfig, RootCertStore, ServerConfig, server::WebPkiClientVerifier};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// The paths of certificates and keys, all in PEM.
#[derive(Clone, Default, Debug)]
pub struct Files {
    /// This process's certificate chain, shown by its servers, and by its clients where requested.
    pub certificate: Option<PathBuf>,
    /// The certificate's private key.
    pub key: Option<PathBuf>,
    /// The certificates that others' are checked against.
    pub authority: Option<PathBuf>,
    /// Whether this process's servers demand client certificates.
    pub mutual: bool,
}

/// Why TLS cannot be used, in one sentence.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct TlsError(pub String);

/// A process's TLS settings.
#[derive(Clone, Default)]
pub struct Tls {
    /// For its servers; with `None` they speak plain text.
    pub acceptor: Option<TlsAcceptor>,
    client: Option<Arc<ClientConfig>>,
}

impl Files {
    /// Reads the files.
    ///
    /// # Errors
    /// A file is missing or invalid, or the settings are incomplete; as one sentence.
    pub fn load(&self) -> Result<Tls, TlsError> {
        let authority = self.authority.as_deref().map(roots).transpose()?.map(Arc::new);
        let identity = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some((certificates(certificate)?, private_key(key)?)),
            (None, None) => None,
            _ => return Err(TlsError("a TLS certificate and its key belong together: give both or none".into())),
        };
        let acceptor = match &identity {
            Some((chain, key)) => Some(self.acceptor(chain.clone(), key.clone_key(), authority.as_ref())?),
            None if self.mutual => {
                return Err(TlsError("mutual TLS needs a certificate, its key and an authority".into()));
            }
            None => None,
        };
        let client = authority.map(|roots| client_config(roots, identity)).transpose()?;
        Ok(Tls { acceptor, client: client.map(Arc::new) })
    }

    fn acceptor(
        &self,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        authority: Option<&Arc<RootCertStore>>,
    ) -> Result<TlsAcceptor, TlsError> {
        let builder = ServerConfig::builder_with_provider(provider());
        let builder = builder.with_safe_default_protocol_versions().map_err(|e| TlsError(e.to_string()))?;
        let builder = match (self.mutual, authority) {
            (false, _) => builder.with_no_client_auth(),
            (true, None) => {
                return Err(TlsError(
                    "mutual TLS needs an authority to check the clients' certificates against".into(),
                ));
            }
            (true, Some(roots)) => {
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider()).build();
                builder.with_client_cert_verifier(
                    verifier.map_err(|e| TlsError(format!("no authority for clients: {e}")))?,
                )
            }
        };
        let config = builder.with_single_cert(chain, key);
        let config = config.map_err(|e| TlsError(format!("the TLS certificate and its key do not fit: {e}")))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn client_config(
    roots: Arc<RootCertStore>,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
) -> Result<ClientConfig, TlsError> {
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|e| TlsError(e.to_string()))?
        .with_root_certificates(roots);
    match identity {
        None => Ok(builder.with_no_client_auth()),
        Some((chain, key)) => {
            let config = builder.with_client_auth_cert(chain, key);
            config.map_err(|e| TlsError(format!("the TLS certificate and its key do not fit: {e}")))
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(chain) if chain.is_empty() => Err(TlsError(format!("{} holds no certificate in PEM", path.display()))),
        Ok(chain) => Ok(chain),
        Err(error) => Err(TlsError(format!("cannot read certificates from {}: {error}", path.display()))),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path)
        .map_err(|e| TlsError(format!("cannot read a private key from {}: {e}", path.display())))
}

fn roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots
            .add(certificate)
            .map_err(|e| TlsError(format!("{} holds no authority's certificate: {e}", path.display())))?;
    }
    Ok(roots)
}

impl Tls {
    /// The settings for this process's clients; `None` without an authority to check servers against.
    pub fn client(&self) -> Option<ClientConfig> {
        self.client.as_deref().cloned()
    }

    /// A connector that offers the application protocol `alpn` (`h2` for gRPC; none if empty).
    ///
    /// # Errors
    /// There is no authority to check servers against.
    pub fn connector(&self, alpn: &str) -> Result<TlsConnector, TlsError> {
        let Some(client) = &self.client else {
            return Err(TlsError("TLS to a server needs an authority to check its certificate against".into()));
        };
        let mut config = ClientConfig::clone(client);
        if !alpn.is_empty() {
            config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
        }
        Ok(TlsConnector::from(Arc::new(config)))
    }
}
