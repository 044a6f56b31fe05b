//! A key in etcd with a lease: whoever creates it leads until the lease ends.

use crate::Error;
use etcd_client::{Client, Compare, CompareOp, LeaseKeepAliveStream, LeaseKeeper, PutOptions, Txn, TxnOp};
use std::time::Duration;
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{Instant, sleep, timeout},
};

const KEY: &str = "invoices/leader";
const TTL: Duration = Duration::from_secs(3);

pub struct Leadership {
    /// The revision at which the key was created: every leader has a higher one than those before.
    pub token: i64,
    until: watch::Receiver<Instant>,
    renewing: AbortHandle,
}

impl Leadership {
    pub fn holds(&self) -> bool {
        Instant::now() < *self.until.borrow()
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

/// Leads, if nobody else does.
pub async fn win(etcd: &mut Client, name: &str) -> Result<Option<Leadership>, Error> {
    if timeout(TTL, etcd.get(KEY, None)).await??.count() > 0 {
        return Ok(None);
    }
    // Counted from before the request: the lease cannot end earlier.
    let until = Instant::now() + TTL;
    let lease = timeout(TTL, etcd.lease_grant(TTL.as_secs() as i64, None)).await??.id();
    let put = TxnOp::put(KEY, name, Some(PutOptions::new().with_lease(lease)));
    let free = Compare::create_revision(KEY, CompareOp::Equal, 0);
    let answer = timeout(TTL, etcd.txn(Txn::new().when([free]).and_then([put]))).await??;
    let Some(header) = answer.header().filter(|_| answer.succeeded()) else { return Ok(None) };
    let token = header.revision();
    let (renewed, until) = watch::channel(until);
    let (keeper, answers) = timeout(TTL, etcd.lease_keep_alive(lease)).await??;
    let renewing = tokio::spawn(async move {
        if let Err(why) = renew(keeper, answers, &renewed).await {
            println!("the lease is not renewed any more: {why}");
        }
    });
    Ok(Some(Leadership { token, until, renewing: renewing.abort_handle() }))
}

async fn renew(
    mut keeper: LeaseKeeper,
    mut answers: LeaseKeepAliveStream,
    renewed: &watch::Sender<Instant>,
) -> Result<(), Error> {
    loop {
        let until = Instant::now() + TTL;
        keeper.keep_alive().await?;
        match timeout(TTL, answers.message()).await?? {
            Some(answer) if answer.ttl() > 0 => renewed.send_replace(until),
            _ => return Err("it has ended".into()),
        };
        sleep(TTL / 3).await;
    }
}
