//! Secrets and certificates of a local cluster, in files that only their owner can read.

use crate::error::Failed;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::{
    fmt::Write as _,
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// 32 random bytes in hex.
pub fn draw() -> String {
    let mut bytes = [0u8; 32];
    // Panics without this device, rather than use a secret of zeros.
    File::open("/dev/urandom")
        .and_then(|mut f| f.read_exact(&mut bytes))
        .expect("the system has a source of randomness");
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failed> {
    let file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path);
    let written = file.and_then(|mut f| f.write_all(text.as_bytes()));
    written.map_err(Failed::unwritten(path))
}

// Certificates for a local cluster: a private authority, and one certificate that all processes share.

pub const AUTHORITY: &str = "ca.pem";
/// The certificate that every process shows.
pub const CERTIFICATE: &str = "cert.pem";
/// Its private key.
pub const KEY: &str = "key.pem";

/// Writes an authority and a certificate for loopback, valid for servers and clients, into `folder`.
pub fn write_certificates(folder: &Path) -> Result<(), Failed> {
    let (authority, certificate, key) = make().map_err(Failed::cannot("make certificates"))?;
    for (name, text) in [(AUTHORITY, authority), (CERTIFICATE, certificate), (KEY, key)] {
        write(&folder.join(name), &text)?;
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
