// A trace of the simulator as a timeline: opened as a file, counted against the file, explored by pointer and keys.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {readFileSync, writeFileSync} from "node:fs";
import {join} from "node:path";
import {bin, scratch, test, until} from "./harness.mjs";

const kScenario = `
name = "three nodes, one of them killed now and then"
[topology]
nodes = 3
[[fault]]
kind = "kill"
every = "3s..6s"
for = "500ms..2s"
leave = 2
[[fault]]
kind = "loss"
every = "2s..4s"
for = "1s..2s"
links = 2
share = 0.3
[liveness]
after = "20s"
converge_within = "30s"
`;

let recorded = null;
/** A run that the simulator has just recorded: {file, trace}. */
export function recording() {
  if (recorded) return recorded;
  const [scenario, file] = [join(scratch, "scenario.toml"), join(scratch, "trace.json")];
  writeFileSync(scenario, kScenario);
  for (let seed = 1; !recorded && seed <= 30; ++seed) {
    execFileSync(join(bin, "troupe"), ["sim", "--scenario", scenario, "--seed", `${seed}`, "--trace", file], {stdio: "pipe"});
    const trace = JSON.parse(readFileSync(file, "utf8"));
    if (hasEverything(counted(trace))) recorded = {file, trace};
  }
  return recorded;
}

const hasEverything = ({arrows, bands, marks, lost}) => arrows > 500 && bands > 10 && marks > 3 && lost > 0;

/** What must be seen of the events, told from the file alone. */
function counted(trace, from = 0, to = Infinity) {
  const within = trace.events.filter((event) => event.at >= from && event.at <= to);
  const of = (kind) => within.filter((event) => event.kind === kind).length;
  const over = new Set(within.filter((event) => ["deliver", "drop"].includes(event.kind)).map((event) => event.message));
  const underWay = within.filter((event) => event.kind === "send" && !over.has(event.message)).length;
  return {lanes: trace.nodes.length, arrows: of("deliver") + of("drop") + underWay, bands: of("phase"), marks: of("fault"), lost: of("drop")};
}

const canvas = (page) => page.locator("#trace-canvas");
const drawn = async (page) => Object.fromEntries(Object.entries(await canvas(page).evaluate((one) => ({...one.dataset}))).map(([name, value]) => [name, value === "true" || (value !== "false" && Number(value))]));
const chosen = async (page) => Number(await page.locator("#trace-chosen").getAttribute("data-event"));
const told = async (page, name) => Number(await page.locator(`#trace-facts [data-count="${name}"]`).getAttribute("data-value"));

export async function open(page, file) {
  await page.click("#view-timeline");
  await page.setInputFiles("#trace-file", file);
  await page.waitForSelector('#timeline[data-state="shown"] #trace-canvas[data-lanes]');
}

function asFile(name, content) {
  return {name, mimeType: "application/json", buffer: Buffer.from(typeof content === "string" ? content : JSON.stringify(content))};
}

test("a trace of the simulator opens as a timeline with all that is in the file", async ({page}) => {
  const {file, trace} = recording() ?? assert.fail("no seed has something of everything");
  const whole = counted(trace);
  await open(page, file);
  assert.equal(await page.locator("#trace-title").textContent(), trace.title);
  assert.deepEqual([await told(page, "nodes"), await told(page, "events"), await told(page, "messages"), await told(page, "lost"), await told(page, "phases"), await told(page, "faults")],
                   [whole.lanes, trace.events.length, whole.arrows, whole.lost, whole.bands, whole.marks]);
  const {lanes, bands, marks} = await drawn(page);
  assert.deepEqual({lanes, bands, marks}, {lanes: whole.lanes, bands: whole.bands, marks: whole.marks}, "the whole run is drawn at first");
});

test("each message is an arrow when few enough are in sight", async ({page}) => {
  const {trace} = recording();
  const part = {...trace, events: trace.events.filter((event) => event.at < 3)};
  const expected = counted(part);
  assert.ok(expected.arrows > 20 && expected.arrows < 2500);
  await open(page, asFile("part.json", part));
  const {lanes, arrows, bands, dense} = await drawn(page);
  assert.deepEqual({lanes, arrows, bands, dense}, {lanes: expected.lanes, arrows: expected.arrows, bands: expected.bands, dense: false});
  await page.click("#trace-in");
  await page.click("#trace-in");
  await page.click("#trace-in");
  await until("fewer are in sight", async () => (await drawn(page)).arrows < expected.arrows);
  await page.click("#trace-fit");
  await until("all are back", async () => (await drawn(page)).arrows === expected.arrows);
});

/** Two nodes, one message, two phases, one fault: small enough to know where everything lies. */
const kTiny = {
  format: "troupe-trace", version: 1, title: "tiny", nodes: ["a", "b"],
  events: [
    {at: 0, kind: "phase", node: "a", role: "", term: 0, actor: "/node/x", what: "waking", detail: ""},
    {at: 1, kind: "send", node: "a", peer: "b", message: 1, role: "leader", term: 4, actor: "network", what: "sends", detail: "Ping to b"},
    {at: 3, kind: "deliver", node: "b", peer: "a", message: 1, role: "", term: 0, actor: "network", what: "gets", detail: "Ping from a"},
    {at: 3.5, kind: "phase", node: "a", role: "", term: 0, actor: "/node/x", what: "awake", detail: ""},
    {at: 4, kind: "fault", node: "b", role: "", term: 0, actor: "operator", what: "kills", detail: ""},
  ],
};

test("pointer and click show the line of an event", async ({page}) => {
  await open(page, asFile("tiny.json", kTiny));
  assert.deepEqual(await drawn(page), {lanes: 2, arrows: 1, bands: 2, marks: 1, dense: false});
  const box = await canvas(page).boundingBox();
  // Looks along the first lane's band for the phase, and in the middle between both lanes for the message.
  const find = async (y, wanted) => {
    for (let x = 80; x < box.width; x += 8) {
      await page.mouse.move(box.x + x, box.y + y);
      const text = await page.locator("#trace-tip").evaluate((tip) => (tip.hidden ? "" : tip.textContent));
      if (text.includes(wanted)) return x;
    }
    throw new Error(`nothing at height ${y} shows ${wanted}`);
  };
  await find(26 + 17 + 10, "waking");
  const x = await find(26 + 17 + 60, "gets");
  await page.mouse.click(box.x + x, box.y + 26 + 17 + 60);
  assert.equal(await chosen(page), 2);
  assert.match(await page.locator("#trace-chosen").textContent(), /^3\.000 {2}b .* network +gets +Ping from a$/);
  assert.equal(await page.locator(".trace-line.selected").getAttribute("data-event"), "2");
  await page.locator('.trace-line[data-event="4"]').click();
  assert.match(await page.locator("#trace-chosen").textContent(), /operator +kills/);
});

test("keys alone go through the events, zoom and move", async ({page}) => {
  for (let i = 0; i < 5; ++i) await page.keyboard.press("t");
  assert.equal(await page.evaluate(() => document.body.dataset.view), "timeline");
  await page.setInputFiles("#trace-file", asFile("tiny.json", kTiny));
  await page.waitForSelector("#trace-canvas[data-lanes]");
  assert.equal(await page.evaluate(() => document.activeElement.id), "trace-canvas");
  await page.keyboard.press("Home");
  for (const expected of [1, 2, 3, 4, 4]) {
    await page.keyboard.press("ArrowDown");
    assert.equal(await chosen(page), expected);
  }
  for (const expected of [3, 2]) {
    await page.keyboard.press("ArrowUp");
    assert.equal(await chosen(page), expected);
  }
  for (let i = 0; i < 8; ++i) await page.keyboard.press("+");
  await until("the fault is out of sight", async () => (await drawn(page)).marks === 0);
  await page.keyboard.press("0");
  await until("everything is in sight", async () => (await drawn(page)).marks === 1);
  await page.keyboard.press("/");
  await page.keyboard.type("kills");
  await until("the search leaves one line", async () => (await page.locator(".trace-line").count()) === 1);
  await page.keyboard.press("Enter");
  assert.equal(await chosen(page), 4);
});

test("a file that is dropped is opened", async ({page}) => {
  const data = await page.evaluateHandle((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], "tiny.json", {type: "application/json"}));
    return transfer;
  }, JSON.stringify(kTiny));
  await page.dispatchEvent("body", "dragover", {dataTransfer: data});
  assert.equal(await page.evaluate(() => document.body.dataset.view), "timeline", "the timeline comes to the front");
  await page.dispatchEvent("body", "drop", {dataTransfer: data});
  await page.waitForSelector('#timeline[data-state="shown"]');
  assert.equal(await page.locator("#trace-title").textContent(), "tiny");
});

test("a bad file is refused with what is wrong in it, and the trace before it stays", async ({page}) => {
  await open(page, asFile("tiny.json", kTiny));
  const withEvent = (change) => ({...kTiny, events: kTiny.events.map((event, index) => (index === 2 ? {...event, ...change} : event))});
  const bad = [
    ["", /bad\.json cannot be shown.*it is empty/],
    ["{\"format\": ", /not JSON/],
    [[1, 2], /has no “format”.*troupe sim --trace/],
    [{format: "har"}, /its “format” is "har".*"troupe-trace"/],
    [{...kTiny, version: 9}, /version 9, and this page reads version 1/],
    [{...kTiny, nodes: "a"}, /“nodes” must be a list of names/],
    [{...kTiny, events: []}, /no events/],
    [withEvent({at: "soon"}), /events\[2\]: “at” must be seconds since the start, not "soon"/],
    [withEvent({at: -1}), /events\[2\]: “at” must be seconds since the start, not -1/],
    [withEvent({kind: "miracle"}), /events\[2\]: unknown “kind” "miracle"/],
    [withEvent({node: "z"}), /events\[2\]: node "z" is not among “nodes”/],
    [withEvent({peer: undefined}), /events\[2\]: “peer” must be the other node/],
    [withEvent({message: "1"}), /events\[2\]: “message” must be the number/],
    [withEvent({what: 7}), /events\[2\]: “what” must be text, not 7/],
    [{...kTiny, events: [null]}, /events\[0\]: must be an object, not null/],
  ];
  for (const [content, expected] of bad) {
    await page.setInputFiles("#trace-file", asFile("bad.json", content));
    await until(`the page says ${expected}`, async () => expected.test(await page.locator("#trace-error").textContent()));
    assert.equal(await page.locator("#trace-error").isVisible(), true);
    assert.equal(await page.locator("#trace-title").textContent(), "tiny");
  }
  await page.setInputFiles("#trace-file", asFile("tiny.json", kTiny));
  await until("a good file takes the complaint away", async () => !(await page.locator("#trace-error").isVisible()));
});

/** As many events as a long run has: pairs of sends and arrivals, a phase every now and then. */
function longTrace(count) {
  const nodes = ["n1", "n2", "n3", "n4", "n5"], events = [];
  for (let i = 0; events.length < count; ++i) {
    const [node, peer] = [nodes[i % 5], nodes[(i * 3 + 1 + i % 5) % 5]];
    const common = {role: "follower", term: 1, actor: "network", message: i};
    if (i % 97 === 0) events.push({at: i / 100, kind: "phase", node, role: "", term: 1, actor: "/node/x", what: i % 2 ? "calm" : "busy", detail: ""});
    events.push({at: i / 100, kind: "send", node, peer: peer === node ? nodes[(i + 1) % 5] : peer, what: "sends", detail: "Ping", ...common});
    events.push({at: i / 100 + 0.002, kind: "deliver", node: peer === node ? nodes[(i + 1) % 5] : peer, peer: node, what: "gets", detail: "Ping", ...common});
  }
  return {...kTiny, title: "long", nodes, events};
}

test("a hundred thousand events stay quick to look at", async ({page}) => {
  const trace = longTrace(100_000);
  await open(page, asFile("long.json", trace));
  const whole = await drawn(page);
  assert.equal(whole.dense, true, "too many messages to draw each");
  assert.equal(whole.bands, counted(trace).bands);
  assert.ok((await page.locator(".trace-line").count()) < 200, "only the lines in sight are in the page");
  const slowest = await page.evaluate(async () => {
    const canvas = document.getElementById("trace-canvas");
    let slowest = 0;
    for (let i = 0; i < 30; ++i) {
      const begun = performance.now();
      canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: i % 2 ? 60 : -100, clientX: 600, clientY: 300, cancelable: true}));
      canvas.dispatchEvent(new PointerEvent("pointermove", {clientX: 500 + i, clientY: 300}));
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      slowest = Math.max(slowest, performance.now() - begun);
    }
    return slowest;
  });
  const bound = 400 * Number(process.env.TROUPE_TEST_SLOWNESS ?? 1);
  assert.ok(slowest < bound, `the slowest of 30 frames took ${slowest.toFixed(0)} ms`);
  await page.locator("#trace-canvas").focus();
  await page.keyboard.press("End");
  assert.equal(await chosen(page), trace.events.length - 1);
  await page.locator(`.trace-line[data-event="${trace.events.length - 1}"].selected`).waitFor();
  for (let i = 0; i < 12; ++i) await page.keyboard.press("+");
  await until("single messages are drawn", async () => !(await drawn(page)).dense && (await drawn(page)).arrows > 0);
});
