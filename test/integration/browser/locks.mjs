// The view of locks, with operations that really hold them and really wait.
import assert from "node:assert/strict";
import {MongoClient} from "mongodb";
import {test, until} from "./harness.mjs";

const kResource = "Collection shop.orders";

/** Validates again and again on several connections, one at a time by the lock: one holds it, the others wait. */
async function validators(server, many) {
  let stopped = false;
  const client = new MongoClient(`mongodb://127.0.0.1:${server.port}/?directConnection=true&maxPoolSize=${many}`);
  const shop = client.db("shop");
  await shop.collection("orders").insertMany(Array.from({length: 20_000}, (_, i) => ({_id: i, customer: i % 97, note: "x".repeat(60)})));
  const loop = async () => {
    while (!stopped) await shop.command({validate: "orders", full: true});
  };
  const loops = Array.from({length: many}, loop);
  return async () => {
    stopped = true;
    await Promise.all(loops);
    await client.close();
  };
}

const lines = (page, state) => page.locator(`#lock-rows tr[data-resource="${kResource}"][data-state="${state}"]`);

test("the locks show a holder, and who waits for it in which order", async ({page, server}) => {
  const stop = await validators(server, 4);
  try {
    await page.click("#view-locks");
    let shown = [];
    await until("one holds and others wait", async () => {
      shown = await page.locator(`#lock-rows tr[data-resource="${kResource}"]`).evaluateAll((all) => all.map((tr) => [...tr.children].map((td) => td.textContent)));
      return shown.length >= 3;
    });
    assert.deepEqual(shown.map((cells) => cells[1]).slice(0, 3), ["holds", "waits #1", "waits #2"]);
    for (const [, , mode, operation, client, since] of shown) {
      assert.equal(mode, "X");
      assert.match(operation, /^validateshop\.orders op \d+$/);
      assert.equal(client, "validate shop.orders");  // an operation of its own, which its request awaits
      assert.match(since, /^\d+(\.\d)? s$/);
    }
    const names = (resources) => resources.map((one) => one.resourceId);
    await until("programs see the same", async () => names((await (await fetch(`${page.origin}/locks`)).json()).resources).includes(kResource));
    await until("drivers see the same", async () => names((await server.command({lockInfo: 1})).lockInfo).includes(kResource));
    await page.fill("#search", "nothing like this");
    await page.waitForSelector("#lock-empty:not([hidden])");
    await page.fill("#search", "validate");
    await until("the search finds them", async () => (await lines(page, "waits").count()) >= 1);
  } finally {
    await stop();
  }
  await page.fill("#search", "");
  await until("nothing is locked any more", async () => (await page.locator("#lock-empty").textContent()).startsWith("No operation"));
  assert.equal(new URL(page.url()).hash, "#locks");
});
