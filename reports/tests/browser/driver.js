// Drives a headless browser for the tests of our pages. It needs no packages: the browser's debugging protocol uses two
// pipes. A test prints one line per check; the exit code is 1 if one failed.
"use strict";
const { spawn } = require("node:child_process");
const { pathToFileURL } = require("node:url");
const [chromium, page, , profile] = process.argv.slice(2);
const url = pathToFileURL(page).href;
let failed = 0;
function check(holds, what) {
  console.log((holds ? "ok    " : "WRONG ") + what);
  if (!holds) failed++;
}
const pause = ms => new Promise(done => setTimeout(done, ms));

const browser = spawn(chromium, ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--user-data-dir=" + profile, "--window-size=1400,900", "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const waiting = new Map(), heard = [];
let number = 0, unread = "", session;
browser.stdio[4].setEncoding("utf8").on("data", chunk => {
  const parts = (unread + chunk).split("\0");
  unread = parts.pop();
  for (const part of parts) {
    const message = JSON.parse(part);
    if (message.id) { waiting.get(message.id)(message); waiting.delete(message.id); } else heard.push(message);
  }
});
browser.on("error", error => { console.log("WRONG the browser does not start: " + error.message); process.exit(1); });
function call(method, params = {}, to = session) {
  return new Promise((done, fail) => {
    waiting.set(++number, m => m.error ? fail(new Error(method + ": " + m.error.message)) : done(m.result));
    browser.stdio[3].write(JSON.stringify({ id: number, method, params, sessionId: to }) + "\0");
  });
}
async function evaluate(expression) {
  const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(expression + ": " + (exceptionDetails.exception?.description ?? exceptionDetails.text));
  return result.value;
}
async function until(expression, what) {
  for (let tries = 0; tries < 400; tries++) {
    if (await evaluate(expression).catch(() => false)) return true;
    await pause(25);
  }
  check(false, what + ": waited 10 s for it");
  return false;
}
async function load(hash = "") {
  await call("Page.navigate", { url: "about:blank" });
  await call("Page.navigate", { url: url + hash });
  return until("document.documentElement.dataset.ready === 'yes'", "the page is ready");
}
async function key(name) {
  const printable = name.length === 1 ? { text: name } : name === "Enter" ? { text: "\r" } : {};
  const codes = { ArrowLeft: 37, ArrowRight: 39, ArrowDown: 40, Enter: 13, Escape: 27 };
  const event = { key: name, windowsVirtualKeyCode: codes[name] ?? name.toUpperCase().charCodeAt(0), ...printable };
  await call("Input.dispatchKeyEvent", { type: "keyDown", ...event });
  await call("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  await pause(350);
}
const mouse = (type, x, y, more = {}) => call("Input.dispatchMouseEvent", { type, x, y, ...more });
/// A tab without a network, in a desktop's size.
async function begin() {
  const { targetId } = await call("Target.createTarget", { url: "about:blank" }, undefined);
  session = (await call("Target.attachToTarget", { targetId, flatten: true }, undefined)).sessionId;
  for (const domain of ["Page", "Runtime", "Network", "Log"]) await call(domain + ".enable");
  await call("Network.emulateNetworkConditions", { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  await desktop();
}
const desktop = () => call("Emulation.setDeviceMetricsOverride", { width: 1400, height: 900, deviceScaleFactor: 1, mobile: false });
const phone = () => call("Emulation.setDeviceMetricsOverride", { width: 390, height: 844, deviceScaleFactor: 2, mobile: true });
const media = (name, value) => call("Emulation.setEmulatedMedia", { features: [{ name, value }] });
/// Keeps a picture of the page, if a folder for pictures is given.
async function picture(name) {
  const folder = process.env.FENCEPOST_PICTURES;
  if (!folder) return;
  const { data } = await call("Page.captureScreenshot", { format: "png" });
  require("node:fs").writeFileSync(require("node:path").join(folder, name + ".png"), Buffer.from(data, "base64"));
}
/// Checks that the page does nothing that no page may do.
function quiet() {
  const requests = heard.filter(m => m.method === "Network.requestWillBeSent").map(m => m.params.request.url).filter(u => !/^(file|about|data):/.test(u));
  check(requests.length === 0, "nothing was asked of a network " + requests);
  const errors = heard.filter(m => m.method === "Runtime.exceptionThrown" || (m.method === "Log.entryAdded" && m.params.entry.level === "error"));
  check(errors.length === 0, "no errors " + JSON.stringify(errors.slice(0, 3).map(m => m.params.exceptionDetails?.exception?.description ?? m.params.entry?.text)));
}
function run(main) {
  const late = setTimeout(() => { console.log("WRONG the browser takes more than two minutes"); browser.kill("SIGKILL"); process.exit(1); }, 120_000);
  begin().then(main).then(quiet).catch(error => check(false, error.message)).finally(() => {
    clearTimeout(late);
    browser.kill("SIGKILL");
    process.exit(failed ? 1 : 0);
  });
}
module.exports = { check, pause, call, evaluate, until, load, key, mouse, desktop, phone, media, picture, run };
