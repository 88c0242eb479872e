// Reference pages for plugin authors, made from what stands in the SDK's headers and protocols. Pure: text in, Markdown
// out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class FileDescriptor;
}

namespace drover::reference {

struct Page {
  std::string name;     // of the file, "task_driver.md"
  std::string title;    // "drover/task_driver.h"
  std::string summary;  // the first sentence of what it says of itself
  std::string text;     // Markdown
};

// Makes a header's page: its comment, then every public declaration with the comment before it. Requires: it is
// formatted as this tree's headers are. Declarations without a blank line or a comment between them share one comment.
Page header_page(std::string name, std::string title, std::string_view source);

// Makes the page of a .proto file whose descriptor has its source's comments: services, messages, values.
Page proto_page(std::string name, const google::protobuf::FileDescriptor& file);

// The page that lists the others.
Page index_page(const std::vector<Page>& pages);

// The text of a comment: paragraphs flow, what is indented is a drawing and stays as it is.
std::string prose(const std::vector<std::string>& lines);
std::string first_sentence(std::string_view text);

}  // namespace drover::reference
