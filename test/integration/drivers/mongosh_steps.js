// What the steps of all tours are made of; mongosh loads it before a tour.
function step(name, work) {
  try {
    work();
    print(`ok ${name}`);
  } catch (error) {
    print(`FAIL ${name}: ${error.stack.split("\n").slice(0, 3).join(" | ")}`);
  }
}
function equal(actual, expected) {
  if (EJSON.stringify(actual) !== EJSON.stringify(expected)) throw new Error(`${EJSON.stringify(actual)} is not ${EJSON.stringify(expected)}`);
}
function fails(code, work) {
  try {
    work();
  } catch (error) {
    return equal(error.code, code);
  }
  throw new Error(`no error, expected ${code}`);
}
function eventually(what, check) {
  for (const begun = Date.now(); Date.now() - begun < 60000; sleep(50)) if (check()) return;
  throw new Error(`${what}: not within a minute`);
}
