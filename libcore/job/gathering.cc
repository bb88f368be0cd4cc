// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/gathering.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "libcore/base/log.hpp"
#include "libcore/net/batch.hpp"
#include "tobi/runtime.hpp"

namespace tobi::job {

void gathering::begin(const void* mine, std::uint64_t bytes, int of, std::uint64_t* sizes, std::uint64_t each) {
  own_ = {0, bytes};
  if (bytes != 0) {
    void* const kept = bytes < net_.heaps().bytes() ? objects_.allocate(bytes) : nullptr;
    if (kept == nullptr) {
      base::fatal("the registered heap is full: no room for the " + std::to_string(bytes) +
                  " bytes that this worker brings to a gather; raise TOBI_HEAP_SIZE.");
    }
    std::memcpy(kept, mine, bytes);
    own_.place = net_.here(kept).word;
  }
  meet_();
  const int first = std::max(of, 0);
  const int count = of == detail::of_all ? net_.size() : of == detail::of_none ? 0 : 1;
  taken_.resize(static_cast<std::size_t>(count));
  if (count == 0) return;
  const std::uint64_t at = net_.here(&own_).offset();
  net::batch reads(net_);
  for (int i = 0; i < count; ++i) reads.get(first + i, at, &taken_[static_cast<std::size_t>(i)], sizeof(gather_words));
  reads.post();
  reads.wait();
  for (int i = 0; i < count; ++i) {
    const std::uint64_t theirs = taken_[static_cast<std::size_t>(i)].bytes;
    sizes[first + i] = theirs;
    if (each == 0 || theirs == each) continue;
    base::fatal("rank " + std::to_string(first + i) + " brings " + std::to_string(theirs) +
                    " bytes to a gather of all workers, and this one takes " + std::to_string(each) +
                    "; call it with the same type on all workers.",
                base::exit_usage);
  }
}

void gathering::end(void* into) {
  if (into != nullptr) {
    auto* to = static_cast<std::byte*>(into);
    const std::uint64_t most = net_.transport().caps().put_max;
    net::batch reads(net_);
    for (const gather_words& brought : taken_) {
      const net::location from{brought.place};
      for (std::uint64_t done = 0; done < brought.bytes;) {
        const std::uint64_t n = most == 0 ? brought.bytes - done : std::min(most, brought.bytes - done);
        reads.get(from.rank(), from.offset() + done, to + done, n);
        done += n;
      }
      to += brought.bytes;
    }
    reads.post();
    reads.wait();
  }
  meet_();
  if (own_.place != 0) objects_.free_local(net_.local(net::location{own_.place}));
  own_ = {};
}

}  // namespace tobi::job
