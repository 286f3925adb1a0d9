// LEEWAY_CHECK ends the process on a broken invariant of our own. Never for input.

#ifndef LEEWAY_BASE_CHECK_H_
#define LEEWAY_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define LEEWAY_CHECK(condition)                                                             \
  do {                                                                                      \
    if (!(condition)) [[unlikely]] {                                                        \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition);    \
      std::abort();                                                                         \
    }                                                                                       \
  } while (false)

#endif  // LEEWAY_BASE_CHECK_H_
