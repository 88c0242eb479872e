// Reading PEM with OpenSSL, which asks the terminal for a password unless it is told not to.
#pragma once

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string_view>

#include "drover/freed.h"

namespace drover::jose {

inline int no_password(char*, int, int, void*) { return -1; }

// The text as OpenSSL reads it. Requires: it outlives the answer, and its size fits an int.
inline std::unique_ptr<BIO, Freed<BIO_free_all>> pem_source(std::string_view text) {
  return std::unique_ptr<BIO, Freed<BIO_free_all>>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// The next certificate. Null: there is none, or it cannot be read.
inline std::unique_ptr<X509, Freed<X509_free>> read_certificate(BIO* source) {
  return std::unique_ptr<X509, Freed<X509_free>>(PEM_read_bio_X509(source, nullptr, no_password, nullptr));
}

}  // namespace drover::jose
