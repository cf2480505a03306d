/** Placeholders of an ICU message: `'{count, plural, other {# files of {owner}}}'` → `'count' | 'owner'`. */
export type Placeholders<Text extends string> = Text extends `${string}{${infer Rest}`
  ? NameAt<Rest> | Placeholders<Rest>
  : never
type NameAt<Rest extends string> = Rest extends `${infer Inner}}${string}`
  ? Inner extends `${infer Name},${string}`
    ? Word<Name>
    : Word<Inner>
  : never
/** Text of a branch has blanks, signs or is empty; a name has none of them. */
type Word<Text extends string> = Text extends `${string}${' ' | '#' | '{' | '.'}${string}` | '' ? never : Text
