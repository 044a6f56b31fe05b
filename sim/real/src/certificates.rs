//! Certificates for a cluster of one machine's own: an authority that nobody else trusts, and one certificate for all.

use crate::{error::Failed, secret};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::path::Path;

/// The authority's certificate.
pub const AUTHORITY: &str = "ca.pem";
/// The certificate of every process.
pub const CERTIFICATE: &str = "cert.pem";
/// Its key.
pub const KEY: &str = "key.pem";

/// Writes an authority and a certificate for loopback, valid for servers and clients, into `folder`.
///
/// # Errors
/// One sentence.
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
    // Not the authority's: OpenSSL takes a certificate whose issuer is called as it is for one that signed itself.
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
