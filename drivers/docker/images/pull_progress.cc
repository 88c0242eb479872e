#include "images/pull_progress.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "drover/printable.h"

namespace drover::docker {
namespace {

using Json = nlohmann::json;

constexpr size_t kLongestLine = 1 << 20;
constexpr size_t kMostLayers = 10'000;

std::string mebibytes(int64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1fMiB", static_cast<double>(bytes) / (1 << 20));
  return text.data();
}

std::string text_at(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

int64_t number_at(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_number_integer() ? std::max<int64_t>(at->get<int64_t>(), 0) : 0;
}

}  // namespace

Status PullProgress::line(std::string_view text, SteadyTime now) {
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) return ok_status();
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return data_loss("the engine's answer to a pull cannot be read");
  if (std::string error = text_at(json, "error"); !error.empty()) return Status(Code::unknown, printable(error));
  const std::string status = text_at(json, "status"), id = text_at(json, "id");
  const bool is_layer = status == "Waiting" || status == "Pulling fs layer" || status == "Downloading" ||
                        status == "Verifying Checksum" || status == "Download complete" || status == "Extracting" ||
                        status == "Pull complete" || status == "Already exists";
  if (!is_layer || id.empty() || (layers_.size() >= kMostLayers && !layers_.contains(id))) {
    last_progress_ = now;
    return ok_status();
  }
  Layer& layer = layers_[id];
  const Layer before = layer;
  if (status == "Downloading") {
    layer.state = Layer::State::pulling;
    const auto detail = json.find("progressDetail");
    if (detail != json.end() && detail->is_object()) {
      layer.current = number_at(*detail, "current");
      layer.total = number_at(*detail, "total");
    }
  } else if (status == "Pull complete" || status == "Already exists" || status == "Download complete") {
    layer.state = Layer::State::done;
    layer.current = layer.total;
  } else if (status == "Extracting" || status == "Verifying Checksum") {
    layer.state = Layer::State::pulling;
    last_progress_ = now;  // these are no bytes, and work all the same
  }
  const bool is_new = layer.state != before.state || layer.current != before.current || layer.total != before.total;
  if (is_new || status == "Pulling fs layer") last_progress_ = now;
  return ok_status();
}

Status PullProgress::feed(std::string_view bytes, SteadyTime now) {
  if (!has_begun_) begun_ = last_progress_ = now;
  has_begun_ = true;
  rest_ += bytes;
  size_t from = 0;
  for (size_t end = 0; failure_.ok() && (end = rest_.find('\n', from)) != std::string::npos; from = end + 1)
    failure_ = line(std::string_view(rest_).substr(from, end - from), now);
  rest_.erase(0, from);
  if (failure_.ok() && rest_.size() > kLongestLine)
    failure_ = data_loss("the engine's answer to a pull has an endless line");
  return failure_;
}

Status PullProgress::finish(SteadyTime now) {
  if (failure_.ok()) failure_ = line(rest_, now);
  rest_.clear();
  return failure_;
}

std::string PullProgress::amount() const {
  int64_t current = 0, total = 0;
  for (const auto& [id, layer] : layers_) {
    current += layer.current;
    total += layer.total;
  }
  return mebibytes(current) + " of " + mebibytes(total);
}

std::string PullProgress::text(SteadyTime now) const {
  int64_t current = 0, total = 0;
  size_t done = 0, waiting = 0, pulling = 0;
  for (const auto& [id, layer] : layers_) {
    current += layer.current;
    total += layer.total;
    done += layer.state == Layer::State::done;
    waiting += layer.state == Layer::State::waiting;
    pulling += layer.state == Layer::State::pulling;
  }
  std::string out = "Pulled " + std::to_string(done) + "/" + std::to_string(layers_.size()) + " (" +
                    mebibytes(current) + "/" + mebibytes(total) + ") layers: " + std::to_string(waiting) + " waiting/" +
                    std::to_string(pulling) + " pulling";
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  if (current > 0 && total > current && seconds > 0) {
    std::array<char, 32> text{};
    const double left = seconds * static_cast<double>(total - current) / static_cast<double>(current);
    std::snprintf(text.data(), text.size(), "%.1fs", left);
    out += std::string(" - est ") + text.data() + " remaining";
  }
  return out;
}

}  // namespace drover::docker
