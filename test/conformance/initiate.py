#!/usr/bin/env python3
"""Makes a replica set of running members and waits until it takes writes: initiate.py NAME PORT..."""
import sys
import time

import pymongo
import pymongo.errors

name, ports = sys.argv[1], [int(port) for port in sys.argv[2:]]
hosts = [f"127.0.0.1:{port}" for port in ports]
client = pymongo.MongoClient(hosts[0], directConnection=True)
client.admin.command({"replSetInitiate": {"_id": name, "members": [{"_id": i, "host": host} for i, host in enumerate(hosts)],
                                          "settings": {"electionTimeoutMillis": 5000, "heartbeatIntervalMillis": 500}}})
client = pymongo.MongoClient(hosts, replicaSet=name, w=len(hosts), wtimeoutMS=60_000)
for _ in range(300):
    try:
        client.test.initiated.insert_one({})
        client.drop_database("test")
        sys.exit(0)
    except pymongo.errors.PyMongoError:
        time.sleep(0.2)
sys.exit("the set takes no writes")
