//! Members that elect among themselves, over mutual TLS.

use crate::Error;
use fencepost_seat::Raft;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    server::WebPkiClientVerifier,
};
use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::Arc,
};

const AUTHORITY: &str = "authority.der";

/// Writes a certificate for each of so many members, whose host is loopback, and that of the authority that signs them.
pub fn found(folder: &Path, members: usize) -> Result<(), Error> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    fs::write(folder.join(AUTHORITY), authority.der())?;
    for place in 0..members {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(["127.0.0.1".to_owned()])?.signed_by(&key, &authority)?;
        fs::write(folder.join(format!("m{place}.der")), certificate.der())?;
        fs::write(folder.join(format!("m{place}.key")), key.serialize_der())?;
    }
    Ok(())
}

/// The member `mPLACE`, or one of its lives, `mPLACE.LIFE`. It listens at its own address, and dials the others at theirs.
pub fn member(at: &[SocketAddr], (name, folder): (&str, &Path)) -> Result<Raft, Error> {
    let own = name.split('.').next().unwrap_or_default();
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(fs::read(folder.join(AUTHORITY))?))?;
    let roots = Arc::new(roots);
    let chain = vec![CertificateDer::from(fs::read(folder.join(format!("{own}.der")))?)];
    let key =
        || fs::read(folder.join(format!("{own}.key"))).map(|key| PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key)));
    let client = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let client = client.with_root_certificates(roots.clone()).with_client_auth_cert(chain.clone(), key()?)?;
    let asks = WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build()?;
    let server = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let server = server.with_client_cert_verifier(asks).with_single_cert(chain, key()?)?;
    let members = at.iter().enumerate().map(|(place, at)| (format!("m{place}"), at.to_string()));
    let raft = Raft::over_tls(members, folder.join(own), Arc::new(server), Arc::new(client))?;
    Ok(raft.listen_on(Ipv4Addr::LOCALHOST.into()))
}
