// Every view and dialog, in both themes, by the rules of axe-core for WCAG 2.2 AA.
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {fact, row, test} from "./harness.mjs";
import {open, recording} from "./timeline.mjs";

const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const kRules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** One line for each rule that is broken: its name, what it asks for, and where. */
export async function broken(page) {
  await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {}))));  // colours half faded in are nobody's
  await page.evaluate(kAxe);  // not as a script of the page, whose policy allows its own only
  const {violations} = await page.evaluate((values) => window.axe.run(document, {runOnly: {type: "tag", values}}), kRules);
  return violations.map(({id, help, nodes}) => `${id}: ${help}: ${nodes.slice(0, 3).map((one) => `${one.target} ${one.any[0]?.message ?? ""}`).join("; ")}`);
}

async function select(page, path) {
  await page.goto(`${page.origin}/#${path}`);
  await fact(page, "Incarnation").waitFor();
  await page.waitForSelector('#rows tr[aria-selected="true"]');
}

/** What is looked at, and how one comes there. */
const kPlaces = {
  "the tree": (page) => row(page, "/node/storage").waitFor(),
  "an actor's details": async (page) => {
    await select(page, "/node/storage/journal-flusher");
    await page.locator('#side [data-section="state"] pre').waitFor();
  },
  "an actor with a machine": async (page) => {
    await select(page, "/node/replication/topology");
    await page.locator("#side svg").first().waitFor();
  },
  "the table": async (page) => {
    await page.click("#view-table");
    await page.waitForSelector("#rows .flat");
  },
  "the locks": async (page) => {
    await page.click("#view-locks");
    await page.waitForSelector("#lock-empty:not([hidden])");
  },
  "the sessions": async (page) => {
    await page.click("#view-sessions");
    await page.waitForSelector("#session-empty:not([hidden])");
  },
  "the timeline before a trace is opened": (page) => page.click("#view-timeline"),
  "a timeline": (page) => open(page, recording().file),
  "the question before a restart": async (page) => {
    await select(page, "/node/storage/checkpointer");
    await page.click('#side [data-action="restart"]');
    await page.waitForSelector("#confirm[open]");
  },
  "the help": async (page) => {
    await page.click("#help-button");
    await page.waitForSelector("#help[open]");
  },
};

for (const [place, come] of Object.entries(kPlaces)) {
  test(`${place} can be used by all, in both themes`, async ({page}) => {
    await come(page);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({colorScheme});
      assert.deepEqual(await broken(page), [], colorScheme);
    }
  }, "member");
}
