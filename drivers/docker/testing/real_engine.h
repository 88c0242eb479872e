// An engine that runs for the time of a test program, by testing/engine.sh, and drivers that use it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "docker_driver.h"
#include "drover/hcl_value.h"
#include "drover/hclspec.h"
#include "engine/engine.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "sdk/testing/waiting.h"

namespace drover::docker {

class RealEngine {
 public:
  // "docker" or "podman". One of each for the program, begun when it is first asked for.
  static RealEngine& of(const std::string& kind) {
    static std::map<std::string, std::unique_ptr<RealEngine>> engines;
    std::unique_ptr<RealEngine>& engine = engines[kind];
    if (!engine) engine.reset(new RealEngine(kind));
    return *engine;
  }
  ~RealEngine() {
    (void)std::system((std::string(ENGINE_SCRIPT) + " stop " + folder_ + "/engine >&2").c_str());
    std::filesystem::remove_all(folder_);
  }

  // Empty: it runs.
  const std::string& why_not() const { return why_not_; }
  std::string socket() const { return folder_ + "/engine/socket"; }
  const std::string& kind() const { return kind_; }
  Engine client() const { return Engine(socket()); }

  // Configured, with its state in a folder of this program.
  std::unique_ptr<DockerDriver> driver(hcl::Object options = {}) const {
    options["endpoint"] = "unix://" + socket();
    options.try_emplace("state_dir", folder_ + "/state");
    hashicorp::nomad::plugins::base::proto::SetConfigRequest request;
    request.set_msgpack_config(hclspec::to_msgpack(options));
    auto driver = std::make_unique<DockerDriver>();
    const Status configured = driver->configure(request);
    EXPECT_TRUE(configured.ok()) << configured.to_string();
    return driver;
  }
  const std::string& folder() const { return folder_; }

 private:
  explicit RealEngine(std::string kind) : kind_(std::move(kind)) {
    char name[] = "/tmp/drover-engine-XXXXXX";
    folder_ = ::mkdtemp(name);
    const std::string said = folder_ + "/said";
    const int status = std::system(
        (std::string(ENGINE_SCRIPT) + " start " + kind_ + " " + folder_ + "/engine > " + said + " 2>&1").c_str());
    if (status == 0) return;
    std::ifstream file(said);
    why_not_ = {std::istreambuf_iterator<char>(file), {}};
    if (why_not_.empty()) why_not_ = "the engine did not start";
  }

  const std::string kind_;
  std::string folder_, why_not_;
};

}  // namespace drover::docker
