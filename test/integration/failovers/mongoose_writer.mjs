// Writes with mongoose at its defaults.
//   node mongoose_writer.mjs URI NAME LANES PAUSE_MS
import mongoose from "mongoose";
import {writeUntilEnd} from "./lanes.mjs";

const [uri, name, lanes, pauseMs] = process.argv.slice(2);
const Counter = mongoose.model("Counter", new mongoose.Schema({_id: String, n: Number}, {collection: "counters"}));
const Note = mongoose.model("Note", new mongoose.Schema({_id: String}, {collection: "notes"}));
await mongoose.connect(uri, {dbName: "failovers"});
await writeUntilEnd(mongoose.mongo, name, Number(lanes), Number(pauseMs), {
  update: async (lane) => {
    const done = await Counter.updateOne({_id: `${lane}-update`}, {$inc: {n: 1}}, {upsert: true});
    return done.modifiedCount + done.upsertedCount;
  },
  modify: async (lane) =>
    (await Counter.findOneAndUpdate({_id: `${lane}-modify`}, {$inc: {n: 1}}, {upsert: true, returnDocument: "after"})).n,
  insert: async (lane, number) => {
    await Note.create({_id: `${lane}-${number}`});
    return "";
  },
});
await mongoose.disconnect();
