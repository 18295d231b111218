// The view of the whole set, with three real members: who pulls from whom, who is out of reach, the actors of all members
// in one tree and what can be done to them, and the history of elections.
import assert from "node:assert/strict";
import {broken} from "./accessibility.mjs";
import {fact, kPatience, life, row, shownPhase, test, until} from "./harness.mjs";

const card = (page, member) => page.locator(`.member-card[data-member="${member.host}"]`);
const stateOf = (page, member) => card(page, member).getAttribute("data-state");
const arrows = (page) => page.locator(".set-picture .pull").evaluateAll((all) => all.map((one) => `${one.dataset.from} > ${one.dataset.to}`).sort());
const shownFact = (page, name) => page.locator(`#set-facts [data-fact="${name}"]`).getAttribute("data-value");
const history = (page, member, text) => page.locator(`#set-events tr[data-member="${member.host}"]`, {hasText: text});
const titles = (page, member) => page.locator(`#set-events tr[data-member="${member.host}"] button`).allTextContents();
const rowAt = async (member, path) => (await member.get(`/actors${path}`)).row;

async function primaryOf(server) {
  for (const member of server.members) if ((await member.command({hello: 1})).isWritablePrimary) return member;
  return undefined;
}

/** A primary, and two members that pull. Returns the primary. */
async function whole(server) {
  let primary;
  await until("the set is whole", async () => {
    primary = await primaryOf(server);
    if (!primary) return false;
    const {members} = await primary.command({replSetGetStatus: 1});
    return members.every((one) => one.health === 1 && (one.state === 1 || (one.state === 2 && one.syncSourceHost)));
  });
  return primary;
}

async function open(page, server) {
  const primary = await whole(server);
  await page.click("#view-set");
  for (const {host} of server.members) await row(page, `${host}/node/storage`).waitFor();
  return primary;
}

const othersThan = (server, ...known) => server.members.filter((member) => !known.includes(member));

/** Shows an actor by its address. */
async function choose(page, member, path) {
  await page.goto(`${page.origin}/#set/${member.host}${path}`);
  await until(`${path} of ${member.host} is shown`, async () =>
    (await page.locator("#side h2").textContent()) === path.split("/").at(-1) && (await fact(page, "Member").textContent()).startsWith(member.host));
}

/** What the documentation shows: a set after a step-down, and the machine of a member that is not the page's. */
export async function showSet(page, server) {
  page.origin = server.address;
  await page.goto(server.address);
  const primary = await open(page, server);
  await primary.command({replSetStepDown: 60, secondaryCatchUpPeriodSecs: 10});
  const next = await whole(server);
  await choose(page, next, "/node/replication/topology");
  await history(page, next, "is elected primary").first().waitFor();
  await until("the picture shows it", async () => (await stateOf(page, next)) === "PRIMARY" && (await arrows(page)).length === 2);
  await page.locator("#side .phase-box.lit").waitFor();
  await page.evaluate(() => document.activeElement.blur());
}

test("a node that stands alone says that it is no member of a set", async ({page}) => {
  await page.click("#view-set");
  await until("it says so", async () => (await page.locator("#set-empty").textContent()) === "This node is no member of a set.");
  for (const part of [".set-members", ".set-history", ".stage"]) assert.equal(await page.locator(part).isVisible(), false, part);
  await page.click("#view-tree");
  await row(page, "/node/storage").waitFor();
});

/** Moves of one machine, newest first, a second apart. */
function movesOf(node, machine, path, phases, cause = null) {
  return phases.slice(1).map((to, index) => ({node, machine, path, event: phases[index] === null ? "resumed" : "Next", cause, from: phases[index], to, revision: 0, effects: [],
    at: new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString()})).reverse();
}

test("moves from one resting phase to the next are told as one event", async ({page}) => {
  const told = (machine, phases) => page.evaluate(async (moves) => {
    const {eventsOf} = await import("/set_events.js");
    return eventsOf(new Map([["a", moves]]), 100).map((one) => `${one.text} (${one.chain})`);
  }, movesOf("a", machine, `/node/replication/${machine}`, phases));
  const follower = ["follower", "dry run", "candidate", "catching up", "draining", "primary"];
  assert.deepEqual(await told("topology", follower), [`is elected primary (${follower.join(" → ")})`]);
  assert.deepEqual(await told("topology", ["follower", "dry run", "candidate", "follower"]), ["was not elected (follower → dry run → candidate → follower)"]);
  assert.deepEqual(await told("topology", ["follower", "dry run", "candidate", "catching up", "follower"]), ["was elected, and steps down (follower → dry run → candidate → catching up → follower)"]);
  assert.deepEqual(await told("topology", ["primary", "stepping down", "follower", "dry run"]), ["stands for election (follower → dry run)", "steps down (primary → stepping down → follower)"]);
  assert.deepEqual(await told("topology", [null, "startup", "follower"]), ["joins the set (startup → follower)", "starts without a config (startup)"]);
  const rollback = ["following", "stopping", "comparing", "entering", "saving", "taking down", "rolling back", "replaying"];
  assert.deepEqual(await told("rollback", rollback), [`is rolled back: replaying (${rollback.join(" → ")})`]);
  assert.deepEqual(await told("rollback", [...rollback, "ending", "following"]), [`was rolled back (${[...rollback, "ending", "following"].join(" → ")})`]);
  assert.deepEqual(await told("rollback", ["following", "stopping", "following"]), ["was not rolled back (following → stopping → following)"]);
  assert.deepEqual(await told("rollback", ["following", "stopping", "failed"]), ["could not be rolled back (following → stopping → failed)"]);
  const copy = ["idle", "entering", "choosing", "resetting", "cloning"];
  assert.deepEqual(await told("initial-sync", copy), [`copies the data: cloning (${copy.join(" → ")})`]);
  assert.deepEqual(await told("fetching", ["idle", "choosing", "too stale"]), ["is too stale: no source has what it needs next (choosing → too stale)"]);
  const lives = [movesOf("a", "initial-sync", "/p", [null, "entering", "choosing"]), movesOf("a", "initial-sync", "/p", ["idle", "entering", "choosing"])].flat();
  const cut = await page.evaluate(async (moves) => (await import("/set_events.js")).eventsOf(new Map([["a", moves]]), 100).map((one) => one.text).sort(), lives);
  assert.deepEqual(cut, ["copies the data: choosing", "copies the data: choosing, and was cut off"]);
});

test("seven members and chains of them have their places in the picture", async ({page}) => {
  const member = (id, syncSource = "", more = {}) => ({name: `m${id}`, id, state: id === 3 ? "PRIMARY" : "SECONDARY", health: 1, syncSource, ...more});
  const plan = (members) => page.evaluate(async (given) => {
    const {layout} = await import("/set_picture.js");
    const {places, arrows, width, height} = layout(given);
    return {width, height, places: Object.fromEntries([...places].map(([name, {column, x, y}]) => [name, {column, x, y}])), arrows: arrows.map(({from, to}) => `${from.member.name} > ${to.member.name}`).sort()};
  }, members);
  const columnsOf = ({places}) => Object.fromEntries(Object.entries(places).map(([name, {column}]) => [name, column]));
  const seven = [member(0, "m3"), member(1, "m3"), member(2, "m0"), member(3), member(4, "m2"), member(5, "", {state: "DOWN", health: 0}), member(6, "", {state: "ARBITER"})];
  const shown = await plan(seven);
  assert.deepEqual(columnsOf(shown), {m0: 1, m1: 1, m2: 2, m3: 0, m4: 3, m5: 1, m6: 1});
  assert.deepEqual(shown.arrows, ["m0 > m3", "m1 > m3", "m2 > m0", "m4 > m2"]);
  assert.deepEqual(await plan([...seven].reverse()), shown, "the same for the same set");
  const spots = Object.values(shown.places);
  for (const one of spots) {
    assert.ok(one.x >= 0 && one.y >= 0 && one.x + 226 <= shown.width && one.y + 84 <= shown.height);
    for (const other of spots) assert.ok(one === other || one.column !== other.column || Math.abs(one.y - other.y) >= 84, "cards do not overlap");
  }
  // Nobody leads, and two name each other, as may be for a moment.
  assert.deepEqual(columnsOf(await plan([member(0, "m1"), member(1, "m0"), member(2, "m2")])), {m0: 1, m1: 0, m2: 0});
});

test("the picture shows who leads the set, and from whom the others pull", async ({page, server}) => {
  const primary = await open(page, server);
  await until("each member is shown in its state", async () => {
    const states = await Promise.all(server.members.map((member) => stateOf(page, member)));
    return states.every((state, index) => state === (server.members[index] === primary ? "PRIMARY" : "SECONDARY"));
  });
  await until("two arrows, to the members that they say they pull from", async () => {
    const sources = await Promise.all(othersThan(server, primary).map(async (member) => {
      const {members} = await member.command({replSetGetStatus: 1});
      return `${member.host} > ${members.find((one) => one.self).syncSourceHost}`;
    }));
    return JSON.stringify(await arrows(page)) === JSON.stringify(sources.sort());
  });
  assert.equal(await page.locator("#set-name").textContent(), "Set rs");
  const {term} = await primary.command({replSetGetStatus: 1});
  assert.equal(await shownFact(page, "term"), String(term));
  assert.equal(await shownFact(page, "votes"), "3");
  const before = await shownFact(page, "commit point");
  await primary.command({insert: "visits", documents: [{at: new Date()}], writeConcern: {w: "majority"}}, "shop");
  await until("the commit point moves with a write", async () => (await shownFact(page, "commit point")) !== before);
  const places = () => page.locator(".member-card").evaluateAll((all) => Object.fromEntries(all.map((one) => [one.dataset.member, one.getBoundingClientRect().x])));
  const x = await places();
  assert.ok(othersThan(server, primary).every((member) => x[member.host] > x[primary.host]), "the primary stands at the left");
}, "set");

test("a member is chosen in the picture by keys, and its panel tells what it is", async ({page, server}) => {
  const primary = await open(page, server);
  const [other] = othersThan(server, primary);
  await card(page, other).focus();
  await page.keyboard.press("Enter");
  await until("it is chosen in the tree", async () => (await row(page, other.host).getAttribute("aria-selected")) === "true");
  assert.equal(await page.locator("#side h2").textContent(), other.host);
  assert.equal(await shownPhase(page).textContent(), "SECONDARY");
  assert.match(await fact(page, "By the config").textContent(), /^1 vote, priority 1$/);
  await until("a reading leaves the focus where it is", async () => {
    await page.waitForResponse((response) => new URL(response.url()).pathname === "/set");
    return (await page.evaluate(() => document.activeElement.dataset.member)) === other.host;
  });
  await row(page, other.host).focus();
  await page.keyboard.press("ArrowLeft");
  assert.equal(await row(page, other.host).getAttribute("aria-expanded"), "false");
  assert.equal(await row(page, `${other.host}/node`).count(), 0);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.path), `${other.host}/node`);
  assert.equal(await row(page, `${other.host}/node`).getAttribute("aria-level"), "2");
}, "set");

test("an actor of another member is restarted from the page", async ({page, server}) => {
  await open(page, server);
  const [self, other, third] = server.members, path = "/node/services/ttl-monitor";
  const lives = async () => Promise.all([self, other, third].map(async (member) => (await rowAt(member, path)).incarnation));
  const before = await lives();
  await row(page, `${other.host}/node/services`).locator(".twist").click();
  await row(page, `${other.host}${path}`).click();
  await until("its details are read from its member", async () => (await page.locator('#side [data-section="state"] pre').count()) === 1);
  assert.equal(await fact(page, "Member").textContent(), other.host);
  assert.equal(new URL(page.url()).hash, `#set/${other.host}${path}`);
  await page.click('#side [data-action="restart"]');
  assert.equal(await page.locator("#confirm-path").textContent(), `${path} on ${other.host}`);
  await page.keyboard.press("Escape");
  assert.deepEqual(await lives(), before, "nothing happens when the question is cancelled");
  await page.click('#side [data-action="restart"]');
  await page.fill("#confirm-reason", "the browser test asks");
  await page.click("#confirm-go");
  await until("that member has restarted it", async () => (await lives())[1] === before[1] + 1);
  assert.deepEqual(await lives(), [before[0], before[1] + 1, before[2]], "and no other");
  await until("the page shows it", async () => (await life(page)) === before[1] + 1);
  await until("it is well again", async () => (await shownPhase(page).getAttribute("data-tone")) === "good");
}, "set");

test("an actor of another member is parked, resumed and traced", async ({page, server}) => {
  await whole(server);
  const other = server.members[2], path = "/node/services/idle-sweeper";
  await choose(page, other, path);
  const press = async (action) => {
    await page.click(`#side [data-action="${action}"]`);
    await page.click("#confirm-go");
  };
  await press("park");
  await until("it is parked there", async () => (await rowAt(other, path)).phase === "parked");
  assert.notEqual((await rowAt(server, path)).phase, "parked");
  await press("resume");
  await until("it runs again", async () => (await rowAt(other, path)).phase !== "parked");
  await page.locator('#side [data-action="trace"]:not([disabled])').waitFor();
  await press("trace");
  await page.locator('#side [data-action="untrace"]').waitFor();
  await press("untrace");
  await page.locator('#side [data-action="trace"]').waitFor();
}, "set");

test("the address leads to an actor of a member, and the choice goes along to the other views", async ({page, server}) => {
  await whole(server);
  const other = server.members[1], path = "/node/replication/topology";
  await choose(page, other, path);
  await page.locator("#side .phase-box.lit").waitFor();
  assert.equal(await page.locator("#view-set").getAttribute("aria-checked"), "true");
  await until("it is chosen in the tree", async () => (await row(page, other.host + path).getAttribute("aria-selected")) === "true");
  await page.click("#view-tree");
  assert.equal(new URL(page.url()).hash, "", "an actor of another member is in no tree of this node");
  await page.goto(`${page.origin}/#${path}`);
  await fact(page, "Incarnation").waitFor();
  await page.click("#view-set");
  await until("an actor of this node is", async () => (await row(page, server.host + path).getAttribute("aria-selected")) === "true");
  assert.equal(new URL(page.url()).hash, `#set/${server.host}${path}`);
  await page.click("#view-table");
  assert.equal(new URL(page.url()).hash, `#${path}`);
}, "set");

test("the history shows the copies of the data, a step-down and the election after it", async ({page, server}) => {
  const primary = await open(page, server);
  for (const member of server.members.slice(1)) await history(page, member, "has copied all data").first().waitFor();
  const count = async (member, text) => (await titles(page, member)).filter((one) => one === text).length;
  const before = new Map();
  for (const member of server.members) before.set(member, await count(member, "is elected primary"));
  const down = await count(primary, "steps down");
  await primary.command({replSetStepDown: 30, secondaryCatchUpPeriodSecs: 10});
  const next = await whole(server);
  assert.notEqual(next, primary);
  await until("its step-down is shown", async () => (await count(primary, "steps down")) === down + 1);
  await until("the election of the next is shown", async () => (await count(next, "is elected primary")) === before.get(next) + 1);
  const newest = history(page, next, "is elected primary").first();
  assert.match(await newest.locator(".what .faint").textContent(), /candidate → catching up → draining → primary/);
  assert.ok(Date.now() - Date.parse(await newest.locator("time").getAttribute("datetime")) < kPatience);
  const stamps = await page.locator("#set-events time").evaluateAll((all) => all.map((one) => Date.parse(one.dateTime)));
  assert.deepEqual(stamps, [...stamps].sort((a, b) => b - a), "the newest first");
  await until("a vote for it is shown", async () => (await Promise.all(othersThan(server, next).map((one) => count(one, `votes for ${next.host}`)))).some((n) => n > 0));
  const lanes = await newest.locator(".lane").evaluateAll((all) => all.map((one) => one.dataset.above));
  assert.equal(lanes[server.members.indexOf(next)], "primary");
  await newest.locator("button").click();
  await until("its machine is shown", async () => (await fact(page, "Member").textContent()).startsWith(next.host));
  assert.equal(new URL(page.url()).hash, `#set/${next.host}/node/replication/topology`);
}, "set");

test("a member that is killed is shown out of reach, and comes back", async ({page, server}) => {
  await open(page, server);
  const lost = server.members[2], path = "/node/storage";
  await row(page, lost.host + path).click();
  await lost.kill();
  try {
    await until("the picture shows it", async () => (await stateOf(page, lost)) === "out of reach");
    await until("the tree shows it", async () => (await row(page, lost.host).locator(".phase").textContent()) === "out of reach");
    await until("its actors are gone", async () => (await row(page, `${lost.host}/node`).count()) === 0);
    await until("the panel says why", async () => (await page.locator("#side .meaning").textContent()).startsWith("Its member is out of reach: "));
    assert.equal(await shownFact(page, "out of reach"), "1");
    assert.ok((await arrows(page)).every((arrow) => !arrow.startsWith(lost.host)), "it pulls from nobody");
    assert.ok((await titles(page, lost)).includes("has copied all data"), "what is known of it stays");
  } finally {
    await lost.start();
  }
  await until("it is shown again", async () => (await stateOf(page, lost)) === "SECONDARY");
  await until("what was chosen is still chosen", async () => (await row(page, lost.host + path).getAttribute("aria-selected")) === "true");
  await fact(page, "Incarnation").waitFor();
  // Its chosen actor was asked for until the page knew.
  page.problems = page.problems.filter((text) => !/responded with a status of (404|50\d)/.test(text));
}, "set");

test("the set is read while it is shown, and not otherwise", async ({page, server}) => {
  await open(page, server);
  const asked = {set: 0, node: 0};
  page.on("request", (request) => {
    const {pathname, searchParams} = new URL(request.url());
    if (pathname === "/set" || searchParams.has("members")) ++asked.set;
    else if (pathname === "/actors") ++asked.node;
  });
  await until("it is read again", () => asked.set >= 2);
  await page.click("#view-tree");
  Object.assign(asked, {set: 0, node: 0});
  await until("the node is read three times", () => asked.node >= 3);
  assert.equal(asked.set, 0);
}, "set");

test("a search finds actors of all members", async ({page, server}) => {
  await open(page, server);
  await page.keyboard.press("/");
  await page.keyboard.type("checkpo");
  await until("one of each is left, with what is above it", async () => (await page.locator("#rows tr").count()) === 4 * server.members.length);
  assert.match(await page.locator("#count").textContent(), /^3 of \d+ actors of 3 members match$/);
}, "set");

test("the set can be used by all, in both themes, and in a narrow window", async ({page, server}) => {
  await open(page, server);
  const look = async (what) => {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({colorScheme});
      assert.deepEqual(await broken(page), [], `${what}, ${colorScheme}`);
    }
  };
  await look("the set");
  await card(page, server.members[1]).click();
  await until("it is chosen", async () => (await page.locator("#side h2").textContent()) === server.members[1].host);
  await look("a member");
  await page.setViewportSize({width: 390, height: 800});
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth + 1));
}, "set");
