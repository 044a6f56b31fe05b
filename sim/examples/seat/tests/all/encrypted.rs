//! Seats on services that speak TLS. The simulated ones do not: `n2` does it for them.

use crate::world::{Part, TTL_S, all, at, find, lines};
use fencepost_seat::{Backend, Consul, Etcd, Fenced, Postgres, Redis, Seat, Zookeeper};
use protocols::service::{Service, consul, etcd, postgres, redis, zookeeper};
use std::{env, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    runtime::Builder,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ClientConfig, RootCertStore, ServerConfig,
        crypto::ring::default_provider,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

fn certificate() -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(include_bytes!("encrypted/certificate.pem")).unwrap()
}

/// Encrypts for a service.
async fn encrypt(service: &'static str, port: u16) {
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("encrypted/key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = config.with_single_cert(vec![certificate()], key).unwrap();
    if service == "etcd" {
        config.alpn_protocols = vec![b"h2".to_vec()];
    }
    let (acceptor, listener) = (TlsAcceptor::from(Arc::new(config)), TcpListener::bind("0.0.0.0:8443").await.unwrap());
    loop {
        let (mut client, _) = listener.accept().await.unwrap();
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            if service == "postgres" {
                let mut asks = [0; 8];
                client.read_exact(&mut asks).await.unwrap();
                assert_eq!(asks, [0, 0, 0, 8, 4, 210, 22, 47]);
                client.write_all(b"S").await.unwrap();
            }
            let Ok(mut client) = acceptor.accept(client).await else { return println!("n2: no handshake") };
            let negotiated = client.get_ref().1.alpn_protocol() == Some(b"h2");
            assert_eq!(negotiated, service == "etcd");
            let mut server = TcpStream::connect((service, port)).await.unwrap();
            let _ = copy_bidirectional(&mut client, &mut server).await;
        });
    }
}

/// What trusts this certificate, or none.
fn trusts(certificate: Option<CertificateDer<'static>>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificate);
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots).with_no_client_auth()
}

struct Leads;

impl Part for Leads {
    async fn play<B: Backend<Fencing = Fenced>>(self, name: &str, backend: B) {
        let seat = Seat::new(backend, "test").ttl(Duration::from_secs_f64(TTL_S)).member(name).unwrap();
        let mut watch = seat.watch();
        let leads = async {
            let term = seat.campaign().await;
            println!("{name} leads");
            tokio::time::sleep(Duration::from_secs_f64(2.0 * TTL_S)).await;
            println!("{name}: {:?}", term.lead().check());
            term.finish().await;
        };
        let watches = async {
            loop {
                if let Some(why) = watch.changed().await.failing {
                    println!("{name} fails: {why}");
                }
            }
        };
        tokio::select! {
            () = leads => {}
            () = watches => {}
        }
        std::future::pending::<()>().await;
    }
}

fn play() {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(async {
        let (name, service) = (env::var("HOSTNAME").unwrap(), env::var("SERVICE").unwrap());
        if name == "n2" {
            return match service.as_str() {
                "etcd" => encrypt("etcd", 2379).await,
                "redis" => encrypt("redis", 6379).await,
                "consul" => encrypt("consul", 8500).await,
                "zookeeper" => encrypt("zookeeper", 2181).await,
                _ => encrypt("postgres", 5432).await,
            };
        }
        // n3 trusts nobody.
        let tls = trusts((name == "n1").then(certificate));
        match service.as_str() {
            "etcd" => Leads.play(&name, Etcd::connect_tls(["https://n2:8443"], &tls).unwrap()).await,
            "consul" => Leads.play(&name, Consul::connect_tls("https://n2:8443", &tls).unwrap()).await,
            "zookeeper" => Leads.play(&name, Zookeeper::connect_tls("n2:8443", &tls).unwrap()).await,
            "redis" => Leads.play(&name, Redis::connect_tls("rediss://n2:8443", &tls).unwrap()).await,
            _ => {
                let address = "postgres://invoices@n2:8443/invoices?sslmode=require";
                Leads.play(&name, Postgres::connect_tls(address, &tls).unwrap()).await
            }
        }
    });
}

#[test]
fn a_seat_stands_on_a_service_by_tls_and_on_none_that_it_does_not_trust() {
    let services: [&Service; 5] =
        [&consul::SERVICE, &etcd::SERVICE, &redis::SERVICE, &postgres::SERVICE, &zookeeper::SERVICE];
    for service in services {
        let lines = lines(service, play);
        println!("{}:{}", service.name, all(&lines));
        assert!(at(&lines, "n1: Ok(())") >= at(&lines, "n1 leads") + 2.0 * TTL_S);
        at(&lines, "n2: no handshake");
        assert!(lines.iter().any(|line| line.text.starts_with("n3 fails: ")));
        assert!(find(&lines, "n3 leads").is_none());
    }
}
