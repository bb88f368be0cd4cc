// One call at a time, so that two threads of a worker may use its transport: TOBI_RELEASE_THREAD asks for that. What a
// thread waits for it asks for again and again, so nobody holds the lock while he waits.
#include <mutex>

#include "transports/wrap/decorator.hpp"

namespace tobi::transports::wrapping {

namespace {

class locked final : public decorator {
 public:
  using decorator::decorator;

  status attach(int rank, const region_key& key, region_id& id) override {
    const std::lock_guard alone(mutex_);
    return inner().attach(rank, key, id);
  }
  [[nodiscard]] std::byte* map(region_id id) noexcept override {
    const std::lock_guard alone(mutex_);
    return inner().map(id);
  }
  status post(int rank, std::span<const op> ops) noexcept override {
    const std::lock_guard alone(mutex_);
    return inner().post(rank, ops);
  }
  status flush(int rank) noexcept override {
    const std::lock_guard alone(mutex_);
    return inner().flush(rank);
  }
  status put_notify(int rank, const op& put, std::uint64_t data) noexcept override {
    const std::lock_guard alone(mutex_);
    return inner().put_notify(rank, put, data);
  }
  status poll_notice(notice& got) noexcept override {
    const std::lock_guard alone(mutex_);
    return inner().poll_notice(got);
  }
  void progress() noexcept override {
    const std::lock_guard alone(mutex_);
    inner().progress();
  }

 private:
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<transport> make_locked(std::unique_ptr<transport> inner) {
  return std::make_unique<locked>(std::move(inner));
}

}  // namespace tobi::transports::wrapping
