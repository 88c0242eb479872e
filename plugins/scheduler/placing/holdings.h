// The holdings of one node's allocations, in the order in which they came. Pure.
//
// A node may hold thousands, and every plan copies the nodes that it changes: copies share all but the last few.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace drover::scheduler {

struct Holding;

class Holdings {
 public:
  using Shared = std::shared_ptr<const Holding>;

  // Valid until the list changes.
  class Iterator {
   public:
    using value_type = Shared;
    using difference_type = ptrdiff_t;

    Iterator() = default;
    Iterator(const Holdings& of, size_t part, size_t at) : of_(&of), part_(part), at_(at) {}
    const Shared& operator*() const { return of_->part(part_)[at_]; }
    Iterator& operator++() {
      if (++at_ == of_->part(part_).size() && part_ < of_->parts_.size()) {
        ++part_;
        at_ = 0;
      }
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const = default;

   private:
    friend class Holdings;
    const Holdings* of_ = nullptr;
    size_t part_ = 0, at_ = 0;
  };

  Iterator begin() const { return {*this, 0, 0}; }
  Iterator end() const { return {*this, parts_.size(), last_.size()}; }
  bool empty() const { return parts_.empty() && last_.empty(); }

  void push_back(Shared holding) {
    last_.push_back(std::move(holding));
    if (last_.size() == kPart) parts_.push_back(std::make_shared<const Part>(std::exchange(last_, {})));
  }
  // Requires: it is one of these, or of a list that this one is an unchanged copy of.
  void erase(const Iterator& one) {
    if (one.part_ == parts_.size()) {
      last_.erase(last_.begin() + static_cast<ptrdiff_t>(one.at_));
      return;
    }
    std::shared_ptr<const Part>& part = parts_[one.part_];
    if (part->size() == 1) {
      parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(one.part_));
      return;
    }
    Part rest = *part;
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(one.at_));
    part = std::make_shared<const Part>(std::move(rest));
  }

 private:
  using Part = std::vector<Shared>;
  static constexpr size_t kPart = 64;

  const Part& part(size_t number) const { return number < parts_.size() ? *parts_[number] : last_; }

  std::vector<std::shared_ptr<const Part>> parts_;  // none is empty; they never change
  Part last_;
};

}  // namespace drover::scheduler
