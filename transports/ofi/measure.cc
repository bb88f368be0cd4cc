// ofi: whether the provider is one-sided here. What a provider says of its progress is about its own software: one with
// manual progress may have RMA in hardware, and one that says that it moves by itself may not.
//
// Half of the ranks sleep in the bootstrap, where they touch no fabric, and the other half use their memory; then the
// other way round. One that had to wait speaks for all. A machine that is slow makes the answer "no", which costs
// polling and is right. What did not come through is left under way: the next flush of that peer waits for it, so
// what it names lasts as long as this transport.
#include <time.h>

#include <atomic>
#include <cstring>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "transports/meeting.hpp"
#include "transports/ofi/ofi.hpp"
#include "transports/pairing.hpp"

namespace tobi::transports::ofi {

namespace {

// How soon an operation must be complete to have needed nothing of its target. A provider that says that it moves by
// itself does so by threads, which may have to wait for a core; and the others have not promised anything.
constexpr std::uint64_t soon_ns = 20'000'000;
constexpr std::uint64_t soon_by_threads_ns = 200'000'000;
// The first contact makes connections.
constexpr std::uint64_t first_contact_ns = 200'000'000;

enum : std::uint32_t { rma_bit = 1, amo_bit = 2, moves_bit = 4, all_bits = 7 };

constexpr std::uint64_t left_alone = 0x746f6269;

// A provider may have a thread of its own, and no core of its own.
void give_way(unsigned turns) {
  if (turns < 64) return;
  const timespec moment{0, 20'000};
  nanosleep(&moment, nullptr);
}

}  // namespace

// Whether WHAT is complete before LIMIT_NS have passed.
bool ofi_transport::complete_within(int rank, const op& what, std::uint64_t limit_ns) noexcept {
  const std::uint64_t begin = arch::now_ns();
  bool posted = false;
  for (unsigned turns = 0; arch::now_ns() - begin < limit_ns; ++turns) {
    if (!posted) {
      const status s = post(rank, {&what, 1});
      if (s != status::ok && s != status::again) return false;
      posted = s == status::ok;
    } else if (const status s = flush(rank); s != status::again) {
      return s == status::ok;
    }
    give_way(turns);
  }
  return false;
}

std::uint64_t ofi_transport::patience_ns() const noexcept {
  return progress_.says_automatic || progress_.thread ? soon_by_threads_ns : soon_ns;
}

std::uint32_t ofi_transport::try_partner(int partner, region_id there) noexcept {
  const auto data = [&](op_kind kind, std::size_t bytes) {
    const op one{kind, false, there, offsetof(probe, target), probe_->local, bytes, 0, 0};
    return complete_within(partner, one, patience_ns());
  };
  // A small operation and one of several packets take different ways through most providers.
  for (const std::size_t bytes : {sizeof(std::uint64_t), sizeof probe_->target}) {
    if (!data(op_kind::get, bytes) || !data(op_kind::put, bytes)) return 0;
  }
  std::uint32_t bits = rma_bit;
  if (caps_.fetch_add) {
    const op add{op_kind::fetch_add, false, there, offsetof(probe, counter), probe_->local, 8, 1, 0};
    if (complete_within(partner, add, patience_ns())) bits |= amo_bit;
  }
  const op last{op_kind::put, false, there, offsetof(probe, arrives), const_cast<std::uint64_t*>(&left_alone), 8, 0, 0};
  return post(partner, {&last, 1}) == status::ok ? bits | moves_bit : bits;
}

void ofi_transport::measure_once(meeting& with, int partner, bool sleeps_first, region_id there) {
  // Both ends of each connection are made with everybody polling, as far as the bootstrap lets them.
  const op hello{op_kind::put, false, there, offsetof(probe, target), probe_->local, 8, 0, 0};
  (void)complete_within(partner, hello, first_contact_ns);
  with.wait([this] { progress(); });
  std::uint32_t seen = all_bits;
  const std::atomic_ref arrives(probe_->arrives);
  for (int turn = 0; turn < 2; ++turn) {
    const bool sleeps = sleeps_first == (turn == 0);
    if (sleeps) arrives.store(0, std::memory_order_release);
    with.wait(nullptr);
    if (!sleeps) seen &= try_partner(partner, there);
    seen &= with.common(seen);
    if ((seen & rma_bit) == 0) break;  // nobody asks for the rest
    // The workers of this turn are on their way to the next meeting, and leave their last put alone.
    if (!sleeps) continue;
    const std::uint64_t begin = arch::now_ns();
    const auto missing = [&] { return arrives.load(std::memory_order_acquire) != left_alone; };
    for (unsigned turns = 0; missing() && arch::now_ns() - begin < patience_ns(); ++turns) give_way(turns);
    if (missing()) seen &= ~std::uint32_t{moves_bit};
  }
  if ((seen & rma_bit) != 0) seen = with.common(seen);
  progress_.measured = true;
  progress_.rma_passive = (seen & rma_bit) != 0;
  progress_.amo_passive = (seen & amo_bit) != 0;
  progress_.moves = (seen & moves_bit) != 0;
}

void ofi_transport::measure(meeting& with) {
  if (progress_.wanted == base::progress_mode::manual) return;
  if (with.size() == 1) {
    progress_.measured = progress_.rma_passive = progress_.amo_passive = progress_.moves = true;
    claim();
    return;
  }
  probe_ = std::make_unique<probe>();
  region_key mine;
  const bool registered = register_memory({probe_.get(), sizeof(probe), -1, 0}, mine) == status::ok;
  const pairing with_whom = pair_up(with.rank(), with.size(), nodes_);
  const std::vector<std::byte> bytes = with.swap(std::as_bytes(std::span(&mine, 1)), with_whom.partner);
  region_key theirs;
  std::memcpy(&theirs, bytes.data(), sizeof theirs);
  region_id there = 0;
  const bool usable = registered && attach(with_whom.partner, theirs, there) == status::ok;
  // Where even this little memory cannot be registered the job's will fail, with a sentence.
  if ((with.common(usable ? 1 : 0)) == 0) return;
  measure_once(with, with_whom.partner, with_whom.sleeps_first, there);
  const bool stands_still = !progress_.rma_passive || (progress_.atomics && !progress_.amo_passive);
  if (progress_.wanted == base::progress_mode::thread && stands_still && !progress_.thread) {
    start_mover();  // the provider had promised to move by itself
    measure_once(with, with_whom.partner, with_whom.sleeps_first, there);
  }
  claim();
  base::log(base::log_level::info, "ofi: " + describe() + ".");
}

}  // namespace tobi::transports::ofi
