"""A Celery app with one periodic task, as RedBeat's documentation configures it; a test's timers instead of minutes.

The lock is reached at one address and the broker at another one, so that a drill can cut off the first alone.
"""

import os

from celery import Celery

app = Celery("billing", broker=f"redis://{os.environ['BROKER']}/0")
app.conf.task_default_queue = "invoices"
app.conf.beat_scheduler = "redbeat.RedBeatScheduler"
app.conf.beat_max_loop_interval = 1
app.conf.redbeat_redis_url = f"redis://{os.environ['LOCK']}/0"
app.conf.redbeat_lock_timeout = 4
app.conf.beat_schedule = {"issue": {"task": "billing.issue", "schedule": 0.5}}


@app.task(ignore_result=True)
def issue():
    """A worker's; no worker runs in the drill."""
