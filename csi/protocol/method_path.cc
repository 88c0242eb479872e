#include "csi/protocol/method_path.h"

#include <google/protobuf/descriptor.h>

#include "drover/result.h"

namespace drover::csi {

std::string method_path(const google::protobuf::Descriptor& request) {
  const google::protobuf::FileDescriptor& file = *request.file();
  for (int i = 0; i < file.service_count(); ++i) {
    const google::protobuf::ServiceDescriptor& service = *file.service(i);
    for (int k = 0; k < service.method_count(); ++k) {
      if (service.method(k)->input_type() == &request)
        return "/" + service.full_name() + "/" + service.method(k)->name();
    }
  }
  check_failed(__FILE__, __LINE__, "a message that is the request of no method");
}

}  // namespace drover::csi
