// Asking for memory that will soon be looked at.
#pragma once

namespace tamis {

// A function that does nothing but `__builtin_prefetch` has no effect, as GCC 12 sees it: where it does not happen to be
// inlined early, calls of it are dropped. The empty statement is an effect.
inline void ask_for(const void* address) noexcept {
  __builtin_prefetch(address);
  asm volatile("");
}

}  // namespace tamis
