// The one place that names Catch2's header, so that its version 3 needs one change.
#ifndef LEEWAY_TESTS_CATCH_H_
#define LEEWAY_TESTS_CATCH_H_

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#endif  // LEEWAY_TESTS_CATCH_H_
