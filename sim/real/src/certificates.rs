//! Certificates for a local cluster: a private authority, and one certificate that all processes share.

use crate::{error::Failed, secret};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::path::Path;

pub const AUTHORITY: &str = "ca.pem";
/// The certificate that every process shows.
pub const CERTIFICATE: &str = "cert.pem";
/// Its private key.
pub const KEY: &str = "key.pem";

/// Writes an authority and a certificate for loopback, valid for servers and clients, into `folder`.
pub fn write(folder: &Path) -> Result<(), Failed> {
    let (authority, certificate, key) = make().map_err(Failed::cannot("make certificates"))?;
    for (name, text) in [(AUTHORITY, authority), (CERTIFICATE, certificate), (KEY, key)] {
        secret::write(&folder.join(name), &text)?;
    }
    Ok(())
}

fn make() -> Result<(String, String, String), rcgen::Error> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.distinguished_name = called("Fencepost authority of one cluster");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority_key = KeyPair::generate()?;
    let authority_certificate = authority.self_signed(&authority_key)?;
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate()?;
    let names = ["localhost", "127.0.0.1"].map(str::to_owned).to_vec();
    let mut certificate = CertificateParams::new(names)?;
    // It must differ from the authority's name: OpenSSL takes a certificate whose issuer and subject match for
    // self-signed.
    certificate.distinguished_name = called("Fencepost process");
    certificate.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = certificate.signed_by(&key, &issuer)?;
    Ok((authority_certificate.pem(), certificate.pem(), key.serialize_pem()))
}

fn called(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}
