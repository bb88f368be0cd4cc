// The serial elision of futures, promises, finish and async: the same source without a runtime.
#define TOBI_ELIDE
#include <gtest/gtest.h>

#include <stdexcept>
#include <tobi/finish.hpp>
#include <tobi/future.hpp>

namespace {

TEST(elided, a_future_is_joined_by_its_consumers) {
  const auto f = tobi::spawn_future([] { return 20; }, 2);
  EXPECT_EQ(f.join() + f.join(), 40);
}

TEST(elided, a_promise_is_set_once_and_before_it_is_joined) {
  const auto p = tobi::make_promise<int>(tobi::any_number);
  EXPECT_THROW((void)p.get_future().join(), std::logic_error);
  p.set(3);
  EXPECT_THROW(p.set(4), std::logic_error);
  EXPECT_EQ(p.get_future().join(), 3);
  const auto nothing = tobi::make_promise<void>();
  nothing.set();
  nothing.get_future().join();
}

TEST(elided, a_finish_gathers_what_fails_in_it) {
  int ran = 0;
  try {
    tobi::finish([&] {
      int* count = &ran;
      for (int i = 0; i < 5; ++i) {
        tobi::async([=] {
          ++*count;
          throw std::out_of_range("one");
        });
      }
    });
    FAIL();
  } catch (const tobi::finish_error& e) {
    EXPECT_EQ(e.count(), 5u);
    EXPECT_EQ(std::string(e.what()), "5 of the tasks of a finish failed: one; one; one");
  }
  EXPECT_EQ(ran, 5);
  EXPECT_THROW(tobi::async([] {}), std::logic_error);
}

}  // namespace
