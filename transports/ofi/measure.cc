// SPDX-License-Identifier: Apache-2.0
// ofi: whether the provider is one-sided here. What a provider says of its progress is about its own software: one with
// manual progress may have RMA in hardware, and one that says that it moves by itself may not.
//
// Half of the ranks sleep in the bootstrap, where they touch no fabric, and the other half use their memory; then the
// other way round. One that had to wait speaks for all. A machine that is slow makes the answer "no", which costs
// polling and is right. What did not come through is left under way: the next flush of that peer waits for it, so
// what it names lasts as long as this transport.
#include <time.h>

#include <algorithm>
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
// The first contact makes connections, and everybody polls meanwhile: it takes this long only where nothing comes, or
// where hundreds of workers share a core.
constexpr std::uint64_t first_contact_ns = 60'000'000'000;

enum : std::uint32_t { rma_bit = 1, amo_bit = 2, moves_bit = 4, notices_bit = 8, all_bits = 15 };

constexpr std::uint64_t left_alone = 0x746f6269;

// A provider may have a thread of its own, and no core of its own.
void give_way(unsigned turns) {
  if (turns < 64) return;
  const timespec moment{0, 20'000};
  nanosleep(&moment, nullptr);
}

}  // namespace

// Whether WHAT, with REMOTE_DATA in the target's completion if there are any, is complete before LIMIT_NS have passed.
bool ofi_transport::complete_within(int rank, const op& what, std::uint64_t limit_ns,
                                    const std::uint64_t* remote_data) noexcept {
  const std::uint64_t begin = arch::now_ns();
  bool posted = false;
  for (unsigned turns = 0; arch::now_ns() - begin < limit_ns; ++turns) {
    if (!posted) {
      const status s = remote_data == nullptr ? post(rank, {&what, 1}) : notify(rank, what, *remote_data);
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
  for (const std::size_t bytes : {sizeof(std::uint64_t), std::min<std::size_t>(sizeof probe_->target, caps_.put_max)}) {
    if (!data(op_kind::get, bytes) || !data(op_kind::put, bytes)) return 0;
  }
  std::uint32_t bits = rma_bit;
  if (caps_.fetch_add) {
    const op add = op::add(there, offsetof(probe, counter), 1, probe_->local);
    if (complete_within(partner, add, patience_ns())) bits |= amo_bit;
  }
  const op last = op::put(there, offsetof(probe, arrives), &left_alone, 8);
  return post(partner, {&last, 1}) == status::ok ? bits | moves_bit : bits;
}

// The first put to the partner, with a notice. Both ends of the connection are made with everybody polling, as far as
// the bootstrap lets them. Whether notices come: a provider may know of data that puts carry, and refuse them or lose
// what they say.
bool ofi_transport::greet(meeting& with, int partner, region_id there) {
  const op hello = op::put(there, offsetof(probe, target), probe_->local, 8);
  const bool notified = caps_.put_notify && complete_within(partner, hello, first_contact_ns, &nobody);
  if (!notified) (void)complete_within(partner, hello, first_contact_ns);
  // The others would wait for this rank for as long as they wait for anybody.
  if (domain_health_ != status::ok) {
    base::fatal("the network of this worker failed at the first contact with rank " + std::to_string(partner) +
                " over " + std::string(info_->fabric_attr->prov_name) + "; try another provider (TOBI_OFI_PROVIDER).");
  }
  if (peers_.of(partner).health != status::ok) {
    base::fatal("the first contact with " + base::name_of_rank(partner) + " over " +
                std::string(info_->fabric_attr->prov_name) + " has failed; the job ends.");
  }
  with.wait([this] { progress(); });
  // The partner of a partner is another one where two nodes differ in their workers.
  if (pair_up(partner, with.size(), nodes_).partner != with.rank()) return notified;
  const std::uint64_t met = arch::now_ns();
  for (unsigned turns = 0; notified && greetings_ == 0 && arch::now_ns() - met < patience_ns(); ++turns) {
    progress();
    give_way(turns);
  }
  return notified && greetings_ != 0;
}

void ofi_transport::measure_once(meeting& with, int partner, bool sleeps_first, region_id there, std::uint32_t seen) {
  const std::atomic_ref arrives(probe_->arrives);
  for (int turn = 0; turn < 2; ++turn) {
    const bool sleeps = sleeps_first == (turn == 0);
    if (sleeps) arrives.store(0, std::memory_order_release);
    with.wait(nullptr);
    if (!sleeps) seen &= try_partner(partner, there) | notices_bit;
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
  believe_notices((seen & notices_bit) != 0);
  progress_.measured = true;
  progress_.rma_passive = (seen & rma_bit) != 0;
  progress_.amo_passive = (seen & amo_bit) != 0;
  progress_.moves = (seen & moves_bit) != 0;
}

void ofi_transport::believe_notices(bool they_come) noexcept {
  if (they_come || !caps_.put_notify) return;
  caps_.put_notify = false;
  caps_.msg_max = 0;
  arrived_.clear();
  base::log(base::log_level::info, "ofi: notices of puts did not come at the start, and are not used.");
}

// Owners look at their words with loads (transport.hpp, rule 2). FI_DELIVERY_COMPLETE promises that a load finds what a
// complete atomic has stored. A provider that refuses that flag for atomics has promised nothing: it is tried.
void ofi_transport::check_own_atomics(const region_key& mine) {
  if (!caps_.fetch_add) return;
  constexpr std::uint64_t trials = 1000;
  region_id here = 0;
  if (attach(rank_, mine, here) != status::ok) return;
  const op add = op::add(here, offsetof(probe, own_counter), 1, probe_->local);
  for (std::uint64_t n = 1; n <= trials; ++n) {
    if (!complete_within(rank_, add, first_contact_ns)) return;
    if ((atomic_flags_ & FI_DELIVERY_COMPLETE) != 0) return;
    if (std::atomic_ref(probe_->own_counter).load(std::memory_order_acquire) == n) continue;
    base::fatal("the provider " + std::string(info_->fabric_attr->prov_name) +
                " says that an atomic is complete before a processor finds what it has stored, so its atomics cannot "
                "be used; set TOBI_AMO_SERVER=thread, or choose another provider (TOBI_OFI_PROVIDER).");
  }
}

void ofi_transport::measure(meeting& with) {
  if (with.size() == 1) {
    if (progress_.wanted == progress_mode::manual) return;
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
  const bool heard = greet(with, with_whom.partner, there);
  check_own_atomics(mine);
  if (progress_.wanted == progress_mode::manual) return believe_notices(with.common(heard ? 1 : 0) != 0);
  const std::uint32_t known = heard ? all_bits : all_bits & ~std::uint32_t{notices_bit};
  measure_once(with, with_whom.partner, with_whom.sleeps_first, there, known);
  const bool stands_still = !progress_.rma_passive || (progress_.atomics && !progress_.amo_passive);
  if (progress_.wanted == progress_mode::thread && stands_still && !progress_.thread) {
    start_mover();  // the provider had promised to move by itself
    measure_once(with, with_whom.partner, with_whom.sleeps_first, there, known);
  }
  claim();
  base::log(base::log_level::info, "ofi: " + describe() + ".");
}

}  // namespace tobi::transports::ofi
