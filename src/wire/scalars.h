// The scalar types that Kubernetes writes in a way of their own: quantities, times,
// numbers-or-texts, bytes.

#pragma once

#include <string>
#include <string_view>

#include "model/objects.h"
#include "wire/reading.h"

namespace coppice::wire {

// `bytes` is the message's content; false with trouble said. An empty time leaves the value at
// 1970.
bool TimeFromProto(std::string_view bytes, model::Time& value, Trouble& trouble);
bool TimeFromProto(std::string_view bytes, model::MicroTime& value, Trouble& trouble);
bool ScalarFromProto(std::string_view bytes, model::Quantity& value, Reading& reading);
bool ScalarFromProto(std::string_view bytes, model::IntOrString& value, Reading& reading);
bool ScalarFromProto(std::string_view bytes, model::Bytes& value, Reading& reading);

// `text` is what stands between the quotes.
bool TimeFromText(std::string_view text, model::Time& value, Trouble& trouble);
bool TimeFromText(std::string_view text, model::MicroTime& value, Trouble& trouble);
bool QuantityFromText(std::string_view text, model::Quantity& value, Reading& reading);
bool BytesFromBase64(std::string_view text, model::Bytes& value, Trouble& trouble);
std::string ToBase64(std::string_view bytes);

}  // namespace coppice::wire
