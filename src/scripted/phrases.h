// The stock of phrases that scripted prose is made of: an opening, an action,
// perhaps a place, a close, and now and then an ornament whose characters are
// longer than one token.
#pragma once

#include <array>
#include <string_view>

namespace seedance::scripted {

inline constexpr auto kOpenings = std::to_array<std::string_view>({
    "The tide",
    "A paper boat",
    "The night train",
    "Every lantern",
    "The old library",
    "A patient gardener",
    "The quiet harbour",
    "One bright signal",
    "The morning wind",
    "A careful reader",
    "The lighthouse",
    "The clockmaker",
    "A distant choir",
    "The kitchen radio",
    "Each small stream",
    "The winter garden",
});

inline constexpr auto kActions = std::to_array<std::string_view>({
    "carries a quiet song",
    "remembers every name",
    "waits for the first light",
    "turns a page without a sound",
    "keeps a list of small wonders",
    "follows the long road home",
    "hums in the warm dark",
    "counts the stars twice",
    "tells the same story again",
    "learns the shape of the rain",
    "opens a window to the sea",
    "sends a letter to the moon",
    "gathers what the storm has left",
    "mends a net of silver thread",
    "draws a map of the wind",
    "answers in its own good time",
});

inline constexpr auto kPlaces = std::to_array<std::string_view>({
    "past the old mill",
    "beyond the orchard",
    "under a copper moon",
    "near the edge of the map",
    "while the kettle sings",
    "before the rain arrives",
    "along the canal",
    "between two bridges",
    "at the top of the stairs",
    "where the river bends",
    "behind the market square",
    "after the last guest has gone",
});

inline constexpr auto kClosings = std::to_array<std::string_view>({
    ".",
    ".",
    ".",
    ".",
    ", and nobody minds.",
    ", as it always has.",
    ", slowly at first, then all at once.",
    "!",
});

inline constexpr auto kOrnaments = std::to_array<std::string_view>({
    "🌊",
    "👩‍🚀",
    "🇫🇮",
    "日本語",
    "👨‍👩‍👧",
    "cafe\u0301",
    "한국어",
    "✨",
});

}  // namespace seedance::scripted
