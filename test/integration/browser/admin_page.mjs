// The admin page in a real browser against real nodes.
//   node admin_page.mjs [--filter TEXT]
//   node admin_page.mjs --screenshot FILE [--dark] [--url http://localhost:PORT[/#PATH]]    a picture of a running node
//   node admin_page.mjs --screenshot FILE [--dark] --trace FILE                             a picture of a timeline
//   node admin_page.mjs --screenshot FILE [--dark] --set                                    a picture of a set after a step-down
// TROUPE_BIN is the folder of trouped, TROUPE_CHROMIUM the browser. Prints "N passed, M failed" at the end.
import assert from "node:assert/strict";
import {parseArgs} from "node:util";
import {kPatience, serverOf, startBrowser, stopServers, tests} from "./harness.mjs";
import "./accessibility.mjs";
import "./actors.mjs";
import "./locks.mjs";
import "./machine.mjs";
import "./restarts.mjs";
import "./sessions.mjs";
import {showSet} from "./set.mjs";
import "./timeline.mjs";

const {values: options} = parseArgs({options: {
  screenshot: {type: "string"}, dark: {type: "boolean"}, url: {type: "string"}, trace: {type: "string"}, set: {type: "boolean"}, filter: {type: "string"},
}});

/** With enough history that the figures' lines say something. */
async function takePicture(browser) {
  const page = await browser.newPage({viewport: {width: 1360, height: 900}, colorScheme: options.dark ? "dark" : "light"});
  if (options.set) {
    await showSet(page, await serverOf("set"));
    return page.screenshot({path: options.screenshot});
  }
  const address = options.url ?? (await serverOf("standalone")).address;
  await page.goto(address.includes("#") || options.trace ? address : `${address}/#/node/storage/journal-flusher`);
  if (options.trace) {
    await page.setInputFiles("#trace-file", options.trace);
    await page.click("#view-timeline");
    await page.waitForSelector("#trace-canvas[data-lanes]");
    await new Promise((resolve) => setTimeout(resolve, 500));
  } else {
    await page.waitForSelector('#side [data-section="state"] pre');
    await new Promise((resolve) => setTimeout(resolve, options.url ? 40_000 : 8_000));
  }
  await page.screenshot({path: options.screenshot});
}

async function run(one, browser) {
  const server = await serverOf(one.server);
  const page = await browser.newPage({viewport: {width: 1280, height: 800}});
  page.origin = server.address;
  page.problems = [];
  page.setDefaultTimeout(kPatience);
  page.on("console", (message) => message.type() === "error" && page.problems.push(message.text()));
  page.on("pageerror", (failure) => page.problems.push(String(failure)));
  page.on("request", (request) => request.url().startsWith(server.address) || page.problems.push(`asked elsewhere: ${request.url()}`));
  try {
    await page.goto(server.address);
    await one.run({page, server});
    assert.deepEqual(page.problems, [], "the console is clean");
  } finally {
    await page.close();
  }
}

async function runAll(browser) {
  let failed = 0, passed = 0;
  for (const one of tests.filter((each) => !options.filter || each.name.includes(options.filter))) {
    try {
      await run(one, browser);
      ++passed;
      console.log(`ok      ${one.name}`);
    } catch (failure) {
      ++failed;
      console.log(`FAILED  ${one.name}\n        ${failure.stack ?? failure}`);
    }
  }
  return {passed, failed};
}

const browser = await startBrowser();
let counts = {passed: 0, failed: 0};
try {
  if (options.screenshot) await takePicture(browser);
  else counts = await runAll(browser);
} finally {
  await browser.close();
  for (const problem of await stopServers()) {
    ++counts.failed;
    console.log(`FAILED  ${problem}`);
  }
}
if (!options.screenshot) console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed || (counts.passed === 0 && !options.screenshot) ? 1 : 0;
