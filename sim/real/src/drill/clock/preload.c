// Moves the time of day that a process sees, and nothing else: loaded by LD_PRELOAD into a member of a drill.
//
// The offset is read from a small file that is mapped, so that it can be changed while the process runs. A deadline that is a
// time of day is a time of the moved clock, so it is moved back before it is passed on: otherwise the wait would be longer or
// shorter by the offset, or be over at once again and again. What counts from the machine's start is not touched.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

// As clock.rs writes it.
struct shared {
    _Atomic uint64_t step;        // The number of changes so far. Offsets alternate, so that none changes while it is read.
    _Atomic int64_t offset_ns[2];
    _Atomic uint64_t asked;       // The last step, plus one, at which a process asked for the time of day.
};

static struct shared none;
static struct shared *_Atomic mapped;

static struct shared *shared(void) {
    struct shared *found = atomic_load_explicit(&mapped, memory_order_acquire);
    if (found) return found;
    const char *path = getenv("FENCEPOST_CLOCK");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *at = file >= 0 ? mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (file >= 0) close(file);
    found = at == MAP_FAILED ? &none : at;
    atomic_store_explicit(&mapped, found, memory_order_release);
    return found;
}

__attribute__((constructor)) static void loaded(void) { shared(); }

static int64_t offset_at(uint64_t step) { return atomic_load(&shared()->offset_ns[step & 1]); }
static int64_t offset(void) { return offset_at(atomic_load(&shared()->step)); }

static const int64_t SECOND = 1000000000;

static void add(struct timespec *t, int64_t ns) {
    int64_t sum = t->tv_nsec + ns % SECOND;
    t->tv_sec += ns / SECOND + (sum >= SECOND) - (sum < 0);
    t->tv_nsec = sum + (sum < 0 ? SECOND : sum >= SECOND ? -SECOND : 0);
}

// A time of day that a process has asked for.
static void asked(struct timespec *t) {
    uint64_t step = atomic_load(&shared()->step);
    if (atomic_load_explicit(&shared()->asked, memory_order_relaxed) != step + 1) atomic_store(&shared()->asked, step + 1);
    add(t, offset_at(step));
}

static int is_time_of_day(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_REALTIME_ALARM || clock == CLOCK_TAI;
}

// Whether a deadline on an unknown clock is a time of day: the other clocks count from the machine's start, which is no billion
// seconds ago.
static int looks_like_time_of_day(const struct timespec *t) { return t && t->tv_sec >= SECOND; }

// A deadline on the machine's clock. What is none, or is too far away to be reached, stays.
static const struct timespec *moved_back(const struct timespec *t, struct timespec *to) {
    if (!t || t->tv_nsec < 0 || t->tv_nsec >= SECOND || t->tv_sec < 0 || t->tv_sec > INT64_MAX / 4) return t;
    *to = *t;
    add(to, -offset());
    if (to->tv_sec < 0) to->tv_sec = to->tv_nsec = 0;
    return to;
}

// The function that would have been called without this file. A search that fails would allocate memory, which an allocator that
// asks for the time must not lead to; so only a condition's function, which has an older version, is looked for by version.
static void *next(void *_Atomic *cached, const char *name, const char *version) {
    void *found = atomic_load_explicit(cached, memory_order_relaxed);
    if (!found) {
        if (version) found = dlvsym(RTLD_NEXT, name, version);
        if (!found) found = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(cached, found, memory_order_relaxed);
    }
    return found;
}

#define VERSIONED(name, version) static void *_Atomic real_##name; __typeof__(&name) real = next(&real_##name, #name, version)
#define REAL(name) VERSIONED(name, NULL)

// The time of day.

int clock_gettime(clockid_t clock, struct timespec *t) {
    REAL(clock_gettime);
    int failed = real(clock, t);
    if (!failed && is_time_of_day(clock)) asked(t);
    return failed;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    REAL(gettimeofday);
    int failed = real(t, zone);
    if (failed || !t) return failed;
    struct timespec now = {t->tv_sec, t->tv_usec * 1000};
    asked(&now);
    t->tv_sec = now.tv_sec, t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (to) *to = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *t, int base) {
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, t) == 0 ? base : 0;
}

// Waits until a time of day.

typedef const struct timespec *Until;
typedef pthread_cond_t *restrict Cond;
typedef pthread_mutex_t *restrict Mutex;
typedef pthread_rwlock_t *restrict Lock;

#define WAITS(name, head, arguments, is_shifted) \
    int name head { \
        REAL(name); \
        struct timespec at; \
        if (is_shifted) t = moved_back(t, &at); \
        return real arguments; \
    }

int pthread_cond_timedwait(Cond c, Mutex m, Until restrict t) {
    VERSIONED(pthread_cond_timedwait, "GLIBC_2.3.2");
    struct timespec at;
    return real(c, m, looks_like_time_of_day(t) ? moved_back(t, &at) : t);
}

WAITS(cnd_timedwait, (cnd_t *restrict c, mtx_t *restrict m, Until restrict t), (c, m, t), looks_like_time_of_day(t))
WAITS(mtx_timedlock, (mtx_t *restrict m, Until restrict t), (m, t), 1)
WAITS(pthread_mutex_timedlock, (Mutex m, Until restrict t), (m, t), 1)
WAITS(pthread_rwlock_timedrdlock, (Lock l, Until restrict t), (l, t), 1)
WAITS(pthread_rwlock_timedwrlock, (Lock l, Until restrict t), (l, t), 1)
WAITS(pthread_timedjoin_np, (pthread_t thread, void **to, Until t), (thread, to, t), 1)
WAITS(sem_timedwait, (sem_t *restrict s, Until restrict t), (s, t), 1)
WAITS(mq_timedsend, (mqd_t q, const char *p, size_t n, unsigned int o, Until t), (q, p, n, o, t), 1)
WAITS(pthread_cond_clockwait, (Cond c, Mutex m, clockid_t k, Until restrict t), (c, m, k, t), is_time_of_day(k))
WAITS(pthread_mutex_clocklock, (Mutex m, clockid_t k, Until restrict t), (m, k, t), is_time_of_day(k))
WAITS(pthread_rwlock_clockrdlock, (Lock l, clockid_t k, Until restrict t), (l, k, t), is_time_of_day(k))
WAITS(pthread_rwlock_clockwrlock, (Lock l, clockid_t k, Until restrict t), (l, k, t), is_time_of_day(k))
WAITS(pthread_clockjoin_np, (pthread_t thread, void **to, clockid_t k, Until t), (thread, to, k, t), is_time_of_day(k))
WAITS(sem_clockwait, (sem_t *restrict s, clockid_t k, Until restrict t), (s, k, t), is_time_of_day(k))
WAITS(clock_nanosleep, (clockid_t k, int f, Until t, struct timespec *rest), (k, f, t, rest),
      (f & TIMER_ABSTIME) && is_time_of_day(k))

ssize_t mq_timedreceive(mqd_t q, char *restrict p, size_t n, unsigned int *restrict o, Until restrict t) {
    REAL(mq_timedreceive);
    struct timespec at;
    return real(q, p, n, o, moved_back(t, &at));
}

// A timer's first time, if it is absolute.
static const struct itimerspec *timer_moved_back(const struct itimerspec *t, int absolute, struct itimerspec *to) {
    if (!t || !absolute || !looks_like_time_of_day(&t->it_value)) return t;
    *to = *t;
    struct timespec at;
    to->it_value = *moved_back(&t->it_value, &at);
    return to;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *t, struct itimerspec *old) {
    REAL(timerfd_settime);
    struct itimerspec at;
    return real(fd, flags, timer_moved_back(t, flags & TFD_TIMER_ABSTIME, &at), old);
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *restrict t, struct itimerspec *restrict old) {
    REAL(timer_settime);
    struct itimerspec at;
    return real(timer, flags, timer_moved_back(t, flags & TIMER_ABSTIME, &at), old);
}

// System calls by number: gRPC waits with a futex until a time of day. (absl/synchronization/internal/futex.h)
long syscall(long number, ...) {
    REAL(syscall);
    long a[6];
    va_list all;
    va_start(all, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(all, long);
    va_end(all);
    struct timespec at;
    if (number == SYS_clock_gettime) return clock_gettime(a[0], (struct timespec *)a[1]);
    if (number == SYS_gettimeofday) return gettimeofday((struct timeval *)a[0], (void *)a[1]);
    if (number == SYS_clock_nanosleep && (a[1] & TIMER_ABSTIME) && is_time_of_day(a[0]))
        a[2] = (long)moved_back((void *)a[2], &at);
    if (number == SYS_futex && (a[1] & FUTEX_CLOCK_REALTIME)) a[3] = (long)moved_back((void *)a[3], &at);
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
