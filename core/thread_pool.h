// The threads of one rank. A pool belongs to its rank: ranks in one process
// never share threads, so that nothing is oversubscribed and a stalled rank
// stalls nobody else's work.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace quire {

class ThreadPool {
 public:
  // `threads` >= 1 counts the calling thread: threads - 1 workers are started.
  // Flush-to-zero and denormals-are-zero are set in the workers and in every
  // thread that calls parallel_for.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls fn(panel, worker) once for every panel in [0, panels), worker in [0,
  // threads()) telling which thread runs it (at most one panel per worker at a
  // time: an index for scratch). Returns when all have run. If some throw, the
  // exception of the lowest such panel is rethrown here and panels not yet
  // taken are dropped. Panels are taken in order from one counter, so a panel's
  // work must not depend on who takes it. Called by one thread at a time; not
  // from inside a panel.
  template <class Fn>
  void parallel_for(std::int64_t panels, Fn&& fn) {
    using Callable = std::remove_reference_t<Fn>;
    run(
        panels,
        [](void* f, std::int64_t panel, int worker) {
          (*static_cast<Callable*>(f))(panel, worker);
        },
        const_cast<void*>(static_cast<const void*>(&fn)));
  }

 private:
  using Body = void (*)(void* fn, std::int64_t panel, int worker);
  void run(std::int64_t panels, Body body, void* fn);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quire
