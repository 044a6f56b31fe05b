// A billing service whose leader holds a key in Redis that it renews, by two scripts, as many services do with ioredis.
//
// Only the leader issues invoices. With --fence it shows a fencing token, a number that is drawn with the key.
const Redis = require("ioredis");
const option = (name) => process.argv[process.argv.indexOf(name) + 1];
const [id, store, fence] = [option("--id"), option("--store"), process.argv.includes("--fence")];
const [host, port] = option("--redis").split(":");
const redis = new Redis({ host, port: Number(port), commandTimeout: 2000 });
redis.on("error", () => {});
const TTL = 3000;

const acquire = `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end`;
const renew = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function lead(token) {
  let leads = true;
  const renewing = setInterval(async () => {
    try {
      leads = leads && (await redis.eval(renew, 1, "billing", id, TTL)) === 1;
    } catch {
      leads = false;
    }
  }, TTL / 3);
  while (leads) {
    const answer = await fetch(`http://${store}/invoices${fence ? `?token=${token}` : ""}`, { method: "POST" });
    leads = leads && answer.ok;
    await sleep(100);
  }
  clearInterval(renewing);
}

(async () => {
  for (;;) {
    const token = await redis.eval(acquire, 2, "billing", "billing:token", id, TTL).catch(() => null);
    if (token) {
      console.log(`${id} leads with token ${token}`);
      await lead(token).catch(() => {});
      console.log(`${id} leads no more`);
    }
    await sleep(200);
  }
})();
