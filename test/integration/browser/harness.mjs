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

/** One process; it may be killed, and started again with its data and its ports. */
class Server {
  constructor(name, port, admin, options) {
    const place = join(scratch, name);
    mkdirSync(place);
    this.name = name;
    this.port = port;
    this.host = `127.0.0.1:${port}`;
    this.address = `http://localhost:${admin}`;
    this.given = ["--dbpath", place, "--port", port, "--admin-port", admin, "--logFormat", "json", ...options];
    this.log = "";
  }

  async start() {
    const process = spawn(join(bin, "trouped"), this.given, {stdio: ["ignore", "pipe", "pipe"]});
    this.process = process;
    for (const stream of [process.stdout, process.stderr]) stream.on("data", (text) => (this.log += text));
    await until(`${this.name} is ready`, async () => {
      if (process.exitCode !== null) throw new Error(`trouped ended with ${process.exitCode}:\n${this.log}`);
      return (await fetch(`${this.address}/readyz`)).ok;
    });
    return this;
  }

  get isRunning() { return this.process.exitCode === null && this.process.signalCode === null; }

  /** Runs a command as a driver would. */
  async command(command, database = "admin") {
    const client = new MongoClient(`mongodb://127.0.0.1:${this.port}/?directConnection=true`);
    try {
      return await client.db(database).command(command);
    } finally {
      await client.close();
    }
  }

  /** What its own endpoint says, whatever a page of another member shows. */
  async get(path) {
    return (await fetch(this.address + path)).json();
  }

  async end(signal) {
    if (this.isRunning) {
      const ended = new Promise((resolve) => this.process.once("exit", resolve));
      this.process.kill(signal);
      await ended;
    }
    return this.process.exitCode;
  }
  kill() { return this.end("SIGKILL"); }
  stop() { return this.end("SIGTERM"); }
}

async function startServer(name) {
  const [port, admin] = [await freePort(), await freePort()];
  return new Server(name, port, admin, kServers[name](port)).start();
}

const kMembers = 3;
/** Three members that have elected a primary. The page shows the first of them; `members` are all. */
async function startSet() {
  const members = [];
  for (let id = 0; id < kMembers; ++id) {
    const [port, admin] = [await freePort(), await freePort()];
    members.push(await new Server(`set${id}`, port, admin, kServers.member(port)).start());
  }
  const settings = {electionTimeoutMillis: 2000, heartbeatIntervalMillis: 250};
  await members[0].command({replSetInitiate: {_id: "rs", version: 1, members: members.map(({host}, _id) => ({_id, host})), settings}});
  return Object.assign(members[0], {members});
}

const started = new Map();
/** Started when first asked for; it then serves all tests that name it. */
export async function serverOf(name) {
  if (!started.has(name)) started.set(name, await (name === "set" ? startSet() : startServer(name)));
  return started.get(name);
}

/** Stops all servers; returns what went wrong with it. */
export async function stopServers() {
  const problems = [];
  for (const server of [...started.values()].flatMap((one) => one.members ?? [one])) {
    const code = await server.stop();
    if (code !== 0) problems.push(`${server.name} ended with ${code}`);
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
