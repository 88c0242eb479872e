// api_methods DESCRIPTORS FOLDER: writes methods.h, the API's methods as C++ types, and descriptors.cc, their
// declarations with comments (drover/api_descriptors.h). DESCRIPTORS is what protoc made of drover/api/*.proto, imports
// and comments included.
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace {

namespace pb = google::protobuf;

bool is_api(const pb::FileDescriptorProto& file) { return file.name().starts_with("drover/api/"); }

// ".drover.v1.Job" → "::drover::v1::Job"
std::string cpp_type(std::string name) {
  for (size_t at = 0; (at = name.find('.', at)) != std::string::npos; at += 2) name.replace(at, 1, "::");
  return name;
}

void write_service(const pb::FileDescriptorProto& file, const pb::ServiceDescriptorProto& service, std::ostream& out) {
  out << "\nstruct " << service.name() << " {\n";
  for (const auto& method : service.method()) {
    out << "  struct " << method.name() << " {\n    using Request = " << cpp_type(method.input_type())
        << ";\n    using Response = " << cpp_type(method.output_type())
        << ";\n    static constexpr const char* kName = \"" << file.package() << "." << service.name() << "."
        << method.name() << "\";\n  };\n";
  }
  out << "};\n";
}

// The types of one package: "drover.v1".
std::string methods_header(const pb::FileDescriptorSet& set) {
  std::set<std::string> messages;
  std::ostringstream services;
  for (const auto& file : set.file()) {
    if (!is_api(file)) continue;
    for (const auto& service : file.service()) {
      write_service(file, service, services);
      for (const auto& method : service.method()) {
        for (const std::string& type : {method.input_type(), method.output_type()})
          messages.insert(type.substr(type.rfind('.') + 1));
      }
    }
  }
  std::string text =
      "// Made from drover/api/*.proto. Each method of the API: its name, its request and its answer.\n#pragma once\n\n"
      "namespace drover::v1 {\n\n";
  for (const std::string& message : messages) text += "class " + message + ";\n";
  return text + services.str() + "\n}  // namespace drover::v1\n";
}

// Keeps of the places in the source those that have a comment; other people's files keep none.
void keep_comments(pb::FileDescriptorProto& file) {
  if (!file.name().starts_with("drover/")) return file.clear_source_code_info();
  auto& places = *file.mutable_source_code_info()->mutable_location();
  places.erase(std::remove_if(places.begin(), places.end(),
                              [](const auto& at) { return !at.has_leading_comments() && !at.has_trailing_comments(); }),
               places.end());
}

std::string descriptors_source(pb::FileDescriptorSet set) {
  for (auto& file : *set.mutable_file()) keep_comments(file);
  const std::string bytes = set.SerializeAsString();
  std::ostringstream out;
  out << "#include \"drover/api_descriptors.h\"\n\nstd::string_view drover::api_descriptors() {\n"
         "  static constexpr char kBytes[] = {";
  for (size_t i = 0; i < bytes.size(); ++i)
    out << (i % 32 == 0 ? "\n" : "") << static_cast<int>(static_cast<signed char>(bytes[i])) << ',';
  out << "};\n  return {kBytes, sizeof kBytes};\n}\n";
  return std::move(out).str();
}

bool write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  return static_cast<bool>(out.flush());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: api_methods DESCRIPTORS FOLDER\n";
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  pb::FileDescriptorSet set;
  if (!set.ParseFromIstream(&in)) {
    std::cerr << "cannot read " << argv[1] << "\n";
    return 1;
  }
  const std::string folder = argv[2];
  if (write(folder + "/methods.h", methods_header(set)) &&
      write(folder + "/descriptors.cc", descriptors_source(std::move(set))))
    return 0;
  std::cerr << "cannot write to " << folder << "\n";
  return 1;
}
