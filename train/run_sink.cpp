#include <utility>

#include "quire/train/sink.h"

namespace quire::train {
namespace {

class BothSinks final : public Sink {
 public:
  BothSinks(std::unique_ptr<Sink> first, std::unique_ptr<Sink> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  void write(const Event& event) override {
    first_->write(event);
    second_->write(event);
  }

 private:
  std::unique_ptr<Sink> first_, second_;
};

}  // namespace

std::unique_ptr<Sink> run_sink(std::filesystem::path folder) {
  return std::make_unique<BothSinks>(json_lines_sink(std::move(folder)),
                                     console_sink());
}

}  // namespace quire::train
