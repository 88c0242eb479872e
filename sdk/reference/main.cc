// sdk_reference SDK DESCRIPTORS FOLDER: writes the pages, and fails when one links to a page that is none.
// SDK is the folder with include/ in it, DESCRIPTORS what protoc made of the protocols, with their comments.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "page.h"

namespace drover::reference {
namespace {

namespace fs = std::filesystem;

// In the order in which an author meets them.
constexpr const char* kHeaders[] = {
    "task_driver", "process_driver", "device_plugin", "check_provider", "service_provider",
    "auth_method", "configurable",   "serve",         "task_options",   "hclspec",
    "log",         "conformance",    "abi",           "plugin",         "plugin_source",
    "plugin_kind", "methods",        "tables"};
constexpr const char* kProtocols[] = {
    "nomad/plugins/base.proto",       "nomad/plugins/driver.proto",       "nomad/plugins/device.proto",
    "drover/v1/check_provider.proto", "drover/v1/service_provider.proto", "drover/v1/auth_method.proto",
    "nomad/plugins/structs.proto",    "nomad/plugins/hclspec.proto",      "drover/v1/plugin_host.proto"};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

std::vector<Page> make_pages(const fs::path& sdk, const google::protobuf::DescriptorPool& protocols) {
  std::vector<Page> pages;
  for (const std::string name : kHeaders) {
    const std::string source = read(sdk / "include/drover" / (name + ".h"));
    if (!source.empty()) pages.push_back(header_page(name + ".md", "drover/" + name + ".h", source));
  }
  for (const std::string name : kProtocols) {
    const auto* file = protocols.FindFileByName(name);
    if (!file) continue;
    std::string page = name.substr(0, name.rfind('.')) + ".md";
    std::ranges::replace(page, '/', '_');
    pages.push_back(proto_page(page, *file));
  }
  pages.push_back(index_page(pages));
  return pages;
}

int write(const std::vector<Page>& pages, const fs::path& folder) {
  fs::create_directories(folder);
  for (const Page& page : pages) {
    std::ofstream out(folder / page.name, std::ios::binary);
    out << page.text;
    if (!out.flush()) {
      std::cerr << "cannot write " << (folder / page.name).string() << "\n";
      return 1;
    }
  }
  return 0;
}

// Links between pages that lead nowhere.
int check_links(const std::vector<Page>& pages) {
  static const std::regex kLink(R"(\]\(([^)#\s]+\.md)[^)]*\))");
  std::set<std::string> names;
  for (const Page& page : pages) names.insert(page.name);
  int code = 0;
  for (const Page& page : pages) {
    for (auto at = std::sregex_iterator(page.text.begin(), page.text.end(), kLink); at != std::sregex_iterator();
         ++at) {
      const std::string target = (*at)[1];
      if (names.contains(target)) continue;
      std::cerr << page.name << " links to " << target << ", which is none of the pages\n";
      code = 1;
    }
  }
  return code;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 3) {
    std::cerr << "usage: sdk_reference SDK DESCRIPTORS FOLDER\n";
    return 2;
  }
  google::protobuf::FileDescriptorSet set;
  google::protobuf::DescriptorPool protocols;
  const bool is_read = set.ParseFromString(read(arguments[1]));
  for (const auto& file : set.file()) protocols.BuildFile(file);
  const std::vector<Page> pages = make_pages(arguments[0], protocols);
  if (!is_read || pages.size() != std::size(kHeaders) + std::size(kProtocols) + 1) {
    std::cerr << "a header or a protocol is missing below " << arguments[0] << " or in " << arguments[1] << "\n";
    return 1;
  }
  const int code = check_links(pages);
  return code != 0 ? code : write(pages, arguments[2]);
}

}  // namespace
}  // namespace drover::reference

int main(int argc, char** argv) { return drover::reference::run({argv + 1, argv + argc}); }
