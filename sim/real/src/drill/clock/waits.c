// Waits on every kind of deadline until 200 ms from now, on a clock that is moved, and fails if one takes much longer or shorter.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static int late;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static struct timespec soon(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += 200000000;
    if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, t.tv_sec++;
    return t;
}

// A machine may be busy, but not for twenty seconds.
#define WAIT(clock, wait) { \
        struct timespec t = soon(clock); \
        double since = now_ms(); \
        wait; \
        double took = now_ms() - since; \
        if (took < 150 || took > 20000) late = 1, printf("%.0f ms: %s\n", took, #wait); \
    }

static void *sleeps(void *unused) { return sleep(100), unused; }

int main(void) {
    // One that does not end would hang the test.
    alarm(100);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER, steady;
    pthread_condattr_t on;
    pthread_condattr_init(&on), pthread_condattr_setclock(&on, CLOCK_MONOTONIC), pthread_cond_init(&steady, &on);
    pthread_mutex_lock(&mutex);
    sem_t sem;
    sem_init(&sem, 0, 0);
    WAIT(CLOCK_REALTIME, pthread_cond_timedwait(&cond, &mutex, &t))
    WAIT(CLOCK_MONOTONIC, pthread_cond_timedwait(&steady, &mutex, &t))
    WAIT(CLOCK_REALTIME, pthread_mutex_timedlock(&mutex, &t))
    WAIT(CLOCK_REALTIME, sem_timedwait(&sem, &t))
    WAIT(CLOCK_REALTIME, clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL))
    WAIT(CLOCK_MONOTONIC, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
    uint64_t times;
    for (int i = 0; i < 2; i++) {
        clockid_t clock = i ? CLOCK_REALTIME : CLOCK_MONOTONIC;
        int timer = timerfd_create(clock, 0);
        WAIT(clock, struct itimerspec at = {.it_value = t}; timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
             if (read(timer, &times, 8) != 8) late = 1)
    }
    int word = 0, op = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
    WAIT(CLOCK_REALTIME, syscall(SYS_futex, &word, op | FUTEX_CLOCK_REALTIME, 0, &t, NULL, FUTEX_BITSET_MATCH_ANY))
    WAIT(CLOCK_MONOTONIC, syscall(SYS_futex, &word, op, 0, &t, NULL, FUTEX_BITSET_MATCH_ANY))
    pthread_t thread;
    pthread_create(&thread, NULL, sleeps, NULL);
    WAIT(CLOCK_REALTIME, pthread_timedjoin_np(thread, NULL, &t))
    mtx_t mtx;
    cnd_t cnd;
    mtx_init(&mtx, mtx_timed), mtx_lock(&mtx), cnd_init(&cnd);
    WAIT(CLOCK_REALTIME, cnd_timedwait(&cnd, &mtx, &t))
    alarm(0);
    sigset_t signals;
    sigemptyset(&signals), sigaddset(&signals, SIGALRM), pthread_sigmask(SIG_BLOCK, &signals, NULL);
    timer_t timer;
    timer_create(CLOCK_REALTIME, NULL, &timer);
    int got;
    WAIT(CLOCK_REALTIME, struct itimerspec at = {.it_value = t}; timer_settime(timer, TIMER_ABSTIME, &at, NULL);
         sigwait(&signals, &got))
    return late;
}
