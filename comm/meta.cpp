#include "quire/comm/meta.h"

#include "quire/comm/detail/checks.h"

namespace quire::comm {
namespace {

class MetaStorage final : public Storage {
 public:
  explicit MetaStorage(std::int64_t bytes)
      : Storage(nullptr, bytes, Device::kMeta) {}
};

class MetaCommunicator final : public Communicator {
 public:
  MetaCommunicator(const Place& place, std::string channel,
                   std::shared_ptr<Record> record)
      : place_(place),
        channel_(std::move(channel)),
        record_(std::move(record)) {}

  int rank() const override { return place_.rank; }
  int size() const override { return place_.size; }
  bool mapped() const override { return true; }

  Tensor allocate(std::int64_t bytes) override {
    check_bytes(bytes);
    return {std::make_shared<MetaStorage>(bytes), DType::kU8, Shape{bytes}};
  }

  void all_gather(const Tensor& row, const Call& call) override {
    count(call, check_all_gather(place_, row, call));
  }
  void all_to_all(std::span<const Tensor> rows,
                  std::span<const Arrival> arrivals,
                  const Call& call) override {
    count(call, check_all_to_all(place_, rows, arrivals, call));
  }
  void release(const Call&) override {}
  void broadcast(const Tensor& tensor, int root, const Call& call) override {
    count(call, check_broadcast(place_, tensor, root, call));
  }
  void barrier(const Call& call) override { count(call, 0); }

  std::unique_ptr<Communicator> split(std::string_view channel) override {
    return std::make_unique<MetaCommunicator>(place_, std::string(channel),
                                              record_);
  }

  void locate(const Location& location) override {
    step_ = location.step;
    phase_ = location.phase;
    layer_ = location.layer;
  }
  Location location() const override {
    return {.step = step_, .phase = phase_, .layer = layer_};
  }
  void abort(const Failure&) noexcept override {}
  Record& record() override { return *record_; }

 private:
  void count(const Call& call, std::int64_t wire_bytes) {
    const std::uint64_t ticket = record_->queued({.sequence = sequence_++,
                                                  .purpose = call.purpose,
                                                  .unit = call.unit,
                                                  .channel = channel_,
                                                  .wire_bytes = wire_bytes,
                                                  .queued_ns = 0,
                                                  .started_ns = 0,
                                                  .finished_ns = 0});
    record_->started(ticket);
    record_->finished(ticket);
  }

  Place place_;
  std::string channel_;
  std::shared_ptr<Record> record_;
  std::uint64_t sequence_ = 0;
  std::int64_t step_ = -1;
  std::string phase_, layer_;
};

}  // namespace

std::unique_ptr<Communicator> meta_communicator(int rank, int size) {
  const Place place{.rank = rank, .size = size};
  check_place(place);
  return std::make_unique<MetaCommunicator>(place, "main",
                                            std::make_shared<Record>());
}

}  // namespace quire::comm
