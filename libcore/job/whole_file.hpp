// SPDX-License-Identifier: Apache-2.0
// A file that a setting names, and that is there when it is whole: it is written under another name, FILE.part, and
// gets its own at the end. A job that is killed leaves the file as it was.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace tobi::job {

class whole_file {
 public:
  /// FILE is the value of SETTING. Fatal, one sentence, when it cannot be made.
  whole_file(const char* setting, std::string file);
  ~whole_file();
  whole_file(const whole_file&) = delete;
  whole_file& operator=(const whole_file&) = delete;

  /// Fatal where it does not fit.
  void write(std::string_view text);
  /// Gives it its name. Nothing is written behind that.
  void finish();

  /// Fatal with exit_usage, one sentence, when FILE cannot be made. Changes nothing: a job of hours must not end with a
  /// file that never could be written.
  static void check(const char* setting, const std::string& file);

 private:
  [[noreturn]] void fail();

  const char* setting_;
  std::string file_;
  std::FILE* out_;
};

}  // namespace tobi::job
