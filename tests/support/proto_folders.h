// The declarations of the source tree's .proto files, read from the files themselves by protoc. Test only.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace drover::testing {

// A folder that is gone with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "drover-protos-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// One folder's files with everything they import. The folders are read apart: each plugin compiles alone.
class ProtoFolder {
 public:
  // `names` are relative to `own`. `root` is that of the source tree.
  ProtoFolder(const std::string& protoc, const std::string& root, const std::filesystem::path& own, std::string label,
              const std::vector<std::string>& names)
      : label_(std::move(label)) {
    const TemporaryFolder work;
    const std::string set_path = work.path() / "set";
    const std::string said_path = work.path() / "said";
    std::string command = "'" + protoc + "' --include_imports --descriptor_set_out='" + set_path + "' -I '" +
                          own.string() + "' -I '" + root + "/sdk/proto'";
    for (const std::string& name : names) command += " '" + name + "'";
    if (std::system((command + " 2>'" + said_path + "'").c_str()) != 0) {
      std::ifstream said(said_path);
      problems_.assign(std::istreambuf_iterator<char>(said), {});
      return;
    }
    google::protobuf::FileDescriptorSet set;
    std::ifstream written(set_path, std::ios::binary);
    if (!set.ParseFromIstream(&written)) problems_ = "the descriptors cannot be read";
    for (const auto& file : set.file()) pool_.BuildFile(file);  // imports come first
    for (const std::string& name : names) {
      if (const auto* file = pool_.FindFileByName(name)) {
        files_.push_back(file);
      } else {
        problems_ += name + " cannot be built";
      }
    }
  }
  const std::string& label() const { return label_; }
  const std::string& problems() const { return problems_; }
  const std::vector<const google::protobuf::FileDescriptor*>& files() const { return files_; }

 private:
  std::string label_;
  std::string problems_;
  google::protobuf::DescriptorPool pool_;
  std::vector<const google::protobuf::FileDescriptor*> files_;
};

// The SDK's, and those of each plugin.
inline std::vector<std::unique_ptr<ProtoFolder>> all_proto_folders(const std::string& protoc, const std::string& root) {
  namespace fs = std::filesystem;
  std::map<std::string, std::vector<std::string>> by_folder;  // in the order of their paths
  const auto add = [&](const fs::path& top, const fs::path& folder) {
    for (const auto& each : fs::recursive_directory_iterator(top)) {
      const fs::path& path = each.path();
      if (!each.is_regular_file() || path.extension() != ".proto") continue;
      const fs::path own = folder.empty() ? path.parent_path() : folder;
      by_folder[own.lexically_relative(root)].push_back(path.lexically_relative(own));
    }
  };
  add(fs::path(root) / "sdk/proto/drover", fs::path(root) / "sdk/proto");
  for (const char* top : {"plugins", "drivers", "csi", "devices", "checks", "auth"}) add(fs::path(root) / top, {});
  std::vector<std::unique_ptr<ProtoFolder>> folders;
  for (const auto& [folder, names] : by_folder)
    folders.push_back(std::make_unique<ProtoFolder>(protoc, root, fs::path(root) / folder, folder, names));
  return folders;
}

// No router sees the calls of services that plugins outside answer.
inline bool is_routed(const google::protobuf::ServiceDescriptor& service) {
  return !service.name().ends_with("Plugin") && service.file()->package() != "csi.v1";
}

}  // namespace drover::testing
