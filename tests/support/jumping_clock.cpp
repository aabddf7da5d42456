// Loaded before a process: its wall clock is ahead of the machine's by the nanoseconds in the file that
// TAMIS_TEST_CLOCK names, at any moment. Clocks that only go forward are left alone, as they are when a clock is set.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <threads.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr std::int64_t second = 1'000'000'000;
// Who waits for a moment of the wall clock looks so often whether the clock was set.
constexpr std::int64_t look = second / 50;
// What is before it, in 2001, is the time since the machine was started: conditions may go by another clock.
constexpr time_t long_ago = 1'000'000'000;

const std::atomic<std::int64_t>* file() {
  static const auto* const mapped = [] {
    const int opened = open(std::getenv("TAMIS_TEST_CLOCK"), O_RDONLY);
    void* const found = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, opened, 0);
    if (opened < 0 || found == MAP_FAILED) {
      std::abort();
    }
    close(opened);
    return static_cast<const std::atomic<std::int64_t>*>(found);
  }();
  return mapped;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

timespec split(std::int64_t nanoseconds) {
  return {static_cast<time_t>(nanoseconds / second), static_cast<long>(nanoseconds % second)};
}

std::int64_t joined(const timespec& time) { return std::int64_t{time.tv_sec} * second + time.tv_nsec; }

int true_clock(clockid_t clock, timespec* time) {
  static const auto real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  return real(clock, time);
}

std::int64_t true_now() {
  timespec now{};
  true_clock(CLOCK_REALTIME, &now);
  return joined(now);
}

std::int64_t now() { return true_now() + file()->load(); }

// `wait(until)`, which takes the true time, until it is done or the wall clock shows the moment.
template <class Wait>
int waited(const timespec* moment, Wait wait) {
  while (true) {
    const std::int64_t left = joined(*moment) - now();
    const timespec until = split(true_now() + std::clamp(left, std::int64_t{0}, look));
    const int told = wait(&until);
    if (told != ETIMEDOUT || left <= look) {
      return told;
    }
  }
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int told = true_clock(clock, time);
  if (told == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    *time = split(joined(*time) + file()->load());
  }
  return told;
}

int timespec_get(timespec* time, int base) noexcept {
  *time = split(now());
  return base;
}

int gettimeofday(timeval* time, void*) noexcept {
  const timespec found = split(now());
  *time = {found.tv_sec, found.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* kept) noexcept {
  const time_t found = split(now()).tv_sec;
  if (kept != nullptr) {
    *kept = found;
  }
  return found;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* moment) {
  static const auto real = next<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>("pthread_cond_timedwait");
  if (moment->tv_sec < long_ago) {
    return real(condition, mutex, moment);
  }
  return waited(moment, [&](const timespec* until) { return real(condition, mutex, until); });
}

int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* moment) {
  static const auto real = next<int (*)(cnd_t*, mtx_t*, const timespec*)>("cnd_timedwait");
  const int told = waited(moment, [&](const timespec* until) {
    const int found = real(condition, mutex, until);
    return found == thrd_timedout ? ETIMEDOUT : found;
  });
  return told == ETIMEDOUT ? thrd_timedout : told;
}

int sem_timedwait(sem_t* semaphore, const timespec* moment) {
  static const auto real = next<int (*)(sem_t*, const timespec*)>("sem_timedwait");
  const int told = waited(moment, [&](const timespec* until) { return real(semaphore, until) == 0 ? 0 : errno; });
  if (told != 0) {
    errno = told;
  }
  return told == 0 ? 0 : -1;
}
}
