// Writes with the Node driver at its defaults.
//   node node_writer.mjs URI NAME LANES PAUSE_MS
import * as mongodb from "mongodb";
import {writeUntilEnd} from "./lanes.mjs";

const [uri, name, lanes, pauseMs] = process.argv.slice(2);
const client = new mongodb.MongoClient(uri);
const counters = client.db("failovers").collection("counters"), notes = client.db("failovers").collection("notes");
await writeUntilEnd(mongodb, name, Number(lanes), Number(pauseMs), {
  update: async (lane) => {
    const done = await counters.updateOne({_id: `${lane}-update`}, {$inc: {n: 1}}, {upsert: true});
    return done.modifiedCount + done.upsertedCount;
  },
  modify: async (lane) =>
    (await counters.findOneAndUpdate({_id: `${lane}-modify`}, {$inc: {n: 1}}, {upsert: true, returnDocument: "after"})).n,
  insert: async (lane, number) => {
    await notes.insertOne({_id: `${lane}-${number}`});
    return "";
  },
});
await client.close();
