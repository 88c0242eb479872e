// Locks whose use Clang checks: a member names its mutex, and a function the mutex that its caller holds.
//
//   mutable Mutex mutex_;
//   int waiting_ DROVER_GUARDED_BY(mutex_) = 0;
//   void drop() DROVER_REQUIRES(mutex_);
//
// `./dev tidy` runs the check (-Wthread-safety). The types are those of the standard library, with the same size and
// cost; other compilers see empty macros. The check does not look into constructors and destructors. [any]
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <utility>

#ifdef __clang__
#define DROVER_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define DROVER_THREAD_ATTRIBUTE(x)
#endif

// After a member's name. The pointer's own form is for what it points at.
#define DROVER_GUARDED_BY(m) DROVER_THREAD_ATTRIBUTE(guarded_by(m))
#define DROVER_POINTEE_GUARDED_BY(m) DROVER_THREAD_ATTRIBUTE(pt_guarded_by(m))
// After a function's or a lambda's parameters: callers hold the mutex, alone or with other readers; or do not hold it.
#define DROVER_REQUIRES(...) DROVER_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define DROVER_REQUIRES_SHARED(...) DROVER_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define DROVER_EXCLUDES(...) DROVER_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
// For what the check cannot follow. Each use says why.
#define DROVER_UNCHECKED_LOCKING DROVER_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace drover {

class DROVER_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() DROVER_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() DROVER_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  bool try_lock() DROVER_THREAD_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds the mutex from here to the end of the scope, apart from what lies between unlock() and lock().
class DROVER_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) DROVER_THREAD_ATTRIBUTE(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  ~MutexLock() DROVER_THREAD_ATTRIBUTE(release_capability()) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() DROVER_THREAD_ATTRIBUTE(acquire_capability()) { lock_.lock(); }
  void unlock() DROVER_THREAD_ATTRIBUTE(release_capability()) { lock_.unlock(); }

 private:
  template <typename Condition>
  friend class BasicCondVar;
  std::unique_lock<std::mutex> lock_;
};

// A condition variable. Every wait gives the lock's mutex up meanwhile and holds it again afterwards. A condition that
// reads what the mutex guards says so: [this]() DROVER_REQUIRES(mutex_) { return is_ready_; }.
template <typename Condition>
class BasicCondVar {
 public:
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

  // The arguments after the lock are those of the standard library's functions of the same names.
  template <typename... Arguments>
  auto wait(MutexLock& lock, Arguments&&... arguments) {
    return condition_.wait(lock.lock_, std::forward<Arguments>(arguments)...);
  }
  template <typename... Arguments>
  auto wait_for(MutexLock& lock, Arguments&&... arguments) {
    return condition_.wait_for(lock.lock_, std::forward<Arguments>(arguments)...);
  }
  template <typename... Arguments>
  auto wait_until(MutexLock& lock, Arguments&&... arguments) {
    return condition_.wait_until(lock.lock_, std::forward<Arguments>(arguments)...);
  }

 private:
  Condition condition_;
};

using CondVar = BasicCondVar<std::condition_variable>;
using CondVarAny = BasicCondVar<std::condition_variable_any>;  // its waits also take a std::stop_token

class DROVER_THREAD_ATTRIBUTE(capability("mutex")) SharedMutex {
 private:
  friend class ReaderLock;
  friend class WriterLock;
  std::shared_mutex mutex_;
};

class DROVER_THREAD_ATTRIBUTE(scoped_lockable) ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) DROVER_THREAD_ATTRIBUTE(acquire_shared_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~ReaderLock() DROVER_THREAD_ATTRIBUTE(release_generic_capability()) {}

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

class DROVER_THREAD_ATTRIBUTE(scoped_lockable) WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) DROVER_THREAD_ATTRIBUTE(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  ~WriterLock() DROVER_THREAD_ATTRIBUTE(release_capability()) {}

 private:
  std::unique_lock<std::shared_mutex> lock_;
};

// Knows the one thread on which something may be called, and ends the process where another one calls it.
class ThreadChecker {
 public:
  // `thread` is the name the message gives it: the tag of the header, such as "raft".
  explicit ThreadChecker(const char* thread) : thread_(thread) {}

  // The calling thread is the one from now on. Before, every thread is right: start and stop have the object alone.
  void bind() noexcept { bound_.store(std::this_thread::get_id(), std::memory_order_relaxed); }
  // Every thread is right again: the bound one has ended, or is about to.
  void unbind() noexcept { bound_.store({}, std::memory_order_relaxed); }

  bool is_bound() const noexcept { return bound_.load(std::memory_order_relaxed) != std::thread::id(); }
  bool is_bound_here() const noexcept { return bound_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

  void check(const char* function) const noexcept {
    if (is_bound() && !is_bound_here()) fail(function);
  }
  // Says what was called, on which thread and where it belongs, and ends the process.
  [[noreturn]] void fail(const char* function) const noexcept {
    char here[16] = "?";
    (void)pthread_getname_np(pthread_self(), here, sizeof(here));
    std::fprintf(stderr, "%s belongs to [%s] and was called on the thread \"%s\"\n", function, thread_, here);
    std::abort();
  }

 private:
  const char* thread_;
  std::atomic<std::thread::id> bound_{};
};

}  // namespace drover

// At the entry of a function whose header names a thread. Costs nothing in a release build.
#if defined(NDEBUG) || defined(DROVER_NO_THREAD_CHECKS)
#define DROVER_ASSERT_ON(checker) static_cast<void>(0)
#else
#define DROVER_ASSERT_ON(checker) (checker).check(static_cast<const char*>(__func__))
#endif
