// SPDX-License-Identifier: Apache-2.0
// TOBI_LABEL: before each line that a rank writes stands which rank it is, and on which host.
#pragma once

namespace tobi::job::labels {

/// Sees to it that what was written has arrived when this process ends by exit(). To be called before the bootstrap has
/// its own handlers called there: they end first.
void prepare();

/// From now on what this process writes to standard output and standard error goes to a process of its own, which puts
/// "[RANK HOST] " before each line and writes it to where it would have gone. Lines of up to 4096 bytes, label
/// included, stay whole, whatever others write there. That process ends when nobody can write to it any more, so what a
/// rank has written before SIGKILL arrives, too. Without pipes or processes the job ends with a sentence.
void start(int rank);

}  // namespace tobi::job::labels
