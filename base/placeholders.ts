/** Placeholders of an ICU message: `'{count, plural, other {# files of {owner}}}'` → `'count' | 'owner'`. */
export type Placeholders<Text extends string> = Text extends `${string}{${infer Rest}`
  ? NameAt<Rest> | Placeholders<Rest>
  : never
type NameAt<Rest extends string> = Rest extends `${infer Inner}}${string}`
  ? Inner extends `${infer Name},${string}`
    ? Word<Name>
    : Word<Inner>
  : never
/** Distinguishes names from the texts of branches, which are empty or contain a space, `#`, `{` or a full stop. */
type Word<Text extends string> = Text extends `${string}${' ' | '#' | '{' | '.'}${string}` | '' ? never : Text
