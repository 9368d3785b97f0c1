#include "quire/comm/local/local_communicator.h"

#include <fmt/format.h>
#include <unistd.h>

#include "quire/comm/detail/checks.h"
#include "quire/comm/local/allocate.h"
#include "quire/comm/local/collectives.h"
#include "quire/comm/local/first_failure.h"

namespace quire::comm::local {
namespace {

// What a rank's communicator and its splits share. The rank leaves the world
// when the communicator that joined dies.
struct Self {
  std::int64_t step = -1;
  std::string phase, layer;
};

void require_memory(const Tensor& tensor) {
  if (!tensor.is_meta()) return;
  throw UsageError(fmt::format(
      "a local communicator got a tensor {} on the meta device; expected one "
      "with memory",
      tensor.shape().to_string()));
}

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Channel> channel,
                    std::shared_ptr<Self> self)
      : channel_(std::move(channel)), self_(std::move(self)) {}
  ~LocalCommunicator() override {
    if (channel_->options().index != 0) return;
    RankState joined = RankState::kJoined;
    channel_->control().rank(rank()).state.compare_exchange_strong(
        joined, RankState::kEnded);
  }

  int rank() const override { return channel_->rank(); }
  int size() const override { return channel_->size(); }
  bool mapped() const override { return channel_->options().world->mapped(); }

  Tensor allocate(std::int64_t bytes) override;
  void all_gather(const Tensor& row, const Call& call) override;
  void all_to_all(std::span<const Tensor> rows,
                  std::span<const Arrival> arrivals, const Call& call) override;
  void release(const Call& call) override;
  void broadcast(const Tensor& tensor, int root, const Call& call) override;
  void barrier(const Call& call) override;
  std::unique_ptr<Communicator> split(std::string_view name) override;

  void locate(const Location& location) override;
  Location location() const override {
    return {.step = self_->step, .phase = self_->phase, .layer = self_->layer};
  }
  void abort(const Failure& failure) noexcept override {
    publish(channel_->control(), failure, rank(), Witness::kOfTheLiving);
  }
  Record& record() override { return *channel_->options().record; }

 private:
  using Work = std::function<void(Channel&)>;
  Place place() const { return {.rank = rank(), .size = size()}; }
  void count_and_queue(const Call& call, std::int64_t wire_bytes, Work work);
  void queue(const Call& call, std::function<void()> work);

  std::shared_ptr<Channel> channel_;  // kept by what is queued, too
  std::shared_ptr<Self> self_;
  std::uint64_t sequence_ = 0;
};

void LocalCommunicator::queue(const Call& call, std::function<void()> work) {
  if (call.stream == nullptr) {
    throw UsageError("a call on a communicator got no stream; expected one");
  }
  channel_->refuse_after_failure();
  call.stream->submit(
      [channel = channel_, turn = channel_->take_turn(),
       work = std::move(work)] { channel->in_turn(turn, work); });
}

void LocalCommunicator::count_and_queue(const Call& call,
                                        std::int64_t wire_bytes, Work work) {
  channel_->refuse_after_failure();
  const std::uint64_t ticket = record().queued({.sequence = sequence_++,
                                                .purpose = call.purpose,
                                                .unit = call.unit,
                                                .channel = channel_->name(),
                                                .wire_bytes = wire_bytes,
                                                .queued_ns = 0,
                                                .started_ns = 0,
                                                .finished_ns = 0});
  queue(call, [channel = channel_.get(), ticket, work = std::move(work)] {
    Record& record = *channel->options().record;
    record.started(ticket);
    if (channel->size() > 1) work(*channel);
    record.finished(ticket);
  });
}

Tensor LocalCommunicator::allocate(std::int64_t bytes) {
  check_bytes(bytes);
  Tensor tensor;
  channel_->in_turn(channel_->take_turn(),
                    [&] { tensor = local::allocate(*channel_, bytes); });
  return tensor;
}

void LocalCommunicator::all_gather(const Tensor& row, const Call& call) {
  const std::int64_t bytes = check_all_gather(place(), row, call);
  require_memory(row);
  count_and_queue(call, bytes, [row, call](Channel& channel) {
    local::all_gather(channel, row, call);
  });
}

void LocalCommunicator::all_to_all(std::span<const Tensor> rows,
                                   std::span<const Arrival> arrivals,
                                   const Call& call) {
  const std::int64_t bytes = check_all_to_all(place(), rows, arrivals, call);
  for (const Tensor& row : rows) require_memory(row);
  for (const Arrival& arrival : arrivals) require_memory(arrival.slice);
  count_and_queue(call, bytes,
                  [rows = std::vector(rows.begin(), rows.end()),
                   arrivals = std::vector(arrivals.begin(), arrivals.end()),
                   call](Channel& channel) {
                    local::all_to_all(channel, rows, arrivals, call);
                  });
}

void LocalCommunicator::release(const Call& call) {
  if (!mapped()) return;
  queue(call, [channel = channel_.get(), call] {
    meet(*channel, Kind::kRelease, call);
  });
}

void LocalCommunicator::broadcast(const Tensor& tensor, int root,
                                  const Call& call) {
  const std::int64_t bytes = check_broadcast(place(), tensor, root, call);
  require_memory(tensor);
  count_and_queue(call, bytes, [tensor, root, call](Channel& channel) {
    local::broadcast(channel, tensor, root, call);
  });
}

void LocalCommunicator::barrier(const Call& call) {
  count_and_queue(call, 0, [call](Channel& channel) {
    meet(channel, Kind::kBarrier, call);
  });
}

std::unique_ptr<Communicator> LocalCommunicator::split(std::string_view name) {
  Channel::Options options = channel_->options();
  options.name = name;
  channel_->in_turn(channel_->take_turn(), [&] {
    Offer offer{};
    offer.signature =
        signature_of(Kind::kSplit, {.stream = nullptr, .unit = name});
    Header& header = channel_->control().header();
    if (rank() == 0) {
      offer.channel = header.next_channel.fetch_add(1);
      if (offer.channel < kMaxChannels) {
        channel_->control().reserve_channel(static_cast<int>(offer.channel));
      }
    }
    channel_->meet(offer);
    options.index = static_cast<int>(channel_->offer_of(0).channel);
  });
  if (options.index < 1 || options.index >= kMaxChannels) {
    throw UsageError(fmt::format(
        "cannot split off channel {}: a world has at most {} channels", name,
        kMaxChannels));
  }
  return std::make_unique<LocalCommunicator>(
      std::make_shared<Channel>(std::move(options)), self_);
}

void LocalCommunicator::locate(const Location& location) {
  self_->step = location.step;
  self_->phase = location.phase;
  self_->layer = location.layer;
  channel_->control().rank(rank()).location.store(location.step, location.phase,
                                                  location.layer);
}

void claim_rank(const Control& control, int rank) {
  if (rank < 0 || rank >= control.size()) {
    throw UsageError(
        fmt::format("got rank {} of a world of {}; expected 0 ... "
                    "{}",
                    rank, control.size(), control.size() - 1));
  }
  RankBlock& block = control.rank(rank);
  std::int32_t nobody = 0;
  if (!block.pid.compare_exchange_strong(nobody, getpid())) {
    throw UsageError(fmt::format(
        "rank {} has joined already, as process {}; every rank joins once",
        rank, nobody));
  }
  block.state.store(RankState::kJoined);
}

}  // namespace

std::unique_ptr<Communicator> join_world(
    const std::shared_ptr<LocalWorld::State>& world, int rank) {
  claim_rank(world->control, rank);
  auto channel = std::make_shared<Channel>(
      Channel::Options{.world = world,
                       .peers = std::make_shared<Peers>(world->control, rank),
                       .record = std::make_shared<Record>(),
                       .index = 0,
                       .rank = rank,
                       .name = "main"});
  auto communicator =
      std::make_unique<LocalCommunicator>(channel, std::make_shared<Self>());
  channel->in_turn(channel->take_turn(),
                   [&] { meet(*channel, Kind::kJoin, {.stream = nullptr}); });
  return communicator;
}

}  // namespace quire::comm::local
