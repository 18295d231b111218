"""How a connection begins: legacy and modern greetings, awaitable and streaming hello, compression."""
import ctypes
import ctypes.util
import struct
import time
import zlib

import bson
from bson import Int64

import support
from support import EXHAUST_ALLOWED, MORE_TO_COME, OP_COMPRESSED, OP_MSG, OP_QUERY, OP_REPLY, QUERY_FAILURE, SLOWNESS, ServerTest, eventually, frame, op_msg_payload, op_query_payload


class Handshake(ServerTest):
    def test_the_legacy_greeting_is_answered_in_kind(self):
        with self.server.raw() as raw:
            for name in ("isMaster", "ismaster"):
                raw.send(frame(op_query_payload({name: 1, "helloOk": True}), OP_QUERY, 77))
                reply = raw.reply()
                self.assertEqual((reply.opcode, reply.response_to), (OP_REPLY, 77))
                self.assertEqual(struct.unpack_from("<iqii", reply.payload), (8, 0, 0, 1))
                self.check_hello(reply.body, "ismaster")
                self.assertIs(reply.body["helloOk"], True)

    def test_hello(self):
        with self.server.raw() as raw:
            self.check_hello(raw.command({"hello": 1, "$db": "admin"}), "isWritablePrimary")

    def check_hello(self, body, writable):
        self.assertEqual(body["ok"], 1.0)
        self.assertIs(body[writable], True)
        self.assertEqual((body["maxBsonObjectSize"], body["maxMessageSizeBytes"], body["maxWriteBatchSize"]), (16 * 1024 * 1024, 48_000_000, 100_000))
        self.assertEqual((body["minWireVersion"], body["maxWireVersion"], body["logicalSessionTimeoutMinutes"]), (0, 21, 30))
        self.assertGreater(body["connectionId"], 0)
        self.assertEqual(set(body["topologyVersion"]), {"processId", "counter"})
        self.assertNotIn("setName", body)

    def test_other_legacy_queries_are_refused(self):
        with self.server.raw() as raw:
            raw.send(frame(op_query_payload({"find": "c"}), OP_QUERY))
            reply = raw.reply()
            self.assertEqual((reply.opcode, reply.flags & QUERY_FAILURE, reply.body["ok"], reply.body["code"]), (OP_REPLY, QUERY_FAILURE, 0, 352))
            self.assertEqual(reply.body["$err"], reply.body["errmsg"])
            raw.send(frame(op_query_payload({"hello": 1}), OP_QUERY))
            self.assertEqual(raw.reply().flags & QUERY_FAILURE, 0)

    def test_a_getMore_that_allows_it_streams_all_batches(self):
        self.db.c.insert_many({"_id": i} for i in range(25))
        with self.server.raw() as raw:
            cursor = raw.command({"find": "c", "batchSize": 5, "$db": self.db.name})["cursor"]
            raw.send(frame(op_msg_payload({"getMore": Int64(cursor["id"]), "collection": "c", "batchSize": 5, "$db": self.db.name}, EXHAUST_ALLOWED), OP_MSG, 500))
            answered, batches = 500, []
            while not batches or more:
                reply = raw.reply()
                self.assertEqual(reply.response_to, answered)
                answered, more = reply.request_id, reply.flags & MORE_TO_COME
                batches.append(len(reply.body["cursor"]["nextBatch"]))
                self.assertEqual(bool(more), reply.body["cursor"]["id"] != 0)
            self.assertEqual(sum(batches), 20)
            self.assertEqual(raw.command({"ping": 1, "$db": "admin"})["ok"], 1)

    def test_the_end_of_its_cursor_ends_a_stream(self):
        self.db.create_collection("capped", capped=True, size=4096)
        self.db.capped.insert_one({"_id": 1})
        with self.server.raw() as raw:
            cursor = raw.command({"find": "capped", "tailable": True, "awaitData": True, "$db": self.db.name})["cursor"]["id"]
            raw.send(frame(op_msg_payload({"getMore": Int64(cursor), "collection": "capped", "maxTimeMS": 60_000, "$db": self.db.name}, EXHAUST_ALLOWED)))
            self.db.capped.insert_one({"_id": 2})
            reply = raw.reply()
            self.assertEqual((reply.body["cursor"]["nextBatch"], reply.flags & MORE_TO_COME), ([{"_id": 2}], MORE_TO_COME))
            self.db.command("killCursors", "capped", cursors=[cursor])
            reply = raw.reply()
            self.assertEqual((reply.body["ok"], reply.flags & MORE_TO_COME), (0, 0))

    def test_client_metadata_comes_once(self):
        with self.server.raw() as raw:
            client = {"driver": {"name": "t", "version": "1"}, "os": {"type": "x"}}
            self.assertEqual(raw.command({"hello": 1, "client": client, "$db": "admin"})["ok"], 1)
            self.assertEqual(raw.command({"hello": 1, "client": client, "$db": "admin"})["code"], 186)
            self.assertEqual(raw.command({"hello": 1, "$db": "admin"})["ok"], 1)
        with self.server.raw() as raw:
            self.assertEqual(raw.command({"hello": 1, "client": {"driver": "x" * 600}, "$db": "admin"})["ok"], 0)

    def test_awaitable_hello_waits_its_time(self):
        with self.server.raw() as raw:
            known = raw.command({"hello": 1, "$db": "admin"})["topologyVersion"]
            before = time.monotonic()
            body = raw.command({"hello": 1, "topologyVersion": known, "maxAwaitTimeMS": 300, "$db": "admin"})
            self.assertEqual((body["ok"], body["topologyVersion"]), (1.0, known))
            self.assertGreaterEqual(time.monotonic() - before, 0.29)
            other = {"processId": bson.ObjectId(), "counter": known["counter"]}
            before = time.monotonic()
            self.assertEqual(raw.command({"hello": 1, "topologyVersion": other, "maxAwaitTimeMS": 60_000, "$db": "admin"})["ok"], 1)
            self.assertLess(time.monotonic() - before, 10 * SLOWNESS)
            self.assertEqual(raw.command({"hello": 1, "topologyVersion": known, "$db": "admin"})["ok"], 0)
            ahead = {**known, "counter": Int64(known["counter"] + 5)}
            self.assertEqual(raw.command({"hello": 1, "topologyVersion": ahead, "maxAwaitTimeMS": 10, "$db": "admin"})["ok"], 0)

    def test_an_allowed_hello_streams(self):
        with self.server.raw() as raw:
            known = raw.command({"hello": 1, "$db": "admin"})["topologyVersion"]
            raw.send(frame(op_msg_payload({"hello": 1, "topologyVersion": known, "maxAwaitTimeMS": 50, "$db": "admin"}, EXHAUST_ALLOWED), OP_MSG, 500))
            answered = 500
            for _ in range(4):
                reply = raw.reply()
                self.assertEqual((reply.response_to, reply.flags & MORE_TO_COME, reply.body["ok"]), (answered, MORE_TO_COME, 1.0))
                answered = reply.request_id

    def test_a_streams_end_frees_the_connection(self):
        with self.server.raw() as raw:
            hello = raw.command({"hello": 1, "$db": "admin"})
            known = hello["topologyVersion"]
            raw.send(frame(op_msg_payload({"hello": 1, "topologyVersion": known, "maxAwaitTimeMS": 100, "$db": "admin"}, EXHAUST_ALLOWED)))
            raw.reply()
        rows = lambda: self.client.admin.command("actorTree", cursor={"batchSize": 1000})["cursor"]["firstBatch"]
        gone = lambda: not any(row["path"].endswith(f"/conn{hello['connectionId']}") for row in rows())
        self.assertTrue(eventually(gone), "the connection is still there")

    def test_checksums(self):
        with self.server.raw() as raw:
            payload = op_msg_payload({"ping": 1, "$db": "admin"}, support.CHECKSUM)
            head = support.header(16 + len(payload) + 4, 9, 0, OP_MSG)
            raw.send(head + payload + struct.pack("<I", crc32c(head + payload)))
            reply = raw.reply()
            self.assertEqual(bson.decode(reply.payload[5:-4])["ok"], 1.0)
            self.assertEqual(reply.flags & support.CHECKSUM, support.CHECKSUM)
            raw.send(head + payload + b"\0\0\0\0")
            self.assertTrue(raw.closed())

    def test_compression(self):
        for name, number, pack, unpack in compressors():
            with self.subTest(compressor=name), self.server.raw() as raw:
                body = raw.command({"hello": 1, "compression": ["unknown", name], "$db": "admin"})
                self.assertEqual(body["compression"], [name])
                for documents in ([{"_id": name, "x": "y" * 100_000}], None):
                    command = {"insert": "packed", "documents": documents} if documents else {"find": "packed", "filter": {"_id": name}}
                    payload = op_msg_payload({**command, "$db": "compression"})
                    raw.send(frame(struct.pack("<iib", OP_MSG, len(payload), number) + pack(payload), OP_COMPRESSED))
                    reply = raw.reply()
                self.assertEqual(reply.opcode, OP_COMPRESSED)
                opcode, size, used = struct.unpack_from("<iib", reply.payload)
                self.assertEqual((opcode, used), (OP_MSG, number))
                self.assertLess(reply.length, 50_000)
                body = bson.decode(unpack(reply.payload[9:], size)[5:])
                self.assertEqual(len(body["cursor"]["firstBatch"][0]["x"]), 100_000)

    def test_lying_compression_is_refused(self):
        for name, number, pack, _ in compressors():
            payload = op_msg_payload({"ping": 1, "$db": "admin"})
            for content, size in ((pack(payload), 2**30), (pack(payload), len(payload) - 1), (b"garbage", len(payload)), (pack(bytes(60_000_000)), 60_000_000), (b"", 10), (pack(payload), -1)):
                with self.subTest(compressor=name, size=size), self.server.raw() as raw:
                    raw.send(frame(struct.pack("<iib", OP_MSG, size, number) + content, OP_COMPRESSED))
                    reply = raw.reply()
                    self.assertTrue(reply is None or reply.body["ok"] == 0)
        self.assertEqual(self.client.admin.command("ping")["ok"], 1)
        self.assertMemoryGrew(0, less_than_mib=1000)

    def test_the_driver_with_zlib(self):
        with self.server.client(compressors="zlib") as client:
            client.zlib.c.insert_many([{"_id": i, "x": "y" * 1000} for i in range(100)])
            self.assertEqual(len(list(client.zlib.c.find())), 100)


class NoCompression(ServerTest):
    OPTIONS = ("--networkMessageCompressors", "disabled")

    def test_none_is_offered(self):
        with self.server.raw() as raw:
            self.assertNotIn("compression", raw.command({"hello": 1, "compression": ["zlib", "zstd"], "$db": "admin"}))


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def compressors():
    """(name, number, pack, unpack) of each that this machine's libraries offer."""
    yield "zlib", 2, zlib.compress, lambda data, size: zlib.decompress(data)
    for name, number, find in (("snappy", 1, snappy), ("zstd", 3, zstd)):
        try:
            yield (name, number, *find())
        except OSError:
            pass


def snappy():
    library = ctypes.CDLL("libsnappy.so.1")

    def pack(data):
        size = ctypes.c_size_t(library.snappy_max_compressed_length(ctypes.c_size_t(len(data))))
        out = ctypes.create_string_buffer(size.value)
        assert library.snappy_compress(data, ctypes.c_size_t(len(data)), out, ctypes.byref(size)) == 0
        return out.raw[:size.value]

    def unpack(data, limit):
        size = ctypes.c_size_t(limit)
        out = ctypes.create_string_buffer(limit)
        assert library.snappy_uncompress(data, ctypes.c_size_t(len(data)), out, ctypes.byref(size)) == 0
        return out.raw[:size.value]

    return pack, unpack


def zstd():
    library = ctypes.CDLL("libzstd.so.1")
    for function in ("ZSTD_compressBound", "ZSTD_compress", "ZSTD_decompress"):
        getattr(library, function).restype = ctypes.c_size_t

    def pack(data):
        bound = library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
        out = ctypes.create_string_buffer(bound)
        size = library.ZSTD_compress(out, ctypes.c_size_t(bound), data, ctypes.c_size_t(len(data)), 3)
        return out.raw[:size]

    def unpack(data, size):
        out = ctypes.create_string_buffer(size)
        size = library.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
        return out.raw[:size]

    return pack, unpack
