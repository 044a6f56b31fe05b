#!/usr/bin/env python3
"""A billing service that elects its leader with kazoo's Election, as kazoo's documentation shows it.

Only the leader issues invoices. With --fence, each is issued in one statement with a check of the leader's fencing token, which is
the number that ZooKeeper gave the leader's place in the queue.
"""

import argparse
import time

import psycopg2
from kazoo.client import KazooClient

args = argparse.ArgumentParser()
args.add_argument("--id", required=True)
args.add_argument("--zookeeper", required=True)
args.add_argument("--db", required=True)
args.add_argument("--fence", action="store_true")
args = args.parse_args()

zk = KazooClient(hosts=args.zookeeper, timeout=4.0)
zk.start()
election = zk.Election("/billing/leader", args.id)


# One statement that commits itself: a leader that stops within a transaction keeps its lock on the fence, and nobody else can write.
FENCED = """
WITH fenced AS (UPDATE fence SET token = %(token)s WHERE token <= %(token)s RETURNING token)
INSERT INTO invoices (issued_by, token) SELECT %(id)s, token FROM fenced
"""
PLAIN = "INSERT INTO invoices (issued_by, token) VALUES (%(id)s, %(token)s)"


def issue(db, token):
    with db.cursor() as cursor:
        cursor.execute(FENCED if args.fence else PLAIN, {"id": args.id, "token": token})
        return cursor.rowcount == 1


def lead():
    token = int(election.lock.node[-10:])
    print(f"{args.id} leads with token {token}", flush=True)
    db = psycopg2.connect(args.db)
    db.autocommit = True
    while issue(db, token):
        time.sleep(0.1)
    print(f"{args.id} was fenced off", flush=True)


while True:
    election.run(lead)
    print(f"{args.id} leads no more", flush=True)
