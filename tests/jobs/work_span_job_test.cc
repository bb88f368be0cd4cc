// SPDX-License-Identifier: Apache-2.0
// TOBI_WORK_SPAN: paths of whole programs, and what it cannot measure. A leaf says that its strand has taken hours, so
// that what it really takes is nothing compared with that, and lengths come out in leaves.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "libcore/trace/work_span.hpp"
#include "tests/jobs/in_job.hpp"

namespace {

using namespace std::string_literals;

// Of the core's counter: some hours.
constexpr std::uint64_t leaf_cycles = 10'000'000'000'000;

void leaf(std::uint64_t leaves = 1) {
  tobi::trace::span_clock* const clock = tobi::trace::measuring;
  if (clock == nullptr) return;
  const std::uint64_t now = tobi::arch::cycles();
  clock->stop(now);
  clock->start(now - leaves * leaf_cycles);
}

class work_span : public testing::Test {
 protected:
  work_span() : folder_("/tmp/tobi-work-span.XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    file_ = folder_ + "/file";
  }
  ~work_span() override {
    unlink(file_.c_str());
    rmdir(folder_.c_str());
  }

  /// What BODY, which is called in a run, is: numbers by their names, times in leaves.
  template <class Body>
  std::map<std::string, double> measure(Body body) {
    const outcome o = in_job(1, {{"TOBI_WORK_SPAN", file_.c_str()}}, [body](tobi::runtime&) {
      tobi::run(body);
      return 0;
    });
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
    return read();
  }
  /// Expects that BODY has so many leaves, and so many in a row.
  template <class Body>
  void expect(double work, double span, Body body) {
    auto got = measure(body);
    EXPECT_EQ(got["work_ns"], work);
    EXPECT_EQ(got["span_ns"], span);
  }
  std::map<std::string, double> read() {
    std::ifstream in(file_);
    std::stringstream all;
    all << in.rdbuf();
    std::map<std::string, double> numbers;
    const std::string text = all.str().substr(0, all.str().find(",\"burdened\""));
    for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos;) {
      const std::size_t end = text.find('"', at + 1);
      const std::string name = text.substr(at + 1, end - at - 1);
      if (text[end + 1] != ':' || text[end + 2] == '"') {
        at = end + 1;
        continue;
      }
      double value = std::strtod(text.c_str() + end + 2, nullptr);
      if (name.ends_with("_ns")) value = std::round(value / tobi::arch::cycles_to_ns(leaf_cycles));
      numbers[name] = value;
      at = end + 1;
    }
    return numbers;
  }
  template <class Body>
  outcome run_it(Body body, int workers = 1) {
    return in_job(workers, {{"TOBI_WORK_SPAN", file_.c_str()}}, body);
  }

  std::string folder_;
  std::string file_;
};

TEST_F(work_span, children_and_their_parent) {
  expect(6, 5, [] {
    leaf();
    auto a = tobi::spawn([] { leaf(3); });
    leaf();
    a.join();
    auto b = tobi::spawn([] {});
    leaf(0);
    b.join();
    auto never = tobi::spawn([] { leaf(); });  // joined by its end
  });
}

long tree(int levels) {
  if (levels == 0) {
    leaf();
    return 1;
  }
  auto left = tobi::spawn([=] { return tree(levels - 1); });
  const long right = tree(levels - 1);
  return left.join() + right;
}

TEST_F(work_span, a_tree) {
  auto got = measure([] { return tree(8); });
  EXPECT_EQ(got["work_ns"], 256);
  EXPECT_EQ(got["span_ns"], 1);
  EXPECT_EQ(got["forks"], 255);
  EXPECT_EQ(got["forks_on_span"], 8);
  EXPECT_EQ(got["runs"], 1);
}

TEST_F(work_span, results_of_all_sizes_and_exceptions) {
  expect(4, 1, [] {
    struct large {
      int values[100];
    };
    auto a = tobi::spawn([] {
      leaf();
      return large{{1, 2, 3}};
    });
    auto b = tobi::spawn([] {
      leaf();
      if (tobi::trace::measuring != nullptr) throw std::runtime_error("b");
      return 1;
    });
    auto c = tobi::spawn(
        [](tobi::global_vector<int> v) {
          leaf();
          return v;
        },
        tobi::global_vector<int>(10));
    leaf();
    bool thrown = false;
    try {
      b.join();
    } catch (const tobi::task_error&) {
      thrown = true;
    }
    if (!thrown || a.join().values[2] != 3 || c.join().size() != 10) std::abort();
  });
}

// One that two tasks join is on both paths.
TEST_F(work_span, futures) {
  expect(8, 5, [] {
    const auto a = tobi::spawn_future([] { leaf(2); }, 2);
    const auto b = tobi::spawn_future([=] {
      a.join();
      leaf(3);
    });
    const auto c = tobi::spawn_future([=] {
      a.join();
      leaf();
    });
    leaf(2);
    c.join();
    b.join();
  });
}

TEST_F(work_span, promises_that_are_set_before_they_are_waited_for) {
  expect(4, 3, [] {
    const auto p = tobi::make_promise<int>();
    auto setter = tobi::spawn([=] {
      leaf(2);
      p.set(1);
      leaf();
    });
    if (p.get_future().join() != 1) std::abort();
    leaf();
    setter.join();
  });
}

TEST_F(work_span, a_finish_ends_behind_the_last_of_its_tasks) {
  expect(8, 5, [] {
    tobi::finish([] {
      tobi::async([] {
        leaf();
        tobi::async([] { leaf(3); });
        leaf();
      });
      tobi::async([] { leaf(2); });
    });
    leaf();
    tobi::task_group group;
    group.run([] {});
    group.wait();
  });
}

TEST_F(work_span, loops) {
  expect(128, 8, [] { tobi::parallel_for(0, 128, 8, [](int) { leaf(); }); });
}

TEST_F(work_span, runs_one_by_one) {
  const outcome o = run_it([](tobi::runtime&) {
    for (std::uint64_t i = 1; i <= 3; ++i) {
      tobi::run([i] {
        auto a = tobi::spawn([i] { leaf(i); });
        leaf();
        a.join();
      });
    }
    return 0;
  });
  EXPECT_EQ(o.status, 0) << o.said;
  auto got = read();
  EXPECT_EQ(got["work_ns"], 9);
  EXPECT_EQ(got["span_ns"], 6);
  EXPECT_EQ(got["runs"], 3);
}

TEST_F(work_span, global_memory) {
  expect(4, 1, [] {
    tobi::global_vector<int> v(1000);
    tobi::parallel_for(0, 4, 1, [s = v.span()](int i) {
      leaf();
      s[static_cast<std::size_t>(i)] = i;
    });
    if (tobi::reduce(v.span(), 0) != 6) std::abort();
  });
}

// Deeper than the list that the fork path pushes to, by far.
TEST_F(work_span, deep_nesting) {
  const auto down = [](const auto& self, int levels) -> void {
    leaf();
    if (levels == 1) return;
    auto child = tobi::spawn([=] { self(self, levels - 1); });
    child.join();
  };
  expect(1000, 1000, [=] { down(down, 1000); });
}

TEST_F(work_span, what_it_cannot_measure_ends_with_a_sentence) {
  outcome o = run_it([](tobi::runtime&) { return 0; }, 2);
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.said.find("TOBI_WORK_SPAN measures a program on one worker, and this job has 2; start one process, with "
                        "TOBI_WORKERS=1."),
            std::string::npos)
      << o.said;
  o = run_it([](tobi::runtime&) {
    tobi::run([] {
      const auto p = tobi::make_promise<int>();
      auto reader = tobi::spawn([=] { return p.get_future().join(); });
      p.set(1);
      return reader.join();
    });
    return 0;
  });
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.said.find("a task waits for the promise #1 of rank 0, which nobody has set, and what would end that "
                        "comes later in the program's serial order, in which TOBI_WORK_SPAN runs it"),
            std::string::npos)
      << o.said;
  o = run_it([](tobi::runtime&) {
    tobi::run([] { tobi::on_all_workers([] {}); });
    return 0;
  });
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.said.find("which TOBI_WORK_SPAN does not have; call it outside of tobi::run to measure this program."),
            std::string::npos)
      << o.said;
  o = in_job(1, {{"TOBI_WORK_SPAN", "/no/such/folder/file"}}, [](tobi::runtime&) { return 0; });
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.said.find("TOBI_WORK_SPAN=/no/such/folder/file cannot be written (No such file or directory); name "
                        "another file."),
            std::string::npos)
      << o.said;
  o = in_job(1, {{"TOBI_WORK_SPAN", file_.c_str()}, {"TOBI_DEBUG_MIGRATE", "1"}}, [](tobi::runtime&) { return 0; });
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.said.find("with TOBI_WORK_SPAN none moves; unset one of them."), std::string::npos) << o.said;
  EXPECT_NE(access(file_.c_str(), F_OK), 0) << "a job that does not end well leaves no file";
}

}  // namespace
