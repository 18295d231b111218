#pragma once
#include <capnp/dynamic.h>

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messaging/description/message_archive.hpp"

/// The mapping between a described type and a schema.
namespace troupe::machines::detail {

class MessagePlan {
 public:
  struct Node;
  /// A described field, or an alternative of a variant, and its field in the schema.
  struct Slot {
    std::string_view name;  ///< static text
    capnp::StructSchema::Field field;
    Node* node = nullptr;  ///< null for an alternative without fields
  };
  /// A type and what carries it.
  struct Node {
    const ValueType* type = nullptr;
    capnp::Type carrier;
    std::vector<Slot> slots;  ///< of a struct, in order of description; of a variant, by index; of a map {key, value};
                              ///< of a Status {code, reason, extra}
    Node* element = nullptr;  ///< of a list or an optional
    bool boxed = false;       ///< an optional that is a list of none or one
    std::vector<std::pair<std::string, capnp::EnumSchema::Enumerant>> enumerants;
  };

  MessagePlan(const StructType& type, capnp::StructSchema schema);
  MessagePlan(const MessagePlan&) = delete;
  MessagePlan& operator=(const MessagePlan&) = delete;

  const Node& root() const { return *root_; }
  capnp::StructSchema schema() const { return schema_; }
  const StructType& type() const { return type_; }
  /// The fields that do not fit, each with its path; empty if all fit.
  const std::string& mistakes() const { return mistakes_; }

 private:
  Node* node(const ValueType& type, capnp::Type carrier);
  void structure(Node& node, const StructType& type);
  void variant(Node& node, const VariantType& type);
  void named(Node& node, std::initializer_list<std::pair<const char*, const ValueType*>> fields);
  void optional(Node& node, const OptionalType& type);
  void list(Node& node, const ListType& type);
  void map(Node& node, const MapType& type);
  void enumeration(Node& node, const EnumType& type);
  void within(std::string_view name, const ValueType& type, Slot& slot);
  void mistake(const std::string& what);

  const StructType& type_;
  capnp::StructSchema schema_;
  std::deque<Node> nodes_;
  Node* root_ = nullptr;
  std::vector<std::string_view> path_;
  std::string mistakes_;
};

}  // namespace troupe::machines::detail
