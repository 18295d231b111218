// The tree and the table of actors: find one by search, restart it by a click, see it come back.
import assert from "node:assert/strict";
import {fact, life, row, test, until} from "./harness.mjs";

const kActor = "/node/storage/checkpointer";

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
