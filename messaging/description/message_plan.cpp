#include "messaging/description/message_plan.hpp"

#include <algorithm>

namespace troupe::machines::detail {
namespace {

using capnp::schema::Type;

/// Sign and width of an integer type of a schema; no width for other types.
struct Width {
  bool isSigned = false;
  int bytes = 0;
};
Width widthOf(Type::Which which) {
  switch (which) {
    case Type::INT8: return {true, 1};
    case Type::INT16: return {true, 2};
    case Type::INT32: return {true, 4};
    case Type::INT64: return {true, 8};
    case Type::UINT8: return {false, 1};
    case Type::UINT16: return {false, 2};
    case Type::UINT32: return {false, 4};
    case Type::UINT64: return {false, 8};
    default: return {};
  }
}

/// Schema type that a value without parts needs, for error messages; null if `which` is that.
const char* mismatch(const ValueType& type, Type::Which which) {
  switch (type.kind) {
    case Kind::kBool: return which == Type::BOOL ? nullptr : "Bool";
    case Kind::kInteger: {
      const auto& integer = static_cast<const IntegerType&>(type);
      const Width width = widthOf(which);
      if (width.bytes >= integer.bytes && width.isSigned == integer.isSigned) return nullptr;
      return integer.isSigned ? "an Int that is wide enough" : "a UInt that is wide enough";
    }
    case Kind::kDouble: {
      const bool isFloat = static_cast<const DoubleType&>(type).isFloat;
      return which == Type::FLOAT64 || (isFloat && which == Type::FLOAT32) ? nullptr : "Float64";
    }
    case Kind::kTimestamp: return which == Type::UINT64 ? nullptr : "UInt64";
    case Kind::kDate: return which == Type::INT64 ? nullptr : "Int64";
    case Kind::kString: return which == Type::TEXT || which == Type::DATA ? nullptr : "Text or Data";
    default: return which == Type::DATA ? nullptr : "Data";
  }
}

/// Values that are stored within their struct and so cannot be absent.
bool isInline(const ValueType& type, capnp::Type carrier) {
  switch (type.kind) {
    case Kind::kBool:
    case Kind::kInteger:
    case Kind::kDouble:
    case Kind::kTimestamp:
    case Kind::kDate: return true;
    case Kind::kEnum: return !carrier.isText();
    default: return false;
  }
}

std::string fieldName(const capnp::StructSchema::Field& field) { return field.getProto().getName().cStr(); }

/// The field of that name; false if there is none.
bool find(const capnp::StructSchema& schema, std::string_view name, capnp::StructSchema::Field& found) {
  for (const auto field : schema.getFields()) {
    if (fieldName(field) != name) continue;
    found = field;
    return true;
  }
  return false;
}

bool has(const std::vector<MessagePlan::Slot>& slots, const capnp::StructSchema::Field& field) {
  return std::any_of(slots.begin(), slots.end(), [&](const auto& slot) { return slot.field == field; });
}

/// Shows a struct's fields by name and type.
class Lister final : public FieldSink {
 public:
  void field(const char* name, const ValueType& type, const void*) override { fields.emplace_back(name, &type); }
  std::vector<std::pair<std::string_view, const ValueType*>> fields;
};

constexpr IntegerType kCode{{troupe::machines::Kind::kInteger}, true, 4};
constexpr ValueType kText{troupe::machines::Kind::kString};
constexpr ValueType kData{troupe::machines::Kind::kBytes};

}  // namespace

MessagePlan::MessagePlan(const StructType& type, capnp::StructSchema schema) : type_(type), schema_(schema) {
  path_.push_back(type.subject);
  root_ = node(type, schema);
}

void MessagePlan::mistake(const std::string& what) {
  if (!mistakes_.empty()) mistakes_.append("; ");
  for (size_t i = 0; i < path_.size(); ++i) mistakes_.append(i == 0 ? "" : ".").append(path_[i]);
  mistakes_.append(": ").append(what);
}

void MessagePlan::within(std::string_view name, const ValueType& type, Slot& slot) {
  path_.push_back(name);
  slot.node = node(type, slot.field.getType());
  if (slot.field.getProto().isGroup() && type.kind != Kind::kStruct) mistake("a group carries nothing but a struct");
  path_.pop_back();
}

MessagePlan::Node* MessagePlan::node(const ValueType& type, capnp::Type carrier) {
  for (Node& known : nodes_) {  // types may contain themselves
    if (known.type == &type && known.carrier == carrier) return &known;
  }
  Node& made = nodes_.emplace_back();
  made.type = &type;
  made.carrier = carrier;
  const auto expect = [&](bool fits, const char* what) {
    if (!fits) mistake(std::string("needs ") + what + " in the schema");
    return fits;
  };
  switch (type.kind) {
    case Kind::kEnum: enumeration(made, static_cast<const EnumType&>(type)); break;
    case Kind::kOptional: optional(made, static_cast<const OptionalType&>(type)); break;
    case Kind::kList:
      if (expect(carrier.isList(), "a List")) list(made, static_cast<const ListType&>(type));
      break;
    case Kind::kMap:
      if (expect(carrier.isList() && carrier.asList().getElementType().isStruct(), "a List of structs")) {
        map(made, static_cast<const MapType&>(type));
      }
      break;
    case Kind::kVariant:
      if (expect(carrier.isStruct(), "a struct")) variant(made, static_cast<const VariantType&>(type));
      break;
    case Kind::kStruct:
      if (expect(carrier.isStruct(), "a struct")) structure(made, static_cast<const StructType&>(type));
      break;
    case Kind::kStatus:
      if (expect(carrier.isStruct(), "a struct"))
        named(made, {{"code", &kCode}, {"reason", &kText}, {"extra", &kData}});
      break;
    default:
      if (const char* needed = mismatch(type, carrier.which())) expect(false, needed);
  }
  return &made;
}

void MessagePlan::structure(Node& node, const StructType& type) {
  const capnp::StructSchema schema = node.carrier.asStruct();
  Lister lister;
  type.describe(lister);
  for (const auto& [name, fieldType] : lister.fields) {
    Slot slot{name, {}, nullptr};
    if (!find(schema, name, slot.field)) {
      mistake("the schema has no field '" + std::string(name) + "'");
      continue;
    }
    within(name, *fieldType, slot);
    node.slots.push_back(slot);
  }
  for (const auto field : schema.getFields()) {
    if (!has(node.slots, field)) mistake("the field '" + fieldName(field) + "' of the schema is not described");
  }
  if (schema.getUnionFields().size() > 0)
    mistake("the struct of the schema has a union: only variants are carried by one");
}

void MessagePlan::variant(Node& node, const VariantType& type) {
  const capnp::StructSchema schema = node.carrier.asStruct();
  for (size_t i = 0; i < type.count; ++i) {
    const StructType& held = type.alternative(i);
    std::string name(held.name);
    name[0] = static_cast<char>(name[0] >= 'A' && name[0] <= 'Z' ? name[0] - 'A' + 'a' : name[0]);
    Slot slot{held.name, {}, nullptr};
    const bool found = find(schema, name, slot.field);
    if (!found) mistake("the schema has no field '" + name + "'");
    node.slots.push_back(slot);  // even so: they stand by index
    if (!found) continue;
    Lister lister;
    held.describe(lister);
    if (!slot.field.getType().isVoid() || !lister.fields.empty()) within(held.name, held, node.slots.back());
  }
  for (const auto field : schema.getFields()) {
    if (!has(node.slots, field)) mistake("the field '" + fieldName(field) + "' of the schema is not described");
  }
  if (schema.getNonUnionFields().size() > 0) mistake("the struct of the schema has fields outside of its union");
}

void MessagePlan::named(Node& node, std::initializer_list<std::pair<const char*, const ValueType*>> fields) {
  const capnp::StructSchema schema = node.carrier.asStruct();
  for (const auto& [name, type] : fields) {
    Slot slot{name, {}, nullptr};
    if (find(schema, name, slot.field)) within(name, *type, slot);
    else mistake(std::string("the schema has no field '") + name + "'");
    node.slots.push_back(slot);
  }
  if (schema.getFields().size() > fields.size()) mistake("the struct of the schema has further fields");
}

void MessagePlan::optional(Node& node, const OptionalType& type) {
  const ValueType& element = type.element();
  if (!isInline(element, node.carrier)) {
    node.element = this->node(element, node.carrier);
    return;
  }
  node.boxed = true;
  if (node.carrier.isList()) node.element = this->node(element, node.carrier.asList().getElementType());
  else mistake("needs a List (of none or one) in the schema, because it may be absent");
}

void MessagePlan::list(Node& node, const ListType& type) {
  if (type.element().kind == Kind::kOptional) return mistake("a list of optionals cannot be carried");
  path_.push_back("*");
  node.element = this->node(type.element(), node.carrier.asList().getElementType());
  path_.pop_back();
}

void MessagePlan::map(Node& node, const MapType& type) {
  Node entry;
  entry.carrier = node.carrier.asList().getElementType();
  named(entry, {{"key", &kText}, {"value", &type.element()}});
  node.slots = std::move(entry.slots);
}

void MessagePlan::enumeration(Node& node, const EnumType& type) {
  if (node.carrier.isText()) return;
  if (!node.carrier.isEnum()) return mistake("needs Text or an enum in the schema");
  for (const auto enumerant : node.carrier.asEnum().getEnumerants()) {
    node.enumerants.emplace_back(enumerant.getProto().getName().cStr(), enumerant);
  }
  const auto known = [&](std::string_view name) {
    return std::any_of(node.enumerants.begin(), node.enumerants.end(),
                       [&](const auto& row) { return row.first == name; });
  };
  std::vector<std::string_view> names;
  for (unsigned number = 0; number < 128; ++number) {
    if (const std::string_view name = type.nameAt(number); !name.empty()) names.push_back(name);
  }
  for (const std::string_view name : names) {
    if (!known(name)) mistake("the enum of the schema has no '" + std::string(name) + "'");
  }
  for (const auto& row : node.enumerants) {
    if (std::find(names.begin(), names.end(), row.first) == names.end()) mistake("the enum has no '" + row.first + "'");
  }
}

std::shared_ptr<const MessagePlan> makeMessagePlan(const StructType& type, capnp::StructSchema schema) {
  return std::make_shared<const MessagePlan>(type, schema);
}

Status planStatus(const MessagePlan& plan) {
  return plan.mistakes().empty() ? Status() : Status(ErrorCode::kInvalidOptions, plan.mistakes());
}

}  // namespace troupe::machines::detail
