// A coroutine that somebody awaits. It begins when it is awaited, and its caller goes on when it has returned, on the
// same thread. Which thread that is says who runs the outermost one: a Strand.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace drover::agent {

template <typename T>
class Async;

namespace detail {

struct AsyncPromise {
  std::coroutine_handle<> caller;

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct GoBack {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      return ended.promise().caller;
    }
    void await_resume() noexcept {}
  };
  GoBack final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { std::terminate(); }
};

template <typename T>
struct ValuePromise : AsyncPromise {
  std::optional<T> value;

  Async<T> get_return_object();
  template <typename U>
  void return_value(U&& returned) {
    value.emplace(std::forward<U>(returned));
  }
  T take() { return *std::move(value); }
};

struct VoidPromise : AsyncPromise {
  Async<void> get_return_object();
  void return_void() noexcept {}
  void take() noexcept {}
};

}  // namespace detail

template <typename T = void>
class [[nodiscard]] Async {
 public:
  using promise_type = std::conditional_t<std::is_void_v<T>, detail::VoidPromise, detail::ValuePromise<T>>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Async(Handle handle) : handle_(handle) {}
  Async(Async&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Async& operator=(Async&&) = delete;
  ~Async() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  Handle await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().caller = caller;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  Handle handle_;
};

namespace detail {

template <typename T>
Async<T> ValuePromise<T>::get_return_object() {
  return Async<T>(std::coroutine_handle<ValuePromise<T>>::from_promise(*this));
}
inline Async<void> VoidPromise::get_return_object() {
  return Async<void>(std::coroutine_handle<VoidPromise>::from_promise(*this));
}

}  // namespace detail

}  // namespace drover::agent
