"""Questions to the demonstration's data: queries.py [connection string]"""
import sys

import pymongo

client = pymongo.MongoClient(sys.argv[1] if len(sys.argv) > 1 else "mongodb://127.0.0.1:27017")
packages = client.demo.packages

print("The largest games:")
for package in packages.find({"section": "games"}, {"name": 1, "installedSize": 1}).sort("installedSize", -1).limit(3):
    print(f"  {package['name']:30} {package['installedSize'] / 2**20:8.1f} MiB")

print("What most packages of the section web need:")
for row in packages.aggregate([
    {"$match": {"section": "web"}},
    {"$unwind": "$depends"},
    {"$group": {"_id": "$depends", "count": {"$sum": 1}}},
    {"$sort": {"count": -1}},
    {"$limit": 3},
]):
    print(f"  {row['_id']:30} {row['count']:5}")

plan = packages.find({"name": {"$regex": "^lib"}}).explain()["queryPlanner"]["winningPlan"]
print("A search by prefix is planned as", plan.get("stage"), "over", plan.get("inputStage", {}).get("indexName", "no index"))
