#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "actors/kernel/transition_log.hpp"
#include "messaging/description/description.hpp"
#include "state_machines/core/machine.hpp"

namespace troupe::machines {

/// A short text for an effect of a machine, for people: "send Vote to b:27017", "Tick after 200 ms".
template <MachineType M>
class EffectText {
 public:
  std::string operator()(const Send<M>& effect) const { return "send " + nameOf(effect.message) + " to " + effect.to; }
  std::string operator()(const Ask<M>& effect) const { return "ask " + effect.to + " for " + nameOf(effect.message); }
  std::string operator()(const Reply<M>& effect) const { return "reply " + nameOf(effect.message); }
  std::string operator()(const Refuse& effect) const { return "refuse: " + effect.why.toString(); }
  std::string operator()(const Arm<M>& effect) const {
    return nameOf(effect.event) + " after " + std::to_string(effect.delay.count()) + " ms";
  }
  std::string operator()(const Disarm<M>& effect) const { return "no " + nameOf(effect.event); }
  std::string operator()(const Do<M>& effect) const { return "do " + nameOf(effect.action); }
  std::string operator()(const Cancel<M>& effect) const { return "give up " + nameOf(effect.action); }

 private:
  template <class Variant>
  static std::string nameOf(const Variant& variant) {
    return std::visit(
        []<class T>(const T&) {
          if constexpr (Described<T>) return std::string(typeName<T>());
          else return std::string();
        },
        variant);
  }
};

/// What a machine's log says of an outcome, before its effects are performed.
template <MachineType M>
std::vector<std::string> textsOf(const std::vector<Effect<M>>& effects) {
  std::vector<std::string> texts;
  for (const Effect<M>& effect : effects) {
    if (texts.size() == TransitionLog::kMostEffects) {
      texts.push_back("and " + std::to_string(effects.size() - texts.size()) + " more");
      break;
    }
    texts.push_back(std::visit(EffectText<M>(), effect));
  }
  return texts;
}

}  // namespace troupe::machines
