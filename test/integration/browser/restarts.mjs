// Killing any restartable actor from the page brings it back: every one of them, by its button, one after the other.
import assert from "node:assert/strict";
import {fact, life, shownPhase, test, until} from "./harness.mjs";

async function rowOf(server, path) {
  return (await (await fetch(`${server.address}/actors${path}`)).json()).row;
}

/** Supervisors and what they keep alive; a client's connection is nobody's to restart. */
async function restartable(server) {
  const {rows} = await (await fetch(`${server.address}/actors`)).json();
  return rows.filter((row) => row.restartLimit > 0).map((row) => row.path);
}

async function restart(page, server, path) {
  await page.goto(`${page.origin}/#${path}`);
  await until(`${path} is shown`, async () => (await page.locator("#side h2").textContent()) === path.split("/").at(-1));
  await fact(page, "Incarnation").waitFor();
  await until(`${path} is up`, async () => (await shownPhase(page).getAttribute("data-tone")) === "good");
  const before = (await rowOf(server, path)).incarnation;
  await page.click('#side [data-action="restart"]');
  await page.click("#confirm-go");
  await until(`${path} is in its next life`, async () => (await rowOf(server, path)).incarnation > before);
  await until(`the page shows ${path} come back`, async () =>
    (await life(page)) > before && (await shownPhase(page).getAttribute("data-tone")) === "good" &&
    (await page.locator("#live").getAttribute("data-state")) === "live");
}

/** Restarts them all; `check` must hold after each. */
async function restartAll(page, server, check) {
  const paths = await restartable(server);
  for (const expected of ["/node/storage", "/node/storage/journal-flusher", "/node/front/listener", "/node/front/admin"]) assert.ok(paths.includes(expected), expected);
  for (const path of paths) {
    await restart(page, server, path);
    await until(`the server serves after a restart of ${path}`, check);
  }
  const {rows} = await (await fetch(`${server.address}/actors`)).json();
  assert.deepEqual(rows.filter((row) => ["failed", "parked", "backing off"].includes(row.phase)), []);
  // Restarting the endpoint cuts the page's own connections.
  page.problems = page.problems.filter((text) => !/ERR_(CONNECTION|INCOMPLETE|EMPTY)/.test(text));
}

test("every restartable actor comes back when it is restarted from the page, and writes go on", async ({page, server}) => {
  let number = 0;
  await restartAll(page, server, async () => {
    await server.command({update: "restarts", updates: [{q: {_id: 1}, u: {$set: {number: ++number}}, upsert: true}], writeConcern: {j: true}}, "test");
    const {cursor} = await server.command({find: "restarts", filter: {_id: 1}}, "test");
    return cursor.firstBatch[0].number === number;
  });
});

test("every restartable actor of a member of a replica set comes back, and it leads again", async ({page, server}) => {
  const host = `127.0.0.1:${server.port}`;
  const config = {_id: "rs", version: 1, members: [{_id: 0, host}], settings: {electionTimeoutMillis: 1000, heartbeatIntervalMillis: 250}};
  if (!(await server.command({hello: 1})).setName) await server.command({replSetInitiate: config});
  assert.ok((await restartable(server)).includes("/node/replication/topology"));
  await restartAll(page, server, async () => (await server.command({hello: 1})).isWritablePrimary);
}, "member");
