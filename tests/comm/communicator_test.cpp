// What every communicator promises, over worlds and lengths that do not divide.
#include "quire/comm/communicator.h"

#include <functional>
#include <vector>

#include "tests/support/world.h"

namespace quire::comm {
namespace {

using namespace quire::testing;

constexpr std::int64_t kLengths[] = {0, 1, 3, 7, 1000, 300001};

// A byte that tells who wrote it, in which row and where.
std::byte mark(int rank, int row, std::int64_t i) {
  return static_cast<std::byte>(31 * rank + 7 * row + i + 1);
}

void fill(const Tensor& slice, int rank, int row, std::int64_t begin = 0) {
  for (std::int64_t i = 0; i < slice.bytes(); ++i) {
    slice.raw()[i] = mark(rank, row, begin + i);
  }
}

bool holds(const Tensor& slice, int rank, int row, std::int64_t begin = 0) {
  for (std::int64_t i = 0; i < slice.bytes(); ++i) {
    if (slice.raw()[i] != mark(rank, row, begin + i)) return false;
  }
  return true;
}

class Worlds : public ::testing::TestWithParam<World> {};

INSTANTIATE_TEST_SUITE_P(
    Communicator, Worlds,
    ::testing::Values(World{1, false, true}, World{1, true, false},
                      World{2, false, true}, World{2, false, false},
                      World{2, true, true}, World{2, true, false},
                      World{3, false, true}, World{3, true, true},
                      World{3, true, false}, World{4, false, true},
                      World{4, false, false}, World{4, true, true},
                      World{4, true, false}),
    [](const auto& info) { return name_of(info.param); });

void gather_once(Communicator& comm, const Tensor& row, Stream& stream) {
  const std::int64_t slice = row.bytes() / comm.size();
  fill(row.range(comm.rank() * slice, slice), comm.rank(), 0);
  comm.all_gather(row, {.stream = &stream, .purpose = Purpose::kGather});
  stream.synchronize();
  for (int r = 0; r < comm.size(); ++r) {
    require(holds(row.range(r * slice, slice), r, 0),
            "slice " + std::to_string(r) + " of " + std::to_string(slice));
  }
  comm.barrier({.stream = &stream});
  stream.synchronize();
}

TEST_P(Worlds, AnAllGatherGivesEveryRankEverySlice) {
  expect_success(GetParam().run([](Communicator& comm) {
    Streams streams;
    for (const std::int64_t slice : kLengths) {
      const Tensor row = comm.allocate(slice * comm.size());
      gather_once(comm, row, streams.compute);
      gather_once(comm, row, streams.communication);
    }
    return 0;
  }));
}

TEST_P(Worlds, AnAllGatherOfAnOrdinaryTensorCopies) {
  expect_success(GetParam().run([](Communicator& comm) {
    Streams streams;
    for (const std::int64_t slice : kLengths) {
      const Tensor row = streams.allocator.zeros(
          DType::kU8, Shape{slice * comm.size()}, Category::kGathered);
      gather_once(comm, row, streams.communication);
    }
    return 0;
  }));
}

// Rows of a rank: rank 1 has one, rank 2 two, ... and rank 0 none.
std::vector<Tensor> rows_of(const std::function<Tensor(int, int)>& row,
                            int rank) {
  std::vector<Tensor> rows;
  for (int i = 0; i < rank; ++i) rows.push_back(row(rank, i));
  return rows;
}

void fill_rows(const std::vector<Tensor>& rows, int rank) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    fill(rows[i], rank, static_cast<int>(i));
  }
}

void require_arrivals(const std::vector<Arrival>& arrivals, int rank) {
  int row = 0;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    row = i > 0 && arrivals[i].from == arrivals[i - 1].from ? row + 1 : 0;
    const Tensor& slice = arrivals[i].slice;
    require(holds(slice, arrivals[i].from, row, rank * slice.bytes()),
            "row " + std::to_string(row) + " of rank " +
                std::to_string(arrivals[i].from));
  }
}

struct Exchange {
  std::vector<Tensor> rows;
  std::vector<Arrival> arrivals;
};

void exchange_twice(Communicator& comm, const Exchange& exchange,
                    Stream& stream) {
  const Call call{.stream = &stream, .purpose = Purpose::kReduce, .unit = "u"};
  for (int i = 0; i < 2; ++i) {
    stream.synchronize();
    fill_rows(exchange.rows, comm.rank());
    comm.all_to_all(exchange.rows, exchange.arrivals, call);
    stream.submit([&] { require_arrivals(exchange.arrivals, comm.rank()); });
    comm.release(call);
  }
  stream.synchronize();
}

// Row i of rank r is in one shared memory, so that an arrival is a view of it.
Exchange in_place(Communicator& comm, const Tensor& memory,
                  std::int64_t slice) {
  const std::int64_t bytes = slice * comm.size();
  const auto row = [&](int rank, int i) {
    return memory.range((rank * comm.size() + i) * bytes, bytes);
  };
  Exchange exchange{rows_of(row, comm.rank()), {}};
  for (int from = 0; from < comm.size(); ++from) {
    if (from == comm.rank()) continue;
    for (const Tensor& sent : rows_of(row, from)) {
      exchange.arrivals.push_back(
          {from, sent.range(comm.rank() * slice, slice)});
    }
  }
  return exchange;
}

Exchange copied(Communicator& comm, Allocator& allocator, std::int64_t slice) {
  const auto make = [&](std::int64_t bytes) {
    return allocator.zeros(DType::kU8, Shape{bytes}, Category::kCommunication);
  };
  const auto row = [&](int, int) { return make(slice * comm.size()); };
  Exchange exchange{rows_of(row, comm.rank()), {}};
  for (int from = 0; from < comm.size(); ++from) {
    for (int i = 0; i < from && from != comm.rank(); ++i) {
      exchange.arrivals.push_back({from, make(slice)});
    }
  }
  return exchange;
}

TEST_P(Worlds, AnAllToAllBringsEveryRankItsSliceOfEveryRow) {
  expect_success(GetParam().run([](Communicator& comm) {
    Streams streams;
    for (const std::int64_t slice : kLengths) {
      exchange_twice(comm, copied(comm, streams.allocator, slice),
                     streams.communication);
    }
    return 0;
  }));
}

TEST_P(Worlds, AnAllToAllOverOneMemoryShowsTheSendersRows) {
  if (!GetParam().mapped) return;  // there is no one memory
  expect_success(GetParam().run([](Communicator& comm) {
    Streams streams;
    for (const std::int64_t slice : kLengths) {
      const Tensor memory =
          comm.allocate(slice * comm.size() * comm.size() * comm.size());
      exchange_twice(comm, in_place(comm, memory, slice),
                     streams.communication);
    }
    return 0;
  }));
}

TEST_P(Worlds, ABroadcastGivesEveryRankRootsBytes) {
  expect_success(GetParam().run([](Communicator& comm) {
    Streams streams;
    for (const std::int64_t bytes : kLengths) {
      const int root = static_cast<int>(bytes) % comm.size();
      const Tensor own = streams.allocator.zeros(DType::kU8, Shape{bytes},
                                                 Category::kParameters);
      const Tensor shared = comm.allocate(bytes);
      for (const Tensor& tensor : {own, shared}) {
        if (comm.rank() == root) fill(tensor, root, 2);
        comm.broadcast(tensor, root, {.stream = &streams.communication});
        streams.communication.synchronize();
        require(holds(tensor, root, 2), "root's bytes");
      }
    }
    return 0;
  }));
}

TEST_P(Worlds, AllocatedMemoryIsZeroAndSharedOnlyIfMapped) {
  expect_success(GetParam().run([](Communicator& comm) {
    Streams streams;
    const Tensor memory = comm.allocate(comm.size());
    for (int i = 0; i < comm.size(); ++i) {
      require(memory.raw()[i] == std::byte{0}, "zero bytes");
    }
    comm.barrier({.stream = &streams.compute});
    memory.raw()[comm.rank()] = std::byte{9};
    comm.barrier({.stream = &streams.compute});
    for (int i = 0; i < comm.size(); ++i) {
      const bool seen = memory.raw()[i] == std::byte{9};
      require(seen == (comm.mapped() || i == comm.rank()), "the owner's 9");
    }
    return 0;
  }));
}

TEST(Communicator, MemoryOutlivesItsCommunicator) {
  Tensor kept;
  expect_success(run_threads(1, {}, [&](Communicator& comm) {
    kept = comm.allocate(100);
    return 0;
  }));
  fill(kept, 1, 1);
  EXPECT_TRUE(holds(kept, 1, 1));
}

TEST_P(Worlds, ASplitHasAnOrderOfItsOwn) {
  expect_success(GetParam().run([](Communicator& comm) {
    Streams streams;
    const auto other = comm.split("other");
    const Tensor row = comm.allocate(8 * comm.size());
    const Tensor second = comm.allocate(8 * comm.size());
    // Rank 0 uses them in one order, the others in the opposite one.
    const auto first = [&] {
      comm.all_gather(row, {.stream = &streams.communication, .unit = "a"});
    };
    if (comm.rank() == 0) first();
    Stream stream(Stream::Kind::kBackground, "other", streams.pool,
                  streams.allocator);
    other->all_gather(second, {.stream = &stream, .unit = "b"});
    if (comm.rank() != 0) first();
    stream.synchronize();
    streams.communication.synchronize();
    require(comm.record().newest(9).size() == 2, "one record for both");
    return 0;
  }));
}

TEST_P(Worlds, TextsOfAnyLengthAreGatheredInTheOrderOfRanks) {
  expect_success(GetParam().run([](Communicator& comm) {
    Streams streams;
    const auto text = [](int rank) {
      return std::string(rank * 100000, static_cast<char>('a' + rank));
    };
    const auto texts = gather_text(comm, text(comm.rank()),
                                   {.stream = &streams.communication});
    require(static_cast<int>(texts.size()) == comm.size(), "a text per rank");
    for (int r = 0; r < comm.size(); ++r) {
      require(texts[r] == text(r), "text of rank " + std::to_string(r));
    }
    return 0;
  }));
}

TEST_P(Worlds, EveryCallIsCountedWithWhatItSends) {
  const std::int64_t peers = GetParam().ranks - 1;
  expect_success(GetParam().run([peers](Communicator& comm) {
    Streams streams;
    Stream* stream = &streams.communication;
    const Tensor row = comm.allocate(10 * comm.size());
    comm.all_gather(row, {.stream = stream, .purpose = Purpose::kGather});
    comm.broadcast(row, 0, {.stream = stream, .purpose = Purpose::kWeights});
    comm.barrier({.stream = stream, .purpose = Purpose::kControl});
    stream->synchronize();
    Record& record = comm.record();
    require(record.traffic(Purpose::kGather) == Traffic{1, 10 * peers},
            "a slice to each peer");
    const std::int64_t sent = comm.rank() == 0 ? row.bytes() * peers : 0;
    require(record.traffic(Purpose::kWeights) == Traffic{1, sent},
            "root sends to each peer");
    require(record.plan_traffic() == Traffic{2, 10 * peers + sent},
            "control is outside the plan");
    return 0;
  }));
}

TEST_P(Worlds, ManyCallsInARowStayInStep) {
  expect_success(GetParam().run([](Communicator& comm) {
    Streams streams;
    const Tensor row = streams.allocator.zeros(DType::kI32, Shape{comm.size()},
                                               Category::kCommunication);
    for (std::int32_t i = 0; i < 200; ++i) {
      row.data<std::int32_t>()[comm.rank()] = i;
      comm.all_gather(row, {.stream = &streams.compute});
      for (int r = 0; r < comm.size(); ++r) {
        require(row.data<std::int32_t>()[r] == i, "this round's number");
      }
    }
    return 0;
  }));
}

TEST_P(Worlds, ALocationIsReadBack) {
  expect_success(GetParam().run([](Communicator& comm) {
    comm.locate({.step = 17, .phase = "forward", .layer = "h.1"});
    const Location place = comm.location();
    require(
        place.step == 17 && place.phase == "forward" && place.layer == "h.1",
        "the location");
    return 0;
  }));
}

}  // namespace
}  // namespace quire::comm
