// What the writers of Node.js share: lanes that write until the standard input ends, and the line for each write (history.py).
import {setTimeout as pause} from "node:timers/promises";

// A write concern that was not met leaves open whether the write lasts; a label says that the driver may try again, and it did.
// `driver`: the module `mongodb` of which the error is.
function outcomeOf(error, driver) {
  const refused = error instanceof driver.MongoServerError && !(error instanceof driver.MongoWriteConcernError);
  return refused && !error.hasErrorLabel("RetryableWriteError") ? "failed" : "unknown";
}

// `kinds`: name -> a function of (name of the lane, number of the write) that gives the value to record.
export async function writeUntilEnd(driver, name, lanes, pauseMs, kinds) {
  let ending = false;
  process.stdin.on("end", () => { ending = true; }).resume();
  const names = Object.keys(kinds);
  await Promise.all(Array.from({length: lanes}, async (_, lane) => {
    for (let number = 0; !ending; ++number) {
      const kind = names[number % names.length], begun = Date.now() / 1000;
      let value = "", said = "", outcome = "acknowledged";
      try {
        value = await kinds[kind](`${name}-${lane}`, number);
      } catch (error) {
        outcome = outcomeOf(error, driver);
        said = `${error.name} ${error.code ?? ""} [${error.errorLabels ?? ""}] ${error.message}`.replace(/\s+/g, " ").slice(0, 300);
      }
      const fields = [lane, kind, number, outcome, begun.toFixed(3), (Date.now() / 1000).toFixed(3), value, said];
      process.stdout.write(`${fields.join("\t")}\n`);
      await pause(pauseMs);
    }
  }));
}
