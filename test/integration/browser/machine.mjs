// A machine's diagram: the topology of a member of a replica set, driven through an election and a step-down.
import assert from "node:assert/strict";
import {shownPhase, test, until} from "./harness.mjs";

const kTopology = "/node/replication/topology";
const box = (page, phase) => page.locator(`#side .phase-box[data-phase="${phase}"]`);
const litPhases = (page) => page.locator("#side .phase-box.lit").evaluateAll((boxes) => boxes.map((one) => one.dataset.phase));
const steps = (page) => page.locator("#side .steps li span").allTextContents();

async function open(page) {
  await page.goto(`${page.origin}/#${kTopology}`);
  await page.waitForSelector("#side .phase-box.lit");
  await until("the event stream is open", async () => (await page.locator("#live").getAttribute("data-state")) === "live");
}

async function seeLit(page, phase) {
  await until(`${phase} is lit`, async () => (await litPhases(page)).join() === phase && (await box(page, phase).getAttribute("aria-current")) === "step");
  await until(`the tree agrees on ${phase}`, async () => (await shownPhase(page).textContent()) === phase);
}

/** A primary, whatever was before. */
async function bePrimary(server) {
  const host = `127.0.0.1:${server.port}`;
  const settings = {electionTimeoutMillis: 1000, heartbeatIntervalMillis: 250};
  const status = await server.command({replSetGetStatus: 1}).catch(() => null);
  if (!status) await server.command({replSetInitiate: {_id: "rs", version: 1, members: [{_id: 0, host}], settings}});
  await until("it is primary", async () => (await server.command({hello: 1})).isWritablePrimary);
}

test("the diagram of a machine has its phases and transitions, and lights the one it is in", async ({page, server}) => {
  await open(page);
  const {machine, row} = await (await fetch(`${server.address}/actors${kTopology}`)).json();
  assert.equal(row.phase, "startup", "nobody has initiated the set yet");
  assert.deepEqual(await litPhases(page), ["startup"]);
  const shown = await page.locator("#side .phase-box").evaluateAll((boxes) => boxes.map((one) => one.dataset.phase));
  assert.deepEqual(shown, machine.phases.map((phase) => phase.name));
  const pairs = new Set();
  for (const {from, to} of machine.transitions) for (const target of to) if (from !== null && target !== from) pairs.add(`${from} > ${target}`);
  const arrows = await page.locator("#side .arrow").evaluateAll((all) => all.map((one) => `${one.dataset.from} > ${one.dataset.to}`));
  assert.deepEqual(arrows.sort(), [...pairs].sort());
}, "member");

test("the lit phase follows an election and a step-down as they happen", async ({page, server}) => {
  await open(page);
  await bePrimary(server);
  await seeLit(page, "primary");
  await until("it went through draining", async () => (await steps(page)).join().endsWith("draining,primary"));
  await server.command({replSetStepDown: 3, secondaryCatchUpPeriodSecs: 0, force: true});
  await seeLit(page, "follower");
  assert.match((await steps(page)).join(), /primary,(stepping down,)?follower$/);
  await seeLit(page, "primary");  // the only voter stands again when its time is over
}, "member");

test("its last messages and its document stand beside the diagram", async ({page, server}) => {
  await bePrimary(server);
  await open(page);
  await page.locator('#side [data-section="messages"] .log li', {hasText: "Initiate"}).first().waitFor();
  assert.ok(Date.parse(await page.locator('#side [data-section="messages"] .log time').first().getAttribute("datetime")) > 0);
  const state = await page.locator('#side [data-section="state"] pre').textContent();
  assert.match(state, /setName: "rs"/);
  assert.match(state, /phase: "primary"/);
}, "member");

test("a phase is explained when keys or the pointer come to it, and its arrows stand out", async ({page, server}) => {
  await bePrimary(server);
  await open(page);
  await seeLit(page, "primary");
  const note = page.locator("#side .phase-note");
  assert.match(await note.textContent(), /^primary \(now\): it leads the set/);
  await box(page, "primary").focus();
  await page.keyboard.press("ArrowUp");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.phase), "draining");
  assert.match(await note.textContent(), /^draining: .*→ primaryDrainDone/);
  const out = await page.locator('#side .arrow[data-kind="out"]').evaluateAll((all) => all.map((one) => one.dataset.from));
  assert.ok(out.length > 0 && out.every((from) => from === "draining"));
  await new Promise((resolve) => page.waitForResponse((response) => response.url().includes("/actors/")).then(resolve));
  assert.equal(await page.evaluate(() => document.activeElement.dataset.phase), "draining", "a reading leaves the focus where it is");
  await page.keyboard.press("Escape");
  await until("the current phase is explained again", async () => /^primary \(now\)/.test(await note.textContent()));
  await box(page, "follower").hover();
  await until("the one under the pointer is explained", async () => /^follower: /.test(await note.textContent()));
}, "member");

test("an actor that carries out no machine has no diagram", async ({page}) => {
  await page.goto(`${page.origin}/#/node/storage/checkpointer`);
  await page.waitForSelector('#side [data-section="state"]');
  assert.equal(await page.locator('#side [data-section="machine"]').count(), 0);
}, "member");

/** A machine with few transitions, as an answer of the endpoint about an actor that is there. */
const kLamp = {
  name: "lamp",
  phases: [{name: "dark", meaning: "nobody needs it"}, {name: "lit", meaning: "somebody reads"}, {name: "broken", meaning: "it waits to be replaced"}],
  transitions: [{from: "dark", event: "Switched", to: ["lit"]}, {from: "lit", event: "Switched", to: ["dark"]}, {from: "lit", event: "Burnt", to: ["broken"]},
                {from: "broken", event: "Dusted", to: []}, {from: "broken", event: "Replaced", to: ["dark", null]}, {from: null, event: "Thrown", to: [null]}],
};

test("a small machine has its events written on its arrows, and an end", async ({page}) => {
  await page.route("**/actors/node/storage/checkpointer", async (route) => {
    const body = await (await route.fetch()).json();
    await route.fulfill({json: {...body, machine: kLamp, row: {...body.row, phase: "lit"}}});
  });
  await page.goto(`${page.origin}/#/node/storage/checkpointer`);
  await page.waitForSelector("#side .machine.sparse");
  const arrow = (from, to) => page.locator(`#side .arrow[data-from="${from}"][data-to="${to}"]`);
  assert.equal(await arrow("dark", "lit").locator("text").textContent(), "Switched");
  assert.equal(await arrow("broken", "the end").locator("title").textContent(), "broken → the end: Replaced, Thrown");
  assert.equal(await arrow("lit", "the end").count(), 1, "what counts in any phase counts in each");
  assert.equal(await arrow("broken", "broken").count(), 0);
  await box(page, "broken").focus();
  assert.match(await page.locator("#side .phase-note").textContent(), /staysDusted$/);
  await page.unrouteAll({behavior: "ignoreErrors"});  // the page asks again and again, also while it is closed
});

test("its moves can be read by a page that was opened afterwards", async ({page, server}) => {
  await bePrimary(server);
  await open(page);
  const list = page.locator('#side [data-section="moves"] .log li');
  await list.first().waitFor();
  const moves = await list.allTextContents();
  assert.ok(moves.some((one) => one.includes("Initiate")), moves.join("\n"));
  assert.ok(moves.some((one) => one.includes("draining → primary")), moves.join("\n"));
}, "member");
