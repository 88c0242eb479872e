// The protocols that plugins speak, against what has been published of them (protocol-1.0.txt): a line for each method,
// field and value, which may be joined by others and never changes.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <functional>
#include <set>
#include <string>

#include "drover/v1/plugin_host.pb.h"
#include "gtest/gtest.h"
#include "tests/architecture/source_tree.h"

namespace drover::architecture {
namespace {

namespace pb = google::protobuf;

constexpr const char* kFiles[] = {
    "nomad/plugins/base.proto",       "nomad/plugins/device.proto",  "nomad/plugins/driver.proto",
    "nomad/plugins/hclspec.proto",    "nomad/plugins/structs.proto", "drover/v1/auth_method.proto",
    "drover/v1/check_provider.proto", "drover/v1/plugin_host.proto", "drover/v1/service_provider.proto"};

using Lines = std::set<std::string>;

void describe(const pb::EnumDescriptor& type, Lines& lines) {
  for (int i = 0; i < type.value_count(); ++i) {
    lines.insert("value " + type.full_name() + " " + type.value(i)->name() + " = " +
                 std::to_string(type.value(i)->number()));
  }
}

std::string type_of(const pb::FieldDescriptor& field) {
  if (field.message_type()) return field.message_type()->full_name();
  if (field.enum_type()) return field.enum_type()->full_name();
  return field.type_name();
}

void describe(const pb::Descriptor& type, Lines& lines) {
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    lines.insert("field " + field.full_name() + " = " + std::to_string(field.number()) + " " +
                 (field.is_repeated() ? "repeated " : "") + type_of(field) +
                 (field.real_containing_oneof() ? " of " + field.real_containing_oneof()->name() : ""));
  }
  for (int i = 0; i < type.nested_type_count(); ++i) describe(*type.nested_type(i), lines);
  for (int i = 0; i < type.enum_type_count(); ++i) describe(*type.enum_type(i), lines);
}

Lines published_by(const pb::FileDescriptor& file) {
  Lines lines;
  for (int i = 0; i < file.message_type_count(); ++i) describe(*file.message_type(i), lines);
  for (int i = 0; i < file.enum_type_count(); ++i) describe(*file.enum_type(i), lines);
  for (int i = 0; i < file.service_count(); ++i) {
    for (int j = 0; j < file.service(i)->method_count(); ++j) {
      const pb::MethodDescriptor& method = *file.service(i)->method(j);
      lines.insert("method " + method.full_name() + " (" + (method.client_streaming() ? "stream " : "") +
                   method.input_type()->full_name() + ") -> " + (method.server_streaming() ? "stream " : "") +
                   method.output_type()->full_name());
    }
  }
  return lines;
}

Lines spoken_today() {
  (void)v1::PluginLogLine::descriptor();  // the library with all of them is loaded
  Lines all;
  for (const char* name : kFiles) {
    const pb::FileDescriptor* file = pb::DescriptorPool::generated_pool()->FindFileByName(name);
    EXPECT_NE(file, nullptr) << name;
    if (file) all.merge(published_by(*file));
  }
  return all;
}

// Those of `some` that `all` lacks.
std::string beyond(const Lines& some, const Lines& all) {
  std::string missing;
  for (const std::string& line : some) {
    if (!all.contains(line)) missing += line + "\n";
  }
  return missing;
}

TEST(PublishedProtocol, OnlyGrows) {
  Lines published;
  const std::string record = read_text(DROVER_SOURCE_ROOT "/tests/architecture/abi/protocol-1.0.txt");
  for (const std::string& line : split(record, '\n')) {
    if (!line.empty() && line[0] != '#') published.insert(line);
  }
  ASSERT_GT(published.size(), 100u) << "the record was not found";
  const Lines today = spoken_today();

  EXPECT_EQ(beyond(published, today), "") << "is gone or has changed: plugins that exist would break";
  EXPECT_EQ(beyond(today, published), "") << "is new: write it into tests/architecture/abi/protocol-1.0.txt";
}

// The comparison itself, on a protocol that changes.
TEST(PublishedProtocol, AChangeOfAnyKindIsSeen) {
  const auto lines_of = [](const std::function<void(pb::FileDescriptorProto&)>& change) {
    pb::FileDescriptorProto file;
    file.set_name("t.proto");
    file.set_package("t");
    file.set_syntax("proto3");
    pb::DescriptorProto& message = *file.add_message_type();
    message.set_name("M");
    pb::FieldDescriptorProto& field = *message.add_field();
    field.set_name("f");
    field.set_number(1);
    field.set_type(pb::FieldDescriptorProto::TYPE_STRING);
    field.set_label(pb::FieldDescriptorProto::LABEL_OPTIONAL);
    pb::EnumDescriptorProto& values = *file.add_enum_type();
    values.set_name("E");
    values.add_value()->set_name("NONE");
    values.mutable_value(0)->set_number(0);
    pb::MethodDescriptorProto& method = *file.add_service()->add_method();
    file.mutable_service(0)->set_name("S");
    method.set_name("Do");
    method.set_input_type(".t.M");
    method.set_output_type(".t.M");
    change(file);
    pb::DescriptorPool pool;
    const pb::FileDescriptor* built = pool.BuildFile(file);
    EXPECT_NE(built, nullptr);
    return built ? published_by(*built) : Lines{};
  };
  using File = pb::FileDescriptorProto;
  const Lines before = lines_of([](File&) {});
  const auto is_seen = [&](const std::function<void(File&)>& change) {
    return !beyond(before, lines_of(change)).empty();
  };

  EXPECT_FALSE(is_seen([](File& file) {
    pb::FieldDescriptorProto& field = *file.mutable_message_type(0)->add_field();
    field.set_name("more");
    field.set_number(2);
    field.set_type(pb::FieldDescriptorProto::TYPE_BOOL);
    field.set_label(pb::FieldDescriptorProto::LABEL_OPTIONAL);
  })) << "growth";
  EXPECT_TRUE(is_seen([](File& file) { file.mutable_message_type(0)->clear_field(); }));
  EXPECT_TRUE(is_seen([](File& file) { file.mutable_message_type(0)->mutable_field(0)->set_number(3); }));
  EXPECT_TRUE(is_seen([](File& file) { file.mutable_message_type(0)->mutable_field(0)->set_name("g"); }));
  EXPECT_TRUE(is_seen([](File& file) {
    file.mutable_message_type(0)->mutable_field(0)->set_type(pb::FieldDescriptorProto::TYPE_BYTES);
  }));
  EXPECT_TRUE(is_seen([](File& file) {
    file.mutable_message_type(0)->mutable_field(0)->set_label(pb::FieldDescriptorProto::LABEL_REPEATED);
  }));
  EXPECT_TRUE(is_seen([](File& file) { file.mutable_enum_type(0)->mutable_value(0)->set_name("OTHER"); }));
  EXPECT_TRUE(is_seen([](File& file) { file.mutable_service(0)->mutable_method(0)->set_server_streaming(true); }));
  EXPECT_TRUE(is_seen([](File& file) { file.mutable_service(0)->clear_method(); }));
}

}  // namespace
}  // namespace drover::architecture
