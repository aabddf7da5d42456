// What standard C++ can do without the interpreter: exact decimal to double, ascending order.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <system_error>

namespace tamis {

// The double nearest to a decimal literal; infinite if it is too large for one, zero if too small.
inline double nearest_double(const char* begin, const char* end) {
  double value = 0;
#if defined(__cpp_lib_to_chars)
  const std::from_chars_result result = std::from_chars(begin, end, value);
  if (result.ec != std::errc::result_out_of_range) {
    return value;
  }
#endif
  // Out of range: only strtod says on which side. Its decimal point is the locale's, which Python leaves at "C".
  return std::strtod(std::string(begin, end).c_str(), nullptr);
}

}  // namespace tamis
