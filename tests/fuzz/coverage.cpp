// What compiled modules report, in the form that libFuzzer takes. With -fsanitize-coverage=trace-pc a module calls
// __sanitizer_cov_trace_pc at each basic block; libFuzzer reads only tables of counters, which clang alone emits.
// Linked with libFuzzer into one library, which is loaded before any other.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" {
void __sanitizer_cov_8bit_counters_init(std::uint8_t* begin, std::uint8_t* end);
void __sanitizer_cov_pcs_init(const std::uintptr_t* begin, const std::uintptr_t* end);
}

namespace {

constexpr int PLACES_LOG = 16; // libFuzzer reads all the counters after each input: 64 KiB fit the second cache
constexpr std::size_t PLACES = std::size_t{1} << PLACES_LOG;

struct Place {
  std::uintptr_t pc;
  std::uintptr_t flags;
};

// A counter for each basic block that was reached, in an open hash table: no two share one. A fuzzer has one thread.
std::uint8_t counters[PLACES];
std::uintptr_t blocks[PLACES];
std::size_t taken = 0;
// libFuzzer counts these as its `cov`, and wants one for each counter; which one they are is of no matter.
Place places[PLACES];

__attribute__((constructor)) void tell_libfuzzer() {
  for (std::size_t place = 0; place < PLACES; ++place) {
    places[place].pc = place + 1;
  }
  __sanitizer_cov_8bit_counters_init(counters, counters + PLACES);
  __sanitizer_cov_pcs_init(&places[0].pc, &places[0].pc + 2 * PLACES);
}

void take(std::size_t place, std::uintptr_t block) {
  if (++taken > PLACES / 2) {
    std::fputs("tests/fuzz/coverage.cpp: half of the places are taken, so probes get long: raise PLACES_LOG\n", stderr);
    std::abort();
  }
  blocks[place] = block;
}

}  // namespace

extern "C" {

void __sanitizer_cov_trace_pc() {
  const auto block = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  std::size_t place = block * 0x9E3779B97F4A7C15u >> (64 - PLACES_LOG);
  while (blocks[place] != block) {
    if (blocks[place] == 0) {
      take(place, block);
    } else {
      place = (place + 1) % PLACES;
    }
  }
  ++counters[place];
}

// libFuzzer takes comparisons of integers; gcc tells of these as well.
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}

// The sanitizers tell of comparisons of memory anywhere, and nearly all are the interpreter's own. What libFuzzer learns
// of them are words of Python's dictionaries.
void __sanitizer_weak_hook_memcmp(void*, const void*, const void*, std::size_t, int) {}
void __sanitizer_weak_hook_strcmp(void*, const char*, const char*, int) {}
void __sanitizer_weak_hook_strncmp(void*, const char*, const char*, std::size_t, int) {}

}
