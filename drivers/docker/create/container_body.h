// From a task to what the engine is asked to create: the body of POST /containers/create. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/container_options.h"
#include "config/plugin_options.h"
#include "drover/task_driver.h"
#include "engine/answers.h"

namespace drover::docker {

// Marks of every container of this driver. The first one is Nomad's, for tools that look for it.
inline constexpr const char* kAllocLabel = "com.hashicorp.nomad.alloc_id";
inline constexpr const char* kTaskLabel = "drover.task_id";
inline constexpr const char* kNodeLabel = "drover.node_id";
// In the labels of a group's network: the container that holds it.
inline constexpr const char* kSandboxId = "docker_sandbox_container_id";
inline constexpr const char* kSandboxHostname = "docker_sandbox_hostname";

struct BodyInput {
  const driver::TaskConfig& task;
  const ContainerOptions& options;
  const PluginOptions& plugin;
  const EngineFacts& engine;
  std::string image;  // a name or an ID
  int cores = 1;      // of the machine
  std::string shared_cores{};  // those of a task that names and reserves none; empty: all
  // The content of the files that security_opt names, by the name as it is written there.
  std::map<std::string, std::string> seccomp_profiles{};
};

struct ContainerBody {
  struct File {
    std::string path, content, target;  // where it is, what it holds, where the container has it
  };
  std::string json;
  std::vector<File> files;             // to be written before the container is created
  std::vector<std::string> own_paths;  // mounted from below the allocation; they must not lead out of it
  std::map<std::string, int> port_map;
};

// "web-3f0e…", the name of a task's container; the task's own mark is added for one that needs another name.
std::string container_name(const driver::TaskConfig& task);
std::string other_container_name(const driver::TaskConfig& task);

// The files that security_opt names: as written, and the file on this machine.
std::map<std::string, std::string> seccomp_files(const ContainerOptions& options, const driver::TaskConfig& task);

// Errors: invalid_argument with what the job asks for and does not get, and why.
Result<ContainerBody> container_body(const BodyInput& input);

}  // namespace drover::docker
