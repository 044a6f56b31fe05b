#!/usr/bin/env python3
"""A billing service whose leader holds redis-py's Lock and extends it, as its documentation shows.

Only the leader issues invoices. With --fence, it shows a fencing token with each, a number that it draws from Redis once it holds
the lock. With --keys, the store is a Redis, in which each invoice is an entry of a list. With --check, it looks at its lock before
each.
"""

import argparse
import time
import urllib.error
import urllib.request

import redis

args = argparse.ArgumentParser()
args.add_argument("--id", required=True)
args.add_argument("--redis", required=True)
args.add_argument("--store", required=True)
args.add_argument("--fence", action="store_true")
args.add_argument("--keys", action="store_true")
args.add_argument("--check", action="store_true")
args = args.parse_args()


def connect(address):
    host, port = address.split(":")
    return redis.Redis(host=host, port=int(port), socket_timeout=2)


client, store = connect(args.redis), connect(args.store) if args.keys else None


def issue(token):
    if args.keys:
        store.rpush("invoices", args.id)
        return True
    url = f"http://{args.store}/invoices" + (f"?token={token}" if args.fence else "")
    try:
        urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=60)
    except urllib.error.HTTPError as refused:
        print(f"{args.id} was refused: {refused.read().decode().strip()}", flush=True)
        return False
    return True


def lead(lock):
    token = client.incr("billing:token")
    print(f"{args.id} leads", flush=True)
    while (not args.check or lock.owned()) and issue(token):
        lock.extend(3, replace_ttl=True)
        time.sleep(0.1)


while True:
    try:
        with client.lock("billing", timeout=3) as lock:
            lead(lock)
    except (redis.exceptions.RedisError, OSError) as error:
        print(f"{args.id} leads no more: {error}", flush=True)
    else:
        print(f"{args.id} leads no more", flush=True)
    time.sleep(0.5)
