#include "csi/protocol/redact.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <bitset>

#include "drover/base64.h"
#include "drover/printable.h"

namespace drover::csi {
namespace {

namespace pb = google::protobuf;

using Forms = std::vector<std::string>;

constexpr std::string_view kInstead = "[REDACTED]";
constexpr size_t kLeast = 4;      // bytes of a value that is looked for in whatever a plugin prints
constexpr size_t kRecent = 1000;  // forms

// Every form in which a plugin may say a value.
void add_forms(std::string value, Forms& forms) {
  if (value.empty()) return;
  forms.push_back(base64_encode(value));
  forms.push_back(printable(value));
  forms.push_back(std::move(value));
}

// As lines of output have it.
void add_printed_forms(const std::string& value, Forms& forms) {
  if (value.size() < kLeast) return;
  for (size_t from = 0; from <= value.size();) {
    const size_t end = std::min(value.find('\n', from), value.size());
    if (end - from >= kLeast && end - from < value.size()) forms.push_back(value.substr(from, end - from));
    from = end + 1;
  }
  add_forms(value, forms);
}

std::vector<std::string> secrets_of(const pb::Message& request) {
  std::vector<std::string> found;
  const pb::FieldDescriptor* field = request.GetDescriptor()->FindFieldByName("secrets");
  if (!field || !field->is_map()) return found;
  const pb::Reflection& reflection = *request.GetReflection();
  for (int i = 0; i < reflection.FieldSize(request, field); ++i) {
    const pb::Message& entry = reflection.GetRepeatedMessage(request, field, i);
    found.push_back(entry.GetReflection()->GetString(entry, field->message_type()->map_value()));
  }
  return found;
}

// The longest first: one may begin with another.
Forms sorted(Forms forms) {
  std::ranges::sort(forms, [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  return forms;
}

// Requires: the forms are sorted.
std::string without(std::string_view text, const Forms& forms) {
  std::bitset<256> first;
  for (const std::string& form : forms) first.set(static_cast<unsigned char>(form.front()));
  std::string out;
  while (!text.empty()) {
    const auto said =
        !first.test(static_cast<unsigned char>(text.front()))
            ? forms.end()
            : std::ranges::find_if(forms, [&](const std::string& each) { return text.starts_with(each); });
    out += said == forms.end() ? text.substr(0, 1) : kInstead;
    text.remove_prefix(said == forms.end() ? 1 : said->size());
  }
  return printable(out);
}

}  // namespace

std::string without_secrets(std::string_view text, const pb::Message& request) {
  Forms forms;
  for (std::string& value : secrets_of(request)) add_forms(std::move(value), forms);
  return without(text, sorted(std::move(forms)));
}

void KnownSecrets::add(std::string_view value) {
  const MutexLock lock(mutex_);
  add_printed_forms(std::string(value), kept_);
  all_.reset();
}

void KnownSecrets::add_of(const pb::Message& request) {
  Forms forms;
  for (const std::string& value : secrets_of(request)) add_printed_forms(value, forms);
  if (forms.empty()) return;
  const MutexLock lock(mutex_);
  for (std::string& form : forms) {
    std::erase(recent_, form);
    recent_.push_back(std::move(form));
  }
  while (recent_.size() > kRecent) recent_.pop_front();
  all_.reset();
}

std::string KnownSecrets::without(std::string_view text) const {
  std::shared_ptr<const Forms> all;
  {
    const MutexLock lock(mutex_);
    if (!all_) {
      Forms forms = kept_;
      forms.insert(forms.end(), recent_.begin(), recent_.end());
      all_ = std::make_shared<const Forms>(sorted(std::move(forms)));
    }
    all = all_;
  }
  return csi::without(text, *all);
}

}  // namespace drover::csi
