// The admin page in a real browser against a real node: find an actor by search, restart it by a click, see it come back.
//   node admin_page.mjs [--filter TEXT]
//   node admin_page.mjs --screenshot FILE [--dark] [--url http://localhost:PORT]    a picture instead, of a running node
// TROUPE_BIN is the folder of trouped, TROUPE_CHROMIUM the browser. Prints "N passed, M failed" at the end.
import assert from "node:assert/strict";
import {spawn} from "node:child_process";
import {mkdtempSync, rmSync} from "node:fs";
import {createServer} from "node:net";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {parseArgs} from "node:util";
import {chromium} from "playwright-core";

const kPatience = 20_000 * Number(process.env.TROUPE_TEST_SLOWNESS ?? 1);
const {values: options} = parseArgs({options: {screenshot: {type: "string"}, dark: {type: "boolean"}, url: {type: "string"}, filter: {type: "string"}}});
const bin = process.env.TROUPE_BIN ?? new URL("../../../build/bin", import.meta.url).pathname;
const scratch = mkdtempSync(join(tmpdir(), "troupe-browser-"));

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject).listen(0, "127.0.0.1", () => {
      const {port} = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Calls `check` until it holds. */
async function until(what, check) {
  const end = Date.now() + kPatience;
  for (let last; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    try {
      if (await check()) return;
    } catch (failure) {
      last = failure;
    }
    if (Date.now() > end) throw new Error(`${what}: not within ${kPatience / 1000} s${last ? ` (${last.message})` : ""}`);
  }
}

async function startServer() {
  const [port, admin] = [await freePort(), await freePort()];
  const server = spawn(join(bin, "trouped"), ["--dbpath", scratch, "--port", port, "--admin-port", admin, "--logFormat", "json"], {stdio: ["ignore", "pipe", "pipe"]});
  let log = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => (log += text));
  const address = `http://localhost:${admin}`;
  await until("the server is ready", async () => {
    if (server.exitCode !== null) throw new Error(`trouped ended with ${server.exitCode}:\n${log}`);
    return (await fetch(`${address}/readyz`)).ok;
  });
  return {server, address, port, stop: () => new Promise((resolve) => {
    server.once("exit", (code) => resolve(code));
    server.kill("SIGTERM");
  })};
}

function startBrowser() {
  return chromium.launch({
    executablePath: process.env.TROUPE_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

const tests = [];
const test = (name, run) => tests.push({name, run});
const kActor = "/node/storage/checkpointer";

const row = (page, path) => page.locator(`#rows tr[data-path="${path}"]`);
const fact = (page, name) => page.locator(`#side [data-fact="${name}"]`);
const life = async (page) => Number(await fact(page, "Incarnation").textContent());

test("the tree shows every service, running", async ({page}) => {
  await page.waitForSelector(`#rows tr[data-path="${kActor}"]`);
  for (const path of ["/node", "/node/storage", "/node/front/listener", "/node/front/admin"]) assert.equal(await row(page, path).count(), 1, path);
  assert.equal(await row(page, "/node").getAttribute("aria-level"), "1");
  assert.equal(await row(page, kActor).getAttribute("aria-level"), "3");
  await until("the event stream is open", async () => (await page.locator("#live").getAttribute("data-state")) === "live");
});

test("a click restarts an actor found by search, and the page shows it come back", async ({page}) => {
  await page.keyboard.press("/");
  await page.keyboard.type("checkpo");
  await until("only the match and its ancestors are left", async () => (await page.locator("#rows tr").count()) === 3);
  await row(page, kActor).click();
  await until("its details are shown", async () => (await page.locator("#side h2").textContent()) === "checkpointer");
  await page.locator('#side [data-section="state"] pre').waitFor();
  const before = await life(page);
  await page.click('#side [data-action="restart"]');
  await page.fill("#confirm-reason", "the browser test asks");
  await page.click("#confirm-go");
  await until("it is in its next life", async () => (await life(page)) === before + 1);
  await until("it is well again", async () => (await page.locator("#side .meaning .phase").getAttribute("data-tone")) === "good");
  await page.locator('#side [data-section="history"] .event', {hasText: "restarted"}).first().waitFor();
});

test("nothing happens when the question is cancelled", async ({page}) => {
  await page.goto(`${page.origin}/#${kActor}`);
  await fact(page, "Incarnation").waitFor();
  const before = await life(page);
  await page.click('#side [data-action="restart"]');
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#confirm").isVisible(), false);
  const response = await (await fetch(`${page.origin}/actors${kActor}`)).json();
  assert.equal(response.row.incarnation, before);
});

test("an actor is parked and resumed by keys alone", async ({page}) => {
  await page.waitForSelector(`#rows tr[data-path="${kActor}"]`);
  await page.locator('#rows tr[tabindex="0"]').focus();
  await page.keyboard.press("End");
  await page.keyboard.press("Home");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.path), "/node");
  for (let i = 0; i < 30 && (await page.evaluate(() => document.activeElement.dataset.path)) !== "/node/services/idle-sweeper"; ++i) await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.path), "/node/services/idle-sweeper");
  const phase = () => page.locator("#side .meaning .phase").textContent();
  await page.keyboard.press("p");
  await page.keyboard.press("Enter");
  await until("it is parked", async () => (await phase()) === "parked");
  await row(page, "/node/services/idle-sweeper").focus();
  await page.keyboard.press("p");
  await page.keyboard.press("Enter");
  await until("it runs again", async () => (await phase()) !== "parked" && (await page.locator("#side .meaning .phase").getAttribute("data-tone")) === "good");
});

test("branches close and open by the arrows", async ({page}) => {
  await row(page, "/node/storage").click();
  await page.keyboard.press("ArrowLeft");
  assert.equal(await row(page, "/node/storage").getAttribute("aria-expanded"), "false");
  assert.equal(await row(page, kActor).count(), 0);
  await page.keyboard.press("ArrowRight");
  assert.equal(await row(page, kActor).count(), 1);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.path), "/node/storage");
});

test("the table sorts by its columns", async ({page}) => {
  await page.keyboard.press("t");
  await page.waitForSelector("#rows .flat");
  await page.click('#heads button:text-is("Life")');
  assert.equal(await page.locator("#heads th[aria-sort]").getAttribute("aria-sort"), "descending");
  const lives = await page.locator("#rows tr td:nth-child(7)").allTextContents();
  assert.deepEqual(lives.map(Number), lives.map(Number).sort((a, b) => b - a));
});

test("an actor that restarts its own page's endpoint is survived", async ({page}) => {
  await page.goto(`${page.origin}/#/node/front/admin`);
  await fact(page, "Incarnation").waitFor();
  const before = await life(page);
  await page.click('#side [data-action="restart"]');
  await page.click("#confirm-go");
  await until("the endpoint is in its next life and the page is live", async () =>
    (await life(page)) === before + 1 && (await page.locator("#live").getAttribute("data-state")) === "live");
  page.problems = page.problems.filter((text) => !/ERR_(CONNECTION|INCOMPLETE|EMPTY)/.test(text));
});

test("a narrow window is not wider than its content", async ({page}) => {
  await page.setViewportSize({width: 390, height: 800});
  await page.waitForSelector(`#rows tr[data-path="${kActor}"]`);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth + 1));
});

/** With enough history that the figures' lines say something. */
async function takePicture(browser, address, file, colorScheme) {
  const page = await browser.newPage({viewport: {width: 1360, height: 800}, colorScheme});
  await page.goto(`${address}/#/node/storage/journal-flusher`);
  await page.waitForSelector('#side [data-section="state"] pre');
  await new Promise((resolve) => setTimeout(resolve, options.url ? 40_000 : 8_000));
  await page.screenshot({path: file});
  await page.close();
}

async function run(one, browser, address) {
  const page = await browser.newPage({viewport: {width: 1280, height: 800}});
  page.origin = address;
  page.problems = [];
  page.setDefaultTimeout(kPatience);
  page.on("console", (message) => message.type() === "error" && page.problems.push(message.text()));
  page.on("pageerror", (failure) => page.problems.push(String(failure)));
  page.on("request", (request) => request.url().startsWith(address) || page.problems.push(`asked elsewhere: ${request.url()}`));
  try {
    await page.goto(address);
    await one.run({page});
    assert.deepEqual(page.problems, [], "the console is clean");
  } finally {
    await page.close();
  }
}

async function runAll(browser, address) {
  let failed = 0, passed = 0;
  for (const one of tests.filter((each) => !options.filter || each.name.includes(options.filter))) {
    try {
      await run(one, browser, address);
      ++passed;
      console.log(`ok      ${one.name}`);
    } catch (failure) {
      ++failed;
      console.log(`FAILED  ${one.name}\n        ${failure.stack ?? failure}`);
    }
  }
  return {passed, failed};
}

const server = options.url ? {address: options.url, stop: () => 0} : await startServer();
const browser = await startBrowser();
let counts = {passed: 0, failed: 0};
try {
  if (options.screenshot) await takePicture(browser, server.address, options.screenshot, options.dark ? "dark" : "light");
  else counts = await runAll(browser, server.address);
} finally {
  await browser.close();
  const code = await server.stop();
  if (code !== 0) {
    ++counts.failed;
    console.log(`FAILED  trouped ended with ${code}`);
  }
  rmSync(scratch, {recursive: true, force: true});
}
if (!options.screenshot) console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed || (counts.passed === 0 && !options.screenshot) ? 1 : 0;
