// The rules for the name and the content of a namespace. Pure.
#pragma once

#include "drover/result.h"

namespace drover::v1 {
class Namespace;
class NamespaceSpec;
}  // namespace drover::v1

namespace drover::namespaces {

// The row that the description asks for, with its digest and without indexes. Errors: invalid_argument with all that is
// wrong.
Result<v1::Namespace> accepted(const v1::NamespaceSpec& spec);

// "default" until somebody changes it, with its digest.
v1::Namespace unchanged_default();

}  // namespace drover::namespaces
