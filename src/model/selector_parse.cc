// Selector::Parse: the text form, as in `kubectl get -l` and `labelSelector=`.
//
// The words "in" and "notin" are operators only behind a key; elsewhere they are names as any
// other. Upstream's scanner takes a zero byte for the end of a word, and between words for the end
// of the text; so do we.

#include <algorithm>
#include <string>
#include <utility>

#include "model/selector.h"

namespace coppice::model {
namespace {

using Operator = Requirement::Operator;

enum class Kind { kEnd, kError, kWord, kComma, kOpen, kClose, kNot, kOperator };

struct Token {
  Kind kind = Kind::kEnd;
  std::string_view text;
  Operator op = Operator::kExists;  // of kOperator

  bool is_word() const { return kind == Kind::kWord; }
};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool IsSymbol(char c) { return std::string_view("=!(),><").find(c) != std::string_view::npos; }

Token SymbolToken(std::string_view text) {
  if (text == ")") return {Kind::kClose, text};
  if (text == ",") return {Kind::kComma, text};
  if (text == "!") return {Kind::kNot, text};
  if (text == "(") return {Kind::kOpen, text};
  if (text == "=") return {Kind::kOperator, text, Operator::kEquals};
  if (text == "==") return {Kind::kOperator, text, Operator::kDoubleEquals};
  if (text == "!=") return {Kind::kOperator, text, Operator::kNotEquals};
  if (text == ">") return {Kind::kOperator, text, Operator::kGreaterThan};
  if (text == "<") return {Kind::kOperator, text, Operator::kLessThan};
  return {Kind::kError, text};
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Token Next() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
    if (at_ == text_.size() || text_[at_] == '\0') return {};
    const size_t start = at_;
    if (IsSymbol(text_[at_])) {
      // The longest symbol: every one starts with a shorter one, so that the first that is none
      // ends it.
      Token token = SymbolToken(text_.substr(start, 1));
      for (++at_; at_ < text_.size() && IsSymbol(text_[at_]); ++at_) {
        const Token longer = SymbolToken(text_.substr(start, at_ - start + 1));
        if (longer.kind == Kind::kError) return token;
        token = longer;
      }
      if (at_ < text_.size() && text_[at_] == '\0') ++at_;
      return token;
    }
    while (at_ < text_.size() && text_[at_] != '\0' && !IsSpace(text_[at_]) &&
           !IsSymbol(text_[at_]))
      ++at_;
    const Token word{Kind::kWord, text_.substr(start, at_ - start)};
    if (at_ < text_.size() && text_[at_] == '\0') ++at_;
    return word;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : scanner_(text) { Take(); }

  Result<std::vector<Requirement>> Parse() {
    std::vector<Requirement> all;
    if (next_.kind == Kind::kEnd) return all;
    for (;;) {
      if (!next_.is_word() && next_.kind != Kind::kNot) return Expected("a key, '!' or the end");
      all.push_back(TRY(ParseRequirement()));
      if (next_.kind == Kind::kEnd) return all;
      if (next_.kind != Kind::kComma) return Expected("',' or the end");
      Take();
    }
  }

 private:
  Token Take() { return std::exchange(next_, scanner_.Next()); }

  Status Expected(std::string_view what) const {
    const std::string found =
        next_.kind == Kind::kEnd ? "the end" : "'" + std::string(next_.text) + "'";
    return InvalidArgument("in a label selector: found " + found + ", expected " +
                           std::string(what));
  }

  Result<Requirement> ParseRequirement() {
    const bool negated = next_.kind == Kind::kNot;
    if (negated) Take();
    if (!next_.is_word()) return Expected("a key");
    std::string key(Take().text);
    if (next_.kind == Kind::kEnd || next_.kind == Kind::kComma || negated) {
      return Requirement::Create(std::move(key),
                                 negated ? Operator::kDoesNotExist : Operator::kExists, {});
    }
    if (next_.is_word() && (next_.text == "in" || next_.text == "notin")) {
      const Operator op = Take().text == "in" ? Operator::kIn : Operator::kNotIn;
      return Requirement::Create(std::move(key), op, TRY(ParseSet()));
    }
    if (next_.kind != Kind::kOperator) return Expected("one of in, notin, =, ==, !=, >, <");
    const Operator op = Take().op;
    std::string value;
    if (next_.is_word()) {
      value = Take().text;
    } else if (next_.kind != Kind::kEnd && next_.kind != Kind::kComma) {
      return Expected("a value");
    }
    return Requirement::Create(std::move(key), op, {std::move(value)});
  }

  // "(a,b)"; a missing word at either end or between two commas is the empty value.
  Result<std::vector<std::string>> ParseSet() {
    if (next_.kind != Kind::kOpen) return Expected("'('");
    Take();
    std::vector<std::string> values;
    for (;;) {
      values.emplace_back(next_.is_word() ? Take().text : "");
      if (next_.kind == Kind::kClose) break;
      if (next_.kind != Kind::kComma) return Expected("',' or ')'");
      Take();
    }
    Take();
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  Scanner scanner_;
  Token next_;
};

}  // namespace

Result<Selector> Selector::Parse(std::string_view text) {
  return Selector(false, TRY(Parser(text).Parse()));
}

}  // namespace coppice::model
