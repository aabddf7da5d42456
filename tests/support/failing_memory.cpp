// Loaded before a process: it can be told to have no memory, from the nth request of Tamis's modules on.
#include <dlfcn.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size);

namespace {

// Requests until the first that is refused, or below zero; of those refused, how many; whether one alone is.
thread_local long left = -1;
thread_local long refused = 0;
thread_local bool once = false;

bool is_refused() {
  if (left < 0) {
    return false;
  }
  if (left > 0) {
    --left;
    return false;
  }
  if (once) {
    left = -1;
  }
  ++refused;
  return true;
}

// What Python itself asks for is given.
bool is_ours(void* caller) {
  Dl_info found;
  return left >= 0 && dladdr(caller, &found) != 0 && std::strstr(found.dli_fname, "/indexes/") != nullptr;
}

void* given(std::size_t size) {
  void* const memory = is_refused() ? nullptr : __libc_malloc(size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

extern "C" {

void refuse_from(long number, bool alone) {
  refused = 0;
  once = alone;
  left = number;
}

long stop_refusing() {
  left = -1;
  return refused;
}

void* malloc(std::size_t size) {
  return is_ours(__builtin_return_address(0)) && is_refused() ? nullptr : __libc_malloc(size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return is_ours(__builtin_return_address(0)) && is_refused() ? nullptr : __libc_memalign(alignment, size);
}

}  // extern "C"

void* operator new(std::size_t size) { return given(size); }
void* operator new[](std::size_t size) { return given(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return is_refused() ? nullptr : __libc_malloc(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return is_refused() ? nullptr : __libc_malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
