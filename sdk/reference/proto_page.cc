#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <sstream>

#include "page.h"

namespace drover::reference {
namespace {

namespace pb = google::protobuf;

std::vector<std::string> lines_of(const std::string& comment) {
  std::vector<std::string> lines;
  std::istringstream in(comment);
  for (std::string line; std::getline(in, line);) lines.push_back(line.starts_with(' ') ? line.substr(1) : line);
  return lines;
}

template <typename Descriptor>
std::string comment_of(const Descriptor& descriptor) {
  pb::SourceLocation location;
  if (!descriptor.GetSourceLocation(&location)) return {};
  return prose(lines_of(location.leading_comments + location.trailing_comments));
}

// In one line, for a cell of a table.
template <typename Descriptor>
std::string cell_of(const Descriptor& descriptor) {
  std::string text = comment_of(descriptor), cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  while (cell.ends_with(' ')) cell.pop_back();
  return cell;
}

// "Outer.Inner", as its heading says, and a link to that.
template <typename Descriptor>
std::string short_name(const Descriptor& type) {
  const std::string& package = type.file()->package();
  return package.empty() ? type.full_name() : type.full_name().substr(package.size() + 1);
}
template <typename Descriptor>
std::string link_to(const Descriptor& type, const pb::FileDescriptor& page) {
  std::string anchor;
  for (const char c : short_name(type)) {
    if (c != '.') anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (type.file() == &page) return "[" + short_name(type) + "](#" + anchor + ")";
  return "`" + type.full_name() + "`";
}

std::string type_of(const pb::FieldDescriptor& field) {
  if (field.is_map()) {
    return "map of " + type_of(*field.message_type()->field(0)) + " to " + type_of(*field.message_type()->field(1));
  }
  std::string type = field.type_name();
  if (field.message_type()) type = link_to(*field.message_type(), *field.file());
  if (field.enum_type()) type = link_to(*field.enum_type(), *field.file());
  return (field.is_repeated() ? "list of " : "") + type;
}

void describe(const pb::EnumDescriptor& type, std::string& out) {
  out += "\n## " + short_name(type) + "\n\n";
  if (const std::string about = comment_of(type); !about.empty()) out += about + "\n";
  out += "| value | number | |\n| --- | --- | --- |\n";
  for (int i = 0; i < type.value_count(); ++i) {
    const pb::EnumValueDescriptor& value = *type.value(i);
    out += "| " + value.name() + " | " + std::to_string(value.number()) + " | " + cell_of(value) + " |\n";
  }
}

void describe(const pb::Descriptor& type, std::string& out) {
  if (type.options().map_entry()) return;
  out += "\n## " + short_name(type) + "\n\n";
  if (const std::string about = comment_of(type); !about.empty()) out += about + "\n";
  if (type.field_count() == 0) {
    out += "No fields.\n";
  } else {
    out += "| field | number | type | |\n| --- | --- | --- | --- |\n";
    for (int i = 0; i < type.field_count(); ++i) {
      const pb::FieldDescriptor& field = *type.field(i);
      out += "| " + field.name() + " | " + std::to_string(field.number()) + " | " + type_of(field) + " | ";
      if (const pb::OneofDescriptor* choice = field.real_containing_oneof()) out += "one of `" + choice->name() + "` ";
      out += cell_of(field) + " |\n";
    }
  }
  for (int i = 0; i < type.nested_type_count(); ++i) describe(*type.nested_type(i), out);
  for (int i = 0; i < type.enum_type_count(); ++i) describe(*type.enum_type(i), out);
}

void describe(const pb::ServiceDescriptor& service, std::string& out) {
  out += "\n## " + service.name() + "\n\n";
  if (const std::string about = comment_of(service); !about.empty()) out += about + "\n";
  out += "| method | request | answer | |\n| --- | --- | --- | --- |\n";
  for (int i = 0; i < service.method_count(); ++i) {
    const pb::MethodDescriptor& method = *service.method(i);
    out += "| `/" + service.full_name() + "/" + method.name() + "` | " +
           (method.client_streaming() ? "stream of " : "") + link_to(*method.input_type(), *service.file()) + " | " +
           (method.server_streaming() ? "stream of " : "") + link_to(*method.output_type(), *service.file()) + " | " +
           cell_of(method) + " |\n";
  }
}

}  // namespace

Page proto_page(std::string name, const pb::FileDescriptor& file) {
  pb::SourceLocation location;
  std::string about;
  if (file.GetSourceLocation({12}, &location)) about = prose(lines_of(location.leading_comments));  // of `syntax`
  Page page{.name = std::move(name), .title = file.name(), .summary = first_sentence(about), .text = {}};
  page.text = "# " + file.name() + "\n\n" + about;
  for (int i = 0; i < file.service_count(); ++i) describe(*file.service(i), page.text);
  for (int i = 0; i < file.message_type_count(); ++i) describe(*file.message_type(i), page.text);
  for (int i = 0; i < file.enum_type_count(); ++i) describe(*file.enum_type(i), page.text);
  return page;
}

}  // namespace drover::reference
