#include "locals.h"

#include <deque>
#include <map>
#include <set>

#include "drover/hcl_expression.h"

namespace drover::jobspec {
namespace {

struct Local {
  const hcl::Attribute* attribute = nullptr;
  std::set<size_t> needs;
  size_t missing = 0;         // of them, not evaluated yet
  std::vector<size_t> users;  // who wait for it
  bool looks_at_all = false;  // local[…], or a name that nobody declares, whose error lists the others
};

// Each local is evaluated once, behind those that it names, with no more than those in sight: a copy of all others for
// each would be quadratic.
class Locals {
 public:
  Locals(const hcl::File& file, hcl::EvalContext& context, hcl::Diagnostics& diagnostics)
      : file_(file), context_(context), diagnostics_(diagnostics), evaluation_(diagnostics) {}

  void read() {
    collect();
    for (size_t i = 0; i < locals_.size(); ++i) connect(i);
    for (size_t i = 0; i < locals_.size(); ++i) {
      if (locals_[i].missing == 0) make_ready(i);
    }
    while (!ready_.empty() || !last_.empty()) {
      std::deque<size_t>& queue = ready_.empty() ? last_ : ready_;
      const size_t i = queue.front();
      queue.pop_front();
      if (!evaluate(i)) break;
    }
    report_circles();
    context_.variables["local"] = hcl::Value(std::move(values_));
  }

 private:
  void error(hcl::Range range, std::string text, std::string hint = {}) {
    diagnostics_.error(file_.source->name, range, std::move(text), std::move(hint));
  }

  void collect() {
    for (const hcl::Block& block : file_.body.blocks) {
      if (block.type != "locals") continue;
      for (const hcl::Attribute& attribute : block.body.attributes) add(attribute);
      for (const hcl::Block& inner : block.body.blocks)
        error(inner.range, "only arguments may stand in block \"locals\"");
    }
  }

  void add(const hcl::Attribute& attribute) {
    auto [at, is_new] = by_name_.try_emplace(attribute.name, locals_.size());
    if (is_new) {
      locals_.push_back({.attribute = &attribute});
      return;
    }
    const hcl::Position first = locals_[at->second].attribute->name_range.start;
    error(attribute.name_range, "Duplicate value in locals: \"" + attribute.name + "\" is set already",
          "it is set first at " + std::to_string(first.line) + ":" + std::to_string(first.column));
  }

  void connect(size_t i) {
    Local& local = locals_[i];
    for (const hcl::Reference& reference : hcl::references(local.attribute->expression)) {
      if (reference.root != "local") continue;
      const bool has_name = !reference.steps.empty() && reference.steps.front().is_string();
      auto named = has_name ? by_name_.find(reference.steps.front().string()) : by_name_.end();
      if (named == by_name_.end()) {
        local.looks_at_all = true;
      } else if (local.needs.insert(named->second).second) {
        locals_[named->second].users.push_back(i);
        ++local.missing;
      }
    }
  }

  void make_ready(size_t i) { (locals_[i].looks_at_all ? last_ : ready_).push_back(i); }

  bool evaluate(size_t i) {
    Local& local = locals_[i];
    std::optional<hcl::Object> visible = in_sight_of(local);
    if (!visible) return false;
    hcl::EvalContext inner;
    inner.parent = &context_;
    inner.variables["local"] = hcl::Value(*std::move(visible));
    inner.keep_unknown_interpolation = true;  // as in the job, where the node fills it in
    values_[local.attribute->name] = evaluation_.evaluate(local.attribute->expression, inner);
    for (size_t user : local.users) {
      if (--locals_[user].missing == 0) make_ready(user);
    }
    return true;
  }

  // Nothing, and reported, when too much would be copied.
  std::optional<hcl::Object> in_sight_of(const Local& local) {
    copied_ += local.looks_at_all ? values_.size() : local.needs.size();
    if (copied_ > hcl::kMaxEvaluationSteps) {
      error(local.attribute->name_range, "the locals refer to each other too often");
      gave_up_ = true;
      return std::nullopt;
    }
    if (local.looks_at_all) return values_;
    hcl::Object visible;
    for (size_t need : local.needs) {
      const std::string& name = locals_[need].attribute->name;
      visible[name] = values_[name];
    }
    return visible;
  }

  void report_circles() {
    if (gave_up_) return;
    for (const Local& local : locals_) {
      if (local.missing == 0) continue;
      error(local.attribute->name_range,
            "local \"" + local.attribute->name + "\" refers to itself, perhaps through others");
    }
  }

  const hcl::File& file_;
  hcl::EvalContext& context_;
  hcl::Diagnostics& diagnostics_;
  hcl::Evaluation evaluation_;
  std::vector<Local> locals_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::deque<size_t> ready_, last_;  // last: what looks at all, behind everything that can be evaluated before it
  hcl::Object values_;
  size_t copied_ = 0;
  bool gave_up_ = false;
};

}  // namespace

void read_locals(const hcl::File& file, hcl::EvalContext& context, hcl::Diagnostics& diagnostics) {
  Locals(file, context, diagnostics).read();
}

}  // namespace drover::jobspec
