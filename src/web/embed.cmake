# cmake -DOUT=FILE -DDIR=FOLDER -P embed.cmake: the files of a folder as string literals (assets.h). In pieces, for a compiler
# need not take a literal of more than 64 KiB.
file(GLOB files ${DIR}/*)
list(SORT files)
set(entries "")
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  set(literal "")
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND literal "R\"~~~(${piece})~~~\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  if(literal STREQUAL "")
    set(literal "\"\"")
  endif()
  string(APPEND entries "    {\"${name}\", std::string_view(${literal})},\n")
endforeach()
file(WRITE ${OUT} "// Generated from src/web/assets. Do not edit.
#include \"web/assets.h\"
namespace coppice::web {
std::span<const Asset> Assets() {
  static constexpr Asset kAssets[] = {
${entries}  };
  return kAssets;
}
}  // namespace coppice::web
")
