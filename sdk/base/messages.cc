#include "drover/messages.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message_lite.h>
#include <google/protobuf/wire_format_lite.h>

namespace drover {

using google::protobuf::internal::WireFormatLite;

std::string serialize(const google::protobuf::MessageLite& message) {
  std::string bytes(message.ByteSizeLong(), '\0');
  google::protobuf::io::ArrayOutputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeWithCachedSizes(&out);
  return bytes;
}

uint64_t number_field(std::string_view bytes, int field) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  uint64_t value = 0;  // of several the last one counts
  while (const uint32_t tag = in.ReadTag()) {
    const bool is_it = WireFormatLite::GetTagFieldNumber(tag) == field &&
                       WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_VARINT;
    if (is_it ? !in.ReadVarint64(&value) : !WireFormatLite::SkipField(&in, tag)) break;
  }
  return value;
}

}  // namespace drover
