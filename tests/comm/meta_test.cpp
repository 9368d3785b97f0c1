#include "quire/comm/meta.h"

#include "tests/support/tensors.h"
#include "tests/support/world.h"

namespace quire::comm {
namespace {

using namespace quire::testing;

TEST(MetaCommunicator, CountsAndMovesNothing) {
  const auto comm = meta_communicator(1, 4);
  Streams streams;
  const Call call{.stream = &streams.compute, .purpose = Purpose::kGather};
  const Tensor row = comm->allocate(400);
  EXPECT_TRUE(row.is_meta());
  EXPECT_EQ(row.bytes(), 400);
  comm->all_gather(row, call);
  comm->all_to_all(std::vector{row, row}, {}, call);
  comm->broadcast(row, 1, call);
  comm->broadcast(row, 0, call);
  comm->split("other")->barrier(call);
  comm->release(call);
  // Slices of 100 bytes to 3 peers; two rows of them; 400 bytes to 3 peers.
  EXPECT_EQ(comm->record().plan_traffic(), (Traffic{5, 300 + 600 + 1200}));
}

TEST(MetaCommunicator, RefusesWhatEveryCommunicatorRefuses) {
  EXPECT_THROW(meta_communicator(4, 4), UsageError);
  const auto comm = meta_communicator(1, 4);
  Streams streams;
  const Call call{.stream = &streams.compute, .unit = "h.1"};
  const std::string message =
      usage_error_of([&] { comm->all_gather(comm->allocate(401), call); });
  expect_mentions(message, {"all_gather of h.1", "401", "4 equal slices"});
  EXPECT_THROW(comm->all_gather(Tensor(), call), UsageError);
  EXPECT_THROW(comm->broadcast(comm->allocate(4), 4, call), UsageError);
  const Arrival own{1, comm->allocate(4)};
  EXPECT_THROW(comm->all_to_all({}, std::vector{own}, call), UsageError);
  EXPECT_THROW(comm->allocate(-1), UsageError);
}

TEST(LocalCommunicator, RefusesTensorsWithoutMemory) {
  const Tensor row = meta_communicator(0, 1)->allocate(8);
  const auto result = run_threads(1, {}, [&](Communicator& comm) {
    Streams streams;
    comm.all_gather(row, {.stream = &streams.compute});
    return 0;
  });
  EXPECT_EQ(result.exit_code, 2);
  expect_mentions(result.failure.value().message, {"meta device"});
}

}  // namespace
}  // namespace quire::comm
