#pragma once
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "test/model/model.hpp"

namespace troupe::model {

/// A history of a machine in which nothing goes wrong, to be spoilt at every point.
struct Sample {
  /// The type as it is written in the source: "Topology".
  const char* type;
  /// The machine and its peers. It walks on (Walker::usual) until the goal of the model is reached, or, if
  /// the model has none, until all is quiet. Each call makes a new one.
  std::function<Model()> make;
  /// The node of the machine; it has no other one of the type.
  NodeName node;
  /// The number of that machine among those of the model.
  uint8_t slot = 0;
  /// The required outcome; absent: the machine's end, or its document.
  std::function<std::string(const machines::World&)> outcome;
  /// Phases that this sample has no way through, and why.
  std::vector<std::pair<std::string, std::string>> without;
};

inline std::ostream& operator<<(std::ostream& out, const Sample& sample) {
  return out << sample.type << " on " << sample.node;
}

/// One cell of the matrix: it crashed there, and that came out.
struct MatrixCell {
  std::string phase, point, fault;
  std::string outcome, expected;
  std::string story;  ///< what happened, if that was wrong
  bool isRight() const { return outcome == expected; }
};

struct CrashMatrix {
  std::vector<MatrixCell> cells;
  std::vector<std::string> phasesWithoutCell;
  /// One line for each phase and point: how often it was crashed there, and what went wrong.
  std::string text() const;
};

/// Every phase x {before persist, after persist, after an effect, at a reply} x {crash, step-down, restart}: at each
/// step of the sample the machine's node dies there, comes back, and everything has to end as if nothing had happened.
/// A crash undoes what was not journaled; a step-down what no majority has; a restart nothing. Throws
/// std::invalid_argument for a sample that does not end when nothing goes wrong.
CrashMatrix crashMatrix(const Sample& sample);

}  // namespace troupe::model
