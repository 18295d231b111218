// What the tests of the admin page share: real servers, a real browser, and a list of tests.
import {spawn} from "node:child_process";
import {mkdirSync, mkdtempSync, rmSync} from "node:fs";
import {createServer} from "node:net";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {MongoClient} from "mongodb";
import {chromium} from "playwright-core";

export const kPatience = 20_000 * Number(process.env.TROUPE_TEST_SLOWNESS ?? 1);
export const bin = process.env.TROUPE_BIN ?? new URL("../../../build/bin", import.meta.url).pathname;
export const scratch = mkdtempSync(join(tmpdir(), "troupe-browser-"));

export const tests = [];
/** `run` gets {page, server}: a page that shows the server of that name in `kServers`. */
export function test(name, run, server = "standalone") {
  tests.push({name, run, server});
}

async function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject).listen(0, "127.0.0.1", () => {
      const {port} = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Calls `check` until it holds. */
export async function until(what, check) {
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

/** The servers that tests may ask for, and the options each is started with. */
const kServers = {
  standalone: () => [],
  member: (port) => ["--replSet", "rs", "--nodeName", `127.0.0.1:${port}`],
};

async function startServer(name) {
  const [port, admin] = [await freePort(), await freePort()];
  const place = join(scratch, name);
  mkdirSync(place);
  const given = ["--dbpath", place, "--port", port, "--admin-port", admin, "--logFormat", "json", ...kServers[name](port)];
  const process = spawn(join(bin, "trouped"), given, {stdio: ["ignore", "pipe", "pipe"]});
  let log = "";
  for (const stream of [process.stdout, process.stderr]) stream.on("data", (text) => (log += text));
  const address = `http://localhost:${admin}`;
  await until(`${name} is ready`, async () => {
    if (process.exitCode !== null) throw new Error(`trouped ended with ${process.exitCode}:\n${log}`);
    return (await fetch(`${address}/readyz`)).ok;
  });
  return {
    address, port,
    /** Runs a command as a driver would. */
    async command(command, database = "admin") {
      const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`);
      try {
        return await client.db(database).command(command);
      } finally {
        await client.close();
      }
    },
    stop: () => new Promise((resolve) => {
      if (process.exitCode !== null) return resolve(process.exitCode);
      process.once("exit", resolve);
      process.kill("SIGTERM");
    }),
  };
}

const started = new Map();
/** Started when first asked for; it then serves all tests that name it. */
export async function serverOf(name) {
  if (!started.has(name)) started.set(name, await startServer(name));
  return started.get(name);
}

/** Stops all servers; returns what went wrong with it. */
export async function stopServers() {
  const problems = [];
  for (const [name, server] of started) {
    const code = await server.stop();
    if (code !== 0) problems.push(`${name} ended with ${code}`);
  }
  rmSync(scratch, {recursive: true, force: true});
  return problems;
}

export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.TROUPE_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

// What the tests look at.
export const row = (page, path) => page.locator(`#rows tr[data-path="${path}"]`);
export const fact = (page, name) => page.locator(`#side [data-fact="${name}"]`);
export const life = async (page) => Number(await fact(page, "Incarnation").textContent());
export const shownPhase = (page) => page.locator("#side .meaning .phase");
