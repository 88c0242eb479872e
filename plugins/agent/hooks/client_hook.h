// A hook whose parts need nothing but the client: PART(const Client&, HookedAlloc& or HookedTask&, HookState&).
#pragma once

#include <memory>
#include <type_traits>

#include "standard_hooks.h"

namespace drover::agent {

template <typename Part>
struct HookKind {
  static constexpr bool is_of_allocs = std::is_base_of_v<AllocHook::Part, Part>;
  using Hook = std::conditional_t<is_of_allocs, AllocHook, TaskHook>;
  using Hooked = std::conditional_t<is_of_allocs, HookedAlloc, HookedTask>;
};

template <typename Part>
class ClientHook final : public HookKind<Part>::Hook {
  using Kind = HookKind<Part>;

 public:
  ClientHook(const ClientSlot& client, HookInfo info) : client_(client), info_(std::move(info)) {}
  HookInfo info() const override { return info_; }
  std::unique_ptr<typename Kind::Hook::Part> attach(typename Kind::Hooked& hooked, HookState& state) override {
    return std::make_unique<Part>(*client_, hooked, state);
  }

 private:
  const ClientSlot& client_;
  const HookInfo info_;
};

}  // namespace drover::agent
