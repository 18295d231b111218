// The view of sessions: real sessions of a driver, with cursors, what runs in one, and the end of it.
import assert from "node:assert/strict";
import {MongoClient} from "mongodb";
import {test, until} from "./harness.mjs";

const idOf = (session) => session.id.id.toUUID().toString();

test("the sessions show what they do, and are ended", async ({page, server}) => {
  const client = new MongoClient(`mongodb://127.0.0.1:${server.port}/?directConnection=true`);
  const visits = client.db("shop").collection("visits");
  await visits.insertMany(Array.from({length: 50}, (_, i) => ({_id: i})));
  const session = client.startSession();
  const cursor = visits.find({}, {session, batchSize: 10});
  await cursor.next();
  const row = page.locator(`#session-rows tr[data-session="${idOf(session)}"]`);
  const cells = () => row.locator("td").allTextContents();
  try {
    await page.click("#view-sessions");
    await until("the session is shown with its cursor", async () => (await cells())[3] === "1");
    assert.deepEqual([(await cells())[1], (await cells())[5]], ["nobody", "0"]);
    const found = await (await fetch(`${page.origin}/sessions`)).json();
    assert.ok(found.sessions.some((one) => one.session === idOf(session)));
    await page.fill("#search", "nothing like this");
    await page.waitForSelector("#session-empty:not([hidden])");
    await page.fill("#search", idOf(session));
    await until("the search finds it", async () => (await row.count()) === 1);
    await row.locator("button.kill").click();
    await page.waitForSelector("dialog#confirm[open]");
    await page.click("#confirm-go");
    await until("it is gone", async () => (await row.count()) === 0);
    await assert.rejects(async () => {
      while (await cursor.next()) ;
    }, (failure) => failure.code === 43);
    assert.equal(new URL(page.url()).hash, "#sessions");
  } finally {
    await client.close();
  }
});
